/* tuning.c - gasnet_coll_set_..., the files of settings, and gasnet_coll_tune_generic_op.
 *
 * The calls change team->settings, which plan_choose.h obeys.  The files are those of
 * tuning_text.h.  The library keeps no profile of operations, so none can be written.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/report.h"
#include "extended-ref/coll/op.h"
#include "extended-ref/teams/tuning_text.h"
#include "gasnet.h"

static const char default_file[] = "gasnet_coll_tuning_defaults.bin";

static enum gasnete_coll_kind kind_of(const char *call, gasnet_coll_optype_t op)
{
    static const enum gasnete_coll_kind kinds[GASNET_COLL_NUM_COLL_OPTYPES] = {
        GASNETE_COLL_BROADCAST,  GASNETE_COLL_BROADCAST,  GASNETE_COLL_SCATTER,
        GASNETE_COLL_SCATTER,    GASNETE_COLL_GATHER,     GASNETE_COLL_GATHER,
        GASNETE_COLL_GATHER_ALL, GASNETE_COLL_GATHER_ALL, GASNETE_COLL_EXCHANGE,
        GASNETE_COLL_EXCHANGE,   GASNETE_COLL_REDUCE,     GASNETE_COLL_REDUCE,
    };
    if ((unsigned)op >= GASNET_COLL_NUM_COLL_OPTYPES)
        gasneti_fatal("%s names operation %d: they are GASNET_COLL_BROADCAST_OP to "
                      "GASNET_COLL_REDUCEM_OP",
                      call, (int)op);
    return kinds[op];
}

static bool has_root(enum gasnete_coll_kind kind)
{
    return kind != GASNETE_COLL_GATHER_ALL && kind != GASNETE_COLL_EXCHANGE;
}

/* The settings, to be changed before settings_changed; several images of this node may change them
 * at the same time.  */
static gasnete_coll_settings_t *settings_of(gasnete_team_t *team)
{
    gasneti_lock(&gasnete_coll_lock);
    return &team->settings;
}

static void settings_changed(gasnete_team_t *team)
{
    team->plain->settings = team->settings;
    team->tuned = true;
    gasneti_unlock(&gasnete_coll_lock);
    gasnete_coll_schedules_drop(team);
    if (team->plain != team) gasnete_coll_schedules_drop(team->plain);
}

/* --- settings by calls --- */

int gasnet_coll_get_num_tree_classes(gasnet_team_handle_t team, gasnet_coll_optype_t op)
{
    gasnete_coll_check_team("gasnet_coll_get_num_tree_classes", team);
    return has_root(kind_of("gasnet_coll_get_num_tree_classes", op)) ? 2 : 0;
}

void gasnet_coll_set_tree_kind(gasnet_team_handle_t team, int tree_type, int fanout,
                               gasnet_coll_optype_t op)
{
    gasnete_coll_check_team("gasnet_coll_set_tree_kind", team);
    enum gasnete_coll_kind kind = kind_of("gasnet_coll_set_tree_kind", op);
    if (!has_root(kind) || tree_type < 0 || tree_type > 1)
        gasneti_fatal("gasnet_coll_set_tree_kind asks for tree %d of %s, which has %d: see "
                      "gasnet_coll_get_num_tree_classes",
                      tree_type, gasnete_coll_kind_name[kind], has_root(kind) ? 2 : 0);
    gasnete_coll_settings_t *settings = settings_of(team);
    settings->tree[kind] = (uint8_t)(1 + (tree_type ? GASNETE_COLL_TREE : GASNETE_COLL_FLAT));
    if (fanout > 1) settings->radix = (uint32_t)fanout;
    settings_changed(team);
}

void gasnet_coll_set_dissem_limit(gasnet_team_handle_t team, size_t limit, gasnet_coll_optype_t op)
{
    gasnete_coll_check_team("gasnet_coll_set_dissem_limit", team);
    enum gasnete_coll_kind kind = kind_of("gasnet_coll_set_dissem_limit", op);
    if (has_root(kind))
        gasneti_fatal("gasnet_coll_set_dissem_limit is given %s: only gather_all and exchange use "
                      "dissemination",
                      gasnete_coll_kind_name[kind]);
    settings_of(team)->dissemination_limit[kind == GASNETE_COLL_EXCHANGE] = limit;
    settings_changed(team);
}

