/* handlers.c - the handler table that gasnet_attach takes: the rules of section 2.3 of the client
 * interface.
 */
#include <stdio.h>
#include <string.h>

#include "core/am/am.h"
#include "core/am/am_wire.h"
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
                                              {0, 0, NULL}};
    (void)unused;
    gasnetc_register_internal(list, true);
}

static void internal_high(const void *unused)
{
    static const gasnetc_internal_t list[] = {GASNETC_INTERNAL_REQUEST(128, SHORT, 0, internal0),
                                              {0, 0, NULL}};
    (void)unused;
    gasnetc_register_internal(list, true);
}

static gasnetc_peer_t sender;

/* A message of a form that its handler is not for. */
static void wrong_form(const void *head)
{
    (void)gasnetc_internal_handler(64, *(const uint8_t *)head, &sender);
}

static void unknown(const void *index)
{
    (void)gasnetc_internal_handler(*(const unsigned *)index, GASNETC_AM_HEAD(0, 1, 0), &sender);
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
    check(only && gasnetc_internal_handler(64, right, &sender) == internal0,
          "system_am.h: a handler of the library's own gets messages of its form alone");
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        check_fatal("an index without a handler is fatal", unknown, &others[i],
                    "which is not registered here");
}

static void internal(void)
{
    static const gasnetc_internal_t list[] = {GASNETC_INTERNAL_REQUEST(64, MEDIUM, 3, internal0),
                                              GASNETC_INTERNAL_REQUEST(127, SHORT, 0, internal0),
                                              {0, 0, NULL}};
    gasnet_handler_t zero[] = {0};
    gasnetc_register_internal(list, true);
    check(!gasnetc_handlers[64] && !gasnetc_handlers[127] &&
              gasnetc_internal_handler(127, GASNETC_AM_HEAD(GASNETC_AM_SHORT, 1, 0), &sender) ==
                  internal0,
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

int main(int argc, char **argv)
{
    check_begin(argc, argv);
    indices();
    refusals();
    messages();
    internal();
    return check_end();
}
