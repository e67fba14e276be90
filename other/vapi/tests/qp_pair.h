/* qp_pair.h - the set-up of every test of libvapi: an HCA, and two queue pairs of this process that
 * are connected to each other.
 */
#ifndef VAPI_TEST_ENDS_H
#define VAPI_TEST_ENDS_H

#include <evapi.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <vapi_common.h>

#include "tests/unit/check.h"

enum { BLOCK = 1 << 16, DEPTH = 16, TEST_QKEY = 0x1234567 };

struct end {
    VAPI_cq_hndl_t scq, rcq; /* may be one */
    VAPI_qp_hndl_t qp;
    VAPI_qp_prop_t prop;
};

struct stage {
    VAPI_hca_hndl_t hca;
    VAPI_hca_port_t port;
    VAPI_pd_hndl_t pd;
    VAPI_mr_hndl_t mr;
    VAPI_mr_t keys;
    unsigned char *memory; /* BLOCK bytes, registered for everything */
    struct end a, b;
};

struct wants {
    VAPI_ts_type_t type;
    bool one_cq;              /* sends and receives of a queue pair complete in one CQ */
    VAPI_sig_type_t signals;  /* of the send queue; VAPI_SIGNAL_REQ_WR is 1 */
    VAPI_sig_type_t rsignals; /* of the receive queue */
    VAPI_srq_hndl_t srq;      /* 0: none */
    bool raw;                 /* leave the queue pairs in VAPI_RESET */
};

/* Prints a result: `got` must be `wanted`. */
void is_code(VAPI_ret_t got, VAPI_ret_t wanted, const char *name);
void is_number(long long got, long long wanted, const char *name);
void is_true(bool got, const char *name);
/* Calls of the set-up; ends the program when one fails. */
void need(VAPI_ret_t got, const char *what);
#define NEED(call) need(call, #call)

void open_stage(struct stage *s);
void close_stage(struct stage *s);
void make_ends(struct stage *s, const struct wants *w);
void drop_ends(struct stage *s);
/* From VAPI_RESET to VAPI_RTS, towards `far`. */
void connect_to(struct stage *s, VAPI_qp_hndl_t qp, VAPI_ts_type_t type, VAPI_qp_num_t far,
                IB_lid_t lid);
VAPI_ret_t change_state(struct stage *s, VAPI_qp_hndl_t qp, VAPI_qp_state_t state);

/* A descriptor over `length` bytes at `offset`; every member that counts is set, the others are not
 * zero. */
VAPI_sr_desc_t *request(struct stage *s, VAPI_wr_opcode_t opcode, uint64_t id, size_t offset,
                        uint32_t length);
VAPI_rr_desc_t *receive(struct stage *s, uint64_t id, size_t offset, uint32_t length);
/* Polls until there is a completion. */
VAPI_wc_desc_t await_wc(struct stage *s, VAPI_cq_hndl_t cq);

/* The groups. */
void hca_rules(struct stage *s);
void object_rules(struct stage *s);
void handle_rules(struct stage *s);
void memory_rules(struct stage *s);
void qp_rules(struct stage *s);
void post_rules(struct stage *s);
void poll_rules(struct stage *s);
void wait_rules(struct stage *s);
void event_rules(struct stage *s);
void datagram_rules(struct stage *s);
void srq_rules(struct stage *s);
void string_rules(void);
void word_rules(void);
void life_rules(struct stage *s);
void pure_rules(void);

#endif
