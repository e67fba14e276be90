/* rpc_runtime.h - the runtime of rpc.c: a heap in the segment, personas and progress, calls of
 * functions of other ranks, teams, and the handlers.
 *
 * Threads call functions of other ranks.  A call names a persona of the target, a queue that one
 * thread empties; the handler only copies the call there.  Small calls are Mediums, some of them
 * written where the library lends memory; large ones wait in the caller's part of the shared heap,
 * which is its segment, until the target has fetched them.  Any thread makes progress: it polls,
 * tests the events that it has started, and runs what its persona has been sent.
 */
#ifndef TEST_EX_RPC_RUNTIME_H
#define TEST_EX_RPC_RUNTIME_H

#include <gasnet_coll.h>
#include <gasnet_ratomic.h>
#include <gasnet_vis.h>

#include "tests/programs/test.h"
#if GASNET_MAXEPS > 1
#include <gasnet_mk.h>
#endif
#ifdef GASNET_PAR
#include <pthread.h>
#include <sched.h>
enum { WORKERS = 3 };
#else
enum { WORKERS = 1 }; /* which is the master */
#endif

enum { HEAP = 8 << 20, MOST_RANKS = 64 };

static gex_Client_t client;
static gex_EP_t ep;
static gex_TM_t world;
static gex_Segment_t segment;
static char *base[MOST_RANKS], *mapped[MOST_RANKS]; /* of segments: there, and here or NULL */
static int wrong;                                   /* calls, and what handlers saw */

static void require(int status, const char *call)
{
    if (status == GASNET_OK) return;
    fprintf(stderr, "# rank %d: %s: %s\n", test_rank, call, gasnet_ErrorName(status));
    exit(4);
}

static gex_AM_Arg_t high(const void *p)
{
    return (gex_AM_Arg_t)((uint64_t)(uintptr_t)p >> 32);
}
static gex_AM_Arg_t low(const void *p)
{
    return (gex_AM_Arg_t)(uintptr_t)p;
}
static void *joined_pointer(gex_AM_Arg_t h, gex_AM_Arg_t l)
{
    return (void *)(uintptr_t)((uint64_t)(uint32_t)h << 32 | (uint32_t)l);
}

/* --- the shared heap --- */

/* Precedes each piece of memory; the pieces fill the heap. */
struct piece {
    size_t size; /* with this */
    size_t taken;
    char pad[48];
};
static gex_HSL_t heap_lock = GEX_HSL_INITIALIZER;
static char *heap, *heap_end;
static size_t taken_at_start; /* pieces */

static void heap_init(void)
{
    heap = gex_Segment_QueryAddr(segment);
    heap_end = heap + gex_Segment_QuerySize(segment);
    *(struct piece *)(void *)heap = (struct piece){.size = gex_Segment_QuerySize(segment)};
}

/* With the lock; NULL if there is no room. */
static struct piece *find_room(size_t size)
{
    for (char *at = heap; at < heap_end; at += ((struct piece *)(void *)at)->size) {
        struct piece *p = (struct piece *)(void *)at;
        if (p->taken) continue;
        while (at + p->size < heap_end && !((struct piece *)(void *)(at + p->size))->taken)
            p->size += ((struct piece *)(void *)(at + p->size))->size;
        if (p->size >= size) return p;
    }
    return NULL;
}

static void *heap_take(size_t nbytes)
{
    const size_t size = (sizeof(struct piece) + nbytes + 63) / 64 * 64;
    gex_HSL_Lock(&heap_lock);
    struct piece *p = find_room(size);
    if (p) {
        if (p->size > size)
            *(struct piece *)(void *)((char *)p + size) = (struct piece){.size = p->size - size};
        p->size = size, p->taken = 1;
    }
    gex_HSL_Unlock(&heap_lock);
    if (p) return p + 1;
    fprintf(stderr, "# rank %d: no room for %zu bytes in the shared heap\n", test_rank, nbytes);
    gasnet_exit(5);
    return NULL;
}

static void heap_give(void *memory)
{
    gex_HSL_Lock(&heap_lock);
    ((struct piece *)memory - 1)->taken = 0;
    gex_HSL_Unlock(&heap_lock);
}

static size_t heap_taken(void)
{
    size_t taken = 0;
    gex_HSL_Lock(&heap_lock);
    for (char *at = heap; at < heap_end; at += ((struct piece *)(void *)at)->size)
        taken += ((struct piece *)(void *)at)->taken;
    gex_HSL_Unlock(&heap_lock);
    return taken;
}

/* --- personas and progress --- */

/* What a caller waits for. */
struct promise {
    int left;
};

