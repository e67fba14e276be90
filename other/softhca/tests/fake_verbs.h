/* fake_verbs.h - the interface of the fake libibverbs to its tests. */
#ifndef SOFTHCA_FAKE_VERBS_H
#define SOFTHCA_FAKE_VERBS_H

#include <infiniband/verbs.h>
#include <stdbool.h>
#include <stdint.h>

struct fake_call {
    const char *name;
    uint64_t arg[6];
};

/* For this thread: clears the record of calls; sets the result and errno of the next calls. */
void fake_begin(uint64_t result, int error);
/* The number of calls of this thread since then, without those of the library itself; the last one
 * is stored in *CALL. */
int fake_calls(struct fake_call *call);
/* The event that ibv_get_async_event() returns to this thread. */
void fake_event(const struct ibv_async_event *e);
/* Called within every call of this thread, before it returns. */
void fake_hook(void (*hook)(void));
/* A new object of a KIND of names.def. */
void *fake_make(char kind);

/* Calls of all threads since the process started. */
int fake_total(void);
/* Device lists not yet freed, devices not yet closed. */
int fake_lists(void);
int fake_contexts(void);
/* Calls through the operations of a context. */
int fake_data_calls(void);

#endif
