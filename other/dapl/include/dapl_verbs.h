/* dapl_verbs.h - completion queues and asynchronous events of a device that libibverbs opened, for
 * the interfaces of dapl_events.h: dapl_interface_attr_t takes a dapl_verbs_device_t as `device`.
 */
#ifndef DAPL_VERBS_H
#define DAPL_VERBS_H

#include <infiniband/verbs.h>

#include "dapl_events.h"

#pragma GCC visibility push(default)

typedef struct dapl_verbs_device {
    struct ibv_context *context;
    /* The handle to report for a queue pair or a shared receive queue; its context at creation if
     * NULL. */
    DAT_HANDLE (*handle_of_qp)(struct ibv_qp *qp);
    DAT_HANDLE (*handle_of_srq)(struct ibv_srq *srq);
} dapl_verbs_device_t;

/* Sets the descriptor of asynchronous events of the device to non-blocking. */
extern const dapl_async_ops_t dapl_verbs_async;

/* The completion queue of an EVD, to create queue pairs with; NULL if it has none. */
struct ibv_cq *dapl_verbs_cq_of(dapl_evd_t *evd);

#pragma GCC visibility pop

#endif
