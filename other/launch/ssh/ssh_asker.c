/* ssh_asker.c - gasnetrun --stats, --why and --top: asks the launcher of a job, or else the ranks
 * that answer for themselves, and prints the answers or a report about them.
 */
#define _GNU_SOURCE /* struct ucred */
#include "other/launch/ssh/ssh_asker.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "other/launch/ask_socket.h"
#include "other/launch/bootstrap.h"
#include "other/launch/launcher_log.h"
#include "other/launch/ssh/ssh_launch.h"
#include "other/launch/ssh/ssh_wire.h"
#include "other/launch/why.h"

enum { PATIENCE_SECONDS = 15 };

static const char *option;          /* of the question: --stats, --why or --top */
static char question;               /* of ASK_QUESTIONS */
static struct ssh_wire_buf answers; /* not of --stats: what is to be reported about */

static bool silent; /* failures are not explained: the job was there before */

/* Prints a part of the answer, or keeps it for the report. */
static void ask_output(const char *text, size_t len)
{
    if (question == ASK_QUESTIONS[BOOTSTRAP_STATS])
        fwrite(text, 1, len, stdout); /* launcher_end_print reports a failure */
    else
        ssh_wire_put(&answers, text, len);
}

static void ask_output_line(const char *format, ...) __attribute__((format(printf, 1, 2)));
static void ask_output_line(const char *format, ...)
{
    char line[256];
    va_list args;
    va_start(args, format);
    const int n = vsnprintf(line, sizeof line, format, args);
    va_end(args);
    if (n > 0) ask_output(line, (size_t)n < sizeof line ? (size_t)n : sizeof line - 1);
}

/* Reports why there is no answer for that process. */
static void ask_explain_failure(pid_t job, int error)
{
    char file[64], name[64] = "";
    snprintf(file, sizeof file, "/proc/%d/comm", (int)job);
    FILE *comm = fopen(file, "r");
    bool exists = comm != NULL;
    if (silent) {
        if (comm) fclose(comm);
        return;
    }
    if (comm) {
        if (!fgets(name, sizeof name, comm)) name[0] = 0;
        fclose(comm);
        name[strcspn(name, "\n")] = 0;
    }
    if (!exists)
        launcher_log("%s %d: there is no such job here: a job is named by the process id of "
                     "its gasnetrun, on the machine where that runs (-v prints it)",
                     option, (int)job);
    else
        launcher_log("%s %d: process %d (%s) is no launcher that can be asked, and no rank of "
                     "such a job is here (%s): a job is named by the process id of its gasnetrun "
                     "(-v prints it)",
                     option, (int)job, (int)job, name, strerror(error));
}

/* Returns a connected socket, or -1 with errno. */
static int ask_connect(const struct sockaddr_un *address, socklen_t len, int seconds)
{
    struct timeval patience = {.tv_sec = seconds};
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0) return -1;
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
    if (connect(fd, (const struct sockaddr *)address, len) == 0) return fd;
    int error = errno;
    close(fd);
    errno = error;
    return -1;
}

enum answer { ANSWERED, SILENT, UNTRUSTED };

/* Whether what listens there may be believed.  Anyone may listen under any name: it must be of this
 * user, or of root; root also believes the user of the process that names the job. */
static bool ask_believed(int fd, pid_t job, uid_t *user)
{
    char process[32];
    struct stat of_job;
    if (ask_trusted(fd, user)) return true;
    snprintf(process, sizeof process, "/proc/%d", (int)job);
    const bool known = stat(process, &of_job) == 0;
    if (known && of_job.st_uid == *user && geteuid() == 0) return true;
    launcher_log(known && of_job.st_uid != *user
                     ? "%s %d: user %u, whose job that is not, listens under its name"
                     : "%s %d: that job is of user %u, who alone may ask",
                 option, (int)job, (unsigned)*user);
    return false;
}

/* Replaces control characters: another user's text must not command this user's terminal. */
static void ask_make_plain(char *bytes, size_t len)
{
    for (size_t i = 0; i < len; i++)
        if (((unsigned char)bytes[i] < ' ' && bytes[i] != '\n' && bytes[i] != '\t') ||
            bytes[i] == 0x7f)
            bytes[i] = '?';
}

/* Prints the answer up to its end. */
static enum answer ask_print_answer(int fd, pid_t job)
{
    char bytes[65536];
    bool any = false;
    ssize_t n;
    uid_t user = 0;
    if (!ask_believed(fd, job, &user)) return UNTRUSTED;
    (void)!send(fd, &question, 1, MSG_NOSIGNAL); /* a failure leaves no answer either */
    while ((n = recv(fd, bytes, sizeof bytes, 0)) > 0 || (n < 0 && errno == EINTR)) {
        if (n < 0) continue;
        if (user != geteuid()) ask_make_plain(bytes, (size_t)n);
        any = true;
        ask_output(bytes, (size_t)n);
    }
    /* One that refuses closes before it has read the question. */
    return (n < 0 && errno != ECONNRESET) || !any ? SILENT : ANSWERED;
}

/* --- ranks that answer for themselves --- */

/* A name under which a rank of the job would listen; not known yet whether one does. */
struct found {
    uint32_t rank, size;
};

enum rank_found { RANK_ENDED, RANK_HERE, RANK_FALSE };

