/* reference.c - the portable reference of the Extended API over a conduit that is no more than the
 * Core API, all of it in this file: the synchronisation table (IB-E1), many operations at once, and
 * what is fatal.
 *
 * Node 0 is the client; node 1 lives in this process too, as a segment and as handlers that run
 * with gasneti_mynode set to 1.  Messages wait until they are let go, and arrive in any order.  The
 * core is as nasty as the interface allows: a LongAsync takes its source when it arrives.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/am/context.h"
#include "core/am/system_am.h"
#include "core/job/progress.h"
#include "core/job/rank.h"
#include "core/job/thread.h"
#include "core/rdma/rdma.h"
#include "core/report.h"
#include "extended-ref/internal_am.h"
#include "extended-ref/transfer_am.h"
#include "tests/programs/synchronisation_rows.h"
#include "tests/unit/check.h"

enum { SEGMENT = 1 << 20, OFFSET = 640, MESSAGES = 100000 };

/* --- the core: messages in a bag --- */

enum category { SHORT, MEDIUM, LONG_COPIED, LONG_LATE };

typedef struct message {
    struct message *next;
    enum category category;
    bool request, replied;
    gasnet_node_t from, to;
    gasnet_handler_t handler;
    int numargs;
    gasnet_handlerarg_t args[16];
    void *dst;
    const void *source; /* LONG_LATE; else the bytes are copied: */
    size_t nbytes;
    char bytes[];
} message_t;

gasnet_node_t gasneti_mynode, gasneti_nodes = 2;
struct bootstrap_job gasnetc_job = {.size = 2};
uint32_t gasnetc_reach = 2;
gasneti_thread_t gasneti_the_thread;
int32_t gasneti_my_handlers;
void *gasneti_my_extended;
static char segments[2][SEGMENT], outside[SEGMENT];
static message_t *bag;
static unsigned in_bag, polls;
static unsigned at_each_poll; /* number of messages that arrive at each poll */

static void on_client_long(gasnet_token_t token, void *bytes, size_t nbytes,
                           gasnet_handlerarg_t argument);

static const gasnetc_internal_t handlers[] = {
    GASNETC_INTERNAL_REQUEST(GASNETE_H_MEMSET, SHORT, 6, gasnete_memset_handler),
    GASNETC_INTERNAL_REPLY(GASNETE_H_DONE, SHORT, 2, gasnete_done_handler),
    GASNETC_INTERNAL_REQUEST(200, LONG, 1, on_client_long),
    GASNETE_TRANSFER_HANDLERS(GASNETE_HANDLER_ROW)};

static void send(bool request, gasnet_node_t to, enum category category, gasnet_handler_t handler,
                 const void *source, size_t nbytes, void *dst, int numargs,
                 const gasnet_handlerarg_t *args)
{
    size_t copied = category == LONG_LATE ? 0 : nbytes;
    message_t *m = calloc(1, sizeof *m + copied);
    *m = (message_t){bag,     category, request, false, gasneti_mynode, to,
                     handler, numargs,  {0},     dst,   source,         nbytes};
    for (int i = 0; i < numargs; i++) m->args[i] = args[i];
    if (copied) memcpy(m->bytes, source, copied);
    bag = m;
    in_bag++;
}

static void run(message_t *m)
{
    void (*fn)(void) = NULL;
    const uint8_t head = GASNETC_AM_HEAD(m->category < LONG_LATE ? m->category : LONG_COPIED,
                                         m->request, m->numargs);
    for (size_t i = 0; i < sizeof handlers / sizeof *handlers; i++)
        if (handlers[i].index == m->handler && handlers[i].head == head) fn = handlers[i].function;
    if (!fn) gasneti_fatal("a message of the wrong form for handler %d", m->handler);
    const gasnet_handlerarg_t *a = m->args;
    void *at = m->category == MEDIUM ? m->bytes : m->dst;
    typedef gasnet_handlerarg_t arg;
    if (m->category >= LONG_COPIED)
        memcpy(m->dst, m->category == LONG_LATE ? m->source : m->bytes, m->nbytes);
    if (m->category == SHORT && m->numargs == 2)
        ((void (*)(void *, arg, arg))fn)(m, a[0], a[1]);
    else if (m->category == SHORT && m->numargs == 5)
        ((void (*)(void *, arg, arg, arg, arg, arg))fn)(m, a[0], a[1], a[2], a[3], a[4]);
    else if (m->category == SHORT && m->numargs == 6)
        ((void (*)(void *, arg, arg, arg, arg, arg, arg))fn)(m, a[0], a[1], a[2], a[3], a[4], a[5]);
    else if (m->category == SHORT && m->numargs == 7)
        ((void (*)(void *, arg, arg, arg, arg, arg, arg, arg))fn)(m, a[0], a[1], a[2], a[3], a[4],
                                                                  a[5], a[6]);
    else if (m->category == MEDIUM && m->numargs == 4)
        ((void (*)(void *, void *, size_t, arg, arg, arg, arg))fn)(m, at, m->nbytes, a[0], a[1],
                                                                   a[2], a[3]);
    else if (m->numargs == 2)
        ((void (*)(void *, void *, size_t, arg, arg))fn)(m, at, m->nbytes, a[0], a[1]);
    else
        ((void (*)(void *, void *, size_t, arg))fn)(m, at, m->nbytes, a[0]);
}

