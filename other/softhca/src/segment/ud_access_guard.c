/* ud_access_guard.c - guards a process while initiators without a connection access it: datagrams,
 * and XRC messages to the SRQ of another process.
 *
 * Several initiators may be inside at once, so each process has a word of its own in the target's
 * header, odd while one of its threads is inside. The owner of a changed table waits for those
 * words, as it waits for the active word of a connection (shca_qp_quiesce).
 */
#include "other/softhca/src/segment/process.h"
#include "other/softhca/src/segment/segment.h"

/* Registers this process in the header of P, once, before the first entry. The previous process in
 * this slot may have died inside, so the word is made even. */
void shca_ud_access_register(struct shca_peer *p)
{
    struct shm_header *h = p->h;
    pthread_mutex_lock(&shca.peer_lock);
    if (!p->registered) {
        h->ud_access[shca.slot].inside = (h->ud_access[shca.slot].inside + 1) & ~1u;
        atomic_fetch_or(&h->ud_access_used[shca.slot / 64], 1ull << shca.slot % 64);
        p->registered = true;
    }
    pthread_mutex_unlock(&shca.peer_lock);
}

/* Enters P, one thread of this process at a time. The compare-and-swap is a full fence: reads of
 * the target come after it. */
void shca_ud_access_enter(struct shca_peer *p)
{
    _Atomic uint32_t *inside = &p->h->ud_access[shca.slot].inside;
    for (int spins = 0;; spins++) {
        uint32_t even = atomic_load_explicit(inside, memory_order_relaxed) & ~1u;
        if (atomic_compare_exchange_strong(inside, &even, even + 1)) return;
        if (spins > 64) sched_yield();
    }
}

void shca_ud_access_leave(struct shca_peer *p)
{
    _Atomic uint32_t *inside = &p->h->ud_access[shca.slot].inside;
    uint32_t odd = atomic_load_explicit(inside, memory_order_relaxed);
    atomic_store_explicit(inside, odd + 1, memory_order_release);
}

static void ud_access_wait_for(uint32_t slot)
{
    _Atomic uint32_t *inside = &shca.h->ud_access[slot].inside;
    uint32_t word = atomic_fetch_add(inside, 0); /* a full fence and a load */
    for (int spins = 0; word & 1 && atomic_load(inside) == word; spins++) {
        if (spins > 64) sched_yield();
        if (spins % 256 == 255 && !shca_slot_attached(slot)) return;
    }
}

/* Waits until no initiator that was inside on entry is inside still. */
void shca_ud_access_quiesce(void)
{
    for (uint32_t i = 0; i < SHCA_SLOTS / 64; i++)
        for (uint64_t word = shca.h->ud_access_used[i]; word; word &= word - 1)
            ud_access_wait_for(i * 64 + __builtin_ctzll(word));
}
