/* plan_stages.c - operations in stages, where ranks of a supernode share memory.  Ranks exchange
 * messages with their leader, leaders with each other, and leaders with their ranks.  Pure.
 *
 * A stage is a plan of this folder, for the ranks of the own supernode or for the leaders.  The
 * actions of its plan are used with peers, tags and memory translated.  So only leaders exchange
 * messages across the network.  The root leads its own supernode.  Tags are those of the stages: no
 * two stages have messages from one rank to the same other rank. (Ranks of a supernode send to the
 * leader in the first stage, and receive from it in the last.)
 *
 * Messages of a stage may be received early, while the previous stage is carried out: the stages
 * use different parts of TMP, and a fence separates two stages that use the same memory.
 */
#include "extended-ref/coll/plans/plan_parts.h"

enum { MOST_STAGES = 5 };

struct stages;
typedef struct stage {
    const gasnete_coll_method_t *method; /* NULL: `copy` */
    gasnete_coll_plan_t plan; /* its ranks are those of the supernode, or the supernodes */
    bool between;             /* the ranks of `plan` are supernodes */
    bool fence;               /* no message of the next stage is received before this one ends */
    gasnete_coll_address_t at[3]; /* its buffers */
    bool (*copy)(const gasnete_coll_plan_t *plan, const struct stages *s, const struct stage *stage,
                 offer_t *o);
} stage_t;

typedef struct stages {
    plan_position_t at;
    uint32_t stages;
    stage_t stage[MOST_STAGES];
    size_t scratch; /* bytes of TMP so far */
} stages_t;

static bool leads(const stages_t *s)
{
    return s->at.number == s->at.leader;
}

/* The number of images before an index in the order of supernodes. */
static size_t first_image(const gasnete_coll_plan_t *plan, uint32_t index)
{
    return plan->first_by_index ? plan->first_by_index[index] : index;
}

/* Bytes of all ranks' blocks. */
static size_t whole_bytes(const gasnete_coll_plan_t *plan)
{
    return plan_offset(plan, plan->size);
}

static gasnete_coll_address_t more_scratch(stages_t *s, size_t nbytes)
{
    const size_t offset = s->scratch;
    s->scratch += plan_aligned(nbytes);
    return address(GASNETE_COLL_TMP, offset);
}

/* --- the stages of an operation --- */

static const gasnete_coll_address_t caller_src = {GASNETE_COLL_SRC, 0};
static const gasnete_coll_address_t caller_dst = {GASNETE_COLL_DST, 0};

static stage_t *stages_add(stages_t *s, const gasnete_coll_plan_t *plan, gasnete_coll_address_t src,
                           gasnete_coll_address_t dst)
{
    stage_t *stage = &s->stage[s->stages++];
    stage->method = gasnete_coll_method(plan);
    stage->plan = *plan;
    stage->between = stage->fence = false;
    stage->at[GASNETE_COLL_SRC] = src;
    stage->at[GASNETE_COLL_DST] = dst;
    stage->at[GASNETE_COLL_TMP] = more_scratch(s, gasnete_coll_plan_scratch(plan));
    return stage;
}

/* Adds a stage among the ranks of the supernode, along a tree; no stage for one rank.  The blocks
 * of SCATTER and GATHER are those of the supernode. */
static void add_within(stages_t *s, const gasnete_coll_plan_t *plan, enum gasnete_coll_kind kind,
                       size_t nbytes, gasnete_coll_address_t src, gasnete_coll_address_t dst)
{
    gasnete_coll_plan_t within = *plan;
    if (s->at.count == 1) return;
    within.kind = kind;
    within.algorithm = GASNETE_COLL_TREE;
    within.topology = NULL;
    within.rank = s->at.number;
    within.size = s->at.count;
    within.root = s->at.leader;
    within.first = plan->first_by_index ? plan->first_by_index + s->at.first : NULL;
    within.nbytes = nbytes;
    if (within.segment) within.segment = plan_segment(within.segment, nbytes);
    if (kind == GASNETE_COLL_SCATTER) src.offset -= plan_offset(&within, 0);
    if (kind == GASNETE_COLL_GATHER) dst.offset -= plan_offset(&within, 0);
    stages_add(s, &within, src, dst);
}

