/* op.h - an operation in progress on this node, and the parts of the engine that share it.
 *
 * calls.c and ex/collectives.c begin operations and op.c executes their plans; messages.c sends;
 * arrivals.c records what arrives; images.c and reduce.c move and combine data within the node;
 * handles.c waits.
 *
 * Threads: gasnete_coll_lock protects what is marked (L).  One thread at a time, which has claimed
 * the operation, works on it and owns the fields that are not marked.  Handlers only copy to posted
 * memory and change fields marked (L).
 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/completion.h"
#include "core/trace/trace.h"
#include "extended-ref/coll/match.h"
#include "extended-ref/coll/plans/plan.h"
#include "extended-ref/coll/team.h"
#include "extended-ref/ex/kernels.h"
#include "gasnet.h"

/* A handle; `pending` is complete at 0.  A thread's handles are in lists of its own.  */
struct gasnete_coll_handle {
    _Atomic uint32_t pending; /* number of operations; written with the lock held */
    uint32_t owner;           /* index of the thread; debug builds */
    bool live;                /* debug builds */
    struct gasnete_coll_handle *next;
};

/* A call, as an image makes it.  All but dst and src are equal on all images.  */
typedef struct gasnete_coll_call {
    const char *name;
    gasnete_team_t *team; /* the twin, if the flags contain NO_IMAGES */
    enum gasnete_coll_kind kind;
    int flags;
    gasnet_image_t root;              /* of rooted kinds; else 0 */
    size_t nbytes;                    /* of a block, or the whole vector of a reduction */
    size_t unit;                      /* bytes of an element; 0 if not a reduction */
    gasnet_coll_fn_handle_t function; /* of the table of gasnet_coll_init */
    int argument;
    void *dst, *src; /* of this image */

    /* Of GASNet-EX: */
    gasnetc_counter_t *counter; /* counts the completion, and there is no handle; or NULL */
    bool in_order;              /* a reduction by a function that is not commutative */
    gasnete_kernel_t kernel;    /* a reduction's operation, or NULL */
    gex_Coll_ReduceFn_t user;   /* the client's function, or NULL; with `cdata` */
    void *cdata;
} gasnete_coll_call_t;

typedef struct gasnete_coll_image {
    void *dst, *src;
    gasnet_coll_handle_t handle;
} gasnete_coll_image_t;

enum gasnete_coll_phase { GASNETE_COLL_IN, GASNETE_COLL_MOVE, GASNETE_COLL_OUT, GASNETE_COLL_OVER };

/* The most rounds whose messages may be outstanding at once.  */
enum { GASNETE_COLL_SLOTS = 16 };

typedef struct gasnete_coll_op {
    struct gasnete_coll_op *next;  /* (L) in the free list, or in team->entering */
    struct gasnete_coll_op *ready; /* (L) in the list of operations to work on */
    gasnete_coll_call_t call;      /* of the image that entered first */
    uint32_t number;
    uint32_t entered;  /* (L) images */
    bool claimed;      /* (L) a thread works on it */
    bool again;        /* (L) an event was recorded since the claim */
    bool queued;       /* (L) in a ready list */
    uint8_t phase;     /* enum gasnete_coll_phase */
    bool begun;        /* the phase */
    bool with_actions; /* the round's messages are posted; `action` counts its actions */
    uint32_t round, action, ahead, posted;
    gasnete_coll_schedule_t *schedule;    /* of the phase that has begun */
    uint32_t awaited[GASNETE_COLL_SLOTS]; /* (L) messages not received yet, by round */
    uint32_t sends;                       /* (L) messages that still need their memory */
    gasnete_coll_item_t *announced;       /* (L) messages to be sent now */
    gasnete_coll_item_t *offered;         /* (L) messages to be fetched now */
    char *buffer[3];                      /* by enum gasnete_coll_buffer */
    char *memory;                 /* packed images and scratch; NULL: not needed, or `few` */
    gasnete_coll_image_t *images; /* [team->local]; `one` if that is 1 */
    gasnete_coll_image_t one;
    _Alignas(16) char few[256]; /* memory of small operations */
} gasnete_coll_op_t;

/* --- op.c --- */

/* The end of a call that began then, for the trace. */
static inline void gasnete_coll_trace(uint64_t began, const gasnete_coll_call_t *call)
{
    gasneti_trace_end(began, .kind = GASNETI_TRACE_collective, .text = call->name,
                      .bytes = call->nbytes, .peer = GASNETI_TRACE_NO_PEER);
}

/* Begins an operation, or joins the one that another image of this node has begun; works on it if
 * all images have entered.  The handle, which counts the operation as pending already, completes
 * with it.  Polls only to send.  With `keep` an operation that is not complete is returned, and the
 * caller keeps its claim until gasnete_coll_resume has returned true.  */
