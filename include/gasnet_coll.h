/* gasnet_coll.h - collective operations, teams and team barriers.
 *
 * gasnet.h includes this header; including it directly is legal too.
 *
 * Images: the participants.  Each node has one image, or as many as gasnet_coll_init says, each a
 * thread.  Images are numbered from 0 over all nodes in the order of nodes, consecutively on a
 * node.  In a team made by gasnet_coll_team_split images are numbered in the order of the nodes'
 * ranks in the team.
 *
 * All images of a team call the same collectives of the team in the same order, with equal sizes,
 * roots, flags and functions.  All calls: P2, client code with no lock held, on a thread that has
 * called gasnet_coll_init; errors are fatal.  No collective, except the team barriers, may be in
 * flight between gasnet_barrier_notify and gasnet_barrier_wait.
 *
 * nbytes is the size of one image's block, at least 1.  Addresses need no alignment, except the
 * vectors of reductions.  Buffers and lists of addresses must neither be written nor, where they
 * are destinations, read from the call until its handle is synced (from the call until it returns,
 * in the blocking forms).
 */
#include "gasnet.h"

#ifndef _INCLUDED_GASNET_COLL_H
#define _INCLUDED_GASNET_COLL_H

GASNETI_EXPORTS_BEGIN

/* --- Types --- */

typedef uint32_t gasnet_image_t; /* the number of an image, or of images */

/* A team; valid from its creation to gasnet_coll_team_free. */
struct gasnete_coll_team;
typedef struct gasnete_coll_team *gasnete_coll_team_t;
typedef gasnete_coll_team_t gasnet_team_handle_t;

/* The team of all images; NULL before gasnet_coll_init.  */
extern gasnet_team_handle_t gasnete_coll_team_all;
#define GASNET_TEAM_ALL gasnete_coll_team_all

/* A collective in flight.  GASNET_COLL_INVALID_HANDLE, all bytes zero, counts as complete.  */
struct gasnete_coll_handle;
typedef struct gasnete_coll_handle *gasnet_coll_handle_t;
#define GASNET_COLL_INVALID_HANDLE ((gasnet_coll_handle_t)0)

/* An index of the table passed to gasnet_coll_init.  */
typedef gasnet_handlerarg_t gasnet_coll_fn_handle_t;

/* Combines two vectors of equal length, element by element: results[i] = left[i] op right[i].
 * result_count = left_count: the number of elements, of elem_size bytes each; it may be less than
 * the elem_count of the call.  results may be left_operands.  flags are those of the function's
 * table entry, arg is the func_arg of the call.  The operation must be associative.  The function
 * must not communicate.  */
typedef void (*gasnet_coll_reduce_fn_t)(void *results, size_t result_count,
                                        const void *left_operands, size_t left_count,
                                        const void *right_operands, size_t elem_size, int flags,
                                        int arg);
typedef struct {
    gasnet_coll_reduce_fn_t fnptr;
    unsigned int flags; /* GASNET_COLL_AMSAFE, GASNET_COLL_NONCOMM */
} gasnet_coll_fn_entry_t;

/* Flags of a table entry.  AMSAFE: the function may run in any thread of the library; otherwise it
 * runs in client threads only, inside a call of this library.  NONCOMM: the operation is not
 * commutative; operands are then combined in the order of images.  */
#define GASNET_COLL_AMSAFE  (1 << 0)
#define GASNET_COLL_NONCOMM (1 << 1)

/* --- Flags of collectives --- */

/* Exactly one: the time from which the operation may touch data of an image.  NOSYNC: when any
 * image has entered; MYSYNC: when that image has entered; ALLSYNC: when all images have.  */
#define GASNET_COLL_IN_NOSYNC  (1 << 0)
#define GASNET_COLL_IN_MYSYNC  (1 << 1)
#define GASNET_COLL_IN_ALLSYNC (1 << 2)
/* Exactly one: the data whose use is over when the handle is synced.  NOSYNC: none, but all of it
 * when the last image has synced; MYSYNC: this image's; ALLSYNC: all images'.  */
#define GASNET_COLL_OUT_NOSYNC     (1 << 3)
#define GASNET_COLL_OUT_MYSYNC     (1 << 4)
#define GASNET_COLL_OUT_ALLSYNC    (1 << 5)
#define GASNET_COLL_SYNC_FLAG_MASK 0x3F
/* Exactly one.  SINGLE: every image passes the same addresses, which are valid on all images.
 * LOCAL: every image passes its own addresses; those of other images are ignored.  */
