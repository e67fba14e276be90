/* collops.h - one collective operation on all nodes of a simulated job: its memory, its call on
 * each node, and what must be true of the memory of all nodes when one enters and when one has
 * synced.
 */
#ifndef SIM_COLLOPS_H
#define SIM_COLLOPS_H

#include "tests/sim/extended/extended.h"

enum kind { BROADCAST, SCATTER, GATHER, GATHER_ALL, EXCHANGE, REDUCE, KINDS };
enum form { LOCAL, LIST_LOCAL, LIST_SINGLE, FORMS }; /* of the arguments */
enum sync { NOSYNC, MYSYNC, ALLSYNC };

/* A team, as each member has it. */
typedef struct group {
    uint32_t size;
    uint32_t *node;             /* [size] by rank */
    gasnet_team_handle_t *team; /* [size] by rank */
} group_t;
group_t *group_new(uint32_t size);
uint32_t group_rank(const group_t *group, uint32_t node); /* size: it is no member */

typedef struct operation {
    const group_t *group;
    enum kind kind;
    enum form form;
    enum sync in, out;
    bool aggregate;
    uint32_t root;
    size_t nbytes;
    int function;
    uint32_t key;       /* of the contents */
    char **src, **dst;  /* [size] by rank */
    const char *result; /* of REDUCE */
    uint32_t entered, synced;
} operation_t;

/* The table of reductions, for gasnet_coll_init. */
enum { FUNCTIONS = 3 };
extern gasnet_coll_fn_entry_t functions[FUNCTIONS];

/* At most `most` bytes on a node. */
operation_t *operation_any(const group_t *group, enum kind kind, size_t most);

/* Begins it on a node; GASNET_COLL_INVALID_HANDLE if it is complete there, or an aggregate. */
gasnet_coll_handle_t operation_begin(operation_t *op, uint32_t rank, bool blocking);
/* The node has synced it. */
void operation_synced(operation_t *op, uint32_t rank);
/* Every node has synced, and the job is at rest. */
void operation_at_rest(const operation_t *op);

#endif
