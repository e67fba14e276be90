/* messages.h - the Active Messages of collectives: indices and handlers, for attach.c; arrivals.c
 * and checks.c define them.  The first three arguments are the key.
 */
#ifndef GASNETE_COLL_MESSAGES_H
#define GASNETE_COLL_MESSAGES_H

#include "gasnet.h"

/* A key as the first three arguments.  */
#define GASNETE_COLL_KEY_ARGS(key)                                                                 \
    (gasnet_handlerarg_t)(key).team, (gasnet_handlerarg_t)(key).number,                            \
        (gasnet_handlerarg_t)(key).tag

/* Part of the wire protocol: append only.  */
enum {
    GASNETE_H_COLL_WHOLE = 80, /* Medium: a whole message */
    GASNETE_H_COLL_READY = 81, /* to the sender: a large message is posted; its address, or NULL */
    GASNETE_H_COLL_LONG = 82,  /* a piece of a large message, written to its destination */
    GASNETE_H_COLL_PIECE = 83, /* Medium: a piece of a large message, to be copied */
    GASNETE_H_COLL_OFFER = 84, /* a large message may be fetched from this address */
    GASNETE_H_COLL_ACK = 85, /* to the sender, a Reply: the message's memory is no longer needed */
    GASNETE_H_COLL_CHECK = 86,   /* debug builds: a digest of the call */
    GASNETE_H_COLL_FETCHED = 87, /* as COLL_ACK, for a message that was fetched: a Request */
};

#define GASNETE_COLL_HANDLERS                                                                      \
    GASNETC_INTERNAL_REQUEST(GASNETE_H_COLL_WHOLE, MEDIUM, 3, gasnete_coll_whole_handler),         \
        GASNETC_INTERNAL_REQUEST(GASNETE_H_COLL_READY, SHORT, 7, gasnete_coll_ready_handler),      \
        GASNETC_INTERNAL_REQUEST(GASNETE_H_COLL_LONG, LONG, 5, gasnete_coll_long_handler),         \
        GASNETC_INTERNAL_REQUEST(GASNETE_H_COLL_PIECE, MEDIUM, 5, gasnete_coll_piece_handler),     \
        GASNETC_INTERNAL_REQUEST(GASNETE_H_COLL_OFFER, SHORT, 5, gasnete_coll_offer_handler),      \
        GASNETC_INTERNAL_REPLY(GASNETE_H_COLL_ACK, SHORT, 3, gasnete_coll_ack_handler),            \
        GASNETC_INTERNAL_REQUEST(GASNETE_H_COLL_FETCHED, SHORT, 3, gasnete_coll_ack_handler),      \
        GASNETC_INTERNAL_REQUEST(GASNETE_H_COLL_CHECK, SHORT, 7, gasnete_coll_check_handler),

void gasnete_coll_whole_handler(gasnet_token_t token, void *data, size_t nbytes,
                                gasnet_handlerarg_t team, gasnet_handlerarg_t number,
                                gasnet_handlerarg_t tag);
void gasnete_coll_ready_handler(gasnet_token_t token, gasnet_handlerarg_t team,
                                gasnet_handlerarg_t number, gasnet_handlerarg_t tag,
                                gasnet_handlerarg_t to_high, gasnet_handlerarg_t to_low,
                                gasnet_handlerarg_t nbytes_high, gasnet_handlerarg_t nbytes_low);
void gasnete_coll_long_handler(gasnet_token_t token, void *data, size_t nbytes,
                               gasnet_handlerarg_t team, gasnet_handlerarg_t number,
                               gasnet_handlerarg_t tag, gasnet_handlerarg_t offset_high,
                               gasnet_handlerarg_t offset_low);
void gasnete_coll_piece_handler(gasnet_token_t token, void *data, size_t nbytes,
                                gasnet_handlerarg_t team, gasnet_handlerarg_t number,
                                gasnet_handlerarg_t tag, gasnet_handlerarg_t offset_high,
                                gasnet_handlerarg_t offset_low);
void gasnete_coll_offer_handler(gasnet_token_t token, gasnet_handlerarg_t team,
                                gasnet_handlerarg_t number, gasnet_handlerarg_t tag,
                                gasnet_handlerarg_t from_high, gasnet_handlerarg_t from_low);
void gasnete_coll_ack_handler(gasnet_token_t token, gasnet_handlerarg_t team,
                              gasnet_handlerarg_t number, gasnet_handlerarg_t tag);
void gasnete_coll_check_handler(gasnet_token_t token, gasnet_handlerarg_t team,
                                gasnet_handlerarg_t number, gasnet_handlerarg_t digest,
                                gasnet_handlerarg_t kind, gasnet_handlerarg_t root,
                                gasnet_handlerarg_t nbytes_high, gasnet_handlerarg_t nbytes_low);

#endif