/* Adds a stage among the leaders. */
static void add_between(stages_t *s, const gasnete_coll_plan_t *plan, gasnete_coll_address_t src,
                        gasnete_coll_address_t dst)
{
    gasnete_coll_plan_t between = *plan;
    if (!leads(s)) return;
    between.topology = NULL;
    between.rank = s->at.own;
    between.size = s->at.by->count;
    between.root = s->at.root_supernode;
    between.first = plan->first_by_index ? plan->first_by_index + plan->size + 1 : s->at.by->first;
    stages_add(s, &between, src, dst)->between = true;
}

/* The stages of BARRIER: messages without bytes. */
static void barrier_stages(stages_t *s, const gasnete_coll_plan_t *plan)
{
    const gasnete_coll_address_t nowhere = address(GASNETE_COLL_TMP, 0);
    add_within(s, plan, GASNETE_COLL_GATHER, 0, nowhere, nowhere);
    add_between(s, plan, nowhere, nowhere);
    add_within(s, plan, GASNETE_COLL_BROADCAST, 0, nowhere, nowhere);
}

/* Adds a stage of local copies. */
static stage_t *add_copies(stages_t *s,
                           bool (*copy)(const gasnete_coll_plan_t *plan, const stages_t *s,
                                        const stage_t *stage, offer_t *o),
                           gasnete_coll_address_t src, gasnete_coll_address_t dst)
{
    stage_t *stage = &s->stage[s->stages++];
    *stage = (stage_t){.copy = copy, .at = {[GASNETE_COLL_SRC] = src, [GASNETE_COLL_DST] = dst}};
    return stage;
}

/* Copies blocks from the order of supernodes to that of ranks; SCATTER: the reverse. */
static bool stages_reorder(const gasnete_coll_plan_t *plan, const stages_t *s, const stage_t *stage,
                           offer_t *o)
{
    gasnete_coll_address_t from = stage->at[GASNETE_COLL_SRC], to = stage->at[GASNETE_COLL_DST];
    const bool scatter = plan->kind == GASNETE_COLL_SCATTER;
    const uint32_t rank = o->left;
    if (rank >= plan->size) return false;
    *(scatter ? &to.offset : &from.offset) +=
        first_image(plan, s->at.by->index[rank]) * plan->nbytes;
    *(scatter ? &from.offset : &to.offset) += plan_offset(plan, rank);
    o->left = 0;
    return offer_copy(o, to, from, plan_blocks(plan, rank));
}

/* The blocks of the own supernode in the whole. */
static gasnete_coll_address_t of_own(const stages_t *s, const gasnete_coll_plan_t *plan,
                                     gasnete_coll_address_t whole)
{
    whole.offset += first_image(plan, s->at.first) * plan->nbytes;
    return whole;
}

static gasnete_coll_address_t more_blocks(stages_t *s, const gasnete_coll_plan_t *plan)
{
    const size_t end = first_image(plan, s->at.first + s->at.count);
    return more_scratch(s, (end - first_image(plan, s->at.first)) * plan->nbytes);
}

/* The stages of BROADCAST: in large pieces among the leaders. */
static void broadcast_stages(stages_t *s, const gasnete_coll_plan_t *plan)
{
    add_between(s, plan, caller_src, caller_dst);
    add_within(s, plan, GASNETE_COLL_BROADCAST, plan->nbytes, caller_dst, caller_dst);
}

/* The stages of REDUCE: in large pieces among the leaders, or in order. */
static void reduce_stages(stages_t *s, const gasnete_coll_plan_t *plan)
{
    gasnete_coll_address_t sum = caller_src;
    if (leads(s) && s->at.count > 1) sum = more_scratch(s, plan->nbytes);
    add_within(s, plan, GASNETE_COLL_REDUCE, plan->nbytes, caller_src, sum);
    add_between(s, plan, sum, caller_dst);
}

