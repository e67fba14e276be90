/* tcp.h - queue pairs whose other end is on another host, for the higher folders; what lower ones
 * call is in upward.h. */
#ifndef SOFTHCA_TCP_H
#define SOFTHCA_TCP_H

#include "other/softhca/src/datapath/datapath.h"

/* tcp_send.c, remote_process.c, tcp.c: queue pairs whose other end is on another host, see
 * remote_process.h */
int shca_tcp_listen(uint32_t slot);
int shca_remote_process_start(void);
void shca_tcp_lock(void);
void shca_tcp_unlock(void);
void shca_tcp_in_child(void);
int shca_tcp_send_bind(struct shca_qp *qp, struct shca_destination destination);
void shca_tcp_send_drop(struct shca_qp *qp);
uint32_t shca_tcp_send_number(const struct shca_remote *r); /* of the process, for faults */
/* In SQD, a message is on its way. Send lock held. */
bool shca_tcp_send_draining(struct shca_qp *qp);

#endif
