/* interpose.h - how a name of libibverbs tells whose object it got, and goes on to the real one.
 *
 * For interpose.c and interpose_rare.c. Forwarding hands on the exact arguments and holds no lock,
 * because the real library calls its own exported names, and they come back here.
 */
#ifndef SOFTHCA_INTERPOSE_H
#define SOFTHCA_INTERPOSE_H

#include "object.h"

static inline bool ours(const struct ibv_context *c)
{
    return shca_is_device(c->device);
}

/* Call the real function, looked up once; FAIL is what to return when there is none. */
#define REAL(fail, name, ...)                                                                      \
    ({                                                                                             \
        static __typeof__(name) *_Atomic f;                                                        \
        if (!f) f = shca_real(#name);                                                              \
        f ? f(__VA_ARGS__) : (errno = ENOSYS, fail);                                               \
    })

/* The same for a function that returns nothing. */
#define REAL_VOID(name, ...)                                                                       \
    do {                                                                                           \
        static __typeof__(name) *_Atomic f;                                                        \
        if (!f) f = shca_real(#name);                                                              \
        if (f) f(__VA_ARGS__);                                                                     \
    } while (0)

#endif
