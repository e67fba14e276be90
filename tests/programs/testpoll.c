/* testpoll.c - calls that must poll although they need nothing of another rank: a program may make
 * one of them, and no other, while it waits for a message.
 *
 * Each rule asks the next rank for a Reply and repeats one call until the Reply's handler has run.
 * A call that does not poll is given up after a bound, and the rule fails.
 */
#include <time.h>

#include "test.h"

enum { H_ASK = 128, H_ANSWER, H_SHORT, H_BYTES, H_BYTES_BACK, H_DONE };
enum { SEGMENT = 64 * 1024, PAYLOAD = 300, BOUND = 30 /* seconds */ };

static int answered, own, acknowledged, inside;

static void enter(void)
{
    test_check(++inside == 1, "a handler runs inside a handler");
}

static void ask(gasnet_token_t token)
{
    enter();
    gasnet_AMReplyShort0(token, H_ANSWER);
    inside--;
}

static void answer(gasnet_token_t token)
{
    (void)token;
    enter();
    answered = 1;
    inside--;
}

static void from_self(gasnet_token_t token)
{
    (void)token;
    enter();
    own++;
    inside--;
}

static void bytes_from_self(gasnet_token_t token, void *bytes, size_t nbytes)
{
    (void)token;
    enter();
    test_check(nbytes == PAYLOAD && test_mismatch(bytes, nbytes, 7) < 0, "wrong payload");
    own++;
    inside--;
}

static void bytes_from_self_back(gasnet_token_t token, void *bytes, size_t nbytes)
{
    (void)bytes;
    enter();
    test_check(nbytes == PAYLOAD, "wrong payload");
    own++;
    gasnet_AMReplyShort0(token, H_DONE); /* runs its handler inside this one */
    inside--;
}

static void done(gasnet_token_t token)
{
    (void)token;
    acknowledged++;
}

static gasnet_handlerentry_t table[] = {
    {H_ASK, ask},         {H_ANSWER, answer},
    {H_SHORT, from_self}, {H_BYTES, bytes_from_self},
    {H_DONE, done},       {H_BYTES_BACK, bytes_from_self_back},
};

static double seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

/* Makes the call until the Reply to a message has been handled. */
static void until_answered(const char *name, void (*call)(void))
{
    answered = own = acknowledged = 0;
    int calls = 0;
    gasnet_AMRequestShort0((gasnet_node_t)test_next, H_ASK);
    for (double end = seconds() + BOUND; !answered && seconds() < end; calls++) call();
    test_check(answered, "%s does not poll: %d calls", name, calls);
    GASNET_BLOCKUNTIL(answered);
    test_sync();
}

static bool alone(void)
{
    if (test_size == 1) test_skip("needs two ranks");
    return test_size == 1;
}

/* --- Requests to this rank itself --- */

static char payload[PAYLOAD];

static void send_short(void)
{
    int before = own;
    gasnet_AMRequestShort0((gasnet_node_t)test_rank, H_SHORT);
    test_check(own == before + 1, "the handler has not run");
}
static void send_medium(void)
{
    gasnet_AMRequestMedium0((gasnet_node_t)test_rank, H_BYTES, payload, PAYLOAD);
}
static void send_long(void)
{
    gasnet_AMRequestLong0((gasnet_node_t)test_rank, H_BYTES, payload, PAYLOAD,
                          test_at(test_rank, 0));
}
static void send_longasync(void)
{
    gasnet_AMRequestLongAsync0((gasnet_node_t)test_rank, H_BYTES_BACK, payload, PAYLOAD,
                               test_at(test_rank, 0));
    test_check(own == acknowledged, "%d Requests, %d Replies", own, acknowledged);
}

static void requests_to_self(void)
{
    if (alone()) return;
    test_fill(payload, sizeof payload, 7);
    until_answered("AMRequestShort to itself", send_short);
    until_answered("AMRequestMedium to itself", send_medium);
    until_answered("AMRequestLong to itself", send_long);
    until_answered("AMRequestLongAsync to itself", send_longasync);
}

/* --- try calls with nothing to wait for --- */

static void ready(int result)
{
    test_check(result == GASNET_OK, "nothing outstanding, and %s", gasnet_ErrorName(result));
}
static void try_nb(void)
{
    ready(gasnet_try_syncnb(GASNET_INVALID_HANDLE));
}
static void try_some(void)
{
    gasnet_handle_t none = GASNET_INVALID_HANDLE;
    ready(gasnet_try_syncnb_some(&none, 1));
}
static void try_all(void)
{
    gasnet_handle_t none = GASNET_INVALID_HANDLE;
    ready(gasnet_try_syncnb_all(&none, 0));
}
static void try_puts(void)
{
    ready(gasnet_try_syncnbi_puts());
}
static void try_gets(void)
{
    ready(gasnet_try_syncnbi_gets());
}
static void try_both(void)
{
    ready(gasnet_try_syncnbi_all());
}
/* A transfer within this rank is complete at once, and its try call still polls. */
static void try_own_put(void)
{
    char byte = 1;
    ready(gasnet_try_syncnb(
        gasnet_put_nb((gasnet_node_t)test_rank, test_at(test_rank, 0), &byte, 1)));
}

static void tries(void)
{
    if (alone()) return;
    until_answered("try_syncnb of an invalid handle", try_nb);
    until_answered("try_syncnb_some of invalid handles", try_some);
    until_answered("try_syncnb_all of no handles", try_all);
    until_answered("try_syncnbi_puts without puts", try_puts);
    until_answered("try_syncnbi_gets without gets", try_gets);
    until_answered("try_syncnbi_all without operations", try_both);
    until_answered("try_syncnb of a put to itself", try_own_put);
}

static void barrier_tries(void)
{
    if (alone()) return;
    gasnet_barrier_notify(5, 0);
    int result = GASNET_ERR_NOT_READY;
    double end = seconds() + BOUND;
    while ((result = gasnet_barrier_try(5, 0)) == GASNET_ERR_NOT_READY && seconds() < end) continue;
    test_check(result == GASNET_OK, "barrier_try alone does not end a barrier: %s",
               gasnet_ErrorName(result));
    if (result == GASNET_ERR_NOT_READY) gasnet_barrier_wait(5, 0);
}

int main(int argc, char **argv)
{
    static const struct test_rule rules[] = {
        {"a loop of Requests to itself ends when another rank's message comes", requests_to_self},
        {"a loop of try calls with nothing outstanding likewise", tries},
        {"a loop of barrier_try ends the barrier", barrier_tries},
    };
    test_start(&argc, &argv, table, TEST_COUNT(table), SEGMENT);
    test_run(rules, TEST_COUNT(rules));
    test_finish();
}
