/* gasnet_pshm.h - shared memory within a host: the nodes whose segments this node has mapped, and
 * puts and gets of few bytes to them, inlined.
 *
 * Private part of gasnet.h.
 */
#ifndef GASNETI_IN_GASNET_H
#error "gasnet_pshm.h is private: include gasnet.h"
#endif
#ifndef GASNETI_PSHM_H
#define GASNETI_PSHM_H

/* What became of a transfer: done; not done, and the node is reached by the network alone; not
 * known, so that the library decides. */
enum { GASNETI_NEAR_DONE, GASNETI_NEAR_FAR, GASNETI_NEAR_UNKNOWN };

#if GASNET_PSHM

GASNETI_EXPORTS_BEGIN

/* The longest transfer that is inlined, if its length is a constant. */
#define GASNETI_NEAR_INLINE 64

/* The segment of a node, as this node reaches it by loads and stores. */
typedef struct {
    uintptr_t base, size; /* in that node */
    uintptr_t inner;      /* GASNETI_NEAR_INLINE bytes at offsets less than this are in it */
    uintptr_t offset;     /* add it to an address in that node */
    uint32_t place;       /* of the node in its supernode, from 0 */
} gasneti_near_t;

/* NULL: reached by the network alone.  It has an entry for each value of gasnet_node_t, so that an
 * invalid rank needs no test.  The entry of this node itself is not NULL after gasnet_init. */
extern const gasneti_near_t *gasneti_near[GASNET_MAXNODES + 1];

GASNETI_EXPORTS_END

/* Memory model of the copies of puts and gets: the stores of a put follow all earlier stores of the
 * thread and precede all later ones, and the loads of a get precede all later loads. */
#define GASNETI_NEAR_STORE(copy)                                                                   \
    do {                                                                                           \
        gasneti_local_wmb();                                                                       \
        copy;                                                                                      \
        gasneti_local_wmb();                                                                       \
    } while (0)
#define GASNETI_NEAR_LOAD(copy)                                                                    \
    do {                                                                                           \
        copy;                                                                                      \
        gasneti_local_rmb();                                                                       \
    } while (0)

#endif

#if GASNET_PSHM && defined(__GNUC__) && !GASNET_DEBUG

#define GASNETI_NEAR_INLINES(nbytes)                                                               \
    (__builtin_constant_p(nbytes) && (nbytes)-1 < (size_t)GASNETI_NEAR_INLINE)

GASNETI_INLINE int gasneti_near_put(gasnet_node_t node, void *dest, const void *src, size_t nbytes)
{
    if (GASNETI_NEAR_INLINES(nbytes)) {
        const gasneti_near_t *there = gasneti_near[node];
        if (there == NULL) return GASNETI_NEAR_FAR;
        if_pt((uintptr_t)dest - there->base < there->inner)
        {
            void *here = (void *)((uintptr_t)dest + there->offset);
            GASNETI_NEAR_STORE(__builtin_memcpy(here, src, nbytes));
            return GASNETI_NEAR_DONE;
        }
    }
    return GASNETI_NEAR_UNKNOWN;
}

GASNETI_INLINE int gasneti_near_get(void *dest, gasnet_node_t node, const void *src, size_t nbytes)
{
    if (GASNETI_NEAR_INLINES(nbytes)) {
        const gasneti_near_t *there = gasneti_near[node];
        if (there == NULL) return GASNETI_NEAR_FAR;
        if_pt((uintptr_t)src - there->base < there->inner)
        {
            const void *here = (const void *)((uintptr_t)src + there->offset);
            GASNETI_NEAR_LOAD(__builtin_memcpy(dest, here, nbytes));
            return GASNETI_NEAR_DONE;
        }
    }
    return GASNETI_NEAR_UNKNOWN;
}

#else

GASNETI_INLINE int gasneti_near_put(gasnet_node_t node, void *dest, const void *src, size_t nbytes)
{
    (void)node, (void)dest, (void)src, (void)nbytes;
    return GASNETI_NEAR_UNKNOWN;
}

GASNETI_INLINE int gasneti_near_get(void *dest, gasnet_node_t node, const void *src, size_t nbytes)
{
    (void)node, (void)dest, (void)src, (void)nbytes;
    return GASNETI_NEAR_UNKNOWN;
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
