/* rpc.h - the messages between processes of one host over the socket between them.
 *
 * The process that connects sends its slot and receives the greeting with the segment; then it may
 * send requests. Every message is one packet. rpc_client.c sends requests, rpc_server.c replies.
 */
#ifndef SOFTHCA_RPC_H
#define SOFTHCA_RPC_H

#include <stdint.h>
#include <sys/types.h>

enum { RPC_CHANNEL = 1, RPC_MEMORY, RPC_READ, RPC_WRITE, RPC_ADD, RPC_SWAP, RPC_RING };
enum { SHCA_CHUNK = 32768 }; /* bytes of data in one request or reply */

struct shca_rpc_request {
    uint32_t what, id;
    uint64_t va, len;
    uint64_t a, b;
};

struct shca_rpc_reply {
    int32_t error, pad;
    uint64_t value;
};

/* Carries the memfd itself, unless the kernel limit of descriptors in flight is reached (then
 * peer_map.c opens it). */
struct shca_greeting {
    uint32_t slot;
    int32_t memfd; /* descriptor number in the owner of the segment; its file: */
    uint64_t dev, ino;
    uint64_t heap_end, arena_end; /* used parts of */
};

#endif
