/* unit.c - tests of the spawner's pure parts: hosts, quoting, lines, wire messages, and the
 * job's state machine under random garbage.  Prints TAP; `unit <seed>` repeats a run.
 */
#define _GNU_SOURCE /* memmem */
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "other/launch/environment.h"
#include "other/launch/hosts.h"
#include "other/launch/lines.h"
#include "other/launch/shell_quote.h"
#include "other/launch/ssh/ssh_job.h"
#include "other/launch/ssh/ssh_placement.h"
#include "other/launch/ssh/ssh_stream.h"
#include "tests/unit/check.h"

/* --- hosts; tests/unit/host_lists.c has their lists --- */

static void test_hosts(void)
{
    check(hosts_same("a", "a.b.c") && hosts_same("a.b", "a") && !hosts_same("a.b", "a.c") &&
              !hosts_same("10.0.0.1", "10.1.0.1") && !hosts_same("10", "10.1.0.1"),
          "spellings of one host");

    struct shell_words list = {0};
    shell_split(&list, "a a b a a");
    hosts_merge(&list);
    check(list.count == 3 && strcmp(list.word[2], "a") == 0, "neighbours of one name merge");
    shell_free(&list);

    int good = 1;
    for (uint32_t ranks = 1; ranks < 40; ranks++)
        for (uint32_t n = 1; n <= ranks; n++) {
            struct hosts_block blocks[40];
            hosts_place(ranks, n, blocks);
            uint32_t next = 0;
            for (uint32_t h = 0; h < n; h++) {
                good = good && blocks[h].first == next && blocks[h].count >= 1 &&
                       blocks[0].count - blocks[h].count <= 1;
                next += blocks[h].count;
            }
            good = good && next == ranks;
        }
    check(good, "placement is even, contiguous and complete");

    good = 1;
    for (uint32_t ranks = 1; ranks < 40; ranks++)
        for (uint32_t n = 1; n <= ranks; n++) {
            struct hosts_block blocks[40];
            hosts_deal(ranks, n, blocks);
            for (uint32_t r = 0; r < ranks; r++)
                for (uint32_t h = 0; h < n; h++)
                    good = good && hosts_index(&blocks[h], r) == (r % n == h ? r / n : UINT32_MAX);
        }
    check(good, "ranks are dealt out in turn");
}

/* --- quoting --- */

static int split_gives(const char *text, const char *expect)
{
    struct shell_words list = {0};
    char got[1000] = "";
    bool good = shell_split(&list, text);
    for (size_t i = 0; good && i < list.count; i++)
        sprintf(got + strlen(got), "<%s>", list.word[i]);
    shell_free(&list);
    int same = good ? expect && strcmp(got, expect) == 0 : !expect;
    if (!same) printf("# {%s} gave %s\n", text, got);
    return same;
}

static void test_words(void)
{
    check(split_gives("  -p 22\t-o \"A b\"  ", "<-p><22><-o><A b>"), "plain and double quotes");
    check(split_gives("a'b c'd \"x\\\"y\\z\" ''", "<ab cd><x\"y\\z><>"),
          "mixed quotes, empty word");
    check(split_gives("a\\ b '\\' \\\\", "<a b><\\><\\>"), "backslashes");
    check(split_gives("'a", NULL) && split_gives("\"a", NULL) && split_gives("a\\", NULL),
          "quotes without end");

    int good = 1;
    for (int round = 0; round < 2000; round++) {
        char word[3][24], *words[4] = {word[0], word[1], word[2], NULL};
        for (int w = 0; w < 3; w++) {
            uint32_t len = check_below(20);
            for (uint32_t i = 0; i < len; i++)
                word[w][i] = check_below(2) ? "'\"\\ $*\n%a;&"[check_below(11)]
                                            : (char)(1 + check_below(255));
            word[w][len] = 0;
        }
        char *line = shell_join(words);
        struct shell_words back = {0};
        good = good && shell_split(&back, line) && back.count == 3;
        for (int w = 0; good && w < 3; w++) good = strcmp(back.word[w], word[w]) == 0;
        shell_free(&back);
        free(line);
    }
    check(good, "random words survive quoting and splitting");
}

/* --- environments, and many of anything --- */

static int environment_gives(const char *expect, const char *const *given, size_t givens,
                             const char *const *own, size_t owns)
{
    char got[200] = "";
    const char **all = environment_merge(given, givens, own, owns);
    for (size_t i = 0; all && all[i]; i++) strcat(strcat(got, all[i]), " ");
    free(all);
    if (strcmp(got, expect) != 0) printf("# environment \"%s\"\n", got);
    return strcmp(got, expect) == 0;
}

