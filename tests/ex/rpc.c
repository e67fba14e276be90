/* rpc.c - a program that calls GASNet-EX as UPC++ does.
 *
 * rpc_runtime.h stands for the runtime; this file is its client, and checks what comes of the
 * calls.  Memory of shared-memory peers is used at the addresses at which it is mapped here.  Teams
 * have scratch space from the shared heap, are found in handlers by gex_TM_QueryCData, and are
 * destroyed.  UPC++ also makes endpoints and segments, for memory of devices: here they are of the
 * host's.
 */
#include "tests/ex/rpc_runtime.h"

/* --- rules: start --- */

static void started(void)
{
    gex_Client_t c;
    gex_EP_t e;
    gex_TM_t t;
    gex_Segment_t s;
    gasnet_QueryGexObjects(&c, &e, &t, &s);
    test_check(c == client && e == ep && t == world && s == segment, "objects");
    test_check(!(gex_Client_QueryFlags(client) & GEX_FLAG_USES_GASNET1), "flags");
    test_check(gex_TM_QueryEP(world) == ep && gex_TM_QueryClient(world) == client &&
                   gex_EP_QueryIndex(ep) == 0 && gex_EP_QuerySegment(ep) == segment,
               "the endpoint");
    test_check(sizeof(gex_TM_t) == sizeof(uintptr_t) && sizeof(gex_AD_t) == sizeof(uintptr_t) &&
                   sizeof(gex_Event_t) == sizeof(uintptr_t) && gex_AM_MaxArgs() == 16,
               "sizes");
    for (gex_Rank_t r = 0; r < world_team.size; r++)
        test_check((gex_TM_TranslateJobrankToRank(local_team.tm, r) != GEX_RANK_INVALID) ==
                       (mapped[r] != NULL),
                   "the segment of rank %u is mapped if it is a neighbour", r);
    barrier(world);
}

/* Neighbours write into each other's heaps. */
static void neighbours(void)
{
    static uint64_t *words[MOST_RANKS];
    uint64_t *const own = heap_take(8 * (size_t)world_team.size);
    for (gex_Rank_t r = 0; r < world_team.size; r++) {
        words[r] = own;
        gex_Event_Wait(gex_Coll_BroadcastNB(world, r, &words[r], &words[r], sizeof words[r], 0));
    }
    barrier(local_team.tm);
    for (gex_Rank_t i = 0; i < local_team.size; i++) {
        const gex_Rank_t r = gex_TM_TranslateRankToJobrank(local_team.tm, i);
        uint64_t *const here = (uint64_t *)(void *)((char *)words[r] + (mapped[r] - base[r]));
        here[test_rank] = test_mix((uint64_t)test_rank * 100 + r);
    }
    barrier(local_team.tm);
    for (gex_Rank_t i = 0; i < local_team.size; i++) {
        const gex_Rank_t r = gex_TM_TranslateRankToJobrank(local_team.tm, i);
        test_check(own[r] == test_mix((uint64_t)r * 100 + (uint64_t)test_rank), "a word of %u", r);
    }
    barrier(world);
    heap_give(own);
}

/* --- rules: in all threads --- */

static void (*work)(struct test_random *random);
static int working;

#ifdef GASNET_PAR
static int ended;

static void *thread(void *arg)
{
    mine = 1 + (int)(uintptr_t)arg;
    struct test_random random = test_random_for((uint64_t)mine << 8);
    work(&random);
    test_add(&working, -1);
    while (!test_get(&ended)) progress(); /* other ranks may still call */
    return NULL;
}