/* A function that a rank is asked to run; the argument follows, in the pattern of the key. */
struct call {
    enum { ECHO, ANSWER, SPREAD } function;
    gex_Rank_t caller;
    int persona, back; /* of the target and of the caller; 0: the master */
    struct promise *promise;
    uint64_t key;
    size_t nbytes, answer_nbytes;
    gex_Rank_t team, from, to; /* SPREAD: to these ranks of a team */
};

/* A call that waits for a thread; or where to fetch one. */
struct offer {
    char *at;
    size_t nbytes;
    gex_Rank_t owner;
};
struct arrival {
    struct arrival *next;
    enum { CALL, OFFER } kind;
    size_t nbytes;
    uint64_t data[];
};

/* An event, and what is done when it is complete. */
struct pending {
    struct pending *next;
    gex_Event_t event;
    void (*then)(void *arg);
    void *arg;
};

struct persona {
    gex_HSL_t lock;
    struct arrival *first, **last;
    struct pending *pending; /* its thread's */
};
static struct persona personas[1 + WORKERS];
static __thread int mine; /* the persona of this thread */

static void persona_init(struct persona *p)
{
    gex_HSL_Init(&p->lock);
    p->last = &p->first;
}

/* Also in handlers. */
static void enqueue(int persona, int kind, const void *data, size_t nbytes)
{
    struct persona *p = &personas[persona];
    struct arrival *a = malloc(sizeof *a + nbytes);
    a->next = NULL;
    a->kind = kind, a->nbytes = nbytes;
    memcpy(a->data, data, nbytes);
    gex_HSL_Lock(&p->lock);
    *p->last = a, p->last = &a->next;
    gex_HSL_Unlock(&p->lock);
}

static void when_complete(gex_Event_t event, void (*then)(void *arg), void *arg)
{
    struct pending *p = malloc(sizeof *p);
    *p = (struct pending){personas[mine].pending, event, then, arg};
    personas[mine].pending = p;
}

static void fulfil(void *promise)
{
    test_add(&((struct promise *)promise)->left, -1);
}

static void run(struct arrival *a);

static void test_events(void)
{
    for (struct pending **at = &personas[mine].pending, *p; (p = *at);) {
        const int status = gex_Event_Test(p->event);
        if (status == GASNET_OK) {
            *at = p->next;
            p->then(p->arg); /* may add others, in front */
            free(p);
            at = &personas[mine].pending;
        } else
            at = &p->next;
    }
}

static void run_arrivals(void)
{
    struct persona *p = &personas[mine];
    struct arrival *a;
    gex_HSL_Lock(&p->lock);
    a = p->first;
    p->first = NULL, p->last = &p->first;
    gex_HSL_Unlock(&p->lock);
    while (a) {
        struct arrival *const next = a->next;
        run(a);
        free(a);
        a = next;
    }
}

static void progress(void)
{
    gasnet_AMPoll();
    test_events();
    run_arrivals();
#ifdef GASNET_PAR
    sched_yield();
#endif
}

static void wait_for(const struct promise *promise)
{
    while (test_get(&promise->left) > 0) progress();
}

static void barrier(gex_TM_t tm)
{
    struct promise promise = {1};
    when_complete(gex_Coll_BarrierNB(tm, 0), fulfil, &promise);
    wait_for(&promise);
}

/* --- calls of functions --- */

enum { H_CALL = 248, H_OFFER, H_RESTRICTED, H_CALLBACK, H_PUT_THEN_CALL }; /* test.h has 253.. */

static size_t most_medium, most_lent; /* bytes */
static int in_place, fetched, copied; /* calls, by the way in which they went */

static void serialize(void *to, const struct call *c)
{
    memcpy(to, c, sizeof *c);
    test_fill((char *)to + sizeof *c, c->nbytes, c->key);
}

/* Where the library lends memory, whose size it chooses. */
static void send_in_place(gex_Rank_t rank, const struct call *c, size_t nbytes)
{
    gex_AM_SrcDesc_t sd =
        gex_AM_PrepareRequestMedium(world, rank, NULL, nbytes, nbytes + c->key % 500, NULL, 0, 1);
    if (gex_AM_SrcDescSize(sd) < nbytes || gex_AM_SrcDescSize(sd) > nbytes + c->key % 500)
        test_add(&wrong, 1);
    serialize(gex_AM_SrcDescAddr(sd), c);
    gex_AM_CommitRequestMedium1(sd, H_CALL, nbytes, c->persona);
    test_add(&in_place, 1);
}

