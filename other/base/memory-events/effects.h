/* effects.h - which memory a system call unmaps: pure, a function of its number and arguments.
 *
 * Linux on x86-64.  The order of arguments is the kernel's.
 */
#ifndef MEMORY_EVENTS_EFFECTS_H
#define MEMORY_EVENTS_EFFECTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct me_call {
    uintptr_t nr;
    uintptr_t arg[6];
} me_call_t;

typedef struct me_range {
    uintptr_t addr;
    size_t len;
} me_range_t;

enum { ME_MOST_RANGES = 2 };

/* True for the numbers of system calls that unmap memory with some arguments. */
bool me_is_watched(uintptr_t nr);

/* Whether this call unmaps memory, or may.  Computes with integers alone: called before vector
 * registers are saved. */
bool me_gives_back(const me_call_t *call);

/* Stores the ranges that the call unmaps, at most ME_MOST_RANGES; returns how many. `program_break`
 * is the present one. */
unsigned me_ranges(const me_call_t *call, uintptr_t program_break, me_range_t *ranges);

/* Whether the call may map the code of a library. */
bool me_loads_code(const me_call_t *call);

#endif
