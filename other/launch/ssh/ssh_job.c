/* ssh_job.c - collective calls, and the rules by which a job ends; see ssh_job.h.
 *
 * Called by the launcher's event loop and by unit tests.  A wrong message of a rank may only end
 * the job, with a message that names the rank; it must never harm the launcher.
 */
#include "other/launch/ssh/ssh_job.h"

#include <inttypes.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "other/base/ranges.h"

bool ssh_job_open(struct ssh_job *job, uint32_t size, const char *const *hosts,
                  ssh_job_send_fn send, void *ctx)
{
    memset(job, 0, sizeof *job);
    job->size = size;
    job->send = send;
    job->ctx = ctx;
    job->ranks = calloc(size, sizeof *job->ranks);
    for (uint32_t r = 0; job->ranks && r < size; r++) job->ranks[r].host = hosts[r];
    return job->ranks != NULL;
}

void ssh_job_close(struct ssh_job *job)
{
    for (uint32_t r = 0; job->ranks && r < job->size; r++) {
        ssh_wire_free(&job->ranks[r].in.buf);
        ssh_wire_free(&job->ranks[r].part);
        free(job->ranks[r].complaint);
    }
    free(job->ranks);
    free(job->once);
    job->ranks = NULL;
    job->once = NULL;
}

void ssh_job_end(struct ssh_job *job, int code)
{
    if (job->ending) return;
    job->ending = true;
    job->code = code & 0xff;
}

void ssh_job_fail(struct ssh_job *job, int code, const char *format, ...)
{
    if (job->ending) return; /* later reasons are consequences of the first */
    va_list args;
    va_start(args, format);
    vsnprintf(job->reason, sizeof job->reason, format, args);
    va_end(args);
    ssh_job_end(job, code & 0xff ? code : 1);
}

/* --- collective calls --- */

static const char *job_call_name(const struct ssh_wire_message *call)
{
    static const char *const names[SSH_WIRE_COLLECTIVES] = {
        [SSH_WIRE_BARRIER] = "bootstrap_barrier",
        [SSH_WIRE_EXCHANGE] = "bootstrap_exchange",
        [SSH_WIRE_ALLTOALL] = "bootstrap_alltoall",
        [SSH_WIRE_BROADCAST] = "bootstrap_broadcast",
    };
    return names[call->collective.kind];
}

static uint64_t job_contribution_len(const struct ssh_job *job, uint32_t rank,
                                     const struct ssh_wire_message *call)
{
    uint64_t len = call->collective.len;
    switch (call->collective.kind) {
    case SSH_WIRE_EXCHANGE:
        return len;
    case SSH_WIRE_ALLTOALL:
        return len * job->size;
    case SSH_WIRE_BROADCAST:
        return rank == call->collective.root ? len : 0;
    default:
        return 0;
    }
}

static bool job_same_call(const struct ssh_wire_message *a, const struct ssh_wire_message *b)
{
    return a->collective.kind == b->collective.kind && a->collective.root == b->collective.root &&
           a->collective.seq == b->collective.seq && a->collective.len == b->collective.len;
}

/* Composes the result of the ranks' contributions and releases these. */
static void job_finish_collective(struct ssh_job *job)
{
    const struct ssh_wire_message call = job->ranks[0].call;
    struct ssh_wire_buf all = {0};
    ssh_wire_put_u32(&all, call.collective.seq);
    if (call.collective.kind == SSH_WIRE_ALLTOALL) {
        size_t len = (size_t)call.collective.len;
        for (uint32_t to = 0; to < job->size && !all.failed; to++) {
            all.len = 4;
            for (uint32_t from = 0; from < job->size && len; from++)
                ssh_wire_put(&all, job->ranks[from].part.data + to * len, len);
            if (!all.failed) job->send(job->ctx, to, SSH_WIRE_RESULT, all.data, all.len);
        }
    } else {
        for (uint32_t r = 0; r < job->size; r++)
            ssh_wire_put(&all, job->ranks[r].part.data, job->ranks[r].part.len);
        if (!all.failed) job->send(job->ctx, SSH_WIRE_ALL, SSH_WIRE_RESULT, all.data, all.len);
    }
    if (all.failed) ssh_job_fail(job, 1, "out of memory in %s", job_call_name(&call));
    ssh_wire_free(&all);
    for (uint32_t r = 0; r < job->size; r++) {
        ssh_wire_free(&job->ranks[r].part);
        job->ranks[r].contributed = false;
    }
    job->contributed = 0;
}

