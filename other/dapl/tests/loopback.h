/* loopback.h - two connected queue pairs of one device, for the programs of this folder that use
 * libibverbs: what the first sends the second receives.
 *
 * What fails ends the program with a line of TAP.
 */
#ifndef DAPL_LOOPBACK_H
#define DAPL_LOOPBACK_H

#include <infiniband/verbs.h>

#include "other/dapl/include/dapl_events.h"

typedef struct pair {
    struct ibv_context *context;
    struct ibv_pd *pd;
    struct ibv_mr *mr;
    struct ibv_qp *qp[2];
    char bytes[128];
} pair_t;

void must(bool ok, const char *what);

/* With the same completion queues for both queue pairs. */
void pair_open(pair_t *pair, struct ibv_context *context, struct ibv_cq *send,
               struct ibv_cq *receive);
void pair_close(pair_t *pair);

/* Messages of 8 bytes; sentinels have none. */
void pair_receive(pair_t *pair, int qp, dapl_work_t *work);
void pair_send(pair_t *pair, int qp, dapl_work_t *work, bool solicited, bool signalled);

#endif