static void test_environment(void)
{
    const char *given[] = {"B=1", "A=", "AB=2", "A.B=3"},
               *own[] = {"A=9", "AA=8", "C", "B=1", "A.=7"};
    check(environment_gives("B=1 A= AB=2 A.B=3 AA=8 C A.=7 ", given, 4, own, 5),
          "environments: the given settings replace those of the same name, and no others");
    check(environment_gives("", given, 0, own, 0), "environments: empty ones");
}

enum { MANY = 200000 }; /* would take minutes if the time grew with the square */

static void test_many_settings(void)
{
    static char names[2 * MANY][16];
    const char **text = calloc(2 * (size_t)MANY, sizeof *text);
    size_t count = 0;
    for (uint32_t i = 0; i < 2 * MANY; i++) {
        snprintf(names[i], sizeof names[i], "N%" PRIu32 "=", i);
        text[i] = names[i];
    }
    const char **all = environment_merge(text, MANY + MANY / 2, text + MANY / 2, MANY + MANY / 2);
    while (all && all[count]) count++;
    check(count == 2 * MANY, "environments of 300,000 settings, most of them in both");
    free(all);
    free(text);
}

static void test_many_hosts(void)
{
    char *list = malloc(16 * (size_t)MANY), *at = list;
    struct ssh_request request = {.ranks = MANY};
    struct ssh_placement placement;
    for (uint32_t i = 0; i < MANY; i++) at += sprintf(at, "h%" PRIu32 " ", i % (MANY / 2));
    setenv("GASNET_SSH_SERVERS", list, 1);
    int good = ssh_placement_make(&placement, &request) && placement.count == MANY;
    for (uint32_t i = 0; good && i < MANY; i++) good = placement.host_of[i] == i % (MANY / 2);
    check(good, "200,000 names of hosts, each of them twice");
    ssh_placement_free(&placement);
    unsetenv("GASNET_SSH_SERVERS");
    free(list);
}

/* --- lines --- */

struct sink {
    char text[400000];
    size_t len;
    int torn;
};

static void take(void *ctx, const char *text, size_t len)
{
    struct sink *sink = ctx;
    memcpy(sink->text + sink->len, text, len);
    sink->len += len;
    sink->torn += text[len - 1] != '\n';
}

static void test_lines(void)
{
    static struct sink sink;
    static char text[300000];
    struct lines lines = {0};
    for (size_t i = 0; i < sizeof text; i++)
        text[i] = check_below(40) ? (char)('a' + check_below(26)) : '\n';
    for (size_t at = 0; at < sizeof text;) {
        size_t part = 1 + check_below(3000);
        if (part > sizeof text - at) part = sizeof text - at;
        lines_feed(&lines, text + at, part, take, &sink);
        at += part;
    }
    check(sink.torn == 0, "lines stay whole however they come");
    lines_flush(&lines, take, &sink);
    check(sink.len == sizeof text && memcmp(sink.text, text, sink.len) == 0, "no byte is lost");
    memset(text, 'x', sizeof text);
    sink.len = 0;
    lines_feed(&lines, text, 200000, take, &sink);
    lines_flush(&lines, take, &sink);
    check(sink.len == 200000, "a line longer than the buffer passes in pieces");
    lines_free(&lines);
}

/* --- wire --- */

