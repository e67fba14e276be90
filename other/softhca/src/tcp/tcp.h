/* tcp.h - queue pairs whose other end is on another host, for the other folders. */
#ifndef SOFTHCA_TCP_ROOM_H
#define SOFTHCA_TCP_ROOM_H

#include "other/softhca/src/datapath/datapath.h"

/* tcp_send.c, remote_process.c, tcp.c: queue pairs whose other end is on another host, see
 * remote_process.h */
int shca_tcp_listen(uint32_t slot);
int shca_remote_process_start(void);
void shca_tcp_lock(void);
void shca_tcp_unlock(void);
void shca_tcp_in_child(void);
int shca_tcp_send_bind(struct shca_qp *qp, struct shca_place place);
void shca_tcp_send_drop(struct shca_qp *qp);
uint32_t shca_tcp_send_number(const struct shca_remote *r); /* of the process, for faults */
void shca_tcp_send_tune(struct shca_qp *qp);     /* from here to receive: send lock held */
void shca_tcp_send_push(struct shca_qp *qp);     /* WRs were posted */
void shca_tcp_send_stop(struct shca_qp *qp);     /* all WRs were flushed */
bool shca_tcp_send_draining(struct shca_qp *qp); /* in SQD, a message is on its way */
void shca_tcp_send_receive(struct shca_qp *qp);  /* posted: a remote sender waits for it */

/* datagram.c */
int shca_tcp_send_datagram(const struct shca_link *l, struct shca_place place,
                           const struct ibv_send_wr *wr, const struct shca_gather *g);

#endif
