/* slots.c - handles: look-up of objects without a search, and detection of invalid and stale
 * handles.
 *
 * The slots are in one block that is never freed, so a look-up of any number is safe; each reuse of
 * a slot has another generation.
 */
#include <stddef.h>

#include "objects.h"

enum { SLOTS = 1 << VAPI_SLOT_BITS, GENERATION_SHIFT = 24, GENERATIONS = 127 };

_Static_assert(sizeof(struct vapi_slot) <= VAPI_SLOT_SIZE, "a slot has its place");
_Static_assert(VAPI_SLOT_SIZE == 1 << VAPI_SLOT_SHIFT, "the mask gives an offset");
_Static_assert(VAPI_SLOT_SHIFT + VAPI_SLOT_BITS == GENERATION_SHIFT, "nothing overlaps");

static unsigned char slots[(size_t)SLOTS * VAPI_SLOT_SIZE] __attribute__((aligned(64)));
unsigned char *vapi_slots = slots;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static uint32_t used = 1;              /* slots used so far; the first is reserved */
static uint32_t free_first, free_last; /* free slots, the longest free first; 0: none */

static struct vapi_slot *slot_at(uint32_t index)
{
    return (struct vapi_slot *)(void *)(slots + (size_t)index * VAPI_SLOT_SIZE);
}

static uint32_t index_of(uint32_t handle)
{
    return (handle & VAPI_SLOT_MASK) >> VAPI_SLOT_SHIFT;
}

/* Of a free slot, `object` is the index of the next. */
static uint32_t slots_take_slot(void)
{
    uint32_t index = free_first;
    if (index) {
        free_first = (uint32_t)(uintptr_t)slot_at(index)->object;
        if (!free_first) free_last = 0;
    } else if (used < SLOTS)
        index = used++;
    return index;
}

uint32_t vapi_handle_new(enum vapi_kind kind, uint32_t hca, void *object)
{
    uint32_t handle = 0;
    pthread_mutex_lock(&lock);
    uint32_t index = slots_take_slot();
    if (index) {
        struct vapi_slot *slot = slot_at(index);
        uint32_t generation = (slot->handle >> GENERATION_SHIFT) % GENERATIONS + 1;
        if (generation == GENERATIONS) generation = 1; /* no handle is all ones in 31 bits */
        handle = generation << GENERATION_SHIFT | index << VAPI_SLOT_SHIFT | kind;
        slot->object = object;
        slot->hca = hca ? hca : handle;
        __atomic_store_n(&slot->handle, handle, __ATOMIC_RELEASE);
    }
    pthread_mutex_unlock(&lock);
    return handle;
}

void vapi_handle_free(uint32_t handle)
{
    uint32_t index = index_of(handle);
    struct vapi_slot *slot = slot_at(index);
    pthread_mutex_lock(&lock);
    __atomic_store_n(&slot->usual, 0, __ATOMIC_RELAXED);
    __atomic_store_n(&slot->usual_recv, 0, __ATOMIC_RELAXED);
    /* Keeps the generation, and sets no kind.  */
    __atomic_store_n(&slot->handle, handle >> GENERATION_SHIFT << GENERATION_SHIFT,
                     __ATOMIC_RELEASE);
    slot->object = NULL;
    if (free_last)
        slot_at(free_last)->object = (void *)(uintptr_t)index;
    else
        free_first = index;
    free_last = index;
    pthread_mutex_unlock(&lock);
}

void *vapi_object(MT_ulong_ptr_t handle, enum vapi_kind kind)
{
    struct vapi_slot *slot = vapi_slot_of(handle);
    if ((handle & ((1u << VAPI_SLOT_SHIFT) - 1)) != kind) return NULL;
    if (__atomic_load_n(&slot->handle, __ATOMIC_ACQUIRE) != handle) return NULL;
    return slot->object;
}

void *vapi_find(VAPI_hca_hndl_t hca_handle, MT_ulong_ptr_t handle, enum vapi_kind kind,
                VAPI_ret_t *code)
{
    static const VAPI_ret_t invalid[] = {
        [KIND_HCA] = VAPI_EINVAL_HCA_HNDL, [KIND_PD] = VAPI_EINVAL_PD_HNDL,
        [KIND_AV] = VAPI_EINVAL_AV_HNDL,   [KIND_CQ] = VAPI_EINVAL_CQ_HNDL,
        [KIND_QP] = VAPI_EINVAL_QP_HNDL,   [KIND_SRQ] = VAPI_EINVAL_SRQ_HNDL,
        [KIND_MR] = VAPI_EINVAL_MR_HNDL,   [KIND_MW] = VAPI_EINVAL_MW_HNDL,
        [KIND_FMR] = VAPI_EINVAL_MR_HNDL};
    const struct vapi_hca *hca = vapi_hca(hca_handle);
    void *object = hca ? vapi_object_of(hca, handle, kind) : NULL;
    *code = object ? VAPI_OK : invalid[hca ? kind : KIND_HCA];
    return object;
}

void vapi_handles_hold(void)
{
    pthread_mutex_lock(&lock);
}

void vapi_handles_go_on(void)
{
    pthread_mutex_unlock(&lock);
}

void vapi_handles_forget(void)
{
    for (uint32_t i = 1; i < used; i++) {
        struct vapi_slot *slot = slot_at(i);
        slot->usual = slot->usual_recv = 0;
        slot->handle = slot->handle >> GENERATION_SHIFT << GENERATION_SHIFT;
    }
}