/* The stages of REDUCE_ALL.  In place, a rank sends SRC, or combines it, before it receives into
 * it.
 */
static void reduce_all_stages(stages_t *s, const gasnete_coll_plan_t *plan)
{
    gasnete_coll_address_t sum = caller_src;
    if (leads(s) && s->at.count > 1) sum = more_scratch(s, plan->nbytes);
    add_within(s, plan, GASNETE_COLL_REDUCE, plan->nbytes, caller_src, sum);
    if (s->stages) s->stage[0].fence = plan->in_place;
    add_between(s, plan, sum, caller_dst);
    add_within(s, plan, GASNETE_COLL_BROADCAST, plan->nbytes, caller_dst, caller_dst);
}

static void scatter_stages(stages_t *s, const gasnete_coll_plan_t *plan)
{
    gasnete_coll_address_t by_supernode = caller_src, own = caller_dst;
    if (plan_is_root(plan) && !s->at.by->ranges)
        add_copies(s, stages_reorder, caller_src,
                   by_supernode = more_scratch(s, whole_bytes(plan)));
    if (leads(s) && s->at.count > 1) own = more_blocks(s, plan);
    add_between(s, plan, by_supernode, own);
    add_within(s, plan, GASNETE_COLL_SCATTER, plan->nbytes, own, caller_dst);
}

static void gather_stages(stages_t *s, const gasnete_coll_plan_t *plan)
{
    const bool reorders = plan_is_root(plan) && !s->at.by->ranges;
    const gasnete_coll_address_t by_supernode =
        reorders ? more_scratch(s, whole_bytes(plan)) : caller_dst;
    gasnete_coll_address_t own = caller_src;
    if (leads(s) && s->at.count > 1)
        own = plan_is_root(plan) ? of_own(s, plan, by_supernode) : more_blocks(s, plan);
    add_within(s, plan, GASNETE_COLL_GATHER, plan->nbytes, caller_src, own);
    add_between(s, plan, own, by_supernode);
    if (reorders) add_copies(s, stages_reorder, by_supernode, caller_dst);
}

/* The stages of GATHER_ALL: blocks are gathered by supernodes, and put in order before the leader
 * sends all of them on. */
static void gather_all_stages(stages_t *s, const gasnete_coll_plan_t *plan)
{
    gasnete_coll_address_t by_supernode = caller_dst, own = caller_src;
    if (leads(s) && !s->at.by->ranges) by_supernode = more_scratch(s, whole_bytes(plan));
    if (s->at.count > 1) own = of_own(s, plan, by_supernode);
    add_within(s, plan, GASNETE_COLL_GATHER, plan->nbytes, caller_src, own);
    if (!leads(s)) s->stage[0].fence = true; /* SRC may be in DST */
    add_between(s, plan, own, by_supernode);
    if (leads(s) && !s->at.by->ranges) add_copies(s, stages_reorder, by_supernode, caller_dst);
    add_within(s, plan, GASNETE_COLL_BROADCAST, whole_bytes(plan), caller_dst, caller_dst);
}

/* --- EXCHANGE --- */

static bool offer_pieces(offer_t *o, gasnete_coll_address_t to, size_t to_stride,
                         gasnete_coll_address_t from, size_t from_stride, uint32_t count,
                         size_t nbytes)
{
    return offer(o, &(gasnete_coll_action_t){.verb = GASNETE_COLL_COPY,
                                             .to = to,
                                             .to_stride = (ptrdiff_t)to_stride,
                                             .from = from,
                                             .from_stride = (ptrdiff_t)from_stride,
                                             .count = count,
                                             .nbytes = nbytes});
}

/* Copies the pieces that each rank of the supernode has for all ranks to the order in which they
 * are sent: by supernode of the receiver, then sender, then receiver. */
