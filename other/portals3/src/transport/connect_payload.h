/* connect_payload.h - the payload of a handshake message (other/connect/handshake), which describes
 * its sender and the sender's queue pair, and of a challenge (connect_guard.h). Pure: used by
 * verbs_address.c and verbs_connection.c, tests/unit and tests/fuzz.
 */
#ifndef PTLI_CONNECT_PAYLOAD_H
#define PTLI_CONNECT_PAYLOAD_H

#include <stddef.h>
#include <stdint.h>

#include "other/connect/roce/roce.h"

/* Identifies the payload in the header of a message. */
enum { PTLI_HANDSHAKE = 0x33335450, PTLI_CHALLENGE = 0x33435450 };

/* Sent as it lies in memory. */
typedef struct ptli_connect_payload {
    uint32_t nid, pid, uid, jid; /* the sender's */
    uint64_t life, your_life;    /* connect_guard.h; not 0; 0: not known */
    uint64_t number;             /* of this message */
    uint32_t qp_number, psn;
    uint32_t eager;       /* the longest message it can receive */
    uint16_t window;      /* requests without an answer that it accepts */
    uint16_t lid;         /* 0: a GID is the address */
    uint8_t mtu, rd_atom; /* as verbs encode it; RDMA reads it serves at once */
    uint16_t unused;      /* 0 */
    roce_offer_t gids;
} ptli_connect_payload_t;

/* A challenge.  Its header has the sender's life in `mine`, and in `yours` the life that the
 * challenged message gave as its sender's. */
typedef struct ptli_challenge {
    uint32_t nid, pid; /* the sender's */
    uint64_t number;   /* of the message that is challenged */
} ptli_challenge_t;

/* Copies and checks.  NULL, or the name of the field that is wrong. */
const char *ptli_connect_payload_parse(const void *bytes, size_t size,
                                       ptli_connect_payload_t *payload);

#endif
