/* wire.h - what two processes on different hosts say to each other: frames, as structures and as
 * bytes.
 *
 * Pure. A frame is a header, 32 bytes or for a request 80, and LENGTH bytes of payload behind it.
 * Numbers are little-endian; an immediate is four bytes as the program gave them. Whoever decodes
 * trusts nothing: what wire_parse() accepts is in range by itself, whether it fits is the
 * business of the state machines.
 */
#ifndef SOFTHCA_WIRE_H
#define SOFTHCA_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    WIRE_VERSION = 1, /* of all that this file says and of what the machines do with it */
    WIRE_HEADER = 32,
    WIRE_REQUEST_HEADER = 80,
    WIRE_CHUNK = 1 << 17, /* most payload of one frame; longer messages are several */
    WIRE_LONGEST = 1 << 30,
    WIRE_GREETING = 96, /* most payload of a frame of the greeting */
    WIRE_NONCE = 16,
    WIRE_MAC = 32,
    WIRE_FETCHES = 16, /* READs and atomics of one QP that may be unanswered */
};

enum wire_type {
    /* requester to responder */
    WIRE_REQUEST = 1, /* a WR, with the first bytes of its message */
    WIRE_DATA,        /* more of it; value = offset */
    WIRE_PROBE,       /* say how far you are */
    /* responder to requester; life is that of the request */
    WIRE_ACK,      /* all before msn are executed, as far as they are not READs or atomics */
    WIRE_NAK,      /* msn is not; value = wire_nak() */
    WIRE_RESPONSE, /* bytes of a READ; value = offset */
    WIRE_RESULT,   /* of an atomic; value */
    WIRE_READY,    /* there is a receive now for what was told RNR */
    /* the greeting, in this order */
    WIRE_HELLO, /* value = WIRE_MAGIC */
    WIRE_CHALLENGE,
    WIRE_PROOF,
    WIRE_WELCOME, /* value = serial number of the connection */
    WIRE_REJECT,  /* value = enum wire_reason */
    WIRE_TYPES
};

#define WIRE_MAGIC 0x61636874666f73ull /* "softhca" */

/* The first request since the connection was made or the requester went back: those in between,
 * sent on in ignorance, are to be dropped. */
enum { WIRE_FIRST = 1, WIRE_FLAGS = 1 };
enum {
    WIRE_SOLICITED = 1,
    WIRE_GLOBAL = 2, /* a datagram whose first 40 bytes are a GRH, and not nothing */
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
    WIRE_NOTHING, /* the place of a WR that concerns its own side alone */
    WIRE_READ,
    WIRE_SWAP,
    WIRE_ADD,
    WIRE_OPCODES
};

struct wire_frame {
    uint8_t type, flags;
    uint32_t length;   /* of the payload */
    uint32_t to, from; /* QP numbers */
    uint32_t life;     /* which connection of the requester's QP this belongs to */
    uint32_t msn;      /* number of the message, counted from 0 in each life */
    uint64_t value;    /* of a request: the remote address */
    /* of a request only */
    uint8_t opcode, service, send_flags;
    uint8_t aim;                           /* the port it is sent to, of whichever device */
    uint32_t imm, total, rkey, qkey, srqn; /* imm: or the key to invalidate */
    uint64_t compare_add, swap;
    uint16_t slid; /* what the receiver is told of the way it came */
    uint8_t sl, dlid_path_bits;
};

enum wire_code { WIRE_RNR = 1, WIRE_NO_TARGET, WIRE_ERROR };
struct wire_nak {
    uint8_t code;
    uint8_t status; /* enum ibv_wc_status for the requester, of WIRE_ERROR */
    uint8_t timer;  /* the target's min_rnr_timer, of WIRE_RNR */
};

struct wire_process {
    uint32_t host, slot;
    uint64_t nonce;  /* drawn when it started: a successor in its slot has another */
    uint32_t number; /* by which faults are asked for */
};

/* Who connects, to whom, and what it believes. */
struct wire_hello {
    uint32_t version;
    uint64_t hosts; /* hash of the list */
    struct wire_process from;
    uint32_t to_host, to_slot;
    uint32_t serial; /* of the last connection between the two that it knows of */
    uint8_t challenge[WIRE_NONCE];
};
struct wire_challenge {
    uint64_t nonce;  /* of the process that was connected to, */
    uint32_t number; /* and its number */
    uint8_t challenge[WIRE_NONCE];
    uint8_t mac[WIRE_MAC];
};
enum wire_reason {
    WIRE_BUSY = 1,    /* there is or will be another connection between the two */
    WIRE_OTHER_LIB,   /* version */
    WIRE_OTHER_HOSTS, /* list */
    WIRE_OTHER_SECRET,
    WIRE_NOT_ME, /* a process of another host or slot was meant */
    WIRE_NOT_YOU /* the address is not that of the host it claims to be */
};

size_t wire_header_size(uint8_t type);

/* Write the header of F; returns its size. AT has room for WIRE_REQUEST_HEADER bytes. */
size_t wire_put(const struct wire_frame *f, uint8_t *at);

/* Read a header from the N bytes at DATA: its size, 0 when more bytes are needed, or -1 with *WHY
 * when this is no frame. */
int wire_parse(const uint8_t *data, size_t n, struct wire_frame *f, const char **why);

uint64_t wire_put_nak(const struct wire_nak *n);
bool wire_get_nak(uint64_t value, struct wire_nak *n);

/* The payloads of the greeting; each put returns the size, each get is false for a wrong one. */
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
