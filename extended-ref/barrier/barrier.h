/* barrier.h - one barrier of this rank: the job's, or that of a team.
 *
 * barrier.c runs the state machine (machine.h) of either.  Its messages go by the words that the
 * ranks of a supernode share (words.h), by puts (puts.c) or by Active Messages.  teams.c makes
 * the barriers of teams, and calls.c has the client's calls and lets the images of this rank meet.
 */
#pragma once

#include "core/lock.h"
#include "extended-ref/barrier/words.h"
#include "gasnet.h"

/* Messages by puts into words that the receiver polls; the job's barrier alone has them. */
typedef struct gasnete_barrier_puts {
    /* Sends a message; called outside handlers, without locks; may poll.  */
    void (*send)(const gasnete_barrier_message_t *message);
    /* True with the value of the message of this parity and slot, if the message has arrived.  An
     * invalid one is fatal; the error names `from`.  Called with the barrier's lock held. */
    bool (*take)(uint32_t from, gasnete_barrier_message_t *message);
} gasnete_barrier_puts_t;

struct gasnete_coll_team;

typedef struct gasnete_barrier_image {
    bool inside;    /* between notify and the wait that ends it */
    uint8_t parity; /* of the phase that the image entered last */
} gasnete_barrier_image_t;

typedef struct gasnete_barrier {
    bool polled;         /* polls look for its messages */
    bool counts;         /* this rank counts in `words`, and has no messages */
    gasneti_lock_t lock; /* of `result` and `state`; never held while a message is sent */
    uint32_t team, size; /* the team's id, 0 for the job; its ranks */

    /* Set by init, of the job's barrier alone: */
    const gasnete_barrier_puts_t *puts; /* NULL: by Active Messages */
    gasnete_barrier_words_t *words;     /* in which ranks of the supernode count, or NULL */
    uint32_t counting;                  /* ranks that count in `words` */
    uint32_t leader;                    /* NOBODY if the supernode is the job */

    gasnete_barrier_value_t result; /* of the phase that this rank left last */
    gasnete_barrier_state_t state;

    struct gasnete_barrier *next; /* in the list of the barriers of teams */
    bool used;                    /* by a team; under gasnete_coll_lock */

    gasneti_lock_t image_lock; /* of all that follows */
    gasnete_barrier_words_t met;
    gasnete_barrier_image_t *images; /* [of this rank] */
    uint32_t freed;                  /* images that have called gasnet_coll_team_free */
} gasnete_barrier_t;

#pragma GCC visibility push(hidden)
extern gasnete_barrier_t gasnete_barrier_job;
#pragma GCC visibility pop

/* The value that a call with these arguments gives or expects.  */
static inline gasnete_barrier_value_t gasnete_barrier_value(int id, int flags)
{
    if (flags & GASNET_BARRIERFLAG_MISMATCH)
        return (gasnete_barrier_value_t){GASNETE_BARRIER_MISMATCH, 0};
    if (flags & GASNET_BARRIERFLAG_ANONYMOUS)
        return (gasnete_barrier_value_t){GASNETE_BARRIER_NONE, 0};
    return (gasnete_barrier_value_t){GASNETE_BARRIER_NAMED, id};
}

/* --- barrier.c: the calls of any barrier; a wrong order of calls is fatal --- */

void gasnete_barrier_open(gasnete_barrier_t *barrier, gasnete_barrier_value_t mine);
/* Leaves the phase if it is complete; else GASNET_ERR_NOT_READY, or outside a phase
 * GASNET_ERR_NOT_INIT. */
int gasnete_barrier_end(gasnete_barrier_t *barrier, gasnete_barrier_value_t expected);
/* Polls once, and then leaves the phase or returns GASNET_ERR_NOT_READY. */
int gasnete_barrier_look(gasnete_barrier_t *barrier, gasnete_barrier_value_t expected);
/* Waits for the end of the phase, and leaves it.  When the phase is over no message is served any
 * more, so that a message that a peer sends after the barrier is hardly ever handled inside it. */
int gasnete_barrier_close(gasnete_barrier_t *barrier, gasnete_barrier_value_t expected);
/* True if this rank is in a phase. */
bool gasnete_barrier_inside(gasnete_barrier_t *barrier);
/* Implements gasnet_barrier_result. */
int gasnete_barrier_last(gasnete_barrier_t *barrier, int *id);

/* Sends all messages of a barrier that can be sent now. */
void gasnete_barrier_advance(gasnete_barrier_t *barrier);
/* Takes an Active Message that has arrived; an invalid one is fatal. */
void gasnete_barrier_arrived(gasnete_barrier_t *barrier, uint32_t from,
                             const gasnete_barrier_message_t *message);
void gasnete_barrier_bad(uint32_t from, uint32_t word) __attribute__((noreturn));

/* --- teams.c --- */

/* Makes the barrier of a team, after which messages may arrive for it.  `all`: of GASNET_TEAM_ALL,
 * whose barrier is the job's.  Fatal without memory. */
void gasnete_team_barrier_make(struct gasnete_coll_team *team, bool all);
/* Frees the barrier of a team other than GASNET_TEAM_ALL; no phase is in progress. */
void gasnete_team_barrier_delete(struct gasnete_coll_team *team);

/* --- puts.c --- */

/* Called by attach on every rank; `rounds`: of the leaders.  NULL if the network has no puts. */
const gasnete_barrier_puts_t *gasnete_barrier_by_puts(uint8_t rounds);
