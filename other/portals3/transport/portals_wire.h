/*
 * portals_wire.h - the bytes of a message: a header of fixed size, little-endian, then inline data.
 *
 * Pure: encodes, parses and judges every field, with no state and no I/O.  The engine makes and
 * reads the types below PTLI_TYPE_TRANSPORT; from there on they are the transport's own (credits,
 * publication of lists, goodbye), which share this header so that one parser looks at all that
 * arrives.
 */
#ifndef PTLI_PORTALS_WIRE_H
#define PTLI_PORTALS_WIRE_H

#include <stddef.h>
#include <stdint.h>
#include <portals3.h>

enum { PTLI_WIRE_VERSION = 1, PTLI_WIRE_SIZE = 96, PTLI_REMOTE_SIZE = 16 };

/* A longer range travels as several pieces; no piece of a remote list is longer. */
#define PTLI_REMOTE_MAX ((uint32_t)1 << 30)

enum ptli_type {
    PTLI_PUT = 1, /* inline: the data, or with PTLI_LONG the places to read them from */
    PTLI_GET,     /* inline: nothing, or with PTLI_LONG the places to write the reply to */
    PTLI_GETPUT,  /* inline: the data */
    PTLI_ACK,     /* answers a put that was accepted, for the program to see */
    PTLI_REPLY,   /* answers a get or getput.  Inline: the data, or nothing with PTLI_PLACED */
    PTLI_DONE,    /* answers what the program must not hear of: dropped, or accepted without ack */
    PTLI_TYPE_TRANSPORT = 64
};

enum ptli_flags {
    PTLI_LONG = 1,     /* inline data are a remote list */
    PTLI_ANSWER = 2,   /* a put whose initiator keeps a record: it is to be answered in any case */
    PTLI_ASKS_ACK = 4, /* the answer is to be an ACK if the target MD allows it */
    PTLI_PLACED = 8    /* the data are in place already, by RDMA on the same connection */
};

/* An answer has its request's operation and nothing of match_bits, hdr_data, remote_offset, pt and
 * ac. */
struct ptli_header {
    uint8_t type;
    uint8_t flags;
    ptl_process_id_t source, destination;
    ptl_uid_t uid; /* the source's; informative, what counts was learned at connection */
    ptl_jid_t jid;
    ptl_pt_index_t pt_index;
    ptl_ac_index_t ac_index;
    uint32_t data_length; /* bytes inline behind the header */
    uint64_t operation;   /* the initiator's record; meaningless to anybody else */
    ptl_match_bits_t match_bits;
    ptl_hdr_data_t hdr_data;
    ptl_size_t length; /* requested; in an answer: accepted */
    ptl_size_t remote_offset;
    uint64_t
        transport; /* the transport's, in any message: credits and the like.  The engine leaves 0 */
};

/* A piece of memory that a peer may reach. */
struct ptli_remote {
    uint64_t address;
    uint32_t key;
    uint32_t length;
};

void ptli_wire_encode(const struct ptli_header *header, unsigned char bytes[PTLI_WIRE_SIZE]);

/* Parses `size` bytes.  NULL if all is well, else what is wrong with them; then `header` is not to
 * be used.  eager_limit: most bytes inline, both ways.  For types of the transport only the frame
 * is judged. */
const char *ptli_wire_parse(const void *bytes, size_t size, uint32_t eager_limit,
                            struct ptli_header *header);

/* Remote lists, which ptli_wire_parse has judged.  A list stands for `length` bytes in all. */
void ptli_wire_encode_remote(const struct ptli_remote *remote,
                             unsigned char bytes[PTLI_REMOTE_SIZE]);
void ptli_wire_parse_remote(const unsigned char bytes[PTLI_REMOTE_SIZE],
                            struct ptli_remote *remote);

#endif
