/* trace.c - the rings of all threads, and the thread that writes them to the file. */
#define _GNU_SOURCE /* dladdr, vasprintf */
#include "core/trace/trace.h"

#include <dlfcn.h>
#include <errno.h>
#include <execinfo.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "core/job/rank.h"
#include "core/job/rank_file.h"
#include "core/job/thread.h"
#include "core/log.h"
#include "core/params/params.h"
#include "core/report.h"
#include "core/trace/ring.h"
#include "gasnet.h"
#include "other/base/quiet_thread.h"
#include "other/base/tools.h"

/* Steps of one wait follow each other more closely; a wait that lasts longer tells who waits. */
enum { STEP_GAP_NS = 5000, LONG_WAIT_NS = 20000 };

/* What a thread traces.  Made at its first event; a thread that ends leaves it to the next one with
 * its record. */
typedef struct gasneti_trace_thread {
    gasneti_trace_ring_t ring;
    struct gasneti_trace_thread *next; /* all */
    uint32_t number;
    pthread_t owner;
    bool named;                 /* the file has its name */
    unsigned depth;             /* spans that the thread is inside */
    unsigned stepping;          /* steps of `wait` that go on: a handler in one may wait too */
    gasneti_trace_event_t wait; /* the wait whose steps may go on; `reason` 0: none */
    gasneti_trace_source_t source;
} thread_t;

bool gasneti_trace_on;
static _Atomic uint32_t mask; /* the program may change it at any time */
static _Atomic(thread_t *) threads;

/* --- the events of a thread --- */

static thread_t *make_thread(gasneti_thread_t *self)
{
    thread_t *me = aligned_alloc(64, (sizeof *me + 63) & ~(size_t)63);
    if (!me) gasneti_fatal("out of memory for the trace of a thread (GASNET_TRACEFILE)");
    memset(me, 0, sizeof *me);
    me->number = self->index;
    me->owner = pthread_self();
    me->next = atomic_load(&threads);
    while (!atomic_compare_exchange_weak(&threads, &me->next, me)) continue;
    self->trace = me;
    return me;
}

/* Where the event is copied to, for gasneti_trace_ring_add; NULL: it is not wanted, or lost. */
static gasneti_trace_event_t *place_of(thread_t *me, const gasneti_trace_event_t *event)
{
    if (!(atomic_load_explicit(&mask, memory_order_relaxed) & 1u << event->kind)) return NULL;
    gasneti_trace_event_t *place = gasneti_trace_ring_next(&me->ring);
    if (place) *place = *event;
    return place;
}

/* The wait whose steps came before is over, unless this is a part of a step. */
static void end_wait(thread_t *me)
{
    if (me->stepping || me->wait.reason == GASNETI_TRACE_FOR_NOTHING) return;
    if (place_of(me, &me->wait)) gasneti_trace_ring_add(&me->ring);
    me->wait.reason = GASNETI_TRACE_FOR_NOTHING;
}

/* A thread begins to use what the one before with its record has left. */
static void renew(gasneti_thread_t *self)
{
    thread_t *me = self->trace;
    me->depth = me->stepping = 0;
    end_wait(me);
    me->source = (gasneti_trace_source_t){.file = NULL};
    me->owner = pthread_self();
    self->trace_is_left = false;
}

static thread_t *mine(void)
{
    gasneti_thread_t *self = gasneti_self();
    if (!self->trace) return make_thread(self);
    if (self->trace_is_left) renew(self);
    return self->trace;
}

uint64_t gasneti_trace_enter(void)
{
    mine()->depth++;
    return gasneti_clock_ns();
}

void gasneti_trace_forget(void)
{
    mine()->depth--;
}

bool gasneti_trace_within(void)
{
    return mine()->depth > 0;
}

static void set_site(gasneti_trace_event_t *event, const thread_t *me)
{
    if (!me->source.file) return;
    event->site = me->source.file;
    event->line = me->source.line ? me->source.line : 1;
}

void gasneti_trace_note(uint64_t began, const gasneti_trace_event_t *event)
{
    thread_t *me = mine();
    end_wait(me);
    gasneti_trace_event_t *place = place_of(me, event);
    if (!place) return;
    place->began = began;
    place->ended = gasneti_clock_ns();
    set_site(place, me);
    gasneti_trace_ring_add(&me->ring);
}

void gasneti_trace_leave(uint64_t began, const gasneti_trace_event_t *event)
{
    mine()->depth--;
    gasneti_trace_note(began, event);
}

/* --- waits --- */

static uint8_t kind_of(enum gasneti_trace_for reason)
{
    return reason <= GASNETI_TRACE_FOR_CONDITION    ? GASNETI_TRACE_wait
           : reason == GASNETI_TRACE_FOR_CONNECTION ? GASNETI_TRACE_connection
                                                    : GASNETI_TRACE_stall;
}

