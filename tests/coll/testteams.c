/* testteams.c - teams and their barriers: rows and columns, nested splits, teams of one, thousands
 * of splits; names in barriers of teams; images that meet; settings.
 *
 * Each rule runs on every image: in PAR the nodes have one, two or three threads, otherwise one.
 * What an image passes is a function of the rule's key, so that each computes what all must get.
 */
#include <gasnet_coll.h>
#include <pthread.h>
#include <sched.h>
#include <unistd.h>

#include "tests/programs/test.h"

enum { SEGMENT = 64 * 1024, MOST_IMAGES = 3 };
enum { MYSYNC = GASNET_COLL_LOCAL | GASNET_COLL_IN_MYSYNC | GASNET_COLL_OUT_MYSYNC };
enum { ANON = GASNET_BARRIERFLAG_ANONYMOUS, IMAGES = GASNET_BARRIERFLAG_IMAGES };

/* --- images --- */

static int images_of(int node)
{
#ifdef GASNET_PAR
    return 1 + node % MOST_IMAGES;
#else
    (void)node;
    return 1;
#endif
}
static int image_of(int node, int local)
{
    for (int r = 0; r < node; r++) local += images_of(r);
    return local;
}

static __thread int local, image; /* of the calling thread: on its node, of all */
static void (*rule_now)(void);
static pthread_barrier_t meet; /* of the images of this node */

static void become(int which)
{
    gasnet_image_t *images = malloc((size_t)test_size * sizeof *images);
    for (int r = 0; r < test_size; r++) images[r] = (gasnet_image_t)images_of(r);
    local = which;
    image = image_of(test_rank, local);
    bool one_each = image_of(test_size, 0) == test_size;
    gasnet_coll_init(one_each ? NULL : images, (gasnet_image_t)image, NULL, 0, 0);
    free(images);
}

static void *thread(void *which)
{
    become((int)(intptr_t)which);
    for (;;) {
        pthread_barrier_wait(&meet);
        if (rule_now == NULL) return NULL;
        rule_now();
        pthread_barrier_wait(&meet);
    }
}

static void everywhere(void (*rule)(void))
{
    rule_now = rule;
    pthread_barrier_wait(&meet);
    rule();
    pthread_barrier_wait(&meet);
}

/* --- teams, with their members as this program knows them --- */

struct team {
    gasnet_team_handle_t handle;
    int size, *nodes; /* by rank */
};

static struct team team_all(void)
{
    struct team all = {GASNET_TEAM_ALL, test_size, malloc((size_t)test_size * sizeof *all.nodes)};
    for (int r = 0; r < test_size; r++) all.nodes[r] = r;
    return all;
}

static int images_in(const struct team *team)
{
    int images = 0;
    for (int r = 0; r < team->size; r++) images += images_of(team->nodes[r]);
    return images;
}

static int rank_in(const struct team *team, int node)
{
    for (int r = 0; r < team->size; r++)
        if (team->nodes[r] == node) return r;
    return -1;
}

static void check_members(const struct team *team)
{
    test_check((int)gasnet_coll_team_size(team->handle) == team->size, "%d instead of %d members",
               (int)gasnet_coll_team_size(team->handle), team->size);
    for (int r = 0; r < team->size; r++) {
        int node = (int)gasnet_coll_team_rank2node(team->handle, r);
        test_check(node == team->nodes[r], "rank %d is node %d, not %d", r, node, team->nodes[r]);
    }
    for (int node = 0; node < test_size; node++) {
        gasnet_node_t rank = gasnet_coll_team_node2rank(team->handle, (gasnet_node_t)node);
        test_check(rank == (gasnet_node_t)rank_in(team, node), "node %d has rank %d of %d", node,
                   (int)rank, team->size);
    }
}

/* The arguments that a node passes to a split; each kind has another pattern. */
enum kind { ROWS, COLUMNS, BACKWARDS, HALVES, ALONE, SAME, RANDOM };
static void arguments(enum kind kind, uint64_t key, int rank, int size, int *color, int *relrank)
{
    int width = 1;
    while (width * width < size) width++;
    uint64_t any = test_mix(test_seed ^ key << 20 ^ (uint64_t)rank);
    *relrank = kind == BACKWARDS ? size - rank : kind == RANDOM ? (int)(any >> 8 & 3) : rank;
    *color = kind == ROWS      ? rank / width
             : kind == COLUMNS ? rank % width
             : kind == HALVES  ? rank >= (size + 1) / 2
             : kind == ALONE   ? rank
             : kind == RANDOM  ? (int)(any & 3)
                               : 65534;
    if (kind == SAME) *relrank = 7;
}

