/* buffers.c - the bbuf pool and transient registrations: what an operation in flight may hold.
 *
 * A held thing is a bbuf exactly when its address lies in the arena; everything else that is held
 * is a transient registration.
 */
#include "core/buffers.h"

#include <errno.h>
#include <stdlib.h>

#include "core/job.h"
#include "core/report.h"

struct gasnetc_held {
    gasnetc_held_t *next;
    net_region_t region; /* transient registrations only */
};

net_region_t gasnetc_bbuf_region;

static char *arena;
static size_t arena_size;
static gasnetc_held_t *free_bbufs, *free_pins;
static gasneti_lock_t lock;

static void push(gasnetc_held_t **list, gasnetc_held_t *held)
{
    gasneti_lock(&lock);
    held->next = *list;
    *list = held;
    gasneti_unlock(&lock);
}

static gasnetc_held_t *pop(gasnetc_held_t **list)
{
    gasneti_lock(&lock);
    gasnetc_held_t *held = *list;
    if (held) *list = held->next;
    gasneti_unlock(&lock);
    return held;
}

void gasnetc_bbuf_init(uint32_t count)
{
    if (count > gasnetc_caps.region_max / GASNETC_BBUF_SIZE)
        count = (uint32_t)(gasnetc_caps.region_max / GASNETC_BBUF_SIZE);
    arena_size = (size_t)count * GASNETC_BBUF_SIZE;
    arena = net_alloc(arena_size);
    if (!arena)
        gasneti_fatal("cannot allocate %zu KB of send buffers: %s; lower GASNET_BBUF_COUNT",
                      arena_size / 1024, strerror(errno));
    if (!net_register(arena, arena_size, false, &gasnetc_bbuf_region)) {
        char why[256];
        net_explain_register(errno, arena_size, why, sizeof why);
        gasneti_fatal("cannot register %zu KB of send buffers: %s", arena_size / 1024, why);
    }
    for (size_t i = count; i-- > 0;)
        push(&free_bbufs, (gasnetc_held_t *)(void *)(arena + i * GASNETC_BBUF_SIZE));
}

void gasnetc_bbuf_fini(void)
{
    if (!arena) return;
    net_deregister(&gasnetc_bbuf_region);
    net_free(arena);
    arena = NULL;
    free_bbufs = NULL;
}

void *gasnetc_bbuf_try(void)
{
    return pop(&free_bbufs);
}

void gasnetc_bbuf_free(void *bbuf)
{
    push(&free_bbufs, bbuf);
}

gasnetc_held_t *gasnetc_pin_transient(const void *start, size_t length, net_region_t **region)
{
    gasnetc_held_t *pin = pop(&free_pins);
    if (!pin) pin = malloc(sizeof *pin);
    if (!pin) gasneti_fatal("out of memory for the record of a registration");
    if (!net_register((void *)(uintptr_t)start, length, false, &pin->region)) {
        char why[256];
        net_explain_register(errno, length, why, sizeof why);
        gasneti_fatal("cannot register %zu bytes at %p for a transfer: %s", length, start, why);
    }
    *region = &pin->region;
    return pin;
}

void gasnetc_release_held(const gasnetc_sent_t *sent)
{
    char *bytes = (char *)sent->held;
    if ((size_t)(bytes - arena) < arena_size) {
        if (sent->copy_to) memcpy(sent->copy_to, bytes, sent->copy_length);
        push(&free_bbufs, sent->held);
    } else {
        net_deregister(&sent->held->region);
        push(&free_pins, sent->held);
    }
}
