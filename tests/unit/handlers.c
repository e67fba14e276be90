/* handlers.c - the handler table that gasnet_attach takes (the rules of section 2.3 of the client
 * interface), and handlers that are registered at any time.
 */
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "core/am/am.h"
#include "core/am/am_wire.h"
#include "core/job/job.h"
#include "core/params/params.h"
#include "tests/unit/check.h"

typedef void (*function)(void);

static void f0(void) {}
static void f1(void) {}
static void f2(void) {}
static void internal0(void) {}

static gasnet_handlerentry_t table[200];

/* Index 0 asks for a free one. */
static void entries(int n, const gasnet_handler_t *indices)
{
    static const function functions[] = {f0, f1, f2};
    for (int i = 0; i < n; i++) table[i] = (gasnet_handlerentry_t){indices[i], functions[i % 3]};
}

static int attach(int n, const gasnet_handler_t *indices)
{
    memset(gasnetc_handlers, 0, sizeof gasnetc_handlers);
    entries(n, indices);
    return gasnetc_register_client(table, n);
}

static bool in_place(int n)
{
    for (int i = 0; i < n; i++)
        if (gasnetc_handlers[table[i].index] != (function)table[i].fnptr) return false;
    return true;
}

static void indices(void)
{
    gasnet_handler_t fixed[] = {128, 255, 200}, mixed[] = {0, 129, 0, 128, 0, 131},
                     free_ones[128] = {0}, same[] = {0, 0};
    check(gasnetc_register_client(NULL, 0) == GASNET_OK, "2.3 an empty table is legal");
    check(attach(3, fixed) == GASNET_OK && in_place(3) && table[0].index == 128 &&
              table[1].index == 255,
          "2.3 fixed indices 128..255 are taken as they are");
    check(attach(6, mixed) == GASNET_OK && in_place(6) && table[0].index == 130 &&
              table[2].index == 132 && table[4].index == 133,
          "2.3 zeros get the lowest free indices in order, after all fixed ones, written back");
    check(attach(128, free_ones) == GASNET_OK && in_place(128) && table[0].index == 128 &&
              table[127].index == 255,
          "2.3 a full table of 128 works");
    entries(2, same);
    memset(gasnetc_handlers, 0, sizeof gasnetc_handlers);
    table[1].fnptr = table[0].fnptr;
    check(gasnetc_register_client(table, 2) == GASNET_OK && table[0].index != table[1].index,
          "2.3 one function may have several indices");
}

static void refusals(void)
{
    gasnet_handler_t low[] = {200, 127}, one[] = {1}, twice[] = {200, 201, 200}, many[129] = {0};
    gasnet_handler_t full[130];
    for (int i = 0; i < 128; i++) full[i] = (gasnet_handler_t)(128 + i);
    full[128] = 0;
    gasnetc_params.quiet = true;
    check(attach(2, low) == GASNET_ERR_BAD_ARG, "2.3 index 127 is not a client's");
    check(attach(1, one) == GASNET_ERR_BAD_ARG, "2.3 nor is index 1");
    check(attach(3, twice) == GASNET_ERR_BAD_ARG, "2.3 an index given twice is refused");
    check(attach(129, many) == GASNET_ERR_RESOURCE, "2.3 129 entries are refused");
    check(attach(129, full) == GASNET_ERR_RESOURCE, "2.3 no index is left for a zero entry");
    memset(gasnetc_handlers, 0, sizeof gasnetc_handlers);
    table[0] = (gasnet_handlerentry_t){200, NULL};
    check(gasnetc_register_client(table, 1) == GASNET_ERR_BAD_ARG,
          "2.3 an entry without a function is refused");
    gasnetc_params.quiet = false;
}

static void announce(const void *indices_given)
{
    attach(2, indices_given);
}

static void messages(void)
{
    static const gasnet_handler_t low[] = {0, 127}, twice[] = {210, 210};
    int status;
    const char *text = check_stderr(announce, low, &status);
    check(strstr(text, "gasnet_attach returns GASNET_ERR_BAD_ARG") && strstr(text, "127") &&
              strstr(text, "128..255"),
          "2.3 the message names the index and the range");
    text = check_stderr(announce, twice, &status);
    check(strstr(text, "210") && strstr(text, "twice"), "2.3 the message names the doubled index");
}

static void internal_twice(const void *unused)
{
    static const gasnetc_internal_t list[] = {GASNETC_INTERNAL_REQUEST(64, SHORT, 0, internal0),
                                              GASNETC_INTERNAL_REPLY(64, SHORT, 0, internal0),
                                              {0}};
    (void)unused;
    gasnetc_register_internal(list);
}

