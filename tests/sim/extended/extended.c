/* extended.c - see extended.h.  Also the allocator of extended-ref, and what it needs of the core's
 * segment.c.  */
#include "tests/sim/extended/extended.h"

#include <stdlib.h>
#include <string.h>

#include "core/am/am.h"
#include "core/am/system_am.h"
#include "core/rdma/segment.h"
#include "extended-ref/barrier/barrier.h"
#include "extended-ref/coll/op.h"

typedef uint64_t own_word_t;
extern own_word_t sim_own_begin[], sim_own_end[];

static own_word_t *initial; /* as the program is loaded */
static own_word_t *own[SIM_NODES];

static size_t own_words(void)
{
    return (size_t)(sim_own_end - sim_own_begin);
}

/* Word by word: between the variables an address sanitizer has bytes that memcpy must not touch. */
__attribute__((no_sanitize("address", "thread"))) static void own_copy(volatile own_word_t *to,
                                                                       const own_word_t *from)
{
    for (size_t i = own_words(); i > 0; i--) *to++ = *from++;
}

static void enter(uint32_t node)
{
    own_copy(sim_own_begin, own[node]);
}

static void leave(uint32_t node)
{
    own_copy(own[node], sim_own_begin);
}

void sim_extended_begin(void)
{
    const own_word_t *inside = (own_word_t *)&gasnete_coll_match;
    if (inside < sim_own_begin || inside >= sim_own_end) abort(); /* linked without own.ld */
    if (!initial) {
        initial = malloc(own_words() * sizeof *initial);
        own_copy(initial, sim_own_begin);
        gasnetc_register_internal(gasnete_handlers);
    }
    for (uint32_t i = 0; i < sim_the_job.nodes; i++) {
        own[i] = sim_alloc(own_words() * sizeof *initial);
        own_copy(own[i], initial);
    }
    sim_job_exchange(enter, leave);
}

void sim_extended_attach(void)
{
    gasnete_init();
}

int gasnetc_segment_info(gasnet_seginfo_t *segments, int count)
{
    for (int i = 0; i < count; i++) {
        const gasnetc_peer_t *self = sim_job_peer(sim_job_me(), sim_job_me());
        segments[i] = (gasnet_seginfo_t){(void *)self->segment.base, self->segment.size};
    }
    return GASNET_OK;
}

int gasnetc_node_info(gasnet_nodeinfo_t *table, int count)
{
    for (int i = 0; i < count; i++) {
        const gasnet_node_t supernode = (gasnet_node_t)sim_job_supernode((uint32_t)i);
        table[i] = (gasnet_nodeinfo_t){.host = supernode, .supernode = supernode};
    }
    return GASNET_OK;
}

/* The job's barrier goes by Active Messages. */
const gasnete_barrier_puts_t *gasnete_barrier_by_puts(uint8_t rounds)
{
    (void)rounds;
    return NULL;
}

/* --- memory: extended-ref is compiled with these names for malloc and so on --- */

void *sim_malloc(size_t size);
void *sim_calloc(size_t count, size_t size);
void *sim_aligned_alloc(size_t alignment, size_t size);
void sim_free(void *memory);

typedef struct block {
    size_t size;
    uint64_t live;
} block_t;
static const uint64_t LIVE = 0x11feb10c0badcafe;

void *sim_malloc(size_t size)
{
    block_t *block = sim_alloc(sizeof *block + size);
    *block = (block_t){size, LIVE};
    return memset(block + 1, 0xda, size);
}

void *sim_calloc(size_t count, size_t size)
{
    void *memory = sim_malloc(count * size);
    return memset(memory, 0, count * size);
}

/* More than 16 is for cache lines only. */
void *sim_aligned_alloc(size_t alignment, size_t size)
{
    (void)alignment;
    return sim_malloc(size);
}

/* Frees memory and overwrites it, so that a later read finds nothing useful. */
void sim_free(void *memory)
{
    if (!memory) return;
    block_t *block = (block_t *)memory - 1;
    sim_check(block->live == LIVE, sim_job_me(), "frees memory twice, or what is none");
    block->live = 0;
    memset(memory, 0xdb, block->size);
}
