/* lengths.h - where x86-64 instructions begin, and which registers they change: pure. */
#ifndef MEMORY_EVENTS_LENGTHS_H
#define MEMORY_EVENTS_LENGTHS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The length of the instruction at `code`; 0 if its bytes are no valid instruction of at most
 * `size` bytes. */
size_t me_length(const uint8_t *code, size_t size);

/* The general registers that the instruction, of `size` bytes, may change: bit 0 is rax, in the
 * processor's order.  Of a call, those in which a function returns its result. */
unsigned me_changes(const uint8_t *code, size_t size);

bool me_is_nop(const uint8_t *code, size_t size);

/* Whether the next instruction is not reached from this one. */
bool me_ends_flow(const uint8_t *code, size_t size);

/* The value that the instruction leaves in a register that it changes. */
typedef struct me_value {
    enum { ME_UNKNOWN, ME_NUMBER, ME_COPY, ME_EITHER } kind;
    uint32_t of; /* ME_NUMBER: the number; else the register whose value it has, or may have */
} me_value_t;
me_value_t me_value_of(const uint8_t *code, size_t size, unsigned reg);

/* Whether an instruction begins at `at`, or the byte is in another one's immediate operand or in
 * data: decoding begins at many addresses before it, and most of them agree. */
typedef enum me_vote { ME_DATA, ME_UNSURE, ME_INSTRUCTION } me_vote_t;
me_vote_t me_vote(const uint8_t *code, size_t size, size_t at);

#endif
