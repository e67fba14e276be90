/* am_handlers.c - the handler tables and their indices (section 2.3 of the client interface).
 *
 * The table of the library's own handlers is written during init.  Clients' handlers may be
 * registered at any time after gasnet_init, while every delivery reads the table of functions.
 */
#include <stdatomic.h>
#include <stdio.h>

#include "core/am/am_deliver.h"
#include "core/lock.h"
#include "core/report.h"
#include "core/trace/trace.h"

enum { FIRST_CLIENT = GASNETC_AM_CLIENT };

/* The categories, and all that gex_flags may have.  The flag of a category is its number's bit. */
enum {
    FOR_CATEGORIES = GEX_FLAG_AM_SHORT | GEX_FLAG_AM_MEDLONG,
    FOR_ALL = FOR_CATEGORIES | GEX_FLAG_AM_REQREP,
};
_Static_assert(GEX_FLAG_AM_SHORT == 1 << GASNETC_AM_SHORT &&
                   GEX_FLAG_AM_MEDIUM == 1 << GASNETC_AM_MEDIUM &&
                   GEX_FLAG_AM_LONG == 1 << GASNETC_AM_LONG,
               "flags of handlers are bits of categories");

typedef void (*handler_fn)(void);

/* The functions have a table of their own, which the deliveries of release builds read alone, by
 * plain loads: an atomic one makes GCC load the address of a message twice.  `registered` is valid
 * at the indices that have a function, and written before it. */
handler_fn gasnetc_handlers[256];
static handler_fn traced_handlers[256]; /* used instead while a trace is written */
static gex_AM_Entry_t registered[256];
static gasneti_lock_t registering; /* protects writes of the two */
static const gasnetc_internal_t *internals[256];

static _Atomic(handler_fn) *function_at(unsigned index)
{
    handler_fn *table = gasneti_trace_on ? traced_handlers : gasnetc_handlers;
    return (_Atomic(handler_fn) *)(void *)&table[index];
}

/* --- the library's own --- */

