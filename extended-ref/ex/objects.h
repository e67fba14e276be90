/* objects.h - what start and attach do for the objects of GASNet-EX.  */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "gasnet.h"

#pragma GCC visibility push(hidden)
extern struct gex_Client_s gasnete_client;
extern gex_TM_t gasnete_all; /* the team of all ranks */
#pragma GCC visibility pop

/* Attach: the segment of the endpoint. */
void gasnete_objects_attach(void);

/* --- endpoints.c --- */

/* The segment of this rank's endpoint; GEX_SEGMENT_INVALID: there is no such endpoint, or segment.
 */
gex_Segment_t gasnete_own_segment(gex_EP_Index_t index);

/* --- teams.c --- */

/* Init, when the topology of the job is known: makes the team of all ranks, and the pair. */
void gasnete_teams_init(void);
/* Whether `tm` is a team that has been made and not been destroyed; it may be any value. */
bool gasnete_is_team(gex_TM_t tm);
/* Fatal unless it is one, and communication is legal. */
void gasnete_check_team(const char *call, gex_TM_t tm);

/* --- collectives.c --- */

/* Gathers `nbytes` bytes of each member, in the order of ranks, on all. */
void gasnete_coll_gather_bytes(const char *call, gex_TM_t tm, void *all, const void *mine,
                               size_t nbytes);
