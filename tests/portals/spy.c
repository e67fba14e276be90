/* spy.c - stands between portals-conduit and libportals; see spy.h.
 */
#define _GNU_SOURCE

#include "spy.h"

#include <dlfcn.h>
#include <portals3_ext.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "portals-conduit/bits.h"

struct spy spy;

enum { LOOKS = 3000, HANDLES = 8192 };

static unsigned queues;
static ptl_event_t *store[SPY_QUEUES];

/* Which entry or descriptor has which selector, and which memory.  One that is bound to what is
 * attached already goes by the other's. */
static struct known {
    ptl_handle_any_t handle;
    unsigned selector;
    bool twin;
    const void *start;
    ptl_size_t length;
} known[HANDLES];
static unsigned known_count;

enum { PATHS = 1024 };
static struct {
    ptl_path_t path;
    ptl_pt_index_t entry;
} paths[PATHS];
static unsigned path_count;

static ptl_pt_index_t entry_of(ptl_path_t path)
{
    unsigned n = 0;
    while (n < path_count && paths[n].path != path) n++;
    if (n == path_count) abort();
    return paths[n].entry;
}

static void *next_of(const char *name)
{
    void *function = dlsym(RTLD_NEXT, name);
    if (function) return function;
    fprintf(stderr, "spy: there is no %s\n", name);
    abort();
}