static void in_all_threads(void)
{
    pthread_t threads[WORKERS];
    ended = 0, working = WORKERS;
    for (int t = 0; t < WORKERS; t++)
        if (pthread_create(&threads[t], NULL, thread, (void *)(uintptr_t)t)) gasnet_exit(5);
    while (test_get(&working)) progress();
    barrier(world);
    test_add(&ended, 1);
    for (int t = 0; t < WORKERS; t++) pthread_join(threads[t], NULL);
}
static int any_persona(struct test_random *random)
{
    return (int)test_below(random, 1 + WORKERS);
}
#else
static void in_all_threads(void)
{
    struct test_random random = test_random_for(1);
    work(&random);
    barrier(world);
}
static int any_persona(struct test_random *random)
{
    (void)random, (void)working;
    return 0;
}
#endif

static gex_Rank_t any_rank(struct test_random *random)
{
    return (gex_Rank_t)test_below(random, world_team.size);
}

static void nothing_wrong(void)
{
    barrier(world);
    test_check(test_get(&wrong) == 0, "%d are wrong", wrong);
    barrier(world);
}

/* Of an argument: small, near what a message has, or large. */
static size_t any_size(struct test_random *random)
{
    const size_t room = most_medium - sizeof(struct call);
    switch (test_below(random, 4)) {
    case 0:
        return (size_t)test_below(random, 64);
    case 1:
        return room - 4 + (size_t)test_below(random, 9);
    case 2:
        return (size_t)test_below(random, 2 * room);
    default:
        return (size_t)test_below(random, 100000);
    }
}

static void call_all(struct test_random *random)
{
    enum { TOGETHER = 6 };
    for (int i = 0; i < test_iterations(40); i++) {
        struct promise promise = {TOGETHER};
        for (int k = 0; k < TOGETHER; k++) {
            const struct call c = {.function = ECHO,
                                   .caller = (gex_Rank_t)test_rank,
                                   .persona = any_persona(random),
                                   .back = mine,
                                   .promise = &promise,
                                   .key = test_random(random),
                                   .nbytes = any_size(random),
                                   .answer_nbytes = any_size(random)};
            send(any_rank(random), &c);
        }
        wait_for(&promise);
    }
}

static void calls(void)
{
    work = call_all;
    in_all_threads();
    nothing_wrong();
    if (test_rank == 0)
        printf("# rank 0: %d calls written in place, %d fetched, %d copied from a neighbour\n",
               test_get(&in_place), test_get(&fetched), test_get(&copied));
}

/* --- rules: transfers --- */

/* Each thread has a block of its own at each rank. */
enum { BLOCK = 48 << 10 };
static char *blocks[MOST_RANKS]; /* [rank]: of all threads of all ranks */
static char *block_at(gex_Rank_t rank)
{
    return blocks[rank] + (size_t)(test_rank * (1 + WORKERS) + mine) * BLOCK;
}

static void make_blocks(void)
{
    char *const own = heap_take(world_team.size * (size_t)(1 + WORKERS) * BLOCK);
    for (gex_Rank_t r = 0; r < world_team.size; r++) {
        blocks[r] = own;
        gex_Event_Wait(gex_Coll_BroadcastNB(world, r, &blocks[r], &blocks[r], sizeof own, 0));
    }
}
static void end_blocks(void)
{
    barrier(world);
    heap_give(blocks[test_rank]);
}

/* A put, whose source is overwritten when its leaf tells that it may be. */
struct put {
    gex_Event_t root;
    struct promise *promise;
    size_t nbytes;
    char source[];
};

static void put_complete(void *arg)
{
    struct put *p = arg;
    fulfil(p->promise);
    free(p);
}
static void source_complete(void *arg)
{
    struct put *p = arg;
    memset(p->source, 0xee, p->nbytes);
    when_complete(p->root, put_complete, p);
}

