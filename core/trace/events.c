/* events.c - see events.h. */
#include "core/trace/events.h"

#include <stdio.h>
#include <string.h>

static const struct {
    char letter;
    const char *name;
} kinds[GASNETI_TRACE_KINDS] = {
#define EVENT(kind, letter, name) {letter, name},
#include "core/trace/events.def"
#undef EVENT
};
_Static_assert(GASNETI_TRACE_KINDS <= 32, "a mask has a bit for each kind");

static const char *const reasons[GASNETI_TRACE_FORS] = {
    [GASNETI_TRACE_FOR_TRANSFERS] = "puts and gets",
    [GASNETI_TRACE_FOR_CONDITION] = "a condition of the program",
    [GASNETI_TRACE_FOR_CREDIT] = "a credit",
    [GASNETI_TRACE_FOR_SLOT] = "a send slot",
    [GASNETI_TRACE_FOR_REPLY_BUFFER] = "a receive buffer for a Reply",
    [GASNETI_TRACE_FOR_BOUNCE_BUFFER] = "a bounce buffer",
    [GASNETI_TRACE_FOR_CONNECTION] = "a connection",
};

uint32_t gasneti_trace_mask(const char *letters)
{
    if (!letters) return UINT32_MAX;
    uint32_t mask = 1u << GASNETI_TRACE_forced_line;
    for (int i = 0; i < GASNETI_TRACE_KINDS; i++)
        if (strchr(letters, kinds[i].letter)) mask |= 1u << i;
    return mask;
}

void gasneti_trace_letters(uint32_t mask, char text[GASNETI_TRACE_KINDS + 1])
{
    size_t n = 0;
    for (int i = 0; i < GASNETI_TRACE_KINDS; i++)
        if (mask & 1u << i && !memchr(text, kinds[i].letter, n)) text[n++] = kinds[i].letter;
    text[n] = '\0';
}

/* The number of bytes of the UTF-8 character at `text`; 0: it is none. */
static size_t character(const unsigned char *text)
{
    const size_t n = *text < 0x80   ? 1
                     : *text < 0xc2 ? 0
                     : *text < 0xe0 ? 2
                     : *text < 0xf0 ? 3
                     : *text < 0xf5 ? 4
                                    : 0;
    for (size_t i = 1; i < n; i++)
        if ((text[i] & 0xc0) != 0x80) return 0;
    /* Longer than need be, a surrogate, or beyond the last one. */
    if ((*text == 0xe0 && text[1] < 0xa0) || (*text == 0xed && text[1] >= 0xa0) ||
        (*text == 0xf0 && text[1] < 0x90) || (*text == 0xf4 && text[1] >= 0x90))
        return 0;
    return n;
}

size_t gasneti_trace_string(char *to, size_t room, const char *text)
{
    enum { LONGEST = 6 }; /* \u0000 */
    const unsigned char *from = (const unsigned char *)text;
    size_t n = 0;
    to[n++] = '"';
    while (*from && n + LONGEST < room) {
        const size_t bytes = character(from);
        if (bytes == 0 || *from < ' ' || *from == 0x7f) {
            n += (size_t)snprintf(to + n, LONGEST + 1, "\\u%04x", *from++);
            continue;
        }
        if (*from == '"' || *from == '\\') to[n++] = '\\';
        memcpy(to + n, from, bytes);
        n += bytes;
        from += bytes;
    }
    to[n++] = '"';
    return n;
}

/* --- a line, written piece by piece --- */

typedef struct out {
    char *at;
    size_t room; /* what is kept for the end of the line not counted */
} out_t;

static void put(out_t *out, const char *text, size_t n)
{
    if (n > out->room) n = out->room;
    memcpy(out->at, text, n);
    out->at += n;
    out->room -= n;
}

static void put_text(out_t *out, const char *text)
{
    put(out, text, strlen(text));
}

static void put_number(out_t *out, uint64_t number)
{
    char digits[20];
    size_t n = 0;
    do digits[sizeof digits - ++n] = (char)('0' + number % 10);
    while (number /= 10);
    put(out, digits + sizeof digits - n, n);
}

/* Nanoseconds as microseconds with three decimals. */
static void put_us(out_t *out, int64_t ns)
{
    if (ns < 0) put(out, "-", 1);
    const uint64_t all = ns < 0 ? -(uint64_t)ns : (uint64_t)ns;
    const unsigned rest = (unsigned)(all % 1000);
    const char decimals[4] = {'.', (char)('0' + rest / 100), (char)('0' + rest / 10 % 10),
                              (char)('0' + rest % 10)};
    put_number(out, all / 1000);
    put(out, decimals, sizeof decimals);
}

/* A text of at most a third of a line. */
static void put_string(out_t *out, const char *text)
{
    char string[GASNETI_TRACE_LINE / 3];
    put(out, string, gasneti_trace_string(string, sizeof string, text));
}

/* "name": in front of an argument of an event; `first`: no argument precedes it. */
static void put_key(out_t *out, bool *first, const char *name)
{
    put_text(out, *first ? ",\"args\":{\"" : ",\"");
    put_text(out, name);
    put_text(out, "\":");
    *first = false;
}

static void put_args(out_t *out, const gasneti_trace_event_t *event, const char *site)
{
    bool first = true;
    if (event->peer != GASNETI_TRACE_NO_PEER) {
        put_key(out, &first, "peer");
        put_number(out, event->peer);
    }
    if (event->bytes) {
        put_key(out, &first, "bytes");
        put_number(out, event->bytes);
    }
    if (event->handler != GASNETI_TRACE_NO_HANDLER) {
        put_key(out, &first, "handler");
        put_number(out, event->handler);
    }
    if (event->reason != GASNETI_TRACE_FOR_NOTHING) {
        put_key(out, &first, "for");
        put_string(out, reasons[event->reason]);
    }
    if (site) {
        put_key(out, &first, "site");
        put_string(out, site);
    }
    if (!first) put_text(out, "}");
}

size_t gasneti_trace_line(char line[GASNETI_TRACE_LINE], const gasneti_trace_event_t *event,
                          const gasneti_trace_frame_t *frame, const char *site)
{
    const bool moment =
        event->kind == GASNETI_TRACE_client_line || event->kind == GASNETI_TRACE_forced_line;
    const char *name = kinds[event->kind].name;
    const char letter[1] = {kinds[event->kind].letter};
    out_t out = {line, GASNETI_TRACE_LINE - 2};
    put_text(&out, moment ? "{\"ph\":\"i\",\"s\":\"t\",\"name\":" : "{\"ph\":\"X\",\"name\":");
    put_string(&out, name ? name : event->text);
    put_text(&out, ",\"cat\":\"");
    put(&out, letter, 1);
    put_text(&out, "\",\"ts\":");
    put_us(&out, (int64_t)event->began - frame->zero);
    if (!moment) {
        put_text(&out, ",\"dur\":");
        put_us(&out, (int64_t)(event->ended - event->began));
    }
    put_text(&out, ",\"pid\":");
    put_number(&out, frame->rank);
    put_text(&out, ",\"tid\":");
    put_number(&out, frame->thread);
    put_args(&out, event, site);
    put_text(&out, "}");
    return (size_t)(out.at - line);
}
