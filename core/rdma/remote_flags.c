/* remote_flags.c - the words of remote_flags.h: their memory, its keys, and the put that writes
 * them.
 *
 * Called by the Extended API's barrier, and by attach and exit.
 */
#include "core/rdma/remote_flags.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "core/job/job.h"
#include "core/job/progress.h"
#include "core/rdma/bounce.h"
#include "core/rdma/remote.h"
#include "core/report.h"

/* The words of a rank. */
typedef struct place {
    uint64_t base;
    net_key_t key;
} place_t;

_Atomic uint64_t *gasnetc_remote_flag_words;
uint64_t *gasnetc_remote_flag_due;
static uint64_t *next_marks; /* by index: the marks of the next word to be put */
static net_region_t region;
static place_t *places; /* [ranks] */

void gasnetc_remote_flags_init(uint32_t count)
{
    if (gasnetc_job.size == 1) return;
    size_t size = (count * sizeof(uint64_t) + 4095) / 4096 * 4096;
    _Atomic uint64_t *words = net_alloc(size);
    gasnetc_remote_flag_due = calloc(2 * (size_t)count, sizeof *gasnetc_remote_flag_due);
    places = calloc(gasnetc_job.size, sizeof *places);
    if (!words || !gasnetc_remote_flag_due || !places)
        gasneti_fatal("out of memory for the barrier's %zu KB", size / 1024);
    /* The memory is zero, so the first word is to have marks that are set. */
    next_marks = gasnetc_remote_flag_due + count;
    for (uint32_t i = 0; i < count; i++)
        gasnetc_remote_flag_due[i] = next_marks[i] = GASNETC_FLAG_MARKS;
    gasnetc_remote_flag_words = words;
    if (!net_register(words, size, NET_REMOTE, &region)) {
        char why[256];
        net_explain_register(errno, size, why, sizeof why);
        gasneti_fatal("cannot register the barrier's %zu KB: %s", size / 1024, why);
    }
    place_t mine = {.base = (uintptr_t)words, .key = net_key(&region)};
    bootstrap_exchange(&mine, sizeof mine, places);
}

void gasnetc_remote_flags_close(void)
{
    if (!gasnetc_remote_flag_words) return;
    net_deregister(&region);
    net_free(gasnetc_remote_flag_words);
    free(gasnetc_remote_flag_due);
    free(places);
    gasnetc_remote_flag_words = NULL;
}

/* Puts the word from a registration of its own, since the network has no send buffer free (PO-18).
 */
static __attribute__((cold)) void put_registered(gasnetc_peer_t *peer, uint32_t node,
                                                 uint32_t index, uint64_t word)
{
    const net_region_t *local;
    gasnetc_counter_t done = {.issued = 1};
    const gasnetc_sent_t sent = {
        .counter = &done,
        .held = gasnetc_pin_transient(&word, sizeof word, NET_SOURCE, &local, false)};
    for (;;) {
        gasneti_lock(&peer->lock);
        enum net_result result =
            net_put(&peer->net, places[node].base + index * sizeof word, &places[node].key, &word,
                    local, sizeof word, NET_UNORDERED, &sent);
        if (result != NET_POSTED) gasnetc_count_stall(peer, result);
        gasneti_unlock(&peer->lock);
        if (result == NET_POSTED) break;
        gasnetc_stall_at(peer, result, false);
    }
    while (!gasnetc_counter_done(&done)) gasnetc_stall(false); /* the word is read until then */
}

void gasnetc_remote_flag_put(uint32_t node, uint32_t index, uint64_t word)
{
    gasnetc_peer_t *peer = &gasnetc_peers[node];
    const void *source = &word;
    remote_settle();
    word |= next_marks[index];
    next_marks[index] ^= GASNETC_FLAG_MARKS;
    const net_region_t *local = NULL;
    gasnetc_sent_t sent = {.counter = NULL};
    if (!bounce_inlines(sizeof word)) {
        void *bbuf = gasnetc_bbuf_wait(false);
        sent.held = gasnetc_hold(bbuf, GASNETC_HELD_BBUF);
        gasneti_self()->counts.puts_bounced++;
        source = memcpy(bbuf, &word, sizeof word);
        local = &gasnetc_bbuf_region;
    }
    for (;;) {
        gasneti_lock(&peer->lock);
        enum net_result result =
            net_put(&peer->net, places[node].base + index * sizeof word, &places[node].key, source,
                    local, sizeof word, NET_UNORDERED, &sent);
        if (result != NET_POSTED) gasnetc_count_stall(peer, result);
        gasneti_unlock(&peer->lock);
        if (result == NET_POSTED) return;
        if (result == NET_NO_SEND_BUF) {
            put_registered(peer, node, index, word);
            return;
        }
        gasnetc_stall_at(peer, result, false);
    }
}
