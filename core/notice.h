/* notice.h - words that other nodes write into this one without a message: one registered page or
 * so per node, apart from the segment.
 *
 * A word is taken whole or not at all, and 0 means that nothing has come.  Who uses which index,
 * and when a word may be written again, is the users' protocol.
 */
#ifndef GASNETC_NOTICE_H
#define GASNETC_NOTICE_H

#include <stdint.h>

/* Attach, all nodes with the same count; nobody puts before the barrier that ends attach. */
void gasnetc_notice_init(uint32_t count);
void gasnetc_notice_close(void);

/* Writes `word`, not 0, to another node's word `index`.  Not in a handler; may poll while the
 * network is busy. */
void gasnetc_notice_put(uint32_t node, uint32_t index, uint64_t word);

/* This node's word `index`, which is 0 again afterwards.  One thread at a time. */
uint64_t gasnetc_notice_take(uint32_t index);

#endif