/* Delivers a random message of the bag. */
static void deliver_one(void)
{
    message_t **link = &bag;
    for (uint32_t n = check_below(in_bag); n > 0; n--) link = &(*link)->next;
    message_t *m = *link;
    *link = m->next;
    in_bag--;
    gasneti_mynode = m->to;
    run(m);
    gasneti_mynode = 0;
    free(m);
}

static void deliver_all(void)
{
    while (in_bag) deliver_one();
}

void (*gasnetc_poll_in_wait)(void) = gasnetc_poll;

void gasnetc_poll(void)
{
    if (++polls == MESSAGES) abort(); /* a thread waits for ever */
    for (unsigned n = at_each_poll; n && in_bag; n--) deliver_one();
}

void gasneti_wait_poll(void)
{
    gasnetc_poll();
}

void gasneti_wait_over(void) {}

int gasnetc_AMRequestShort(gasnet_node_t to, gasnet_handler_t handler, int n,
                           const gasnet_handlerarg_t *args)
{
    send(true, to, SHORT, handler, NULL, 0, NULL, n, args);
    return GASNET_OK;
}

int gasnetc_AMRequestMedium(gasnet_node_t to, gasnet_handler_t handler, const void *source,
                            size_t nbytes, int n, const gasnet_handlerarg_t *args)
{
    check_each(nbytes <= GASNETC_MAX_MEDIUM, "a Medium of %zu bytes", nbytes);
    send(true, to, MEDIUM, handler, source, nbytes, NULL, n, args);
    return GASNET_OK;
}

int gasnetc_AMRequestLong(gasnet_node_t to, gasnet_handler_t handler, const void *source,
                          size_t nbytes, void *dst, int n, const gasnet_handlerarg_t *args)
{
    check_each(nbytes <= GASNETC_MAX_LONG_REQUEST, "a Long of %zu bytes", nbytes);
    send(true, to, LONG_COPIED, handler, source, nbytes, dst, n, args);
    return GASNET_OK;
}

int gasnetc_AMRequestLongAsync(gasnet_node_t to, gasnet_handler_t handler, const void *source,
                               size_t nbytes, void *dst, int n, const gasnet_handlerarg_t *args)
{
    check_each(nbytes <= GASNETC_MAX_LONG_REQUEST, "a Long of %zu bytes", nbytes);
    send(true, to, LONG_LATE, handler, source, nbytes, dst, n, args);
    return GASNET_OK;
}

static gasnet_node_t answer(gasnet_token_t token)
{
    message_t *m = token;
    check_each(m->request && !m->replied, "a second Reply, or one to a Reply");
    m->replied = true;
    return m->from;
}

int gasnetc_AMReplyShort(gasnet_token_t token, gasnet_handler_t handler, int n,
                         const gasnet_handlerarg_t *args)
{
    send(false, answer(token), SHORT, handler, NULL, 0, NULL, n, args);
    return GASNET_OK;
}

int gasnetc_AMReplyMedium(gasnet_token_t token, gasnet_handler_t handler, const void *source,
                          size_t nbytes, int n, const gasnet_handlerarg_t *args)
{
    check_each(nbytes <= GASNETC_MAX_MEDIUM, "a Medium of %zu bytes", nbytes);
    send(false, answer(token), MEDIUM, handler, source, nbytes, NULL, n, args);
    return GASNET_OK;
}