static struct team split(const struct team *parent, enum kind kind, uint64_t key)
{
    struct team team = {NULL, 0, malloc((size_t)parent->size * sizeof *team.nodes)};
    int color, relrank, mine, my_relrank, me = rank_in(parent, test_rank);
    gasnet_seginfo_t scratch = {test_at(test_rank, 0), 1024};
    arguments(kind, key, me, parent->size, &mine, &my_relrank);
    for (int wanted = 0; wanted <= parent->size + 7; wanted++)
        for (int r = 0; r < parent->size; r++) {
            arguments(kind, key, r, parent->size, &color, &relrank);
            if (color == mine && relrank == wanted) team.nodes[team.size++] = parent->nodes[r];
        }
    team.handle = gasnet_coll_team_split(parent->handle, (gasnet_node_t)mine,
                                         (gasnet_node_t)my_relrank, key & 1 ? &scratch : NULL);
    return team;
}

static void release(struct team *team)
{
    if (team->handle != GASNET_TEAM_ALL) gasnet_coll_team_free(team->handle);
    free(team->nodes);
}

/* Every image learns the number of every other image of the team, in order.  */
static void check_gather(const struct team *team)
{
    int images = images_in(team), seen = 0, *all = malloc((size_t)images * sizeof *all);
    gasnet_coll_gather_all(team->handle, all, &image, sizeof image, MYSYNC);
    for (int r = 0; r < team->size; r++)
        for (int i = 0; i < images_of(team->nodes[r]); i++, seen++)
            test_check(all[seen] == image_of(team->nodes[r], i), "image %d of %d is %d", seen,
                       images, all[seen]);
    free(all);
}

/* --- barriers against the rules --- */

/* The arguments that an image passes in a phase. */
static void named(uint64_t key, int of, int *id, int *flags)
{
    uint64_t phase = test_mix(test_seed ^ test_mix(key)), own = test_mix(phase ^ (uint64_t)of);
    *flags = phase % 8 == 0 ? ANON : phase % 8 < 6 ? (own & 1 ? ANON : 0) : 0;
    *id = (int)(phase >> 32);
    if (phase % 16 == 1 && own % 4 == 0) *flags = GASNET_BARRIERFLAG_MISMATCH;
    if (phase % 16 == 2 && own % 3 == 0) *id ^= 1;
}

/* The result of a phase on all images, or on the first of each node.  0: nobody named an id.  */
static int rule(const struct team *team, uint64_t key, bool with_images, int *id)
{
    int named_any = 0, result = 0;
    for (int r = 0; r < team->size; r++)
        for (int i = 0; i < (with_images ? images_of(team->nodes[r]) : 1); i++) {
            int one, flags;
            named(key, image_of(team->nodes[r], i), &one, &flags);
            if (flags & GASNET_BARRIERFLAG_MISMATCH) result = -1;
            if (flags) continue;
            if (named_any && one != *id) result = -1;
            named_any = 1;
            *id = one;
        }
    return result ? result : named_any;
}

static int leave(gasnet_team_handle_t team, int id, int flags, uint64_t way)
{
    int status;
    if (way % 2 == 0) return gasnet_coll_barrier_wait(team, id, flags);
    while ((status = gasnet_coll_barrier_try(team, id, flags)) == GASNET_ERR_NOT_READY)
        sched_yield();
    return status;
}

static void enter(const struct team *team, uint64_t key, int with)
{
    int id, flags;
    named(key, image, &id, &flags);
    gasnet_coll_barrier_notify(team->handle, id, flags | with);
}

/* Leaves a phase, and checks what the image learns.  `named` of a wait may be another than the
 * notify's.  */