static void test_frames(void)
{
    struct ssh_wire_buf payload = {0}, out = {0};
    struct ssh_wire_assembly assembly = {0};
    struct ssh_wire_message message;
    const char *why = "";
    ssh_wire_put_u32(&payload, 77);
    for (int i = 0; i < 100000; i++) ssh_wire_put(&payload, &(uint8_t){(uint8_t)i}, 1);
    ssh_wire_put_message(&out, SSH_WIRE_RESULT, 3, payload.data, payload.len);
    int complete = 0, interrupted = 0, frames = 0;
    for (size_t at = 0; at < out.len;) {
        struct ssh_wire_frame frame;
        ssize_t used = ssh_wire_parse_frame(out.data + at, out.len - at, &frame, &why);
        if (used <= 0) break;
        complete = ssh_wire_assemble(&assembly, &frame, &message, &why);
        frames++;
        at += (size_t)used;
        if (complete) break;
        uint8_t abort_frame[SSH_WIRE_VALUE_FRAME];
        struct ssh_wire_message aborted;
        struct ssh_wire_frame between;
        ssh_wire_value_frame(abort_frame, SSH_WIRE_ABORT, 3, 9);
        ssh_wire_parse_frame(abort_frame, sizeof abort_frame, &between, &why);
        interrupted +=
            ssh_wire_assemble(&assembly, &between, &aborted, &why) == 1 && aborted.value == 9;
    }
    check(complete == 1 && frames == 4 && message.seq == 77 && message.data_len == 100000 &&
              memcmp(message.data, payload.data + 4, 100000) == 0,
          "a long message survives its frames");
    check(interrupted == 3, "an abort may come between them");
    struct ssh_wire_frame frame;
    int partial = 1;
    for (size_t len = 0; len < SSH_WIRE_FRAME; len += 11)
        partial = partial && ssh_wire_parse_frame(out.data, len, &frame, &why) == 0;
    check(partial, "a frame that is not there in full is waited for");
    ssh_wire_free(&payload);
    ssh_wire_free(&out);
    ssh_wire_free(&assembly.buf);
}

/* Bytes in blocks of their exact size, so that a sanitizer sees a read too far. */
static void fuzz_decode(int rounds)
{
    for (int round = 0; round < rounds; round++) {
        size_t len = check_below(200);
        uint8_t *bytes = malloc(len + !len);
        for (size_t i = 0; i < len; i++)
            bytes[i] = check_below(3) ? (uint8_t)check_below(4) : (uint8_t)check_below(256);
        struct ssh_wire_message message;
        const char *why;
        ssh_wire_decode((enum ssh_wire_type)(1 + check_below(SSH_WIRE_TYPES - 1)), check_below(5),
                        bytes, len, &message, &why);
        struct ssh_wire_frame frame;
        if (len > 4 && check_below(2)) {
            bytes[0] = 'S';
            bytes[1] = 1;
            bytes[3] &= 1;
        }
        ssh_wire_parse_frame(bytes, len, &frame, &why);
        free(bytes);
    }
}

static void test_setup(void)
{
    struct ssh_wire_buf buf = {0};
    struct ssh_wire_message message;
    const char *why = "";
    static const uint32_t head[] = {1, 2, 2, 4, 0, 1, 1};
    for (int i = 0; i < 7; i++) ssh_wire_put_u32(&buf, head[i]);
    const char *strings[] = {"/", "/bin/x", "x", "A=b"};
    for (int i = 0; i < 4; i++) ssh_wire_put_string(&buf, strings[i]);
    check(ssh_wire_decode(SSH_WIRE_SETUP, 0, buf.data, buf.len, &message, &why), "set-up decodes");
    int refused = 1;
    for (size_t len = 0; len < buf.len; len++)
        refused = refused && !ssh_wire_decode(SSH_WIRE_SETUP, 0, buf.data, len, &message, &why);
    check(refused, "every truncation of it is refused");
    buf.data[8] = 3;
    check(!ssh_wire_decode(SSH_WIRE_SETUP, 0, buf.data, buf.len, &message, &why),
          "a stride beyond the last rank is refused");
    ssh_wire_free(&buf);
}

/* --- the job --- */

static int sent[SSH_WIRE_TYPES];

static void count_sent(void *ctx, uint32_t rank, enum ssh_wire_type type, const void *data,
                       size_t len)
{
    sent[type]++;
}

static void say(struct ssh_job *job, uint32_t rank, enum ssh_wire_type type, uint32_t value)
{
    uint8_t bytes[SSH_WIRE_VALUE_FRAME];
    struct ssh_wire_frame frame;
    const char *why;
    size_t len = ssh_wire_value_frame(bytes, type, rank, value);
    ssh_wire_parse_frame(bytes, len, &frame, &why);
    ssh_job_frame(job, rank, &frame);
}

static const char *const names[] = {"h0", "h0", "h1"};

/* A socket whose sends fail as with a cut wire: the error once, then EPIPE. */
static int send_errors[4], sends = -1; /* -1: sends are real */
ssize_t send(int fd, const void *data, size_t len, int flags)
{
    if (sends < 0) return sendto(fd, data, len, flags, NULL, 0);
    errno = send_errors[sends++];
    return -1;
}

static void ignore_frame(void *ctx, const struct ssh_wire_frame *frame) {}

