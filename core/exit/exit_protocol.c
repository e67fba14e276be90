/* exit_protocol.c - the state machine that exit_protocol.h describes.
 *
 * Rank 0 is also the coordinator; a message from rank 0 to itself is handled at once.  Pure: run by
 * the engine in exit.c and by tests/unit.
 */
#include "core/exit/exit_protocol.h"

typedef gasnetc_exit_protocol_t protocol_t;
typedef gasnetc_exit_action_t action_t;

static const action_t nothing = {.send = GASNETC_EXIT_SEND_NONE};
static const double grace = 0.5; /* of the rank's timeout */

static action_t send_one(uint32_t to, enum gasnetc_exit_message message, uint8_t code)
{
    return (action_t){.send = GASNETC_EXIT_SEND_ONE, .message = message, .to = to, .code = code};
}

static action_t send_all(enum gasnetc_exit_message message, uint8_t code)
{
    return (action_t){.send = GASNETC_EXIT_SEND_ALL, .message = message, .code = code};
}

void gasnetc_exit_protocol_init(protocol_t *p, uint32_t rank, uint32_t size)
{
    *p = (protocol_t){.rank = rank, .size = size, .state = GASNETC_EXIT_IDLE};
}

/* --- the coordinator, on rank 0 --- */

/* Counts one more rank that ends; when all ranks do, the exit is collective. */
static action_t count_candidate(protocol_t *p, uint8_t code)
{
    p->candidates++;
    if (code > p->largest_code) p->largest_code = code;
    if (p->candidates < p->size || p->decided) return nothing;
    p->decided = true;
    p->code = p->largest_code;
    p->state = GASNETC_EXIT_DONE;
    return send_all(GASNETC_EXIT_TOGETHER, p->code);
}

/* --- every rank --- */

/* Keeps the largest code, so that the code of a failure is not lost. */
static void raise_code(protocol_t *p, uint8_t code)
{
    if (code > p->code) p->code = code;
}

static action_t become_master(protocol_t *p, uint8_t largest)
{
    raise_code(p, largest);
    p->state = p->size > 1 ? GASNETC_EXIT_COLLECTING : GASNETC_EXIT_DONE;
    return send_all(GASNETC_EXIT_REQUEST, p->code);
}

action_t gasnetc_exit_want(protocol_t *p, uint8_t code)
{
    if (p->state != GASNETC_EXIT_IDLE) return nothing;
    p->code = code;
    p->state = GASNETC_EXIT_WAITING;
    if (p->rank == 0) return count_candidate(p, code);
    return send_one(0, GASNETC_EXIT_CANDIDATE, code);
}

static action_t grace_over(protocol_t *p)
{
    p->waited = true;
    if (p->state != GASNETC_EXIT_WAITING) return nothing;
    if (p->rank != 0) return send_one(0, GASNETC_EXIT_CLAIM, p->code);
    if (p->decided) return nothing;
    p->decided = true;
    return become_master(p, p->largest_code);
}

static void time_over(protocol_t *p)
{
    if (p->state == GASNETC_EXIT_DONE) return;
    p->state = GASNETC_EXIT_FAILED;
    raise_code(p, p->largest_code);
    raise_code(p, 1);
}

action_t gasnetc_exit_passed(protocol_t *p, double part)
{
    if (part >= 1) time_over(p);
    return part >= grace && !p->waited ? grace_over(p) : nothing;
}

/* Takes the master's request.  An idle rank starts its exit; a waiting one takes the code. */
static action_t take_request(protocol_t *p, uint32_t from, uint8_t code)
{
    action_t action = send_one(from, GASNETC_EXIT_ANSWER, code);
    action.begin = p->state == GASNETC_EXIT_IDLE;
    if (p->state == GASNETC_EXIT_IDLE || p->state == GASNETC_EXIT_WAITING) {
        p->code = code;
        p->state = GASNETC_EXIT_DONE;
        p->decided = true;
    }
    return action;
}

action_t gasnetc_exit_receive(protocol_t *p, uint32_t from, enum gasnetc_exit_message message,
                              uint8_t code)
{
    switch (message) {
    case GASNETC_EXIT_CANDIDATE:
        return p->rank == 0 ? count_candidate(p, code) : nothing;
    case GASNETC_EXIT_CLAIM:
        if (p->rank != 0 || p->decided) return nothing;
        p->decided = true;
        return send_one(from, GASNETC_EXIT_ELECTED,
                        code > p->largest_code ? code : p->largest_code);
    case GASNETC_EXIT_ELECTED:
        return from == 0 && p->state == GASNETC_EXIT_WAITING ? become_master(p, code) : nothing;
    case GASNETC_EXIT_TOGETHER:
        if (from != 0 || (p->state != GASNETC_EXIT_WAITING && p->state != GASNETC_EXIT_COLLECTING))
            return nothing;
        p->code = code;
        p->state = GASNETC_EXIT_DONE;
        return nothing;
    case GASNETC_EXIT_REQUEST:
        return take_request(p, from, code);
    case GASNETC_EXIT_ANSWER:
        if (p->state == GASNETC_EXIT_COLLECTING && ++p->answers == p->size - 1)
            p->state = GASNETC_EXIT_DONE;
        return nothing;
    }
    return nothing;
}
