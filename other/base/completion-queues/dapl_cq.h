/* dapl_cq.h - completion queues as other/dapl uses them: the interface to the device. Needs none of
 * the DAT headers.
 */
#ifndef DAPL_CQ_H
#define DAPL_CQ_H

#include <stdbool.h>

/* A library that has its own copy of dapl_verbs_cq (DAPL_CQ_INSIDE) does not export it. */
#ifdef DAPL_CQ_INSIDE
#pragma GCC visibility push(hidden)
#else
#pragma GCC visibility push(default)
#endif
#ifdef __cplusplus
extern "C" {
#endif

struct dapl_evd;
struct ibv_wc;

/* A completion queue with its own completion channel, which is non-blocking and closed on exec.
 * Negative returns are -errno. The core calls poll, arm, take_event and resize of one queue from
 * one thread at a time. */
typedef struct dapl_cq_ops {
    /* `evd` becomes the cq_context; *entries is the requested size, and then the size of the
     * created queue. */
    int (*create)(void *device, struct dapl_evd *evd, int vector, int *entries, void **cq);
    int (*destroy)(void *cq); /* all events are acknowledged */
    int (*poll)(void *cq, int n, struct ibv_wc *wc);
    int (*arm)(void *cq, bool solicited_only);
    int (*take_event)(void *cq); /* without waiting: 1 if there was an event, else 0 */
    void (*acknowledge)(void *cq, unsigned events);
    int (*fd)(void *cq); /* readable while there is an event */
    int (*resize)(void *cq, int *entries);
    /* Moderates: one event per `count` completions or `microseconds`. May be NULL: the device
     * cannot. */
    int (*moderate)(void *cq, int count, int microseconds);
} dapl_cq_ops_t;

/* Over libibverbs. `device` points to something that begins with its struct ibv_context *; a queue
 * is a struct ibv_cq *. */
extern const dapl_cq_ops_t dapl_verbs_cq;

#ifdef __cplusplus
}
#endif
#pragma GCC visibility pop

#endif
