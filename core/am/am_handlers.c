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

enum { FIRST_CLIENT = GASNETC_AM_CLIENT };

typedef void (*handler_fn)(void);

/* The functions have a table of their own, which the deliveries of release builds read alone, by
 * plain loads: an atomic one makes GCC load the address of a message twice.  `registered` is valid
 * at the indices that have a function, and written before it. */
handler_fn gasnetc_handlers[256];
static gasnetc_handler_t registered[256];
static gasneti_lock_t registering; /* protects writes of the two */
static const gasnetc_internal_t *internals[FIRST_CLIENT];

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

/* --- clients' handlers --- */

static _Atomic(handler_fn) *function_at(unsigned index)
{
    return (_Atomic(handler_fn) *)(void *)&gasnetc_handlers[index];
}

const gasnetc_handler_t *gasnetc_handler_entry(unsigned index)
{
    return atomic_load_explicit(function_at(index), memory_order_acquire) ? &registered[index]
                                                                          : NULL;
}

/* Checks entry `i` of a table; `taken`: the indices that others have. */
static int check_entry(const char *call, const gasnetc_handler_t *entry, size_t i,
                       const bool taken[256])
{
    if (!entry->function)
        return gasneti_error(GASNET_ERR_BAD_ARG, call,
                             "entry %zu of the handler table has no function", i);
    if (entry->numargs > GASNETC_AM_MAX_ARGS && entry->numargs != GASNETC_ANY_NUMBER)
        return gasneti_error(GASNET_ERR_BAD_ARG, call,
                             "entry %zu of the handler table has %d arguments: 0..16 are possible",
                             i, entry->numargs);
    if (!(entry->kinds & GASNETC_FOR_CATEGORIES) || !(entry->kinds & GASNETC_FOR_BOTH) ||
        entry->kinds > GASNETC_FOR_ALL)
        return gasneti_error(GASNET_ERR_BAD_ARG, call,
                             "entry %zu of the handler table is for no message: it needs Short, "
                             "Medium or Long, and Request or Reply",
                             i);
    if (entry->index && entry->index < FIRST_CLIENT)
        return gasneti_error(GASNET_ERR_BAD_ARG, call,
                             "handler index %d is not one of a client's, 128..255", entry->index);
    if (entry->index && gasnetc_handler_entry(entry->index))
        return gasneti_error(GASNET_ERR_BAD_ARG, call, "handler index %d is registered already",
                             entry->index);
    if (entry->index && taken[entry->index])
        return gasneti_error(GASNET_ERR_BAD_ARG, call,
                             "handler index %d is given twice in the table", entry->index);
    return GASNET_OK;
}

static void publish(const gasnetc_handler_t *entry)
{
    registered[entry->index] = *entry;
    atomic_store_explicit(function_at(entry->index), entry->function, memory_order_release);
}

/* Registers all entries or none.  `step` 1: those with index 0 get the lowest free indices; -1: the
 * highest.  The lock is held. */
static int register_all(const char *call, gasnetc_handler_t *entries, size_t n, int step)
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
        if (!entries[i].index) continue;
        taken[entries[i].index] = true;
        left--;
    }
    for (size_t i = 0; i < n; i++)
        if (!entries[i].index && left-- == 0)
            return gasneti_error(GASNET_ERR_RESOURCE, call,
                                 "more than 128 handlers: no index is left for entry %zu", i);
    int next = step > 0 ? FIRST_CLIENT : 255;
    for (size_t i = 0; i < n; i++) {
        if (!entries[i].index) {
            while (taken[next]) next += step;
            entries[i].index = (gasnet_handler_t)next;
            next += step;
        }
        publish(&entries[i]);
    }
    return GASNET_OK;
}

int gasnetc_am_register(const char *call, gasnetc_handler_t *entries, size_t n)
{
    if (gasnetc_phase == GASNETC_BEFORE_INIT)
        return gasneti_error(GASNET_ERR_NOT_INIT, call, "called before gasnet_init");
    gasneti_lock(&registering);
    const int result = register_all(call, entries, n, -1);
    gasneti_unlock(&registering);
    return result;
}

int gasnetc_register_client(gasnet_handlerentry_t *table, int numentries)
{
    /* More entries than there are indices are refused for the first ones. */
    gasnetc_handler_t entries[256 - FIRST_CLIENT + 1];
    const int most = (int)(sizeof entries / sizeof *entries);
    const int n = numentries < most ? numentries : most;
    for (int i = 0; i < n; i++)
        entries[i] = (gasnetc_handler_t){.function = (handler_fn)table[i].fnptr,
                                         .index = table[i].index,
                                         .kinds = GASNETC_FOR_ALL,
                                         .numargs = GASNETC_ANY_NUMBER};
    gasneti_lock(&registering);
    const int result = register_all("gasnet_attach", entries, (size_t)n, 1);
    gasneti_unlock(&registering);
    for (int i = 0; result == GASNET_OK && i < n; i++) table[i].index = entries[i].index;
    return result;
}

void gasnetc_forget_client(const gasnet_handlerentry_t *table, int numentries)
{
    for (int i = 0; i < numentries; i++) atomic_store(function_at(table[i].index), NULL);
}

/* --- checks of debug builds --- */

/* The messages that a handler is for, in words. */
static const char *promised(const gasnetc_handler_t *handler, char text[96])
{
    static const char *const categories[] = {
        [GASNETC_FOR_SHORT] = "Short",
        [GASNETC_FOR_MEDIUM] = "Medium",
        [GASNETC_FOR_SHORT | GASNETC_FOR_MEDIUM] = "Short and Medium",
        [GASNETC_FOR_LONG] = "Long",
        [GASNETC_FOR_SHORT | GASNETC_FOR_LONG] = "Short and Long",
        [GASNETC_FOR_MEDIUM | GASNETC_FOR_LONG] = "Medium and Long",
        [GASNETC_FOR_CATEGORIES] = "all",
    };
    static const char *const directions[] = {
        [GASNETC_FOR_REQUESTS] = "Requests",
        [GASNETC_FOR_REPLIES] = "Replies",
        [GASNETC_FOR_BOTH] = "Requests and Replies",
    };
    char numargs[16] = "any number of";
    if (handler->numargs != GASNETC_ANY_NUMBER)
        snprintf(numargs, sizeof numargs, "%d", handler->numargs);
    snprintf(text, 96, "%s %s with %s arguments",
             categories[handler->kinds & GASNETC_FOR_CATEGORIES],
             directions[handler->kinds & GASNETC_FOR_BOTH], numargs);
    return text;
}

void gasnetc_check_promise(unsigned index, uint8_t head, const gasnetc_peer_t *peer)
{
    const gasnetc_handler_t *handler = gasnetc_handler_entry(index);
    char sent[48], expected[96];
    if (!handler || (handler->kinds & 1 << (head & 3) &&
                     handler->kinds & (head & 4 ? GASNETC_FOR_REQUESTS : GASNETC_FOR_REPLIES) &&
                     (handler->numargs == GASNETC_ANY_NUMBER || handler->numargs == head >> 3)))
        return;
    gasneti_fatal("an Active Message from %s for handler %u%s%s%s: it is %s, and the handler is "
                  "registered for %s",
                  gasneti_rank_name(peer->net.rank), index, handler->name ? " (" : "",
                  handler->name ? handler->name : "", handler->name ? ")" : "", form_of(head, sent),
                  promised(handler, expected));
}
