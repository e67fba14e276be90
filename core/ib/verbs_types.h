/* verbs_types.h - the contract between core/ib and the shims over the verbs: the types of their
 * arguments and results, and the calls that each shim must have.
 *
 * Included by each shim.  Data, and the few functions that both shims would have alike.  A shim
 * has, as static inline functions or macros:
 *
 *   hca_t, hca_pd_t, hca_mr_t, hca_cq_t, hca_srq_t, hca_qp_t, hca_ah_t: pointers.  core/ib uses
 *     only these fields: qp_num of a queue pair, lkey and rkey of a region.  The calls that create
 *     an object return NULL with errno on failure; hca_destroy destroys an object of any kind but
 *     hca_t, for which there is hca_close.
 *   hca_wc_t: a completion.
 *   hca_open(i, name): device number `i` and its name, "" after the last.
 *     HCA_UNLISTED: a clause about devices that have no number, for messages; or "".
 *   HCA_MANAGER: the connection manager (struct net_ib_manager, meeting.h), or NULL;
 *     HCA_UNMANAGED: why there is none.
 *   hca_query, hca_query_port: false if the device does not answer.
 *   hca_query_gids(hca, number, table, most): the GIDs of a port; the number of them.
 *   hca_query_pkeys(hca, number, table, most): the P_Key table of a port; its length.
 *   hca_event_kind(type), hca_next_event(hca, &event): the next asynchronous event, false if none
 *     waits.  hca_events(hca): a descriptor that can be read when there is one.
 *   hca_pd_create, hca_register.
 *   hca_cq_create(hca, depth, sleeper): with a sleeper (hca_sleeper_t, at first all 0) one thread
 *     may sleep until the queue has a completion: hca_arm(sleeper); polls until the sleeper's
 *     queues are empty; hca_sleep(sleeper, ms), below 0 without limit, which returns after a
 *     completion, or early.  hca_wake(sleeper) ends that sleep, or the next.
 *     hca_sleeper_close(sleeper) comes before its queues are destroyed.
 *     HCA_SLEEPER_SPANS: 1 if a sleeper takes the queues of several devices, else it takes one.
 *     HCA_SLEEP_POLLS: 1 if sleeping takes a completion, which the next poll returns.
 *   hca_srq_create(pd, depth): a receive queue for any number of queue pairs.
 *   HCA_CONNECTED, HCA_DATAGRAMS: enum hca_service.
 *   hca_qp_create(pd, service, send_cq, recv_cq, srq, send_depth, recv_depth, list, &inline_max):
 *     `srq` may be NULL; `list`: the most pieces of a send; inline_max is wanted on entry, granted
 *     on return.
 *   hca_in_order(hca, qp): true if the bytes of an RDMA write that arrives by this queue pair,
 *     which is connected, are known to be placed from the first to the last.
 *   hca_qp_step(qp, service, step, &setup): 0 or an errno.
 *   hca_ah_create(pd, port, &route): an address handle for datagrams.
 *   hca_send_t, a work request that is filled once (hca_send_init(send, id)) and changed for each
 *     post: hca_send_target (remote address and rkey), wr.imm_data (immediate data),
 *     hca_send_ah (of a datagram), hca_send_atomic (instead of hca_send_target: also the operand,
 * or the word to compare with, and the word to swap in), hca_post(qp, send, kind, local): 0 or an
 * errno.  One that hca_post never takes is an RDMA write whose data is inlined, for
 *     hca_post_inlined(qp, send, remote address, data, length).
 *   hca_sge_t, a piece of local memory: hca_sge(at, length, lkey).  hca_post_list(qp, send, kind,
 *     list, count): hca_post of several pieces.
 *   hca_recv_t, filled once for its buffer: hca_recv_init(recv, id, data, length, lkey), sge.lkey,
 *     hca_post_recv(qp, recv), hca_post_srq_recv(srq, recv).
 *   hca_poll(cq, budget, wc): the number of completions; the budget is not 0.  hca_done(wc),
 *     hca_wc_failure(wc).
 */
#pragma once

#include <errno.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/ib/advice.h"
#include "other/connect/roce/roce.h"

/* What atomic operations are atomic with respect to, with the numbers that all verbs share: none
 * are there; operations of the same device; processors too. */
enum hca_atomics { HCA_ATOMICS_NONE, HCA_ATOMICS_DEVICE, HCA_ATOMICS_GLOBAL };

typedef struct hca_limits {
    uint32_t max_cqe, max_qp_wr, max_rd_atom, max_init_rd_atom;
    uint32_t max_srq_wr;          /* 0: the device has no shared receive queues */
    uint32_t max_mr;              /* registrations of all processes; 0: not known */
    uint32_t max_sge, max_sge_rd; /* local pieces in a work request; in an RDMA read */
    uint64_t max_mr_size;
    uint32_t vendor;
    uint8_t ports;
    char firmware[64];
    const char *unusable; /* why its queue pairs cannot be connected by this library, or NULL */
    enum hca_atomics atomics;
    bool iwarp;       /* a connection manager alone connects its queue pairs */
    bool polls_alone; /* two threads must not poll at once (IB-B4) */
    bool slow_inline; /* inline sends cost more than they save */
} hca_limits_t;

