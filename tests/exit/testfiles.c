/* testfiles.c - writes a line to a file that it does not close, and ends in the way that it is
 * told; files.sh looks at the files.
 *
 *   testfiles HOW PATH     writes PATH.RANK, `the last line`
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/programs/test.h"

enum { H_LEAVE = 128 };

static void on_leave(gasnet_token_t token)
{
    (void)token;
    gasnet_exit(3);
}
static gasnet_handlerentry_t table[] = {{H_LEAVE, on_leave}};

static void poll_on(void)
{
    for (;;) gasnet_AMPoll();
}

/* A file behind a pipe that nobody reads. */
static void open_full_pipe(void)
{
    static char much[1 << 16];
    int ends[2];
    if (pipe(ends) || fcntl(ends[1], F_SETFL, O_NONBLOCK)) _exit(99);
    while (write(ends[1], much, sizeof much) > 0) continue;
    if (fcntl(ends[1], F_SETFL, 0)) _exit(99);
    FILE *file = fdopen(ends[1], "w");
    if (!file || fputs("more\n", file) < 0) _exit(99);
}

/* --- writes of a thread while its process already exits --- */

static char path[1000]; /* of this rank's file */
static void mark(const char *what)
{
    char name[1100];
    snprintf(name, sizeof name, "%s.%s", path, what);
    const int fd = open(name, O_CREAT | O_WRONLY, 0600);
    if (fd < 0 || close(fd)) _exit(99);
}
static void await(const char *what)
{
    char name[1100];
    snprintf(name, sizeof name, "%s.%s", path, what);
    while (access(name, F_OK)) sched_yield();
}
/* Rank 1, when it is told that the job ends: rank 0 waits for its answer then. */
static void told_late(int number)
{
    (void)number;
    mark("told");
    await("written");
}

#ifdef GASNET_PAR
static void *exit_now(void *unused)
{
    gasnet_exit(0);
    return unused;
}
static void write_late(FILE *file)
{
    pthread_t thread;
    if (pthread_create(&thread, NULL, exit_now, NULL)) _exit(99);
    await("told");
    printf("printed late\n");
    fputs("the last line\n", file);
    mark("written");
    for (;;) pause();
}

static FILE *other_file;
static int begun;
static void *hold(void *unused)
{
    flockfile(other_file);
    test_add(&begun, 1);
    for (;;) pause();
    return unused;
}
static void *get_line(void *unused)
{
    char line[10];
    flockfile(other_file); /* as getc does, until a line comes */
    test_add(&begun, 1);
    return fgets(line, sizeof line, other_file) ? unused : NULL;
}
/* Starts a thread that has a file's lock: for good, or while it waits for input. */
static void start(void *(*body)(void *), const char *mode)
{
    pthread_t thread;
    int ends[2];
    if (pipe(ends)) _exit(99);
    other_file = fdopen(ends[*mode == 'w'], mode);
    if (!other_file || (*mode == 'w' && fputs("more\n", other_file) < 0)) _exit(99);
    if (pthread_create(&thread, NULL, body, NULL)) _exit(99);
    while (!test_get(&begun)) continue;
}
#endif

static int leave_by(const char *how)
{
    if (strcmp(how, "exit") == 0) exit(0);
    if (strcmp(how, "gasnet_exit") == 0) gasnet_exit(0);
    if (strcmp(how, "told") == 0 && test_rank == 0) gasnet_exit(3);
    if (strcmp(how, "handler") == 0 && test_rank == 0)
        gasnet_AMRequestShort0((gasnet_node_t)(test_size - 1), H_LEAVE);
    if (strcmp(how, "by_quit") == 0 && test_rank == 0) raise(SIGQUIT);
    if (strcmp(how, "by_term") == 0 && test_rank == 0) raise(SIGTERM);
    if (strcmp(how, "main") == 0) return 0;
    if (strncmp(how, "full_pipe", 9) == 0) open_full_pipe();
    if (strcmp(how, "full_pipe_main") == 0) return 0;
    if (strcmp(how, "full_pipe") == 0) gasnet_exit(0);
#ifdef GASNET_PAR
    if (strcmp(how, "held") == 0) start(hold, "w");
    if (strcmp(how, "held") == 0) gasnet_exit(0);
    if (strcmp(how, "read") == 0) start(get_line, "r");
    if (strcmp(how, "read") == 0) gasnet_exit(0);
#endif
    poll_on();
    return 0;
}

int main(int argc, char **argv)
{
    char name[1000];
    test_init(&argc, &argv);
    if (argc != 3) return 98;
    test_attach(table, TEST_COUNT(table), GASNET_PAGESIZE);
    snprintf(name, sizeof name, "%s.%d", argv[2], test_rank);
    snprintf(path, sizeof path, "%s", argv[2]);
    setvbuf(stdout, NULL, _IOFBF, BUFSIZ);
    FILE *file = fopen(name, "w");
    const bool late = strcmp(argv[1], "late") == 0;
    if (!file || (!late && fputs("the last line\n", file) < 0)) return 98;
    if (late) signal(SIGQUIT, told_late);
    test_sync();
#ifdef GASNET_PAR
    if (late && test_rank == 0) write_late(file);
#endif
    /* cppcheck-suppress resourceLeak; it is not closed, by intent */
    return leave_by(argv[1]);
}
