/* exit_cases.h - how one rank ends its job, and the states its peers are in at that time.
 *
 * testexit.c runs each case with each peer state, as CASE_others_STATE; its own cases are those in
 * which several ranks act.  The expected status is a number, or two, `137/nonzero`: the second is
 * for a job that an MPI's launcher has started.  "by_peers" is 0 if the peers, in their state,
 * learn of the exit.  If they do not, they are killed before they exit themselves, and the status
 * is 1.
 */
#ifndef EXIT_CASES_H
#define EXIT_CASES_H

#include "tests/programs/test.h"

/* A line of `testexit list`, from which exit.py takes all that it needs of a case. */
struct exit_case {
    const char *name;
    const char *expect;
    const char *
        printed; /* the ranks that print LAST: all, the odd `one`, `told` (see quit_told), `none` */
    const char *outside; /* action of exit.py on the launcher; "-": nothing */
    const char *tag;     /* the requirements that it proves */
    int least;           /* ranks that it needs */
    int (*run)(void);    /* main returns its result */
};

enum peer_learns { LEARNS, IS_DEAF, EITHER };

struct peer_state {
    const char *name;
    void (*enter)(void); /* never returns */
    enum peer_learns learns;
    bool stops; /* peers are, or may be, stopped: see await_release_of */
};

extern const struct exit_case exit_cases[];
extern const int exit_cases_count;
extern const struct peer_state peer_states[];
extern const int peer_states_count;

extern int odd;             /* the rank that acts alone */
extern int exits_announced; /* calls of H_COUNT */

/* Handlers of the client's table; main registers exit_table. */
enum { H_EXIT = 128, H_NOTHING, H_STAY, H_TAKE, H_COUNT, H_RELEASED, H_UNREGISTERED = 240 };
extern gasnet_handlerentry_t exit_table[];
extern const int exit_table_count;
enum { EXIT_SEGMENT = 64 * 1024 };

/* Prints LAST without a flush: the library must flush. */
void print_last(void);
void leave(int code) __attribute__((noreturn));

/* Peer states that testexit.c uses by name. */
void poll_on(void) __attribute__((noreturn));
void sit_in_barrier(void) __attribute__((noreturn));
void spin_on(void) __attribute__((noreturn));
void sleep_on(void) __attribute__((noreturn));
void stop_here(void) __attribute__((noreturn));
/* Waits until `actor` has left the barrier before the case: a rank that stops earlier would not
 * send the barrier messages it still has to send. */
void await_release_of(int actor);
void traffic_on(void) __attribute__((noreturn));
/* exit.py waits for this line. */
void print_ready(void);

#ifdef GASNET_PAR
void start_thread(void *(*body)(void *), intptr_t purpose);
void *exit_thread(void *code);
#endif

#endif