static void test_cut(void)
{
    int ends[2];
    const char *why = "";
    struct ssh_stream stream;
    if (!check(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0, "a socket pair")) return;
    ssh_stream_open(&stream, ends[0], false);
    struct ssh_parcel *parcel = ssh_parcel_new(SSH_WIRE_ECHO, SSH_WIRE_ALL, "word", 4);
    memcpy(send_errors, (int[]){ETIMEDOUT, EPIPE, EPIPE, EPIPE}, sizeof send_errors);
    sends = 0;
    for (int i = 0; i < 3; i++) ssh_stream_post(&stream, parcel);
    sends = -1;
    close(ends[1]);
    bool eof = ssh_stream_read(&stream, ignore_frame, NULL, &why) == SSH_STREAM_EOF;
    check(eof && strstr(why, "its host or the network is down"),
          "the first error of a stream is reported");
    ssh_parcel_drop(parcel);
    ssh_stream_close(&stream);
}

/* An end that comes without an error: errno is of some earlier call. */
static void test_end_of_link(void)
{
    int ends[2];
    const char *why = "";
    struct ssh_stream stream;
    if (!check(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0, "a socket pair")) return;
    ssh_stream_open(&stream, ends[0], false);
    close(ends[1]);
    errno = ENOSPC;
    bool eof = ssh_stream_read(&stream, ignore_frame, NULL, &why) == SSH_STREAM_EOF;
    check(eof && strstr(why, "connection closed"), "a stream that is closed is said to be");
    ssh_stream_close(&stream);
}

static void test_job(void)
{
    struct ssh_job job;
    ssh_job_open(&job, 3, names, count_sent, NULL);
    for (uint32_t r = 0; r < 3; r++) say(&job, r, SSH_WIRE_HELLO, 1);
    for (uint32_t r = 0; r < 3; r++) say(&job, r, SSH_WIRE_FINI, 3 + r);
    for (uint32_t r = 0; r < 3; r++) ssh_job_ended(&job, r, (int)(3 + r) << 8);
    check(!job.ending && ssh_job_over(&job) && ssh_job_status(&job) == 5,
          "largest code of orderly ends");
    ssh_job_close(&job);

    ssh_job_open(&job, 3, names, count_sent, NULL);
    for (uint32_t r = 0; r < 3; r++) say(&job, r, SSH_WIRE_HELLO, 1);
    ssh_job_ended(&job, 2, 9);
    check(job.ending && ssh_job_status(&job) == 137 && strstr(job.reason, "rank 2 on host h1"),
          "a killed rank ends the job");
    say(&job, 0, SSH_WIRE_ABORT, 4);
    check(ssh_job_status(&job) == 137, "the first reason stays");
    ssh_job_close(&job);

    ssh_job_open(&job, 3, names, count_sent, NULL);
    for (uint32_t r = 0; r < 3; r++) say(&job, r, SSH_WIRE_HELLO, 1);
    say(&job, 0, SSH_WIRE_ABORT, 0);
    ssh_job_ended(&job, 0, 0);
    ssh_job_ended(&job, 2, 9);
    check(job.ending && ssh_job_status(&job) == 1 &&
              strstr(job.reason, ": ranks 1-2 of 3 on several"),
          "an abort with 0 does not hide a killed rank");
    ssh_job_ended(&job, 1, 23 << 8);
    check(ssh_job_status(&job) == 23, "another rank's code does not get lost");
    say(&job, 1, SSH_WIRE_ABORT, 24);
    check(ssh_job_status(&job) == 23, "the first of those stays");
    ssh_job_close(&job);

    ssh_job_open(&job, 3, names, count_sent, NULL);
    for (uint32_t r = 0; r < 3; r++) say(&job, r, SSH_WIRE_HELLO, 1);
    for (uint32_t r = 1; r < 3; r++) say(&job, r, SSH_WIRE_FINI, 0);
    say(&job, 0, SSH_WIRE_ABORT, 0);
    check(job.ending && ssh_job_status(&job) == 0 && !job.reason[0],
          "where all others are leaving it ends the job with 0");
    ssh_job_ended(&job, 2, SIGTERM);
    check(ssh_job_status(&job) == 0, "which then ends the others");
    ssh_job_ended(&job, 1, SIGABRT);
    check(ssh_job_status(&job) == 128 + SIGABRT, "unless one of them crashes");
    ssh_job_close(&job);

    ssh_job_open(&job, 3, names, count_sent, NULL);
    for (uint32_t r = 0; r < 3; r++) say(&job, r, SSH_WIRE_HELLO, 1);
    say(&job, 0, SSH_WIRE_ABORT, 0);
    say(&job, 1, SSH_WIRE_ABORT, 23);
    check(ssh_job_status(&job) == 23, "or another rank aborts with more");
    ssh_job_close(&job);

    static const struct {
        int code, status;
    } interrupted[] = {{0, 0}, {1, 130}, {45, 45}};
    for (size_t i = 0; i < 3; i++) {
        char name[80];
        ssh_job_open(&job, 3, names, count_sent, NULL);
        for (uint32_t r = 0; r < 3; r++) say(&job, r, SSH_WIRE_HELLO, 7);
        job.interrupt = 2;
        for (uint32_t r = 0; r < 3; r++) say(&job, r, SSH_WIRE_FINI, (uint32_t)interrupted[i].code);
        for (uint32_t r = 0; r < 3; r++) ssh_job_ended(&job, r, interrupted[i].code << 8);
        snprintf(name, sizeof name, "the status after SIGINT and an orderly end with %d is %d",
                 interrupted[i].code, interrupted[i].status);
        check(!job.ending && ssh_job_status(&job) == interrupted[i].status, "%s", name);
        ssh_job_close(&job);
    }

    ssh_job_open(&job, 3, names, count_sent, NULL);
    for (uint32_t r = 0; r < 3; r++) ssh_job_ended(&job, r, 0);
    check(!job.ending && ssh_job_over(&job) && ssh_job_status(&job) == 0,
          "programs that never join may end well");
    ssh_job_close(&job);

    ssh_job_open(&job, 3, names, count_sent, NULL);
    ssh_job_ended(&job, 0, 0);
    say(&job, 1, SSH_WIRE_HELLO, 1);
    check(job.ending && ssh_job_status(&job) == 1, "but not while others join");
    ssh_job_close(&job);
}