/* --- files --- */

/* Reads a file of settings; fatal if any line is wrong.  */
static void read_file(const char *name, gasnete_coll_settings_t *settings)
{
    char text[2 * GASNETE_COLL_TUNING_BYTES];
    FILE *file = fopen(name, "r");
    if (file == NULL)
        gasneti_fatal("gasnet_coll_loadTuningState cannot open %s: %s", name, strerror(errno));
    size_t length = fread(text, 1, sizeof text - 1, file);
    bool whole = feof(file) && !ferror(file);
    fclose(file);
    text[length] = 0;
    if (!whole || strlen(text) != length)
        gasneti_fatal("gasnet_coll_loadTuningState: %s is no file of "
                      "gasnet_coll_dumpTuningState: it is longer than %zu bytes, or no text",
                      name, sizeof text - 1);
    const char *why;
    unsigned line = gasnete_coll_tuning_read(text, settings, &why);
    if (line)
        gasneti_fatal("gasnet_coll_loadTuningState: line %u of %s is wrong: %s", line, name, why);
}

/* Image 0 reads the file, and broadcasts the settings.  */
void gasnet_coll_loadTuningState(char *filename, gasnet_team_handle_t team)
{
    gasnete_coll_check_team("gasnet_coll_loadTuningState", team);
    gasnete_coll_settings_t settings;
    uint32_t local = gasnete_coll_local_image("gasnet_coll_loadTuningState");
    if (team->rank == 0 && local == 0) read_file(filename ? filename : default_file, &settings);
    gasnet_coll_broadcast(team, &settings, 0, &settings, sizeof settings,
                          GASNET_COLL_IN_MYSYNC | GASNET_COLL_OUT_ALLSYNC | GASNET_COLL_LOCAL);
    if (local == 0) {
        *settings_of(team) = settings;
        settings_changed(team);
    }
    /* No image begins a collective before its node has the settings.  */
    gasnet_coll_barrier(team, 0, GASNET_BARRIERFLAG_ANONYMOUS | GASNET_BARRIERFLAG_IMAGES);
}

void gasnet_coll_dumpTuningState(char *filename, gasnet_team_handle_t team)
{
    gasnete_coll_check_team("gasnet_coll_dumpTuningState", team);
    const char *name = filename ? filename : default_file;
    uint32_t local = gasnete_coll_local_image("gasnet_coll_dumpTuningState");
    if (team->rank != 0 || local != 0 || !team->tuned) return;
    char text[GASNETE_COLL_TUNING_BYTES];
    size_t length = gasnete_coll_tuning_write(&team->settings, text);
    FILE *file = fopen(name, "w");
    bool written = file && fwrite(text, 1, length, file) == length;
    if (file && fclose(file) != 0) written = false;
    if (!written)
        gasneti_fatal("gasnet_coll_dumpTuningState cannot write %s: %s", name, strerror(errno));
}

void gasnet_coll_dumpProfile(char *filename, gasnet_team_handle_t team)
{
    (void)filename;
    gasnete_coll_check_team("gasnet_coll_dumpProfile", team);
}

/* --- gasnet_coll_tune_generic_op --- */

