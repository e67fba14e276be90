/* top.c - the view of gasnetrun --top; see top.h. */
#include "other/launch/top.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- samples --- */

static void sample_free(top_sample_t *sample)
{
    why_free_answers(&sample->job);
    free(sample->text);
    *sample = (top_sample_t){.time = 0};
}

bool top_take(top_t *top, const char *answers, double time)
{
    top_sample_t sample = {.time = time, .text = strdup(answers)};
    if (!sample.text) return false;
    why_read_answers(&sample.job, sample.text);
    sample_free(&top->before);
    top->before = top->now;
    top->now = sample;
    return true;
}

void top_free(top_t *top)
{
    sample_free(&top->now);
    sample_free(&top->before);
}

/* --- one rank --- */

typedef struct row {
    const rank_t *rank;
    uint32_t number;
    bool known;          /* it has answered */
    bool rated;          /* twice, so that there are rates: */
    double out, in, ops; /* per second */
    double waits;        /* stalls per second */
    double share;        /* of a processor */
} row_t;

static double rate(uint64_t now, uint64_t before, double seconds)
{
    return now > before ? (double)(now - before) / seconds : 0;
}

static row_t row_of(const top_t *top, uint32_t number)
{
    const rank_t *rank = &top->now.job.rank[number];
    const double seconds = top->now.time - top->before.time;
    row_t row = {.rank = rank, .number = number, .known = rank->used.known};
    if (!row.known || number >= top->before.job.size || seconds <= 0) return row;
    const usage_t *now = &rank->used, *before = &top->before.job.rank[number].used;
    if (!before->known) return row;
    row.rated = true;
    row.out = rate(now->out, before->out, seconds);
    row.in = rate(now->in, before->in, seconds);
    row.ops = rate(now->operations, before->operations, seconds);
    row.waits = rate(now->stalls, before->stalls, seconds);
    row.share = rate(now->cpu_ms, before->cpu_ms, seconds) / 1000;
    return row;
}

static uint32_t idle_of(const row_t *row)
{
    return row->rank->stall[0]          ? row->rank->stall_ms
           : row->rank->idle_ms == NONE ? 0
                                        : row->rank->idle_ms;
}

static int descending(double a, double b)
{
    return (a < b) - (a > b);
}

static int by_rank(const void *left, const void *right)
{
    const row_t *a = left, *b = right;
    return (a->number > b->number) - (a->number < b->number);
}

static int by_traffic(const void *left, const void *right)
{
    const row_t *a = left, *b = right;
    const int bytes = descending(a->out + a->in, b->out + b->in);
    const int operations = descending(a->ops, b->ops);
    return bytes ? bytes : operations ? operations : by_rank(left, right);
}

/* Ranks that do not answer keep others waiting: first. */
static int by_waiting(const void *left, const void *right)
{
    const row_t *a = left, *b = right;
    const int silent = descending(a->rank->state == SILENT, b->rank->state == SILENT);
    const int idle = descending(idle_of(a), idle_of(b));
    const int waits = descending(a->waits, b->waits);
    return silent ? silent : idle ? idle : waits ? waits : by_rank(left, right);
}

static int by_memory(const void *left, const void *right)
{
    const row_t *a = left, *b = right;
    const int memory = descending((double)a->rank->used.memory, (double)b->rank->used.memory);
    return memory ? memory : by_rank(left, right);
}

static const struct {
    char key;
    const char *name;
    int (*compare)(const void *, const void *);
} orders[TOP_SORTS] = {
    [TOP_TRAFFIC] = {'t', "traffic", by_traffic},
    [TOP_WAITING] = {'w', "waiting", by_waiting},
    [TOP_MEMORY] = {'m', "memory", by_memory},
    [TOP_RANK] = {'r', "rank", by_rank},
};

enum top_sort top_key(char key)
{
    int sort = 0;
    while (sort < TOP_SORTS && orders[sort].key != key) sort++;
    return (enum top_sort)sort;
}

/* --- text --- */

typedef struct short_text {
    char text[16];
} short_text_t;

/* "999", "1.2K", "35M": five characters at most. */
static short_text_t amount(double value)
{
    static const char units[] = "KMGTPE";
    short_text_t short_text;
    int unit = -1;
    for (; value >= 999.5 && unit < (int)sizeof units - 2; unit++) value /= 1000;
    snprintf(short_text.text, sizeof short_text.text,
             unit < 0 || value >= 9.95 ? "%.0f%.1s" : "%.1f%.1s", value,
             unit < 0 ? "" : units + unit);
    return short_text;
}