static void internal_high(const void *unused)
{
    static const gasnetc_internal_t list[] = {GASNETC_INTERNAL_REQUEST(128, SHORT, 0, internal0),
                                              {0}};
    (void)unused;
    gasnetc_register_internal(list);
}

static gasnetc_peer_t sender;

/* A message of a form that its handler is not for. */
static void wrong_form(const void *head)
{
    (void)gasnetc_handler_of(64, *(const uint8_t *)head, &sender);
}

static void unknown(const void *index)
{
    (void)gasnetc_handler_of(*(const unsigned *)index, GASNETC_AM_HEAD(0, 1, 0), &sender);
}

static void forms(void)
{
    const uint8_t right = GASNETC_AM_HEAD(GASNETC_AM_MEDIUM, 1, 3);
    static const unsigned others[] = {0, 65, 126, 128, 255};
    bool only = true;
    for (int head = 0; head < 256; head++) {
        int status;
        const uint8_t byte = (uint8_t)head;
        if (head == right) continue;
        const char *said = check_stderr(wrong_form, &byte, &status);
        only = only && status && strstr(said, "should be a Medium Request with 3 arguments");
    }
    check(only && gasnetc_internal_handler(64, right, &sender)->function == internal0,
          "system_am.h: a handler of the library's own gets messages of its form alone");
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        check_fatal("an index without a handler is fatal", unknown, &others[i],
                    "which is not registered here");
}

static void internal(void)
{
    static const gasnetc_internal_t list[] = {GASNETC_INTERNAL_REQUEST(64, MEDIUM, 3, internal0),
                                              GASNETC_INTERNAL_REQUEST(127, SHORT, 0, internal0),
                                              {0}};
    gasnet_handler_t zero[] = {0};
    gasnetc_register_internal(list);
    check(!gasnetc_handlers[64] && !gasnetc_handlers[127] &&
              gasnetc_internal_handler(127, GASNETC_AM_HEAD(GASNETC_AM_SHORT, 1, 0), &sender)
                      ->function == internal0,
          "system_am.h: internal handlers get their indices");
    forms();
    entries(1, zero);
    check(gasnetc_register_client(table, 1) == GASNET_OK && table[0].index == 128 &&
              !gasnetc_handlers[127],
          "2.3 and a client's come beside them");
    memset(gasnetc_handlers, 0, sizeof gasnetc_handlers);
    check_fatal("system_am.h: an internal index given twice is fatal", internal_twice, NULL,
                "index 64");
    check_fatal("system_am.h: an internal index of a client's is fatal", internal_high, NULL,
                "index 128");
}

/* --- handlers that are registered at any time --- */

enum {
    KINDS = GEX_FLAG_AM_SHORT | GEX_FLAG_AM_REQUEST,
    ALL_MESSAGES = GEX_FLAG_AM_SHORT | GEX_FLAG_AM_MEDLONG | GEX_FLAG_AM_REQREP,
    MANY = 129
};

static gex_AM_Entry_t list[MANY];

static int add(int n, const gasnet_handler_t *indices)
{
    for (int i = 0; i < n; i++)
        list[i] = (gex_AM_Entry_t){indices[i], (gex_AM_Fn_t)f0, KINDS, 3, &list[i], "name"};
    return gex_EP_RegisterHandlers(NULL, list, (size_t)n);
}

static bool added(int i, unsigned index)
{
    const gex_AM_Entry_t *entry = gasnetc_handler_entry(index);
    return list[i].gex_index == index && gasnetc_handlers[index] == f0 && entry != &list[i] &&
           entry->gex_fnptr == (gex_AM_Fn_t)f0 && entry->gex_index == index &&
           entry->gex_flags == KINDS && entry->gex_nargs == 3 && entry->gex_cdata == &list[i] &&
           !strcmp(entry->gex_name, "name");
}

static void later(void)
{
    gasnet_handler_t zero[MANY] = {0}, mixed[] = {0, 254, 0, 252, 0}, one[] = {0, 130, 0};
    memset(gasnetc_handlers, 0, sizeof gasnetc_handlers);
    check(add(0, zero) == GASNET_OK && !gasnetc_handler_entry(255), "an empty table is legal");
    check(add(5, mixed) == GASNET_OK && added(0, 255) && added(1, 254) && added(2, 253) &&
              added(3, 252) && added(4, 251),
          "zeros get the highest free indices in order, after all fixed ones, written back");
    check(add(2, zero) == GASNET_OK && added(0, 250) && added(1, 249),
          "a later table adds to the earlier ones");
    entries(3, one);
    check(gasnetc_register_client(table, 3) == GASNET_OK && table[0].index == 128 &&
              table[2].index == 129,
          "gasnet_attach adds to them");
    const gex_AM_Entry_t *classic = gasnetc_handler_entry(128);
    check(classic && classic->gex_flags == ALL_MESSAGES &&
              classic->gex_nargs == GASNETC_ANY_NUMBER && !classic->gex_name,
          "and promises nothing");
    gasnetc_forget_client(table, 3);
    check(!gasnetc_handler_entry(128) && !gasnetc_handler_entry(130) && gasnetc_handler_entry(249),
          "its handlers alone are forgotten if it fails then");
    check(add(121, zero) == GASNET_OK && added(0, 248) && added(120, 128),
          "128 handlers can be registered");
}

