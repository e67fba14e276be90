/* interpose.h - how a name of libibverbs tells whose object it got, and goes on to the real one.
 *
 * For interpose.c and interpose_rare.c. Forwarding hands on the exact arguments and holds no lock,
 * because the real library calls its own exported names, and they come back here.
 */
#ifndef SOFTHCA_INTERPOSE_H
#define SOFTHCA_INTERPOSE_H

#include "other/softhca/device/device.h"
#include "other/softhca/interpose/edge.h"
#include "other/softhca/objects/object.h"

static inline bool interpose_is_ours(const struct ibv_context *c)
{
    return shca_is_device(c->device) && !shca_dead(c);
}

/* A device that was removed has events still, and its contexts can be closed. */
static inline bool interpose_is_ours_or_removed(const struct ibv_context *c)
{
    return shca_is_device(c->device) && !shca_context((struct ibv_context *)c)->inherited;
}

/* What a function fails with: the number itself stands for the reason, with either sign. */
static inline intptr_t shca_fail(intptr_t how, int why)
{
    errno = why;
    return how == ENOSYS ? why : how == -ENOSYS ? -why : how;
}

/* What a name is called with may be an object, which may be dead. */
#define FIRST_OF(first, ...) first
#define OBJECT_OF(first)                                                                           \
    _Generic((first), int *: NULL, struct ibv_device **: NULL, struct ibv_device *: NULL,          \
             struct ibv_async_event *: NULL, default: (first))

/* Call the real function, looked up once, or fail as FAIL says: ENOSYS when there is none, EIO for
 * what is dead. */
#define REAL(fail, name, ...)                                                                      \
    ({                                                                                             \
        static __typeof__(name) *_Atomic f;                                                        \
        int why = shca_dead(OBJECT_OF(FIRST_OF(__VA_ARGS__, ))) ? EIO : 0;                         \
        if (!why && !f && !(f = shca_real_verbs(#name))) why = ENOSYS;                             \
        why ? (__typeof__(f(__VA_ARGS__)))shca_fail((intptr_t)(fail), why) : f(__VA_ARGS__);       \
    })

/* The same for a function that returns nothing. */
#define REAL_VOID(name, ...)                                                                       \
    do {                                                                                           \
        static __typeof__(name) *_Atomic f;                                                        \
        bool dead = shca_dead(OBJECT_OF(FIRST_OF(__VA_ARGS__, )));                                 \
        if (!dead && !f) f = shca_real_verbs(#name);                                               \
        if (!dead && f) f(__VA_ARGS__);                                                            \
    } while (0)

#endif
