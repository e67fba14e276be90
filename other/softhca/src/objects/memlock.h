/* memlock.h - charges against the limit of locked memory. */
#ifndef SOFTHCA_MEMLOCK_H
#define SOFTHCA_MEMLOCK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

bool shca_memlock_take(const void *addr, size_t len); /* false: the limit does not allow it */
void shca_memlock_give(const void *addr, size_t len);
/* shca_memlock_entries() returns the bytes of the buffer of a queue. shca_memlock_queue() charges
 * them: 0 or ENOMEM. The caller ends the charge by shca_memlock_give(NULL, *PINNED). */
enum { SHCA_MEMLOCK_CQE = 64 };
size_t shca_memlock_entries(uint32_t entries, size_t each);
int shca_memlock_queue(size_t *pinned, size_t bytes);
void shca_memlock_in_child(void);

#endif