void gasneti_trace_step(enum gasneti_trace_for reason, uint32_t peer)
{
    thread_t *me = mine();
    const uint64_t now = gasneti_clock_ns();
    if (me->stepping++) return;
    if (me->wait.reason != reason || me->wait.peer != peer || now - me->wait.ended > STEP_GAP_NS) {
        end_wait(me);
        me->wait = (gasneti_trace_event_t){
            .kind = kind_of(reason), .began = now, .peer = peer, .reason = (uint8_t)reason};
    }
}

/* The caller of the function in which `within` lies, which is running; NULL: not known. */
static const void *caller_of(const void *within)
{
    enum { MOST = 8 };
    void *frames[MOST];
    const int count = within ? backtrace(frames, MOST) : 0;
    for (int i = 0; i + 1 < count; i++)
        if (frames[i] == within) return frames[i + 1];
    return NULL;
}

void gasneti_trace_stepped(const void *site, const void *within)
{
    thread_t *me = mine();
    if (--me->stepping) return;
    me->wait.ended = gasneti_clock_ns();
    if (me->wait.site || me->wait.ended - me->wait.began < LONG_WAIT_NS) return;
    me->wait.site = site ? site : caller_of(within);
    set_site(&me->wait, me);
}

/* --- the client's own lines, masks and source lines --- */

static void client_line(bool forced, const char *format, va_list list)
{
    char *text = NULL;
    thread_t *me = mine();
    const int kind = forced ? GASNETI_TRACE_forced_line : GASNETI_TRACE_client_line;
    if (vasprintf(&text, format, list) < 0) return;
    end_wait(me);
    const uint64_t now = gasneti_clock_ns();
    gasneti_trace_event_t event = {.began = now,
                                   .ended = now,
                                   .text = text,
                                   .peer = GASNETI_TRACE_NO_PEER,
                                   .kind = (uint8_t)kind};
    set_site(&event, me);
    if (place_of(me, &event))
        gasneti_trace_ring_add(&me->ring);
    else
        free(text);
}

static gasneti_trace_source_t *client_source(void)
{
    return &mine()->source;
}

static void client_mask(const char *letters);
static gasneti_trace_hooks_t hooks = {client_line, client_source, client_mask, ""};

static void client_mask(const char *letters)
{
    mask = gasneti_trace_mask(letters);
    gasneti_trace_letters(mask, hooks.letters);
}

/* --- the file --- */

static struct {
    int fd; /* -1: nothing is written any more */
    char *path;
    bool own;     /* no other rank writes to the file */
    int64_t zero; /* of the times in the file, ns of this rank's clock */
    bool aligned;
    uint64_t events, dropped;
    char text[1 << 16];
    size_t length, most; /* bytes of one write */
} file = {.fd = -1};

static struct {
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t wake;
    bool ready, ends; /* the times are known; the process ends */
    bool running;
} writer = {.lock = PTHREAD_MUTEX_INITIALIZER, .wake = PTHREAD_COND_INITIALIZER};

static void flush(void)
{
    if (file.fd >= 0 && file.length && !gasneti_write_all(file.fd, file.text, file.length)) {
        gasneti_warn("GASNET_TRACEFILE=%s: cannot write %s: %s; the rest of the trace of this rank "
                     "is lost",
                     gasnetc_params.tracefile, file.path ? file.path : "it", strerror(errno));
        if (file.path) close(file.fd);
        file.fd = -1;
    }
    file.length = 0;
}

static void write_text(const char *text, size_t n)
{
    if (file.most - file.length < n) flush();
    memcpy(file.text + file.length, text, n);
    file.length += n;
}

/* A line of metadata. */
static void __attribute__((format(printf, 1, 2))) write_meta(const char *format, ...)
{
    char line[GASNETI_TRACE_LINE];
    va_list list;
    va_start(list, format);
    const int n = vsnprintf(line, sizeof line, format, list);
    va_end(list);
    if (n > 0 && n < (int)sizeof line) write_text(line, (size_t)n);
}