static void send_offer(gex_Rank_t rank, const struct call *c, size_t nbytes)
{
    const struct offer offer = {heap_take(nbytes), nbytes, (gex_Rank_t)test_rank};
    serialize(offer.at, c);
    gex_AM_RequestMedium1(world, rank, H_OFFER, &offer, sizeof offer, GEX_EVENT_NOW, 0, c->persona);
}

static void send(gex_Rank_t rank, const struct call *c)
{
    const size_t nbytes = sizeof *c + c->nbytes;
    if (nbytes <= most_lent && c->key & 1)
        send_in_place(rank, c, nbytes);
    else if (nbytes <= most_medium) {
        char *const memory = malloc(nbytes);
        serialize(memory, c);
        gex_AM_RequestMedium1(world, rank, H_CALL, memory, nbytes, GEX_EVENT_NOW, 0, c->persona);
        free(memory);
    } else
        send_offer(rank, c, nbytes);
}

static void answer(const struct call *c, size_t nbytes)
{
    const struct call back = {.function = ANSWER,
                              .caller = (gex_Rank_t)test_rank,
                              .persona = c->back,
                              .promise = c->promise,
                              .key = c->key,
                              .nbytes = nbytes};
    send(c->caller, &back);
}

static void spread(const struct call *c);

static void run_call(const struct call *c, size_t nbytes)
{
    if (nbytes != sizeof *c + c->nbytes || test_mismatch(c + 1, c->nbytes, c->key) >= 0 ||
        c->persona != mine)
        test_add(&wrong, 1);
    if (c->function == ECHO)
        answer(c, c->answer_nbytes);
    else if (c->function == SPREAD) {
        spread(c);
        answer(c, 0);
    } else
        fulfil(c->promise);
}

/* A call that is being fetched. */
struct fetch {
    struct offer offer;
    uint64_t data[];
};

static void fetch_done(void *arg)
{
    struct fetch *f = arg;
    gex_AM_RequestMedium0(world, f->offer.owner, H_RESTRICTED, &f->offer.at, sizeof f->offer.at,
                          GEX_EVENT_NOW, 0);
    run_call((struct call *)(void *)f->data, f->offer.nbytes);
    free(f);
}

static void fetch(const struct offer *offer)
{
    struct fetch *f = malloc(sizeof *f + offer->nbytes);
    f->offer = *offer;
    if (mapped[offer->owner]) {
        memcpy(f->data, offer->at + (mapped[offer->owner] - base[offer->owner]), offer->nbytes);
        test_add(&copied, 1);
        fetch_done(f);
    } else {
        test_add(&fetched, 1);
        when_complete(gex_RMA_GetNB(world, f->data, offer->owner, offer->at, offer->nbytes, 0),
                      fetch_done, f);
    }
}

static void run(struct arrival *a)
{
    if (a->kind == CALL)
        run_call((struct call *)(void *)a->data, a->nbytes);
    else
        fetch((struct offer *)(void *)a->data);
}

/* --- teams --- */

typedef struct team {
    struct team *next;
    gex_TM_t tm;
    gex_Rank_t id, rank, size; /* id: the same on all members */
} team_t;

static gex_HSL_t teams_lock = GEX_HSL_INITIALIZER;
static team_t *known_teams;

static team_t *team_by_id(gex_Rank_t id)
{
    gex_HSL_Lock(&teams_lock);
    team_t *t = known_teams;
    while (t && t->id != id) t = t->next;
    gex_HSL_Unlock(&teams_lock);
    return t;
}

static void team_init(team_t *t, gex_TM_t tm, gex_Rank_t id)
{
    *t = (team_t){known_teams, tm, id, gex_TM_QueryRank(tm), gex_TM_QuerySize(tm)};
    gex_TM_SetCData(tm, t);
    gex_HSL_Lock(&teams_lock);
    t->next = known_teams, known_teams = t;
    gex_HSL_Unlock(&teams_lock);
    barrier(tm); /* others may name it now */
}

/* Takes the scratch space back. */
static void team_end(team_t *t, bool quiesced)
{
    gex_Memvec_t scratch = {NULL, 0};
    if (quiesced) barrier(t->tm);
    const int returned = gex_TM_Destroy(t->tm, &scratch, quiesced ? GEX_FLAG_GLOBALLY_QUIESCED : 0);
    if (test_check(returned && scratch.gex_addr && scratch.gex_len > 0, "scratch space"))
        heap_give(scratch.gex_addr);
    gex_HSL_Lock(&teams_lock);
    team_t **at = &known_teams;
    while (*at != t) at = &(*at)->next;
    *at = t->next;
    gex_HSL_Unlock(&teams_lock);
}

