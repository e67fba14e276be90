/* test.h - functions of every client-level test program: job set-up, rules, checks, random data.
 *
 * A program is a table of rules; test_run walks it on all ranks in step, and rank 0 prints a TAP
 * line for each rule after the failures of every rank were gathered (by Active Messages alone, so
 * that the barrier tests do not rest on barriers). Only the public client API may be used here.
 */
#ifndef TEST_H
#define TEST_H

#include <gasnet.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef GASNET_SEGMENT_EVERYTHING
enum { TEST_EVERYTHING = 1 }; /* all memory of a node is its segment */
#else
enum { TEST_EVERYTHING = 0 };
#endif

#define TEST_COUNT(array) ((int)(sizeof(array) / sizeof((array)[0])))

struct test_rule {
    const char *name; /* starts with the tag of the requirement it proves */
    void (*check)(void);
};

/* Set by test_start (or test_init); constant afterwards. */
extern int test_rank, test_size;
extern int test_next, test_prev;   /* next and previous rank in the ring of ranks */
extern uint64_t test_seed;         /* same on all ranks; printed, TEST_SEED repeats it */
extern gasnet_seginfo_t *test_seg; /* [test_size] */

/* gasnet_init, then attach with the program's handlers (indices 128..251) and `segsize` bytes. With
 * GASNET_SEGMENT_EVERYTHING, test_seg is memory that the program has allocated. */
void test_start(int *argc, char ***argv, gasnet_handlerentry_t *table, int entries,
                uintptr_t segsize);
/* The two halves of test_start, for programs that look at the time between. */
void test_init(int *argc, char ***argv);
void test_attach(gasnet_handlerentry_t *table, int entries, uintptr_t segsize);

/* The start of programs that speak GASNet-EX, which sets these too. */
extern gex_Client_t test_client;
extern gex_TM_t test_tm;
void test_ex_start(int *argc, char ***argv, gex_AM_Entry_t *table, size_t entries,
                   uintptr_t segsize);

/* For programs that make the calls of start themselves.  test_watch: first, starts the watchdog.
 * test_ex_join: collective, after gex_Client_Init, before or after the segment is attached; sets
 * all of the above but test_seg, and takes the handlers 253..255. */
void test_watch(void);
void test_ex_join(gex_Client_t client, gex_TM_t tm);

/* Runs every rule (or those whose name contains $TEST_ONLY). */
void test_run(const struct test_rule *rules, int count);
/* Prints the plan and ends the job: 0 if every rule held on every rank. */
void test_finish(void) __attribute__((noreturn));
/* All of test_finish but the end: returns the status of the job, the same on all ranks. */
int test_close(void);

/* Collective: all ranks arrive before any leaves.  Returns the sum of what the ranks gave. */
uint32_t test_sync_sum(uint32_t mine);
void test_sync(void);

/* Marks the present rule as skipped; to be called by every rank alike. */
void test_skip(const char *reason);

/* Names the present phase for the watchdog, and restarts its term. */
void test_phase(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Checks a condition. A failure is reported with rank, file and line and counted; the program goes
 * on. */
#define test_check(cond, ...) test_checked((cond), __FILE__, __LINE__, #cond, __VA_ARGS__)
static inline bool test_passed(void)
{
    return true;
}
bool test_checked(bool holds, const char *file, int line, const char *cond, const char *format, ...)
    __attribute__((format(printf, 5, 6)));

/* 1, or TEST_THIN=N: of many like cases one in N is tried, because the device takes long over each.
 */
int test_thin(void);

/* Iterations for a job of this size on few cores: `base` up to two ranks, fewer for more. */
int test_iterations(int base);

/* --- deterministic data --- */

/* A good mixing function of one word. */
static inline uint64_t test_mix(uint64_t x)
{
    x += 0x9e3779b97f4a7c15u;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

struct test_random {
    uint64_t state;
};
/* A stream that differs for every (seed, rank, purpose). */
static inline struct test_random test_random_for(uint64_t purpose)
{
    return (struct test_random){
        test_mix(test_seed ^ test_mix((uint64_t)test_rank << 32 ^ purpose))};
}
static inline uint64_t test_random(struct test_random *r)
{
    return test_mix(r->state += 0x9e3779b97f4a7c15u);
}
/* Uniform in [0, bound). */
static inline uint64_t test_below(struct test_random *r, uint64_t bound)
{
    return test_random(r) % bound;
}

/* Fills memory with the pattern of `key`; finds the first byte that differs from it (-1: none). */
void test_fill(void *memory, size_t length, uint64_t key);
ptrdiff_t test_mismatch(const void *memory, size_t length, uint64_t key);
/* First byte that is not `value` (-1: none). */
ptrdiff_t test_not_all(const void *memory, size_t length, uint8_t value);

/* --- counters shared with handlers, which may run on another thread --- */

static inline int test_add(int *counter, int n)
{
    return __atomic_add_fetch(counter, n, __ATOMIC_ACQ_REL);
}
static inline int test_get(const int *counter)
{
    return __atomic_load_n(counter, __ATOMIC_ACQUIRE);
}

/* Address at `offset` of a rank's segment. */
static inline void *test_at(int rank, size_t offset)
{
    return (char *)test_seg[rank].addr + offset;
}

#endif