static void job_take_part(struct ssh_job *job, uint32_t rank, const struct ssh_wire_message *call)
{
    struct ssh_job_rank *from = &job->ranks[rank];
    const struct ssh_wire_message *first = &job->ranks[job->first_caller].call;
    if (from->phase != SSH_RANK_JOINED || from->contributed ||
        call->data_len != job_contribution_len(job, rank, call) ||
        call->collective.root >= job->size) {
        ssh_job_fail(job, 1,
                     "rank %" PRIu32 " on host %s called %s out of turn or with a wrong size", rank,
                     from->host, job_call_name(call));
        return;
    }
    if (job->contributed == 0) {
        job->first_caller = rank;
    } else if (!job_same_call(call, first)) {
        ssh_job_fail(job, 1,
                     "collective calls do not match: rank %" PRIu32 " on host %s made call %" PRIu32
                     " as %s(%" PRIu64 " bytes, root %" PRIu32 "), rank %" PRIu32
                     " made call %" PRIu32 " as %s(%" PRIu64 " bytes, root %" PRIu32 ")",
                     rank, from->host, call->collective.seq, job_call_name(call),
                     call->collective.len, call->collective.root, job->first_caller,
                     first->collective.seq, job_call_name(first), first->collective.len,
                     first->collective.root);
        return;
    }
    from->call = *call;
    from->call.data = NULL; /* the assembly owns the bytes; `part` has a copy */
    ssh_wire_put(&from->part, call->data, call->data_len);
    if (from->part.failed) {
        ssh_job_fail(job, 1, "out of memory in %s", job_call_name(call));
        return;
    }
    from->contributed = true;
    if (++job->contributed == job->size) job_finish_collective(job);
}

/* --- messages of ranks --- */

/* A process that exits with 0 without having joined is no member of a job; then no other process
 * may be. */
static void job_check_membership(struct ssh_job *job)
{
    if (!job->joined || !job->left_unjoined) return;
    uint32_t rank = job->left_unjoined - 1;
    ssh_job_fail(job, 1,
                 "rank %" PRIu32
                 " on host %s exited (status 0) before it joined the job, while others "
                 "joined; ending the job",
                 rank, job->ranks[rank].host);
}

static void job_take_hello(struct ssh_job *job, uint32_t rank)
{
    struct ssh_job_rank *from = &job->ranks[rank];
    if (from->phase != SSH_RANK_STARTED) {
        ssh_job_fail(job, 1,
                     "rank %" PRIu32
                     " on host %s joined twice: the words given to the launcher start more "
                     "than one program of the job; start each by a launcher of its own",
                     rank, from->host);
        return;
    }
    from->phase = SSH_RANK_JOINED;
    job->joined++;
    job_check_membership(job);
}

/* --- leaving: ranks that ask to end wait until all do --- */

static bool job_is_missing(const void *job, uint32_t rank)
{
    const struct ssh_job_rank *r = &((const struct ssh_job *)job)->ranks[rank];
    return r->phase < SSH_RANK_ANNOUNCED && !r->leaving && !r->aborted;
}

static bool job_any_missing(const struct ssh_job *job)
{
    for (uint32_t r = 0; r < job->size; r++)
        if (job_is_missing(job, r)) return true;
    return false;
}

static uint32_t job_largest_code(const struct ssh_job *job)
{
    uint32_t code = 0;
    for (uint32_t r = 0; r < job->size; r++)
        if (job->ranks[r].code > code) code = job->ranks[r].code;
    return code;
}

static void job_send_value(struct ssh_job *job, uint32_t rank, enum ssh_wire_type type,
                           uint32_t value)
{
    const uint8_t bytes[4] = {(uint8_t)value};
    job->send(job->ctx, rank, type, bytes, sizeof bytes);
}

