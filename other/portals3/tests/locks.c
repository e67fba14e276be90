/* locks.c - critical sections of libportals, with a thread kept inside each (tests/gate.h):
 * operations queued for a peer that failed are returned while the program sends; a queue is freed
 * while another is allocated; a thread that waits sleeps; how often a caller listens. Also for the
 * thread sanitizer: two threads that use an object.
 *
 * The library's objects are linked with wrappers round the functions at the gates.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "other/portals3/src/engine/engine.h"
#include "other/portals3/src/transport/verbs.h"
#include "other/portals3/tests/scene.h"
#include "tests/gate.h"

enum { RELEASE = 1, GIVE, HANDLER };

/* --- the gates --- */

struct ptli_list_lease;
void __real_ptli_verbs_release(struct ptli_list_lease *share);
void __real_ptli_pool_give(struct ptli_pool *pool, struct ptli_slot *slot);
GATE_INTERPOSED void __wrap_ptli_verbs_release(struct ptli_list_lease *share);
GATE_INTERPOSED void __wrap_ptli_pool_give(struct ptli_pool *pool, struct ptli_slot *slot);
void __wrap_ptli_verbs_release(struct ptli_list_lease *share)
{
    gate_pass(RELEASE);
    __real_ptli_verbs_release(share);
}
void __wrap_ptli_pool_give(struct ptli_pool *pool, struct ptli_slot *slot)
{
    gate_pass(GIVE);
    __real_ptli_pool_give(pool, slot);
}

static _Atomic unsigned listened;

bool __real_ptli_verbs_handshakes(struct ptli_verbs *v);
GATE_INTERPOSED bool __wrap_ptli_verbs_handshakes(struct ptli_verbs *v);
bool __wrap_ptli_verbs_handshakes(struct ptli_verbs *v)
{
    listened++;
    return __real_ptli_verbs_handshakes(v);
}

/* --- a peer that fails --- */

static ptl_handle_md_t source;

static int put_to_living(void *unused)
{
    (void)unused;
    return PtlPutRegion(source, 0, 8, PTL_NOACK_REQ, family->id[2], PT, 0, 1, 0, 0);
}

/* Process 0 is stopped with a put that it has not answered and, behind that, a put by RDMA; then it
 * is killed. The library's thread returns the second put as failed. */
static void failing(void)
{
    begin();
    unsigned char *memory = family_memory(PAGE);
    family_attach(PT, 1, describe(memory, PAGE, PTL_MD_OP_PUT | PTL_MD_MANAGE_REMOTE, eq),
                  PTL_RETAIN);
    family_attach(PT, 0, describe(memory, PAGE, QUIET, PTL_EQ_NONE), PTL_RETAIN);
    family_barrier(NULL);
    if (family_rank == 0)
        for (;;) pause();
    if (family_rank == 2) {
        family_await(0, 1);
        family_close();
        return;
    }
    source = bind_md(memory, PAGE);
    must(put_to_living(NULL)); /* connects */
    well(PTL_EVENT_SEND_END);
    for (ptl_sr_value_t fast = 0; !fast;) {
        put(source, 8, 0, 0, 0, PTL_ACK_REQ);
        well(PTL_EVENT_SEND_END);
        well(PTL_EVENT_ACK);
        must(PtlNIStatus(family_ni, PTL_SR_FAST_PUTS, &fast));
    }
    family_stop(0);
    put(source, 8, 0, 1, 0, PTL_ACK_REQ);
    well(PTL_EVENT_SEND_END);
    put(source, 8, 0, 0, 0, PTL_ACK_REQ);
    gate_shut(RELEASE);
    kill(family->pid[0], SIGKILL);
    gate_await_inside();
    struct gate_worker sender;
    gate_begin(&sender, NULL, put_to_living);
    bool waits = gate_sleeps(&sender);
    gate_open();
    must(gate_end(&sender));
    if (!waits) family_fail("a thread sends while a failed peer's transfers are taken");
    for (int failed = 0, sent = 0; !failed || !sent;) {
        ptl_event_t event = next_event();
        failed += event.ni_fail_type != PTL_NI_OK;
        sent += event.ni_fail_type == PTL_NI_OK;
    }
    atomic_store(&family->flag[0], 1);
    family_close();
}

