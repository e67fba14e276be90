/* negotiated.h - what a thread has prepared: of each, a Request and a Reply, at most one.  */
#ifndef GASNETE_EX_NEGOTIATED_H
#define GASNETE_EX_NEGOTIATED_H

#include <stdbool.h>

#include "core/am/lent.h"
#include "gasnet.h"

typedef struct gasnete_negotiated {
    struct gex_AM_SrcDesc_s desc; /* first: what the client holds */
    gex_Flags_t form;             /* category and direction, as GEX_FLAG_AM_*; 0: not prepared */
    gex_Rank_t node;              /* of a Request */
    gasnetc_token_t *token;       /* of a Reply; NULL: a Request */
    gex_Event_t *lc_opt;
    unsigned nargs;
    bool lent; /* the buffer is `network`; else the client's, or gasnetc_loop_buffer */
    gasnetc_lent_t network;
} gasnete_negotiated_t;

#endif
