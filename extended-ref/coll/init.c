/* init.c - gasnet_coll_init: makes GASNET_TEAM_ALL, gives each calling thread its image, and waits
 * until all images have called.  */

#include "core/job/progress.h"
#include "core/job/rank.h"
#include "core/job/thread.h"
#include "core/params/params.h"
#include "core/report.h"
#include "core/trace/trace.h"
#include "extended-ref/barrier/barrier.h"
#include "extended-ref/coll/op.h"
#include "extended-ref/progress.h"

/* True if a node can have several images, which are in a blocking call at the same time.
 */
#ifdef GASNET_PAR
enum { INIT_THREADS = 1 };
#else
enum { INIT_THREADS = 0 };
#endif

gasnet_team_handle_t gasnete_coll_team_all;

static gasneti_lock_t init_lock; /* protects: */
static uint32_t entered;         /* images of this node that have called gasnet_coll_init */
static uint32_t met;             /* of these, those that know that all images have called */
static uint32_t digest;          /* of the arguments, in which all images must agree */

static uint32_t init_digest(const gasnet_image_t *images)
{
    uint32_t value = gasnete_coll_functions_digest();
    for (uint32_t i = 0; i < gasnetc_job.size; i++) value = value * 31 + (images ? images[i] : 1);
    return value;
}

static void init_check_images(const gasnet_image_t *images)
{
    for (uint32_t i = 0; images && i < gasnetc_job.size; i++)
        if (images[i] == 0)
            gasneti_fatal("gasnet_coll_init is given 0 images for rank %u: each has at least one",
                          i);
    if (!INIT_THREADS && images && images[gasnetc_job.rank] != 1)
        gasneti_fatal("gasnet_coll_init is given %u images for this rank, where only one thread "
                      "may be in the library at a time: compile for PAR to have more",
                      (unsigned)images[gasnetc_job.rank]);
}

/* Sets the trees that GASNET_COLL_ROOTED_GEOM names.  The number is the radix.  */
static void init_geometry(gasnete_coll_settings_t *settings)
{
    static const enum gasnete_coll_kind rooted[] = {GASNETE_COLL_BROADCAST, GASNETE_COLL_SCATTER,
                                                    GASNETE_COLL_GATHER, GASNETE_COLL_REDUCE};
    const struct gasneti_word_number *tree = &gasnetc_params.coll_geometry;
    const bool flat = tree->word == GASNETC_TREE_FLAT;
    if (tree->word == GASNETC_TREE_AUTO) return;
    for (size_t i = 0; i < sizeof rooted / sizeof *rooted; i++)
        settings->tree[rooted[i]] = 1 + (flat ? GASNETE_COLL_FLAT : GASNETE_COLL_TREE);
    if (!flat && tree->number > 1 && tree->number <= INT16_MAX)
        settings->radix = (uint32_t)tree->number;
}

gasnete_coll_settings_t gasnete_coll_settings(void)
{
    gasnete_coll_settings_t settings = {
        .segment = (size_t)gasnetc_params.coll_segment,
        .dissemination_limit = {(size_t)gasnetc_params.coll_gather_all_limit,
                                (size_t)gasnetc_params.coll_exchange_limit},
    };
    init_geometry(&settings);
    return settings;
}

/* The work of the node's first call.  */
static void init_node(const gasnet_image_t *images, const gasnet_coll_fn_entry_t *functions,
                      size_t function_count)
{
    init_check_images(images);
    gasnete_coll_functions(functions, function_count);
    digest = init_digest(images);
    gasnete_coll_team_all =
        gasnete_coll_team_new(GASNETE_COLL_ID_ALL, NULL, gasnetc_job.size, images);
    gasnete_coll_team_all->settings = gasnete_coll_settings();
    gasnete_coll_team_all->plain->settings = gasnete_coll_team_all->settings;
    gasnete_team_barrier_make(gasnete_coll_team_all, true);
    atomic_store_explicit(&gasnete_coll_progress_hook, gasnete_coll_work, memory_order_release);
}

/* The index of the calling image on its node.  */
static uint32_t init_local_image(gasnet_image_t image)
{
    const gasnete_team_t *all = gasnete_coll_team_all;
    if (all->local == 1) return 0;
    uint32_t first = gasnete_coll_first_image(all, all->rank);
    if (image < first || image - first >= all->local)
        gasneti_fatal("gasnet_coll_init is called with my_image %u on a rank that has images %u "
                      "to %u",
                      (unsigned)image, first, first + all->local - 1);
    return image - first;
}

/* All images have called.  The nodes leave by the job's barrier: it ends closer together than a
 * collective, so that few messages of a peer that has left are handled in here. */
static void init_leave(void)
{
    static atomic_bool over;
    const gasnete_barrier_value_t value = gasnete_barrier_value((int)digest, 0);
    gasneti_lock(&init_lock);
    const bool first = met++ == 0;
    gasneti_unlock(&init_lock);
    if (first) {
        gasnete_barrier_open(&gasnete_barrier_job, value);
        gasnete_barrier_close(&gasnete_barrier_job, value);
        atomic_store_explicit(&over, true, memory_order_release);
    } else {
        gasneti_wait_until(atomic_load_explicit(&over, memory_order_acquire));
    }
}

void gasnet_coll_init(const gasnet_image_t images[], gasnet_image_t my_image,
                      gasnet_coll_fn_entry_t fn_tbl[], size_t fn_count, int init_flags)
{
    (void)init_flags;
    gasnetc_require_attached("gasnet_coll_init");
    const uint64_t began = gasneti_trace_begin();
    gasneti_lock(&init_lock);
    if (gasnete_coll_team_all == NULL) init_node(images, fn_tbl, fn_count);
    if (entered++ == gasnete_coll_team_all->local)
        gasneti_fatal("gasnet_coll_init is called more than once by an image: this rank has %u "
                      "images, each of which calls it once",
                      gasnete_coll_team_all->local);
    const gasnete_coll_call_t call = {.name = "gasnet_coll_init",
                                      .team = gasnete_coll_team_all,
                                      .kind = GASNETE_COLL_BARRIER,
                                      .argument = (int)digest};
    gasneti_unlock(&init_lock);
    gasnete_coll_check_team("gasnet_coll_init", gasnete_coll_team_all);
    gasnete_coll_become_image(init_local_image(my_image));
    gasnete_coll_execute(&call);
    init_leave();
    gasneti_trace_end(began, .kind = GASNETI_TRACE_phase, .text = "coll_init",
                      .peer = GASNETI_TRACE_NO_PEER);
}