/* "1.5s", "200s", "3m20", "2h05" */
static short_text_t duration(uint32_t ms)
{
    short_text_t short_text;
    const uint32_t s = ms / 1000;
    if (s < 100)
        snprintf(short_text.text, sizeof short_text.text, "%.1fs", ms / 1e3);
    else if (s < 6000)
        snprintf(short_text.text, sizeof short_text.text, "%" PRIu32 "m%02" PRIu32, s / 60, s % 60);
    else
        snprintf(short_text.text, sizeof short_text.text, "%" PRIu32 "h%02" PRIu32, s / 3600,
                 s / 60 % 60);
    return short_text;
}

static const char *state_word(const rank_t *rank)
{
    static const char *const words[STATES] = {
        [ABSENT] = "elsewhere", [ENDED] = "ended",          [NOT_JOINED] = "starts",
        [STARTING] = "starts",  [BEFORE_ATTACH] = "starts", [SILENT] = "silent",
        [QUIET] = "computes",   [POLLS] = "polls",          [ENDING] = "ends"};
    if (rank->state == POLLS && rank->stall[0]) return rank->stall;
    if (rank->state == QUIET && rank->handlers) return "handler";
    return words[rank->state];
}

typedef struct page {
    char *text;
    size_t length;
    FILE *out;
    unsigned columns;
} page_t;

/* Writes a line, cut at the width of the screen. */
static void line(page_t *page, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void line(page_t *page, const char *format, ...)
{
    char text[512];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    fprintf(page->out, "%.*s\n", (int)(page->columns < sizeof text ? page->columns : sizeof text),
            text);
}

static void print_head(page_t *page, const top_t *top, const row_t *rows,
                       const top_screen_t *screen)
{
    const why_ranks_t *job = &top->now.job;
    uint32_t polls = 0, quiet = 0, silent = 0;
    double out = 0, ops = 0;
    for (uint32_t r = 0; r < job->size; r++) {
        polls += job->rank[r].state == POLLS;
        quiet += job->rank[r].state == QUIET;
        silent += job->rank[r].state == SILENT;
        out += rows[r].out;
        ops += rows[r].ops;
    }
    line(page,
         "job %ld: %" PRIu32 " ranks, %" PRIu32 " poll, %" PRIu32 " compute, %" PRIu32
         " silent; %sB/s out, %s op/s",
         screen->job, job->size, polls, quiet, silent, amount(out).text, amount(ops).text);
    line(page, "%5s %-14s %-10s %6s %6s %6s %7s %6s %4s %6s", "RANK", "HOST", "STATE", "OUT/s",
         "IN/s", "OP/s", "STALL/s", "IDLE", "CPU", "MEM");
}

static void print_row(page_t *page, const row_t *row)
{
    const rank_t *rank = row->rank;
    const uint32_t idle = idle_of(row);
    char share[16];
    snprintf(share, sizeof share, "%.0f%%", row->share * 100);
    line(page, "%5" PRIu32 " %-14.14s %-10.10s %6s %6s %6s %7s %6s %4s %6s", row->number,
         rank->host[0] ? rank->host : "-", state_word(rank),
         row->rated ? amount(row->out).text : "-", row->rated ? amount(row->in).text : "-",
         row->rated ? amount(row->ops).text : "-", row->rated ? amount(row->waits).text : "-",
         row->known && idle ? duration(idle).text : "-", row->rated ? share : "-",
         row->known ? amount((double)rank->used.memory).text : "-");
}

static void print_page(page_t *page, const top_t *top, row_t *rows, const top_screen_t *screen)
{
    enum { OTHER_LINES = 3 };
    const uint32_t size = top->now.job.size;
    const uint32_t room = screen->rows > OTHER_LINES ? screen->rows - OTHER_LINES : 0;
    const uint32_t shown = screen->rows && room < size ? room : size;
    for (uint32_t r = 0; r < size; r++) rows[r] = row_of(top, r);
    print_head(page, top, rows, screen);
    qsort(rows, size, sizeof *rows, orders[screen->sort].compare);
    for (uint32_t i = 0; i < shown; i++) print_row(page, &rows[i]);
    if (!screen->rows) return;
    char left[64] = "";
    if (shown < size)
        snprintf(left, sizeof left, "%" PRIu32 " rank%s not shown; ", size - shown,
                 size - shown == 1 ? "" : "s");
    line(page, "%sby %s (t traffic, w waiting, m memory, r rank); q quits", left,
         orders[screen->sort].name);
}

char *top_text(const top_t *top, const top_screen_t *screen)
{
    page_t page = {.columns = screen->columns};
    row_t *rows = calloc((size_t)top->now.job.size + 1, sizeof *rows);
    const bool made = rows && (page.out = open_memstream(&page.text, &page.length));
    if (made) print_page(&page, top, rows, screen);
    free(rows);
    if (!made || fclose(page.out) == 0) return page.text;
    free(page.text);
    return NULL;
}