/* --- event queues --- */

static ptl_handle_eq_t freed;

static int free_it(void *unused)
{
    (void)unused;
    return PtlEQFree(freed);
}

static int allocate(void *queue)
{
    return PtlEQAlloc(family_ni, 4, PTL_EQ_HANDLER_NONE, queue);
}

static int count_queues(void *number)
{
    return PtlNIStatus(family_ni, PTL_SR_EQS_CUR, number);
}

static void queues(void)
{
    struct gate_worker freer, maker, counter;
    ptl_handle_eq_t other;
    ptl_sr_value_t number;
    begin();
    must(PtlEQAlloc(family_ni, 4, PTL_EQ_HANDLER_NONE, &freed));
    gate_shut(GIVE);
    gate_begin(&freer, NULL, free_it);
    gate_await_inside();
    gate_begin(&maker, &other, allocate);
    bool waits = gate_sleeps(&maker);
    gate_begin(&counter, &number, count_queues);
    bool counts = !gate_sleeps(&counter);
    gate_open();
    must(gate_end(&freer));
    must(gate_end(&maker));
    must(gate_end(&counter));
    if (!waits) family_fail("a queue is allocated while another is given back");
    if (counts) family_fail("queues are counted while one is given back");
    must(PtlEQFree(other));
    family_close();
}

static void on_event(ptl_event_t *event)
{
    (void)event;
    gate_pass(HANDLER);
}

static int put_once(void *md)
{
    return PtlPutRegion(*(ptl_handle_md_t *)md, 0, 8, PTL_NOACK_REQ, family->id[0], PT, 0, 15, 0,
                        0);
}

/* A queue whose handler runs. */
static void handling(void)
{
    struct gate_worker putter, freer;
    ptl_handle_md_t md;
    ptl_process_id_t self;
    begin();
    must(PtlGetId(family_ni, &self));
    must(PtlEQAlloc(family_ni, 4, on_event, &freed));
    must(PtlMDBind(family_ni, describe(family_memory(PAGE), PAGE, 0, freed), PTL_RETAIN, &md));
    gate_shut(HANDLER);
    gate_begin(&putter, &md, put_once);
    gate_await_inside();
    must(PtlMDUnlink(md));
    gate_begin(&freer, NULL, free_it);
    bool waits = gate_sleeps(&freer);
    gate_open();
    must(gate_end(&putter));
    must(gate_end(&freer));
    if (!waits) family_fail("a queue is freed while its handler runs");
    family_close();
}

/* A descriptor leaves a queue while the queue is freed: the thread sanitizer sees whether its count
 * of users is read with the lock. */
static pthread_barrier_t both;

static int unlink_one(void *md)
{
    pthread_barrier_wait(&both);
    return PtlMDUnlink(*(ptl_handle_md_t *)md);
}

static int free_unused(void *unused)
{
    int code;
    pthread_barrier_wait(&both);
    while ((code = free_it(unused)) == PTL_EQ_IN_USE) family_nap();
    return code;
}

static void users(void)
{
    struct gate_worker user, freer;
    begin();
    pthread_barrier_init(&both, NULL, 2);
    must(PtlEQAlloc(family_ni, 4, PTL_EQ_HANDLER_NONE, &freed));
    ptl_handle_md_t md;
    must(PtlMDBind(family_ni, describe(family_memory(PAGE), PAGE, 0, freed), PTL_RETAIN, &md));
    gate_begin(&user, &md, unlink_one);
    gate_begin(&freer, NULL, free_unused);
    must(gate_end(&user));
    must(gate_end(&freer));
    family_close();
}

/* Two threads put to, get from and swap with their own process. The thread sanitizer detects
 * accesses without the lock; two puts at once to an address show in the memory. Gets read other
 * words than those that are swapped, as they copy without the lock. */
enum { ONES = 0, SWAPS = 16, BESIDE = 64, TURNS = 2000 };

static int to_self(void *md)
{
    const ptl_handle_md_t ones = *(ptl_handle_md_t *)md;
    pthread_barrier_wait(&both);
    for (int i = 0; i < TURNS; i++) {
        put(ones, 8, 0, ONES, 0, PTL_NOACK_REQ);
        get(ones, 8, 0, SWAPS, BESIDE);
        must(PtlGetPutRegion(ones, 0, ones, 0, 8, family->id[0], PT, 0, SWAPS, 0, 0));
    }
    return 0;
}