static bool by_supernodes(const gasnete_coll_plan_t *plan, const stages_t *s, const stage_t *stage,
                          offer_t *o)
{
    gasnete_coll_address_t from = stage->at[GASNETE_COLL_SRC], to = stage->at[GASNETE_COLL_DST];
    const gasnete_topology_t *by = s->at.by;
    const size_t bytes = plan_pair(plan);
    if (o->left >= (by->ranges ? by->count : plan->size)) return false;
    /* One action copies the pieces for a range of receivers. */
    const uint32_t receiver = by->ranges ? by->first[o->left] : o->left;
    const uint32_t theirs = by->of[by->ranks[receiver]], first = by->first[theirs];
    const uint32_t count = gasnete_topology_members(by, theirs);
    from.offset += by->ranks[receiver] * bytes;
    to.offset += ((size_t)first * s->at.count + receiver - first) * bytes;
    o->left = 0;
    return offer_pieces(o, to, count * bytes, from, plan->size * bytes, s->at.count,
                        by->ranges ? count * bytes : bytes);
}

/* Copies the pieces that the ranks of each supernode have sent to the order in which each rank of
 * this supernode gets them. */
static bool by_receivers(const gasnete_coll_plan_t *plan, const stages_t *s, const stage_t *stage,
                         offer_t *o)
{
    gasnete_coll_address_t from = stage->at[GASNETE_COLL_SRC], to = stage->at[GASNETE_COLL_DST];
    const uint32_t sender = o->left;
    if (sender >= plan->size) return false;
    const size_t bytes = plan_pair(plan);
    from.offset += (size_t)s->at.by->index[sender] * s->at.count * bytes;
    to.offset += sender * bytes;
    o->left = 0;
    return offer_pieces(o, to, plan->size * bytes, from, bytes, s->at.count, bytes);
}

/* The stages of EXCHANGE.  Each leader has two buffers, each for all pieces of its supernode.  The
 * leaders exchange in pairs. */
static void exchange_stages(stages_t *s, const gasnete_coll_plan_t *plan)
{
    const size_t each = whole_bytes(plan), bytes = s->at.count * plan->size * plan_pair(plan);
    gasnete_coll_plan_t pairs = *plan;
    gasnete_coll_address_t a = caller_src, b = caller_dst;
    if (leads(s)) a = more_scratch(s, bytes), b = more_scratch(s, bytes);
    add_within(s, plan, GASNETE_COLL_GATHER, each, caller_src, a);
    if (leads(s)) {
        pairs.algorithm = GASNETE_COLL_PAIRWISE;
        add_copies(s, by_supernodes, s->at.count > 1 ? a : caller_src, b)->fence = true;
        add_between(s, &pairs, b, a);
        s->stage[s->stages - 1].fence = true;
        add_copies(s, by_receivers, a, s->at.count > 1 ? b : caller_dst);
    }
    add_within(s, plan, GASNETE_COLL_SCATTER, each, b, caller_dst);
}

static void (*const stages_by_kind[])(stages_t *s, const gasnete_coll_plan_t *plan) = {
    [GASNETE_COLL_BARRIER] = barrier_stages,       [GASNETE_COLL_BROADCAST] = broadcast_stages,
    [GASNETE_COLL_SCATTER] = scatter_stages,       [GASNETE_COLL_GATHER] = gather_stages,
    [GASNETE_COLL_GATHER_ALL] = gather_all_stages, [GASNETE_COLL_REDUCE] = reduce_stages,
    [GASNETE_COLL_EXCHANGE] = exchange_stages,     [GASNETE_COLL_REDUCE_ALL] = reduce_all_stages};

static stages_t stages_of(const gasnete_coll_plan_t *plan)
{
    stages_t s = {.at = gasnete_coll_position(plan, plan->rank, plan->topology)};
    stages_by_kind[plan->kind](&s, plan);
    return s;
}

