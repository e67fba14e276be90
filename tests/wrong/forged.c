/* forged.c - Active Messages to handlers that are not the client's, or that are registered for
 * others, named by the argument; tests/wrong/forged.sh knows what must be said of them.
 *
 *     forged CASE
 * `indices` is not a job: for each index and call, a child makes the call, and must be refused. The
 * other cases are jobs of two.  Rank 1 sends what no rank of the library sends, by the calls below
 * the check of the index (gasnetc_AMRequestShort and so on); rank 0 must end the job, and nothing
 * in its memory may have changed: it looks when it is told to by a message of a client's own.
 */
#include <gasnet_coll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/am/am.h"

enum { H_ASK = 128, H_LOOK = 129, H_REPLY = 130, SEGMENT = 1 << 20, PAGE = 4096 };
enum { PAIR = 255, LONE = 254 }; /* registered after gasnet_attach: see promised() */

/* Indices of the library's own: extended-ref/internal_am.h, coll/messages.h. */
enum {
    BARRIER = 64,
    MEMSET = 65,
    DONE = 66,
    VIS_PUT = 73,
    VIS_GET = 74,
    VIS_GOT = 75,
    VIS_THERE = 78,
    ATOMIC = 76,
    ATOMIC_GOT = 77,
    WHOLE = 80,
    READY = 81,
    LONG = 82,
    PIECE = 83,
    OFFER = 84,
    ACK = 85,
    FETCHED = 87
};

static struct {
    char before[PAGE], words[64], after[PAGE];
} victim; /* in rank 0, whose address rank 1 knows by a message */
static char *there, *segment_end;
static char payload[64];
static volatile int asked;
static const char *chosen;

#define HIGH(p) ((gasnet_handlerarg_t)((uint64_t)(uintptr_t)(p) >> 32))
#define LOW(p)  ((gasnet_handlerarg_t)(uint32_t)(uintptr_t)(p))
#define ARGS(...)                                                                                  \
    (int)(sizeof(gasnet_handlerarg_t[]){__VA_ARGS__} / sizeof(gasnet_handlerarg_t)),               \
        (const gasnet_handlerarg_t[])                                                              \
    {                                                                                              \
        __VA_ARGS__                                                                                \
    }
#define SHORT(handler, ...) gasnetc_AMRequestShort(0, handler, ARGS(__VA_ARGS__))
#define MEDIUM(handler, nbytes, ...)                                                               \
    gasnetc_AMRequestMedium(0, handler, payload, nbytes, ARGS(__VA_ARGS__))

/* --- messages of rank 1 --- */

#define CASE(name, statement)                                                                      \
    static void name(void)                                                                         \
    {                                                                                              \
        statement;                                                                                 \
    }

CASE(unregistered, SHORT(60, 1))
CASE(zero, SHORT(0, 1))
CASE(done_request, SHORT(DONE, HIGH(there), LOW(there)))
CASE(memset_5, SHORT(MEMSET, HIGH(there), LOW(there), 8, 0, 0))
CASE(memset_7, SHORT(MEMSET, HIGH(there), LOW(there), 8, 0, 0, 0, 0))
CASE(memset_medium, MEDIUM(MEMSET, 8, HIGH(there), LOW(there), 8, 0, 0, 0))
CASE(memset_outside, SHORT(MEMSET, HIGH(there), LOW(there), 64, 1, 0, 0))
CASE(memset_across, SHORT(MEMSET, HIGH(segment_end - 8), LOW(segment_end - 8), 9, 1, 0, 0))
CASE(memset_much, SHORT(MEMSET, HIGH(segment_end - 8), LOW(segment_end - 8), -1, 1, 0, 0))
CASE(vis_put_data, MEDIUM(VIS_PUT, 64, 65, 0, 0))
CASE(vis_put_negative, MEDIUM(VIS_PUT, 64, -1, 0, 0))
CASE(vis_put_short, SHORT(VIS_PUT, 1, 0, 0))
CASE(vis_get_much, MEDIUM(VIS_GET, 64, -1, 0, 0))
CASE(vis_got_request, MEDIUM(VIS_GOT, 8, HIGH(there), LOW(there)))
CASE(vis_there_index, MEDIUM(VIS_THERE, 8, MEMSET))
CASE(vis_there_none, MEDIUM(VIS_THERE, 8, 250))
/* Words, the lower halves first; the operation is a number of its type and one of its own; 82 is
 * FADD of I64. */