/* Returns how many messages of a kind were sent since the last call. */
static int heard(enum ssh_wire_type type)
{
    int count = sent[type];
    sent[type] = 0;
    return count;
}

static void open_joined(struct ssh_job *job)
{
    memset(sent, 0, sizeof sent);
    ssh_job_open(job, 3, names, count_sent, NULL);
    for (uint32_t r = 0; r < 3; r++) say(job, r, SSH_WIRE_HELLO, 1);
}

static void test_leaving(void)
{
    struct ssh_job job;
    open_joined(&job);
    say(&job, 1, SSH_WIRE_LEAVING, ssh_wire_leaving(7, 1.5));
    check(job.leaving && !job.ending && heard(SSH_WIRE_NOTED) == 1 &&
              heard(SSH_WIRE_TOGETHER) == 0 && job.leave_seconds > 1.49 && job.leave_seconds < 1.51,
          "a rank that wants to end waits for the others");
    say(&job, 1, SSH_WIRE_LEAVING, ssh_wire_leaving(9, 9));
    say(&job, 0, SSH_WIRE_LEAVING, ssh_wire_leaving(0, 9));
    check(!job.settled && heard(SSH_WIRE_NOTED) == 1 && job.leave_seconds < 1.51,
          "the time runs from the first, and each is noted once");
    say(&job, 2, SSH_WIRE_LEAVING, ssh_wire_leaving(5, 1));
    ssh_job_call(&job);
    ssh_job_late(&job);
    check(job.settled && !job.ending && heard(SSH_WIRE_TOGETHER) == 3 &&
              heard(SSH_WIRE_LEAVE) == 0 && ssh_job_status(&job) == 7,
          "when all want to they end together, with the largest code");
    ssh_job_close(&job);

    open_joined(&job);
    say(&job, 1, SSH_WIRE_LEAVING, ssh_wire_leaving(0, 1));
    ssh_job_call(&job);
    ssh_job_call(&job);
    check(heard(SSH_WIRE_LEAVE) == 2, "those that do not are asked to, once");
    say(&job, 0, SSH_WIRE_LEAVING, ssh_wire_leaving(0, 1));
    ssh_job_late(&job);
    check(job.ending && ssh_job_status(&job) == 1 && strstr(job.reason, "1 of 3 processes, ") &&
              strstr(job.reason, "1 instead of 0") && strstr(job.reason, ": rank 2 of 3 on h1"),
          "those that do not hear of it are named, and no 0 hides them");
    ssh_job_ended(&job, 0, 0);
    ssh_job_ended(&job, 2, 9);
    check(ssh_job_status(&job) == 1, "however they end");
    ssh_job_close(&job);

    open_joined(&job);
    say(&job, 1, SSH_WIRE_LEAVING, ssh_wire_leaving(11, 1));
    ssh_job_late(&job);
    check(job.ending && ssh_job_status(&job) == 11 &&
              strstr(job.reason, ": ranks 0 and 2 of 3 on sev"),
          "a code that is not 0 stands");
    ssh_job_close(&job);

    open_joined(&job);
    job.interrupt = SIGTERM;
    say(&job, 1, SSH_WIRE_LEAVING, ssh_wire_leaving(0, 1));
    ssh_job_late(&job);
    check(job.ending && ssh_job_status(&job) == 128 + SIGTERM && strstr(job.reason, "are killed: "),
          "nothing is said of a status that a signal to the launcher decides");
    ssh_job_close(&job);

    open_joined(&job);
    say(&job, 0, SSH_WIRE_FINI, 3);
    say(&job, 1, SSH_WIRE_LEAVING, ssh_wire_leaving(0, 1));
    ssh_job_ended(&job, 0, 3 << 8);
    say(&job, 2, SSH_WIRE_LEAVING, ssh_wire_leaving(0, 1));
    check(job.settled && heard(SSH_WIRE_TOGETHER) == 2 && ssh_job_status(&job) == 3,
          "a rank that has left in good order is not waited for");
    ssh_job_close(&job);
}

