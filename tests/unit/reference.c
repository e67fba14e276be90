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
#include "core/job/progress.h"
#include "core/job/rank.h"
#include "core/job/thread.h"
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
gasneti_thread_t gasneti_the_thread;
static char segments[2][SEGMENT], outside[SEGMENT];
static message_t *bag;
static unsigned in_bag, polls;
static unsigned at_each_poll; /* so many messages arrive */

static void on_client_long(gasnet_token_t token, void *bytes, size_t nbytes,
                           gasnet_handlerarg_t argument);

static const gasnet_handlerentry_t handlers[] = {{GASNETE_H_MEMSET, gasnete_memset_handler},
                                                 {GASNETE_H_DONE, gasnete_done_handler},
                                                 {200, on_client_long},
                                                 GASNETE_TRANSFER_HANDLERS};

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
    for (size_t i = 0; i < sizeof handlers / sizeof *handlers; i++)
        if (handlers[i].index == m->handler) fn = (void (*)(void))handlers[i].fnptr;
    const gasnet_handlerarg_t *a = m->args;
    void *at = m->category == MEDIUM ? m->bytes : m->dst;
    typedef gasnet_handlerarg_t arg;
    if (m->category >= LONG_COPIED)
        memcpy(m->dst, m->category == LONG_LATE ? m->source : m->bytes, m->nbytes);
    if (m->category == SHORT && m->numargs == 2)
        ((void (*)(void *, arg, arg))fn)(m, a[0], a[1]);
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

/* One message of the bag arrives, whichever. */
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

/* One operation on slot i of node 1 and of the memory here; what it must leave is in `model`. */
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

/* --- what is fatal --- */

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

/* What a peer may ask that is damaged, or not of this release. */
static void asked_to_put(const void *unused)
{
    char byte = 0, *dst = segments[1] + SEGMENT;
    (void)unused;
    gasnet_AMRequestMedium4(1, GASNETE_H_PUT, &byte, 1, gasnete_high(dst), gasnete_low(dst), 0, 0);
    deliver_all();
}
static void asked_to_get(const void *handler)
{
    char *src = segments[1] - 1;
    gasnet_AMRequestShort7(1, *(const gasnet_handler_t *)handler, gasnete_high(src),
                           gasnete_low(src), 1, 0, 0, 0, 0);
    deliver_all();
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
}

int main(int argc, char **argv)
{
    check_begin(argc, argv);
    gasnete_segments_attach();
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) walk_row(&rows[i]);
    many(false);
    many(true);
    fatal();
    return check_end();
}
