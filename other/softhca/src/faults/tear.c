/* tear.c - messages that a fault writes byte by byte, in ascending, descending or random order,
 * with pauses.
 *
 * No verb guarantees the order in which the bytes of a message are placed, nor that several are
 * placed at once; this finds programs that poll memory for more than one byte. Called by respond.c,
 * inside the target QP; the completion follows when all bytes are placed. Each pause gives up the
 * processor, so that the target can poll.
 */
#include <sched.h>
#include <stdlib.h>
#include <time.h>

#include "other/base/uncancelled.h"
#include "other/softhca/src/datapath/hot.h"
#include "other/softhca/src/faults/inject.h"
#include "other/softhca/src/segment/upward.h"

/* A longer message is written in STEPS steps of several bytes; at most about PAUSES pauses. */
enum { STEPS = 4096, PAUSES = 64 };

/* step[0..n): the steps in the order of execution. */
static void tear_order_steps(const struct shca_tear *t, uint16_t *step, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) step[i] = t->order == SHCA_DESCENDING ? n - 1 - i : i;
    for (uint32_t i = n; t->order == SHCA_RANDOM && i > 1; i--) {
        uint32_t j = shca_fault_random(t->seed, i) % i;
        uint16_t last = step[i - 1];
        step[i - 1] = step[j];
        step[j] = last;
    }
}

static void tear_pause_for(const struct shca_tear *t)
{
    GASNETI_UNCANCELLED;
    struct timespec time = {t->us / 1000000, t->us % 1000000 * 1000};
    if (t->us)
        nanosleep(&time, NULL);
    else
        sched_yield();
}

/* Writes one byte at offset AT of the pieces. */
static int tear_write_byte(struct shca_peer *p, const struct shca_piece *there, uint64_t at,
                           char *byte)
{
    for (; at >= there->len; there++) at -= there->len;
    if (there->direct) {
        __atomic_store_n((char *)there->direct + at, *byte, __ATOMIC_RELEASE);
        return 0;
    }
    struct iovec one = {byte, 1};
    struct shca_piece here = {.va = there->va + at, .len = 1};
    return shca_move(p, true, &one, 1, &here, 1);
}

static int tear_write(const struct shca_tear *t, struct shca_peer *p, char *bytes, uint64_t total,
                      const struct shca_piece *there)
{
    uint16_t step[STEPS];
    const uint32_t n = total < STEPS ? total : STEPS;
    int error = 0;
    tear_order_steps(t, step, n);
    for (uint32_t i = 0; i < n && !error; i++) {
        uint64_t from = total * step[i] / n, to = total * (step[i] + 1ull) / n;
        for (uint64_t at = from; at < to && !error; at++)
            error = tear_write_byte(p, there, at, &bytes[at]);
        if (n <= PAUSES || shca_fault_random(t->seed, n + i) % n < PAUSES) tear_pause_for(t);
    }
    return error;
}

int shca_tear_write(const struct shca_tear *t, struct shca_peer *p, struct shca_gather *g,
                    const struct shca_piece *there, int n)
{
    char *bytes = g->total ? malloc(g->total) : NULL;
    if (!bytes) return shca_move(p, true, g->iov, g->n, there, n);
    shca_copy_together(bytes, g);
    int error = tear_write(t, p, bytes, g->total, there);
    free(bytes);
    return error;
}