#define GASNET_COLL_SINGLE (1 << 6)
#define GASNET_COLL_LOCAL  (1 << 7)
/* Non-blocking forms: this call and the following ones of the team up to one without the flag are
 * synced together; this call returns GASNET_COLL_INVALID_HANDLE.  */
#define GASNET_COLL_AGGREGATE              (1 << 8)
#define GASNET_COLL_FIXED_THREADS_PER_NODE (1 << 9) /* a hint, without effect */
/* Promises of the caller: all destinations (sources) are in the segments of their nodes.  */
#define GASNET_COLL_DST_IN_SEGMENT (1 << 10)
#define GASNET_COLL_SRC_IN_SEGMENT (1 << 11)
/* Flags that are accepted, without effect. */
#define GASNET_COLL_REDUCE_OP_SUM    (1 << 12)
#define GASNET_COLL_REDUCE_OP_MAX    (1 << 13)
#define GASNET_COLL_REDUCE_OP_MIN    (1 << 14)
#define GASNET_COLL_REDUCE_OP_CUSTOM (1 << 15)
/* Flags of scans only. */
#define GASNET_COLL_INCLUSIVE_SCAN   (1 << 16)
#define GASNET_COLL_EXCLUSIVE_SCAN   (1 << 17)
#define GASNET_COLL_DISABLE_AUTOTUNE (1 << 18) /* a hint, without effect */
/* One image of each node calls, for the node: the images of the operation are the team's ranks.  */
#define GASNET_COLL_NO_IMAGES (1 << 19)

/* --- Initialisation --- */

/* Begins the use of this header: called before any other of its calls, on every node; returns when
 * all images have called. images[gasnet_nodes()]: the number of images of each node, at least 1;
 * NULL: one each. my_image: the number of the calling image; without threads, or if images is NULL,
 * it is ignored. fn_tbl: the functions of reductions, copied; NULL if fn_count is 0.  Functions may
 * differ between nodes, their number and flags may not.  init_flags: 0.  In SEQ and PARSYNC, where
 * a node has one image, once; in PAR by every image once, at the same time, with equal arguments
 * but my_image.  */
extern void gasnet_coll_init(const gasnet_image_t images[], gasnet_image_t my_image,
                             gasnet_coll_fn_entry_t fn_tbl[], size_t fn_count, int init_flags);

/* --- Data movement --- */

/* The form _nb returns a handle, which the calling thread must sync once.  It may wait for other
 * images first.  The forms M take a list of addresses: with SINGLE one for each image of the team,
 * in order; with LOCAL one for each image of the calling node.  The root's own large buffer is
 * always one address, ignored on other images with LOCAL.  */

/* Copies nbytes from `src` of image srcimage to `dst` of every image.  At the root dst may be src.
 */
extern void gasnet_coll_broadcast(gasnet_team_handle_t team, void *dst, gasnet_image_t srcimage,
                                  void *src, size_t nbytes, int flags);
extern gasnet_coll_handle_t gasnet_coll_broadcast_nb(gasnet_team_handle_t team, void *dst,
                                                     gasnet_image_t srcimage, void *src,
                                                     size_t nbytes, int flags);
extern void gasnet_coll_broadcastM(gasnet_team_handle_t team, void *const dstlist[],
                                   gasnet_image_t srcimage, void *src, size_t nbytes, int flags);
extern gasnet_coll_handle_t gasnet_coll_broadcastM_nb(gasnet_team_handle_t team,
                                                      void *const dstlist[],
                                                      gasnet_image_t srcimage, void *src,
                                                      size_t nbytes, int flags);

/* Copies block i of the root's `src`, which has a block for each image, to `dst` of image i.  At
 * the root dst may be its block of src.  */
extern void gasnet_coll_scatter(gasnet_team_handle_t team, void *dst, gasnet_image_t srcimage,
                                void *src, size_t nbytes, int flags);
extern gasnet_coll_handle_t gasnet_coll_scatter_nb(gasnet_team_handle_t team, void *dst,
                                                   gasnet_image_t srcimage, void *src,
                                                   size_t nbytes, int flags);
extern void gasnet_coll_scatterM(gasnet_team_handle_t team, void *const dstlist[],
                                 gasnet_image_t srcimage, void *src, size_t nbytes, int flags);
extern gasnet_coll_handle_t gasnet_coll_scatterM_nb(gasnet_team_handle_t team,
                                                    void *const dstlist[], gasnet_image_t srcimage,
                                                    void *src, size_t nbytes, int flags);

/* Copies `src` of image i to block i of the root's `dst`, which has a block for each image.  At the
 * root src may be its block of dst.  */
extern void gasnet_coll_gather(gasnet_team_handle_t team, gasnet_image_t dstimage, void *dst,
                               void *src, size_t nbytes, int flags);