static void put(gex_Rank_t rank, char *dest, size_t nbytes, uint64_t key, struct promise *promise)
{
    struct put *p = malloc(sizeof *p + nbytes);
    gex_Event_t leaf;
    p->promise = promise, p->nbytes = nbytes;
    test_fill(p->source, nbytes, key);
    switch (key % 4) {
    case 0:
        p->root = gex_RMA_PutNB(world, rank, dest, p->source, nbytes, GEX_EVENT_NOW, 0);
        source_complete(p);
        break;
    case 1:
        p->root = gex_RMA_PutNB(world, rank, dest, p->source, nbytes, GEX_EVENT_DEFER, 0);
        when_complete(p->root, put_complete, p);
        break;
    case 2:
        gex_RMA_PutBlocking(world, rank, dest, p->source, nbytes, 0);
        put_complete(p);
        break;
    default:
        p->root = gex_RMA_PutNB(world, rank, dest, p->source, nbytes, &leaf, 0);
        when_complete(leaf, source_complete, p);
        break;
    }
}

static void put_and_get(struct test_random *random)
{
    enum { PARTS = 4, PART = BLOCK / PARTS };
    static __thread char got[BLOCK];
    for (int i = 0; i < test_iterations(40); i++) {
        struct promise puts = {PARTS}, gets = {PARTS};
        const gex_Rank_t rank = any_rank(random);
        size_t nbytes[PARTS];
        uint64_t keys[PARTS];
        for (int k = 0; k < PARTS; k++) {
            nbytes[k] = 1 + (size_t)test_below(random, test_below(random, 2) ? 200 : PART);
            keys[k] = test_random(random);
            put(rank, block_at(rank) + k * PART, nbytes[k], keys[k], &puts);
        }
        wait_for(&puts);
        for (int k = 0; k < PARTS; k++)
            when_complete(
                gex_RMA_GetNB(world, got + k * PART, rank, block_at(rank) + k * PART, nbytes[k], 0),
                fulfil, &gets);
        wait_for(&gets);
        for (int k = 0; k < PARTS; k++)
            if (test_mismatch(got + k * PART, nbytes[k], keys[k]) >= 0) test_add(&wrong, 1);
    }
}

/* A put that a function of the target follows: a Long, whose Reply is the answer. */
static void put_then_call(struct test_random *random)
{
    for (int i = 0; i < test_iterations(60); i++) {
        struct promise answered = {1};
        const gex_Rank_t rank = any_rank(random);
        const uint32_t key = (uint32_t)test_random(random);
        size_t nbytes = 1 + (size_t)test_below(random, key % 2 ? 500 : BLOCK);
        const size_t most = gex_AM_MaxRequestLong(world, rank, GEX_EVENT_NOW, 0, 3);
        if (nbytes > most) nbytes = most;
        char *const source = malloc(nbytes);
        gex_Event_t event = GEX_EVENT_INVALID;
        test_fill(source, nbytes, key);
        gex_AM_RequestLong3(world, rank, H_PUT_THEN_CALL, source, nbytes, block_at(rank),
                            key % 4 < 2 ? GEX_EVENT_NOW : &event, 0, (gex_AM_Arg_t)key,
                            high(&answered), low(&answered));
        if (key % 4 >= 2) gex_Event_Wait(event);
        memset(source, 0xee, nbytes);
        wait_for(&answered);
        free(source);
    }
}

/* Rows of a matrix at the target, by one family of calls, and back by another.  Returns the event
 * of the transfer. */