static void complain_as(struct ssh_job *job, uint32_t rank, const char *why, int once)
{
    struct ssh_wire_buf text = {0};
    ssh_wire_put_string(&text, "ERROR");
    ssh_wire_put_string(&text, why);
    if (once) ssh_wire_put_string(&text, "once");
    struct ssh_wire_frame frame = {
        .type = SSH_WIRE_COMPLAINT, .rank = rank, .data = text.data, .len = text.len};
    ssh_job_frame(job, rank, &frame);
    ssh_wire_free(&text);
    say(job, rank, SSH_WIRE_ABORT, 1);
}

static void complain(struct ssh_job *job, uint32_t rank, const char *why)
{
    complain_as(job, rank, why, 0);
}

static int told(struct ssh_job *job, const char *expect)
{
    char line[300] = "nothing";
    bool more = ssh_job_next_complaint(job, line, sizeof line);
    int same = expect ? more && strcmp(line, expect) == 0 : !more;
    if (!same) printf("# told: %s\n", line);
    return same;
}

static void test_complaints(void)
{
    struct ssh_job job;
    ssh_job_open(&job, 3, names, count_sent, NULL);
    for (uint32_t r = 0; r < 3; r++) say(&job, r, SSH_WIRE_HELLO, 1);
    complain(&job, 1, "no port");
    check(!job.ending && job.held, "a complaint waits for others");
    ssh_job_ended(&job, 1, 1 << 8);
    complain(&job, 0, "no port");
    check(!job.ending, "as long as one may still connect");
    complain(&job, 2, "no port");
    check(job.ending && ssh_job_status(&job) == 1 && !job.reason[0], "when all have, the job ends");
    check(told(&job, "ERROR (ranks 0-2 of 3 on several hosts): no port") && told(&job, NULL),
          "and it is reported once");
    ssh_job_close(&job);

    ssh_job_open(&job, 3, names, count_sent, NULL);
    for (uint32_t r = 0; r < 3; r++) say(&job, r, SSH_WIRE_HELLO, 1);
    complain(&job, 2, "no port");
    complain(&job, 0, "no memory");
    ssh_job_release(&job);
    check(job.ending && ssh_job_status(&job) == 1, "the wait for silent hosts is bounded");
    check(told(&job, "ERROR (rank 0 of 3 on h0): no memory") &&
              told(&job, "ERROR (rank 2 of 3 on h1): no port") && told(&job, NULL),
          "different complaints are different lines");
    ssh_job_close(&job);

    ssh_job_open(&job, 3, names, count_sent, NULL);
    for (uint32_t r = 0; r < 3; r++) say(&job, r, SSH_WIRE_HELLO, 1);
    ssh_job_ended(&job, 1, 9);
    complain(&job, 0, "rank 1 is gone");
    check(ssh_job_status(&job) == 137, "a complaint does not change how a job ends that is ending");
    ssh_job_close(&job);

    ssh_job_open(&job, 3, names, count_sent, NULL);
    for (uint32_t r = 0; r < 3; r++) say(&job, r, SSH_WIRE_HELLO, 1);
    complain_as(&job, 1, "no way to rank 2", 1);
    complain_as(&job, 2, "no way to rank 0", 1);
    check(!job.ending, "a complaint that is reported once waits for others as well");
    complain_as(&job, 0, "no way to rank 2", 1);
    check(job.ending && ssh_job_status(&job) == 1, "and ends the job when all have made one");
    check(told(&job, "ERROR (ranks 0-1 of 3 on h0): no way to rank 2") && told(&job, NULL),
          "only the first of them is reported");
    ssh_job_close(&job);
}

