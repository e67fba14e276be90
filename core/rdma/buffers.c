/* buffers.c - bounce buffers (bbufs) and transient registrations, which operations in flight hold;
 * and registrations of the library's own memory.
 */
#include "core/rdma/buffers.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/job/job.h"
#include "core/job/progress.h"
#include "core/job/thread.h"
#include "core/rdma/bounce.h"
#include "core/rdma/firehose.h"
#include "core/rdma/lease.h"
#include "core/rdma/rdma.h"
#include "core/report.h"
#include "core/trace/trace.h"
#include "other/base/mapped.h"

/* A transient registration. */
typedef struct pin {
    gasnetc_link_t link; /* first */
    net_region_t region;
} pin_t;

net_region_t gasnetc_bbuf_region;
gasnetc_pool_t gasnetc_free_bbufs;

gasnetc_link_t *_Atomic gasnetc_retired_pins;
static gasnetc_pool_t free_pins;
static gasnetc_pool_t pins_for_good;
static char *arena;
static size_t arena_size;
static size_t fresh; /* offset of the first bbuf that was never used; under the pool's lock */

void gasnetc_bbuf_init(uint32_t count)
{
    if (count > gasnetc_caps.region_max / GASNETC_BBUF_SIZE)
        count = (uint32_t)(gasnetc_caps.region_max / GASNETC_BBUF_SIZE);
    arena_size = (size_t)count * GASNETC_BBUF_SIZE;
    arena = net_alloc(arena_size);
    if (!arena)
        gasneti_fatal("cannot allocate %zu KB of send buffers: %s; lower GASNET_BBUF_COUNT",
                      arena_size / 1024, strerror(errno));
    if (!net_register(arena, arena_size, NET_LOCAL, &gasnetc_bbuf_region)) {
        char why[256];
        net_explain_register(errno, arena_size, why, sizeof why);
        gasneti_fatal("cannot register %zu KB of send buffers: %s", arena_size / 1024, why);
    }
    fresh = 0;
}

const net_region_t *gasnetc_pin_permanent(void *start, size_t length)
{
    pin_t *pin = malloc(sizeof *pin);
    if (!pin || !net_register(start, length, NET_LOCAL, &pin->region)) {
        free(pin);
        return NULL;
    }
    gasnetc_pool_give(&pins_for_good, &pin->link);
    return &pin->region;
}

_Static_assert((int)GASNETC_FILL_MAX == (int)GASNETC_BBUF_SIZE,
               "one buffer holds the longest fill");

const struct net_region *gasnetc_destination(void *start, size_t nbytes)
{
    return NET_BUFFERS ? NULL : gasnetc_pin_permanent(start, nbytes);
}

/* Takes a bbuf that was never used.  The free list does not hold them from the start: that would
 * touch a page of memory for each, and most jobs use few. */
void *gasnetc_bbuf_fresh(void)
{
    char *bbuf = NULL;
    gasneti_lock(&gasnetc_free_bbufs.lock);
    if (fresh < arena_size) {
        bbuf = arena + fresh;
        fresh += GASNETC_BBUF_SIZE;
    }
    gasneti_unlock(&gasnetc_free_bbufs.lock);
    return bbuf;
}

/* A fresh bbuf is taken only while all earlier ones are in use, so `fresh` is the most in use at
 * once. */
__attribute__((no_sanitize("thread"))) void gasnetc_bbuf_counts(uint64_t *all, uint64_t *most)
{
    *all = arena_size / GASNETC_BBUF_SIZE;
    *most = fresh / GASNETC_BBUF_SIZE;
}

void gasnetc_bbuf_fini(void)
{
    gasnetc_deregister_retired();
    for (pin_t *pin; (pin = gasnetc_pool_take(&pins_for_good));) {
        net_deregister(&pin->region);
        free(pin);
    }
    if (!arena) return;
    net_deregister(&gasnetc_bbuf_region);
    net_free(arena);
    arena = NULL;
    arena_size = fresh = 0;
    gasnetc_free_bbufs.first = NULL;
}

bool gasnetc_register(void *start, size_t length, enum net_access access, net_region_t *region)
{
    const uint64_t began = gasneti_trace_begin();
    const bool registered = net_register(start, length, access, region);
    const int error = errno;
    gasneti_trace_end(began, .kind = GASNETI_TRACE_registration, .bytes = length,
                      .peer = GASNETI_TRACE_NO_PEER);
    errno = error;
    return registered;
}

