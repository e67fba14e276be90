/* events.h - the events of a trace, the letters that select them, and their lines in the file
 * (pure).  README.md describes the file. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum gasneti_trace_kind {
#define EVENT(kind, letter, name) GASNETI_TRACE_##kind,
#include "core/trace/events.def"
#undef EVENT
    GASNETI_TRACE_KINDS
};

/* What a wait or a stall waits for. */
enum gasneti_trace_for {
    GASNETI_TRACE_FOR_NOTHING,
    GASNETI_TRACE_FOR_TRANSFERS,
    GASNETI_TRACE_FOR_CONDITION,
    GASNETI_TRACE_FOR_CREDIT,
    GASNETI_TRACE_FOR_SLOT,
    GASNETI_TRACE_FOR_REPLY_BUFFER,
    GASNETI_TRACE_FOR_BOUNCE_BUFFER,
    GASNETI_TRACE_FOR_CONNECTION,
    GASNETI_TRACE_FORS
};

enum { GASNETI_TRACE_NO_PEER = UINT32_MAX, GASNETI_TRACE_NO_HANDLER = 0 };

typedef struct gasneti_trace_event {
    uint64_t began, ended; /* ns of the monotonic clock */
    uint64_t bytes;        /* 0: the event has none */
    const char *text;      /* the name, if the kind has none.  A line of the client is malloc'ed */
    const void *site;      /* who waits: the name of a source file if `line`, else an address */
    uint32_t line;
    uint32_t peer;   /* or GASNETI_TRACE_NO_PEER */
    uint8_t kind;    /* enum gasneti_trace_kind */
    uint8_t reason;  /* enum gasneti_trace_for */
    uint8_t handler; /* or GASNETI_TRACE_NO_HANDLER */
} gasneti_trace_event_t;

/* Reads the letters of GASNET_TRACEMASK, a bit for each kind of event; NULL: all.  Lines that are
 * forced are always selected.  Unknown letters are ignored, as their meaning differs
 * between releases of GASNet. */
uint32_t gasneti_trace_mask(const char *letters);

/* Writes to `text` the letters of the mask; room for one of each kind and the end. */
void gasneti_trace_letters(uint32_t mask, char text[GASNETI_TRACE_KINDS + 1]);

/* Where and when a trace is written. */
typedef struct gasneti_trace_frame {
    uint32_t rank, thread;
    int64_t zero; /* ns of the monotonic clock that the file calls 0 */
} gasneti_trace_frame_t;

/* The longest line.  Names and texts are cut to fit. */
enum { GASNETI_TRACE_LINE = 1024 };

/* Writes an event as a line without its comma and its end; returns the length.  `site`: the
 * event's, as text, or NULL. */
size_t gasneti_trace_line(char line[GASNETI_TRACE_LINE], const gasneti_trace_event_t *event,
                          const gasneti_trace_frame_t *frame, const char *site);

/* Writes a text of any bytes as a JSON string with its quotes, at most `room` bytes, of which it
 * needs 2; returns the length. */
size_t gasneti_trace_string(char *to, size_t room, const char *text);