int gasnetc_AMReplyLong(gasnet_token_t token, gasnet_handler_t handler, const void *source,
                        size_t nbytes, void *dst, int n, const gasnet_handlerarg_t *args)
{
    check_each(nbytes <= GASNETC_MAX_LONG_REPLY, "a Long of %zu bytes", nbytes);
    check_each(gasnete_in_segment(0, dst, nbytes), "a Long outside the segment");
    send(false, answer(token), LONG_COPIED, handler, source, nbytes, dst, n, args);
    return GASNET_OK;
}

int gasnetc_AMGetMsgSource(gasnet_token_t token, gasnet_node_t *source)
{
    *source = ((message_t *)token)->from;
    return GASNET_OK;
}

gex_Rank_t gasnetc_token_source(gex_Token_t token)
{
    return ((message_t *)token)->from;
}

bool gasnetc_is_published(uint32_t rank, uintptr_t start, size_t nbytes)
{
    (void)rank, (void)start, (void)nbytes;
    return false;
}

int gasnetc_segment_info(gasnet_seginfo_t *table, int n)
{
    for (int i = 0; i < n; i++) table[i] = (gasnet_seginfo_t){segments[i], SEGMENT};
    return GASNET_OK;
}

void gasnetc_check_may_communicate(const char *call)
{
    check_each(gasneti_mynode == 0, "%s in a handler", call);
}

void gasneti_fatal(const char *format, ...)
{
    va_list list;
    va_start(list, format);
    fputs("FATAL ERROR: ", stderr);
    vfprintf(stderr, format, list);
    va_end(list);
    fputc('\n', stderr);
    _exit(1);
}

void gasnetc_no_such_rank(const char *call, uint32_t rank)
{
    gasneti_fatal("%s names rank %u", call, rank);
}

void gasneti_no_client_request(gasnet_node_t node, gasnet_handler_t handler)
{
    gasneti_fatal("a Request to rank %u names handler %d", node, handler);
}

const char *gasneti_rank_name(uint32_t rank)
{
    static char name[20];
    snprintf(name, sizeof name, "rank %u", rank);
    return name;
}

static void on_client_long(gasnet_token_t token, void *bytes, size_t nbytes,
                           gasnet_handlerarg_t argument)
{
    (void)token, (void)bytes, (void)nbytes, (void)argument;
}

/* --- the synchronisation table --- */

static char before[SEGMENT];

static void begin(const struct row *row, size_t nbytes, bool in_segment, bool region)
{
    use = (struct use){.row = row, .nbytes = nbytes, .region = region, .peer = 1, .handler = 200};
    use.local = (in_segment ? segments[0] : outside) + OFFSET;
    use.remote = segments[1] + OFFSET;
    check_fill(use.local, nbytes);
    check_fill(use.remote, nbytes);
    memcpy(before, row->get ? use.remote : use.local, nbytes);
    polls = 0;
    at_each_poll = row->remote == 'I';
}

static void not_yet(const char *when)
{
    if (use.row->kind != VALGET)
        check_each(try_sync() == GASNET_ERR_NOT_READY, "%s of %zu bytes is synchronised %s",
                   use.row->name, use.nbytes, when);
}

static void walk(const struct row *row, size_t nbytes, bool in_segment, bool region)
{
    begin(row, nbytes, in_segment, region);
    if (region) gasnet_begin_nbi_accessregion();
    initiate();
    if (region) use.handle = gasnet_end_nbi_accessregion();
    check_each((polls > 0) == (row->remote == 'I'), "%s: %u polls", row->name, polls);
    if (row->remote == 'I') check_each(in_bag == 0, "%s: %u messages left", row->name, in_bag);
    if (row->local == 'I' || (row->value && !row->get)) memset(use.local, 0x5a, nbytes);
    if (row->remote == 'S') {
        not_yet("before anything has arrived");
        while (in_bag > 1) deliver_one();
        not_yet("before the last message");
        at_each_poll = 1;
        wait_sync();
        check_each(in_bag == 0, "%s: the wait ends early", row->name);
    }
    deliver_all();
    check_each(!memcmp(row->get ? use.local : use.remote, before, nbytes), "%s: wrong bytes",
               row->name);
}

static void walk_row(const struct row *row)
{
    static const size_t sizes[] = {8, 512, 513, 7000, 7001, 100000};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        if (row->value && sizes[i] > sizeof(gasnet_register_value_t)) continue;
        if (row->kind == MESSAGE && sizes[i] > GASNETC_MAX_LONG_REQUEST) continue;
        for (int in_segment = 0; in_segment < 2; in_segment++) {
            walk(row, sizes[i], in_segment, false);
            if (row->kind == IMPLICIT) walk(row, sizes[i], in_segment, true);
        }
    }
    check_all("IB-E1 by messages alone, %s: local %c, remote %c", row->name, row->local,
              row->remote);
}

