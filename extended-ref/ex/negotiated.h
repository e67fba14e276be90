/* negotiated.h - what a thread has prepared: of each, a Request and a Reply, at most one.  */
#ifndef GASNETE_EX_NEGOTIATED_H
#define GASNETE_EX_NEGOTIATED_H

#include "core/am/lent.h"
#include "gasnet.h"

/* Where the payload lies. */
enum negotiated_source {
    NEGOTIATED_CLIENT, /* in the client's buffer */
    NEGOTIATED_THREAD, /* in gasnetc_loop_buffer */
    NEGOTIATED_OWN,    /* in `message`: the network takes the Medium Request inline */
    NEGOTIATED_LENT,   /* in `network` */
};

typedef struct gasnete_negotiated {
    struct gex_AM_SrcDesc_s desc; /* first: what the client holds */
    gex_Flags_t form;             /* category and direction, as GEX_FLAG_AM_*; 0: not prepared */
    gex_Rank_t node;              /* of a Request */
    gasnetc_token_t *token;       /* of a Reply; NULL: a Request */
    gex_Event_t *lc_opt;
    unsigned nargs;
    enum negotiated_source source;
    gasnetc_lent_t network;
    _Alignas(16) char message[GASNETC_AM_PREFIX_MAX + NET_STACK_MESSAGE + NET_AM_TAIL];
} gasnete_negotiated_t;

#endif