/* A function of the next library in the order of lookup. */
#define NEXT(name, ...)                                                                            \
    static int (*next)(__VA_ARGS__);                                                               \
    if (!next) *(void **)(void *)&next = next_of(#name)

static struct known *find(ptl_handle_any_t handle)
{
    for (unsigned i = 0; i < known_count; i++)
        if (known[i].handle == handle) return &known[i];
    return NULL;
}

/* The last that was attached to this memory. */
static const struct known *attached_to(const ptl_md_t *md)
{
    const struct known *last = NULL;
    for (unsigned i = 0; i < known_count && md->length > 0; i++)
        if (known[i].selector != SPY_BOUND && known[i].start == md->start &&
            known[i].length == md->length)
            last = &known[i];
    return last;
}

static struct known *learn(ptl_handle_any_t handle, unsigned selector)
{
    struct known *of = find(handle);
    if (!of && known_count == HANDLES) abort();
    if (!of) of = &known[known_count++];
    *of = (struct known){.handle = handle, .selector = selector};
    return of;
}

static void started(bool get, ptl_handle_md_t md, ptl_pt_index_t entry, ptl_match_bits_t bits,
                    ptl_size_t length)
{
    const struct known *from = find(md);
    spy.idle = 0;
    if (spy.ops < SPY_OPS)
        spy.op[spy.ops++] = (struct spy_op){.get = get,
                                            .from = from ? from->selector : SPY_BOUND,
                                            .entry = entry,
                                            .selector = (unsigned)bits & 15,
                                            .length = length,
                                            .start = from ? from->start : NULL,
                                            .size = from ? from->length : 0};
    if ((bits & 15) == BITS_REQRB) spy.unsent++;
}

static void looked_in_vain(void)
{
    if (!spy.on_stall || spy.unsent || ++spy.idle < LOOKS) return;
    spy.idle = 0;
    spy.on_stall();
}

static void see(const ptl_event_t *event)
{
    if (event->type == PTL_EVENT_SEND_END && (event->match_bits & 15) == BITS_REQRB) spy.unsent--;
}

#pragma GCC visibility push(default) /* for the library to find */

int PtlEQAlloc(ptl_handle_ni_t ni, ptl_size_t count, ptl_eq_handler_t handler, ptl_handle_eq_t *eq)
{
    NEXT(PtlEQAlloc, ptl_handle_ni_t, ptl_size_t, ptl_eq_handler_t, ptl_handle_eq_t *);
    int result = next(ni, count, handler, eq);
    if (result == PTL_OK && queues < SPY_QUEUES) {
        store[queues] = calloc(SPY_STORE, sizeof *store[queues]);
        spy.queue[queues++] = (struct spy_queue){.handle = *eq, .size = count};
    }
    return result;
}

static unsigned queue_of(ptl_handle_eq_t eq)
{
    unsigned n = 0;
    while (n < queues && spy.queue[n].handle != eq) n++;
    return n;
}

/* Returns one event at a time. */
int PtlEQNext(ptl_handle_eq_t eq, const ptl_event_t **events, ptl_size_t *count)
{
    NEXT(PtlEQNext, ptl_handle_eq_t, const ptl_event_t **, ptl_size_t *);
    const unsigned n = queue_of(eq);
    int result = PTL_OK;
    if (n == queues || !spy.queue[n].stored || spy.queue[n].hold)
        result = next(eq, events, count);
    else
        *events = &store[n][0];
    *count = 1;
    return result;
}

static void done_inside(ptl_handle_eq_t eq)
{
    static void (*next)(ptl_handle_eq_t, ptl_size_t);
    if (!next) *(void **)(void *)&next = next_of("PtlEQDone");
    next(eq, 1);
}

void PtlEQDone(ptl_handle_eq_t eq, ptl_size_t count)
{
    if (count == 0) return; /* the conduit lacks the resources to answer */
    if (count > 1) abort();
    const unsigned n = queue_of(eq);
    if (n == queues) {
        done_inside(eq);
        return;
    }
    struct spy_queue *queue = &spy.queue[n];
    queue->served++;
    if (queue->stored && !queue->hold) {
        memmove(store[n], store[n] + 1, --queue->stored * sizeof *store[n]);
        return;
    }
    const ptl_event_t *event;
    ptl_size_t there;
    NEXT(PtlEQNext, ptl_handle_eq_t, const ptl_event_t **, ptl_size_t *);
    if (n == SPY_SAFE && next(eq, &event, &there) == PTL_OK) see(event);
    done_inside(eq);
}

/* Takes an event from the library into the store. */
static bool keep_back(unsigned n)
{
    NEXT(PtlEQNext, ptl_handle_eq_t, const ptl_event_t **, ptl_size_t *);
    const ptl_event_t *event;
    ptl_size_t there;
    const ptl_handle_eq_t eq = spy.queue[n].handle;
    if (spy.queue[n].stored == SPY_STORE || next(eq, &event, &there) != PTL_OK) return false;
    if (n == SPY_SAFE) see(event);
    store[n][spy.queue[n].stored++] = *event;
    done_inside(eq);
    return true;
}

/* Counts events; those that are held back are taken from the library, too. */
int PtlEQCount(const ptl_handle_eq_t *eqs, int size, ptl_size_t *counts)
{
    NEXT(PtlEQCount, const ptl_handle_eq_t *, int, ptl_size_t *);
    int result = next(eqs, size, counts);
    if (result != PTL_OK) return result;
    for (int i = 0; i < size; i++) {
        const unsigned n = queue_of(eqs[i]);
        if (n == queues) continue;
        while (spy.queue[n].hold && keep_back(n)) {
        }
        counts[i] = spy.queue[n].hold ? 0 : counts[i] + spy.queue[n].stored;
    }
    return PTL_OK;
}

int PtlMEAttach(ptl_handle_ni_t ni, ptl_pt_index_t pt, ptl_process_id_t id, ptl_match_bits_t bits,
                ptl_match_bits_t ignore, ptl_unlink_t unlink, ptl_ins_pos_t pos,
                ptl_handle_me_t *me)
{
    NEXT(PtlMEAttach, ptl_handle_ni_t, ptl_pt_index_t, ptl_process_id_t, ptl_match_bits_t,
         ptl_match_bits_t, ptl_unlink_t, ptl_ins_pos_t, ptl_handle_me_t *);
    int result = next(ni, pt, id, bits, ignore, unlink, pos, me);
    if (result == PTL_OK) learn(*me, (unsigned)bits & 15);
    return result;
}

int PtlMEInsert(ptl_handle_me_t base, ptl_process_id_t id, ptl_match_bits_t bits,
                ptl_match_bits_t ignore, ptl_unlink_t unlink, ptl_ins_pos_t pos,
                ptl_handle_me_t *me)
{
    NEXT(PtlMEInsert, ptl_handle_me_t, ptl_process_id_t, ptl_match_bits_t, ptl_match_bits_t,
         ptl_unlink_t, ptl_ins_pos_t, ptl_handle_me_t *);
    int result = next(base, id, bits, ignore, unlink, pos, me);
    if (result == PTL_OK) learn(*me, (unsigned)bits & 15);
    return result;
}

int PtlMDAttach(ptl_handle_me_t me, ptl_md_t md, ptl_unlink_t unlink, ptl_handle_md_t *handle)
{
    NEXT(PtlMDAttach, ptl_handle_me_t, ptl_md_t, ptl_unlink_t, ptl_handle_md_t *);
    const unsigned selector = find(me)->selector;
    int result = next(me, md, unlink, handle);
    if (result != PTL_OK) return result;
    spy.attached[selector] += md.length;
    spy.count[selector]++;
    if (handle) {
        struct known *of = learn(*handle, selector);
        of->start = md.start;
        of->length = md.length;
    }
    return result;
}

int PtlMDBind(ptl_handle_ni_t ni, ptl_md_t md, ptl_unlink_t unlink, ptl_handle_md_t *handle)
{
    NEXT(PtlMDBind, ptl_handle_ni_t, ptl_md_t, ptl_unlink_t, ptl_handle_md_t *);
    int result = next(ni, md, unlink, handle);
    if (result != PTL_OK) return result;
    const struct known *other = attached_to(&md);
    struct known *of = learn(*handle, other ? other->selector : SPY_BOUND);
    of->twin = other != NULL;
    of->start = md.start;
    of->length = md.length;
    if (other) return result;
    if (!spy.bound_first) spy.bound_first = md.length;
    if (++spy.bound > spy.bound_most) spy.bound_most = spy.bound;
    return result;
}

int PtlMDUnlink(ptl_handle_md_t handle)
{
    NEXT(PtlMDUnlink, ptl_handle_md_t);
    struct known *of = find(handle);
    unsigned was = of && !of->twin ? of->selector : SPY_BOUND + 1;
    int result = next(handle);
    if (result == PTL_OK && of) of->length = 0;
    if (result == PTL_OK && was == SPY_BOUND) spy.bound--;
    if (result == PTL_OK && was < SPY_BOUND) spy.count[was]--;
    return result;
}

int PtlPutRegion(ptl_handle_md_t md, ptl_size_t offset, ptl_size_t length, ptl_ack_req_t ack,
                 ptl_process_id_t target, ptl_pt_index_t pt, ptl_ac_index_t ac,
                 ptl_match_bits_t bits, ptl_size_t there, ptl_hdr_data_t header)
{
    NEXT(PtlPutRegion, ptl_handle_md_t, ptl_size_t, ptl_size_t, ptl_ack_req_t, ptl_process_id_t,
         ptl_pt_index_t, ptl_ac_index_t, ptl_match_bits_t, ptl_size_t, ptl_hdr_data_t);
    started(false, md, pt, bits, length);
    return next(md, offset, length, ack, target, pt, ac, bits, there, header);
}

int PtlPathOpen(ptl_handle_ni_t ni, ptl_process_id_t target, ptl_pt_index_t pt, ptl_path_t *path)
{
    NEXT(PtlPathOpen, ptl_handle_ni_t, ptl_process_id_t, ptl_pt_index_t, ptl_path_t *);
    int result = next(ni, target, pt, path);
    if (result != PTL_OK) return result;
    unsigned n = 0;
    while (n < path_count && paths[n].path != *path) n++;
    if (n == PATHS) abort();
    paths[n].path = *path;
    paths[n].entry = pt;
    if (n == path_count) path_count++;
    return result;
}

int PtlPutBytes(ptl_path_t path, const void *data, ptl_size_t length, ptl_match_bits_t bits,
                ptl_size_t there, ptl_hdr_data_t header)
{
    NEXT(PtlPutBytes, ptl_path_t, const void *, ptl_size_t, ptl_match_bits_t, ptl_size_t,
         ptl_hdr_data_t);
    int result = next(path, data, length, bits, there, header);
    if (result != PTL_OK) return result;
    started(false, PTL_INVALID_HANDLE, entry_of(path), bits, length);
    if ((bits & 15) == BITS_REQRB) spy.unsent--;
    return result;
}

int PtlPutBytesNoted(ptl_path_t path, const void *data, ptl_size_t length, ptl_match_bits_t bits,
                     ptl_size_t there, ptl_note_t *note)
{
    NEXT(PtlPutBytesNoted, ptl_path_t, const void *, ptl_size_t, ptl_match_bits_t, ptl_size_t,
         ptl_note_t *);
    int result = next(path, data, length, bits, there, note);
    if (result == PTL_OK) started(false, PTL_INVALID_HANDLE, entry_of(path), bits, length);
    return result;
}

int PtlPutNoted(ptl_path_t path, const void *local, ptl_size_t length, ptl_match_bits_t bits,
                ptl_size_t there, ptl_note_t *note)
{
    NEXT(PtlPutNoted, ptl_path_t, const void *, ptl_size_t, ptl_match_bits_t, ptl_size_t,
         ptl_note_t *);
    int result = next(path, local, length, bits, there, note);
    if (result == PTL_OK) started(false, note->md, entry_of(path), bits, length);
    return result;
}

int PtlGetNoted(ptl_path_t path, void *local, ptl_size_t length, ptl_match_bits_t bits,
                ptl_size_t there, ptl_note_t *note)
{
    NEXT(PtlGetNoted, ptl_path_t, void *, ptl_size_t, ptl_match_bits_t, ptl_size_t, ptl_note_t *);
    int result = next(path, local, length, bits, there, note);
    if (result == PTL_OK) started(true, note->md, entry_of(path), bits, length);
    return result;
}

/* Polls; events that are held back may be returned by any poll. */
int PtlPoll(ptl_handle_ni_t ni, uint64_t *seen, ptl_note_t **notes)
{
    NEXT(PtlPoll, ptl_handle_ni_t, uint64_t *, ptl_note_t **);
    int result = next(ni, seen, notes);
    bool stored = false;
    for (unsigned n = 0; n < queues; n++) stored |= spy.queue[n].stored && !spy.queue[n].hold;
    if (result == PTL_EQ_EMPTY && !*notes && !stored) looked_in_vain();
    return result == PTL_EQ_EMPTY && stored ? PTL_OK : result;
}

int PtlGetRegion(ptl_handle_md_t md, ptl_size_t offset, ptl_size_t length, ptl_process_id_t target,
                 ptl_pt_index_t pt, ptl_ac_index_t ac, ptl_match_bits_t bits, ptl_size_t there)
{
    NEXT(PtlGetRegion, ptl_handle_md_t, ptl_size_t, ptl_size_t, ptl_process_id_t, ptl_pt_index_t,
         ptl_ac_index_t, ptl_match_bits_t, ptl_size_t);
    started(true, md, pt, bits, length);
    return next(md, offset, length, target, pt, ac, bits, there);
}

#pragma GCC visibility pop

void spy_reset(void)
{
    spy.ops = 0;
    spy.bound_most = spy.bound;
    spy.idle = 0;
    spy.on_stall = NULL;
    for (int i = 0; i < SPY_QUEUES; i++) {
        spy.queue[i].hold = false;
        spy.queue[i].served = 0;
    }
}
