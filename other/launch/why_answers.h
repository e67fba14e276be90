/* why_answers.h - what the ranks of a job answered to gasnetrun --why or --top, in records.  Pure.
 */
#ifndef WHY_ANSWERS_H
#define WHY_ANSWERS_H

#include <stdbool.h>
#include <stdint.h>

enum { BARRIERS = 8, COLLECTIVES = 8, PEERS = 4, STACKS = 8 };
#define NONE UINT32_MAX

enum state {
    ABSENT, /* zeroed: no line names the rank */
    ENDED,
    NOT_JOINED,
    STARTING,
    BEFORE_ATTACH,
    SILENT,
    QUIET,
    POLLS,
    ENDING,
    STATES
};

typedef struct peers {
    uint32_t count, rank[PEERS]; /* the first ones */
} peers_t;

/* Of more than PEERS, the others are only counted. */
static inline void why_add_peer(peers_t *peers, uint32_t rank)
{
    if (peers->count < PEERS) peers->rank[peers->count] = rank;
    peers->count++;
}

/* What a rank has used since its start. */
typedef struct usage {
    bool known;
    uint64_t out, in, operations, stalls; /* bytes sent and received; puts, gets and messages */
    uint64_t cpu_ms, memory;              /* bytes in memory now */
} usage_t;

typedef struct rank {
    enum state state;
    long process; /* 0: not known */
    char host[64];
    uint32_t handlers;            /* threads inside a handler */
    long lock_waiter, lock_owner; /* threads; 0: none */
    char stall[20];               /* the resource; "": none */
    uint32_t stall_peer, stall_ms;
    uint32_t idle_ms; /* for so long its polls have found nothing; NONE: not known */
    struct {
        long thread;
        const char *functions; /* "poll<wait<main" */
    } stack[STACKS];
    uint32_t stacks;
    /* Teams by their number in the table of all, which tells those with the same id apart. */
    struct {
        uint32_t team, parity;
        bool inside;
    } barrier[BARRIERS];
    struct {
        uint32_t team, begun, open;
    } collective[COLLECTIVES];
    uint32_t barriers, collectives;
    peers_t in_flight, owing; /* peers of operations in flight; that hold credits */
    uint32_t group;
    usage_t used; /* of --top */
} rank_t;

/* Number 0 is the team of the barrier of all ranks. */
typedef struct team {
    uint32_t id;
    const char *members; /* "0-3,5"; NULL: all ranks */
} team_t;

/* The ranks of a job; `rank` is NULL if no answer tells how many there are. */
typedef struct why_ranks {
    rank_t *rank;
    uint32_t size;
    team_t *team;
    uint32_t teams;
} why_ranks_t;

/* Reads the answers, and writes to the text, which the records point into.  Lines that are
 * malformed are left out. */
void why_read_answers(why_ranks_t *ranks, char *text);
void why_free_answers(why_ranks_t *ranks);

/* Whether the rank is a member of the team. */
bool why_is_member(const team_t *team, uint32_t rank);

#endif