extern gasnet_coll_handle_t gasnet_coll_gather_nb(gasnet_team_handle_t team,
                                                  gasnet_image_t dstimage, void *dst, void *src,
                                                  size_t nbytes, int flags);
extern void gasnet_coll_gatherM(gasnet_team_handle_t team, gasnet_image_t dstimage, void *dst,
                                void *const srclist[], size_t nbytes, int flags);
extern gasnet_coll_handle_t gasnet_coll_gatherM_nb(gasnet_team_handle_t team,
                                                   gasnet_image_t dstimage, void *dst,
                                                   void *const srclist[], size_t nbytes, int flags);

/* Copies `src` of image i to block i of `dst` of every image.  src may be its block of dst.  */
extern void gasnet_coll_gather_all(gasnet_team_handle_t team, void *dst, void *src, size_t nbytes,
                                   int flags);
extern gasnet_coll_handle_t gasnet_coll_gather_all_nb(gasnet_team_handle_t team, void *dst,
                                                      void *src, size_t nbytes, int flags);
extern void gasnet_coll_gather_allM(gasnet_team_handle_t team, void *const dstlist[],
                                    void *const srclist[], size_t nbytes, int flags);
extern gasnet_coll_handle_t gasnet_coll_gather_allM_nb(gasnet_team_handle_t team,
                                                       void *const dstlist[], void *const srclist[],
                                                       size_t nbytes, int flags);

/* Copies block j of `src` of image i to block i of `dst` of image j, for all i and j; both have a
 * block for each image, and must not overlap.  */
extern void gasnet_coll_exchange(gasnet_team_handle_t team, void *dst, void *src, size_t nbytes,
                                 int flags);
extern gasnet_coll_handle_t gasnet_coll_exchange_nb(gasnet_team_handle_t team, void *dst, void *src,
                                                    size_t nbytes, int flags);
extern void gasnet_coll_exchangeM(gasnet_team_handle_t team, void *const dstlist[],
                                  void *const srclist[], size_t nbytes, int flags);
extern gasnet_coll_handle_t gasnet_coll_exchangeM_nb(gasnet_team_handle_t team,
                                                     void *const dstlist[], void *const srclist[],
                                                     size_t nbytes, int flags);

/* --- Computation --- */

/* Element k of `dst` of image dstimage becomes the combination of all images' element k of `src`,
 * by function `func`; both have elem_count elements of elem_size bytes, aligned for the function.
 * dst may be the root's src; it is ignored elsewhere.  src_blksz and src_offset must be 0.  */
extern void gasnet_coll_reduce(gasnet_team_handle_t team, gasnet_image_t dstimage, void *dst,
                               void *src, size_t src_blksz, size_t src_offset, size_t elem_size,
                               size_t elem_count, gasnet_coll_fn_handle_t func, int func_arg,
                               int flags);
extern gasnet_coll_handle_t
gasnet_coll_reduce_nb(gasnet_team_handle_t team, gasnet_image_t dstimage, void *dst, void *src,
                      size_t src_blksz, size_t src_offset, size_t elem_size, size_t elem_count,
                      gasnet_coll_fn_handle_t func, int func_arg, int flags);
extern void gasnet_coll_reduceM(gasnet_team_handle_t team, gasnet_image_t dstimage, void *dst,
                                void *const srclist[], size_t src_blksz, size_t src_offset,
                                size_t elem_size, size_t elem_count, gasnet_coll_fn_handle_t func,
                                int func_arg, int flags);
extern gasnet_coll_handle_t
gasnet_coll_reduceM_nb(gasnet_team_handle_t team, gasnet_image_t dstimage, void *dst,
                       void *const srclist[], size_t src_blksz, size_t src_offset, size_t elem_size,
                       size_t elem_count, gasnet_coll_fn_handle_t func, int func_arg, int flags);

/* Not implemented: a call is a fatal error that says so. */
extern void gasnet_coll_scan(gasnet_team_handle_t team, void *dst, size_t dst_blksz,
                             size_t dst_offset, void *src, size_t src_blksz, size_t src_offset,
                             size_t elem_size, size_t elem_count, gasnet_coll_fn_handle_t func,
                             int func_arg, int flags);
extern gasnet_coll_handle_t
gasnet_coll_scan_nb(gasnet_team_handle_t team, void *dst, size_t dst_blksz, size_t dst_offset,
                    void *src, size_t src_blksz, size_t src_offset, size_t elem_size,
                    size_t elem_count, gasnet_coll_fn_handle_t func, int func_arg, int flags);
