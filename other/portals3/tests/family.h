/* family.h - processes of a test that are forked from one, and may die without the others.
 *
 * They share a block of memory for addresses and barriers, which are not to go through Portals.
 * For programs that try the network's troubles; rings of well-behaved processes are in ring.h.
 */
#ifndef TESTS_PORTALS3_FAMILY_H
#define TESTS_PORTALS3_FAMILY_H

#include <portals3.h>
#include <portals3_ext.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

enum { FAMILY_MOST = 16 };

struct family {
    ptl_process_id_t id[FAMILY_MOST];
    pid_t pid[FAMILY_MOST];
    _Atomic int arrived, failed;
    _Atomic uint32_t flag[8];               /* the test's */
    uint32_t sum[FAMILY_MOST][FAMILY_MOST]; /* the test's */
};

extern struct family *family;
extern int family_rank, family_size;
extern ptl_handle_ni_t family_ni;

/* Runs body in `size` processes, each with an alarm; the number of those that did not end with
 * `expected`[rank] as wait status (NULL: 0). */
int family_run(int size, void (*body)(void), const int *expected);

/* Ends the process, and with it the test. */
void family_fail(const char *format, ...) __attribute__((format(printf, 1, 2), noreturn));
#define must(call)                                                                                 \
    do {                                                                                           \
        int must_code = (call);                                                                    \
        if (must_code != PTL_OK) family_fail("%s: %s", #call, PtlErrorStr((unsigned)must_code));   \
    } while (0)

/* The interface with that number, or PTL_PID_ANY; the others learn it at their next barrier. */
void family_open(ptl_pid_t pid);
void family_close(void);

/* All processes, without Portals; meanwhile() is called over and over, if given. */
void family_barrier(void (*meanwhile)(void));
/* Until a flag has at least that value. */
void family_await(int flag, uint32_t value);
void family_nap(void);
/* Whether all threads of a process are in a state of /proc ('S': asleep); how often they have been
 * switched to so far. */
bool family_all(int rank, char state, unsigned long *switches);
/* Stops a process; returns when none of its threads runs any more. */
void family_stop(int rank);
/* Until no thread of a process that was killed is left. */
void family_await_end(int rank);

/* Randomness that a seed replays. */
extern uint64_t family_seed;
void family_settle_seed(const char *given);
uint32_t family_below(uint32_t bound);

void *family_memory(size_t bytes);
/* An MD at the end of a table entry's list, for bits whose low nibble is this. */
ptl_handle_md_t family_attach(ptl_pt_index_t pt, ptl_match_bits_t bits, ptl_md_t md,
                              ptl_unlink_t unlink);

#endif
