/* testsignals.c - crashes and signals: which line they print, before and after attach, with and
 * without a stack left (section 2.12).
 *
 * `testsignals CASE`: the last rank acts, the others poll, or wait in attach where the case comes
 * before it.  tests/exit/signals.sh knows what each case must print and return.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/programs/test.h"
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

/* Ends the process by an error that the library finds. */
static __attribute__((noinline)) void break_rule(void)
{
    gasnet_put_val((gasnet_node_t)test_size, (void *)&levels, 0, 1);
    __asm__ volatile("");
}
static int attached_error(void)
{
    return crash_attached(break_rule);
}
static int early_error(void)
{
    return crash_early(break_rule);
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

/* --- a signal stack of the program's that is too small for a report --- */

/* Bytes that a signal frame leaves of the stack. */
enum { LEFT_TINY = 1024, LEFT_SMALL = 4096 };

/* The part of main_stack that a handler finds taken by its frame. */
static size_t frame_size;
static void measure_frame(int number)
{
    (void)number;
    frame_size = (size_t)(main_stack + sizeof main_stack - (char *)__builtin_frame_address(0));
}

static void on_stack(int number, void (*handler)(int))
{
    struct sigaction action = {.sa_handler = handler, .sa_flags = SA_ONSTACK};
    sigaction(number, &action, NULL);
    raise(number);
}

static void set_small_stack(size_t left, bool guarded)
{
    prepare_own_stack();
    on_stack(SIGUSR2, measure_frame);
    const size_t size = frame_size + left;
    char *memory = malloc(size);
    if (guarded) memory = mmap(NULL, SEGMENT, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (guarded) mprotect(memory += GASNET_PAGESIZE, size, PROT_READ | PROT_WRITE);
    set_stack(memory, size);
}

static void prepare_tiny_stack(void)
{
    set_small_stack(LEFT_TINY, true);
}
static void prepare_small_stack(void)
{
    set_small_stack(LEFT_SMALL, true);
}
static void prepare_heap_stack(void)
{
    set_small_stack(LEFT_TINY, false);
}

static int attached_abort(void)
{
    return crash_attached(abort);
}

static void crash_on_stack(int number)
{
    (void)number;
    fault();
}
static void crash_in_handler(void)
{
    on_stack(SIGUSR1, crash_on_stack);
}
/* Two frames have to fit. */
static void prepare_stack_for_two(void)
{
    set_small_stack(0, true);
    set_small_stack(frame_size + LEFT_SMALL, true);
}
static int handler_fault(void)
{
    return crash_attached(crash_in_handler);
}

/* --- crashes while the job ends: every rank ends with 0, or with 3, and the last one crashes ---
 */

static bool armed; /* on the last rank, when it ends */

static void crash_late(void (*crash)(void))
{
    if (armed) crash();
}
static void late_fault(void)
{
    crash_late(fault);
}
static void late_abort(void)
{
    crash_late(abort);
}
static void kill_self(void)
{
    raise(SIGKILL);
}
static void late_kill(void)
{
    crash_late(kill_self);
}

/* The functions of prepare_late_... register handlers that run after the library's part of
 * exit(). */
static void prepare_late_fault(void)
{
    atexit(late_fault);
}
static void prepare_late_abort(void)
{
    atexit(late_abort);
}
static void prepare_late_kill(void)
{
    atexit(late_kill);
}

static int returns_0(void)
{
    attach();
    test_sync();
    armed = acts();
    return 0;
}
static int returns_3(void)
{
    returns_0();
    return 3;
}

/* The library's flush aborts. */
static ssize_t write_and_abort(void *cookie, const char *text, size_t size)
{
    (void)cookie, (void)text;
    late_abort();
    return (ssize_t)size;
}
static int flush_aborts(void)
{
    attach();
    stdout = fopencookie(NULL, "w", (cookie_io_functions_t){.write = write_and_abort});
    if (!stdout) abort();
    printf("LAST\n");
    test_sync();
    armed = acts();
    gasnet_exit(0);
    return 0;
}

/* The C library finds a damaged heap while its lock is held. */
static void damage_heap(void)
{
    enum { UNSORTED = 2000 }; /* bytes: too many for the caches of malloc, which have no lock */
    static size_t *volatile block, *volatile freed, *volatile next;
    freed = block = malloc(UNSORTED);
    next = malloc(UNSORTED); /* keeps the first from the rest of the heap */
    free(block);
    freed[1] = (uintptr_t)next; /* the link of the list */
    next = malloc(2 * UNSORTED);
}
static int attached_damage(void)
{
    return crash_attached(damage_heap);
}

extern void __stack_chk_fail(void);
static int attached_smash(void)
{
    return crash_attached(__stack_chk_fail);
}

#ifdef GASNET_SEQ
/* The first free() of the library's last part aborts, as it does where the heap is damaged. */
extern void __libc_free(void *memory);
static bool free_aborts;
__attribute__((visibility("default"))) void free(void *memory)
{
    if (free_aborts) late_abort();
    __libc_free(memory);
}
static int close_aborts(void)
{
    returns_0();
    free_aborts = true;
    gasnet_exit(0);
    return 0;
}
#endif

/* --- PAR: other threads --- */

#ifdef GASNET_PAR

static void run_thread(void *(*body)(void *))
{
    pthread_t thread;
    if (pthread_create(&thread, NULL, body, NULL)) abort();
    pthread_join(thread, NULL);
}

/* Overflows the stack of a thread that only polls. Such a thread gets its record and signal stack
 * by a poll on the slow path, so it polls often enough for that. */
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

static void block_all(void)
{
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, NULL);
}
static void *block_and_fault(void *unused)
{
    block_all();
    fault();
    return unused;
}
static void *block_and_abort(void *unused)
{
    (void)unused;
    block_all();
    abort();
}
static void fault_of_blocker(void)
{
    run_thread(block_and_fault);
}
static void abort_of_blocker(void)
{
    run_thread(block_and_abort);
}
static int thread_blocked_fault(void)
{
    return crash_attached(fault_of_blocker);
}
static int thread_blocked_abort(void)
{
    return crash_attached(abort_of_blocker);
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

/* Runs thousands of threads, one at a time: their memory is freed. */
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
    {"error", NULL, attached_error},
    {"early_error", NULL, early_error},
    {"early_term", NULL, early_term},
    {"own_handler", prepare_own_handler, own_handler},
    {"own_handler_between", NULL, own_handler_between},
    {"own_stack", prepare_own_stack, own_stack},
    {"no_stack", NULL, no_stack},
    {"tiny_stack_fault", prepare_tiny_stack, attached_fault},
    {"tiny_stack_abort", prepare_tiny_stack, attached_abort},
    {"small_stack_fault", prepare_small_stack, attached_fault},
    {"small_stack_abort", prepare_small_stack, attached_abort},
    {"small_stack_overflow", prepare_small_stack, attached_overflow},
    {"heap_stack_fault", prepare_heap_stack, attached_fault},
    {"heap_stack_abort", prepare_heap_stack, attached_abort},
    {"small_stack_handler_fault", prepare_stack_for_two, handler_fault},
    {"late_fault", prepare_late_fault, returns_3},
    {"late_abort", prepare_late_abort, returns_0},
    {"late_kill", prepare_late_kill, returns_0},
    {"flush_aborts", NULL, flush_aborts},
    {"damage", NULL, attached_damage},
    {"smash", NULL, attached_smash},
#ifdef GASNET_SEQ
    {"close_aborts", NULL, close_aborts},
#endif
#ifdef GASNET_PAR
    {"thread_overflow", NULL, thread_overflow},
    {"thread_overflow_put", NULL, thread_overflow_put},
    {"thread_blocked_fault", NULL, thread_blocked_fault},
    {"thread_blocked_abort", NULL, thread_blocked_abort},
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
