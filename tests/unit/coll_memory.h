/* coll_memory.h - the memory of all ranks of one collective, for coll_plan.c: buffers filled at
 * random, the local actions of plans, and what must be in DST in the end.
 */
#ifndef UNIT_COLL_MEMORY_H
#define UNIT_COLL_MEMORY_H

#include "extended-ref/coll/plans/plan.h"

enum { COLL_MOST_RANKS = 128 };

/* Allocates and fills the buffers of every rank of `plan`, whose `rank` does not count. in_place:
 * SRC and DST overlap where clients may have it so. */
void coll_memory_begin(const gasnete_coll_plan_t *plan, bool in_place);
void coll_memory_end(void);

/* The memory; NULL unless all of it lies within the rank's buffer and, if `write`, is not SRC.  */
void *coll_memory_at(uint32_t rank, gasnete_coll_address_t at, size_t nbytes, bool write);

/* Carries out a COPY or COMBINE; false if it touches what it must not.  */
bool coll_memory_act(uint32_t rank, const gasnete_coll_action_t *action);

/* Whether SRC is unchanged and DST is what the operation defines.  */
bool coll_memory_right(uint32_t rank);

#endif
