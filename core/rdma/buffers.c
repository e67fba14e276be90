/* buffers.c - bounce buffers (bbufs) and transient registrations, which operations in flight hold;
 * and registrations of the library's own memory.
 *
 * A gasnetc_held_t with an address in the arena is a bbuf; one with an address in the cache's
 * records is a region of the cache (firehose.h), or a lease of one (lease.h); any other is a
 * transient registration.
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
#include "other/base/mapped.h"

/* A transient registration. */
typedef struct pin {
    gasnetc_held_t held; /* first */
    net_region_t region;
} pin_t;

net_region_t gasnetc_bbuf_region;
gasnetc_pool_t gasnetc_free_bbufs;

gasnetc_held_t *_Atomic gasnetc_retired_pins;
static gasnetc_pool_t free_pins;
static gasnetc_pool_t pins_for_good;
static char *arena;
static size_t arena_size;
static size_t fresh; /* offset of the first bbuf that was never used; under the pool's lock */

#if !NET_BUFFERS
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
    gasnetc_pool_give(&pins_for_good, &pin->held);
    return &pin->region;
}
#endif

_Static_assert((int)GASNETC_FILL_MAX == (int)GASNETC_BBUF_SIZE,
               "one buffer holds the longest fill");

const struct net_region *gasnetc_landing(void *start, size_t nbytes)
{
    return bounce_landing(start, nbytes);
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

gasnetc_held_t *gasnetc_pin_transient(const void *start, size_t length, enum net_access access,
                                      const net_region_t **region, bool in_handler)
{
    pin_t *pin = gasnetc_pool_take(&free_pins);
    if (!pin) pin = malloc(sizeof *pin);
    if (!pin) gasneti_fatal("out of memory for the record of a registration");
    while (!net_register((void *)(uintptr_t)start, length, access, &pin->region)) {
        char why[256];
        const int error = errno;
        if (error == EAGAIN) {
            gasnetc_stall_bbuf(in_handler);
            continue;
        }
        if (error == ENOMEM && gasnetc_cache_shed()) continue;
        if (error == EFAULT &&
            gasneti_mapped(start, length, access != NET_SOURCE) != GASNETI_UNMAPPED) {
            gasnetc_pool_give(&free_pins, &pin->held);
            return NULL;
        }
        net_explain_register(error, length, why, sizeof why);
        gasneti_fatal("cannot register %zu bytes at %p for a transfer: %s", length, start, why);
    }
    gasneti_self()->counts.transient_registrations++;
    *region = &pin->region;
    return &pin->held;
}

void gasnetc_retire(gasnetc_held_t *pin)
{
    pin->next = atomic_load_explicit(&gasnetc_retired_pins, memory_order_relaxed);
    while (!atomic_compare_exchange_weak_explicit(&gasnetc_retired_pins, &pin->next, pin,
                                                  memory_order_release, memory_order_relaxed))
        ;
}

void gasnetc_deregister_retired(void)
{
    gasnetc_held_t *pin =
        atomic_exchange_explicit(&gasnetc_retired_pins, NULL, memory_order_acquire);
    while (pin) {
        gasnetc_held_t *next = pin->next;
        if (pin == &gasnetc_cache_due) {
            gasnetc_firehose_tidy();
        } else {
            net_deregister(&((pin_t *)pin)->region);
            gasnetc_pool_give(&free_pins, pin);
        }
        pin = next;
    }
}

static __attribute__((noinline)) void copy_and_free(const gasnetc_sent_t *sent)
{
    memcpy(sent->copy_to, sent->held, sent->copy_length);
    gasnetc_bbuf_free(sent->held);
}

void gasnetc_copy_nowhere(const void *to, size_t nbytes)
{
    gasneti_failed(
        "a get of %zu bytes to address %p: there is no memory in the first page; pass the "
        "address of memory that the program has allocated",
        nbytes, to);
}

static __attribute__((noinline)) void free_bbuf(gasnetc_held_t *bbuf)
{
    gasnetc_bbuf_free(bbuf);
}

/* Ends the use of a lease, a cached region or a transient registration.  Deregistering, a system
 * call, waits until the poll lock is released. */
static __attribute__((noinline)) void free_region(gasnetc_held_t *held)
{
    if (gasnetc_is_lease(held))
        gasnetc_lease_end((gasnetc_lease_t *)(void *)held);
    else if (gasnetc_is_cached(held))
        gasnetc_cache_release(held);
    else
        gasnetc_retire(held);
}

/* Frees the bbuf of a put or an Active Message, or of a get whose destination is in the first page.
 */
static __attribute__((noinline)) void free_uncopied(const gasnetc_sent_t *sent)
{
    if (sent->copy_length != 0) gasnetc_copy_nowhere(sent->copy_to, sent->copy_length);
    if (!gasnetc_pool_give_now(&gasnetc_free_bbufs, sent->held)) free_bbuf(sent->held);
}

/* Frees what an operation holds.  A get of one word is the usual case; all other cases are tail
 * calls, which keeps it short. */
void gasnetc_release_held(const gasnetc_sent_t *sent)
{
    gasnetc_held_t *held = sent->held;
    if ((size_t)((char *)held - arena) >= arena_size) {
        free_region(held);
        return;
    }
    if ((uintptr_t)sent->copy_to < GASNETC_FIRST_PAGE) {
        free_uncopied(sent);
        return;
    }
    gasnetc_poll_counts.gets_bounced++;
    if (sent->copy_length != 8) {
        copy_and_free(sent);
        return;
    }
    memcpy(sent->copy_to, held, 8);
    if (!gasnetc_pool_give_now(&gasnetc_free_bbufs, held)) free_bbuf(held);
}
