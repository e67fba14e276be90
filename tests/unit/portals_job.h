/* portals_job.h - portals-conduit and the core above it on a libportals that a script drives
 * (ptl_script.h): a job for all tests of it, and the messages of its peers.
 *
 * Rank 0 of 3 is the conduit; the test is ranks 1 and 2, whose pids are 101 and 102.
 */
#ifndef UNIT_PORTALS_JOB_H
#define UNIT_PORTALS_JOB_H

#include "core/am/am.h"
#include "core/job/ending.h"
#include "core/job/progress.h"
#include "core/params/params.h"
#include "core/rdma/buffers.h"
#include "core/rdma/rdma.h"
#include "core/rdma/rdma_internal.h"
#include "portals-conduit/portals.h"
#include "tests/unit/am_compose.h"
#include "tests/unit/check.h"
#include "tests/unit/ptl_script.h"
#include "tests/unit/stubs.h"

enum { SEGMENT = 1 << 20 };

/* Handlers: one that does nothing, one that replies to H_REPLIED, one with a payload. */
enum { H_SILENT = 200, H_ANSWER, H_PAYLOAD, H_REPLIED };

/* The arguments that the handlers got. */
extern struct saw {
    unsigned runs, reply_runs, payloads;
    size_t nbytes;
    uint8_t first, last;
    void *buffer;
} saw;
extern uint8_t source[SEGMENT]; /* memory outside the segment */
extern gasnetc_counter_t counter;
extern unsigned descriptors; /* of libportals, when the job begins */

/* Begins the job that the parameters describe. */
void job_begin(void);
/* Ends the job; all that was taken must be free again, except what is held for the next Request. */
void job_end(const char *what);
/* Ends the job where an operation has failed and its resources are kept. */
void job_drop(void);

bool counter_done(void);

/* from_role: whether the operation of the conduit uses the descriptor of `role`. cost_of: the
 * credits that it costs. */
bool from_role(const ptl_script_op_t *op, enum net_role role);
uint8_t cost_of(const ptl_script_op_t *op);

/* Delivers a Request from a peer, which has the address 2048 * `chunk` there. False if no entry
 * took it. */
bool request(uint32_t rank, uint32_t chunk, message_t m, enum bits_kind kind, uint8_t cost);
/* Delivers the payload of a Long whose Request has this `chunk`. */
void payload(uint32_t rank, uint32_t chunk, uint64_t offset, const void *bytes, size_t length,
             enum bits_selector selector);
/* Delivers the Reply of the peer to a Request of this rank, with `more` credits than that cost. */
void reply_to(const ptl_script_op_t *op, message_t m, enum bits_kind kind, uint8_t more);

#endif
