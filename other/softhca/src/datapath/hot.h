/* hot.h - inline functions of nearly every WR: copying when both sides are mapped.
 *
 * Included by the files of the data path. No system call, no lock.
 */
#ifndef SOFTHCA_HOT_H
#define SOFTHCA_HOT_H

#include <string.h>

#include "other/base/hot.h"
#include "other/softhca/src/datapath/datapath.h"

/* The address in this process of LEN bytes at OFFSET of the peer's memfd; NULL when they cannot be
 * mapped. ARENA_LEN is loaded before ARENA: peer_map.c stores them in the opposite order. */
static inline void *shca_peer_map(struct shca_peer *p, uint64_t offset, uint64_t len)
{
    uint64_t in = offset - shm_arena_start();
    if (in + len <= atomic_load_explicit(&p->arena_len, memory_order_acquire))
        return atomic_load_explicit(&p->arena, memory_order_acquire) + in;
    return shca_peer_map_more(p, offset, len);
}

static inline void shca_store_bytes(char *to, const char *from, size_t n)
{
    for (size_t i = 0; i < n; i++) __atomic_store_n(&to[i], from[i], __ATOMIC_RELEASE);
}

/* An aligned word is stored whole, as programs expect of an HCA. */
static inline void shca_store_word(char *to, const char *from)
{
    uint64_t word;
    memcpy(&word, from, sizeof word);
    if ((uintptr_t)to % sizeof word == 0)
        __atomic_store_n((uint64_t __attribute__((may_alias)) *)to, word, __ATOMIC_RELEASE);
    else
        shca_store_bytes(to, from, sizeof word);
}

/* Programs poll the last byte of a WRITE: it is stored last, with release. */
static inline void shca_copy_in_order(char *to, const char *from, size_t n)
{
    if (n > 8) {
        memcpy(to, from, n - 8);
        shca_store_word(to + n - 8, from + n - 8);
    } else if (n == 8)
        shca_store_word(to, from);
    else if (n == 4 && (uintptr_t)to % 4 == 0) {
        uint32_t word;
        memcpy(&word, from, sizeof word);
        __atomic_store_n((uint32_t __attribute__((may_alias)) *)to, word, __ATOMIC_RELEASE);
    } else
        shca_store_bytes(to, from, n);
}

/* Gathers all SGEs of G at TO. */
static inline void shca_copy_together(char *to, const struct shca_gather *g)
{
    for (int i = 0; i < g->n; i++) {
        memcpy(to, g->iov[i].iov_base, g->iov[i].iov_len);
        to += g->iov[i].iov_len;
    }
}

static inline bool shca_send_queue_full(const struct shca_qp *qp)
{
    return qp->sq_head - atomic_load_explicit(&qp->sq_done, memory_order_acquire) >= qp->sq_size;
}

static inline bool shca_is_signalled(const struct shca_qp *qp, const struct ibv_send_wr *wr)
{
    return qp->sig_all || wr->send_flags & IBV_SEND_SIGNALED;
}

HOT bool shca_sleeps(const struct shm_header *h)
{
    return atomic_load_explicit(&h->sleeper, memory_order_relaxed) != 0;
}

/* Wakes the thread of process P that sleeps, if one does, as data or a completion has arrived. */
static inline void shca_wake_sleeper(struct shca_peer *p)
{
    atomic_signal_fence(memory_order_seq_cst); /* pairs with the membarrier of the sleeper */
    if (shca_sleeps(p->h)) shca_peer_wake_sleeper(p);
}

/* The usual case is inlined: one SGE, and one mapped piece at the target. */
HOT int shca_move_fast(struct shca_peer *p, bool write, struct shca_gather *g,
                       const struct shca_piece *there, int n)
{
    if (g->n != 1 || n != 1 || !there->direct) return shca_move(p, write, g->iov, g->n, there, n);
    if (write)
        shca_copy_in_order(there->direct, g->iov[0].iov_base, g->total);
    else
        memcpy(g->iov[0].iov_base, there->direct, g->total);
    return 0;
}

#endif
