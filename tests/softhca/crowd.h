/* crowd.h - a test that is run by several processes at once; rank 0 is the hub. */
#ifndef SOFTHCA_TEST_CROWD_H
#define SOFTHCA_TEST_CROWD_H

#include "pair.h"

enum { CROWD = 8 };

struct crowd {
    int rank, size;
    int wire[CROWD];  /* the hub's to each other one; elsewhere only wire[0], to the hub */
    pid_t pid[CROWD]; /* known to the hub */
    struct options o;
};

typedef void crowd_function(struct crowd *c);

/* Run TEST in SIZE fresh processes; true when all end well. Those the hub killed do not count. */
bool run_crowd(crowd_function *test, int size, const struct options *o);

void to_rank(struct crowd *c, int rank, const void *data, size_t n);
void from_rank(struct crowd *c, int rank, void *data, size_t n);
bool has_told(struct crowd *c, int rank); /* there is something to get from it */
void all_meet(struct crowd *c);

/* The hub has a QP for each other rank, all on the queues of hub[1]; the others have one to it. */
void make_star(struct crowd *c, struct side *s);
void tear_down_star(struct crowd *c, struct side *s);

#endif