/* Any bytes from ranks may end the job but must not harm the launcher. */
static void fuzz_job(int rounds)
{
    for (int round = 0; round < rounds; round++) {
        struct ssh_job job;
        ssh_job_open(&job, 3, names, count_sent, NULL);
        for (uint32_t r = 0; r < 3; r++) say(&job, r, SSH_WIRE_HELLO, 1);
        for (int i = 0; i < 60; i++) {
            uint8_t bytes[64];
            size_t len = check_below(40);
            for (size_t b = 0; b < len; b++)
                bytes[b] = check_below(4) ? 0 : (uint8_t)check_below(8);
            struct ssh_wire_buf call = {0};
            if (check_below(2)) { /* similar to a valid call */
                ssh_wire_put_u32(&call, check_below(8) ? 0 : check_below(4));
                ssh_wire_put_u32(&call, check_below(8) ? 0 : check_below(3));
                ssh_wire_put_u32(&call, 1);
                ssh_wire_put_u64(&call, check_below(8) ? 0 : check_below(3));
            }
            ssh_wire_put(&call, bytes, check_below(4) ? 0 : check_below(8));
            struct ssh_wire_frame frame = {
                .type = check_below(3) ? SSH_WIRE_COLLECTIVE
                                       : (enum ssh_wire_type)(1 + check_below(SSH_WIRE_TYPES - 1)),
                .more = check_below(8) == 0,
                .rank = check_below(3),
                .data = call.data,
                .len = call.len};
            ssh_job_frame(&job, frame.rank, &frame);
            ssh_wire_free(&call);
            if (check_below(30) == 0) ssh_job_ended(&job, check_below(3), (int)check_below(1024));
            if (check_below(30) == 0) ssh_job_silent(&job, check_below(3));
        }
        ssh_job_close(&job);
    }
}

/* --- connections between hosts --- */

static struct ssh_seals seals_of(const char *secret, const char *said, bool acceptor)
{
    const struct gasneti_said both = {said, said + 1, 1, 1};
    struct ssh_seals seals;
    ssh_seal_keys(&seals, secret, &both, acceptor);
    return seals;
}

/* Whether the record is opened, and holds `text`. */
static int opens(struct ssh_seal *seal, const struct ssh_wire_buf *record, const char *text)
{
    uint8_t copy[256], *plain;
    size_t len;
    memcpy(copy, record->data, record->len);
    return ssh_seal_open(seal, copy, record->len, &plain, &len) == (ssize_t)record->len &&
           len == strlen(text) && memcmp(plain, text, len) == 0;
}