bool gasnete_coll_in_stages(const gasnete_coll_plan_t *plan)
{
    const gasnete_topology_t *by = plan->topology;
    if (!by) return false;
    switch (plan->kind) {
    case GASNETE_COLL_BARRIER:
    case GASNETE_COLL_GATHER_ALL:
    case GASNETE_COLL_EXCHANGE:
        return plan->algorithm == GASNETE_COLL_DISSEMINATION;
    case GASNETE_COLL_BROADCAST:
        return plan->algorithm == GASNETE_COLL_SCATTER_FIRST;
    case GASNETE_COLL_REDUCE:
        if (plan->in_order) return by->ranges && plan->algorithm != GASNETE_COLL_FLAT;
        return plan->algorithm != GASNETE_COLL_FLAT && plan->algorithm != GASNETE_COLL_TREE;
    case GASNETE_COLL_REDUCE_ALL:
        return !plan->in_order || by->ranges;
    case GASNETE_COLL_SCATTER:
    case GASNETE_COLL_GATHER: /* along a tree of ranges plan_levels.c does it too */
        return plan->algorithm == GASNETE_COLL_FLAT || !by->ranges;
    }
    return false;
}

/* --- their actions --- */

static uint32_t stage_rank(const gasnete_coll_plan_t *plan, const plan_position_t *at, bool between,
                           uint32_t peer)
{
    if (!between) return at->by->ranks[at->first + peer];
    return peer == at->root_supernode ? plan->root : gasnete_topology_leader(at->by, peer);
}

static void translate(const stage_t *stage, gasnete_coll_address_t *address)
{
    const gasnete_coll_address_t at = stage->at[address->buffer];
    *address = (gasnete_coll_address_t){at.buffer, at.offset + address->offset};
}

static bool stage_action(const gasnete_coll_plan_t *plan, const stages_t *s, const stage_t *stage,
                         uint32_t round, offer_t *o)
{
    if (!stage->method) return stage->copy(plan, s, stage, o);
    if (!stage->method->action(&stage->plan, round, o)) return false;
    gasnete_coll_action_t *a = o->action;
    a->peer = stage_rank(plan, &s->at, stage->between, a->peer);
    translate(stage, &a->to);
    translate(stage, &a->from);
    translate(stage, &a->with);
    return true;
}

static uint32_t stage_rounds(const stage_t *stage)
{
    return stage->method ? stage->method->rounds(&stage->plan) : 1;
}

/* The number of rounds.  A fence is followed by rounds without actions, in which messages of the
 * next stage are posted. */
static uint32_t stages_rounds(const gasnete_coll_plan_t *plan)
{
    const stages_t s = stages_of(plan);
    uint32_t sum = 0;
    for (uint32_t i = 0; i < s.stages; i++)
        sum += stage_rounds(&s.stage[i]) + (s.stage[i].fence ? gasnete_coll_plan_ahead(plan) : 0);
    return sum;
}

static size_t stages_scratch(const gasnete_coll_plan_t *plan)
{
    return stages_of(plan).scratch;
}

static bool stages_action(const gasnete_coll_plan_t *plan, uint32_t round, offer_t *o)
{
    const stages_t s = stages_of(plan);
    for (uint32_t i = 0; i < s.stages; i++) {
        const uint32_t own = stage_rounds(&s.stage[i]);
        const uint32_t all = own + (s.stage[i].fence ? gasnete_coll_plan_ahead(plan) : 0);
        if (round < own)
            return stage_action(plan, &s, &s.stage[i], round, o) ||
                   (s.stage[i].fence && round + 1 == own && offer_drain(o));
        if (round < all) return false;
        round -= all;
    }
    return false;
}

/* `ahead` is what every stage of the plan allows. */
const gasnete_coll_method_t gasnete_coll_method_stages = {
    .rounds = stages_rounds, .ahead = 1, .scratch = stages_scratch, .action = stages_action};
const gasnete_coll_method_t gasnete_coll_method_stages_in_segments = {
    .rounds = stages_rounds, .ahead = 2, .scratch = stages_scratch, .action = stages_action};
