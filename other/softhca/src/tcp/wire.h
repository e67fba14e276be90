/* wire.h - the protocol between two processes on different hosts: frames, as structures and as
 * bytes.
 *
 * Pure. A frame is a header, 32 bytes or for a request 80, followed by LENGTH bytes of payload.
 * Numbers are little-endian; immediate data are four bytes as the program gave them. Input is not
 * trusted: what wire_parse() accepts has each field in range; whether it fits the state is checked
 * by the state machines.
 */
#ifndef SOFTHCA_WIRE_H
#define SOFTHCA_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    WIRE_VERSION = 2, /* version of the frames and of the behaviour of the state machines */
    WIRE_HEADER = 32,
    WIRE_REQUEST_HEADER = 80,
    WIRE_CHUNK = 1 << 17, /* largest payload of one frame; longer messages have several */
    WIRE_LONGEST = 1 << 30,
    WIRE_GREETING = 96, /* largest payload of a greeting frame */
    WIRE_NONCE = 16,
    WIRE_MAC = 32,
    WIRE_FETCHES = 16, /* READs and atomics of one QP that may be unanswered */
};

enum wire_type {
    /* requester to responder */
    WIRE_REQUEST = 1, /* a WR with the first bytes of its message */
    WIRE_DATA,        /* more bytes of the message; value = offset */
    WIRE_PROBE,       /* requests an ACK */
    /* responder to requester; life is that of the request */
    WIRE_ACK,      /* all messages before msn are executed, READs and atomics excepted */
    WIRE_NAK,      /* msn is not executed; value = wire_put_nak() */
    WIRE_RESPONSE, /* bytes of a READ; value = offset */
    WIRE_RESULT,   /* of an atomic; value */
    WIRE_READY,    /* a receive was posted after an RNR NAK */
    /* the greeting, in this order */
    WIRE_HELLO, /* value = WIRE_MAGIC */
    WIRE_CHALLENGE,
    WIRE_PROOF,
    WIRE_WELCOME, /* value = serial number of the connection */
    WIRE_REJECT,  /* value = enum wire_reason */
    WIRE_TYPES
};

#define WIRE_MAGIC 0x61636874666f73ull /* "softhca" */

/* The first request since the connection was made or the requester went back: requests sent between
 * the refusal and this one are dropped. */
enum { WIRE_FIRST = 1, WIRE_FLAGS = 1 };
enum {
    WIRE_SOLICITED = 1,
    WIRE_GLOBAL = 2, /* the first 40 bytes of a datagram are a GRH */
    WIRE_SEND_FLAGS = 3,
    WIRE_PORTS = 128
};
enum wire_service { WIRE_RC, WIRE_UC, WIRE_UD, WIRE_XRC, WIRE_SERVICES };
enum wire_opcode {
    WIRE_SEND,
    WIRE_SEND_IMM,
    WIRE_SEND_INV,
    WIRE_WRITE,
    WIRE_WRITE_IMM,
    WIRE_NOTHING, /* a WR that concerns only its own side */
    WIRE_READ,
    WIRE_SWAP,
    WIRE_ADD,
    WIRE_OPCODES
};

struct wire_frame {
    uint8_t type, flags;
    uint32_t length;   /* of the payload */
    uint32_t to, from; /* QP numbers */
    uint32_t life;     /* incarnation of the requester's QP, counted by its connects */
    uint32_t msn;      /* message number, counted from 0 in each life */
    uint64_t value;    /* of a request: the remote address */
    /* of a request only */
    uint8_t opcode, service, send_flags;
    uint8_t dest_port;
    uint32_t imm, total, rkey, qkey, srqn; /* imm: immediate data, or the rkey to invalidate */
    uint64_t compare_add, swap;
    uint16_t slid; /* path fields of the completion */
    uint8_t sl, dlid_path_bits;
    uint16_t pkey; /* of the sending QP */
};

enum wire_code { WIRE_RNR = 1, WIRE_NO_TARGET, WIRE_ERROR };
struct wire_nak {
    uint8_t code;
    uint8_t status; /* of WIRE_ERROR: enum ibv_wc_status of the requester */
    uint8_t timer;  /* of WIRE_RNR: min_rnr_timer of the target */
};

struct wire_process {
    uint32_t host, slot;
    uint64_t nonce;  /* drawn at start: the next process in the slot has another */
    uint32_t number; /* process number for SOFTHCA_FAULTS */
};

/* The connecting process, the process it connects to, and its settings. */
struct wire_hello {
    uint32_t version;
    uint64_t hosts; /* hash of the list */
    struct wire_process from;
    uint32_t to_host, to_slot;
    uint32_t serial; /* serial number of the last connection known to it */
    uint8_t challenge[WIRE_NONCE];
};
struct wire_challenge {
    uint64_t nonce;  /* of the accepting process, */
    uint32_t number; /* process number of the accepting process */
    uint8_t challenge[WIRE_NONCE];
    uint8_t mac[WIRE_MAC];
};
enum wire_reason {
    WIRE_BUSY = 1,    /* another connection between the two is used */
    WIRE_OTHER_LIB,   /* version */
    WIRE_OTHER_HOSTS, /* list */
    WIRE_OTHER_SECRET,
    WIRE_NOT_ME, /* the greeting is for another host or slot */
    WIRE_NOT_YOU /* the address is not one of the host claimed */
};

size_t wire_header_size(uint8_t type);

/* Writes the header of F; returns its size. AT has room for WIRE_REQUEST_HEADER bytes. */
size_t wire_put(const struct wire_frame *f, uint8_t *at);

/* Parses a header from the N bytes at DATA: its size, 0 when more bytes are needed, or -1 with *WHY
 * for an invalid header. */
int wire_parse(const uint8_t *data, size_t n, struct wire_frame *f, const char **why);

uint64_t wire_put_nak(const struct wire_nak *n);
bool wire_get_nak(uint64_t value, struct wire_nak *n);

/* Payloads of the greeting; each put returns the size, each get is false for an invalid one. */
size_t wire_put_hello(const struct wire_hello *h, uint8_t at[WIRE_GREETING]);
bool wire_get_hello(const uint8_t *data, size_t n, struct wire_hello *h);
size_t wire_put_challenge(const struct wire_challenge *c, uint8_t at[WIRE_GREETING]);
bool wire_get_challenge(const uint8_t *data, size_t n, struct wire_challenge *c);

static inline bool wire_is_fetch(uint8_t opcode)
{
    return opcode >= WIRE_READ;
}

/* Serial number arithmetic: whether message A comes before B. */
static inline bool wire_before(uint32_t a, uint32_t b)
{
    return (int32_t)(a - b) < 0;
}

#endif
