/* messages.h - the Active Messages of collectives, for attach.c; arrivals.c and checks.c define the
 * handlers.
 */
#pragma once

#include "extended-ref/internal_am.h"
#include "gasnet.h"

/* A key as the first three arguments.  */
#define GASNETE_COLL_KEY_ARGS(key)                                                                 \
    (gasnet_handlerarg_t)(key).team, (gasnet_handlerarg_t)(key).number,                            \
        (gasnet_handlerarg_t)(key).tag

/* The first three arguments are the key.  */
#define GASNETE_COLL_HANDLERS(HANDLER)                                                             \
    /* a whole message */                                                                          \
    HANDLER(COLL_WHOLE, 80, REQUEST, MEDIUM, 3, gasnete_coll_whole_handler)                        \
    /* to the sender: a large message is posted; its address, or NULL */                           \
    HANDLER(COLL_READY, 81, REQUEST, SHORT, 7, gasnete_coll_ready_handler)                         \
    /* a piece of a large message, written to its destination */                                   \
    HANDLER(COLL_LONG, 82, REQUEST, LONG, 5, gasnete_coll_long_handler)                            \
    /* a piece of a large message, to be copied */                                                 \
    HANDLER(COLL_PIECE, 83, REQUEST, MEDIUM, 5, gasnete_coll_piece_handler)                        \
    /* a large message may be fetched from this address */                                         \
    HANDLER(COLL_OFFER, 84, REQUEST, SHORT, 5, gasnete_coll_offer_handler)                         \
    /* to the sender: the message's memory is no longer needed; FETCHED: it was fetched */         \
    HANDLER(COLL_ACK, 85, REPLY, SHORT, 3, gasnete_coll_ack_handler)                               \
    HANDLER(COLL_FETCHED, 87, REQUEST, SHORT, 3, gasnete_coll_ack_handler)                         \
    /* debug builds: a digest of the call */                                                       \
    HANDLER(COLL_CHECK, 86, REQUEST, SHORT, 7, gasnete_coll_check_handler)
enum { GASNETE_COLL_HANDLERS(GASNETE_HANDLER_INDEX) };
GASNETE_COLL_HANDLERS(GASNETE_HANDLER_DECLARE)
