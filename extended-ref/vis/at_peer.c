/* at_peer.c - a handler that runs at the target behind a put: gex_VIS_SetPeerCompletionHandler. */
#include <string.h>

#include "core/report.h"
#include "extended-ref/handles.h"
#include "extended-ref/internal_am.h"
#include "extended-ref/vis/vis.h"

void gex_VIS_SetPeerCompletionHandler(gex_AM_Index_t handler, const void *src, size_t nbytes,
                                      gex_Flags_t flags)
{
    (void)flags;
    gasnete_thread_t *me = gasnete_self();
    if (handler && handler < GASNETC_AM_CLIENT)
        gasneti_fatal("gex_VIS_SetPeerCompletionHandler: handler index %u is not one of %d to 255",
                      (unsigned)handler, GASNETC_AM_CLIENT);
    if (nbytes > sizeof me->at_peer.payload)
        gasneti_fatal("gex_VIS_SetPeerCompletionHandler: a payload of %zu bytes, over "
                      "GEX_VIS_MAX_PEERCOMPLETION (%zu)",
                      nbytes, sizeof me->at_peer.payload);
    me->at_peer.handler = handler;
    me->at_peer.nbytes = handler ? nbytes : 0;
    if (me->at_peer.nbytes) memcpy(me->at_peer.payload, src, nbytes);
}

void gasnete_vis_tell(gasnet_node_t node)
{
    gasnete_thread_t *me = gasnete_self();
    const gex_AM_Index_t handler = me->at_peer.handler;
    me->at_peer.handler = 0;
    gasnetc_AMRequestMedium(node, GASNETE_H_VIS_THERE, me->at_peer.payload, me->at_peer.nbytes,
                            GASNETE_ARGS(handler));
}

void gasnete_vis_there_handler(gasnet_token_t token, void *payload, size_t nbytes,
                               gasnet_handlerarg_t handler)
{
    if (handler < GASNETC_AM_CLIENT || handler > UINT8_MAX)
        gasneti_fatal("%s asks for handler index %d behind a put, which is not one of %d to 255",
                      gasneti_rank_name(gasnetc_token_source(token)), (int)handler,
                      GASNETC_AM_CLIENT);
    gasnetc_run_reply(token, (gasnet_handler_t)handler, payload, nbytes);
}
