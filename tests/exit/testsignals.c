/* testsignals.c - crashes and signals: which line they print, before and after attach, with and
 * without a stack left (section 2.12).
 *
 * `testsignals CASE`: the last rank acts, the others poll, or wait in attach where the case comes
 * before it.  tests/exit/signals.sh knows what each case must print and return.
 */
#define _GNU_SOURCE
#include "tests/programs/test.h"
#include <errno.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>
#ifdef GASNET_PAR
#include <pthread.h>
#endif

enum { SEGMENT = 64 * 1024, H_CRASH = 128, H_OVERFLOW };

/* --- ways to crash --- */

static volatile int *volatile nowhere;

static void fault(void)
{
    *nowhere = 1;
}

/* A volatile limit, so that the compiler sees an end. */
static volatile long levels = 1L << 40;

static __attribute__((noinline)) long sink(long level, const volatile char *above)
{
    volatile char frame[1024];
    frame[level & 1023] = (char)(above[0] + 1);
    if (level >= levels) return frame[0];
    return sink(level + 1, frame) + frame[level & 1023];
}

static void overflow(void)
{
    printf("%ld\n", sink(0, ""));
}

static void on_crash(gasnet_token_t token)
{
    (void)token;
    fault();
}

static void on_overflow(gasnet_token_t token)
{
    (void)token;
    overflow();
}

static gasnet_handlerentry_t table[] = {{H_CRASH, on_crash}, {H_OVERFLOW, on_overflow}};

static bool acts(void)
{
    return test_rank == test_size - 1;
}

static void attach(void)
{
    test_attach(table, TEST_COUNT(table), SEGMENT);
}

static int __attribute__((noreturn)) poll_on(void)
{
    for (;;) gasnet_AMPoll();
}

/* Attached, and in step. */
static int crash_attached(void (*crash)(void))
{
    attach();
    test_sync();
    if (acts()) crash();
    return poll_on();
}

/* The others are on their way into attach. */
static int crash_early(void (*crash)(void))
{
    if (acts()) crash();
    attach();
    return poll_on();
}

static int attached_fault(void)
{
    return crash_attached(fault);
}
static int attached_overflow(void)
{
    return crash_attached(overflow);
}
static int early_fault(void)
{
    return crash_early(fault);
}
static int early_overflow(void)
{
    return crash_early(overflow);
}
static int early_abort(void)
{
    return crash_early(abort);
}

static void terminate(void)
{
    raise(SIGTERM);
    for (;;) pause();
}
static int early_term(void)
{
    return crash_early(terminate);
}

/* --- the program's own handlers and stacks --- */

static void on_own(int number)
{
    static const char line[] = "OWN HANDLER\n";
    (void)number;
    (void)!write(STDOUT_FILENO, line, sizeof line - 1);
    _exit(33);
}

/* Called before gasnet_init. */
static void prepare_own_handler(void)
{
    signal(SIGSEGV, on_own);
}

static int own_handler(void)
{
    return crash_attached(fault);
}

static int own_handler_between(void)
{
    signal(SIGSEGV, on_own);
    return crash_attached(fault);
}

static char main_stack[128 * 1024];

static void set_stack(void *memory, size_t size)
{
    stack_t stack = {.ss_sp = memory, .ss_size = size};
    if (sigaltstack(&stack, NULL)) perror("sigaltstack");
}

/* The alternate stack of the calling thread; NULL where it has none. */
static void *stack_now(void)
{
    stack_t stack;
    return sigaltstack(NULL, &stack) || (stack.ss_flags & SS_DISABLE) ? NULL : stack.ss_sp;
}

static void prepare_own_stack(void)
{
    set_stack(main_stack, sizeof main_stack);
}

static int own_stack(void)
{
    attach();
    if (acts()) printf("%s\n", stack_now() == main_stack ? "KEPT" : "REPLACED");
    fflush(stdout);
    test_sync();
    if (acts()) overflow();
    return poll_on();
}

static int no_stack(void)
{
    attach();
    printf("%s\n", stack_now() ? "A STACK" : "NO STACK");
    test_sync();
    return 0;
}

/* --- PAR: other threads --- */

#ifdef GASNET_PAR

static void run_thread(void *(*body)(void *))
{
    pthread_t thread;
    if (pthread_create(&thread, NULL, body, NULL)) abort();
    pthread_join(thread, NULL);
}

