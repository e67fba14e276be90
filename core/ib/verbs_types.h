/* verbs_types.h - what the shims over the verbs tell and are told, in terms of neither.
 *
 * Included by each verbs_shim.h; data only.  What a shim holds by pointer is its own, but for these
 * members: fd of a hca_channel_t, qp_num of a hca_qp_t, lkey and rkey of a hca_mr_t.
 */
#ifndef NET_IB_VERBS_TYPES_H
#define NET_IB_VERBS_TYPES_H

#include <stdbool.h>
#include <stdint.h>

#include "core/ib/words.h"

typedef struct hca_limits {
    uint32_t max_cqe, max_qp_wr, max_rd_atom, max_init_rd_atom;
    uint32_t max_srq_wr; /* 0: it has no shared receive queues */
    uint64_t max_mr_size;
    uint8_t ports;
    char firmware[64];
    bool polls_alone; /* two threads must not poll at once (IB-B4) */
    bool slow_inline; /* inline sends cost more than they save */
} hca_limits_t;

typedef struct hca_port {
    bool active, ethernet;
    uint16_t lid;
    uint8_t mtu; /* as the verbs encode it */
    uint8_t gid[16];
} hca_port_t;

/* The far end of a connection. */
typedef struct hca_far {
    uint32_t qp_number;
    uint32_t psn; /* of the first packet it sends */
    uint16_t lid;
    uint8_t mtu, rd_atom; /* its port's, and how many reads it serves */
    uint8_t gid[16];
} hca_far_t;

/* Where datagrams are received. */
typedef struct hca_mail {
    uint32_t qp_number;
    uint32_t key; /* whoever does not know it is not heard; below 2^31 */
    uint16_t lid;
    uint8_t gid[16];
} hca_mail_t;

enum { HCA_DATAGRAM_HEAD = 40 }; /* bytes before the payload in a datagram's receive buffer */

/* Packets from port to port of one subnet need no more than a LID; others name the GID too. */
static inline bool hca_needs_gid(const hca_port_t *near, uint16_t far_lid)
{
    return near->ethernet || far_lid == 0;
}

/* What to move: from where, and either its lkey or captured inline. */
typedef struct hca_local {
    const void *data;
    uint32_t length;
    uint32_t lkey;
    bool captured;
} hca_local_t;

/* Of a work request that failed. */
typedef struct hca_failure {
    enum hca_cause cause;
    const char *text; /* the verbs' own */
    uint32_t vendor;  /* what only the maker of the device can read; 0: nothing */
} hca_failure_t;

/* What a device has to say besides completions. */
typedef struct hca_event {
    enum hca_event_kind kind;
    unsigned port; /* 0 when it is of no port */
    const char *text;
} hca_event_t;

#endif
