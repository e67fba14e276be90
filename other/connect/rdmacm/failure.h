/* failure.h - the words for an event of the connection manager that ends an attempt.  Pure. */
#ifndef RDMACM_FAILURE_H
#define RDMACM_FAILURE_H

#include <rdma/rdma_cma.h>
#include <stddef.h>

/* `status`: a negated errno; or of a rejection on InfiniBand and RoCE the reason, as InfiniBand
 * numbers it. */
void rdmacm_failure_text(enum rdma_cm_event_type event, int status, char *text, size_t size);

#endif