static void check_leave(const struct team *team, uint64_t key, int with)
{
    int id, flags, all = 0, got = 0, kind = rule(team, key, with & IMAGES, &all);
    named(key, image, &id, &flags);
    uint64_t other = test_mix(key ^ (uint64_t)image << 32);
    if (other % 5 == 0 && !(flags & GASNET_BARRIERFLAG_MISMATCH)) flags = ANON;
    if (other % 7 == 0 && flags == 0) id ^= 2;
    int status = leave(team->handle, id, flags | with, other >> 8);
    bool fits = kind >= 0 && !(kind > 0 && flags == 0 && id != all);
    test_check(status == (fits ? GASNET_OK : GASNET_ERR_BARRIER_MISMATCH),
               "image %d of a team of %d, key %d: %s", image, team->size, (int)key,
               gasnet_ErrorName(status));
    if (kind < 0) return;
    int unnamed = gasnet_coll_barrier_result(team->handle, &got);
    test_check(kind ? unnamed == 0 && got == all : unnamed != 0, "image %d: result %d, id %d",
               image, unnamed, got);
}

/* Without IMAGES one thread of a node takes part.  No collective may begin on the node before it
 * has left, if the barrier is the job's.  */
static void check_barrier(const struct team *team, uint64_t key)
{
    const int with = test_mix(key) % 3 == 0 ? 0 : IMAGES;
    if (with || local == 0) {
        enter(team, key, with);
        check_leave(team, key, with);
    }
    if (with == 0 && team->handle == GASNET_TEAM_ALL)
        gasnet_coll_barrier(team->handle, 0, ANON | IMAGES);
}

/* --- rules --- */

static void rows_and_columns(void)
{
    struct team all = team_all();
    struct team row = split(&all, ROWS, 1), column = split(&all, COLUMNS, 2);
    check_members(&all);
    check_members(&row);
    check_members(&column);
    for (int i = 0; i < test_iterations(200); i++) {
        uint64_t key = (uint64_t)i * 4 + 1000;
        check_gather(i % 2 ? &row : &column);
        check_barrier(&row, key);
        check_barrier(&column, key + 1);
        check_gather(i % 2 ? &column : &row);
        if (i % 8 == 0) check_barrier(&all, key + 2);
    }
    release(&row);
    release(&column);
    release(&all);
}

static void orders(void)
{
    struct team all = team_all();
    for (int kind = BACKWARDS; kind <= RANDOM; kind++)
        for (uint64_t key = 0; key < 8; key++) {
            struct team team = split(&all, (enum kind)kind, key);
            check_members(&team);
            check_gather(&team);
            check_barrier(&team, key + 50);
            release(&team);
        }
    release(&all);
}

/* Halves of halves down to one node; each parent is released before or after its child.  */
static void nest(const struct team *parent, uint64_t key)
{
    struct team team = split(parent, key % 2 ? HALVES : RANDOM, key);
    check_members(&team);
    check_barrier(&team, key * 100);
    if (team.size > 1 && key < 40) nest(&team, key + 1);
    check_gather(&team);
    check_gather(parent);
    release(&team);
}
static void nested(void)
{
    struct team all = team_all();
    nest(&all, 1);
    struct team half = split(&all, HALVES, 90), quarter = split(&half, HALVES, 91);
    release(&half);
    check_gather(&quarter);
    check_barrier(&quarter, 92);
    release(&quarter);
    release(&all);
}

/* A member may use a team while others are still in the call that makes it.  */
static void a_thousand(void)
{
    struct team all = team_all();
    for (int i = 0; i < test_iterations(1000); i++) {
        struct team team = split(&all, (enum kind)(i % (RANDOM + 1)), (uint64_t)i);
        check_barrier(&team, (uint64_t)i + 5000);
        release(&team);
    }
    release(&all);
}

/* Barriers of several teams in progress at once, left in another order; and gather_all between. */
static void interleaved(void)
{
    enum { TEAMS = 4 };
    struct team all = team_all(), teams[TEAMS];
    for (int t = 0; t < TEAMS; t++) teams[t] = split(&all, (enum kind)(t % 3), (uint64_t)t);
    for (int i = 0; i < test_iterations(300); i++) {
        uint64_t key = 20000 + (uint64_t)i * TEAMS;
        int turn = (int)(test_mix(test_seed ^ key ^ (uint64_t)test_rank) % TEAMS);
        for (int t = 0; t < TEAMS; t++)
            enter(&teams[(t + turn) % TEAMS], key + (uint64_t)((t + turn) % TEAMS), IMAGES);
        for (int t = 0; t < TEAMS; t++) {
            int which = (t * 3 + turn) % TEAMS;
            check_leave(&teams[which], key + (uint64_t)which, IMAGES);
        }
        check_gather(&teams[i % TEAMS]);
    }
    for (int t = 0; t < TEAMS; t++) release(&teams[t]);
    release(&all);
}