/* When every remaining rank has asked to end, all are ordered to. */
static void job_settle(struct ssh_job *job)
{
    if (!job->leaving || job->settled || job->ending || job_any_missing(job)) return;
    job->settled = true;
    uint32_t code = job_largest_code(job);
    for (uint32_t r = 0; r < job->size; r++)
        if (job->ranks[r].phase == SSH_RANK_JOINED) job_send_value(job, r, SSH_WIRE_TOGETHER, code);
}

static void job_take_leaving(struct ssh_job *job, uint32_t rank, uint32_t value)
{
    struct ssh_job_rank *from = &job->ranks[rank];
    if (from->phase != SSH_RANK_JOINED || from->leaving) return;
    from->leaving = true;
    if ((value & 0xff) > from->code) from->code = value & 0xff;
    if (!job->leaving++) job->leave_seconds = ssh_wire_leaving_seconds(value);
    job_send_value(job, rank, SSH_WIRE_NOTED, 0);
    job_settle(job);
}

void ssh_job_call(struct ssh_job *job)
{
    if (job->called || job->settled || job->ending) return;
    job->called = true;
    for (uint32_t r = 0; r < job->size; r++)
        if (job->ranks[r].phase == SSH_RANK_JOINED && job_is_missing(job, r))
            job_send_value(job, r, SSH_WIRE_LEAVE, job_largest_code(job));
}

/* Writes "rank 3 of 8 on host h" or "ranks 3, 5-7 of 8 on several hosts", cut to `size` bytes. */
static void job_name_ranks(const struct ssh_job *job, char *text, size_t size,
                           bool (*listed)(const void *of, uint32_t rank), const void *of)
{
    char list[256];
    uint32_t count = gasneti_ranges(list, sizeof list, job->size, listed, of);
    const char *host = NULL;
    bool several = false;
    for (uint32_t r = 0; r < job->size; r++) {
        if (!listed(of, r)) continue;
        several = several || (host && strcmp(host, job->ranks[r].host) != 0);
        host = job->ranks[r].host;
    }
    snprintf(text, size, "rank%s %s of %" PRIu32 " on %s", count > 1 ? "s" : "", list, job->size,
             several || !host ? "several hosts" : host);
}

/* Ends the job although some ranks have not asked to end; the status must not be 0 then. */
static void job_cut_off(struct ssh_job *job, uint32_t code, const char *why)
{
    char names[400];
    job_name_ranks(job, names, sizeof names, job_is_missing, job);
    /* After a signal to the launcher the status is that of the signal. */
    const bool raised = code == 0 && !job->interrupt;
    ssh_job_fail(job, (int)code, "%s%s: %s", why,
                 raised ? " (and so the exit status is 1 instead of 0)" : "", names);
    job->cut = code == 0;
}

void ssh_job_late(struct ssh_job *job)
{
    char why[256];
    uint32_t count = 0;
    if (job->settled || job->ending) return;
    for (uint32_t r = 0; r < job->size; r++) count += job_is_missing(job, r);
    snprintf(why, sizeof why,
             "the job ends, and %" PRIu32 " of %" PRIu32 " processes, which compute, sleep or are "
             "stopped, did not hear of it within %.2f s (GASNET_EXITTIMEOUT) and are killed",
             count, job->size, job->leave_seconds);
    job_cut_off(job, job_largest_code(job), why);
}

/* --- complaints: reasons of ranks that abort, reported once for all equal ones --- */

static bool job_same_complaint(const char *a, const char *b)
{
    return a && b && strcmp(a, b) == 0 && strcmp(a + strlen(a) + 1, b + strlen(b) + 1) == 0;
}

static char *job_copy(const struct ssh_wire_message *m)
{
    char *words = malloc(m->data_len);
    if (words) memcpy(words, m->data, m->data_len);
    return words;
}

