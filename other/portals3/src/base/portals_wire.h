/*
 * portals_wire.h - the bytes of a message: a header of fixed size, little-endian, then inline data.
 *
 * Pure: encodes, parses and checks every field, with no state and no I/O.  Types below
 * PTLI_TYPE_TRANSPORT are the engine's; from there on they are the transport's (credits,
 * publication of lists, GOODBYE), with the same header, so that one parser checks every message.
 */
#ifndef PTLI_PORTALS_WIRE_H
#define PTLI_PORTALS_WIRE_H

#include <portals3.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "other/portals3/src/base/little_endian.h"

enum { PTLI_WIRE_VERSION = 1, PTLI_WIRE_SIZE = 96, PTLI_REMOTE_SIZE = 16 };

/* The first bytes of a header: what it is, from and to which process, table and access entry.  */
enum { PTLI_WIRE_WHOM = 36 };

/* A longer range travels as several pieces; no piece of a remote list is longer. */
#define PTLI_REMOTE_MAX ((uint32_t)1 << 30)

enum ptli_type {
    PTLI_PUT = 1, /* inline: the data, or with PTLI_LONG the remote memory to read them from */
    PTLI_GET,     /* inline: nothing, or with PTLI_LONG the remote memory to write the reply to */
    PTLI_GETPUT,  /* inline: the data */
    PTLI_ACK,     /* answers a put that was accepted, for the program to see */
    PTLI_REPLY,   /* answers a get or getput.  Inline: the data, or nothing with PTLI_PLACED */
    PTLI_DONE,    /* answers a request without an event for the program: dropped, or no ack */
    PTLI_TYPE_TRANSPORT = 64
};

enum ptli_flags {
    PTLI_LONG = 1,     /* inline data are a remote list */
    PTLI_ANSWER = 2,   /* a put whose initiator keeps a record: always answered */
    PTLI_ASKS_ACK = 4, /* the answer is to be an ACK if the target MD allows it */
    PTLI_PLACED = 8    /* the data were written before, by RDMA on the same connection */
};

/* An answer has its request's operation and nothing of match_bits, hdr_data, remote_offset, pt and
 * ac. */
struct ptli_header {
    uint8_t type;
    uint8_t flags;
    ptl_process_id_t source, destination;
    ptl_uid_t uid; /* the source's; informative: the handshake's is what counts */
    ptl_jid_t jid;
    ptl_pt_index_t pt_index;
    ptl_ac_index_t ac_index;
    uint32_t data_length; /* bytes inline after the header */
    uint64_t operation;   /* the initiator's record; opaque to others */
    ptl_match_bits_t match_bits;
    ptl_hdr_data_t hdr_data;
    ptl_size_t length; /* requested; in an answer: accepted */
    ptl_size_t remote_offset;
    uint64_t transport; /* of the transport, in any message: requests matched.  The engine sets 0 */
};

/* A piece of memory that a peer may access. */
struct ptli_remote {
    uint64_t address;
    uint32_t key;
    uint32_t length;
};

void ptli_wire_encode(const struct ptli_header *header, unsigned char bytes[PTLI_WIRE_SIZE]);

/* Offsets of some fields in the encoded header. */
enum {
    PTLI_AT_PT_INDEX = 28,
    PTLI_AT_AC_INDEX = 32,
    PTLI_AT_DATA_LENGTH = 36,
    PTLI_AT_MATCH_BITS = 48,
    PTLI_AT_HDR_DATA = 56,
    PTLI_AT_LENGTH = 64,
    PTLI_AT_REMOTE_OFFSET = 72,
    PTLI_AT_TRANSPORT = 80
};

/* Changes what differs between the puts without answer to one table entry of a process.  */
static inline void ptli_wire_vary(unsigned char bytes[PTLI_WIRE_SIZE], ptl_ac_index_t ac_index,
                                  uint32_t data_length, ptl_match_bits_t match_bits,
                                  ptl_hdr_data_t hdr_data, ptl_size_t length,
                                  ptl_size_t remote_offset, uint64_t transport)
{
    ptli_put32(ptli_put32(bytes + PTLI_AT_AC_INDEX, ac_index), data_length);
    unsigned char *at = ptli_put64(bytes + PTLI_AT_MATCH_BITS, match_bits);
    at = ptli_put64(at, hdr_data);
    at = ptli_put64(at, length);
    at = ptli_put64(at, remote_offset);
    ptli_put64(at, transport);
}

/* One field.  */
static inline uint32_t ptli_wire_32(const unsigned char *bytes, int at)
{
    const unsigned char *there = bytes + at;
    return ptli_get32(&there);
}

static inline uint64_t ptli_wire_64(const unsigned char *bytes, int at)
{
    const unsigned char *there = bytes + at;
    return ptli_get64(&there);
}

/* All fields as they are, unchecked.  */
static inline void ptli_wire_decode(const unsigned char *at, struct ptli_header *header)
{
    header->type = at[1];
    header->flags = at[2];
    at += 4;
    header->source.nid = ptli_get32(&at);
    header->source.pid = ptli_get32(&at);
    header->destination.nid = ptli_get32(&at);
    header->destination.pid = ptli_get32(&at);
    header->uid = ptli_get32(&at);
    header->jid = ptli_get32(&at);
    header->pt_index = ptli_get32(&at);
    header->ac_index = ptli_get32(&at);
    header->data_length = ptli_get32(&at);
    header->operation = ptli_get64(&at);
    header->match_bits = ptli_get64(&at);
    header->hdr_data = ptli_get64(&at);
    header->length = ptli_get64(&at);
    header->remote_offset = ptli_get64(&at);
    header->transport = ptli_get64(&at);
}

static inline bool ptli_wire_same_word(const unsigned char *a, const unsigned char *b, int at)
{
    uint64_t here, there;
    memcpy(&here, a + at, sizeof here);
    memcpy(&there, b + at, sizeof there);
    return here == there;
}

/* Word by word, and without the jid, which is informative: memcmp would cost more.  */
static inline bool ptli_wire_same_whom(const unsigned char a[PTLI_WIRE_WHOM],
                                       const unsigned char b[PTLI_WIRE_WHOM])
{
    return ptli_wire_same_word(a, b, 0) && ptli_wire_same_word(a, b, 8) &&
           ptli_wire_same_word(a, b, 16) && ptli_wire_same_word(a, b, PTLI_WIRE_WHOM - 8);
}

/* True: the bytes are a put without flags, and the header is parsed.  */
static inline bool ptli_wire_is_plain_put(const unsigned char *bytes, struct ptli_header *header)
{
    static const unsigned char start[4] = {PTLI_WIRE_VERSION, PTLI_PUT};
    if (memcmp(bytes, start, sizeof start) != 0) return false;
    ptli_wire_decode(bytes, header);
    return true;
}

/* Parses `size` bytes.  NULL, or what is wrong; then `header` must not be used.  eager_limit: the
 * most bytes inline.  For types of the transport only the header's sizes are checked. */
const char *ptli_wire_parse(const void *bytes, size_t size, uint32_t eager_limit,
                            struct ptli_header *header);

/* Remote lists, which ptli_wire_parse has checked.  A list is of `length` bytes in all. */
void ptli_wire_encode_remote(const struct ptli_remote *remote,
                             unsigned char bytes[PTLI_REMOTE_SIZE]);
void ptli_wire_parse_remote(const unsigned char bytes[PTLI_REMOTE_SIZE],
                            struct ptli_remote *remote);

#endif
