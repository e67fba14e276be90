/* barrier_am.c - barrier messages as Active Messages.
 *
 * A handler may not send a Request, so the handler sets gasnete_progress_due, and the poll that ran
 * it sends the next message.
 */
#include "gasnet.h"

#include "extended-ref/barrier_transport.h"
#include "extended-ref/internal_am.h"

static void barrier_am_send(const gasnete_barrier_message_t *message)
{
    int32_t words[2];
    gasnete_barrier_pack(message, words);
    gasnetc_AMRequestShort((gasnet_node_t)message->to, GASNETE_H_BARRIER, 2, words);
}

void gasnete_barrier_handler(gasnet_token_t token, gasnet_handlerarg_t word0,
                             gasnet_handlerarg_t word1)
{
    int32_t words[2] = {word0, word1};
    gasnete_barrier_message_t message;
    gasnet_node_t from = 0;
    gasnet_AMGetMsgSource(token, &from);
    if (!gasnete_barrier_unpack(words, &message)) gasnete_barrier_bad(from, (uint32_t)word0);
    gasnete_barrier_arrived(from, &message);
}

const gasnete_barrier_transport_t gasnete_barrier_am = {.send = barrier_am_send, .collect = NULL};
