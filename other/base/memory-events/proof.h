/* proof.h - which system calls of a file's code are proven harmless: pure.
 *
 * A call is, if its number is a constant that is not watched, on every path by which the call can
 * be reached.  Paths are followed from the call backward: to the instruction before, and to all
 * relative jumps in the code.  The number may be copied from register to register, and may stay in
 * those that functions keep.  Where a path comes from the beginning of a function, or from an
 * instruction that this file does not know, there is no proof.  Jumps through tables and pointers
 * are supposed not to lead between the load of a number and its call.
 */
#ifndef MEMORY_EVENTS_PROOF_H
#define MEMORY_EVENTS_PROOF_H

#include "other/base/memory-events/sites.h"

/* A whole mapping of code, with room for what is found about it. */
typedef struct me_code {
    const uint8_t *bytes;
    size_t size;
    uint8_t *starts; /* bit i is set if an instruction begins at bytes[i] */
    struct me_jump *jumps;
    unsigned jumps_most, jumps_count;
    struct me_point *points;
    unsigned points_most, points_count;
    me_site_t *sites; /* system calls that can be hooked */
    unsigned sites_most, sites_count;
} me_code_t;

typedef struct me_jump {
    uint32_t at, to;
} me_jump_t;

typedef struct me_point {
    uint32_t at;
    uint8_t reg;   /* is to hold a harmless number before the instruction there */
    bool reached;  /* from somewhere */
    uint16_t next; /* point of the same bucket, plus 1 */
    uint32_t call; /* of which it is a part */
} me_point_t;

/* Fills `starts`, which is zero, and `sites`, and proves the other calls.  False: `at` is a call
 * whose number is not proven.  `hooks`: calls that can be hooked count as harmless, because they
 * will be. `accept` may exempt a call; it may read 16 bytes before it. */
bool me_prove(me_code_t *code, bool hooks, bool (*accept)(const uint8_t *at), size_t *at);

/* known.c, system calls of glibc that unmap nothing though their numbers are not proven: whether
 * the bytes before the system call at `call` are those of a call in the list.  At least 16 bytes
 * before it must be code of the C library or of the loader. */
bool me_is_known(const uint8_t *call);

#endif