static gex_Event_t rows(int family, bool get, gex_Rank_t rank, char *there, char *here,
                        size_t nbytes, size_t count, size_t pitch)
{
    enum { MOST = 64 };
    static __thread gex_Memvec_t far_[MOST], near_[MOST];
    static __thread void *far_list[MOST], *near_list[MOST];
    static __thread ptrdiff_t far_stride, near_stride;
    for (size_t i = 0; i < count; i++) {
        far_list[i] = there + i * pitch, near_list[i] = here + i * nbytes;
        far_[i] = (gex_Memvec_t){far_list[i], nbytes},
        near_[i] = (gex_Memvec_t){near_list[i], nbytes};
    }
    far_stride = (ptrdiff_t)pitch, near_stride = (ptrdiff_t)nbytes;
    const gex_Flags_t leaf = GEX_FLAG_ENABLE_LEAF_LC;
    switch (family) {
    case 0:
        return get ? gex_VIS_VectorGetNB(world, count, near_, rank, count, far_, 0)
                   : gex_VIS_VectorPutNB(world, rank, count, far_, count, near_, leaf);
    case 1:
        return get ? gex_VIS_IndexedGetNB(world, count, near_list, nbytes, rank, count, far_list,
                                          nbytes, 0)
                   : gex_VIS_IndexedPutNB(world, rank, count, far_list, nbytes, count, near_list,
                                          nbytes, leaf);
    default:
        return get ? gex_VIS_StridedGetNB(world, here, &near_stride, rank, there, &far_stride,
                                          nbytes, &count, 1, 0)
                   : gex_VIS_StridedPutNB(world, rank, there, &far_stride, here, &near_stride,
                                          nbytes, &count, 1, leaf);
    }
}

static void matrices(struct test_random *random)
{
    for (int i = 0; i < test_iterations(60); i++) {
        struct promise done = {1};
        const gex_Rank_t rank = any_rank(random);
        const size_t count = 1 + (size_t)test_below(random, 64),
                     nbytes = 1 + (size_t)test_below(random, 300),
                     pitch = nbytes + (size_t)test_below(random, 400), all = count * nbytes;
        const uint64_t key = test_random(random);
        struct put *p = malloc(sizeof *p + all);
        p->promise = &done, p->nbytes = all;
        test_fill(p->source, all, key);
        p->root = rows(i % 3, false, rank, block_at(rank), p->source, nbytes, count, pitch);
        when_complete(gex_Event_QueryLeaf(p->root, GEX_EC_LC), source_complete, p);
        wait_for(&done);
        char *const got = malloc(all);
        done.left = 1;
        when_complete(rows(i / 3 % 3, true, rank, block_at(rank), got, nbytes, count, pitch),
                      fulfil, &done);
        wait_for(&done);
        if (test_mismatch(got, all, key) >= 0) test_add(&wrong, 1);
        free(got);
    }
}

static void transfers_by(void (*what)(struct test_random *random))
{
    make_blocks();
    work = what;
    in_all_threads();
    nothing_wrong();
    end_blocks();
}
static void transfers(void)
{
    transfers_by(put_and_get);
}
static void puts_then_calls(void)
{
    transfers_by(put_then_call);
}
static void matrices_of_all(void)
{
    transfers_by(matrices);
}

/* --- rules: atomics --- */

enum { SUM, COUNT, LEAST, MOST, BY_CAS, WORD, WORDS };

