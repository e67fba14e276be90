/* interpose.h - how an exported name of libibverbs finds out whose object it got, and forwards the
 * call to the real library.
 *
 * A forwarded call passes the exact arguments and holds no lock, because the real library calls its
 * own exported names, which come back here.
 */
#ifndef SOFTHCA_INTERPOSE_H
#define SOFTHCA_INTERPOSE_H

#include <errno.h>

#include "other/softhca/src/objects/context.h"
#include "other/softhca/src/settings/say.h"

/* interpose.c: a function of the real libibverbs, or NULL */
void *shca_real_verbs(const char *name);

/* fork.c */
void shca_watch_forks(void);

/* device_select.c */
bool shca_enabled(void);
struct ibv_device **shca_list(int *num);
bool shca_list_free(struct ibv_device **list);
struct ibv_context *shca_open_real(struct ibv_device *d); /* EACCES without permission */
void shca_device_select_in_child(void);

static inline bool interpose_is_ours(const struct ibv_context *c)
{
    return shca_is_device(c->device) && !shca_dead(c);
}

/* A removed device still delivers events, and its contexts can be closed. */
static inline bool interpose_is_ours_or_removed(const struct ibv_context *c)
{
    return shca_is_device(c->device) && !shca_context((struct ibv_context *)c)->inherited;
}

/* The return value of a failing call: HOW as it is, or the error number with the sign of HOW when
 * HOW is ENOSYS or -ENOSYS. */
static inline intptr_t shca_fail(intptr_t how, int why)
{
    errno = why;
    return how == ENOSYS ? why : how == -ENOSYS ? -why : how;
}

/* The first argument of a call as an object pointer for shca_dead(), or NULL when it is not an
 * object. */
#define FIRST_OF(first, ...) first
#define OBJECT_OF(first)                                                                           \
    _Generic((first), int *: NULL, struct ibv_device **: NULL, struct ibv_device *: NULL,          \
             struct ibv_async_event *: NULL, default: (first))

/* Calls the real function, looked up once, or fails as FAIL says: ENOSYS when it does not exist,
 * EIO for a dead object. */
#define REAL(fail, name, ...)                                                                      \
    ({                                                                                             \
        static __typeof__(name) *_Atomic f;                                                        \
        int why = shca_dead(OBJECT_OF(FIRST_OF(__VA_ARGS__, ))) ? EIO : 0;                         \
        if (!why && !f && !(f = shca_real_verbs(#name))) why = ENOSYS;                             \
        why ? (__typeof__(f(__VA_ARGS__)))shca_fail((intptr_t)(fail), why) : f(__VA_ARGS__);       \
    })

/* Calls a real function without a return value, looked up once; nothing happens when it does not
 * exist or the object is dead. */
#define REAL_VOID(name, ...)                                                                       \
    do {                                                                                           \
        static __typeof__(name) *_Atomic f;                                                        \
        bool dead = shca_dead(OBJECT_OF(FIRST_OF(__VA_ARGS__, )));                                 \
        if (!dead && !f) f = shca_real_verbs(#name);                                               \
        if (!dead && f) f(__VA_ARGS__);                                                            \
    } while (0)

#endif
