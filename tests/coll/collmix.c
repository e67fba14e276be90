/* collmix.c - random schedules of collectives on overlapping teams, with puts, messages and team
 * barriers among them.
 *
 *   collmix [IMAGES [ROUNDS [alone]]]
 * Everything follows from the seed: each image computes what its memory must hold.  `alone` leaves
 * the teams away.  TEST_SEED repeats a run, but for the order in which messages arrive.
 */
#include "tests/coll/batch.h"

enum { H_COUNT = 128, H_MEDIUM, STEPS = 60, SLOT = 64 << 10, MOST = 16000, CELL = 16384 };
/* Teams of each node: all, all in reverse, rows, columns, pairs of a column in reverse.  */
enum { ALL, REVERSED, ROWS, COLUMNS, NESTED, FAMILIES };

static struct group *family[FAMILIES];
static int families = FAMILIES, rounds = 10, round_now;
static struct batch batches[IMAGES_MOST];
/* Messages of each image to the next rank: [0] those without data, [1] those with data. */
static int sent[IMAGES_MOST][2];
static int arrived[2];

static void on_count(gasnet_token_t token)
{
    (void)token;
    test_add(&arrived[0], 1);
}

static void on_medium(gasnet_token_t token, void *data, size_t n, gasnet_handlerarg_t key)
{
    (void)token;
    test_check(test_mismatch(data, n, (uint64_t)(uint32_t)key) < 0, "a Medium of %zu bytes", n);
    test_add(&arrived[1], 1);
}

static gasnet_handlerentry_t table[] = {{H_COUNT, on_count}, {H_MEDIUM, on_medium}};

/* --- between two collectives --- */

static void put_and_get(void)
{
    char here[CELL], back[CELL];
    const size_t n = 1 + test_below(&image_random, test_below(&image_random, 2) ? 64 : CELL);
    char *there = test_at(test_next, (size_t)(image_me - image_first) * CELL);
    test_fill(here, n, image_random.state);
    if (test_below(&image_random, 2)) {
        gasnet_put((gasnet_node_t)test_next, there, here, n);
    } else {
        gasnet_put_nbi((gasnet_node_t)test_next, there, here, n);
        gasnet_wait_syncnbi_puts();
    }
    gasnet_get(back, (gasnet_node_t)test_next, there, n);
    test_check(memcmp(here, back, n) == 0, "a put of %zu bytes", n);
}

static void something(void)
{
    char data[300];
    const int mine = image_me - image_first;
    const size_t n = test_below(&image_random, sizeof data);
    const uint32_t key = (uint32_t)test_random(&image_random);
    switch (test_below(&image_random, 6)) {
    case 0:
        put_and_get();
        return;
    case 1:
        gasnet_AMRequestShort0((gasnet_node_t)test_next, H_COUNT);
        sent[mine][0]++;
        return;
    case 2:
        test_fill(data, n, key);
        gasnet_AMRequestMedium1((gasnet_node_t)test_next, H_MEDIUM, data, n,
                                (gasnet_handlerarg_t)key);
        sent[mine][1]++;
        return;
    case 3:
        gasnet_AMPoll();
        return;
    default:
        return;
    }
}

/* --- teams --- */

/* By all images of a node; the first one keeps what they get.  */
static void split(int number, gasnet_team_handle_t parent, int color, int order)
{
    gasnet_team_handle_t team =
        gasnet_coll_team_split(parent, (gasnet_node_t)color, (gasnet_node_t)order, NULL);
    if (image_me == image_first) family[number] = group_of_team(team);
    images_meet();
    const struct group *mine = family[number];
    test_check(mine->team == team && mine->image[mine->first] == image_first,
               "team %d: image %d has another, or is another image of it", number, image_me);
}

