/* remote_flags.c - the words of remote_flags.h: their memory, its keys, and the put that writes
 * them.
 *
 * Called by the Extended API's barrier, and by attach and exit.
 */
#include "core/rdma/remote_flags.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "core/job/job.h"
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

/* Puts the word when the network has resources, or a buffer of the core, or from a registration. */
static void put_slowly(uint32_t node, uint32_t index, uint64_t word)
{
    const rdma_piece_t piece = {.peer = &gasnetc_peers[node],
                                .put = true,
                                .source_free = true,
                                .way = bounce_inlines(sizeof word) ? RDMA_INLINED : RDMA_COPIED,
                                .remote = places[node].base + index * sizeof word,
                                .local = (char *)&word,
                                .nbytes = sizeof word};
    gasnetc_post_piece(&piece, &(remote_t){.key = &places[node].key}, NET_UNORDERED, false);
}

void gasnetc_remote_flag_put(uint32_t node, uint32_t index, uint64_t word)
{
    gasnetc_peer_t *peer = &gasnetc_peers[node];
    enum net_result result = NET_BUSY;
    remote_settle();
    word |= next_marks[index];
    next_marks[index] ^= GASNETC_FLAG_MARKS;
    if (bounce_inlines(sizeof word)) {
        gasneti_lock(&peer->lock);
        result =
            net_put(&peer->net, places[node].base + index * sizeof word, &places[node].key, &word,
                    NULL, sizeof word, NET_UNORDERED, &(gasnetc_sent_t){.counter = NULL});
        gasneti_unlock(&peer->lock);
    }
    if (result != NET_POSTED) put_slowly(node, index, word);
}