static void job_take_complaint(struct ssh_job *job, uint32_t rank, const struct ssh_wire_message *m)
{
    struct ssh_job_rank *from = &job->ranks[rank];
    const ssize_t strings = ssh_wire_strings(m->data, m->data_len);
    if (from->complaint || from->silenced || strings < 2 || strings > 3) return;
    const bool once = strings == 3;
    if (once && job->once && !job_same_complaint(job->once, (const char *)m->data)) {
        from->silenced = true;
        return;
    }
    from->complaint = job_copy(m);
    if (once && !job->once) job->once = job_copy(m);
}

/* Whether no further rank can complain. */
static bool job_all_complained(const struct ssh_job *job)
{
    for (uint32_t r = 0; r < job->size; r++)
        if (!job->ranks[r].complaint && !job->ranks[r].silenced &&
            job->ranks[r].phase != SSH_RANK_GONE)
            return false;
    return true;
}

/* A later failure replaces a code of 0: the rank that ended the job with 0 may not have known of
 * it. */
static void job_raise_code(struct ssh_job *job, int code)
{
    if (!job->ending || (job->code != 0 && !job->cut) || code == 0) return;
    job->code = code;
    job->cut = false;
}

/* Aborts the job, after a pause in which other ranks may send the same complaint. */
static void job_take_abort(struct ssh_job *job, uint32_t rank, int code)
{
    struct ssh_job_rank *from = &job->ranks[rank];
    job_raise_code(job, code);
    from->aborted = true;
    if (!from->complaint && !from->silenced) {
        if (code == 0 && job_any_missing(job))
            job_cut_off(job, job_largest_code(job),
                        "a rank ends the job at once, and processes that did not ask for it are "
                        "killed");
        ssh_job_end(job, code);
        return;
    }
    if (job->ending) return;
    if (!job->held) job->code = code;
    job->held = true;
    if (job_all_complained(job)) ssh_job_release(job);
}

void ssh_job_release(struct ssh_job *job)
{
    if (job->held) ssh_job_end(job, job->code);
}

struct alike {
    const struct ssh_job *job;
    const char *words;
};

static bool job_complains_alike(const void *of, uint32_t rank)
{
    const struct alike *alike = of;
    return job_same_complaint(alike->words, alike->job->ranks[rank].complaint);
}

bool ssh_job_next_complaint(struct ssh_job *job, char *line, size_t size)
{
    char names[400];
    uint32_t first = 0;
    while (first < job->size && !job->ranks[first].complaint) first++;
    if (first == job->size) return false;
    char *words = job->ranks[first].complaint;
    const struct alike alike = {job, words};
    job_name_ranks(job, names, sizeof names, job_complains_alike, &alike);
    snprintf(line, size, "%s (%s): %s", words, names, words + strlen(words) + 1);
    for (uint32_t r = first; r < job->size; r++) {
        if (!job_complains_alike(&alike, r)) continue;
        if (r != first) free(job->ranks[r].complaint);
        job->ranks[r].complaint = NULL;
    }
    free(words);
    return true;
}

static void job_take_message(struct ssh_job *job, uint32_t rank,
                             const struct ssh_wire_message *message)
{
    struct ssh_job_rank *from = &job->ranks[rank];
    uint32_t code = message->value & 0xff;
    switch (message->type) {
    case SSH_WIRE_HELLO:
        job_take_hello(job, rank);
        break;
    case SSH_WIRE_ARMED:
        from->armed = true;
        break;
    case SSH_WIRE_COLLECTIVE:
        job_take_part(job, rank, message);
        break;
    case SSH_WIRE_FINI:
        if (from->phase != SSH_RANK_GONE) from->phase = SSH_RANK_ANNOUNCED;
        if (code > from->code) from->code = code;
        job_settle(job);
        break;
    case SSH_WIRE_ABORT:
        job_take_abort(job, rank, (int)code);
        break;
    case SSH_WIRE_LEAVING:
        job_take_leaving(job, rank, message->value);
        break;
    case SSH_WIRE_COMPLAINT:
        job_take_complaint(job, rank, message);
        break;
    case SSH_WIRE_EXEC_FAILED:
        ssh_job_fail(job, 127,
                     "rank %" PRIu32
                     " on host %s: %s cannot be executed: %s (if the file is there: is "
                     "the interpreter that its first line names?)",
                     rank, from->host, job->program ? job->program : "the program",
                     strerror((int)message->value));
        break;
    default:
        ssh_job_fail(job, 1, "rank %" PRIu32 " on host %s sent a message of the wrong type %d",
                     rank, from->host, message->type);
    }
}