typedef struct hca_port {
    bool active, ethernet;
    uint16_t lid;
    uint8_t mtu;          /* as the verbs encode it */
    uint32_t max_message; /* bytes */
} hca_port_t;

/* The remote end of a connection. */
typedef struct hca_remote {
    uint32_t qp_number;
    uint32_t psn; /* of the first packet that this end sends */
    uint16_t lid;
    uint8_t mtu, rd_atom; /* of the port; RDMA reads that this end serves at once */
    roce_offer_t gids;
} hca_remote_t;

/* The address of a queue pair for datagrams. */
typedef struct hca_ud_addr {
    uint32_t qp_number;
    uint32_t key; /* Q_Key: datagrams with another are dropped; below 2^31 */
} hca_ud_addr_t;

enum { HCA_DATAGRAM_HEAD = 40 }; /* bytes before the payload in a datagram's receive buffer */

/* The path of packets to a peer's port (route.c). */
typedef struct hca_route {
    uint16_t lid;
    bool global; /* with a GRH, which has the fields below */
    uint8_t gid[16];
    uint8_t gid_index; /* index of the own GID in the port's table */
    uint8_t traffic_class;
} hca_route_t;

/* Attributes of a queue pair on its way to RTR (ready to receive) and RTS (ready to send). */
enum hca_step { HCA_INIT, HCA_RTR, HCA_RTS };
typedef struct hca_setup {
    uint8_t port;
    uint16_t pkey_index;
    hca_route_t route;
    uint32_t qp_number, remote_psn; /* the peer's; of the first packet that it sends */
    uint32_t psn;                   /* of the first packet that this end sends */
    uint32_t key;                   /* Q_Key, of a datagram queue pair */
    uint8_t mtu, timeout, retries;
    uint8_t dest_rd_atomic, rd_atomic; /* RDMA reads and atomics at once: served, started */
    bool atomics;                      /* the peer may post atomics */
} hca_setup_t;

/* Access flags of a registration, with the numbers that all verbs share.  HCA_SOURCE and
 * HCA_READABLE, which peers may read, allow memory that is mapped read-only.  HCA_SINK is for
 * memory that reads on iWARP write to, HCA_ATOMIC for memory that peers' atomics change too. */
enum hca_access {
    HCA_SOURCE = 0,
    HCA_LOCAL = 1,
    HCA_SINK = 1 | 2,
    HCA_READABLE = 4,
    HCA_REMOTE = 1 | 2 | 4,
    HCA_ATOMIC = HCA_REMOTE | 8
};

/* True of devices that always write the bytes of an RDMA write in order: those of Mellanox up to
 * ConnectX-3.  For later devices see hca_in_order. */
static inline bool hca_always_in_order(uint32_t maker, uint32_t part)
{
    static const uint16_t parts[] = {
        0x5a44, 0x6278, 0x6282, 0x5e8c, 0x6274, /* InfiniHost, InfiniHost III Ex and Lx */
        0x6340, 0x634a, 0x6354, 0x6368, 0x6732, 0x673c,
        0x6746, 0x6750, 0x675a, 0x6764, 0x676e, 0x6778, /* ConnectX, ConnectX-2 */
        0x1002, 0x1003, 0x1004, 0x1007 /* ConnectX-2 and -3 as virtual functions too, -3 Pro */};
    for (size_t i = 0; maker == 0x2c9 && i < sizeof parts / sizeof *parts; i++)
        if (part == parts[i]) return true;
    return false;
}

/* True of the kernel's software devices, which carry RDMA over an ordinary network interface: rxe,
 * without a vendor number in older kernels, and siw. */
static inline bool hca_is_emulated(const char *name, uint32_t vendor)
{
    return vendor == 0xffffff || vendor == 0x626d74 ||
           (vendor == 0 && (!strncmp(name, "rxe", 3) || !strncmp(name, "siw", 3)));
}

/* Opcodes, with the numbers that all verbs share. */
enum hca_kind {
    HCA_WRITE = 0,
    HCA_SEND = 2,
    HCA_SEND_IMM = 3,
    HCA_READ = 4,
    HCA_COMPARE_SWAP = 5,
    HCA_FETCH_ADD = 6
};

/* The local buffer of a work request: inlined, or with its lkey. */
typedef struct hca_local {
    const void *data;
    uint32_t length;
    uint32_t lkey;
    bool inlined;
} hca_local_t;

/* A completion.  The compiler loads only the fields that are used: hca_done(wc).id loads one. */
typedef struct hca_done {
    uint64_t id;
    bool ok;
    uint32_t qp_number; /* at this end */
    uint32_t length;
    bool has_imm;
    uint32_t imm; /* if has_imm */
} hca_done_t;

/* The failure of a work request. */
typedef struct hca_failure {
    enum hca_cause cause;
    const char *text; /* the verbs' name of the status */
    uint32_t vendor;  /* the vendor's error code; 0: none */
} hca_failure_t;

/* An asynchronous event of a device. */
typedef struct hca_event {
    enum hca_event_kind kind;
    unsigned port; /* 0: an event of the device */
    const char *text;
} hca_event_t;