#define ATOMIC_CASE(name, at, operation)                                                           \
    CASE(name, SHORT(ATOMIC, LOW(at), HIGH(at), 1, 0, 0, 0, 0, 0, operation, 0))
ATOMIC_CASE(atomic_outside, there, 82)
ATOMIC_CASE(atomic_across, segment_end - 4, 82)
ATOMIC_CASE(atomic_askew, segment_end - 12, 82)
ATOMIC_CASE(atomic_type, segment_end - 8, 210)
ATOMIC_CASE(atomic_op, segment_end - 8, 76)
ATOMIC_CASE(atomic_much, segment_end - 8, -1)
CASE(atomic_9, SHORT(ATOMIC, LOW(there), HIGH(there), 1, 0, 0, 0, 0, 0, 82))
CASE(barrier_garbage, SHORT(BARRIER, 0, -1, -1))
CASE(barrier_step, SHORT(BARRIER, 0, 31, 0))
CASE(team_barrier_garbage, SHORT(BARRIER, 1, -1, -1))
CASE(barrier_2, SHORT(BARRIER, 0, 0))
CASE(whole_none, MEDIUM(WHOLE, 64, 0, 0, 0))
CASE(whole_short, SHORT(WHOLE, 0, 0, 0))
CASE(ready_outside, SHORT(READY, 1, 0, 0, HIGH(there), LOW(there), 0, 64))
CASE(ready_none, SHORT(READY, 0, 0, 0, 0, 0, 0, 64))
CASE(piece_none, MEDIUM(PIECE, 64, 1, 0, 0, HIGH(there), LOW(there)))
CASE(offer_none, SHORT(OFFER, 1, 0, 0, HIGH(there), LOW(there)))
CASE(ack_request, SHORT(ACK, 1, 0, 0))
CASE(fetched_none, SHORT(FETCHED, 1, 0, 0))
CASE(long_none, gasnetc_AMRequestLong(0, LONG, payload, 64, segment_end - 64, ARGS(1, 0, 0, 0, 0)))
/* After one that the handler is registered for. */
CASE(pair_1, (SHORT(PAIR, 1, 2), SHORT(PAIR, 1)))
CASE(pair_3, (SHORT(PAIR, 1, 2), SHORT(PAIR, 1, 2, 3)))
CASE(pair_medium, (SHORT(PAIR, 1, 2), MEDIUM(PAIR, 8, 1, 2)))
CASE(pair_self, (SHORT(PAIR, 1, 2), gasnetc_AMRequestShort(1, PAIR, ARGS(1))))
CASE(lone_request, MEDIUM(LONE, 8, 1))

/* Rank 0 asks, and rank 1 replies with this. */
static void reply(gasnet_token_t token)
{
    if (strcmp(chosen, "done_reply") == 0)
        gasnetc_AMReplyShort(token, DONE, ARGS(HIGH(there), LOW(there)));
    else if (strcmp(chosen, "done_reply_1") == 0)
        gasnetc_AMReplyShort(token, DONE, ARGS(1, 0));
    else if (strcmp(chosen, "done_reply_3") == 0)
        gasnetc_AMReplyShort(token, DONE, ARGS(1, 0, 0));
    else if (strcmp(chosen, "vis_got_reply") == 0)
        gasnetc_AMReplyMedium(token, VIS_GOT, payload, 8, ARGS(HIGH(there), LOW(there)));
    else if (strcmp(chosen, "atomic_got_reply") == 0)
        gasnetc_AMReplyShort(token, ATOMIC_GOT, ARGS(LOW(there), HIGH(there), 0, 0));
    else if (strcmp(chosen, "ack_reply") == 0)
        gasnetc_AMReplyShort(token, ACK, ARGS(1, 0, 0));
    else if (strcmp(chosen, "memset_reply") == 0)
        gasnetc_AMReplyShort(token, MEMSET, ARGS(HIGH(there), LOW(there), 8, 0, 0, 0));
    else if (strcmp(chosen, "client_reply") == 0)
        gasnet_AMReplyShort0(token, DONE);
    else if (strcmp(chosen, "pair_reply") == 0)
        gasnet_AMReplyShort2(token, PAIR, 1, 2);
    else
        gasnet_AMReplyShort0(token, H_REPLY);
}

