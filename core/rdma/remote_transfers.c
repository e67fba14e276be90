/* remote_transfers.c - transfers that wait until memory of a peer is pinned.
 *
 * A piece is recorded and its memory is requested; when the memory is pinned, the next poll of any
 * thread posts the piece.  The bytes of a short put are sent with the request, and the peer copies
 * them (IB-P6).  Nothing local is pinned while a piece waits.
 *
 * The owner of the counter has counted the piece as issued before it is recorded.  So another
 * thread may post it.
 */
#include <stdlib.h>
#include <string.h>

#include "core/job/progress.h"
#include "core/rdma/remote.h"
#include "core/report.h"
#include "gasnet.h"

enum { MOST_WAITING = 1024 };

_Static_assert(!NET_BUFFERS && !NET_PAIRS_LONGS, "for networks that use the core's bounce buffers");

typedef struct waiting {
    struct waiting *next;
    rdma_piece_t piece;
    size_t pin;
    uint32_t region;         /* covers the piece; 0: the peer cannot register the memory */
    gasnetc_counter_t parts; /* counts the halves of a piece that was split */
    char copy[];             /* of the source, or empty */
} waiting_t;

static gasneti_lock_t lock;     /* protects the lists */
static waiting_t *first, *last; /* pieces whose memory is pinned or denied */
static waiting_t *split;        /* pieces split into halves, which wait */
static _Atomic uint32_t count;  /* of all pieces that wait */
static atomic_bool posting;     /* a thread is in gasnetc_post_waiting */

/* --- asking --- */

static size_t write_riding(void *context, void *buffer)
{
    const waiting_t *w = context;
    const uint64_t to = w->piece.remote;
    if (w->piece.nbytes > gasnetc_ride_limit()) return 0;
    memcpy(buffer, &to, sizeof to);
    memcpy((char *)buffer + sizeof to, w->piece.local, w->piece.nbytes);
    return sizeof to + w->piece.nbytes;
}

static void finish(waiting_t *w)
{
    if (w->piece.counter) gasnetc_counter_ack(w->piece.counter);
    free(w);
    atomic_fetch_sub(&count, 1);
}

static void pinned(void *context, const firehose_request_t *request, firehose_result_t result)
{
    waiting_t *w = context;
    if (result == FIREHOSE_DEAD) return; /* the job ends */
    if (result == FIREHOSE_OK_DATA_RODE) {
        gasnetc_check_writable(&w->piece, request->region);
        gasnetc_unpin_remote(request->region);
        finish(w);
        return;
    }
    w->region = request ? request->region : 0;
    w->next = NULL;
    gasneti_lock(&lock);
    if (first)
        last->next = w;
    else
        first = w;
    last = w;
    gasneti_unlock(&lock);
}

static void ask(waiting_t *w)
{
    const bool rides = w->piece.put && w->piece.nbytes <= gasnetc_ride_limit();
    const firehose_remote_args_t args = {
        .completion = pinned, .data = rides ? write_riding : NULL, .context = w};
    atomic_fetch_add(&count, 1);
    if (firehose_remote_pin(gasnetc_cache.instance, w->piece.peer->net.rank, w->piece.remote,
                            w->pin, &args, NULL))
        gasneti_fatal("out of memory for a transfer of %zu bytes", w->piece.nbytes);
    atomic_store_explicit(&gasnetc_remote_due, true, memory_order_release);
}

static waiting_t *record(const rdma_piece_t *piece, size_t pin, bool copy)
{
    const size_t copied = copy ? piece->nbytes : 0;
    waiting_t *w = malloc(sizeof *w + copied);
    if (!w) gasneti_fatal("out of memory for a transfer of %zu bytes", piece->nbytes);
    *w = (waiting_t){.piece = *piece, .pin = pin};
    if (copied) w->piece.local = memcpy(w->copy, piece->local, copied);
    return w;
}

void gasnetc_post_later(const rdma_piece_t *piece, size_t pin)
{
    while (atomic_load_explicit(&count, memory_order_relaxed) >= MOST_WAITING)
        gasnetc_poll_stalled();
    ask(record(piece, pin, piece->source_free));
    gasnetc_remote_act();
}

/* --- posting --- */

static void __attribute__((noreturn, cold)) denied(const rdma_piece_t *p)
{
#ifdef GASNET_SEGMENT_EVERYTHING
    const char *why = "there is no memory at this address of that process, or its system refuses "
                      "to register more: see the limit on locked memory there (ulimit -l), or "
                      "lower GASNET_FIREHOSE_M";
#else
    const char *why = "its system refuses to register the memory: raise the limit on locked "
                      "memory there (ulimit -l), or lower GASNET_FIREHOSE_M";
#endif
    gasneti_fatal("a %s of %zu bytes at %#lx of %s: %s", p->put ? "put" : "get", p->nbytes,
                  (unsigned long)p->remote, gasneti_rank_name(p->peer->net.rank), why);
}

/* Splits a piece that was denied into halves, down to one page: its range may have memory of two
 * kinds, or not be mapped as a whole. */
static void in_halves(waiting_t *w)
{
    const uintptr_t page = GASNET_PAGESIZE, end = w->piece.remote + w->piece.nbytes;
    const uintptr_t first_page = w->piece.remote / page, pages = (end - 1) / page - first_page + 1;
    if (pages == 1) denied(&w->piece);
    rdma_piece_t halves[2] = {w->piece, w->piece};
    halves[0].nbytes = (first_page + pages / 2) * page - w->piece.remote;
    halves[1].remote += halves[0].nbytes;
    halves[1].local += halves[0].nbytes;
    halves[1].nbytes -= halves[0].nbytes;
    w->parts = (gasnetc_counter_t){.issued = 2};
    for (unsigned i = 0; i < 2; i++) {
        halves[i].counter = &w->parts;
        ask(record(&halves[i], halves[i].nbytes, false));
    }
    gasneti_lock(&lock);
    w->next = split;
    split = w;
    gasneti_unlock(&lock);
}

/* Requests a denied piece again: alone, if more than the piece was requested; otherwise in halves.
 */
static void not_pinned(waiting_t *w)
{
    if (w->pin == w->piece.nbytes) {
        in_halves(w);
        return;
    }
    w->pin = w->piece.nbytes;
    atomic_fetch_sub(&count, 1);
    ask(w);
}

static void post_one(waiting_t *w)
{
    if (!w->region) {
        not_pinned(w);
        return;
    }
    gasnetc_check_writable(&w->piece, w->region);
    const remote_t remote = remote_of(w->region);
    gasnetc_post_piece(&w->piece, &remote, NET_UNORDERED, true);
    free(w);
    atomic_fetch_sub(&count, 1);
}

static waiting_t *take_first(void)
{
    gasneti_lock(&lock);
    waiting_t *w = first;
    if (w) first = w->next;
    gasneti_unlock(&lock);
    return w;
}

static void finish_split(void)
{
    gasneti_lock(&lock);
    waiting_t **link = &split, *done = NULL;
    while (*link) {
        waiting_t *w = *link;
        if (gasnetc_counter_done(&w->parts)) {
            *link = w->next;
            w->next = done;
            done = w;
        } else {
            link = &w->next;
        }
    }
    gasneti_unlock(&lock);
    while (done) {
        waiting_t *next = done->next;
        finish(done);
        done = next;
    }
}

bool gasnetc_post_waiting(void)
{
    if (atomic_exchange(&posting, true)) return true;
    for (waiting_t *w; (w = take_first());) post_one(w);
    finish_split();
    atomic_store(&posting, false);
    return atomic_load(&count) > 0;
}