/* Every image puts its phase into a byte on every node; none is behind or more than one ahead.  */
static void kept_apart(void)
{
    struct team all = team_all(), back = split(&all, BACKWARDS, 7);
    const struct team *team = &back;
    unsigned char *cells = test_at(test_rank, 4096);
    struct test_random random = test_random_for((uint64_t)image);
    volatile unsigned spin = 0;
    if (local == 0) memset(cells, 0, (size_t)images_in(team));
    gasnet_coll_barrier(team->handle, 0, ANON | IMAGES);
    for (int i = 1; i <= test_iterations(400); i++) {
        if (i == test_iterations(400) / 2) team = &all;
        for (unsigned k = 0; k < test_below(&random, 2000); k++) spin = spin + 1;
        __atomic_store_n(&cells[image], (unsigned char)i, __ATOMIC_RELEASE);
        for (int r = 0; r < test_size; r++)
            if (r != test_rank)
                gasnet_put_val((gasnet_node_t)r, (char *)test_at(r, 4096) + image,
                               (gasnet_register_value_t)(i & 0xff), 1);
        test_check(gasnet_coll_barrier(team->handle, i, IMAGES) == GASNET_OK, "phase %d", i);
        for (int other = 0; other < images_in(team); other++) {
            int ahead = (__atomic_load_n(&cells[other], __ATOMIC_ACQUIRE) - i) & 0xff;
            if (!test_check(ahead <= 1, "phase %d: image %d is %d ahead", i, other, ahead)) break;
        }
    }
    release(&back);
    release(&all);
}

/* On GASNET_TEAM_ALL the barrier is the job's: each node chooses the calls of a phase.  */
static void one_barrier_of_all(void)
{
    struct team all = team_all();
    for (int i = 0; i < test_iterations(300); i++) {
        uint64_t how = test_mix(test_seed ^ (uint64_t)i << 8 ^ (uint64_t)test_rank);
        int status = GASNET_OK, id = 0;
        if (how % 3 == 0)
            status = gasnet_coll_barrier(all.handle, i, IMAGES);
        else if (local == 0 && how % 3 == 1)
            status = gasnet_coll_barrier(all.handle, i, 0);
        else if (local == 0)
            gasnet_barrier_notify(i, 0), status = leave(all.handle, i, 0, how >> 8);
        else
            continue;
        test_check(status == GASNET_OK, "phase %d: %s", i, gasnet_ErrorName(status));
        if (how % 3 && images_of(test_rank) == 1)
            test_check(gasnet_barrier_result(&id) == 0 && id == i, "phase %d: id %d", i, id);
    }
    gasnet_coll_barrier(all.handle, 0, ANON | IMAGES);
    release(&all);
}

/* --- settings --- */

static char file_name[64];

static bool file_there(void)
{
    return access(file_name, F_OK) == 0;
}

/* The answer to a query about an operation of 64 bytes, which is carried out. */
static uint32_t told(const struct team *team, gasnet_coll_optype_t op, const char *tree)
{
    gasnet_coll_args_t args = GASNET_COLL_ARGS_INITIALIZER;
    int images = images_in(team);
    uint8_t *dst = calloc((size_t)images, 64), *src = calloc((size_t)images, 64);
    uint32_t algorithm = 99, count = 0, *values = NULL;
    char *name = NULL;
    args.dst = &dst, args.src = &src, args.nbytes = 64;
    memset(src, image == 0 || op == GASNET_COLL_GATHER_ALL_OP ? 5 : 9, 64);
    gasnet_coll_tune_generic_op(team->handle, op, args, MYSYNC, NULL, NULL, &algorithm, &count,
                                &values, &name);
    test_check(dst[0] == 5 && dst[63] == 5, "the operation moved %d", dst[63]);
    test_check(count == GASNET_COLL_NUM_PARAM_TYPES && values && values[GASNET_COLL_PIPE_SEG_SIZE],
               "%u values", count);
    if (tree) test_check(name && strcmp(name, tree) == 0, "tree %s", name ? name : "(none)");
    free(values);
    free(name);
    free(dst);
    free(src);
    return algorithm;
}