static void write_head(void)
{
    char host[64] = "", name[200], began[32];
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    const time_t then =
        now.tv_sec - (time_t)(((int64_t)gasneti_clock_ns() - file.zero) / 1000000000);
    struct tm utc;
    strftime(began, sizeof began, "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&then, &utc));
    gethostname(host, sizeof host - 1);
    name[gasneti_trace_string(name, sizeof name - 1, host)] = '\0';
    write_meta(
        "{\"ph\":\"M\",\"name\":\"gasnet\",\"pid\":%u,\"args\":{\"rank\":%u,\"ranks\":%u,"
        "\"host\":%s,\"conduit\":\"%s\",\"mode\":\"%s\",\"aligned\":%s,\"began\":\"%s\"}},\n",
        gasnetc_job.rank, gasnetc_job.rank, gasnetc_job.size, name, GASNET_CORE_NAME_STR,
        GASNETI_THREAD_TEXT, file.aligned ? "true" : "false", began);
    write_meta("{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":%u,\"args\":{\"name\":\"rank %u on "
               "%.*s\"}},\n",
               gasnetc_job.rank, gasnetc_job.rank, (int)strlen(name) - 2, name + 1);
    write_meta("{\"ph\":\"M\",\"name\":\"process_sort_index\",\"pid\":%u,\"args\":{\"sort_index\":"
               "%u}},\n",
               gasnetc_job.rank, gasnetc_job.rank);
}

/* Where an event happened, as text. */
static const char *site_of(const gasneti_trace_event_t *event, char *text, size_t size)
{
    Dl_info found;
    if (!event->site) return NULL;
    if (event->line)
        snprintf(text, size, "%s:%u", (const char *)event->site, event->line);
    else if (!dladdr(event->site, &found) || !found.dli_fname)
        snprintf(text, size, "%p", event->site);
    else if (found.dli_sname)
        snprintf(text, size, "%s+%#zx", found.dli_sname,
                 (size_t)((const char *)event->site - (const char *)found.dli_saddr));
    else
        snprintf(text, size, "%s+%#zx", found.dli_fname,
                 (size_t)((const char *)event->site - (const char *)found.dli_fbase));
    return text;
}

static bool has_text(const gasneti_trace_event_t *event)
{
    return event->kind == GASNETI_TRACE_client_line || event->kind == GASNETI_TRACE_forced_line;
}

static void write_event(const gasneti_trace_event_t *event, uint32_t thread)
{
    char line[GASNETI_TRACE_LINE], site[300];
    const gasneti_trace_frame_t frame = {gasnetc_job.rank, thread, file.zero};
    size_t n = gasneti_trace_line(line, event, &frame, site_of(event, site, sizeof site));
    line[n++] = ',';
    line[n++] = '\n';
    write_text(line, n);
    if (has_text(event)) free((char *)(uintptr_t)event->text);
    file.events++;
}

static void write_thread(thread_t *thread)
{
    const gasneti_trace_event_t *event;
    if (!thread->named)
        write_meta(
            "{\"ph\":\"M\",\"name\":\"thread_name\",\"pid\":%u,\"tid\":%u,\"args\":{\"name\":"
            "\"thread %u\"}},\n",
            gasnetc_job.rank, thread->number, thread->number);
    thread->named = true;
    /* No more than there are now: the thread may add them faster than they are written. */
    for (uint32_t n = gasneti_trace_ring_count(&thread->ring); n; n--) {
        event = gasneti_trace_ring_first(&thread->ring);
        write_event(event, thread->number);
        gasneti_trace_ring_take(&thread->ring);
    }
}

static void write_all_threads(void)
{
    for (thread_t *thread = atomic_load(&threads); thread; thread = thread->next)
        write_thread(thread);
    flush();
}

static void write_foot(void)
{
    for (thread_t *thread = atomic_load(&threads); thread; thread = thread->next)
        file.dropped += atomic_load(&thread->ring.dropped);
    write_meta("{\"ph\":\"M\",\"name\":\"gasnet_end\",\"pid\":%u,\"args\":{\"events\":%llu,"
               "\"dropped\":%llu}}%s",
               gasnetc_job.rank, (unsigned long long)file.events, (unsigned long long)file.dropped,
               file.own ? "\n]\n" : ",\n");
    flush();
    if (file.dropped)
        gasneti_warn("GASNET_TRACEFILE: %llu of %llu events of this rank are lost, since the file "
                     "is written more slowly; GASNET_TRACEMASK selects fewer",
                     (unsigned long long)file.dropped,
                     (unsigned long long)(file.events + file.dropped));
}

/* Waits, at most so long, until writer.ends, or until *condition; the lock is held. */
static void wait_for(const bool *condition, long ms)
{
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += ms / 1000;
    until.tv_nsec += ms % 1000 * 1000000;
    if (until.tv_nsec >= 1000000000) {
        until.tv_sec++;
        until.tv_nsec -= 1000000000;
    }
    while (!writer.ends && !*condition &&
           pthread_cond_timedwait(&writer.wake, &writer.lock, &until) == 0)
        continue;
}

static bool half_full(void)
{
    for (thread_t *thread = atomic_load(&threads); thread; thread = thread->next)
        if (gasneti_trace_ring_count(&thread->ring) > GASNETI_TRACE_RING / 2) return true;
    return false;
}

/* The thread that writes: whatever happens to the file, the program's own threads do not wait. */
static void *write_on(void *unused)
{
    static const bool never = false;
    enum { PERIOD_MS = 5 };
    (void)unused;
    pthread_mutex_lock(&writer.lock);
    while (!writer.ends && !writer.ready && !half_full()) wait_for(&writer.ready, PERIOD_MS);
    writer.ready = true; /* from now on the times do not change */
    pthread_mutex_unlock(&writer.lock);
    write_head();
    for (bool ends = false; !ends;) {
        write_all_threads();
        pthread_mutex_lock(&writer.lock);
        wait_for(&never, PERIOD_MS);
        ends = writer.ends;
        pthread_mutex_unlock(&writer.lock);
    }
    write_all_threads();
    write_foot();
    return NULL;
}

/* Begins an array in a file of several ranks, unless another rank has. */
static void begin_array(void)
{
    struct stat found;
    if (file.own) {
        write_text("[\n", 2);
        return;
    }
    flock(file.fd, LOCK_EX);
    if (fstat(file.fd, &found) == 0 && (found.st_size == 0 || !S_ISREG(found.st_mode)))
        (void)gasneti_write_all(file.fd, "[\n", 2);
    flock(file.fd, LOCK_UN);
}

static bool open_file(const char *pattern)
{
    file.fd = gasneti_standard_stream(pattern);
    if (file.fd < 0 && (file.path = gasneti_rank_file_name(pattern))) {
        file.own = strchr(pattern, '%') != NULL;
        const int truncate = file.own ? O_TRUNC : 0;
        file.fd = open(file.path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | truncate, 0666);
    }
    if (file.fd < 0) {
        gasneti_warn("GASNET_TRACEFILE=%s: cannot open %s: %s; this rank writes no trace", pattern,
                     file.path ? file.path : pattern, strerror(errno));
        return false;
    }
    /* A pipe that ranks share keeps no more than PIPE_BUF bytes together. */
    struct stat found;
    file.most = fstat(file.fd, &found) == 0 && S_ISREG(found.st_mode) ? sizeof file.text : PIPE_BUF;
    begin_array();
    return true;
}

/* --- begin and end --- */

int64_t gasneti_trace_zero(void)
{
    return file.zero;
}

void gasneti_trace_init(void)
{
    const char *pattern = gasnetc_params.tracefile, *ranks = gasnetc_params.tracenodes;
    const char *letters = gasnetc_params.tracemask;
    file.zero = (int64_t)gasneti_clock_ns();
    if (!pattern || (ranks && !gasneti_list_names_rank(ranks, (int)gasnetc_job.rank))) return;
    if (!open_file(pattern)) return;
    (void)backtrace((void *[1]){NULL}, 1); /* loads what it needs now */
    gasneti_trace_on = true;
    const int error = gasneti_quiet_thread(&writer.thread, 0, write_on, NULL);
    if (error) {
        gasneti_warn("GASNET_TRACEFILE=%s: cannot start the thread that writes it: %s", pattern,
                     strerror(error));
        gasneti_trace_on = false;
        return;
    }
    writer.running = true;
    gasneti_trace_hooks = &hooks;
    gasneti_trace_set_mask(letters && *letters ? letters : NULL);
    gasneti_trace_local = gasnetc_params.tracelocal;
}

void gasneti_trace_align(int64_t zero)
{
    if (!writer.running) return;
    pthread_mutex_lock(&writer.lock);
    if (!writer.ready) {
        file.zero = zero;
        file.aligned = true;
    }
    writer.ready = true;
    pthread_cond_signal(&writer.wake);
    pthread_mutex_unlock(&writer.lock);
}

void gasneti_trace_close(void)
{
    if (!writer.running) return;
    writer.running = false;
    for (thread_t *thread = atomic_load(&threads); thread; thread = thread->next) {
        if (!pthread_equal(thread->owner, pthread_self())) continue;
        if (thread->stepping) thread->wait.ended = gasneti_clock_ns(); /* an exit inside a poll */
        thread->stepping = 0;
        end_wait(thread);
    }
    pthread_mutex_lock(&writer.lock);
    writer.ends = true;
    pthread_cond_signal(&writer.wake);
    pthread_mutex_unlock(&writer.lock);
    pthread_join(writer.thread, NULL);
    if (file.path && file.fd >= 0 && close(file.fd))
        gasneti_warn("GASNET_TRACEFILE=%s: cannot write %s: %s", gasnetc_params.tracefile,
                     file.path, strerror(errno));
}