gasnetc_held_t gasnetc_pin_transient(const void *start, size_t length, enum net_access access,
                                     const net_region_t **region, bool in_handler)
{
    pin_t *pin = gasnetc_pool_take(&free_pins);
    if (!pin) pin = malloc(sizeof *pin);
    if (!pin) gasneti_fatal("out of memory for the record of a registration");
    while (!gasnetc_register((void *)(uintptr_t)start, length, access, &pin->region)) {
        char why[256];
        const int error = errno;
        if (error == EAGAIN) {
            gasnetc_stall_bbuf(in_handler);
            continue;
        }
        if (error == ENOMEM && gasnetc_cache_shed()) continue;
        if (error == EFAULT &&
            gasneti_mapped(start, length, access != NET_SOURCE) != GASNETI_UNMAPPED) {
            gasnetc_pool_give(&free_pins, &pin->link);
            return GASNETC_HELD_NOTHING;
        }
        net_explain_register(error, length, why, sizeof why);
        gasneti_fatal("cannot register %zu bytes at %p for a transfer: %s", length, start, why);
    }
    gasneti_self()->counts.transient_registrations++;
    *region = &pin->region;
    return gasnetc_hold(pin, GASNETC_HELD_TRANSIENT);
}

void gasnetc_retire(gasnetc_link_t *pin)
{
    pin->next = atomic_load_explicit(&gasnetc_retired_pins, memory_order_relaxed);
    while (!atomic_compare_exchange_weak_explicit(&gasnetc_retired_pins, &pin->next, pin,
                                                  memory_order_release, memory_order_relaxed))
        ;
}

void gasnetc_deregister_retired(void)
{
    gasnetc_link_t *pin =
        atomic_exchange_explicit(&gasnetc_retired_pins, NULL, memory_order_acquire);
    while (pin) {
        gasnetc_link_t *next = pin->next;
        if (pin == &gasnetc_cache_due) {
            gasnetc_firehose_retire();
        } else {
            net_deregister(&((pin_t *)pin)->region);
            gasnetc_pool_give(&free_pins, pin);
        }
        pin = next;
    }
}

/* --- the end of an operation --- */

void gasnetc_copy_nowhere(const void *to, size_t nbytes)
{
    gasneti_failed(
        "a get of %zu bytes to address %p: there is no memory in the first page; pass the "
        "address of memory that the program has allocated",
        nbytes, to);
}

HOT void give_bbuf(void *bbuf)
{
    if (!gasnetc_pool_give_now(&gasnetc_free_bbufs, bbuf)) gasnetc_bbuf_free(bbuf);
}

/* Copies a bounced get to its destination, and frees the bbuf.  A get of one word is the usual
 * case. */
HOT void end_get(const gasnetc_sent_t *sent, void *bbuf)
{
    if ((uintptr_t)sent->copy_to < GASNETC_FIRST_PAGE) {
        gasnetc_copy_nowhere(sent->copy_to, sent->copy_length);
    } else {
        gasnetc_poll_counts.gets_bounced++;
        if (sent->copy_length == 8)
            memcpy(sent->copy_to, bbuf, 8);
        else
            memcpy(sent->copy_to, bbuf, sent->copy_length);
    }
    give_bbuf(bbuf);
}

void gasnetc_release_held(const gasnetc_sent_t *sent)
{
    const gasnetc_held_t held = sent->held;
    switch (gasnetc_held_tag(held)) {
    case GASNETC_HELD_GET:
        end_get(sent, gasnetc_held_record(held, GASNETC_HELD_GET));
        return;
    case GASNETC_HELD_BBUF:
        give_bbuf(gasnetc_held_record(held, GASNETC_HELD_BBUF));
        return;
    case GASNETC_HELD_LEASE:
        gasnetc_lease_end(gasnetc_held_record(held, GASNETC_HELD_LEASE));
        return;
    case GASNETC_HELD_CACHED:
        gasnetc_cache_release(held);
        return;
    case GASNETC_HELD_TRANSIENT: /* deregistering, a system call, waits until the poll lock is
                                    released */
        gasnetc_retire(gasnetc_held_record(held, GASNETC_HELD_TRANSIENT));
        return;
    case GASNETC_HELD_NOTHING:
    case GASNETC_HELD_TAGS:
        return;
    }
}