static enum rank_found ask_rank(pid_t job, const struct found *found)
{
    struct sockaddr_un address;
    socklen_t len = ask_address(job, found->rank, found->size, &address);
    int fd = ask_connect(&address, len, ASK_ANSWER_MS / 1000);
    if (fd < 0 && errno == ECONNREFUSED) {
        ask_output_line("# rank %" PRIu32 " of %" PRIu32 ": has ended\n", found->rank, found->size);
        return RANK_ENDED;
    }
    const enum answer answer = fd < 0 ? SILENT : ask_print_answer(fd, job);
    if (answer == SILENT)
        ask_output_line("# rank %" PRIu32 " of %" PRIu32
                        ": no answer within %d s: is it stopped?\n",
                        found->rank, found->size, ASK_ANSWER_MS / 1000);
    if (fd >= 0) close(fd);
    return answer == UNTRUSTED ? RANK_FALSE : RANK_HERE;
}

static int compare_found(const void *left, const void *right)
{
    const struct found *a = left, *b = right;
    if (a->rank != b->rank) return a->rank < b->rank ? -1 : 1;
    return (a->size > b->size) - (a->size < b->size);
}

/* Returns the names on this host, in the order of ranks, each once. */
static struct found *find_ranks(pid_t job, size_t *count)
{
    char line[512], format[64];
    struct ssh_wire_buf buf = {0};
    FILE *sockets = fopen("/proc/net/unix", "r");
    snprintf(format, sizeof format, "@" ASK_NAME "/%%" SCNu32 "/%%" SCNu32, (int)job);
    while (sockets && fgets(line, sizeof line, sockets)) {
        const char *name = strchr(line, '@');
        struct found one;
        if (!name || sscanf(name, format, &one.rank, &one.size) != 2 || one.rank >= one.size)
            continue;
        ssh_wire_put(&buf, &one, sizeof one);
    }
    if (sockets) fclose(sockets);
    struct found *all = (struct found *)(void *)buf.data;
    size_t kept = 0, n = buf.len / sizeof *all;
    if (n) qsort(all, n, sizeof *all, compare_found);
    for (size_t i = 0; i < n; i++)
        if (!i || compare_found(&all[i], &all[i - 1])) all[kept++] = all[i];
    *count = kept;
    return all;
}

static bool ask_ranks(pid_t job)
{
    size_t count, false_names = 0;
    uint32_t size = 0, here = 0;
    struct found *all = find_ranks(job, &count);
    for (size_t i = 0; i < count; i++) {
        const enum rank_found found = ask_rank(job, &all[i]);
        false_names += found == RANK_FALSE;
        if (found != RANK_HERE) continue;
        size = all[i].size;
        here++;
    }
    if (here && here < size)
        ask_output_line("# %" PRIu32 " of %" PRIu32
                        " ranks are not on this machine, or have ended: ask on "
                        "their hosts: %s %d\n",
                        size - here, size, option, (int)job);
    free(all);
    return count > false_names;
}

static int ask(pid_t job)
{
    struct sockaddr_un address;
    socklen_t len = ask_address(job, 0, 0, &address);
    int fd = ask_connect(&address, len, PATIENCE_SECONDS);
    if (fd < 0) {
        int error = errno;
        if (ask_ranks(job)) return launcher_end_print();
        ask_explain_failure(job, error);
        return 1;
    }
    enum answer answer = ask_print_answer(fd, job);
    if (answer == SILENT && !silent)
        launcher_log("%s %d: the launcher does not answer: the job has just ended, or is "
                     "stopped",
                     option, (int)job);
    close(fd);
    return launcher_end_print() || answer != ANSWERED;
}

const char *ssh_ask_text(pid_t job, enum bootstrap_question what, bool again)
{
    static const char *const options[BOOTSTRAP_QUESTIONS] = {"--stats", "--why", "--top"};
    option = options[what];
    question = ASK_QUESTIONS[what];
    silent = again;
    ssh_wire_free(&answers);
    if (ask(job)) return NULL;
    ssh_wire_put(&answers, "", 1);
    if (answers.failed) {
        launcher_log("%s: out of memory for the answers", option);
        return NULL;
    }
    const char *text = (const char *)answers.data, *refused = strstr(text, "# refused: ");
    if (!refused) return text;
    launcher_log("%s: %.*s", option, (int)strcspn(refused + 2, "\n"), refused + 2);
    return NULL;
}

/* Prints the report; the exit status. */
static int ask_why(pid_t job, bool all)
{
    const char *text = ssh_ask_text(job, BOOTSTRAP_WHY, false);
    if (!text) return 1;
    char *report = why_report(text, all ? WHY_ALL : WHY_SHORT);
    if (report) fputs(report, stdout);
    if (!report) launcher_log("--why: out of memory for the report");
    free(report);
    return launcher_end_print() || !report;
}

/* Prints the answers as they come. */
static int ask_stats(pid_t job)
{
    option = "--stats";
    question = ASK_QUESTIONS[BOOTSTRAP_STATS];
    return ask(job);
}

int ssh_ask(pid_t job, enum ssh_ask_for what)
{
    int status = 1;
    switch (what) {
    case SSH_ASK_STATS:
        status = ask_stats(job);
        break;
    case SSH_ASK_WHY:
    case SSH_ASK_WHY_ALL:
        status = ask_why(job, what == SSH_ASK_WHY_ALL);
        break;
    case SSH_ASK_TOP:
        return ssh_top(job); /* whose thread may still use the answers */
    }
    ssh_wire_free(&answers);
    return status;
}
