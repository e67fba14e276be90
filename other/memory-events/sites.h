/* sites.h - finds the instructions in x86-64 code that make system calls: pure.
 *
 * A call with a constant number is   mov $nr,%eax; syscall   in glibc's code and in most others'.
 * The first of the two is 5 bytes long, as is a jump: a hook replaces this one instruction, so that
 * no thread can be in its middle, and leaves the second where it is.  In glibc's syscall(), whose
 * number is an argument, the instruction before is   mov 8(%rsp),%r9,   5 bytes long as well.
 */
#ifndef MEMORY_EVENTS_SITES_H
#define MEMORY_EVENTS_SITES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum me_kind {
    ME_CONSTANT, /* of a watched number: can be hooked */
    ME_ANY,      /* the number is an argument: can be hooked */
    ME_HIDDEN    /* may be of a watched number, and cannot be hooked */
} me_kind_t;

enum {
    ME_PATCH = 5,  /* bytes of the instruction that is replaced */
    ME_BEFORE = 40 /* bytes before a system call in which its number is looked for */
};

typedef struct me_site {
    me_kind_t kind;
    size_t at; /* ME_CONSTANT, ME_ANY: where the instruction begins that is replaced; ME_HIDDEN: the
                  system call */
    uint32_t nr; /* ME_CONSTANT */
} me_site_t;

/* The next site whose system call is at `from` or later; false: none.  `known`: code
 * of which it is known that its calls of other forms give nothing back. */
bool me_next_site(const uint8_t *code, size_t size, size_t from, bool known, me_site_t *site);

/* The offset at which the look-up goes on after `site`. */
size_t me_after_site(const me_site_t *site);

/* Writes the stub that a hook jumps to, and returns its size, at most ME_STUB.  It calls the
 * address that is stored at `entry`, and continues at the system call.  `at` is where the stub will
 * be, `site_at` where the replaced instruction is. */
enum { ME_STUB = 64 };
size_t me_write_stub(const me_site_t *site, uintptr_t at, uintptr_t site_at, uintptr_t entry,
                     uint8_t *out);

/* The jump from site_at to `to`. */
void me_write_jump(uintptr_t site_at, uintptr_t to, uint8_t out[ME_PATCH]);

#endif