/* color below 0: in no team; returns whether this rank is in one. */
static bool team_split(team_t *t, const team_t *parent, int color, int key)
{
    gex_TM_t tm = GEX_TM_INVALID, *const tm_p = color < 0 ? NULL : &tm;
    const size_t size =
        gex_TM_Split(tm_p, parent->tm, color, key, NULL, 0, GEX_FLAG_TM_SCRATCH_SIZE_RECOMMENDED);
    void *const scratch = tm_p ? heap_take(size) : NULL;
    gex_TM_Split(tm_p, parent->tm, color, key, scratch, size, 0);
    if (tm_p) team_init(t, tm, (gex_Rank_t)test_mix((uint64_t)parent->id << 32 | (uint32_t)color));
    return tm_p != NULL;
}

static team_t world_team, local_team;

static void make_local_team(void)
{
    gex_RankInfo_t *neighbours;
    gex_Rank_t count, sets, set;
    gex_EP_Location_t members[MOST_RANKS];
    gex_TM_t tm;
    const gex_Flags_t flags = GEX_FLAG_TM_LOCAL_SCRATCH | GEX_FLAG_RANK_IS_JOBRANK;
    gex_System_QueryNbrhdInfo(&neighbours, &count, NULL);
    gex_System_QueryMyPosition(&sets, &set, NULL, NULL);
    for (gex_Rank_t i = 0; i < count; i++)
        members[i] = (gex_EP_Location_t){neighbours[i].gex_jobrank, 0};
    const size_t size = gex_TM_Create(&tm, 1, world, members, count, NULL, 0,
                                      flags | GEX_FLAG_TM_SCRATCH_SIZE_RECOMMENDED);
    gex_Addr_t scratch = heap_take(size);
    gex_TM_Create(&tm, 1, world, members, count, &scratch, size, flags);
    team_init(&local_team, tm, 1000 + set);
}

/* Half of the ranks but this one, from each of the two that are told. */
static void spread(const struct call *c)
{
    const team_t *t = team_by_id(c->team);
    struct call next = *c;
    if (!t || t->rank != c->from) {
        test_add(&wrong, 1);
        return;
    }
    const gex_Rank_t middle = c->from + 1 + (c->to - c->from - 1) / 2;
    const gex_Rank_t bounds[] = {c->from + 1, middle, c->to};
    for (int i = 0; i < 2; i++) {
        next.from = bounds[i], next.to = bounds[i + 1];
        if (next.from < next.to) send(gex_TM_TranslateRankToJobrank(t->tm, next.from), &next);
    }
}

/* --- handlers --- */

static gex_Rank_t sender(gex_Token_t token)
{
    gex_Token_Info_t info;
    const gex_TI_t told = gex_Token_Info(token, &info, GEX_TI_SRCRANK | GEX_TI_EP);
    if ((told & (GEX_TI_SRCRANK | GEX_TI_EP)) != (GEX_TI_SRCRANK | GEX_TI_EP) || info.gex_ep != ep)
        test_add(&wrong, 1);
    return info.gex_srcrank;
}

static void on_call(gex_Token_t token, void *data, size_t nbytes, gex_AM_Arg_t persona)
{
    const struct call *c = data;
    sender(token);
    if (c->function == SPREAD) { /* to a rank of a team that its handle names */
        const team_t *t = team_by_id(c->team);
        if (!t || gex_TM_QueryCData(t->tm) != t || gex_TM_QueryRank(t->tm) != c->from)
            test_add(&wrong, 1);
    }
    enqueue(persona, CALL, data, nbytes);
}

static void on_offer(gex_Token_t token, void *data, size_t nbytes, gex_AM_Arg_t persona)
{
    const struct offer *offer = data;
    if (nbytes != sizeof *offer || sender(token) != offer->owner) test_add(&wrong, 1);
    enqueue(persona, OFFER, data, nbytes);
}

/* Runs at once: memory that was offered has been fetched. */
static void on_restricted(gex_Token_t token, void *data, size_t nbytes)
{
    char *memory;
    (void)token;
    if (nbytes != sizeof memory) test_add(&wrong, 1);
    memcpy(&memory, data, sizeof memory);
    heap_give(memory);
}

static void on_callback(gex_Token_t token, gex_AM_Arg_t h, gex_AM_Arg_t l)
{
    (void)token;
    fulfil(joined_pointer(h, l));
}

static void on_put_then_call(gex_Token_t token, void *data, size_t nbytes, gex_AM_Arg_t key,
                             gex_AM_Arg_t h, gex_AM_Arg_t l)
{
    if (test_mismatch(data, nbytes, (uint32_t)key) >= 0) test_add(&wrong, 1);
    gex_AM_ReplyShort2(token, H_CALLBACK, 0, h, l);
}

#endif
