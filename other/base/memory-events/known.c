/* known.c - system calls of glibc that unmap nothing; see proof.h.
 *
 * These, and no others, of glibc 2.36, 2.41 and 2.43 as Debian builds them for x86-64.
 */
#include <stddef.h>
#include <string.h>

#include "other/base/memory-events/proof.h"

static const struct form {
    size_t size;
    uint8_t before[12];
} forms[] = {
    /* setuid() and the like: a thread reads the number from what another one asks it to do. */
    {2, {0x8b, 0x00}}, /* mov (%rax),%eax */
    {2, {0x8b, 0x03}}, /* mov (%rbx),%eax */
    /* Calls that can be cancelled; the number is an argument.  None of them unmaps memory. */
    {10, {0x4c, 0x8b, 0x4c, 0x24, 0x10, 0x4c, 0x89, 0x5c, 0x24, 0x08}},
    {5, {0x48, 0x8b, 0x44, 0x24, 0x10}}, /* mov 16(%rsp),%rax */
    {5, {0x48, 0x8b, 0x44, 0x24, 0x20}}, /* mov 32(%rsp),%rax */
    /* mmap(NULL, ...) with MAP_32BIT, for code, if a tunable asks for it.  That it loads code is
     * seen when the loader maps the data. */
    {9, {0xb8, 9, 0, 0, 0, 0x41, 0x83, 0xca, 0x40}},
    /* A futex, after a call that does not return. */
    {11, {0xbe, 0x80, 0, 0, 0, 0x48, 0x89, 0xdf, 0x44, 0x89, 0xc0}},
    /* A static program's start: brk(0), and then it makes the heap larger. */
    {9, {0xbe, 12, 0, 0, 0, 0x31, 0xff, 0x89, 0xf0}},
    {11, {0x0f, 0x05, 0x48, 0x89, 0xc2, 0x48, 0x8d, 0x3c, 0x18, 0x89, 0xf0}},
};

bool me_is_known(const uint8_t *call)
{
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++)
        if (memcmp(call - forms[i].size, forms[i].before, forms[i].size) == 0) return true;
    return false;
}