gasnete_coll_op_t *gasnete_coll_begin(const gasnete_coll_call_t *call, uint32_t image,
                                      gasnet_coll_handle_t handle, bool keep);

/* Works on an operation that the calling thread has kept, if an event was recorded for it; true if
 * it is complete.  */
bool gasnete_coll_resume(gasnete_coll_op_t *op);

/* Works on all operations that are ready.  `client`: in a thread of the client's.  */
void gasnete_coll_work(bool client);

/* Marks an operation to be worked on, by its claimant or by the next poll; lock held.  */
void gasnete_coll_make_ready(gasnete_coll_op_t *op);

/* Record that a message has been received; that a message no longer needs its memory.  Lock held.
 */
void gasnete_coll_received(gasnete_coll_op_t *op, uint32_t slot);
void gasnete_coll_sent(gasnete_coll_op_t *op);

/* --- messages.c --- */

/* Sends a message to a rank.  A message that still needs its memory afterwards counts in op->sends.
 * May poll.  */
void gasnete_coll_send(gasnete_coll_op_t *op, uint32_t rank, uint32_t tag, const char *from,
                       size_t nbytes);
/* Posts a message from a rank.  The message counts in op->awaited[slot] until it is received.  May
 * poll.  */
void gasnete_coll_receive(gasnete_coll_op_t *op, uint32_t rank, uint32_t tag, char *to,
                          size_t nbytes, uint32_t slot);
/* Sends the announced messages of the operation, and fetches the offered ones.  May poll.  */
void gasnete_coll_transfer(gasnete_coll_op_t *op);
/* Records the fetches that are complete, of all operations; may send.  */
void gasnete_coll_reap_fetches(void);

/* --- arrivals.c --- */

/* Fatal: the peer has sent a message that this node expects in another form; `field` is wrong.  */
void gasnete_coll_message_bad(const gasnete_coll_key_t *key, size_t nbytes, const char *field)
    __attribute__((noreturn, cold));

/* --- images.c, when the data of all images of the node may be touched --- */

/* Sets the buffers of the plan, and packs images.  */
void gasnete_coll_pack(gasnete_coll_op_t *op);
/* Copies results to the images, and frees the memory.  */
void gasnete_coll_unpack(gasnete_coll_op_t *op);

/* --- reduce.c --- */

/* Copies the table of gasnet_coll_init.  */
void gasnete_coll_functions(const gasnet_coll_fn_entry_t *table, size_t count);
/* Fatal, naming the call, if the table has no such function.  */
void gasnete_coll_check_function(const char *call, gasnet_coll_fn_handle_t function);
/* A digest of the table's flags.  */
uint32_t gasnete_coll_functions_digest(void);
bool gasnete_coll_in_order(const gasnete_coll_call_t *call);
/* True if only a thread of the client's may combine operands of the call.  */
bool gasnete_coll_needs_client(const gasnete_coll_call_t *call);
/* to = left op right, of nbytes each; to may be left, and with GASNet-EX right.  */
void gasnete_coll_combine(const gasnete_coll_call_t *call, void *to, const void *left,
                          const void *right, size_t nbytes);

/* --- init.c --- */

/* The settings from the environment, equal on all ranks.  */
gasnete_coll_settings_t gasnete_coll_settings(void);

/* --- handles.c --- */

/* Begins a call of the calling thread, and returns its handle; GASNET_COLL_INVALID_HANDLE if the
 * operation is complete already, or an aggregate continues.  */
gasnet_coll_handle_t gasnete_coll_start(const gasnete_coll_call_t *call);
/* Begins a call of the calling thread, and waits for the operation, and for the aggregate that the
 * call ends.  */
void gasnete_coll_execute(const gasnete_coll_call_t *call);
/* Makes the calling thread this image of the node.  */
void gasnete_coll_become_image(uint32_t image);

/* --- checks.c --- */

/* Fatal for wrong arguments; in debug builds also for a context in which the call is illegal.  */
void gasnete_coll_check_call(const gasnete_coll_call_t *call);
/* Debug builds: compares the call with that of another image of the node.  */
void gasnete_coll_check_same(const gasnete_coll_call_t *mine, const gasnete_coll_op_t *op);
/* Debug builds: compares the operation's call with the next rank's and the previous one's.  */
void gasnete_coll_check_peers(const gasnete_coll_op_t *op);

/* --- items, in messages.c; with the lock held --- */

extern gasnete_coll_match_t gasnete_coll_match;
gasnete_coll_item_t *gasnete_coll_item_new(void);
void gasnete_coll_item_free(gasnete_coll_item_t *item);
