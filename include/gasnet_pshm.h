/* gasnet_pshm.h - shared memory within a host: the ranks whose segments this rank has mapped, and
 * inlined puts and gets of few bytes to such ranks.
 *
 * Private part of gasnet.h.
 */
#ifndef GASNETI_IN_GASNET_H
#error "gasnet_pshm.h is private: include gasnet.h"
#endif
#ifndef GASNETI_PSHM_H
#define GASNETI_PSHM_H

/* The outcome of a transfer: done; not done, since the network alone reaches the rank; not known,
 * so that the library decides. */
enum { GASNETI_SHM_DONE, GASNETI_SHM_FAR, GASNETI_SHM_UNKNOWN };

/* The longest transfer that is inlined, if its length is a constant. */
#define GASNETI_SHM_INLINE 64

GASNETI_EXPORTS_BEGIN

/* The segment of a rank, as this rank reaches it by loads and stores. */
typedef struct {
    uintptr_t base;   /* its address in that rank */
    uintptr_t inner;  /* GASNETI_SHM_INLINE bytes at smaller offsets lie in the segment; 0: empty */
    uintptr_t mapped; /* the address of `base` in this rank */
    uint32_t number;  /* of the rank in this rank's supernode, from 1; 0: not a member */
    uint32_t rank;    /* the rank itself, if it is a member; else another number */
} gasneti_shm_peer_t;

/* The table of ranks.  The network alone reaches a rank whose entry has another `rank`.  The entry
 * of any number is that of its low bits, so that one comparison tells members of the supernode from
 * other ranks and from numbers that are no rank.
 *
 * Entries have no segment until gasnet_attach, and do not change after it.  No transfer is legal
 * before it, so the table is const for programs: a compiler may keep an entry in registers during a
 * loop of puts, which the fences of the puts would otherwise forbid.  core/shm/shm.c fills it. */
#ifndef GASNETI_SHM_CONST
#define GASNETI_SHM_CONST const
#endif
extern GASNETI_SHM_CONST gasneti_shm_peer_t gasneti_shm_peers[GASNET_MAXNODES + 1];
#define GASNETI_SHM_PEER(node) gasneti_shm_peers[(node)&GASNET_MAXNODES]

GASNETI_EXPORTS_END

/* Memory model of the copies of puts and gets: the stores of a put follow all earlier stores of the
 * thread and precede all later ones, and the loads of a get precede all later loads. */
#define GASNETI_SHM_STORE(copy)                                                                    \
    do {                                                                                           \
        gasneti_local_wmb();                                                                       \
        copy;                                                                                      \
        gasneti_local_wmb();                                                                       \
    } while (0)
#define GASNETI_SHM_LOAD(copy)                                                                     \
    do {                                                                                           \
        copy;                                                                                      \
        gasneti_local_rmb();                                                                       \
    } while (0)

#if GASNET_PSHM && defined(__GNUC__) && !GASNET_DEBUG

#define GASNETI_SHM_INLINES(nbytes)                                                                \
    (__builtin_constant_p(nbytes) && (nbytes)-1 < (size_t)GASNETI_SHM_INLINE)

GASNETI_INLINE int gasneti_shm_put(gasnet_node_t node, void *dest, const void *src, size_t nbytes)
{
    if (GASNETI_SHM_INLINES(nbytes)) {
        const uintptr_t offset = (uintptr_t)dest - GASNETI_SHM_PEER(node).base;
        if (GASNETI_SHM_PEER(node).rank != node) return GASNETI_SHM_FAR;
        if_pt(offset < GASNETI_SHM_PEER(node).inner)
        {
            void *here = (void *)(GASNETI_SHM_PEER(node).mapped + offset);
            GASNETI_SHM_STORE(__builtin_memcpy(here, src, nbytes));
            return GASNETI_SHM_DONE;
        }
    }
    return GASNETI_SHM_UNKNOWN;
}

GASNETI_INLINE int gasneti_shm_get(void *dest, gasnet_node_t node, const void *src, size_t nbytes)
{
    if (GASNETI_SHM_INLINES(nbytes)) {
        const uintptr_t offset = (uintptr_t)src - GASNETI_SHM_PEER(node).base;
        if (GASNETI_SHM_PEER(node).rank != node) return GASNETI_SHM_FAR;
        if_pt(offset < GASNETI_SHM_PEER(node).inner)
        {
            const void *here = (const void *)(GASNETI_SHM_PEER(node).mapped + offset);
            GASNETI_SHM_LOAD(__builtin_memcpy(dest, here, nbytes));
            return GASNETI_SHM_DONE;
        }
    }
    return GASNETI_SHM_UNKNOWN;
}

#else

GASNETI_INLINE int gasneti_shm_put(gasnet_node_t node, void *dest, const void *src, size_t nbytes)
{
    (void)node, (void)dest, (void)src, (void)nbytes;
    return GASNETI_SHM_UNKNOWN;
}

GASNETI_INLINE int gasneti_shm_get(void *dest, gasnet_node_t node, const void *src, size_t nbytes)
{
    (void)node, (void)dest, (void)src, (void)nbytes;
    return GASNETI_SHM_UNKNOWN;
}

#endif

/* The address of the nbytes low-order bytes of a value in memory. */
GASNETI_INLINE void *gasneti_low_bytes(gasnet_register_value_t *value, size_t nbytes)
{
#if defined(__BYTE_ORDER__) && defined(__ORDER_BIG_ENDIAN__)
    if (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__) return (char *)value + (sizeof *value - nbytes);
#endif
    (void)nbytes;
    return value;
}
#endif