/* --- many at once --- */

enum { SLOTS = 40, SLOT = 20000 };

/* Starts a random operation on slot i of node 1 and of the memory here; the result that it must
 * leave is in `model`. */
static gasnet_handle_t any_operation(int i, char *here, char *there, char *model_here,
                                     char *model_there)
{
    size_t offset = (size_t)i * SLOT, at = check_below(SLOT / 2), n = 1 + check_below(SLOT / 2);
    int value = (int)check_below(256);
    here += offset + at, there += offset + at;
    model_here += offset + at, model_there += offset + at;
    switch (check_below(4)) {
    case 0:
        memcpy(model_there, model_here, n);
        return gasnet_put_nb_bulk(1, there, here, n);
    case 1:
        memcpy(model_there, model_here, n);
        return gasnet_put_nb(1, there, here, n);
    case 2:
        memset(model_there, value, n);
        return gasnet_memset_nb(1, there, value, n);
    default:
        memcpy(model_here, model_there, n);
        return gasnet_get_nb(here, 1, there, n);
    }
}

static void many(bool in_segment)
{
    static char model_here[SEGMENT], model_there[SEGMENT];
    char *here = in_segment ? segments[0] : outside;
    gasnet_handle_t handles[SLOTS];
    check_fill(here, SEGMENT);
    check_fill(segments[1], SEGMENT);
    memcpy(model_here, here, SEGMENT);
    memcpy(model_there, segments[1], SEGMENT);
    for (int round = 0; round < 20; round++) {
        polls = at_each_poll = 0;
        for (int i = 0; i < SLOTS; i++)
            handles[i] = any_operation(i, here, segments[1], model_here, model_there);
        at_each_poll = 1 + check_below(5);
        gasnet_wait_syncnb_all(handles, SLOTS);
        check_each(in_bag == 0, "%u messages left", in_bag);
        check_each(!memcmp(here, model_here, SEGMENT), "wrong bytes here, round %d", round);
        check_each(!memcmp(segments[1], model_there, SEGMENT), "wrong bytes there, round %d",
                   round);
    }
    check_all("IB-E puts, gets and memsets by the dozen, in pieces that arrive in any order%s",
              in_segment ? ", in the segment" : "");
}

/* --- fatal errors --- */

static void put_outside(const void *nbytes)
{
    gasnet_put(1, segments[1] + SEGMENT - 7, outside, *(const size_t *)nbytes);
}
static void get_outside(const void *nbytes)
{
    gasnet_get(outside, 1, segments[1] + SEGMENT - 7, *(const size_t *)nbytes);
}
static void memset_outside(const void *nbytes)
{
    gasnet_memset(1, segments[1] + SEGMENT - 7, 0, *(const size_t *)nbytes);
}

/* Requests of a peer that are damaged, or not of this release. */
static void asked_to_put(const void *unused)
{
    char byte = 0, *dst = segments[1] + SEGMENT;
    (void)unused;
    gasnetc_AMRequestMedium(1, GASNETE_H_PUT, &byte, 1,
                            GASNETE_ARGS(GASNETE_WORD((uintptr_t)dst), 0, 0));
    deliver_all();
}
static void ask_for(const char *src, gasnet_handlerarg_t nbytes, gasnet_handler_t handler)
{
    const gasnet_handlerarg_t args[7] = {GASNETE_WORD((uintptr_t)src), nbytes};
    gasnetc_AMRequestShort(1, handler, handler == GASNETE_H_GET ? 5 : 7, args);
    deliver_all();
}
static void asked_to_get(const void *handler)
{
    ask_for(segments[1] - 1, 1, *(const gasnet_handler_t *)handler);
}
static void asked_to_get_much(const void *handler)
{
    ask_for(segments[1], 7001, *(const gasnet_handler_t *)handler);
}

