/* testwords.c - programs that break a rule of the library, to test its messages.
 *
 *     testwords child WHAT   rank 0 forks, and the child does WHAT: short, medium, put, get, poll
 *                            or crash
 *     testwords crash        rank 0 is killed by SIGSEGV
 *     testwords flush        every rank prints a word without an end of line, and rank 0 exits
 *     testwords thread       rank 0 puts to a wrong address, in a second thread
 *     testwords closes       rank 0 closes every descriptor but the standard ones
 *     testwords prints [N]   each rank prints its number, N times
 *     testwords returns      each rank prints, and returns from main
 *
 * Run by words.sh.
 */
#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/programs/test.h"

static gasnet_seginfo_t segment[16];
static char buffer[4096];
static gasnet_node_t peer;

static void on_short(gasnet_token_t token)
{
    (void)token;
}

static void on_medium(gasnet_token_t token, void *data, size_t length)
{
    (void)token, (void)data, (void)length;
}

static void meet(void)
{
    gasnet_barrier_notify(0, GASNET_BARRIERFLAG_ANONYMOUS);
    gasnet_barrier_wait(0, GASNET_BARRIERFLAG_ANONYMOUS);
}

static void communicate(const char *what)
{
    if (!strcmp(what, "short")) gasnet_AMRequestShort0(peer, 200);
    if (!strcmp(what, "medium")) gasnet_AMRequestMedium0(peer, 201, buffer, 100);
    if (!strcmp(what, "put")) gasnet_put(peer, segment[peer].addr, buffer, 100);
    if (!strcmp(what, "get")) gasnet_get(buffer, peer, segment[peer].addr, 100);
    if (!strcmp(what, "poll")) gasnet_AMPoll();
    if (!strcmp(what, "crash")) raise(SIGSEGV);
}

static void in_child(const char *what)
{
    int status = 0;
    pid_t child = fork();
    if (child == 0) {
        communicate(what);
        _exit(0);
    }
    waitpid(child, &status, 0);
    printf("child ended with %d\n", WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status));
}

static void close_descriptors(void)
{
    for (int fd = 3; fd < 256; fd++) close(fd);
}

static void *in_thread(void *unused)
{
    gasnet_put(peer, (char *)segment[peer].addr + (UINT64_C(1) << 40), buffer, sizeof buffer);
    return unused;
}

int main(int argc, char **argv)
{
    gasnet_handlerentry_t table[] = {{200, (void *)on_short}, {201, (void *)on_medium}};
    if (gasnet_init(&argc, &argv) != GASNET_OK) return 1;
    if (gasnet_attach(table, 2, GASNET_PAGESIZE, 0) != GASNET_OK || argc < 2) return 1;
    gasnet_getSegmentInfo(segment, 16);
    peer = (gasnet_mynode() + 1) % gasnet_nodes();
    gasnet_put(peer, segment[peer].addr, buffer, 100); /* connects the ranks */
    meet();
    if (gasnet_mynode() == 0 && !strcmp(argv[1], "child")) in_child(argv[2]);
    if (gasnet_mynode() == 0 && !strcmp(argv[1], "closes")) close_descriptors();
    for (int n = !strcmp(argv[1], "prints") ? argc > 2 ? atoi(argv[2]) : 1 : 0; n > 0; n--)
        printf("rank %d\n", (int)gasnet_mynode());
    if (gasnet_mynode() == 0 && !strcmp(argv[1], "thread")) {
        pthread_t thread;
        pthread_create(&thread, NULL, in_thread, NULL);
        pthread_join(thread, NULL);
    }
    if (gasnet_mynode() == 0 && !strcmp(argv[1], "crash")) raise(SIGSEGV);
    if (!strcmp(argv[1], "flush")) {
        printf("<word of %d>", (int)gasnet_mynode());
        meet();
        if (gasnet_mynode() == 0) gasnet_exit(0);
        GASNET_BLOCKUNTIL(0);
    }
    if (!strcmp(argv[1], "returns")) puts("word");
    if (strcmp(argv[1], "closes")) meet();
    if (!strcmp(argv[1], "returns")) return 0;
    gasnet_exit(0);
}