static const struct {
    const char *name;
    void (*send)(void);
} cases[] = {
#define ROW(name)                                                                                  \
    {                                                                                              \
#name, name                                                                                \
    }
    ROW(unregistered),     ROW(zero),
    ROW(done_request),     ROW(memset_5),
    ROW(memset_7),         ROW(memset_medium),
    ROW(memset_outside),   ROW(memset_across),
    ROW(memset_much),      ROW(vis_put_data),
    ROW(vis_put_negative), ROW(vis_put_short),
    ROW(vis_get_much),     ROW(vis_got_request),
    ROW(vis_there_index),  ROW(vis_there_none),
    ROW(atomic_outside),   ROW(atomic_across),
    ROW(atomic_askew),     ROW(atomic_type),
    ROW(atomic_op),        ROW(atomic_much),
    ROW(atomic_9),         ROW(barrier_garbage),
    ROW(barrier_step),     ROW(team_barrier_garbage),
    ROW(barrier_2),        ROW(whole_none),
    ROW(whole_short),      ROW(ready_outside),
    ROW(ready_none),       ROW(piece_none),
    ROW(offer_none),       ROW(ack_request),
    ROW(fetched_none),     ROW(long_none),
    ROW(pair_1),           ROW(pair_3),
    ROW(pair_medium),      ROW(pair_self),
    ROW(lone_request),
};

/* --- a job of two --- */

static void on_pair(gasnet_token_t token, gasnet_handlerarg_t first, gasnet_handlerarg_t second)
{
    (void)token;
    if (first != 1 || second != 2) fprintf(stderr, "arguments are wrong\n");
}

static void on_lone(gasnet_token_t token, void *buf, size_t nbytes, gasnet_handlerarg_t argument)
{
    (void)token, (void)buf, (void)nbytes, (void)argument;
}

/* Registers handlers for certain messages alone. */
static void promised(void)
{
    gex_EP_t ep;
    gex_AM_Entry_t list[] = {
        {0, (gex_AM_Fn_t)on_pair, GEX_FLAG_AM_SHORT | GEX_FLAG_AM_REQUEST, 2, NULL, "pair"},
        {0, (gex_AM_Fn_t)on_lone, GEX_FLAG_AM_MEDLONG | GEX_FLAG_AM_REPLY, 1, NULL, NULL}};
    gasnet_QueryGexObjects(NULL, &ep, NULL, NULL);
    if (gex_EP_RegisterHandlers(ep, list, 2) != GASNET_OK || list[0].gex_index != PAIR ||
        list[1].gex_index != LONE)
        fprintf(stderr, "handlers are not registered after gasnet_attach\n");
}

static void on_ask(gasnet_token_t token, gasnet_handlerarg_t high, gasnet_handlerarg_t low)
{
    there = (char *)(uintptr_t)((uint64_t)(uint32_t)high << 32 | (uint32_t)low);
    reply(token);
    asked = 1;
}

/* The messages before it were taken, and have not ended the job. */
static void on_look(gasnet_token_t token)
{
    static const char zero[sizeof victim];
    (void)token;
    if (memcmp(&victim, zero, sizeof victim) != 0) fprintf(stderr, "memory was changed\n");
    fprintf(stderr, "nothing was wrong about %s\n", chosen);
    gasnet_exit(0);
}