static void self(void)
{
    enum { BYTES = 2 * TURNS * 8 };
    struct gate_worker worker[2];
    ptl_handle_md_t md[2];
    unsigned char *target = family_memory(PAGE), *swapped = family_memory(PAGE);
    begin();
    pthread_barrier_init(&both, NULL, 2);
    family_attach(PT, ONES,
                  describe(target, PAGE, PTL_MD_OP_PUT | PTL_MD_EVENT_END_DISABLE, PTL_EQ_NONE),
                  PTL_RETAIN);
    family_attach(PT, SWAPS, describe(swapped, PAGE, QUIET, PTL_EQ_NONE), PTL_RETAIN);
    memset(swapped, 1, PAGE);
    for (int i = 0; i < 2; i++) {
        unsigned char *ones = memset(family_memory(PAGE), 1, PAGE);
        must(PtlMDBind(family_ni, describe(ones, PAGE, QUIET, PTL_EQ_NONE), PTL_RETAIN, &md[i]));
        gate_begin(&worker[i], &md[i], to_self);
    }
    for (int i = 0; i < 2; i++) must(gate_end(&worker[i]));
    int placed = 0;
    for (int i = 0; i < BYTES; i++) placed += target[i];
    if (placed != BYTES) family_fail("%d of %d bytes of puts to itself", placed, BYTES);
    family_close();
}

/* An interface of the own process has no thread of its own: the one that deposits an event wakes
 * those that wait. */
static int wait_for_one(void *queue)
{
    ptl_event_t event;
    return PtlEQWait(*(ptl_handle_eq_t *)queue, &event);
}

static void waiting(void)
{
    struct gate_worker waiter;
    ptl_handle_ni_t ni;
    ptl_handle_eq_t queue;
    ptl_handle_md_t md;
    ptl_process_id_t id;
    must(PtlInit(&(int){0}));
    must(PtlNIInit(PTL_IFACE_SELF, PTL_PID_ANY, NULL, NULL, &ni));
    must(PtlGetId(ni, &id));
    must(PtlEQAlloc(ni, 4, PTL_EQ_HANDLER_NONE, &queue));
    must(PtlMDBind(ni, describe(family_memory(PAGE), PAGE, 0, queue), PTL_RETAIN, &md));
    gate_begin(&waiter, &queue, wait_for_one);
    if (!gate_sleeps(&waiter)) family_fail("it does not wait");
    must(PtlPutRegion(md, 0, 8, PTL_NOACK_REQ, id, PT, 0, 0, 0, 0));
    must(gate_end(&waiter));
    must(PtlNIFini(ni));
    PtlFini();
}

/* Work that stays due, because a peer or the memory has to come first, and no other thread. */
static void listening(void)
{
    enum { ROUNDS = 4096 };
    setenv("PTL_PROGRESS", "none", 1);
    begin();
    struct ptli_transport *transport = ptli_engines[PTL_IFACE_DEFAULT].transport;
    listened = 0;
    for (int i = 0; i < ROUNDS; i++) {
        ptli_due(transport);
        PtlProgress(family_ni, 0);
    }
    if (listened == 0 || listened > ROUNDS / 16)
        family_fail("%u times in %d rounds", listened, (int)ROUNDS);
    family_close();
}

int main(int argc, char **argv)
{
    family_settle_seed(NULL);
    scene(argc, argv, "failing", 3, failing, true,
          "a thread that sends waits while what was queued for a failed peer is taken");
    scene(argc, argv, "queues", 1, queues, false,
          "threads that allocate or count queues wait while another is given back");
    scene(argc, argv, "handling", 1, handling, false,
          "a thread that frees a queue waits for its handler to return");
    scene(argc, argv, "users", 1, users, false,
          "a queue is freed when the last descriptor has left it");
    scene(argc, argv, "self", 1, self, false,
          "two threads put to their own process, each elsewhere");
    scene(argc, argv, "waiting", 1, waiting, false,
          "a thread that waits for an event of its own process sleeps until there is one");
    scene(argc, argv, "listening", 1, listening, false,
          "handshake messages are looked for now and then while other work stays due");
    return scenes_over();
}
