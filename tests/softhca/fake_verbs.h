/* fake_verbs.h - what the made-up libibverbs tells the test above it. */
#ifndef SOFTHCA_FAKE_VERBS_H
#define SOFTHCA_FAKE_VERBS_H

#include <infiniband/verbs.h>
#include <stdbool.h>
#include <stdint.h>

struct fake_call {
    const char *name;
    uint64_t arg[6];
};

/* For this thread: forget its calls; what the next ones are to return, and with which errno. */
void fake_begin(uint64_t result, int error);
/* How many calls of this thread came since then, without those the library made of itself; the
 * last one goes to *CALL. */
int fake_calls(struct fake_call *call);
/* The event that ibv_get_async_event() hands out to this thread. */
void fake_event(const struct ibv_async_event *e);
/* Run within every call of this thread, before it returns. */
void fake_hook(void (*hook)(void));
/* A new object of a KIND of names.def. */
void *fake_make(char kind);

/* By all threads, since the process started. */
int fake_total(void);
/* Device lists not yet given back, devices not yet closed. */
int fake_lists(void);
int fake_contexts(void);
/* Calls through the operations of a context. */
int fake_data_calls(void);

#endif
