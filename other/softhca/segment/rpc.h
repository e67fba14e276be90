/* rpc.h - what processes of one host say to each other over the socket between them.
 *
 * The one that connects says its slot and is greeted with the segment; then it may put questions.
 * Every message is one packet. rpc_client.c puts the questions, rpc_server.c answers.
 */
#ifndef SOFTHCA_RPC_H
#define SOFTHCA_RPC_H

#include <stdint.h>
#include <sys/types.h>

enum { RPC_CHANNEL = 1, RPC_MEMORY, RPC_READ, RPC_WRITE, RPC_ADD, RPC_SWAP, RPC_RING };
enum { SHCA_CHUNK = 32768 }; /* of data, in one question or answer */

struct shca_rpc_request {
    uint32_t what, id;
    uint64_t va, len;
    uint64_t a, b;
};

struct shca_rpc_reply {
    int32_t error, pad;
    uint64_t value;
};

/* With the memfd itself, unless too many descriptors of this user are on their way already. */
struct shca_greeting {
    uint32_t slot;
    int32_t memfd; /* its number in the process that owns it, and its file: */
    uint64_t dev, ino;
    uint64_t heap_end, arena_end; /* what there is of the segment */
};

#endif
