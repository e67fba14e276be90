/* legal.h - shared by the parts of testlegal: the contexts in which calls are made (`enum place`),
 * the calls with the expected result in each, and the wrong uses.
 */
#ifndef TEST_LEGAL_H
#define TEST_LEGAL_H

#include "tests/programs/test.h"
#ifdef GASNET_PAR
#include <pthread.h>
#endif

enum { SEGMENT = 64 * 1024 };
enum { H_PLACE = 128, H_REPLY, H_NOTHING, H_WRONG };

/* P0 to P2: before init, before attach, after it; then inside a Request's handler, inside a
 * Reply's, under a lock, with interrupts held, in a second thread. */
enum place { P0, P1, P2, REQUEST, REPLY, LOCKED, HELD, THREAD, WRONG, PLACES };

/* The message of the library when it ends the program; NULL: the call is legal in this context;
 * SKIP: it is not tested.
 */
#define SKIP "-"
typedef const char *expected_t[PLACES];

extern const struct call {
    const char *name;
    void (*make)(void);
    expected_t expected;
} calls[];
extern const int call_count;

extern const struct wrong {
    const char *name;
    void (*make)(void);
    const char *expected;
} wrongs[];
extern const int wrong_count;

extern char *mine;           /* in the segment */
extern gasnet_token_t token; /* of the handler that runs */
extern gasnet_hsl_t lock;
extern char word[16];

/* calls.c: the three kinds of Reply. */
void reply_short(void);
void reply_medium(void);
void reply_long(void);

/* misuse.c: the handler that uses its token wrongly, and what is warned of and not fatal. */
void on_wrong(gasnet_token_t t, gasnet_handlerarg_t how);
void warned_of(void);
#ifdef GASNET_PAR
void in_thread(void *(*body)(void *), void *arg);
#endif

#endif
