/* stubs.h - a job for the engines under test: this node and its peers, without init.c, exit.c, the
 * bootstrap and the Extended API, which stubs.c replaces.
 */
#ifndef UNIT_STUBS_H
#define UNIT_STUBS_H

#include "core/job/job.h"
#include "tests/unit/net_script.h"

enum { UNIT_BBUFS = 16 };

/* A job of `size` nodes seen from `rank`, each pair with `credits` and `slack`, on a network as
 * net_script.caps says.  Every node has a segment of `segment` bytes (0: none), registered in
 * pieces of 2^shift bytes; those of others lie in this process too. */
typedef struct unit_job {
    uint32_t size, rank;
    uint16_t credits, slack;
    size_t segment;
    unsigned shift;
} unit_job_t;
void unit_job_begin(const unit_job_t *job);
void unit_job_end(void);

/* The segment of a node, as bytes. */
char *unit_segment(uint32_t node);

/* Free bbufs. */
unsigned unit_free_bbufs(void);

/* The last system message that reached the exit engine. */
extern struct unit_system_message {
    unsigned count;
    uint32_t from;
    uint64_t word0, word1;
} unit_system_message;

/* For tests of params_init.c: the other ranks' contributions to bootstrap_exchange. NULL: all equal
 * this rank's. */
extern void (*unit_exchange)(const void *mine, size_t len, char *all);
extern unsigned unit_progress; /* calls of gasnete_progress */

#endif
