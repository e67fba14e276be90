/* sites.h - finds the instructions in x86-64 code that make system calls: pure.
 *
 * A call with a constant number is   mov $nr,%eax; syscall   in glibc's code.  The first of the two
 * is 5 bytes long, as is a jump: a hook replaces this one instruction, so that no thread can be in
 * its middle, and leaves the second where it is.  In glibc's syscall(), whose number is an
 * argument, the instruction before is   mov 8(%rsp),%r9,   5 bytes long as well.
 */
#ifndef MEMORY_EVENTS_SITES_H
#define MEMORY_EVENTS_SITES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum me_kind {
    ME_CONSTANT, /* of a watched number, loaded by the instruction before: can be hooked */
    ME_ANY,      /* the number is an argument: can be hooked */
    ME_OTHER     /* of another number, or one that is loaded elsewhere: proof.h */
} me_kind_t;

enum { ME_PATCH = 5 }; /* bytes of the instruction that is replaced */

typedef struct me_site {
    me_kind_t kind;
    size_t call; /* index of the system call in the code */
    uint32_t nr; /* ME_CONSTANT */
} me_site_t;

/* The index of the next bytes of a system call, or of equal data, at `from` or later; `size` if no
 * such bytes follow. */
size_t me_next_call(const uint8_t *code, size_t size, size_t from);

/* The system call at `call`; the one instruction before it begins at `before`. */
me_site_t me_site_at(const uint8_t *code, size_t call, size_t before);

/* Writes the stub that a hook jumps to, and returns its size, at most ME_STUB.  It calls the
 * address that is stored at `entry`, and continues at the system call.  `at` is where the stub will
 * be, `site_at` where the replaced instruction is. */
enum { ME_STUB = 64 };
size_t me_write_stub(const me_site_t *site, uintptr_t at, uintptr_t site_at, uintptr_t entry,
                     uint8_t *out);

/* The jump from site_at to `to`. */
void me_write_jump(uintptr_t site_at, uintptr_t to, uint8_t out[ME_PATCH]);

#endif