/* Refused with this code, and nothing of the table is registered or written. */
static bool refused(int code, int n)
{
    static gex_AM_Entry_t before[MANY];
    unsigned handlers = 0;
    memcpy(before, list, sizeof list);
    const int result = gex_EP_RegisterHandlers(NULL, list, (size_t)n);
    for (unsigned i = 0; i < 256; i++) handlers += gasnetc_handler_entry(i) != NULL;
    return result == code && !memcmp(before, list, sizeof list) && handlers == 1;
}

static void later_refusals(void)
{
    gasnet_handler_t zero[MANY] = {0}, fixed[] = {200};
    memset(gasnetc_handlers, 0, sizeof gasnetc_handlers);
    add(1, fixed);
    gasnetc_params.quiet = true;
#define REFUSED(code, n, text, ...)                                                                \
    for (int i = 0; i < MANY; i++)                                                                 \
        list[i] = (gex_AM_Entry_t){0, (gex_AM_Fn_t)f0, KINDS, 3, NULL, NULL};                      \
    __VA_ARGS__;                                                                                   \
    check(refused(code, n), "registered at any time: " text)
    REFUSED(GASNET_ERR_BAD_ARG, 2, "no function", list[1].gex_fnptr = NULL);
    REFUSED(GASNET_ERR_BAD_ARG, 2, "the index 127", list[1].gex_index = 127);
    REFUSED(GASNET_ERR_BAD_ARG, 2, "an index that is registered", list[1].gex_index = 200);
    REFUSED(GASNET_ERR_BAD_ARG, 3, "an index twice", list[1].gex_index = list[2].gex_index = 201);
    REFUSED(GASNET_ERR_BAD_ARG, 2, "17 arguments", list[1].gex_nargs = 17);
    REFUSED(GASNET_ERR_BAD_ARG, 2, "254 arguments", list[1].gex_nargs = 254);
    REFUSED(GASNET_ERR_BAD_ARG, 2, "no category", list[1].gex_flags = GEX_FLAG_AM_REQREP);
    REFUSED(GASNET_ERR_BAD_ARG, 2, "no direction",
            list[1].gex_flags = (GEX_FLAG_AM_SHORT | GEX_FLAG_AM_MEDLONG));
    REFUSED(GASNET_ERR_BAD_ARG, 2, "an unknown kind", list[1].gex_flags = 32 | KINDS);
    REFUSED(GASNET_ERR_RESOURCE, 128, "one handler more than indices are free", (void)0);
    REFUSED(GASNET_ERR_RESOURCE, 129, "more handlers than there are indices", (void)0);
    gasnetc_phase = GASNETC_BEFORE_INIT;
    REFUSED(GASNET_ERR_NOT_INIT, 1, "before gasnet_init", (void)0);
    gasnetc_phase = GASNETC_BEFORE_ATTACH;
    gasnetc_params.quiet = false;
    check(add(127, zero) == GASNET_OK && added(0, 255) && added(126, 128),
          "and all others can still be registered");
}

static void announce_later(const void *indices_given)
{
    (void)add(2, indices_given);
}

static void later_messages(void)
{
    static const gasnet_handler_t twice[] = {210, 210}, registered[] = {0, 211};
    int status;
    memset(gasnetc_handlers, 0, sizeof gasnetc_handlers);
    const char *text = check_stderr(announce_later, twice, &status);
    check(strstr(text, "gex_EP_RegisterHandlers returns GASNET_ERR_BAD_ARG") &&
              strstr(text, "210 is given twice"),
          "the message names the call and the doubled index");
    (void)add(1, registered + 1);
    text = check_stderr(announce_later, registered, &status);
    check(strstr(text, "211 is registered already"), "the message names the index that is taken");
}

enum { THREADS = 4, EACH = 32 };