extern void gasnet_coll_scanM(gasnet_team_handle_t team, void *const dstlist[], size_t dst_blksz,
                              size_t dst_offset, void *const srclist[], size_t src_blksz,
                              size_t src_offset, size_t elem_size, size_t elem_count,
                              gasnet_coll_fn_handle_t func, int func_arg, int flags);
extern gasnet_coll_handle_t gasnet_coll_scanM_nb(gasnet_team_handle_t team, void *const dstlist[],
                                                 size_t dst_blksz, size_t dst_offset,
                                                 void *const srclist[], size_t src_blksz,
                                                 size_t src_offset, size_t elem_size,
                                                 size_t elem_count, gasnet_coll_fn_handle_t func,
                                                 int func_arg, int flags);

/* --- Synchronisation --- */

/* Synchronises collectives.  Called by the thread that initiated the operation, in any order.  The
 * rules are those of gasnet_wait_syncnb and so on: all forms poll; a try returns GASNET_OK, which
 * invalidates the handle, or GASNET_ERR_NOT_READY; in lists, completed handles are overwritten with
 * GASNET_COLL_INVALID_HANDLE and invalid ones are ignored.  */
extern void gasnet_coll_wait_sync(gasnet_coll_handle_t handle);
extern int gasnet_coll_try_sync(gasnet_coll_handle_t handle);
extern void gasnet_coll_wait_sync_all(gasnet_coll_handle_t *handles, size_t numhandles);
extern int gasnet_coll_try_sync_all(gasnet_coll_handle_t *handles, size_t numhandles);
extern void gasnet_coll_wait_sync_some(gasnet_coll_handle_t *handles, size_t numhandles);
extern int gasnet_coll_try_sync_some(gasnet_coll_handle_t *handles, size_t numhandles);

/* --- Team barriers --- */

/* The barrier of the nodes of a team, by calls like gasnet_barrier_notify and so on.  With
 * GASNET_BARRIERFLAG_IMAGES every image calls notify and wait (or try), and none leaves before all
 * have entered.  Without that flag one thread of each node calls them: another thread that notifies
 * before the node has left the team's barrier ends the job with an error.  Barriers of several
 * teams may be in progress at once. On GASNET_TEAM_ALL the barrier is that of gasnet_barrier_*:
 * phases of both kinds may alternate.
 */
extern void gasnet_coll_barrier_notify(gasnet_team_handle_t team, int id, int flags);
extern int gasnet_coll_barrier_try(gasnet_team_handle_t team, int id, int flags);
extern int gasnet_coll_barrier_wait(gasnet_team_handle_t team, int id, int flags);
extern int gasnet_coll_barrier(gasnet_team_handle_t team, int id, int flags);
extern int gasnet_coll_barrier_result(gasnet_team_handle_t team, int *id);

/* --- Teams --- */

/* Collective over the images of `parent`: nodes that pass an equal color form a team; their ranks
 * in the team follow relrank, and for equal relrank the order in the parent.  All images of a node
 * pass the same color and relrank and get the same team, of which they all are images.  clientdata:
 * NULL, or a gasnet_seginfo_t for the library's use, which it does not need.  The team has the
 * settings (below) that the parent has now.  */
extern gasnet_team_handle_t gasnet_coll_team_split(gasnet_team_handle_t parent, gasnet_node_t color,
                                                   gasnet_node_t relrank, void *clientdata);
/* Releases a team other than GASNET_TEAM_ALL.  Collective over its images, after all its
 * collectives are synced and its barriers complete; the handle is invalid afterwards.  */
extern void gasnet_coll_team_free(gasnet_team_handle_t team);
/* The node of a rank, which must be less than the size; the rank of a node, or (gasnet_node_t)-1 if
 * it is no member; the number of nodes.  */
extern gasnet_node_t gasnet_coll_team_rank2node(gasnet_team_handle_t team, int rank);
extern gasnet_node_t gasnet_coll_team_node2rank(gasnet_team_handle_t team, gasnet_node_t node);
extern gasnet_node_t gasnet_coll_team_size(gasnet_team_handle_t team);

/* Names that some clients use. */
#define gasnete_coll_team_split     gasnet_coll_team_split
#define gasnete_coll_team_free      gasnet_coll_team_free
#define gasnete_coll_team_rank2node gasnet_coll_team_rank2node
#define gasnete_coll_team_node2rank gasnet_coll_team_node2rank
#define gasnete_coll_team_size      gasnet_coll_team_size

/* --- Tuning --- */

