/* remote_flags.c - the words of remote_flags.h: their memory, its keys, and the one put that writes
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
#include "core/report.h"

/* Where a node's words are. */
typedef struct place {
    uint64_t base;
    net_key_t key;
} place_t;

_Atomic uint64_t *gasnetc_notice_words;
uint64_t *gasnetc_notice_due;
static uint64_t *next_marks; /* by index: those of the word to be put next */
static net_region_t region;
static place_t *places; /* [nodes] */

void gasnetc_remote_flags_init(uint32_t count)
{
    if (gasnetc_job.size == 1) return;
    size_t size = (count * sizeof(uint64_t) + 4095) / 4096 * 4096;
    _Atomic uint64_t *words = net_alloc(size);
    gasnetc_notice_due = calloc(2 * (size_t)count, sizeof *gasnetc_notice_due);
    places = calloc(gasnetc_job.size, sizeof *places);
    if (!words || !gasnetc_notice_due || !places)
        gasneti_fatal("out of memory for the barrier's %zu KB", size / 1024);
    /* The memory is zero: no byte has the first mark. */
    next_marks = gasnetc_notice_due + count;
    for (uint32_t i = 0; i < count; i++)
        gasnetc_notice_due[i] = next_marks[i] = GASNETC_NOTICE_MARKS;
    gasnetc_notice_words = words;
    if (!net_register(words, size, true, &region)) {
        char why[256];
        net_explain_register(errno, size, why, sizeof why);
        gasneti_fatal("cannot register the barrier's %zu KB: %s", size / 1024, why);
    }
    place_t mine = {.base = (uintptr_t)words, .key = net_key(&region)};
    bootstrap_exchange(&mine, sizeof mine, places);
}

void gasnetc_remote_flags_close(void)
{
    if (!gasnetc_notice_words) return;
    net_deregister(&region);
    net_free(gasnetc_notice_words);
    gasnetc_notice_words = NULL;
}

void gasnetc_remote_flag_put(uint32_t node, uint32_t index, uint64_t word)
{
    gasnetc_peer_t *peer = &gasnetc_peers[node];
    const void *source = &word;
    word |= next_marks[index];
    next_marks[index] ^= GASNETC_NOTICE_MARKS;
    const net_region_t *local = NULL;
    gasnetc_sent_t sent = {.counter = NULL};
    if (!bounce_inlines(sizeof word)) {
        while (!(sent.held = gasnetc_bbuf_try())) gasnetc_stall_bbuf(false);
        gasneti_self()->counts.puts_bounced++;
        memcpy(sent.held, &word, sizeof word);
        source = sent.held;
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
        gasnetc_stall_at(peer, result, false);
    }
}
