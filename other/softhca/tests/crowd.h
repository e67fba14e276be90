/* crowd.h - a test run by several processes; rank 0 is the hub. */
#ifndef SOFTHCA_TEST_CROWD_H
#define SOFTHCA_TEST_CROWD_H

#include "pair.h"

enum { CROWD = 8 };

struct crowd {
    int rank, size;
    int wire[CROWD];  /* of the hub: to each other rank; elsewhere only wire[0], to the hub */
    pid_t pid[CROWD]; /* of the hub only */
    struct options o;
};

typedef void crowd_function(struct crowd *c);

/* Runs TEST in SIZE fresh processes; true when all succeed. Processes killed by the hub do not
 * count. */
bool run_crowd(crowd_function *test, int size, const struct options *o);

void to_rank(struct crowd *c, int rank, const void *data, size_t n);
void from_rank(struct crowd *c, int rank, void *data, size_t n);
bool has_told(struct crowd *c, int rank); /* data has arrived from the rank */
void all_meet(struct crowd *c);

/* The hub has one QP for each other rank, all on the queues of hub[1]; each other rank has one QP
 * to the hub. */
void make_star(struct crowd *c, struct side *s);
void tear_down_star(struct crowd *c, struct side *s);

#endif