void gasnetc_register_internal(const gasnetc_internal_t *table)
{
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

/* Inlined, its arrays would cost each message a frame: row ex_ad_round of make bench. */
static void __attribute__((noreturn, cold, noinline))
refuse_form(unsigned index, uint8_t head, const gasnetc_internal_t *internal,
            const gasnetc_peer_t *peer)
{
    char sent[48], expected[48];
    if (!internal) gasnetc_no_handler(index, peer);
    gasneti_fatal("a malformed Active Message from %s for the library's own handler %u: it is %s "
                  "and should be %s; do all ranks run the same program and library?",
                  gasneti_rank_name(peer->net.rank), index, form_of(head, sent),
                  form_of(internal->head, expected));
}

const gasnetc_internal_t *gasnetc_internal_handler(unsigned index, uint8_t head,
                                                   const gasnetc_peer_t *peer)
{
    const gasnetc_internal_t *internal = internals[index];
    if (!internal || internal->head != head) refuse_form(index, head, internal, peer);
    return internal;
}

/* The client's handler that is to be traced, or NULL. */
static handler_fn traced_client(unsigned index)
{
    return gasneti_trace_on ? atomic_load(function_at(index)) : NULL;
}

static void traced_begin(gasnetc_token_t *token)
{
    if (token->answer == GASNETC_ANSWER_OPEN) token->answer = GASNETC_ANSWER_TRACED;
}

static void traced_end(uint64_t began, uint32_t peer, unsigned index, size_t nbytes)
{
    gasneti_trace_note(began, &(gasneti_trace_event_t){.kind = GASNETI_TRACE_handler,
                                                       .peer = peer,
                                                       .bytes = nbytes,
                                                       .handler = (uint8_t)index});
}

/* Runs the client's handler for a Short, if that is what is unlisted. */
static __attribute__((cold, noinline)) bool run_traced(gasnetc_token_t *token, uint8_t head)
{
    const gasnetc_am_header_t *header = token->message->data;
    const unsigned index = header->handler;
    const handler_fn client = traced_client(index);
    if (!client) return false;
    const uint64_t began = gasneti_clock_ns();
    traced_begin(token);
    gasnetc_run_short(client, token, head >> 3, (const int32_t *)(const void *)(header + 1));
    traced_end(began, token->peer->net.rank, index, 0);
    return true;
}

/* The index is read again, for the sake of row "AM Short receive + handler": the two readings may
 * differ, if the peer writes the message, but the handler is one of this head. */
void gasnetc_run_unlisted(gasnetc_token_t *token, uint8_t head)
{
    if (gasneti_trace_on && run_traced(token, head)) return;
    const gasnetc_am_header_t *header = token->message->data;
    const gasnetc_internal_t *internal =
        gasnetc_internal_handler(header->handler, head, token->peer);
    const void *args = header + 1;
    if (internal->words)
        ((gasnetc_words_handler_t *)internal->function)(token, args);
    else
        gasnetc_run_short(internal->function, token, head >> 3, args);
}

void gasnetc_run_unlisted_payload(gasnetc_token_t *token, uint8_t head, const gasnetc_am_t *am,
                                  void *payload, const int32_t *args)
{
    const handler_fn client = traced_client(am->handler);
    handler_fn handler =
        client ? client : gasnetc_internal_handler(am->handler, head, token->peer)->function;
    const uint64_t began = client ? gasneti_clock_ns() : 0;
    if (client) traced_begin(token);
    gasnetc_run_payload(handler, token, payload, am->nbytes, am->numargs, args);
    if (client) traced_end(began, token->peer->net.rank, am->handler, am->nbytes);
}

handler_fn gasnetc_handler_of(unsigned index, uint8_t head, const gasnetc_peer_t *peer)
{
    handler_fn handler = atomic_load(function_at(index));
    return handler ? handler : gasnetc_internal_handler(index, head, peer)->function;
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

/* --- clients' handlers --- */

const gex_AM_Entry_t *gasnetc_handler_entry(unsigned index)
{
    return atomic_load_explicit(function_at(index), memory_order_acquire) ? &registered[index]
                                                                          : NULL;
}

/* Checks entry `i` of a table; `taken`: the indices that others have. */
static int check_entry(const char *call, const gex_AM_Entry_t *entry, size_t i,
                       const bool taken[256])
{
    if (!entry->gex_fnptr)
        return gasneti_error(GASNET_ERR_BAD_ARG, call,
                             "entry %zu of the handler table has no function", i);
    if (entry->gex_nargs > GASNETC_AM_MAX_ARGS && entry->gex_nargs != GASNETC_ANY_NUMBER)
        return gasneti_error(GASNET_ERR_BAD_ARG, call,
                             "entry %zu of the handler table has %u arguments: 0..16 are possible",
                             i, entry->gex_nargs);
    if (!(entry->gex_flags & FOR_CATEGORIES) || !(entry->gex_flags & GEX_FLAG_AM_REQREP) ||
        entry->gex_flags > FOR_ALL)
        return gasneti_error(GASNET_ERR_BAD_ARG, call,
                             "entry %zu of the handler table is for no message: it needs Short, "
                             "Medium or Long, and Request or Reply",
                             i);
    if (entry->gex_index && entry->gex_index < FIRST_CLIENT)
        return gasneti_error(GASNET_ERR_BAD_ARG, call,
                             "handler index %d is not one of a client's, 128..255",
                             entry->gex_index);
    if (entry->gex_index && gasnetc_handler_entry(entry->gex_index))
        return gasneti_error(GASNET_ERR_BAD_ARG, call, "handler index %d is registered already",
                             entry->gex_index);
    if (entry->gex_index && taken[entry->gex_index])
        return gasneti_error(GASNET_ERR_BAD_ARG, call,
                             "handler index %d is given twice in the table", entry->gex_index);
    return GASNET_OK;
}

static void publish(const gex_AM_Entry_t *entry)
{
    registered[entry->gex_index] = *entry;
    atomic_store_explicit(function_at(entry->gex_index), (handler_fn)entry->gex_fnptr,
                          memory_order_release);
}

/* Registers all entries or none.  `step` 1: those with index 0 get the lowest free indices; -1: the
 * highest.  The lock is held. */
static int register_all(const char *call, gex_AM_Entry_t *entries, size_t n, int step)
{
    bool taken[256] = {false};
    unsigned left = 0;
    for (unsigned i = FIRST_CLIENT; i < 256; i++) {
        taken[i] = gasnetc_handler_entry(i) != NULL;
        left += !taken[i];
    }
    for (size_t i = 0; i < n; i++) {
        const int result = check_entry(call, &entries[i], i, taken);
        if (result != GASNET_OK) return result;
        if (!entries[i].gex_index) continue;
        taken[entries[i].gex_index] = true;
        left--;
    }
    for (size_t i = 0; i < n; i++)
        if (!entries[i].gex_index && left-- == 0)
            return gasneti_error(GASNET_ERR_RESOURCE, call,
                                 "more than 128 handlers: no index is left for entry %zu", i);
    int next = step > 0 ? FIRST_CLIENT : 255;
    for (size_t i = 0; i < n; i++) {
        if (!entries[i].gex_index) {
            while (taken[next]) next += step;
            entries[i].gex_index = (gasnet_handler_t)next;
            next += step;
        }
        publish(&entries[i]);
    }
    return GASNET_OK;
}

int gex_EP_RegisterHandlers(gex_EP_t ep, gex_AM_Entry_t *table, size_t n)
{
    static const char call[] = "gex_EP_RegisterHandlers";
    if (gasnetc_phase == GASNETC_BEFORE_INIT)
        return gasneti_error(GASNET_ERR_NOT_INIT, call, "called before gex_Client_Init");
    if (ep && ep->index)
        return gasneti_error(GASNET_ERR_BAD_ARG, call,
                             "endpoint %d receives no messages: endpoint 0 alone does", ep->index);
    if (n && !table)
        return gasneti_error(GASNET_ERR_BAD_ARG, call, "%zu handlers in a NULL table", n);
    gasneti_lock(&registering);
    const int result = register_all(call, table, n, -1);
    gasneti_unlock(&registering);
    return result;
}

int gasnetc_register_client(gasnet_handlerentry_t *table, int numentries)
{
    /* More entries than there are indices are refused for the first ones. */
    gex_AM_Entry_t entries[256 - FIRST_CLIENT + 1];
    const int most = (int)(sizeof entries / sizeof *entries);
    const int n = numentries < most ? numentries : most;
    for (int i = 0; i < n; i++)
        entries[i] = (gex_AM_Entry_t){.gex_fnptr = table[i].fnptr,
                                      .gex_index = table[i].index,
                                      .gex_flags = FOR_ALL,
                                      .gex_nargs = GASNETC_ANY_NUMBER};
    gasneti_lock(&registering);
    const int result = register_all("gasnet_attach", entries, (size_t)n, 1);
    gasneti_unlock(&registering);
    for (int i = 0; result == GASNET_OK && i < n; i++) table[i].index = entries[i].gex_index;
    return result;
}

void gasnetc_forget_client(const gasnet_handlerentry_t *table, int numentries)
{
    for (int i = 0; i < numentries; i++) atomic_store(function_at(table[i].index), NULL);
}

/* --- checks of debug builds --- */

/* The messages that a handler is for, in words. */
static const char *promised(const gex_AM_Entry_t *handler, char text[96])
{
    static const char *const categories[] = {
        [GEX_FLAG_AM_SHORT] = "Short",
        [GEX_FLAG_AM_MEDIUM] = "Medium",
        [GEX_FLAG_AM_SHORT | GEX_FLAG_AM_MEDIUM] = "Short and Medium",
        [GEX_FLAG_AM_LONG] = "Long",
        [GEX_FLAG_AM_SHORT | GEX_FLAG_AM_LONG] = "Short and Long",
        [GEX_FLAG_AM_MEDIUM | GEX_FLAG_AM_LONG] = "Medium and Long",
        [FOR_CATEGORIES] = "all",
    };
    static const char *const directions[] = {
        [GEX_FLAG_AM_REQUEST] = "Requests",
        [GEX_FLAG_AM_REPLY] = "Replies",
        [GEX_FLAG_AM_REQREP] = "Requests and Replies",
    };
    char numargs[16] = "any number of";
    if (handler->gex_nargs != GASNETC_ANY_NUMBER)
        snprintf(numargs, sizeof numargs, "%u", handler->gex_nargs);
    snprintf(text, 96, "%s %s with %s arguments", categories[handler->gex_flags & FOR_CATEGORIES],
             directions[handler->gex_flags & GEX_FLAG_AM_REQREP], numargs);
    return text;
}

void gasnetc_check_promise(unsigned index, uint8_t head, const gasnetc_peer_t *peer)
{
    const gex_AM_Entry_t *handler = gasnetc_handler_entry(index);
    char sent[48], expected[96];
    if (!handler || (handler->gex_flags & 1 << (head & 3) &&
                     handler->gex_flags & (head & 4 ? GEX_FLAG_AM_REQUEST : GEX_FLAG_AM_REPLY) &&
                     (handler->gex_nargs == GASNETC_ANY_NUMBER || handler->gex_nargs == head >> 3)))
        return;
    gasneti_fatal("an Active Message from %s for handler %u%s%s%s: it is %s, and the handler is "
                  "registered for %s",
                  gasneti_rank_name(peer->net.rank), index, handler->gex_name ? " (" : "",
                  handler->gex_name ? handler->gex_name : "", handler->gex_name ? ")" : "",
                  form_of(head, sent), promised(handler, expected));
}
