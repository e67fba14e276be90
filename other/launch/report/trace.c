/* trace.c - the traces of a job's ranks, line by line; see trace.h. */
#include "other/launch/report/trace.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "other/launch/launcher_log.h"

enum {
    LINE_SIZE = 1 << 16,
    THREADS_MAX = 1 << 16,
    KINDS_MAX = 4096,
    NAMED_MAX = 5,  /* malformed lines that are named */
    APART_MAX = 60, /* seconds between the starts of ranks of one job */
};

void trace_note(struct trace *trace, const char *format, ...)
{
    char text[700];
    va_list args;
    va_start(args, format);
    int length = vsnprintf(text, sizeof text, format, args);
    va_end(args);
    if (length < 0 || trace->note_count == TRACE_NOTES_MAX) return;
    trace->notes[trace->note_count++] = trace_copy(text, strlen(text));
    launcher_log("%s", text);
}

static bool trace_refuse(struct trace *trace, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
static bool trace_refuse(struct trace *trace, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(trace->error, sizeof trace->error, format, args);
    va_end(args);
    return false;
}

void trace_begin(struct trace *trace, size_t most)
{
    *trace = (struct trace){.most = most};
    trace->events = trace_resize(NULL, 2 * most, sizeof *trace->events);
    texts_number(&trace->texts, (struct line_text){"(further texts)", 15});
}

void trace_free(struct trace *trace)
{
    for (size_t i = 0; i < trace->count; i++) free(trace->events[i].moment);
    for (uint32_t i = 0; i < trace->note_count; i++) free(trace->notes[i]);
    texts_free(&trace->texts);
    free(trace->conduit);
    free(trace->mode);
    free(trace->began);
    free(trace->rank);
    free(trace->threads);
    free(trace->by_order);
    free(trace->kinds);
    free(trace->buckets);
    free(trace->events);
    free(trace->groups);
    free(trace->group_slots);
}

/* --- ranks and threads --- */

static bool equal(struct line_text text, const char *word)
{
    return text.length == strlen(word) && memcmp(text.at, word, text.length) == 0;
}

static void first_rank(struct trace *trace, const struct line *line)
{
    trace->ranks = (uint32_t)line->ranks;
    trace->rank = trace_resize(NULL, trace->ranks, sizeof *trace->rank);
    memset(trace->rank, 0, trace->ranks * sizeof *trace->rank);
    trace->conduit = trace_copy(line->conduit.at, line->conduit.length);
    trace->mode = trace_copy(line->mode.at, line->mode.length);
    trace->began = trace_copy(line->began.at, line->began.length);
    trace->began_time = line->began_time;
}

static bool take_rank(struct trace *trace, const char *file, const struct line *line)
{
    if (!trace->ranks) first_rank(trace, line);
    if (line->ranks != trace->ranks || !equal(line->conduit, trace->conduit) ||
        !equal(line->mode, trace->mode))
        return trace_refuse(trace,
                            "%s is of a job of %" PRId64 " ranks (%.*s, %.*s), another file of one "
                            "of %u (%s, %s): give the files of one job",
                            file, line->ranks, (int)line->conduit.length, line->conduit.at,
                            (int)line->mode.length, line->mode.at, trace->ranks, trace->conduit,
                            trace->mode);
    struct trace_rank *rank = &trace->rank[line->rank];
    if (rank->begun)
        return trace_refuse(trace,
                            "rank %" PRId64 " begins in %s and again in %s: give the files of one "
                            "job, each once",
                            line->rank, rank->file, file);
    int64_t apart = line->began_time - trace->began_time;
    rank->apart = apart > APART_MAX || apart < -APART_MAX;
    rank->begun = true;
    rank->aligned = line->aligned;
    rank->host = texts_number(&trace->texts, line->host);
    rank->file = file;
    return true;
}

/* The number of a thread; -1: there are too many. */
static int64_t thread_number(struct trace *trace, uint32_t rank, uint32_t tid)
{
    if (trace->thread_last < trace->thread_count &&
        trace->threads[trace->thread_last].rank == rank &&
        trace->threads[trace->thread_last].tid == tid)
        return trace->thread_last;
    for (uint32_t next = trace->rank[rank].threads; next; next = trace->threads[next - 1].before)
        if (trace->threads[next - 1].tid == tid) return trace->thread_last = next - 1;
    if (trace->thread_count == THREADS_MAX) return -1;
    if ((trace->thread_count & (trace->thread_count - 1)) == 0)
        trace->threads =
            trace_resize(trace->threads, trace->thread_count ? trace->thread_count * 2 : 1,
                         sizeof *trace->threads);
    trace->threads[trace->thread_count] =
        (struct trace_thread){.rank = rank, .tid = tid, .before = trace->rank[rank].threads};
    trace->rank[rank].threads = trace->thread_count + 1;
    return trace->thread_last = trace->thread_count++;
}

/* --- events --- */

/* The number of what the line is one of; -1: there are too many. */
static int32_t kind_number(struct trace *trace, const struct line *line)
{
    bool moment = line->kind == LINE_MOMENT;
    char category = *line->category.at;
    uint32_t name = moment ? 0 : texts_number(&trace->texts, line->name);
    for (uint32_t i = 0; i < trace->kind_count; i++) {
        const struct trace_kind *kind = &trace->kinds[i];
        if (kind->category == category && kind->moment == moment && kind->name == name)
            return (int32_t)i;
    }
    if (trace->kind_count == KINDS_MAX) return -1;
    uint32_t n = trace->kind_count++;
    if ((n & (n - 1)) == 0) {
        size_t size = n ? 2 * (size_t)n : 1;
        trace->kinds = trace_resize(trace->kinds, size, sizeof *trace->kinds);
        trace->buckets = trace_resize(trace->buckets, size, sizeof *trace->buckets);
    }
    memset(trace->buckets[n], 0, sizeof trace->buckets[n]);
    trace->kinds[n] = (struct trace_kind){category, moment, name};
    return (int32_t)n;
}

/* Random numbers from the numbers of the events: the same files give the same page. */
static uint32_t draw_of(uint64_t number)
{
    number = (number + 1) * UINT64_C(0x9e3779b97f4a7c15);
    number = (number ^ number >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    number = (number ^ number >> 27) * UINT64_C(0x94d049bb133111eb);
    return (uint32_t)(number >> 32);
}

static bool take_event(struct trace *trace, const struct line *line, const char **why)
{
    enum { MOMENT_MAX = 1000 };
    int64_t thread = thread_number(trace, (uint32_t)line->pid, (uint32_t)line->tid);
    int32_t kind = kind_number(trace, line);
    if (thread < 0 || kind < 0) {
        *why = thread < 0 ? "one thread too many" : "one name too many";
        return false;
    }
    struct trace_event event = {.begin = line->begin,
                                .length = line->kind == LINE_SPAN ? line->length : 0,
                                .bytes = line->bytes,
                                .thread = (uint32_t)thread,
                                .kind = (uint32_t)kind,
                                .draw = draw_of(trace->read),
                                .peer = (int32_t)line->peer,
                                .handler = (int32_t)line->handler,
                                .cause = texts_number(&trace->texts, line->cause),
                                .site = texts_number(&trace->texts, line->site),
                                .team = texts_number(&trace->texts, line->team)};
    trace->read++;
    trace->rank[line->pid].read++;
    if (!trace_keeps(trace, &event)) return true;
    if (line->kind == LINE_MOMENT)
        event.moment = trace_copy(line->name.at,
                                  line->name.length < MOMENT_MAX ? line->name.length : MOMENT_MAX);
    trace->events[trace->count++] = event;
    if (trace->count == 2 * trace->most) trace_thin(trace);
    return true;
}

/* --- lines --- */

/* What a line of a rank says; false with the reason: it is malformed after all. */
static bool take_of_rank(struct trace *trace, const struct line *line, const char **why)
{
    if (line->pid >= trace->ranks || !trace->rank[line->pid].begun) {
        *why = "its rank has no first line before it";
        return false;
    }
    struct trace_rank *rank = &trace->rank[line->pid];
    if (line->kind == LINE_END) {
        rank->ended = true;
        rank->written = line->events;
        rank->dropped = line->dropped;
        return true;
    }
    if (line->kind != LINE_THREAD) {
        if (line->peer < (int64_t)trace->ranks) return take_event(trace, line, why);
        *why = "a peer out of range";
        return false;
    }
    int64_t thread =
        line->tid > INT32_MAX ? -1 : thread_number(trace, (uint32_t)line->pid, (uint32_t)line->tid);
    if (thread >= 0) trace->threads[thread].label = texts_number(&trace->texts, line->label);
    *why = "one thread too many";
    return thread >= 0;
}

static void malformed(struct trace *trace, const char *file, uint64_t number, const char *why)
{
    if (++trace->malformed <= NAMED_MAX)
        trace_note(trace, "%s:%" PRIu64 ": malformed: %s", file, number, why);
}

bool trace_take_line(struct trace *trace, const char *file, uint64_t number, char *text,
                     size_t length)
{
    struct line line;
    const char *why;
    bool good = line_read(&line, text, length, &why);
    if (good && line.kind == LINE_RANK) return take_rank(trace, file, &line);
    if (good && line.kind != LINE_PASSED) good = take_of_rank(trace, &line, &why);
    if (!good) malformed(trace, file, number, why);
    return true;
}

/* Reads a line of at most LINE_SIZE bytes; what is longer is passed over.  Returns its whole
 * length; -1: there is none. */
static int64_t read_line(FILE *from, char *line)
{
    int64_t length = 0;
    int c;
    while ((c = getc_unlocked(from)) != EOF && c != '\n') {
        if (length < LINE_SIZE) line[length] = (char)c;
        length++;
    }
    return c == EOF && !length ? -1 : length;
}

bool trace_take_file(struct trace *trace, const char *file, FILE *from)
{
    static char line[LINE_SIZE];
    uint32_t before = 0, after = 0;
    int64_t length;
    for (uint32_t i = 0; i < trace->ranks; i++) before += trace->rank[i].begun;
    for (uint64_t number = 1; (length = read_line(from, line)) >= 0; number++) {
        if (number == 1 && (length < 1 || *line != '['))
            return trace_refuse(trace, "%s is no trace: its first line is not [", file);
        if (length > LINE_SIZE)
            malformed(trace, file, number, "it is longer than 64 KiB");
        else if (!trace_take_line(trace, file, number, line, (size_t)length))
            return false;
    }
    if (ferror(from)) return trace_refuse(trace, "cannot read %s: %s", file, strerror(errno));
    for (uint32_t i = 0; i < trace->ranks; i++) after += trace->rank[i].begun;
    return after > before ||
           trace_refuse(trace, "%s is no trace: no line tells which rank wrote it", file);
}

/* --- the end --- */

static const struct trace_thread *threads_in_question; /* of the comparisons of qsort */

static int compare_threads(const void *a, const void *b)
{
    const struct trace_thread *x = &threads_in_question[*(const uint32_t *)a],
                              *y = &threads_in_question[*(const uint32_t *)b];
    if (x->rank != y->rank) return x->rank < y->rank ? -1 : 1;
    return (x->tid > y->tid) - (x->tid < y->tid);
}

static int compare_events(const void *a, const void *b)
{
    const struct trace_event *x = a, *y = b;
    uint32_t p = threads_in_question[x->thread].order, q = threads_in_question[y->thread].order;
    if (p != q) return p < q ? -1 : 1;
    if (x->begin != y->begin) return x->begin < y->begin ? -1 : 1;
    if (x->length != y->length) return x->length > y->length ? -1 : 1;
    return (x->draw > y->draw) - (x->draw < y->draw);
}

static void sort(struct trace *trace)
{
    uint32_t *at = trace->by_order = trace_resize(NULL, trace->thread_count + 1, sizeof *at);
    threads_in_question = trace->threads;
    for (uint32_t i = 0; i < trace->thread_count; i++) at[i] = i;
    qsort(at, trace->thread_count, sizeof *at, compare_threads);
    for (uint32_t i = 0; i < trace->thread_count; i++) trace->threads[at[i]].order = i;
    qsort(trace->events, trace->count, sizeof *trace->events, compare_events);
    for (size_t i = 0; i < trace->count; i++) trace->threads[trace->events[i].thread].events++;
}

/* The ranks of which `wrong` is true, as "ranks 1, 2, 5 and 30 more" with a verb for one and for
 * several; nothing if there are none. */
static void note_ranks(struct trace *trace, bool (*wrong)(const struct trace_rank *),
                       const char *what)
{
    enum { LISTED = 8 };
    char list[LISTED * 8] = "";
    uint32_t found = 0;
    for (uint32_t i = 0; i < trace->ranks; i++) {
        size_t used = strlen(list);
        if (!wrong(&trace->rank[i])) continue;
        if (found++ < LISTED)
            snprintf(list + used, sizeof list - used, "%s%u", used ? ", " : "", i);
    }
    if (found > LISTED)
        trace_note(trace, "ranks %s and %u more: %s", list, found - LISTED, what);
    else if (found)
        trace_note(trace, "%s %s: %s", found == 1 ? "rank" : "ranks", list, what);
}

static bool is_missing(const struct trace_rank *rank)
{
    return !rank->begun;
}

static bool was_stopped(const struct trace_rank *rank)
{
    return rank->begun && !rank->ended;
}

static bool is_unaligned(const struct trace_rank *rank)
{
    return rank->begun && !rank->aligned;
}

static bool is_apart(const struct trace_rank *rank)
{
    return rank->apart;
}

static bool has_dropped(const struct trace_rank *rank)
{
    return rank->ended && rank->dropped > 0;
}

static bool is_short(const struct trace_rank *rank)
{
    return rank->ended && rank->read != (uint64_t)rank->written;
}

void trace_end(struct trace *trace)
{
    if (trace->count > trace->most) trace_thin(trace);
    sort(trace);
    if (trace->malformed > NAMED_MAX)
        trace_note(trace, "%" PRIu64 " malformed lines in all; none of them is in this report",
                   trace->malformed);
    note_ranks(trace, is_missing, "no trace was given");
    note_ranks(trace, is_apart,
               "began more than a minute before or after the first: of the same job?");
    note_ranks(trace, was_stopped, "stopped before its end; the trace goes as far as it came");
    note_ranks(trace, is_unaligned,
               "times are not those of rank 0, and cannot be compared with others");
    note_ranks(trace, has_dropped, "some events could not be written, and are missing");
    note_ranks(trace, is_short, "the number of events is not the one that the last line tells");
    if (trace->left_out)
        trace_note(
            trace,
            "of %" PRIu64 " events the time line has %zu: all from %.3f us on, and one of %" PRIu64
            " of the shorter ones; the other views count all",
            trace->read, trace->count, (double)trace->cut / 1000, UINT64_C(1) << trace->sampled);
    if (trace->uncounted)
        trace_note(trace, "%" PRIu64 " events are in the histograms alone: they differ too much",
                   trace->uncounted);
}
