/* am_handlers.c - the handler tables and their indices (section 2.3 of the client interface).
 *
 * The tables are written during attach, and later only read, by every delivery.
 */
#include <stdio.h>
#include <string.h>

#include "core/am/am_deliver.h"
#include "core/report.h"

enum { FIRST_CLIENT = GASNETC_AM_CLIENT };

typedef void (*handler_fn)(void);

handler_fn gasnetc_handlers[256];
static const gasnetc_internal_t *internals[FIRST_CLIENT];

/* --- the library's own --- */

void gasnetc_register_internal(const gasnetc_internal_t *table, bool first)
{
    /* A failed attach may have left entries. */
    if (first) {
        memset(gasnetc_handlers, 0, sizeof gasnetc_handlers);
        memset(internals, 0, sizeof internals);
    }
    for (; table->function; table++) {
        if (table->index == 0 || table->index >= FIRST_CLIENT || internals[table->index])
            gasneti_fatal("internal handler index %d is taken or not internal", table->index);
        internals[table->index] = table;
    }
}

static const char *form_of(uint8_t head, char text[48])
{
    static const char *const categories[] = {"Short", "Medium", "Long", "unknown"};
    snprintf(text, 48, "a %s %s with %d arguments", categories[head & 3],
             head & 4 ? "Request" : "Reply", head >> 3);
    return text;
}

handler_fn gasnetc_internal_handler(unsigned index, uint8_t head, const gasnetc_peer_t *peer)
{
    char sent[48], expected[48];
    const gasnetc_internal_t *internal = index < FIRST_CLIENT ? internals[index] : NULL;
    if (!internal) gasnetc_no_handler(index, peer);
    if (internal->head == head) return internal->function;
    gasneti_fatal("a malformed Active Message from %s for the library's own handler %u: it is %s "
                  "and should be %s; do all ranks run the same program and library?",
                  gasneti_rank_name(peer->net.rank), index, form_of(head, sent),
                  form_of(internal->head, expected));
}

/* --- what clients may send to --- */

static void __attribute__((noreturn, cold))
refuse(const char *call, uint32_t to, gasnet_handler_t handler)
{
    gasneti_fatal("%s to rank %u names handler %d, but a client's handlers have the indices 128 to "
                  "255, and those below are the library's own: pass an index of the table that "
                  "gasnet_attach was given, which writes to it the one that it chooses for an "
                  "entry with index 0",
                  call, (unsigned)to, handler);
}

void gasneti_no_client_request(gasnet_node_t dest, gasnet_handler_t handler)
{
    refuse("an Active Message Request", dest, handler);
}

void gasneti_no_client_reply(gasnet_token_t opaque, gasnet_handler_t handler)
{
    const gasnetc_token_t *token = opaque;
    refuse("an Active Message Reply", token->peer->net.rank, handler);
}

/* --- the client's table --- */

static int register_fixed(const gasnet_handlerentry_t *entry)
{
    if (entry->index < FIRST_CLIENT)
        return gasneti_error(GASNET_ERR_BAD_ARG, "gasnet_attach",
                             "handler index %d is not one of a client's, 128..255", entry->index);
    if (gasnetc_handlers[entry->index])
        return gasneti_error(GASNET_ERR_BAD_ARG, "gasnet_attach",
                             "handler index %d is given twice in the table", entry->index);
    gasnetc_handlers[entry->index] = (handler_fn)entry->fnptr;
    return GASNET_OK;
}

int gasnetc_register_client(gasnet_handlerentry_t *table, int numentries)
{
    for (int i = 0; i < numentries; i++) {
        if (!table[i].fnptr)
            return gasneti_error(GASNET_ERR_BAD_ARG, "gasnet_attach",
                                 "entry %d of the handler table has no function", i);
        int result = table[i].index ? register_fixed(&table[i]) : GASNET_OK;
        if (result != GASNET_OK) return result;
    }
    int next = FIRST_CLIENT;
    for (int i = 0; i < numentries; i++) {
        if (table[i].index) continue;
        while (next < 256 && gasnetc_handlers[next]) next++;
        if (next == 256)
            return gasneti_error(GASNET_ERR_RESOURCE, "gasnet_attach",
                                 "more than 128 handlers: no index is left for entry %d", i);
        gasnetc_handlers[next] = (handler_fn)table[i].fnptr;
        table[i].index = (gasnet_handler_t)next;
    }
    return GASNET_OK;
}