static void make_teams_body(void)
{
    const int width = test_size > 3 ? test_size / 2 : 2;
    split(REVERSED, GASNET_TEAM_ALL, 0, test_size - 1 - test_rank);
    split(ROWS, GASNET_TEAM_ALL, test_rank / width, test_rank % width);
    split(COLUMNS, GASNET_TEAM_ALL, test_rank % width, test_rank / width);
    gasnet_team_handle_t column = family[COLUMNS]->team;
    const int rank = (int)gasnet_coll_team_node2rank(column, (gasnet_node_t)test_rank);
    split(NESTED, column, rank / 2, test_size - rank);
}

static void make_teams(void)
{
    family[ALL] = group_of_all(false);
    if (families > 1) on_images(make_teams_body);
}

static void free_teams_body(void)
{
    for (int f = 1; f < families; f++) gasnet_coll_team_free(family[f]->team);
}

static void free_teams(void)
{
    on_images(free_teams_body);
    for (int f = 0; f < families; f++) group_free(family[f]);
}

/* --- a round --- */

/* Adds the operations of the teams of a family in a step, one of its own for each team. */
static void add_step(struct batch *batch, int step)
{
    struct test_random shared = {
        test_mix(test_seed ^ test_mix((uint64_t)round_now << 32 | (uint64_t)step))};
    const struct group *group = family[test_below(&shared, (uint64_t)families)];
    shared.state = test_mix(shared.state ^ (uint64_t)group->image[0]);
    if (group->team != GASNET_TEAM_ALL && test_below(&shared, 5) == 0) return;
    const struct operation op = operation_any(&shared, group, test_below(&shared, 4) ? 500 : MOST);
    test_check(batch_add(batch, &op), "%s of %zu bytes does not fit", kind_names[op.kind],
               op.nbytes);
}

static void round_body(void)
{
    struct batch *batch = &batches[image_me - image_first];
    for (int step = 0; step < STEPS; step++) {
        batch->used = (size_t)step * SLOT;
        add_step(batch, step);
    }
    batch_mixed(batch, something);
    for (int f = 1; f < families; f++)
        gasnet_coll_barrier(family[f]->team, round_now, GASNET_BARRIERFLAG_IMAGES);
}

static void schedules(void)
{
    for (int i = 0; i < IMAGES_MOST; i++) {
        batches[i] = batch_of(STEPS);
        batches[i].slot = SLOT;
    }
    for (int round = 0; round < rounds; round++) {
        if (round % 4 == 0) make_teams();
        round_now = round;
        test_phase("round %d", round);
        on_images(round_body);
        if (round % 4 == 3 || round == rounds - 1) free_teams();
    }
    for (int i = 0; i < IMAGES_MOST; i++) batch_free(&batches[i]);
}

/* Rank 0 collects the numbers of messages sent and arrived from all, until the sums are equal. */
static void messages(void)
{
    for (int i = 0; i < 2; i++) {
        uint32_t mine = 0;
        for (int j = 0; j < IMAGES_MOST; j++) mine += (uint32_t)sent[j][i];
        const uint32_t all = test_sync_sum(mine);
        uint32_t here;
        while ((here = test_sync_sum((uint32_t)test_get(&arrived[i]))) < all) gasnet_AMPoll();
        test_check(here == all, "%u messages of %u", here, all);
    }
}

int main(int argc, char **argv)
{
    static const struct test_rule rules[] = {
        {"random schedules on overlapping teams agree with the model", schedules},
        {"every message between them has arrived once", messages},
    };
    const char *images = argc > 1 && strcmp(argv[1], "1") != 0 ? argv[1] : NULL;
    if (argc > 2) rounds = atoi(argv[2]);
    if (argc > 3) families = 1;
    test_init(&argc, &argv);
    const uintptr_t segment = operations_segment(images ? IMAGES_MOST : 1);
    test_attach(table, TEST_COUNT(table), segment);
    gasnet_set_waitmode(GASNET_WAIT_BLOCK);
    operations_check_arena();
    images_start(images, combine_table, COMBINE_FUNCTIONS);
    test_run(rules, TEST_COUNT(rules));
    test_finish();
}