static void test_seals(void)
{
    static const char text[] = "the environment";
    struct ssh_seals a = seals_of("secret", "xy", true), b = seals_of("secret", "xy", false);
    struct ssh_wire_buf one = {0}, two = {0}, again = {0};
    struct ssh_seal before = a.out, in = b.in;
    ssh_seal_close(&a.out, (const uint8_t *)text, strlen(text), &one);
    ssh_seal_close(&a.out, (const uint8_t *)text, strlen(text), &two);
    check(!memmem(one.data, one.len, "env", 3) && one.len == two.len &&
              memcmp(one.data, two.data, one.len) != 0,
          "what is sealed cannot be read, nor that it is the same as before");
    check(opens(&in, &one, text) && opens(&in, &two, text), "it arrives, in its order");
    check(!opens(&in, &two, text), "once");
    in = b.in;
    check(!opens(&in, &two, text) && opens(&in, &one, text), "and no later part before an earlier");
    check(!opens(&a.in, &one, text), "it cannot be sent back");
    struct ssh_seals other = seals_of("secreT", "xy", false),
                     later = seals_of("secret", "xz", false),
                     cross = seals_of("secret", "yx", false);
    check(!opens(&other.in, &one, text) && !opens(&later.in, &one, text) &&
              !opens(&cross.in, &one, text),
          "nor be opened with another secret, or in another connection");
    ssh_seal_close(&before, (const uint8_t *)text, strlen(text), &again);
    check(again.len == one.len && !memcmp(again.data, one.data, one.len),
          "keys decide, and a number");

    int refused = 0, changes = 0;
    for (size_t bit = 0; bit < 8 * one.len; bit++, changes++) {
        uint8_t *plain, copy[256];
        size_t len;
        in = b.in;
        memcpy(copy, one.data, one.len);
        copy[bit / 8] ^= (uint8_t)(1 << bit % 8);
        refused += ssh_seal_open(&in, copy, one.len, &plain, &len) <= 0 && in.next == 0;
    }
    check(refused == changes, "no bit of it can be changed");
    in = b.in;
    uint8_t *plain;
    size_t len, early = 0;
    for (size_t part = 0; part < one.len; part++)
        early += ssh_seal_open(&in, one.data, part, &plain, &len) != 0;
    check(!early && opens(&in, &one, text), "a part of it is waited for");
    uint8_t longer[SSH_SEAL_HEAD] = {1, (SSH_SEAL_MOST >> 8) & 0xff, SSH_SEAL_MOST >> 16};
    check(ssh_seal_open(&in, longer, sizeof longer, &plain, &len) < 0,
          "no more is kept than a part");
    ssh_wire_free(&one);
    ssh_wire_free(&two);
    ssh_wire_free(&again);
}

static size_t sealed_bytes;
static bool sealed_good;

static void note_sealed(void *ctx, const struct ssh_wire_frame *frame)
{
    const uint8_t *expect = ctx;
    sealed_good = sealed_good && !memcmp(frame->data, expect + sealed_bytes, frame->len);
    sealed_bytes += frame->len;
}

/* A message much longer than the sockets' buffers and than a seal's part. */
static void test_sealed_link(void)
{
    enum { LONG = 3 << 20 };
    int ends[2];
    struct ssh_stream from, to;
    const char *why = "";
    struct ssh_seals a = seals_of("s", "xy", true), b = seals_of("s", "xy", false);
    uint8_t *bytes = malloc(LONG);
    for (size_t i = 0; i < LONG; i++) bytes[i] = (uint8_t)check_below(256);
    socketpair(AF_UNIX, SOCK_STREAM, 0, ends);
    ssh_stream_open(&from, ends[0], false);
    ssh_stream_open(&to, ends[1], false);
    ssh_stream_seal(&from, &a);
    ssh_stream_seal(&to, &b);
    struct ssh_parcel *parcel = ssh_parcel_new(SSH_WIRE_RESULT, 1, bytes, LONG);
    ssh_stream_post(&from, parcel);
    ssh_parcel_drop(parcel);
    sealed_bytes = 0;
    sealed_good = true;
    enum ssh_stream_state news = SSH_STREAM_OPEN;
    for (int i = 0; i < LONG && sealed_bytes < LONG && news == SSH_STREAM_OPEN; i++) {
        ssh_stream_flush(&from);
        news = ssh_stream_read(&to, note_sealed, bytes, &why);
    }
    check(sealed_good && sealed_bytes == LONG && news == SSH_STREAM_OPEN && !to.in.len &&
              !(ssh_stream_events(&from) & POLLOUT),
          "a long message arrives through a sealed stream");
    send(from.fd, bytes, 64, 0);
    while (news == SSH_STREAM_OPEN && sealed_bytes == LONG) {
        news = ssh_stream_read(&to, note_sealed, bytes, &why);
        if (news == SSH_STREAM_OPEN) ssh_stream_close(&from); /* ends the stream in any case */
    }
    check(news == SSH_STREAM_GARBAGE && sealed_bytes == LONG && strstr(why, "changed"),
          "what was not sealed does not");
    ssh_stream_close(&from);
    ssh_stream_close(&to);
    free(bytes);
}

int main(int argc, char **argv)
{
    check_begin(argc, argv);
    test_hosts();
    test_words();
    test_environment();
    test_many_settings();
    test_many_hosts();
    test_lines();
    test_frames();
    test_setup();
    test_cut();
    test_end_of_link();
    test_job();
    test_leaving();
    test_complaints();
    test_seals();
    test_sealed_link();
    fuzz_decode(200000);
    check(1, "200000 random payloads decoded without harm");
    fuzz_job(5000);
    check(sent[SSH_WIRE_RESULT] > 0, "5000 jobs of random messages; some calls even completed");
    return check_end();
}
