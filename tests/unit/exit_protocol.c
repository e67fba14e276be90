/* exit_protocol.c - the exit's state machine (IB-X2..X5): messages that come late, or that no
 * honest schedule brings.  Whole jobs, to thousands of nodes, are in tests/sim/exit.c.
 */
#include "core/exit/exit_protocol.h"

#include "tests/unit/check.h"

/* Answers to messages that no honest schedule brings, or brings late. */
static void odd_messages(void)
{
    gasnetc_exit_protocol_t p;
    gasnetc_exit_protocol_init(&p, 3, 5);
    gasnetc_exit_want(&p, 7);
    gasnetc_exit_action_t again = gasnetc_exit_want(&p, 9);
    check(p.code == 7 && again.send == GASNETC_EXIT_SEND_NONE,
          "IB-X2 the first caller's code is kept");
    gasnetc_exit_receive(&p, 0, GASNETC_EXIT_ANSWER, 0);
    check(p.state == GASNETC_EXIT_WAITING, "IB-X4 an answer to no request means nothing");
    gasnetc_exit_receive(&p, 1, GASNETC_EXIT_TOGETHER, 9);
    again = gasnetc_exit_receive(&p, 1, GASNETC_EXIT_ELECTED, 9);
    check(p.state == GASNETC_EXIT_WAITING && again.send == GASNETC_EXIT_SEND_NONE,
          "IB-X4 what node 0 alone may say means nothing from another");
    gasnetc_exit_action_t answer = gasnetc_exit_receive(&p, 1, GASNETC_EXIT_REQUEST, 44);
    check(p.state == GASNETC_EXIT_DONE && p.code == 44 && !answer.begin &&
              answer.send == GASNETC_EXIT_SEND_ONE && answer.to == 1 &&
              answer.message == GASNETC_EXIT_ANSWER,
          "IB-X4 a waiting node takes the master's code, answers, and does not begin");
    gasnetc_exit_receive(&p, 0, GASNETC_EXIT_TOGETHER, 12);
    gasnetc_exit_receive(&p, 0, GASNETC_EXIT_ELECTED, 7);
    gasnetc_exit_passed(&p, 1);
    check(p.state == GASNETC_EXIT_DONE && p.code == 44, "IB-X4 what is done stays done");
    gasnetc_exit_protocol_init(&p, 0, 3);
    gasnetc_exit_want(&p, 3);
    gasnetc_exit_passed(&p, 0.9);
    check(p.state == GASNETC_EXIT_COLLECTING, "IB-X4 a master waits for answers");
    gasnetc_exit_receive(&p, 0, GASNETC_EXIT_TOGETHER, 4);
    check(p.state == GASNETC_EXIT_DONE && p.code == 4,
          "IB-X4 until the launcher has ordered all ranks to exit");
    gasnetc_exit_protocol_init(&p, 2, 5);
    gasnetc_exit_action_t told = gasnetc_exit_receive(&p, 1, GASNETC_EXIT_REQUEST, 44);
    check(told.begin && p.code == 44, "IB-X5 a request that is the first news begins the exit");
    told = gasnetc_exit_receive(&p, 1, GASNETC_EXIT_REQUEST, 45);
    check(!told.begin && p.code == 44, "IB-X5 a second one does not, nor does it change the code");
}

/* A node that ends with 0 must not hide that another failed. */
static void largest_codes(void)
{
    gasnetc_exit_protocol_t p;
    gasnetc_exit_protocol_init(&p, 0, 5);
    gasnetc_exit_want(&p, 0);
    gasnetc_exit_receive(&p, 3, GASNETC_EXIT_CANDIDATE, 23);
    check(gasnetc_exit_passed(&p, 0.49).send == GASNETC_EXIT_SEND_NONE,
          "IB-X9 a candidate waits for half of the time");
    gasnetc_exit_action_t order = gasnetc_exit_passed(&p, 0.5);
    check(order.send == GASNETC_EXIT_SEND_ALL && order.message == GASNETC_EXIT_REQUEST &&
              order.code == 23 && p.code == 23,
          "IB-X4 IB-X9 node 0 as master orders the end with the largest code it knows");
    check(gasnetc_exit_receive(&p, 2, GASNETC_EXIT_CLAIM, 0).send == GASNETC_EXIT_SEND_NONE,
          "IB-X3 and elects no other");
    gasnetc_exit_protocol_init(&p, 0, 5);
    gasnetc_exit_receive(&p, 3, GASNETC_EXIT_CANDIDATE, 23);
    gasnetc_exit_action_t elected = gasnetc_exit_receive(&p, 2, GASNETC_EXIT_CLAIM, 0);
    check(elected.message == GASNETC_EXIT_ELECTED && elected.to == 2 && elected.code == 23,
          "IB-X3 IB-X9 another master gets the largest code");
    gasnetc_exit_protocol_init(&p, 2, 5);
    gasnetc_exit_want(&p, 0);
    order = gasnetc_exit_passed(&p, 0.5);
    check(order.send == GASNETC_EXIT_SEND_ONE && order.to == 0 &&
              order.message == GASNETC_EXIT_CLAIM,
          "IB-X3 a candidate that has waited asks node 0 to be master");
    check(gasnetc_exit_passed(&p, 0.6).send == GASNETC_EXIT_SEND_NONE, "IB-X4 once");
    order = gasnetc_exit_receive(&p, 0, GASNETC_EXIT_ELECTED, 23);
    check(order.message == GASNETC_EXIT_REQUEST && order.code == 23 && p.code == 23,
          "IB-X4 and orders the end with it");
    gasnetc_exit_protocol_init(&p, 0, 5);
    gasnetc_exit_want(&p, 0);
    gasnetc_exit_receive(&p, 3, GASNETC_EXIT_CANDIDATE, 23);
    gasnetc_exit_passed(&p, 1);
    check(p.state == GASNETC_EXIT_FAILED && p.code == 23, "IB-X6 so does node 0 that gives up");
    gasnetc_exit_protocol_init(&p, 2, 5);
    gasnetc_exit_want(&p, 0);
    gasnetc_exit_receive(&p, 0, GASNETC_EXIT_ELECTED, 0);
    for (uint32_t node = 0; node < 4; node++)
        if (node != 2) gasnetc_exit_receive(&p, node, GASNETC_EXIT_ANSWER, 0);
    gasnetc_exit_passed(&p, 1);
    check(p.state == GASNETC_EXIT_FAILED && p.code == 1,
          "IB-X6 a node that did not answer and is ended is not hidden by a 0");
}

int main(int argc, char **argv)
{
    check_begin(argc, argv);
    odd_messages();
    largest_codes();
    return check_end();
}
