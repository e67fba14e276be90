/* exit_cases.h - how one rank ends its job, and what the others do meanwhile.
 *
 * testexit.c runs every way with every pastime: WAY_others_PASTIME; its own cases are those in
 * which several ranks act.  Expected status: a number, or two, `137/nonzero`, the second where the
 * job was not started by gasnetrun itself, whose launcher may make of it what it likes.  "heard" is
 * 0 if the others, with their pastime, hear of the end.  If they do not, they are killed before
 * they asked to end, and the status is 1.
 */
#ifndef EXIT_WAYS_H
#define EXIT_WAYS_H

#include "tests/test.h"

/* One line of `testexit list`; all that exit.py knows of cases. */
struct exit_case {
    const char *name;
    const char *expect;
    const char *printed; /* who prints LAST: all, the odd `one`, `told` (see quit_told), `none` */
    const char *outside; /* what the driver does: see exit.py; "-": nothing */
    const char *tag;     /* of the requirement */
    int least;           /* ranks that it takes */
    int (*run)(void);    /* what it returns, main returns */
};

enum exit_hears { HEARS, IS_DEAF, EITHER };

struct exit_pastime {
    const char *name;
    void (*spend)(void); /* never returns */
    enum exit_hears hears;
    bool stops; /* ranks are, or may be, stopped: see await_release_of */
};

extern const struct exit_case exit_ways[];
extern const int exit_ways_count;
extern const struct exit_pastime exit_pastimes[];
extern const int exit_pastimes_count;

extern int odd; /* the rank that acts alone */

/* Handlers of the client's table; main registers exit_table. */
enum { H_EXIT = 128, H_NOTHING, H_STAY, H_TAKE, H_RELEASED, H_UNREGISTERED = 240 };
extern gasnet_handlerentry_t exit_table[];
extern const int exit_table_count;
enum { EXIT_SEGMENT = 64 * 1024 };

/* Printed, not flushed: the library must do that. */
void last_words(void);
void leave(int code) __attribute__((noreturn));

/* What others do meanwhile, for those who name it themselves. */
void poll_on(void) __attribute__((noreturn));
void sit_in_barrier(void) __attribute__((noreturn));
void spin_on(void) __attribute__((noreturn));
void sleep_on(void) __attribute__((noreturn));
void stop_here(void) __attribute__((noreturn));
/* Until `actor` has come out of the barrier behind which all are: who stops takes along what it
 * still has to send. */
void await_release_of(int actor);
void traffic_on(void) __attribute__((noreturn));
/* The driver waits for it. */
void say_ready(void);

#ifdef GASNET_PAR
void start_thread(void *(*body)(void *), intptr_t purpose);
void *exit_thread(void *code);
#endif

#endif