/* A Reply of node 1 to a Request that waits for one of these kinds. */
static gasnetc_counter_t counter;
static uint64_t waits_for(enum gasnete_reply reply, gasnet_node_t node, void *memory)
{
    return gasnete_expect(reply, node, memory, 8, &counter);
}
static void reply(uint64_t number, gasnet_handler_t handler, size_t nbytes)
{
    message_t request = {.request = true, .from = 0};
    gasneti_mynode = 1;
    if (handler == GASNETE_H_DONE)
        gasnetc_AMReplyShort(&request, handler, GASNETE_ARGS(GASNETE_WORD(number)));
    else if (handler == GASNETE_H_GOT)
        gasnetc_AMReplyMedium(&request, handler, outside, nbytes,
                              GASNETE_ARGS(GASNETE_WORD(number)));
    else
        gasnetc_AMReplyLong(&request, handler, outside, nbytes, segments[0],
                            GASNETE_ARGS(GASNETE_WORD(number)));
    gasneti_mynode = 0;
    deliver_all();
}
static void answered_by_address(const void *handler)
{
    reply((uintptr_t)&counter, *(const gasnet_handler_t *)handler, 8);
}
static void answered_twice(const void *unused)
{
    (void)unused;
    uint64_t number = waits_for(GASNETE_REPLY_GOT, 1, segments[0]);
    reply(number, GASNETE_H_GOT, 8);
    reply(number, GASNETE_H_GOT, 8);
}
static void answered_otherwise(const void *handler)
{
    reply(waits_for(GASNETE_REPLY_GOT_LONG, 1, segments[0]), *(const gasnet_handler_t *)handler, 8);
}
static void answered_at_length(const void *nbytes)
{
    reply(waits_for(GASNETE_REPLY_GOT, 1, segments[0]), GASNETE_H_GOT, *(const size_t *)nbytes);
}
static void answered_elsewhere(const void *unused)
{
    (void)unused;
    reply(waits_for(GASNETE_REPLY_GOT_LONG, 1, segments[0] + 8), GASNETE_H_GOT_LONG, 8);
}
static void answered_by_other(const void *unused)
{
    (void)unused;
    reply(waits_for(GASNETE_REPLY_GOT, 0, segments[0]), GASNETE_H_GOT, 8);
}

static void fatal_replies(void)
{
    static const gasnet_handler_t handlers_of[] = {GASNETE_H_DONE, GASNETE_H_GOT,
                                                   GASNETE_H_GOT_LONG};
    static const size_t lengths[] = {0, 7, 9, 512};
    const char *says = "from rank 1 fits no operation of this rank: bad";
    for (int i = 0; i < 3; i++)
        check_fatal("a Reply with an address for a number is fatal", answered_by_address,
                    &handlers_of[i], says, "number");
    for (int i = 0; i < 2; i++)
        check_fatal("so is one of another kind", answered_otherwise, &handlers_of[i], says, "kind");
    for (int i = 0; i < 4; i++)
        check_fatal("and of another length", answered_at_length, &lengths[i], says, "length");
    check_fatal("and a second one", answered_twice, NULL, says, "the operation has had its Reply");
    check_fatal("and a Long elsewhere", answered_elsewhere, NULL, says, "destination");
    check_fatal("and one of a rank that was not asked", answered_by_other, NULL, says, "sender");
}

static void fatal(void)
{
    static const size_t sizes[] = {8, 600, 20000};
    static const gasnet_handler_t gets[] = {GASNETE_H_GET, GASNETE_H_GET_LONG};
    for (int i = 0; i < 3; i++) {
        check_fatal("a put outside the segment is fatal", put_outside, &sizes[i], "a put of",
                    "outside the segment of rank 1");
        check_fatal("a get outside the segment is fatal", get_outside, &sizes[i], "a get of",
                    "outside the segment of rank 1");
        check_fatal("a memset outside the segment is fatal", memset_outside, &sizes[i],
                    "a gasnet_memset of", "outside the segment of rank 1");
    }
    check_fatal("a put that a peer asks for outside the segment is fatal", asked_to_put, NULL,
                "rank 0 asks for a put of 1 bytes", "outside this rank's segment");
    for (int i = 0; i < 2; i++)
        check_fatal("so is a get", asked_to_get, &gets[i], "rank 0 asks for a get of 1 bytes",
                    "outside this rank's segment");
    for (int i = 0; i < 2; i++)
        check_fatal("and one that no Reply can have", asked_to_get_much, &gets[i],
                    "rank 0 asks for a get of 7001 bytes in one Reply, which has at most");
    fatal_replies();
}

int main(int argc, char **argv)
{
    check_begin(argc, argv);
    gasnete_segments_read();
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) walk_row(&rows[i]);
    many(false);
    many(true);
    fatal();
    return check_end();
}