static void on_reply(gasnet_token_t token)
{
    (void)token;
}

static void job(void)
{
    gasnet_seginfo_t segments[2];
    gasnet_getSegmentInfo(segments, 2);
    segment_end = (char *)segments[0].addr + segments[0].size;
    if (gasnet_mynode() == 0)
        gasnet_AMRequestShort2(1, H_ASK, HIGH(victim.words), LOW(victim.words));
    while (gasnet_mynode() == 0) gasnet_AMPoll();
    GASNET_BLOCKUNTIL(asked);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        if (strcmp(cases[i].name, chosen) == 0) cases[i].send();
    gasnet_AMRequestShort0(0, H_LOOK);
    for (;;) gasnet_AMPoll();
}

/* --- every index --- */

/* Makes a call of each kind, which needs no job to be refused. */
static void call(int kind, gasnet_handler_t handler)
{
    switch (kind) {
    case 0:
        gasnet_AMRequestShort0(0, handler);
        break;
    case 1:
        gasnet_AMRequestShort2(0, handler, 1, 2);
        break;
    case 2:
        gasnet_AMRequestShort(0, handler, 2, 1, 2);
        break;
    case 3:
        gasnet_AMRequestMedium1(0, handler, payload, 8, 1);
        break;
    case 4:
        gasnet_AMRequestMedium(0, handler, payload, 8, 1, 1);
        break;
    case 5:
        gasnet_AMRequestLong16(0, handler, payload, 8, payload, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11,
                               12, 13, 14, 15, 16);
        break;
    case 6:
        gasnet_AMRequestLong(0, handler, payload, 8, payload, 0);
        break;
    case 7:
        gasnet_AMRequestLongAsync0(0, handler, payload, 8, payload);
        break;
    case 8:
        gasnet_AMRequestLongAsync(0, handler, payload, 8, payload, 0);
        break;
    case 9:
        gasnet_AMRequestShort0(0, 66); /* a constant */
        break;
    }
}

/* The text that the call writes to standard error, in a child; returns its wait status. */
static int said_by(int kind, gasnet_handler_t handler, char *said, size_t size)
{
    int ends[2], status;
    size_t length = 0;
    if (pipe(ends) != 0) abort();
    const pid_t child = fork();
    if (child == 0) {
        dup2(ends[1], 2);
        call(kind, handler);
        _exit(0);
    }
    close(ends[1]);
    for (ssize_t n; (n = read(ends[0], said + length, size - 1 - length)) > 0;) length += (size_t)n;
    said[length] = 0;
    close(ends[0]);
    waitpid(child, &status, 0);
    return status;
}

static int every_index(void)
{
    char said[4096], words[100];
    for (int index = 0; index < 128; index++) {
        for (int kind = 0; kind < 10; kind++) {
            const int named = kind == 9 ? 66 : index;
            const int status = said_by(kind, (gasnet_handler_t)index, said, sizeof said);
            snprintf(words, sizeof words, "an Active Message Request to rank 0 names handler %d,",
                     named);
            if (WIFEXITED(status) && WEXITSTATUS(status) && strstr(said, words)) continue;
            printf("call %d of index %d is not refused, status %#x: %s\n", kind, index, status,
                   said);
            return 1;
        }
    }
    return 0;
}

int main(int argc, char **argv)
{
    static gasnet_handlerentry_t table[] = {{H_ASK, (void (*)(void))on_ask},
                                            {H_LOOK, (void (*)(void))on_look},
                                            {H_REPLY, (void (*)(void))on_reply}};
    static const gasnet_image_t *const one_each;
    chosen = argc > 1 ? argv[1] : "";
    if (strcmp(chosen, "indices") == 0) return every_index();
    gasnet_init(&argc, &argv);
    gasnet_attach(table, 3, SEGMENT, 0);
    gasnet_coll_init(one_each, 0, NULL, 0, 0);
    promised();
    job();
}
