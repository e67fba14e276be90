/* engine.h - an instance: the state machines, and what the engine's files share.
 *
 * All state is under the lock of the callbacks, which is never held when another callback is called
 * or memory is allocated or freed: the program's munmap, called within free, leads to
 * firehose_invalidate.
 */
#ifndef FIREHOSE_ENGINE_H
#define FIREHOSE_ENGINE_H

#include "other/firehose/include/firehose.h"
#include "other/firehose/target.h"
#include "other/firehose/wire.h"

/* A firehose_remote_pin that waits. */
typedef struct fh_op {
    fh_want_t want; /* first */
    firehose_remote_args_t args;
} fh_op_t;

/* A request of a peer, with its data behind it. */
typedef struct fh_debt {
    fh_owed_t owed; /* first */
    uint32_t data_size[FH_PINS];
    uint8_t data[];
} fh_debt_t;

/* A message to be sent. */
typedef struct fh_letter {
    struct fh_letter *next;
    uint32_t peer;
    size_t size;
    uint8_t bytes[];
} fh_letter_t;

typedef struct fh_letters {
    fh_letter_t *first, *last;
} fh_letters_t;

struct firehose {
    firehose_config_t config;
    fh_local_t local;
    fh_remote_t remote;
    fh_target_t target;
    uint8_t *local_keys, *remote_keys; /* by regions */
    fh_letters_t replies, requests;
    fh_letter_t *spare; /* at least one while work is done */
    uint64_t registrations;
    void *memory[4]; /* blocks of the state machines; freed with the firehose */
    char error[256];
};

static inline void fh_lock(firehose_t *fh)
{
    if (fh->config.callbacks.lock) fh->config.callbacks.lock(fh->config.callbacks.context);
}

static inline void fh_unlock(firehose_t *fh)
{
    if (fh->config.callbacks.unlock) fh->config.callbacks.unlock(fh->config.callbacks.context);
}

static inline void *fh_local_key(const firehose_t *fh, uint32_t region)
{
    return fh->local_keys + region * fh->config.key_size;
}

static inline void *fh_remote_key(const firehose_t *fh, uint32_t region)
{
    return fh->remote_keys + region * fh->config.key_size;
}

static inline void fh_fill_local(const firehose_t *fh, uint32_t region, firehose_request_t *request)
{
    const fh_region_t *r = fh_region(&fh->local.table, region);
    *request = (firehose_request_t){.addr = (uintptr_t)r->start,
                                    .len = (size_t)(r->end - r->start),
                                    .key = fh_local_key(fh, region),
                                    .peer = FIREHOSE_LOCAL,
                                    .region = region};
}

static inline void fh_fill_remote(const firehose_t *fh, uint32_t region,
                                  firehose_request_t *request)
{
    const fh_region_t *r = fh_region(&fh->remote.table, region);
    *request = (firehose_request_t){.addr = (uintptr_t)r->start,
                                    .len = (size_t)(r->end - r->start),
                                    .key = fh_remote_key(fh, region),
                                    .peer = r->peer,
                                    .region = region};
}

/* Does all that can be done now but completions; with the lock held, which is released in between.
 * Returns whether there was anything. */
bool fh_work(firehose_t *fh);

#endif
