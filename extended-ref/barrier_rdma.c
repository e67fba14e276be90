/* barrier_rdma.c - barrier messages as puts into a word that their receiver watches (IB-W2).
 *
 * A word for each step and each parity of phases.  It is written once per phase, and read and
 * cleared by its owner before it leaves that phase; its writer cannot be two phases ahead.
 */
#include "gasnet.h"

#include "core/notice.h"
#include "extended-ref/barrier_carrier.h"

static uint8_t steps;

static const uint64_t valid = UINT64_C(1) << 31; /* no message is 0 */

static uint32_t index_of(uint8_t parity, uint8_t step)
{
    return (uint32_t)parity * steps + step;
}

void gasnete_barrier_rdma_attach(uint8_t all_steps)
{
    steps = all_steps;
    gasnetc_notice_init(2u * steps);
}

static void send(const gasnete_barrier_message_t *message)
{
    int32_t words[2];
    gasnete_barrier_pack(message, words);
    uint64_t word = (uint64_t)(uint32_t)words[1] << 32 | (uint32_t)words[0] | valid;
    gasnetc_notice_put(message->to, index_of(message->parity, message->step), word);
}

static bool collect(uint8_t parity, uint8_t step, gasnete_barrier_message_t *message)
{
    uint64_t word = gasnetc_notice_take(index_of(parity, step));
    if (!word) return false;
    int32_t words[2] = {(int32_t)(uint32_t)(word & ~valid), (int32_t)(word >> 32)};
    if (!(word & valid) || !gasnete_barrier_unpack(words, message) || message->parity != parity ||
        message->step != step) {
        uint32_t nodes = gasnet_nodes(), distance = (1u << step) % nodes;
        gasnete_barrier_bad((gasnet_mynode() + nodes - distance) % nodes, (uint32_t)word);
    }
    return true;
}

const gasnete_barrier_carrier_t gasnete_barrier_rdma = {.send = send, .collect = collect};
