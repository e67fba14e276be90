/* remote_flags.h - words that other nodes write into this one without a message: one registered
 * page or so per node, apart from the segment.
 *
 * RDMA promises neither that the 8 bytes of a word arrive at once nor in which order, so each byte
 * proves for itself that it is new: bit 7 of every byte is a mark, which changes from one use of a
 * word to the next.  The reader takes the word when all eight marks have changed.  A byte is the
 * smallest thing that is written, so then all eight are new, whatever their order and however long
 * the writer paused between them.  Nothing is cleared: a byte of the use before has the other mark,
 * and none of the use before that can still be on its way, since that word was taken whole.
 *
 * Which node uses which word is the users' protocol, and this must hold: a word of a node is always
 * written by the same node, a node writes its words of one index always to the same node, and only
 * after it knows that the last one was taken.
 */
#ifndef GASNETC_NOTICE_H
#define GASNETC_NOTICE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* The bits that are the marks; a word has none of them set. */
#define GASNETC_NOTICE_MARKS UINT64_C(0x8080808080808080)

/* Attach, all nodes with the same count; nobody puts before the barrier that ends attach. */
void gasnetc_remote_flags_init(uint32_t count);
void gasnetc_remote_flags_close(void);

/* Writes `word` to another node's word `index`.  Not in a handler; may poll while the network is
 * busy. */
void gasnetc_remote_flag_put(uint32_t node, uint32_t index, uint64_t word);

#pragma GCC visibility push(hidden)
extern _Atomic uint64_t *gasnetc_notice_words;
extern uint64_t *gasnetc_notice_due; /* by index: the marks of the word to be taken next */
#pragma GCC visibility pop

/* True once for each word that was written to this node's word `index`.  One thread at a time. */
static inline bool gasnetc_remote_flag_take(uint32_t index, uint64_t *word)
{
    uint64_t found = atomic_load_explicit(&gasnetc_notice_words[index], memory_order_acquire) ^
                     gasnetc_notice_due[index];
    if (found & GASNETC_NOTICE_MARKS) return false;
    gasnetc_notice_due[index] ^= GASNETC_NOTICE_MARKS;
    *word = found;
    return true;
}

#endif
