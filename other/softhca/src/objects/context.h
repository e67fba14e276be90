/* context.h - the open contexts of programs, and whose an object is. */
#ifndef SOFTHCA_CONTEXT_H
#define SOFTHCA_CONTEXT_H

#include <stddef.h>

#include "other/softhca/src/device/device.h"

struct shca_event;

struct shca_context {
    struct verbs_context v;
    struct shca_event *events, **events_end; /* under v.context.mutex */
    bool inherited;                          /* made by the parent of a forked process */
    bool removed;                            /* the context's device was removed */
    struct shca_context *next;               /* inherited contexts, in context.c */
};

static inline struct shca_context *shca_context(struct ibv_context *c)
{
    return (struct shca_context *)((char *)c - offsetof(struct shca_context, v.context));
}

/* context.c */
bool shca_is_device(const struct ibv_device *d);
bool shca_is_object(const void *object);
bool shca_dead(const void *object);
int shca_context_enter(struct shca_context *c); /* 0 or ENOMEM */
void shca_context_leave(struct shca_context *c);
void shca_contexts_remove(const struct shca_device *d); /* the device is gone */
void shca_contexts_in_child(void);
void shca_raise_on_device(const struct shca_device *d, const struct ibv_async_event *e);

/* context_disable.c */
void shca_context_disable(struct shca_context *c);

#endif
