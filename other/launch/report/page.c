/* page.c - writes the page: its fixed parts, and between them the data.
 *
 * The data are two elements: `trace`, in JSON, and `events`: for each event, by thread and time,
 * ten numbers of variable length (seven bits a byte, the last byte below 128), all in base64.
 * model.js reads both.
 */
#include <inttypes.h>
#include <string.h>

#include "other/launch/report/report.h"

/* A string of JSON within an element of HTML: nothing in it can end the element. */
static void put_string(FILE *to, const char *text)
{
    putc('"', to);
    for (; *text; text++) {
        unsigned char c = (unsigned char)*text;
        if (c < 0x20 || c == 0x7f || strchr("\"\\<>&'", c))
            fprintf(to, "\\u%04x", c);
        else
            putc(c, to);
    }
    putc('"', to);
}

/* --- events --- */

struct base64 {
    FILE *to;
    uint32_t bits, count; /* bytes that wait: 0 to 2 */
};

static void put_sextets(struct base64 *out, unsigned count)
{
    static const char letters[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    for (unsigned i = 0; i < 4; i++)
        putc(i < count ? letters[out->bits >> (18 - 6 * i) & 63] : '=', out->to);
    out->bits = out->count = 0;
}

static void put_byte(struct base64 *out, unsigned byte)
{
    out->bits |= (uint32_t)(byte & 255) << (16 - 8 * out->count);
    if (++out->count == 3) put_sextets(out, 4);
}

static void put_number(struct base64 *out, uint64_t number)
{
    for (; number > 127; number >>= 7) put_byte(out, (unsigned)(number & 127) | 128);
    put_byte(out, (unsigned)number);
}

static void put_event(struct base64 *out, const struct trace_event *event, int64_t after,
                      uint32_t moment)
{
    int64_t step = event->begin - after; /* negative for the first one of a thread at most */
    put_number(out, step < 0 ? (uint64_t)-step * 2 - 1 : (uint64_t)step * 2);
    put_number(out, (uint64_t)event->length);
    put_number(out, event->kind);
    put_number(out, (uint64_t)(event->peer + 1));
    put_number(out, (uint64_t)(event->bytes + 1));
    put_number(out, (uint64_t)(event->handler + 1));
    put_number(out, event->cause);
    put_number(out, event->site);
    put_number(out, event->team);
    put_number(out, moment);
}

static void put_events(const struct trace *trace, FILE *to)
{
    struct base64 out = {.to = to};
    uint32_t moments = 0;
    for (size_t i = 0; i < trace->count; i++) {
        const struct trace_event *event = &trace->events[i];
        bool first = i == 0 || event->thread != event[-1].thread;
        put_event(&out, event, first ? 0 : event[-1].begin, event->moment ? ++moments : 0);
    }
    if (out.count) put_sextets(&out, out.count + 1);
}

/* --- the rest --- */

static void put_texts(const struct trace *trace, FILE *to)
{
    fputs(",\n\"texts\":[", to);
    for (uint32_t i = 0; i < trace->texts.count; i++) {
        if (i) putc(',', to);
        put_string(to, trace->texts.text[i]);
    }
    fputs("],\n\"moments\":[\"\"", to);
    for (size_t i = 0; i < trace->count; i++) {
        if (!trace->events[i].moment) continue;
        putc(',', to);
        put_string(to, trace->events[i].moment);
    }
    fputs("],\n\"notes\":[", to);
    for (uint32_t i = 0; i < trace->note_count; i++) {
        if (i) putc(',', to);
        put_string(to, trace->notes[i]);
    }
    putc(']', to);
}

static void put_ranks(const struct trace *trace, FILE *to)
{
    const char *comma = "";
    fputs(",\n\"kinds\":[", to);
    for (uint32_t i = 0; i < trace->kind_count; i++) {
        const struct trace_kind *kind = &trace->kinds[i];
        fprintf(to, "%s[\"%c\",%u,%d]", i ? "," : "", kind->category, kind->name, kind->moment);
    }
    fputs("],\n\"rank\":[", to);
    for (uint32_t i = 0; i < trace->ranks; i++) {
        const struct trace_rank *rank = &trace->rank[i];
        if (!rank->begun) continue;
        fprintf(to, "%s[%u,%u,%d,%d,%" PRIu64 ",%" PRId64 "]", comma, i, rank->host, rank->aligned,
                rank->ended, rank->read, rank->dropped);
        comma = ",";
    }
    fputs("],\n\"threads\":[", to);
    comma = "";
    for (uint32_t order = 0; order < trace->thread_count; order++) {
        const struct trace_thread *thread = &trace->threads[trace->by_order[order]];
        fprintf(to, "%s[%u,%u,%u,%u]", comma, thread->rank, thread->tid, thread->label,
                thread->events);
        comma = ",";
    }
    putc(']', to);
}

/* The events that are not kept: groups of equal rank, kind, peer, cause and site; and the numbers
 * in each bucket. */
static void put_left_out(const struct trace *trace, FILE *to)
{
    const char *comma = "";
    fprintf(to, ",\n\"read\":%" PRIu64 ",\"left\":%" PRIu64 ",\n\"groups\":[", trace->read,
            trace->left_out);
    for (uint32_t i = 0; i < trace->group_count; i++) {
        const struct trace_group *group = &trace->groups[i];
        fprintf(to, "%s%u,%u,%d,%u,%u,%" PRIu64 ",%" PRIu64 ",%" PRIu64, i ? "," : "", group->rank,
                group->kind, group->peer, group->cause, group->site, group->events, group->bytes,
                group->length);
    }
    fputs("],\n\"buckets\":[", to);
    for (uint32_t i = 0; i < trace->kind_count; i++)
        for (uint32_t k = 0; k < TRACE_BUCKETS; k++) {
            if (!trace->buckets[i][k]) continue;
            fprintf(to, "%s%u,%u,%" PRIu64, comma, i, k, trace->buckets[i][k]);
            comma = ",";
        }
    putc(']', to);
}

bool page_write(const struct trace *trace, FILE *to)
{
    fwrite(page_head, 1, page_head_size, to);
    fprintf(to, "<script type=\"application/json\" id=\"trace\">\n{\"ranks\":%u,\"conduit\":",
            trace->ranks);
    put_string(to, trace->conduit);
    fputs(",\"mode\":", to);
    put_string(to, trace->mode);
    fputs(",\"began\":", to);
    put_string(to, trace->began);
    put_texts(trace, to);
    put_ranks(trace, to);
    put_left_out(trace, to);
    fputs("}\n</script>\n<script type=\"text/plain\" id=\"events\">", to);
    put_events(trace, to);
    fputs("</script>\n", to);
    fwrite(page_tail, 1, page_tail_size, to);
    return fflush(to) == 0 && !ferror(to);
}