static void *add_in_turn(void *argument)
{
    gasnet_handler_t *indices_got = argument;
    for (int i = 0; i < EACH; i++) {
        gex_AM_Entry_t entry = {0, (gex_AM_Fn_t)f1, KINDS, 0, argument, NULL};
        if (gex_EP_RegisterHandlers(NULL, &entry, 1) == GASNET_OK) indices_got[i] = entry.gex_index;
    }
    return NULL;
}

/* Looks, as a delivery does, until a handler has the lowest index. */
static void *look(void *argument)
{
    bool *whole = argument;
    for (*whole = true; !gasnetc_handler_entry(128);)
        for (unsigned i = 128; i < 256; i++) {
            const gex_AM_Entry_t *entry = gasnetc_handler_entry(i);
            *whole = *whole &&
                     (!entry || (entry->gex_fnptr == (gex_AM_Fn_t)f1 && entry->gex_index == i));
        }
    return NULL;
}

static void threads(void)
{
    pthread_t thread[THREADS], looking;
    static gasnet_handler_t got[THREADS][EACH];
    bool seen[256] = {false}, whole = false, all = true;
    memset(gasnetc_handlers, 0, sizeof gasnetc_handlers);
    pthread_create(&looking, NULL, look, &whole);
    for (int t = 0; t < THREADS; t++) pthread_create(&thread[t], NULL, add_in_turn, got[t]);
    for (int t = 0; t < THREADS; t++) pthread_join(thread[t], NULL);
    pthread_join(looking, NULL);
    for (int t = 0; t < THREADS; t++)
        for (int i = 0; i < EACH; i++) {
            all = all && got[t][i] >= 128 && !seen[got[t][i]] &&
                  gasnetc_handler_entry(got[t][i])->gex_cdata == got[t];
            seen[got[t][i]] = true;
        }
    check(all, "threads that register at once get different indices");
    check(whole, "and another sees no handler without its entry");
}

/* --- what was promised of the messages --- */

static void deliver(const void *head)
{
    gasnetc_check_promise(255, *(const uint8_t *)head, &sender);
}

static void promise(gex_AM_Entry_t entry)
{
    memset(gasnetc_handlers, 0, sizeof gasnetc_handlers);
    (void)gex_EP_RegisterHandlers(NULL, &entry, 1);
}

static void promises(void)
{
    const unsigned kinds = GEX_FLAG_AM_MEDIUM | GEX_FLAG_AM_LONG | GEX_FLAG_AM_REPLY;
    bool right = true;
    int status;
    promise((gex_AM_Entry_t){0, (gex_AM_Fn_t)f0, kinds, 2, NULL, "mine"});
    for (uint8_t head = 0; head < GASNETC_AM_HEAD(0, 0, 17); head++) {
        if ((head & 3) == 3) continue;
        const bool fits = head == GASNETC_AM_HEAD(GASNETC_AM_MEDIUM, 0, 2) ||
                          head == GASNETC_AM_HEAD(GASNETC_AM_LONG, 0, 2);
        const char *said = check_stderr(deliver, &head, &status);
        right = right && (fits ? !status && !*said : status && strstr(said, "handler 255 (mine)"));
    }
    check(right, "a message that a handler is not registered for is fatal, and no other");
    const uint8_t head = GASNETC_AM_HEAD(GASNETC_AM_SHORT, 1, 16);
    check_fatal("the message names sender, handler, and what was sent and expected", deliver, &head,
                "from rank 0", "handler 255 (mine)", "it is a Short Request with 16 arguments",
                "registered for Medium and Long Replies with 2 arguments");
    promise((gex_AM_Entry_t){0, (gex_AM_Fn_t)f0, GEX_FLAG_AM_SHORT | GEX_FLAG_AM_REQREP, 0, NULL,
                             NULL});
    check_fatal("a handler without a name", deliver, &head, "for handler 255: it is",
                "registered for Short Requests and Replies with 0 arguments");
    promise((gex_AM_Entry_t){0, (gex_AM_Fn_t)f0, ALL_MESSAGES, GASNETC_ANY_NUMBER, NULL, NULL});
    for (unsigned any = 0; any < GASNETC_AM_HEAD(0, 0, 17); any++)
        if ((any & 3) != 3) deliver(&(uint8_t){(uint8_t)any});
    memset(gasnetc_handlers, 0, sizeof gasnetc_handlers);
    deliver(&head);
    check(true, "a handler without promises gets all messages");
}

int main(int argc, char **argv)
{
    check_begin(argc, argv);
    gasnetc_phase = GASNETC_BEFORE_ATTACH;
    indices();
    refusals();
    messages();
    internal();
    later();
    later_refusals();
    later_messages();
    threads();
    promises();
    return check_end();
}
