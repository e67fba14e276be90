/* barrier_rdma.c - barrier messages as puts into a word that their receiver watches (IB-W2).
 *
 * A word for each step and each parity of phases.  Its writer is the same node in every phase.  It
 * writes the word again two phases later, when it has left the phase between: then this node has
 * notified that one too, so it has left the first, for which it had to take the word.
 */
#include "gasnet.h"

#include "core/rdma/remote_flags.h"
#include "extended-ref/barrier_carrier.h"

static uint8_t steps;

/* A message as a word without marks: the low half has the id but for bit 7 of each byte.  These are
 * in the high half, each in bit 6 of its byte; beside them is the other word of the message, no
 * byte of which is above 63. */
static const uint32_t id_high = 0x80808080, id_low = ~0x80808080, other = 0x3f3f3f3f;

static uint64_t encode(const gasnete_barrier_message_t *message)
{
    int32_t words[2];
    gasnete_barrier_pack(message, words);
    const uint32_t id = (uint32_t)words[1];
    return (uint64_t)((uint32_t)words[0] | (id & id_high) >> 1) << 32 | (id & id_low);
}

static bool decode(uint64_t word, gasnete_barrier_message_t *message)
{
    const uint32_t low = (uint32_t)word, high = (uint32_t)(word >> 32);
    const int32_t words[2] = {(int32_t)(high & other), (int32_t)(low | (high << 1 & id_high))};
    return gasnete_barrier_unpack(words, message);
}

static uint32_t index_of(uint8_t parity, uint8_t step)
{
    return (uint32_t)parity * steps + step;
}

void gasnete_barrier_rdma_attach(uint8_t all_steps)
{
    steps = all_steps;
    gasnetc_remote_flags_init(2u * steps);
}

static void send(const gasnete_barrier_message_t *message)
{
    gasnetc_remote_flag_put(message->to, index_of(message->parity, message->step), encode(message));
}

static bool collect(uint8_t parity, uint8_t step, gasnete_barrier_message_t *message)
{
    uint64_t word;
    if (!gasnetc_remote_flag_take(index_of(parity, step), &word)) return false;
    if (!decode(word, message) || message->parity != parity || message->step != step) {
        uint32_t nodes = gasnet_nodes(), distance = (1u << step) % nodes;
        gasnete_barrier_bad((gasnet_mynode() + nodes - distance) % nodes, (uint32_t)(word >> 32));
    }
    return true;
}

const gasnete_barrier_carrier_t gasnete_barrier_rdma = {.send = send, .collect = collect};