/* What only polls finds nothing as often as it takes to be known. */
static void *poll_and_overflow(void *unused)
{
    for (int i = 0; i < 1000; i++) gasnet_AMPoll();
    overflow();
    return unused;
}
static void *put_and_overflow(void *unused)
{
    int here = 1;
    gasnet_put_nbi(0, test_at(0, 0), &here, sizeof here);
    gasnet_wait_syncnbi_puts();
    overflow();
    return unused;
}
static void overflow_of_poller(void)
{
    run_thread(poll_and_overflow);
}
static void overflow_of_putter(void)
{
    run_thread(put_and_overflow);
}
static int thread_overflow(void)
{
    return crash_attached(overflow_of_poller);
}
static int thread_overflow_put(void)
{
    return crash_attached(overflow_of_putter);
}

/* GASNET_RCV_THREAD=1: the last rank polls no more once its word is on the way, so that the receive
 * thread has to run the handler. */
static int receive(gasnet_handler_t handler)
{
    attach();
    volatile char *word = test_at(0, 0);
    test_sync();
    if (acts()) {
        gasnet_put_nbi(0, test_at(0, 0), &(char){1}, 1);
        for (;;) pause();
    }
    while (!*word) gasnet_AMPoll();
    gasnet_AMRequestShort0((gasnet_node_t)(test_size - 1), handler);
    return poll_on();
}
static int receive_fault(void)
{
    return receive(H_CRASH);
}
static int receive_overflow(void)
{
    return receive(H_OVERFLOW);
}

static void *own_stack_of_thread(void *kept)
{
    static char memory[64 * 1024];
    int here = 1;
    set_stack(memory, sizeof memory);
    gasnet_put_nbi((gasnet_node_t)test_next, test_at(test_next, 0), &here, sizeof here);
    gasnet_wait_syncnbi_puts();
    *(bool *)kept = stack_now() == memory;
    return NULL;
}
static int own_stack_thread(void)
{
    bool kept = false;
    pthread_t thread;
    attach();
    if (pthread_create(&thread, NULL, own_stack_of_thread, &kept)) abort();
    pthread_join(thread, NULL);
    printf("%s\n", kept ? "KEPT" : "REPLACED");
    test_sync();
    return 0;
}

static long mapped(void)
{
    long pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    if (!file || fscanf(file, "%ld", &pages) != 1) abort();
    fclose(file);
    return pages * (long)sysconf(_SC_PAGESIZE);
}

static void *has_stack(void *unused)
{
    gasnet_put_nbi((gasnet_node_t)test_next, test_at(test_next, 0), &(char){1}, 1);
    gasnet_wait_syncnbi_puts();
    if (!stack_now()) printf("A THREAD WITHOUT\n");
    return unused;
}

/* Thousands come and go, one at a time: what they had is given back. */
static int stacks_freed(void)
{
    enum { THREADS = 2000, LEAST = 4096 };
    attach();
    run_thread(has_stack);
    long before = mapped();
    for (int i = 0; i < THREADS; i++) run_thread(has_stack);
    long grown = mapped() - before;
    printf("%s (%ld bytes)\n", grown < THREADS * LEAST ? "FREED" : "LEFT BEHIND", grown);
    test_sync();
    return 0;
}
#endif

/* --- which one --- */

static const struct {
    const char *name;
    void (*prepare)(void); /* before gasnet_init; may be NULL */
    int (*run)(void);      /* after it */
} cases[] = {
    {"fault", NULL, attached_fault},
    {"overflow", NULL, attached_overflow},
    {"early_fault", NULL, early_fault},
    {"early_overflow", NULL, early_overflow},
    {"early_abort", NULL, early_abort},
    {"early_term", NULL, early_term},
    {"own_handler", prepare_own_handler, own_handler},
    {"own_handler_between", NULL, own_handler_between},
    {"own_stack", prepare_own_stack, own_stack},
    {"no_stack", NULL, no_stack},
#ifdef GASNET_PAR
    {"thread_overflow", NULL, thread_overflow},
    {"thread_overflow_put", NULL, thread_overflow_put},
    {"receive_fault", NULL, receive_fault},
    {"receive_overflow", NULL, receive_overflow},
    {"own_stack_thread", NULL, own_stack_thread},
    {"stacks_freed", NULL, stacks_freed},
#endif
};

int main(int argc, char **argv)
{
    const char *name = argc > 1 ? argv[1] : "";
    for (int i = 0; i < TEST_COUNT(cases); i++) {
        if (strcmp(name, cases[i].name) != 0) continue;
        if (cases[i].prepare) cases[i].prepare();
        test_init(&argc, &argv);
        return cases[i].run();
    }
    fprintf(stderr, "usage: testsignals CASE\n");
    return 98;
}
