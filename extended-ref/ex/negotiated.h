/* negotiated.h - what a thread has prepared: of each, a Request and a Reply, at most one.  */
#pragma once

#include "core/am/lent.h"
#include "gasnet.h"

/* Where the payload lies. */
enum negotiated_source {
    NEGOTIATED_CLIENT, /* in the client's buffer */
    NEGOTIATED_THREAD, /* in memory of the thread */
    NEGOTIATED_LENT,   /* in `network` */
};

/* The form of a Medium Request that is built in `in_place`, which the fields from `node` on do not
 * describe. */
#define NEGOTIATED_IN_PLACE (GEX_FLAG_AM_MEDIUM | GEX_FLAG_AM_REQUEST | (gex_Flags_t)1 << 31)

typedef struct gasnete_negotiated {
    struct gex_AM_SrcDesc_s desc; /* first: what the client holds */
    gex_Flags_t form; /* category and direction, as GEX_FLAG_AM_*, or NEGOTIATED_IN_PLACE; 0: not
                         prepared */
    gex_Rank_t node;  /* of a Request */
    gasnetc_token_t *token; /* of a Reply; NULL: a Request */
    gex_Event_t *lc_opt;
    unsigned nargs;
    enum negotiated_source source;
    gasnetc_lent_t network;
    gasnetc_in_place_t in_place;
} gasnete_negotiated_t;
