/* trace_events.c - the pure part of core/trace: lines of events, masks, and the ring of a thread.
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "core/trace/events.h"
#include "core/trace/ring.h"
#include "tests/unit/check.h"

static const gasneti_trace_frame_t frame = {.rank = 3, .thread = 2, .zero = 1000000};

static void is_line(gasneti_trace_event_t event, const char *site, const char *expected)
{
    char line[GASNETI_TRACE_LINE];
    const size_t n = gasneti_trace_line(line, &event, &frame, site);
    if (!check(n == strlen(expected) && memcmp(line, expected, n) == 0, "%s", expected))
        check_note("%.*s", (int)n, line);
}

static void lines(void)
{
    is_line(
        (gasneti_trace_event_t){
            .kind = GASNETI_TRACE_put, .began = 2234567, .ended = 2234687, .peer = 0, .bytes = 8},
        NULL,
        "{\"ph\":\"X\",\"name\":\"put\",\"cat\":\"P\",\"ts\":1234.567,\"dur\":0.120,\"pid\":3,"
        "\"tid\":2,\"args\":{\"peer\":0,\"bytes\":8}}");
    is_line((gasneti_trace_event_t){.kind = GASNETI_TRACE_barrier_wait,
                                    .began = 999999,
                                    .ended = 1000999,
                                    .peer = GASNETI_TRACE_NO_PEER},
            NULL,
            "{\"ph\":\"X\",\"name\":\"barrier_wait\",\"cat\":\"B\",\"ts\":-0.001,\"dur\":1.000,"
            "\"pid\":3,\"tid\":2}");
    is_line((gasneti_trace_event_t){.kind = GASNETI_TRACE_stall,
                                    .began = 1000000,
                                    .ended = 1000000,
                                    .peer = 7,
                                    .reason = GASNETI_TRACE_FOR_CREDIT},
            "main+0x1f",
            "{\"ph\":\"X\",\"name\":\"stall\",\"cat\":\"C\",\"ts\":0.000,\"dur\":0.000,\"pid\":3,"
            "\"tid\":2,\"args\":{\"peer\":7,\"for\":\"a credit\",\"site\":\"main+0x1f\"}}");
    is_line((gasneti_trace_event_t){.kind = GASNETI_TRACE_client_line,
                                    .began = 1000000,
                                    .ended = 1000000,
                                    .peer = GASNETI_TRACE_NO_PEER,
                                    .text = "a \"b\" \\ \n\x01 \xc3\xa9 \xff.\xed\xa0\x80"},
            NULL,
            "{\"ph\":\"i\",\"s\":\"t\",\"name\":\"a \\\"b\\\" \\\\ \\u000a\\u0001 \xc3\xa9 "
            "\\u00ff.\\u00ed\\u00a0\\u0080"
            "\",\"cat\":\"H\",\"ts\":0.000,\"pid\":3,\"tid\":2}");
}

/* The longest of everything stays within a line, and every text is a whole JSON string. */
static void limits(void)
{
    char text[3000], line[GASNETI_TRACE_LINE], string[GASNETI_TRACE_LINE];
    const gasneti_trace_event_t event = {.kind = GASNETI_TRACE_collective,
                                         .began = 0,
                                         .ended = UINT64_MAX,
                                         .peer = UINT32_MAX - 1,
                                         .bytes = UINT64_MAX,
                                         .handler = 255,
                                         .reason = GASNETI_TRACE_FOR_REPLY_BUFFER,
                                         .text = text};
    for (size_t length = 0; length < sizeof text; length += 1 + length / 7) {
        memset(text, length % 2 ? '\n' : '"', sizeof text);
        text[length] = '\0';
        const size_t n = gasneti_trace_line(line, &event, &frame, text);
        check_each(n <= GASNETI_TRACE_LINE - 2 && line[n - 1] == '}', "%zu bytes of text: %zu",
                   length, n);
        for (size_t room = 2; room < 40; room++) {
            const size_t m = gasneti_trace_string(string, room, text);
            check_each(m <= room && m >= 2 && string[0] == '"' && string[m - 1] == '"' &&
                           (m < 3 || string[m - 2] != '\\' || string[m - 3] == '\\'),
                       "%zu bytes of text in %zu: %zu", length, room, m);
        }
    }
    check_all("texts of any length are cut to whole strings");
}

static void masks(void)
{
    char letters[GASNETI_TRACE_KINDS + 1];
    gasneti_trace_letters(gasneti_trace_mask(""), letters);
    check(!strcmp(letters, "U"), "an empty mask is nothing but what is forced: %s", letters);
    gasneti_trace_letters(gasneti_trace_mask(NULL), letters);
    check(!strcmp(letters, "PGSWXBAICHU"), "all letters: %s", letters);
    gasneti_trace_letters(gasneti_trace_mask("GPz"), letters);
    check(!strcmp(letters, "PGU"), "puts, gets and what is forced: %s", letters);
    const uint32_t mask = gasneti_trace_mask("G");
    check(mask & 1u << GASNETI_TRACE_get_nb && !(mask & 1u << GASNETI_TRACE_put),
          "G selects gets and no puts");
}

static gasneti_trace_ring_t ring;
static uint32_t count;

static void *add_all(void *unused)
{
    (void)unused;
    for (uint32_t i = 0; i < count; i++) {
        gasneti_trace_event_t *event = gasneti_trace_ring_next(&ring);
        if (!event) continue;
        *event = (gasneti_trace_event_t){.began = i, .ended = 7 * (uint64_t)i};
        gasneti_trace_ring_add(&ring);
    }
    return NULL;
}

/* `start`: how many events the ring has had before, near the wrap of its counts. */
static void full(uint32_t start)
{
    const gasneti_trace_event_t *event;
    ring = (gasneti_trace_ring_t){.added = start, .taken_seen = start, .taken = start};
    count = GASNETI_TRACE_RING + 5;
    add_all(NULL);
    uint32_t taken = 0;
    while ((event = gasneti_trace_ring_first(&ring))) {
        check_each(event->began == taken, "event %u", taken);
        taken++;
        gasneti_trace_ring_take(&ring);
    }
    check_each(taken == GASNETI_TRACE_RING && atomic_load(&ring.dropped) == 5, "%u taken, %u lost",
               taken, (unsigned)atomic_load(&ring.dropped));
}

static void concurrent(void)
{
    pthread_t thread;
    const gasneti_trace_event_t *event;
    uint64_t taken = 0, next = 0;
    ring = (gasneti_trace_ring_t){.added = 0};
    count = 1000000;
    pthread_create(&thread, NULL, add_all, NULL);
    while (taken + atomic_load(&ring.dropped) < count) {
        if (!(event = gasneti_trace_ring_first(&ring))) continue;
        check_each(event->began >= next && event->ended == 7 * event->began, "event %llu",
                   (unsigned long long)event->began);
        next = event->began + 1;
        taken++;
        gasneti_trace_ring_take(&ring);
    }
    pthread_join(thread, NULL);
    check_all("of a million events each is taken once, whole and in order, or counted as lost");
}

int main(int argc, char **argv)
{
    check_begin(argc, argv);
    lines();
    limits();
    masks();
    full(0);
    full(UINT32_MAX - 100);
    check_all("a full ring loses and counts what comes then");
    concurrent();
    return check_end();
}
