/* testlegal.c - the contexts in which each call is legal (section 2.13), for all calls and
 * contexts, and the wrong arguments that a debug library finds.
 *
 * `testlegal list` prints every case that must end the program, with its message: "PLACE CALL
 * TEXT"; `testlegal PLACE` makes all calls that are legal in that context, one after the other, and
 * `testlegal PLACE CALL` makes one call. tests/legal/run.sh runs them. One process is enough: the
 * checks do not depend on the destination. legal/calls.c has the calls and the table,
 * legal/misuse.c the wrong uses.
 */
#include "tests/legal/legal.h"

static const char *const place_names[] = {"P0",     "P1",   "P2",     "REQUEST", "REPLY",
                                          "LOCKED", "HELD", "THREAD", "WRONG"};

static const char *only; /* the one call, or NULL: all that are legal */
static enum place here;

static void make_calls(void)
{
    for (int i = 0; i < call_count; i++) {
        const char *expected = calls[i].expected[here];
        if (only ? strcmp(only, calls[i].name) != 0 : expected != NULL) continue;
        calls[i].make();
        printf("LEGAL %s\n", calls[i].name);
    }
}

/* Makes the calls that are legal in a handler; each kind of Reply in a handler of its own. */
static void on_place(gasnet_token_t t, gasnet_handlerarg_t reply)
{
    static void (*const replies[])(void) = {reply_short, reply_medium, reply_long};
    token = t;
    if (here == REQUEST) {
        if (reply == 0) make_calls();
        if (!only) replies[reply]();
        if (!only) printf("LEGAL Reply %d\n", (int)reply);
    } else {
        gasnet_AMReplyShort0(t, H_REPLY);
    }
}

static void on_reply(gasnet_token_t t)
{
    token = t;
    make_calls();
}

static void on_nothing(gasnet_token_t t)
{
    (void)t;
}

#ifdef GASNET_PAR
static void *make_in_thread(void *unused)
{
    make_calls();
    return unused;
}
#endif

static void go_there(void)
{
    switch (here) {
    case REQUEST:
        for (int reply = 0; reply < (only ? 1 : 3); reply++)
            gasnet_AMRequestShort1(0, H_PLACE, reply);
        break;
    case REPLY:
        gasnet_AMRequestShort1(0, H_PLACE, 0);
        break;
    case LOCKED:
        gasnet_hsl_lock(&lock);
        make_calls();
        gasnet_hsl_unlock(&lock);
        break;
    case HELD:
        gasnet_hold_interrupts();
        make_calls();
        if (!only || strcmp(only, "gasnet_resume_interrupts") != 0) gasnet_resume_interrupts();
        break;
    case WRONG:
        if (!only) warned_of();
        for (int i = 0; only && i < wrong_count; i++)
            if (strcmp(only, wrongs[i].name) == 0) wrongs[i].make();
        break;
#ifdef GASNET_PAR
    case THREAD:
        in_thread(make_in_thread, NULL);
        break;
#endif
    default:
        make_calls();
    }
}

static int list(void)
{
    for (int place = 0; place < WRONG; place++)
        for (int i = 0; i < call_count; i++) {
            const char *expected = calls[i].expected[place];
#ifndef GASNET_PAR
            if (place == THREAD) continue;
#endif
            if (expected && strcmp(expected, SKIP) != 0)
                printf("%s %s %s\n", place_names[place], calls[i].name, expected);
        }
    for (int i = 0; i < wrong_count; i++)
        printf("WRONG %s %s\n", wrongs[i].name, wrongs[i].expected);
    return 0;
}

static int start(void)
{
    gasnet_handlerentry_t table[] = {
        {H_PLACE, on_place}, {H_REPLY, on_reply}, {H_NOTHING, on_nothing}, {H_WRONG, on_wrong}};
    gasnet_seginfo_t segment;
    if (gasnet_init(NULL, NULL) != GASNET_OK) return 97;
    if (here == P1) make_calls();
    if (here == P1 && only) return 0;
    if (gasnet_attach(table, TEST_COUNT(table), SEGMENT, 0) != GASNET_OK) return 96;
    gasnet_getSegmentInfo(&segment, 1);
    mine = segment.addr;
    if (here != P1) go_there();
    gasnet_exit(0);
}

int main(int argc, char **argv)
{
    int place = 0;
    if (argc == 2 && strcmp(argv[1], "list") == 0) return list();
    while (place < PLACES && (argc < 2 || strcmp(argv[1], place_names[place]) != 0)) place++;
    if (place == PLACES) {
        fprintf(stderr, "usage: testlegal list | testlegal PLACE [CALL]\n");
        return 98;
    }
    here = (enum place)place;
    only = argc > 2 ? argv[2] : NULL;
    if (here != P0) return start();
    make_calls();
    return 0;
}
