/* testconnect.c - connections at first use (IB-W4): which ranks are connected, when, and by which
 * call.
 *
 * Run by connect.sh.  The queue pairs of this process are counted where the library asks the verbs
 * to make and to destroy them; everything else goes through the client API.
 */
#define _GNU_SOURCE /* RTLD_NEXT */
#include <dlfcn.h>
#include <glob.h>
#include <infiniband/verbs.h>
#include <sched.h>
#include <signal.h>
#include <unistd.h>

#include "tests/programs/test.h"

enum { SEGMENT = GASNET_PAGESIZE, HI = 200, HELLO_BACK };

static int connected, datagrams; /* queue pairs that exist */
static volatile int answers, heard;

__attribute__((visibility("default"))) struct ibv_qp *ibv_create_qp(struct ibv_pd *pd,
                                                                    struct ibv_qp_init_attr *attr)
{
    static struct ibv_qp *(*next)(struct ibv_pd *, struct ibv_qp_init_attr *);
    if (!next) *(void **)&next = dlsym(RTLD_NEXT, "ibv_create_qp");
    struct ibv_qp *qp = next(pd, attr);
    if (qp && attr->qp_type == IBV_QPT_RC) __atomic_fetch_add(&connected, 1, __ATOMIC_SEQ_CST);
    if (qp && attr->qp_type == IBV_QPT_UD) datagrams++;
    return qp;
}

__attribute__((visibility("default"))) int ibv_destroy_qp(struct ibv_qp *qp)
{
    static int (*next)(struct ibv_qp *);
    if (!next) *(void **)&next = dlsym(RTLD_NEXT, "ibv_destroy_qp");
    if (qp->qp_type == IBV_QPT_RC) __atomic_fetch_sub(&connected, 1, __ATOMIC_SEQ_CST);
    return next(qp);
}

static int made(void)
{
    return __atomic_load_n(&connected, __ATOMIC_SEQ_CST);
}

static void hi(gasnet_token_t token, gasnet_handlerarg_t x)
{
    heard++;
    gasnet_AMReplyShort1(token, HELLO_BACK, x + 1);
}

static void hello_back(gasnet_token_t token, gasnet_handlerarg_t x)
{
    (void)token;
    answers += x == 42;
}

static volatile uint64_t *word(int rank, int index)
{
    return (volatile uint64_t *)test_seg[rank].addr + index;
}

static void put_word(int rank, int index, uint64_t value)
{
    gasnet_put(rank, (void *)(uintptr_t)word(rank, index), &value, sizeof value);
}

/* Looks at memory only: the library is not called. */
static void watch_word(int index)
{
    while (!*word(test_rank, index)) usleep(100);
}

/* Rank 0 puts and gets; the others compute until they see it. */
static void to_one_that_computes(void)
{
    if (test_rank == 0) {
        for (int r = 1; r < test_size; r++) {
            uint64_t back = 0;
            put_word(r, 1, 7);
            gasnet_get(&back, r, (void *)(uintptr_t)word(r, 1), sizeof back);
            test_check(back == 7, "rank %d holds %llu", r, (unsigned long long)back);
            put_word(r, 0, 1);
        }
    } else {
        watch_word(0);
    }
}

static bool at_start(void)
{
    const char *wanted = gasnet_getenv("GASNET_CONNECT_STATIC");
    return wanted && *wanted == '1';
}

/* Connected by the connection manager, without datagrams. */
static bool managed(void)
{
    const char *way = gasnet_getenv("GASNET_CONNECT");
    return way && !strcmp(way, "rdmacm");
}

