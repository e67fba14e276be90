/* am_handlers.c - the handler table and its indices (section 2.3 of the client interface).
 *
 * Written during attach, read by every delivery, not changed afterwards.
 */
#include <string.h>

#include "core/am/am.h"
#include "core/report.h"

enum { FIRST_CLIENT = 128 };

void (*gasnetc_handlers[256])(void);

typedef void (*handler_fn)(void);

void gasnetc_register_internal(const gasnet_handlerentry_t *internal)
{
    /* A failed attach may have left entries. */
    memset(gasnetc_handlers, 0, sizeof gasnetc_handlers);
    for (; internal->fnptr; internal++) {
        if (internal->index >= FIRST_CLIENT || gasnetc_handlers[internal->index])
            gasneti_fatal("internal handler index %d is taken or not internal", internal->index);
        gasnetc_handlers[internal->index] = (handler_fn)internal->fnptr;
    }
}

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
