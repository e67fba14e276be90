/* puts.c - messages of the job's barrier as puts into words that the receiver polls (IB-W2).
 *
 * Each slot and each parity of phases has a word, written by the same rank in every phase.  The
 * writer writes a word of phase k again in phase k+2, after it left phase k+1.  Then the reader has
 * notified phase k+1, so it has left phase k, for which it had to read the word.
 */
#include "core/rdma/remote_flags.h"
#include "extended-ref/barrier/barrier.h"
#include "gasnet.h"

static uint8_t slots;

/* Encoding of a message in 64 bits with bit 7 of each byte free for the mark.  The low half holds
 * the id without bit 7 of each byte.  Bit 6 of each byte of the high half holds bit 7 of the id's
 * bytes; the lower 6 bits hold the message's first word, no byte of which is above 63.  */
static const uint32_t id_high = 0x80808080, id_low = ~0x80808080, other = 0x3f3f3f3f;

static uint64_t puts_encode(const gasnete_barrier_message_t *message)
{
    int32_t words[2];
    gasnete_barrier_pack(message, words);
    const uint32_t id = (uint32_t)words[1];
    return (uint64_t)((uint32_t)words[0] | (id & id_high) >> 1) << 32 | (id & id_low);
}

static bool puts_decode(uint64_t word, gasnete_barrier_message_t *message)
{
    const uint32_t low = (uint32_t)word, high = (uint32_t)(word >> 32);
    const int32_t words[2] = {(int32_t)(high & other), (int32_t)(low | (high << 1 & id_high))};
    return gasnete_barrier_unpack(words, message);
}

static uint32_t puts_index(const gasnete_barrier_message_t *message)
{
    return (uint32_t)message->parity * slots + message->slot;
}

static void puts_send(const gasnete_barrier_message_t *message)
{
    gasnetc_remote_flag_put(message->to, puts_index(message), puts_encode(message));
}

static bool puts_take(uint32_t from, gasnete_barrier_message_t *message)
{
    const uint8_t parity = message->parity, slot = message->slot;
    uint64_t word;
    if (!gasnetc_remote_flag_take(puts_index(message), &word)) return false;
    if (!puts_decode(word, message) || message->parity != parity || message->slot != slot)
        gasnete_barrier_bad(from, (uint32_t)(word >> 32));
    return true;
}

const gasnete_barrier_puts_t *gasnete_barrier_by_puts(uint8_t rounds)
{
    static const gasnete_barrier_puts_t puts = {.send = puts_send, .take = puts_take};
    slots = rounds;
    gasnetc_remote_flags_init(2u * rounds);
    return &puts;
}