void ssh_job_frame(struct ssh_job *job, uint32_t rank, const struct ssh_wire_frame *frame)
{
    struct ssh_wire_message message;
    const char *why = "";
    int complete = ssh_wire_assemble(&job->ranks[rank].in, frame, &message, &why);
    if (complete < 0)
        ssh_job_fail(job, 1,
                     "rank %" PRIu32 " on host %s sent an invalid message (%s); ending the job",
                     rank, job->ranks[rank].host, why);
    if (complete > 0) job_take_message(job, rank, &message);
}

/* --- ends --- */

static void job_left_without_notice(struct ssh_job *job, uint32_t rank, uint32_t code)
{
    struct ssh_job_rank *from = &job->ranks[rank];
    if (from->phase == SSH_RANK_STARTED && code == 0) {
        job->left_unjoined = rank + 1;
        job_check_membership(job);
        return;
    }
    ssh_job_fail(job, (int)code,
                 "rank %" PRIu32 " on host %s exited with status %" PRIu32 " %s; ending the job",
                 rank, from->host, code,
                 from->phase == SSH_RANK_STARTED ? "before it joined the job"
                                                 : "without announcing the end of the job");
}

/* Whether a rank may have got the signal from the launcher, which ends ranks by these. */
static bool job_sends(int signo)
{
    return signo == SIGTERM || signo == SIGKILL;
}

void ssh_job_ended(struct ssh_job *job, uint32_t rank, int wait_status)
{
    struct ssh_job_rank *from = &job->ranks[rank];
    if (from->phase == SSH_RANK_GONE) return;
    if (WIFSIGNALED(wait_status)) {
        int signo = WTERMSIG(wait_status);
        if (signo == job->interrupt) ssh_job_end(job, 128 + signo); /* reported already */
        if (!job_sends(signo)) job_raise_code(job, 128 + signo);
        ssh_job_fail(job, 128 + signo,
                     "rank %" PRIu32 " on host %s was killed by signal %d (%s%s); ending the job",
                     rank, from->host, signo, strsignal(signo),
                     WCOREDUMP(wait_status) ? ", core dumped" : "");
    } else {
        uint32_t code = (uint32_t)WEXITSTATUS(wait_status);
        if (code > from->code) from->code = code;
        job_raise_code(job, (int)from->code);
        if (from->phase != SSH_RANK_ANNOUNCED && !from->aborted)
            job_left_without_notice(job, rank, code);
    }
    from->phase = SSH_RANK_GONE;
    job->gone++;
    if (job->held && job_all_complained(job)) ssh_job_release(job);
}

bool ssh_job_silence_matters(const struct ssh_job *job, uint32_t rank)
{
    return job->ranks[rank].phase == SSH_RANK_JOINED && !job->ranks[rank].aborted;
}

void ssh_job_silent(struct ssh_job *job, uint32_t rank)
{
    if (!ssh_job_silence_matters(job, rank)) return;
    ssh_job_fail(job, 1,
                 "rank %" PRIu32
                 " on host %s closed its connection without announcing the end of the "
                 "job, and its process or a wrapper still runs; ending the job",
                 rank, job->ranks[rank].host);
}

void ssh_job_unreachable(struct ssh_job *job, uint32_t first, uint32_t count)
{
    for (uint32_t r = first; r < first + count; r++) {
        if (job->ranks[r].phase == SSH_RANK_GONE) continue;
        job->ranks[r].phase = SSH_RANK_GONE;
        job->gone++;
    }
}

bool ssh_job_over(const struct ssh_job *job)
{
    return job->gone == job->size;
}

int ssh_job_status(const struct ssh_job *job)
{
    int code = job->ending ? job->code : (int)job_largest_code(job);
    /* The library exits with 1 upon a signal unless the program chose another code. */
    return job->interrupt && code == 1 ? 128 + job->interrupt : code;
}