typedef enum {
    GASNET_COLL_BROADCAST_OP,
    GASNET_COLL_BROADCASTM_OP,
    GASNET_COLL_SCATTER_OP,
    GASNET_COLL_SCATTERM_OP,
    GASNET_COLL_GATHER_OP,
    GASNET_COLL_GATHERM_OP,
    GASNET_COLL_GATHER_ALL_OP,
    GASNET_COLL_GATHER_ALLM_OP,
    GASNET_COLL_EXCHANGE_OP,
    GASNET_COLL_EXCHANGEM_OP,
    GASNET_COLL_REDUCE_OP,
    GASNET_COLL_REDUCEM_OP,
    GASNET_COLL_NUM_COLL_OPTYPES
} gasnet_coll_optype_t;

typedef enum {
    GASNET_COLL_PIPE_SEG_SIZE,
    GASNET_COLL_DISSEM_RADIX,
    GASNET_COLL_TREE_TYPE,
    GASNET_COLL_NUM_PARAM_TYPES
} gasnet_coll_tuning_param_type_t;

/* The arguments of an operation to be tuned; members that it does not have are ignored.  */
typedef struct {
    uint8_t **dst;
    uint8_t **src;
    gasnet_image_t rootimg;
    size_t src_blksz;
    size_t src_offset;
    size_t elem_size;
    size_t nbytes;
    size_t dist;
    gasnet_coll_fn_handle_t func;
    int func_arg;
} gasnet_coll_args_t;
#define GASNET_COLL_ARGS_INITIALIZER                                                               \
    {                                                                                              \
        0, 0, 0, 0, 0, 0, 0, 0, 0, 0                                                               \
    }

/* Work of the client to overlap with the operation that is tuned.  */
typedef void (*gasnet_coll_overlap_sample_work_t)(void *arg);

/* Settings of a team's collectives: equal calls on all its nodes, with no collective of the team in
 * flight. get_num_tree_classes: 2 for operations with a root, and 0 for the others. set_tree_kind:
 * an operation with a root uses a flat tree (tree_type 0) or a k-nomial one (1) for all sizes; a
 * fanout of at least 2 is the k of all the team's trees. set_dissem_limit: gather_all or exchange
 * uses dissemination if a node receives at most `limit` bytes in total; 0: the library chooses.  */
extern int gasnet_coll_get_num_tree_classes(gasnet_team_handle_t team, gasnet_coll_optype_t op);
extern void gasnet_coll_set_tree_kind(gasnet_team_handle_t team, int tree_type, int fanout,
                                      gasnet_coll_optype_t op);
extern void gasnet_coll_set_dissem_limit(gasnet_team_handle_t team, size_t limit,
                                         gasnet_coll_optype_t op);

/* Read and write the settings as a file; collective over the team's images.  A NULL filename stands
 * for gasnet_coll_tuning_defaults.bin in the working directory.  Image 0 writes the file, and only
 * if a call of this section or a file has changed a setting.  Image 0 reads the file for all
 * images; a file that is missing or wrong is a fatal error.  The file is text: the line
 * "gasnet-coll-settings 1", and any of "radix N", "segment N" (bytes), "dissemination OPERATION N"
 * (bytes) and "algorithm OPERATION NAME", one a line; # begins a comment.  NAME: flat, tree,
 * scatter_first, dissemination or pairwise.  */
extern void gasnet_coll_loadTuningState(char *filename, gasnet_team_handle_t team);
extern void gasnet_coll_dumpTuningState(char *filename, gasnet_team_handle_t team);
/* Writes nothing: the library keeps no profile.  */
extern void gasnet_coll_dumpProfile(char *filename, gasnet_team_handle_t team);

/* Executes the operation once, and fn(work_arg) meanwhile if fn is not NULL; for reductions,
 * args.nbytes / args.elem_size is the number of elements.  For the single-address forms dst[0] and
 * src[0] are the addresses.  Collective over the team's images.  Reports what the library uses for
 * the operation: *best_algidx: 0 flat, 1 tree, 2 scatter first, 3 dissemination, 4 pairwise;
 * *num_params and *best_param: the values by gasnet_coll_tuning_param_type_t, where TREE_TYPE is
 * that of gasnet_coll_set_tree_kind; *best_tree: "FLAT_TREE,0", "KNOMIAL_TREE,k" or "". *best_param
 * and *best_tree are to be freed.  Each of the four may be NULL.  */
extern void gasnet_coll_tune_generic_op(gasnet_team_handle_t team, gasnet_coll_optype_t op,
                                        gasnet_coll_args_t args, int flags,
                                        gasnet_coll_overlap_sample_work_t fn, void *work_arg,
                                        uint32_t *best_algidx, uint32_t *num_params,
                                        uint32_t **best_param, char **best_tree);

GASNETI_EXPORTS_END
#endif