/* With the library alone: the test's own messages would connect others. */
static void neighbours(void)
{
    const int all = test_size - 1, two = test_size > 2 ? 2 : 1, before = made();
    test_seg = malloc((size_t)test_size * sizeof *test_seg);
    if (gasnet_attach(NULL, 0, SEGMENT, 0) || gasnet_getSegmentInfo(test_seg, test_size))
        gasnet_exit(4);
    put_word(test_next, 2, 1);
    watch_word(2);
    const int now = made();
    bool good = before == (at_start() ? all : 0) && now == (at_start() ? all : two) &&
                datagrams == (!at_start() && !managed());
    printf("%s %d: %d queue pairs before, %d now, %d for datagrams\n", good ? "rank" : "WRONG",
           test_rank, before, now, datagrams);
    /* An exit connects to rank 0, which must have counted before. */
    if (test_rank) watch_word(3);
    put_word(test_next, 3, 1);
    gasnet_exit(good ? 0 : 3);
}

/* All ranks connect to all ranks at the same time. */
static void all_at_once(void)
{
    for (int i = 1; i < test_size; i++)
        gasnet_AMRequestShort1((gasnet_node_t)((test_rank + i) % test_size), HI, 41);
    GASNET_BLOCKUNTIL(answers == test_size - 1 && heard == test_size - 1);
    const int all = test_size - 1, n = made();
    test_check(n == all, "%d queue pairs with %d peers", n, all);
}

static bool all_stopped(int pid)
{
    char pattern[40];
    glob_t threads;
    bool all = true;
    snprintf(pattern, sizeof pattern, "/proc/%d/task/*/stat", pid);
    if (glob(pattern, 0, NULL, &threads)) return false;
    for (size_t i = 0; i < threads.gl_pathc; i++) {
        char state = 0;
        FILE *file = fopen(threads.gl_pathv[i], "r");
        if (file && fscanf(file, "%*d (%*[^)]) %c", &state) != 1) state = 0;
        if (file) fclose(file);
        all = all && state == 'T';
    }
    globfree(&threads);
    return all;
}

/* The last rank writes into the file which process it is; rank 0 stops it, and returns when none of
 * its threads runs. */
static void stop_last(const char *name, bool last)
{
    int pid = 0;
    while (last || pid == 0) {
        FILE *file = fopen(name, last ? "w" : "r");
        if (file && last) fprintf(file, "%d\n", (int)getpid());
        if (file && !last && fscanf(file, "%d", &pid) != 1) pid = 0;
        if (file) fclose(file);
        if (last) return;
        sched_yield();
    }
    kill(pid, SIGSTOP);
    while (!all_stopped(pid)) sched_yield();
}

/* Exits of a job in which no rank has sent anything. */
static void end(const char *how, const char *name)
{
    const bool last = test_rank == test_size - 1;
    if (gasnet_attach(NULL, 0, SEGMENT, 0)) gasnet_exit(4);
    if (!strcmp(how, "together") || (!strcmp(how, "alone") && last)) gasnet_exit(0);
    if (!strcmp(how, "killed") && last) raise(SIGKILL);
    if (!strcmp(how, "killed")) gasnet_exit(0);
    /* Rank 0 needs the last, which does not answer. */
    const bool stopped = !strcmp(how, "stopped");
    if (stopped && (last || test_rank == 0)) stop_last(name, last);
    if (stopped && test_rank == 0)
        gasnet_AMRequestMedium0((gasnet_node_t)(test_size - 1), HI, "", 0);
    for (;;) gasnet_AMPoll();
}

int main(int argc, char **argv)
{
    gasnet_handlerentry_t table[] = {{HI, (void (*)(void))hi},
                                     {HELLO_BACK, (void (*)(void))hello_back}};
    static const struct test_rule rules[] = {
        {"IB-W4 a put to one that computes", to_one_that_computes},
        {"IB-W4 all ranks connect to all at the same time", all_at_once},
    };
    test_init(&argc, &argv);
    if (argc > 1 && !strcmp(argv[1], "neighbours")) neighbours();
    if (argc > 2 && !strcmp(argv[1], "end")) end(argv[2], argv[3]);
    test_attach(table, TEST_COUNT(table), SEGMENT);
    test_run(rules, TEST_COUNT(rules));
    test_finish();
}
