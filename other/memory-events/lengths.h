/* lengths.h - where x86-64 instructions begin: pure. */
#ifndef MEMORY_EVENTS_LENGTHS_H
#define MEMORY_EVENTS_LENGTHS_H

#include <stddef.h>
#include <stdint.h>

/* The length of the instruction at `code`; 0 if there is none that is valid in `size` bytes. */
size_t me_length(const uint8_t *code, size_t size);

/* Whether an instruction begins at `at`, or the byte is in another one's immediate operand or in
 * data: decoding begins at many places before it, and most of them agree. */
typedef enum me_vote { ME_DATA, ME_UNSURE, ME_INSTRUCTION } me_vote_t;
me_vote_t me_vote(const uint8_t *code, size_t size, size_t at);

#endif