static gasnet_coll_handle_t start(gasnet_team_handle_t team, gasnet_coll_optype_t op,
                                  const gasnet_coll_args_t *a, int flags)
{
    void *dst = a->dst ? a->dst[0] : NULL, *src = a->src ? a->src[0] : NULL;
    void **dsts = (void **)a->dst, **srcs = (void **)a->src;
    size_t count = a->elem_size ? a->nbytes / a->elem_size : 0;
    switch (op) {
    case GASNET_COLL_BROADCAST_OP:
        return gasnet_coll_broadcast_nb(team, dst, a->rootimg, src, a->nbytes, flags);
    case GASNET_COLL_BROADCASTM_OP:
        return gasnet_coll_broadcastM_nb(team, dsts, a->rootimg, src, a->nbytes, flags);
    case GASNET_COLL_SCATTER_OP:
        return gasnet_coll_scatter_nb(team, dst, a->rootimg, src, a->nbytes, flags);
    case GASNET_COLL_SCATTERM_OP:
        return gasnet_coll_scatterM_nb(team, dsts, a->rootimg, src, a->nbytes, flags);
    case GASNET_COLL_GATHER_OP:
        return gasnet_coll_gather_nb(team, a->rootimg, dst, src, a->nbytes, flags);
    case GASNET_COLL_GATHERM_OP:
        return gasnet_coll_gatherM_nb(team, a->rootimg, dst, srcs, a->nbytes, flags);
    case GASNET_COLL_GATHER_ALL_OP:
        return gasnet_coll_gather_all_nb(team, dst, src, a->nbytes, flags);
    case GASNET_COLL_GATHER_ALLM_OP:
        return gasnet_coll_gather_allM_nb(team, dsts, srcs, a->nbytes, flags);
    case GASNET_COLL_EXCHANGE_OP:
        return gasnet_coll_exchange_nb(team, dst, src, a->nbytes, flags);
    case GASNET_COLL_EXCHANGEM_OP:
        return gasnet_coll_exchangeM_nb(team, dsts, srcs, a->nbytes, flags);
    case GASNET_COLL_REDUCE_OP:
        return gasnet_coll_reduce_nb(team, a->rootimg, dst, src, a->src_blksz, a->src_offset,
                                     a->elem_size, count, a->func, a->func_arg, flags);
    default:
        return gasnet_coll_reduceM_nb(team, a->rootimg, dst, srcs, a->src_blksz, a->src_offset,
                                      a->elem_size, count, a->func, a->func_arg, flags);
    }
}

static char *tree_name(const gasnete_coll_plan_t *plan)
{
    char name[32] = "";
    if (plan->algorithm == GASNETE_COLL_FLAT) snprintf(name, sizeof name, "FLAT_TREE,0");
    if (plan->algorithm == GASNETE_COLL_TREE)
        snprintf(name, sizeof name, "KNOMIAL_TREE,%u", (unsigned)plan->radix);
    return strdup(name);
}

void gasnet_coll_tune_generic_op(gasnet_team_handle_t team, gasnet_coll_optype_t op,
                                 gasnet_coll_args_t args, int flags,
                                 gasnet_coll_overlap_sample_work_t fn, void *work_arg,
                                 uint32_t *best_algidx, uint32_t *num_params, uint32_t **best_param,
                                 char **best_tree)
{
    gasnete_coll_check_team("gasnet_coll_tune_generic_op", team);
    const gasnete_team_t *own = flags & GASNET_COLL_NO_IMAGES ? team->plain : team;
    gasnete_coll_plan_key_t key = {.nbytes = args.nbytes,
                                   .unit = args.elem_size,
                                   .kind = (uint8_t)kind_of("gasnet_coll_tune_generic_op", op)};
    gasnet_coll_handle_t handle = start(team, op, &args, flags);
    if (fn) fn(work_arg);
    gasnet_coll_wait_sync(handle);
    /* The operation has checked the arguments.  */
    if (has_root(key.kind)) key.root = gasnete_coll_rank_of_image(own, args.rootimg);
    key.in_order = key.kind == GASNETE_COLL_REDUCE &&
                   gasnete_coll_in_order(&(gasnete_coll_call_t){.function = args.func});
    const gasnete_coll_plan_t plan = gasnete_coll_team_plan(own, &key);
    if (best_algidx) *best_algidx = plan.algorithm;
    if (num_params) *num_params = GASNET_COLL_NUM_PARAM_TYPES;
    if (best_param && (*best_param = calloc(GASNET_COLL_NUM_PARAM_TYPES, sizeof **best_param))) {
        (*best_param)[GASNET_COLL_PIPE_SEG_SIZE] = (uint32_t)plan.segment;
        (*best_param)[GASNET_COLL_DISSEM_RADIX] = 2;
        (*best_param)[GASNET_COLL_TREE_TYPE] = plan.algorithm == GASNETE_COLL_TREE;
    }
    if (best_tree) *best_tree = tree_name(&plan);
}