static void settings(void)
{
    struct team all = team_all(), team = split(&all, SAME, 3);
    if (local == 0)
        snprintf(file_name, sizeof file_name, "/tmp/testteams.%d.%d", (int)getpid(), test_rank);
    gasnet_coll_barrier(all.handle, 0, ANON | IMAGES);
    gasnet_coll_dumpTuningState(file_name, team.handle);
    gasnet_coll_dumpProfile(file_name, team.handle);
    gasnet_coll_dumpProfile(NULL, all.handle);
    test_check(!file_there(), "a file is made though nothing was set");

    test_check(gasnet_coll_get_num_tree_classes(team.handle, GASNET_COLL_BROADCAST_OP) == 2 &&
                   gasnet_coll_get_num_tree_classes(team.handle, GASNET_COLL_EXCHANGE_OP) == 0,
               "numbers of trees");
    if (local == 0) gasnet_coll_set_tree_kind(team.handle, 0, 0, GASNET_COLL_BROADCAST_OP);
    if (local == 0) gasnet_coll_set_tree_kind(team.handle, 1, 5, GASNET_COLL_SCATTER_OP);
    if (local == 0) gasnet_coll_set_dissem_limit(team.handle, 1, GASNET_COLL_GATHER_ALL_OP);
    gasnet_coll_barrier(team.handle, 0, ANON | IMAGES);
    test_check(told(&team, GASNET_COLL_BROADCAST_OP, "FLAT_TREE,0") == 0, "not a flat tree");
    test_check(told(&team, GASNET_COLL_GATHER_ALL_OP, "") == 4, "not pairwise");
    gasnet_coll_dumpTuningState(file_name, team.handle);

    /* The file, read into a team that was made without it.  */
    struct team other = split(&all, SAME, 5);
    uint32_t algorithm = told(&other, GASNET_COLL_BROADCAST_OP, NULL);
    test_check(algorithm != 0, "a setting of another team counts");
    gasnet_coll_loadTuningState(file_name, other.handle);
    test_check(told(&other, GASNET_COLL_BROADCAST_OP, "FLAT_TREE,0") == 0, "not as in the file");
    test_check(told(&other, GASNET_COLL_GATHER_ALL_OP, NULL) == 4, "not as in the file");
    gasnet_coll_barrier(team.handle, 0, ANON | IMAGES);
    if (local == 0 && test_rank == 0) test_check(file_there(), "no file"), unlink(file_name);
    release(&other);
    release(&team);
    release(&all);
}

#define RULE(name)                                                                                 \
    static void all_##name(void)                                                                   \
    {                                                                                              \
        everywhere(name);                                                                          \
    }
RULE(rows_and_columns)
RULE(orders)
RULE(nested)
RULE(a_thousand)
RULE(interleaved)
RULE(kept_apart)
RULE(one_barrier_of_all)
RULE(settings)

int main(int argc, char **argv)
{
    static const struct test_rule rules[] = {
        {"B84 rows and columns: members, gather_all, barriers", all_rows_and_columns},
        {"5.9 order, teams of one, equal ranks, uneven sizes", all_orders},
        {"5.9 splits of splits, released in any order", all_nested},
        {"5.9 a thousand teams, each with a barrier", all_a_thousand},
        {"5.8 barriers of several teams at once, by the rules of 3.7", all_interleaved},
        {"5.8 no image leaves before all have entered", all_kept_apart},
        {"5.8 the barrier of GASNET_TEAM_ALL is the job's", all_one_barrier_of_all},
        {"5.10 B85 settings: set, written, read, told", all_settings},
    };
    pthread_t threads[MOST_IMAGES];
    test_start(&argc, &argv, NULL, 0, SEGMENT);
    pthread_barrier_init(&meet, NULL, (unsigned)images_of(test_rank));
    for (int i = 1; i < images_of(test_rank); i++)
        pthread_create(&threads[i], NULL, thread, (void *)(intptr_t)i);
    become(0);
    test_run(rules, TEST_COUNT(rules));
    rule_now = NULL;
    pthread_barrier_wait(&meet);
    for (int i = 1; i < images_of(test_rank); i++) pthread_join(threads[i], NULL);
    test_finish();
}