/* All ranks at once, in words of each rank of the team. */
#define ATOMICS(T, type)                                                                           \
    static type fetch_##T(gex_AD_t ad, gex_Rank_t rank, void *at, gex_OP_t op, type a, type b)     \
    {                                                                                              \
        struct promise promise = {1};                                                              \
        type result = 0;                                                                           \
        when_complete(                                                                             \
            gex_AD_OpNB_##T(ad, &result, rank, at, op, a, b,                                       \
                            GEX_FLAG_RANK_IS_JOBRANK | GEX_FLAG_AD_ACQ | GEX_FLAG_AD_REL),         \
            fulfil, &promise);                                                                     \
        wait_for(&promise);                                                                        \
        return result;                                                                             \
    }                                                                                              \
    static void atomics_##T(const team_t *t)                                                       \
    {                                                                                              \
        enum { ROUNDS = 5 };                                                                       \
        gex_AD_t ad;                                                                               \
        const type sum = (type)(t->size * (t->size + 1) / 2 * ROUNDS),                             \
                   count = (type)(t->size * ROUNDS);                                               \
        type *const own = (type *)(void *)blocks[test_rank];                                       \
        for (int i = 0; i < WORDS; i++) own[i] = (type)(i == LEAST ? 100 : 0);                     \
        gex_AD_Create(&ad, t->tm, GEX_DT_##T,                                                      \
                      GEX_OP_ADD | GEX_OP_FINC | GEX_OP_MIN | GEX_OP_FMAX | GEX_OP_FCAS |          \
                          GEX_OP_SET | GEX_OP_GET,                                                 \
                      0);                                                                          \
        barrier(t->tm);                                                                            \
        for (int i = 0; i < ROUNDS; i++)                                                           \
            for (gex_Rank_t r = 0; r < t->size; r++) {                                             \
                const gex_Rank_t job = gex_TM_TranslateRankToJobrank(t->tm, r);                    \
                type *const at = (type *)(void *)blocks[job], old, seen;                           \
                const type mine_ = (type)(t->rank + 1);                                            \
                struct promise promise = {1};                                                      \
                when_complete(gex_AD_OpNB_##T(ad, NULL, r, at + SUM, GEX_OP_ADD, mine_, 0, 0),     \
                              fulfil, &promise);                                                   \
                old = fetch_##T(ad, job, at + COUNT, GEX_OP_FINC, 0, 0);                           \
                if (old >= count) test_add(&wrong, 1);                                             \
                fetch_##T(ad, job, at + LEAST, GEX_OP_MIN, mine_, 0);                              \
                fetch_##T(ad, job, at + MOST, GEX_OP_FMAX, mine_, 0);                              \
                old = fetch_##T(ad, job, at + BY_CAS, GEX_OP_GET, 0, 0);                           \
                while ((seen = fetch_##T(ad, job, at + BY_CAS, GEX_OP_FCAS, old,                   \
                                         (type)(old + 2))) != old)                                 \
                    old = seen;                                                                    \
                wait_for(&promise);                                                                \
            }                                                                                      \
        barrier(t->tm);                                                                            \
        const gex_Rank_t me = (gex_Rank_t)test_rank;                                               \
        test_check(fetch_##T(ad, me, own + SUM, GEX_OP_GET, 0, 0) == sum &&                        \
                       fetch_##T(ad, me, own + COUNT, GEX_OP_GET, 0, 0) == count &&                \
                       fetch_##T(ad, me, own + LEAST, GEX_OP_GET, 0, 0) == 1 &&                    \
                       fetch_##T(ad, me, own + MOST, GEX_OP_GET, 0, 0) == (type)t->size &&         \
                       fetch_##T(ad, me, own + BY_CAS, GEX_OP_GET, 0, 0) == 2 * count,             \
                   #T ": atomics of %u ranks", t->size);                                           \
        fetch_##T(ad, me, own + WORD, GEX_OP_SET, 7, 0);                                           \
        test_check(fetch_##T(ad, me, own + WORD, GEX_OP_GET, 0, 0) == 7, #T ": set");              \
        barrier(t->tm);                                                                            \
        gex_AD_Destroy(ad);                                                                        \
    }
ATOMICS(I32, int32_t)
ATOMICS(U32, uint32_t)
ATOMICS(I64, int64_t)
ATOMICS(U64, uint64_t)
ATOMICS(FLT, float)
ATOMICS(DBL, double)
#undef ATOMICS

static void atomics_of(const team_t *t)
{
    atomics_I32(t), atomics_U32(t), atomics_I64(t);
    atomics_U64(t), atomics_FLT(t), atomics_DBL(t);
}

static void atomics(void)
{
    make_blocks();
    atomics_of(&world_team);
    atomics_of(&local_team);
    nothing_wrong();
    end_blocks();
}

/* --- rules: teams --- */

/* What a user reduces: not a type of the library. */
struct record {
    double sum;
    int64_t most;
    uint32_t count;
};
struct user {
    const struct user *self;
    double factor;
};

static void merge(const void *left, void *out, size_t count, const void *cdata)
{
    const struct user *user = cdata;
    const struct record *l = left;
    struct record *o = out;
    if (user->self != user) test_add(&wrong, 1);
    for (size_t i = 0; i < count; i++) {
        o[i].sum += l[i].sum;
        if (l[i].most > o[i].most) o[i].most = l[i].most;
        o[i].count += l[i].count;
    }
}

/* Barriers, a broadcast and reductions in flight together. */
static void collectives(const team_t *t, int round)
{
    enum { RECORDS = 300, NBYTES = 20000 };
    const gex_Rank_t root = (gex_Rank_t)round % t->size;
    struct record mine_[RECORDS], one[RECORDS], all[RECORDS];
    struct user user = {&user, 1};
    struct promise promise = {6};
    int64_t word = t->rank + 1, words = 0;
    char *const data = malloc(NBYTES);
    test_fill(data, NBYTES, t->id + t->rank);
    for (int i = 0; i < RECORDS; i++)
        mine_[i] = (struct record){(double)t->rank + i, (int)t->rank - i, 1};
    when_complete(gex_Coll_BarrierNB(t->tm, 0), fulfil, &promise);
    when_complete(gex_Coll_BarrierNB(t->tm, 0), fulfil, &promise);
    when_complete(gex_Coll_BroadcastNB(t->tm, root, data, data, NBYTES, 0), fulfil, &promise);
    when_complete(gex_Coll_ReduceToOneNB(t->tm, root, one, mine_, GEX_DT_USER, sizeof *one, RECORDS,
                                         GEX_OP_USER, merge, &user, 0),
                  fulfil, &promise);
    when_complete(gex_Coll_ReduceToAllNB(t->tm, all, mine_, GEX_DT_USER, sizeof *all, RECORDS,
                                         GEX_OP_USER, merge, &user, 0),
                  fulfil, &promise);
    when_complete(
        gex_Coll_ReduceToAllNB(t->tm, &words, &word, GEX_DT_I64, 8, 1, GEX_OP_MULT, NULL, NULL, 0),
        fulfil, &promise);
    wait_for(&promise);
    int64_t product = 1;
    bool right = test_mismatch(data, NBYTES, t->id + root) < 0;
    for (gex_Rank_t r = 0; r < t->size; r++) product *= r + 1;
    for (int i = 0; i < RECORDS; i++) {
        const double sum = t->size * (t->size - 1) / 2.0 + (double)i * t->size;
        const struct record *const results[] = {&all[i], &one[i]};
        for (int k = 0; k < (t->rank == root ? 2 : 1); k++)
            right &= results[k]->sum == sum && results[k]->most == (int)t->size - 1 - i &&
                     results[k]->count == t->size;
    }
    test_check(right && words == product, "collectives of %u ranks, root %u", t->size, root);
    free(data);
}

/* A call of a function of all members, from one. */
static void call_members(const team_t *t, size_t nbytes)
{
    barrier(t->tm);
    if (t->rank == 0) {
        struct promise promise = {(int)t->size};
        const struct call c = {.function = SPREAD,
                               .caller = (gex_Rank_t)test_rank,
                               .promise = &promise,
                               .key = test_mix(nbytes + t->id),
                               .nbytes = nbytes,
                               .team = t->id,
                               .to = t->size};
        send((gex_Rank_t)test_rank, &c);
        wait_for(&promise);
    }
    barrier(t->tm);
}

static void use(const team_t *t, int round)
{
    collectives(t, round);
    call_members(t, 10);
    call_members(t, 30000);
    const gex_Rank_t next = (t->rank + 1) % t->size;
    const gex_Rank_t rank = gex_TM_TranslateRankToJobrank(t->tm, next);
    test_check(gex_TM_TranslateJobrankToRank(t->tm, rank) == next, "rank %u", next);
}

/* Teams of teams, while barriers of their parents are in flight. */
static void explore(const team_t *parent, int depth)
{
    team_t child;
    struct promise promise = {2};
    const int color = (int)parent->rank % (1 + depth) - (depth == 2);
    when_complete(gex_Coll_BarrierNB(parent->tm, 0), fulfil, &promise);
    const bool in_one = team_split(&child, parent, color, depth % 2 ? -(int)parent->rank : 0);
    when_complete(gex_Coll_BarrierNB(parent->tm, 0), fulfil, &promise);
    if (in_one) {
        use(&child, depth);
        if (depth == 1) atomics_U64(&child);
        if (depth < 3) explore(&child, depth + 1);
        team_end(&child, depth % 2);
    }
    wait_for(&promise);
}

static void teams(void)
{
    make_blocks();
    use(&world_team, 1);
    use(&local_team, 2);
    for (int i = 0; i < 2; i++) explore(&world_team, 0);
    nothing_wrong();
    end_blocks();
    test_phase("memory that was offered and not given back");
    while (heap_taken() != taken_at_start) progress();
    barrier(world);
}

/* --- rules: endpoints --- */

/* Another endpoint, with a segment of memory of the program. */
#if GASNET_MAXEPS > 1
enum { OTHER = 128 << 10 };
static gex_EP_t other_ep;
static gex_Segment_t other_segment;

static void make_endpoint(void *memory)
{
    require(gex_Segment_Create(&other_segment, client, memory, OTHER, GEX_MK_HOST, 0),
            "gex_Segment_Create");
    require(gex_EP_Create(&other_ep, client, GEX_EP_CAPABILITY_RMA, 0), "gex_EP_Create");
    require(gex_EP_BindSegment(other_ep, other_segment, 0), "gex_EP_BindSegment");
    test_check(gex_EP_QueryIndex(other_ep) == 1 && gex_EP_QuerySegment(other_ep) == other_segment &&
                   gex_Segment_QueryAddr(other_segment) == memory,
               "endpoint %u", gex_EP_QueryIndex(other_ep));
    require(gex_EP_PublishBoundSegment(world, &other_ep, 1, 0), "gex_EP_PublishBoundSegment");
}

/* Between the heaps and the other segments, in each direction. */
static void endpoints(void)
{
    enum { NBYTES = 5000 };
    char *const memory = malloc(OTHER), *own = heap_take(2 * NBYTES);
    make_endpoint(memory);
    for (gex_Rank_t r = 0; r < world_team.size; r++) {
        const gex_TM_t to_other = gex_TM_Pair(ep, 1), from_other = gex_TM_Pair(other_ep, 0);
        char *there = NULL, *const mine_ = memory + OTHER / 2;
        uintptr_t size = 0;
        struct promise promise = {1};
        gex_Event_Wait(gex_EP_QueryBoundSegmentNB(to_other, r, (void **)&there, NULL, &size, 0));
        test_check(size == OTHER, "the other segment of rank %u has %zu bytes", r, (size_t)size);
        if (size != OTHER) continue;
        there += NBYTES * (size_t)test_rank % (OTHER / 2 - NBYTES);
        test_fill(own, NBYTES, r);
        when_complete(gex_RMA_PutNB(to_other, r, there, own, NBYTES, GEX_EVENT_DEFER, 0), fulfil,
                      &promise);
        wait_for(&promise);
        promise.left = 1;
        when_complete(gex_RMA_GetNB(to_other, own + NBYTES, r, there, NBYTES, 0), fulfil, &promise);
        wait_for(&promise);
        test_check(test_mismatch(own + NBYTES, NBYTES, r) < 0, "by way of the segment of %u", r);
        memset(mine_, 0, NBYTES);
        gex_RMA_GetBlocking(from_other, mine_, (gex_Rank_t)test_rank, own, NBYTES, 0);
        test_check(test_mismatch(mine_, NBYTES, r) < 0, "into the other segment");
    }
    barrier(world);
    gex_Segment_Destroy(other_segment, 0);
    free(memory);
    heap_give(own);
    barrier(world);
}
#else
static void endpoints(void)
{
    test_skip("the library has one endpoint");
}
#endif

/* --- start and end --- */

static void register_handlers(void)
{
    enum {
        MEDIUM = GEX_FLAG_AM_MEDIUM | GEX_FLAG_AM_REQUEST,
        LONG = GEX_FLAG_AM_LONG | GEX_FLAG_AM_REQUEST,
        REPLY = GEX_FLAG_AM_SHORT | GEX_FLAG_AM_REPLY
    };
    gex_AM_Entry_t table[] = {
        {H_CALL, (gex_AM_Fn_t)on_call, MEDIUM, 1, NULL, "call"},
        {H_OFFER, (gex_AM_Fn_t)on_offer, MEDIUM, 1, NULL, "offer"},
        {H_RESTRICTED, (gex_AM_Fn_t)on_restricted, MEDIUM, 0, NULL, "restricted"},
        {H_CALLBACK, (gex_AM_Fn_t)on_callback, REPLY, 2, NULL, "callback"},
        {H_PUT_THEN_CALL, (gex_AM_Fn_t)on_put_then_call, LONG, 3, NULL, "put, then call"},
    };
    require(gex_EP_RegisterHandlers(ep, table, TEST_COUNT(table)), "gex_EP_RegisterHandlers");
    most_medium = gex_AM_MaxRequestMedium(world, GEX_RANK_INVALID, GEX_EVENT_NOW, 0, 1);
    most_lent =
        gex_AM_MaxRequestMedium(world, GEX_RANK_INVALID, NULL, GEX_FLAG_AM_PREPARE_LEAST_ALLOC, 1);
}

static void start(void)
{
    require(gex_Client_Init(&client, &ep, &world, "upcxx", NULL, NULL, 0), "gex_Client_Init");
    require(gasnet_set_waitmode(GASNET_WAIT_SPINBLOCK), "gasnet_set_waitmode");
    for (int p = 0; p <= WORKERS; p++) persona_init(&personas[p]);
    const gex_Rank_t size = gex_TM_QuerySize(world);
    if (size > MOST_RANKS || gasnet_getMaxLocalSegmentSize() < HEAP ||
        gasnet_getMaxGlobalSegmentSize() < HEAP) {
        fprintf(stderr, "# %u ranks, segments of %zu bytes: at most %d, at least %d\n", size,
                (size_t)gasnet_getMaxGlobalSegmentSize(), MOST_RANKS, HEAP);
        exit(4);
    }
    require(gex_Segment_Attach(&segment, world, HEAP), "gex_Segment_Attach");
    for (gex_Rank_t r = 0; r < size; r++) {
        uintptr_t nbytes;
        if (gex_Segment_QueryBound(world, r, (void **)&base[r], (void **)&mapped[r], &nbytes) ||
            nbytes != HEAP)
            require(GASNET_ERR_RESOURCE, "gex_Segment_QueryBound");
    }
    heap_init();
    register_handlers();
    test_ex_join(client, world);
    team_init(&world_team, world, 1);
    make_local_team();
    taken_at_start = heap_taken();
}

int main(void)
{
    static const struct test_rule rules[] = {
        {"EX 17, UPC++: start", started},
        {"EX 17, UPC++: memory of neighbours", neighbours},
        {"EX 17, UPC++: calls of many sizes", calls},
        {"EX 17, UPC++: puts and gets with leaves", transfers},
        {"EX 17, UPC++: puts that a call follows", puts_then_calls},
        {"EX 17, UPC++: vectors, indexed, strided", matrices_of_all},
        {"EX 17, UPC++: atomics of all types", atomics},
        {"EX 17, UPC++: teams", teams},
        {"EX 17, UPC++: endpoints", endpoints},
    };
    test_watch();
    start();
    test_run(rules, TEST_COUNT(rules));
    team_end(&local_team, true);
    const int status = test_close();
    gasnet_exit(status);
}
