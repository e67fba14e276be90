/* remote_flags.h - words that other ranks write to this rank by RDMA, without a message.  Each rank
 * has about one registered page of them, outside the segment.
 *
 * RDMA guarantees neither that the 8 bytes of a word arrive at once nor in which order.  So bit 7
 * of every byte is a mark, which changes from one use of the word to the next, and the reader takes
 * the word when all eight marks have changed.  Bytes are written whole, so all eight are new then,
 * whatever their order and the time between them.  The reader clears nothing: bytes of the previous
 * use have the opposite mark, and no byte of the use before it can still arrive, because the reader
 * has seen all eight of them.
 *
 * The callers choose the words such that: a word of a rank is always written by the same rank; a
 * rank writes its words of one index always to the same rank; and it writes the next word only when
 * it knows that the reader has taken the previous one.
 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* The bits that are the marks; a word has none of them set. */
#define GASNETC_FLAG_MARKS UINT64_C(0x8080808080808080)

/* Called in init, on all ranks with the same count.  No rank may put before the barrier that ends
 * attach.
 */
void gasnetc_remote_flags_init(uint32_t count);
void gasnetc_remote_flags_close(void);

/* Writes `word` to another rank's word `index`.  Not in a handler; polls while the network is busy.
 */
void gasnetc_remote_flag_put(uint32_t node, uint32_t index, uint64_t word);

#pragma GCC visibility push(hidden)
extern _Atomic uint64_t *gasnetc_remote_flag_words;
extern uint64_t *gasnetc_remote_flag_due; /* by index: the marks of the next word to be taken */
#pragma GCC visibility pop

/* True, once for each put, when another rank has written this rank's word `index`.  One thread at a
 * time. */
static inline bool gasnetc_remote_flag_take(uint32_t index, uint64_t *word)
{
    uint64_t found = atomic_load_explicit(&gasnetc_remote_flag_words[index], memory_order_acquire) ^
                     gasnetc_remote_flag_due[index];
    if (found & GASNETC_FLAG_MARKS) return false;
    gasnetc_remote_flag_due[index] ^= GASNETC_FLAG_MARKS;
    *word = found;
    return true;
}
