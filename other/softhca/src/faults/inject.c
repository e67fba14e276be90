/* inject.c - faults of messages, of posting, and of creating objects; see inject.h.
 *
 * A message is decided when it is first executed, and the decision stays until its WR has ended.
 * Faults of the process or of a port happen when a message is posted, before it is executed. Time
 * limits only waits that would not end otherwise, or those that were asked for in microseconds.
 */
#include "other/softhca/src/faults/inject.h"

#include <signal.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "other/base/clock.h"
#include "other/base/quiet_thread.h"
#include "other/softhca/include/softhca.h"
#include "other/softhca/src/device/device.h"
#include "other/softhca/src/segment/upward.h"
#include "other/softhca/src/settings/say.h"
#include "other/softhca/src/settings/settings.h"
#include "other/softhca/src/tcp/tcp.h"

static struct {
    pthread_once_t once;
    struct shca_faults faults;
    bool on;
    int error;
    uint32_t process; /* SHCA_NO_PROCESS: without a number */
    pthread_mutex_t lock;
    struct shca_fault_count count[SHCA_FAULT_RULES]; /* per process; under lock */
    _Atomic bool cut[SHCA_FAULT_RULES];
    _Atomic uint32_t qps;
    _Atomic uint64_t posted, empty_polls;
    _Atomic uint64_t last_poll; /* 0 until a channel is used */
} inject = {.once = PTHREAD_ONCE_INIT, .lock = PTHREAD_MUTEX_INITIALIZER};

static const uint64_t SLEEPS = 10000000; /* ns without a poll; the program uses channels */

/* --- the start --- */

static bool inject_port_exists(const struct shca_fault_rule *r)
{
    const struct shca_inventory *all = shca_inventory();
    return r->device < all->devices && r->port <= all->ports;
}

static void inject_read_faults(void)
{
    char why[1]; /* the text was checked with the environment */
    bool numbers = false, mine = false;
    inject.process = shca_process_number();
    if (!shca_settings()->faults ||
        !shca_faults_parse(shca_settings()->faults, &inject.faults, why, sizeof why))
        return;
    for (uint32_t i = 0; i < inject.faults.n; i++) {
        const struct shca_fault_rule *r = &inject.faults.rule[i];
        numbers = numbers || r->process.n || r->peer.n;
        mine = mine || shca_inject_applies(r);
        if (inject_port_exists(r)) continue;
        shca_say("SOFTHCA_FAULTS: %s: SOFTHCA_DEVICES has no softhca%llu/%llu (no software device "
                 "can be opened)",
                 shca_fault_name(r->what), (unsigned long long)r->device,
                 (unsigned long long)r->port);
        inject.error = EINVAL;
    }
    if (inject.error) return;
    if (numbers && inject.process == SHCA_NO_PROCESS)
        shca_say("SOFTHCA_FAULTS names processes, but this one (pid %d) has no number: set "
                 "SOFTHCA_PROCESS",
                 (int)getpid());
    inject.on = mine;
    if (mine)
        shca_say("faults are injected: seed=%llu, process %d (pid %d)",
                 (unsigned long long)inject.faults.seed, (int)inject.process, (int)getpid());
}

int shca_inject_start(void)
{
    pthread_once(&inject.once, inject_read_faults);
    return inject.error;
}

SHCA_EXPORT int softhca_in_order(void)
{
    return shca_inject_start() == 0 && !shca_faults_reorder(&inject.faults);
}

bool shca_injecting(void)
{
    return inject.on;
}

const struct shca_faults *shca_inject_faults(void)
{
    return &inject.faults;
}

/* --- which, and when --- */

static uint32_t inject_number_of(const struct shca_target *target)
{
    if (target->remote) return shca_tcp_send_number(target->remote);
    return target->peer && shca_peer_attach_within(target->peer, 1000) ? target->peer->h->number
                                                                       : SHCA_NO_PROCESS;
}

bool shca_inject_applies(const struct shca_fault_rule *r)
{
    return shca_fault_names(&r->process, inject.process);
}

/* Whether the rule is for this process, and for a message or completion of this QP and kind. */
bool shca_inject_matches(const struct shca_fault_rule *r, const struct shca_qp *qp, uint64_t op)
{
    return shca_inject_applies(r) && shca_fault_names(&r->peer, inject_number_of(&qp->target)) &&
           shca_fault_names(&r->qp, qp->faults->ordinal) && (!r->ops || r->ops & op);
}

bool shca_inject_due(const struct shca_fault_rule *r, const char *of, uint32_t object,
                     struct shca_fault_count *count)
{
    if (!shca_fault_due(&inject.faults, r, inject.process, object, count)) return false;
    if (shca.h) atomic_fetch_add(&shca.h->counts.faults, 1);
    if (inject.faults.log)
        shca_say("fault in process %d: %s, %s %u, number %llu", (int)inject.process,
                 shca_fault_name(r->what), of, object, (unsigned long long)count->seen);
    return true;
}

static uint64_t inject_op_of(enum ibv_wr_opcode o)
{
    switch (o) {
    case IBV_WR_RDMA_WRITE:
    case IBV_WR_RDMA_WRITE_WITH_IMM:
        return SHCA_OP_WRITE;
    case IBV_WR_RDMA_READ:
        return SHCA_OP_READ;
    case IBV_WR_ATOMIC_CMP_AND_SWP:
    case IBV_WR_ATOMIC_FETCH_AND_ADD:
        return SHCA_OP_ATOMIC;
    default:
        return SHCA_OP_SEND;
    }
}

static bool inject_uses_receive(enum ibv_wr_opcode o)
{
    return inject_op_of(o) == SHCA_OP_SEND || o == IBV_WR_RDMA_WRITE_WITH_IMM;
}

/* --- creation of objects --- */

int shca_inject_creation(enum shca_kind kind)
{
    bool due = false;
    pthread_mutex_lock(&inject.lock);
    for (uint32_t i = 0; inject.on && i < inject.faults.n; i++) {
        const struct shca_fault_rule *r = &inject.faults.rule[i];
        if (r->what == SHCA_ENOMEM && r->kind == kind && shca_inject_applies(r))
            due = shca_inject_due(r, "process", 0, &inject.count[i]) || due;
    }
    pthread_mutex_unlock(&inject.lock);
    return due ? ENOMEM : 0;
}

int shca_inject_qp(struct shca_qp *qp)
{
    if (!inject.on) return 0;
    qp->faults = calloc(1, sizeof *qp->faults);
    if (!qp->faults) return ENOMEM;
    qp->faults->ordinal = ++inject.qps;
    return 0;
}

/* --- messages; send lock held --- */

static void inject_stall(struct shca_injector *f, const struct shca_fault_rule *r)
{
    f->stalled = true;
    f->polls = r->polls ? inject.empty_polls + r->polls : 0;
    f->messages = r->messages ? inject.posted - f->posted + r->messages : 0;
    f->time = gasneti_clock_ns() + (r->us ? r->us * 1000 : SHCA_DELAY_LIMIT_S * 1000000000ull);
}

/* RETRIES attempts fail: a delay when the QP allows so many, else the error for REASON. */
static void inject_retry(struct shca_qp *qp, const struct shca_fault_rule *r, int reason)
{
    struct shca_injector *f = qp->faults;
    bool rnr = reason == SHCA_NOT_READY;
    if (qp->base.qp_type == IBV_QPT_UC || qp->base.qp_type == IBV_QPT_UD) {
        f->fails = SHCA_DROPPED; /* no retry, and no error at the sender */
        return;
    }
    uint64_t allowed = rnr ? qp->attr.rnr_retry : qp->attr.retry_cnt;
    if (rnr && allowed == 7) allowed = SHCA_FAULT_ALWAYS - 1;
    if (r->retries > allowed) {
        f->fails = reason;
        return;
    }
    f->stalled = true;
    f->polls = f->messages = 0;
    f->time = gasneti_clock_ns() + r->retries * shca_retry_ns(qp, reason);
}

static void inject_tear(struct shca_injector *f, const struct shca_fault_rule *r,
                        const struct shca_fault_count *count)
{
    f->tear = (struct shca_tear){
        .order = r->order,
        .us = r->us,
        .seed = shca_fault_seed(&inject.faults, r, inject.process, f->ordinal, count)};
}

static void inject_decide(struct shca_qp *qp, const struct ibv_send_wr *wr, uint32_t index)
{
    struct shca_injector *f = qp->faults;
    f->decided = true;
    f->index = index;
    f->fails = 0;
    f->stalled = false;
    f->tear.order = 0;
    for (uint32_t i = 0; i < inject.faults.n; i++) {
        const struct shca_fault_rule *r = &inject.faults.rule[i];
        if (r->what > SHCA_TEAR || !shca_inject_matches(r, qp, inject_op_of(wr->opcode))) continue;
        if (r->what == SHCA_RNR && !inject_uses_receive(wr->opcode)) continue;
        if (r->what == SHCA_TEAR && SHCA_FETCHES >> wr->opcode & 1) continue;
        if (!shca_inject_due(r, "qp", f->ordinal, &f->message[i])) continue;
        if (r->what == SHCA_STALL)
            inject_stall(f, r);
        else if (r->what == SHCA_TEAR)
            inject_tear(f, r, &f->message[i]);
        else
            inject_retry(qp, r, r->what == SHCA_RNR ? SHCA_NOT_READY : SHCA_NO_TARGET);
    }
}

static bool inject_stall_is_over(const struct shca_injector *f)
{
    uint64_t now = gasneti_clock_ns();
    return (f->polls && inject.empty_polls >= f->polls) ||
           (f->messages && inject.posted - f->posted >= f->messages) || now >= f->time ||
           ((f->polls || f->messages) && shca_inject_asleep(now));
}

/* 0, or the reason why WR number INDEX does not run now. */
int shca_inject_message(struct shca_qp *qp, const struct ibv_send_wr *wr, uint32_t index)
{
    struct shca_injector *f = qp->faults;
    if (qp->target.peer && !qp->target.t && !shca_target_attach(&qp->target))
        return SHCA_NOT_ATTACHED;
    if (!f->decided || f->index != index) inject_decide(qp, wr, index);
    if (f->fails) return f->fails;
    if (f->stalled && !inject_stall_is_over(f)) return SHCA_STALLED;
    f->stalled = false;
    return 0;
}

/* The additional empty piece keeps the message off the single-piece path, which does not check for
 * faults. */
void shca_inject_tear(struct shca_qp *qp, struct shca_gather *g)
{
    static char nothing;
    const struct shca_tear *t = &qp->faults->tear;
    qp->target.tear = t->order ? t : NULL;
    if (t->order) g->iov[g->n++] = (struct iovec){&nothing, 0};
}

/* --- faults of a message, when it is posted --- */

bool shca_inject_cuts(const struct shca_qp *qp)
{
    for (uint32_t i = 0; qp->faults && i < inject.faults.n; i++)
        if (inject.cut[i] &&
            shca_fault_names(&inject.faults.rule[i].peer, inject_number_of(&qp->target)))
            return true;
    return false;
}

static void *inject_end_port_down(void *rule)
{
    const struct shca_fault_rule *r = rule;
    struct timespec left = {.tv_sec = (time_t)(r->us / 1000000),
                            .tv_nsec = (long)(r->us % 1000000) * 1000};
    while (nanosleep(&left, &left) && errno == EINTR) continue;
    shca_port_set(shm_port(r->device, r->port), IBV_PORT_ACTIVE);
    return NULL;
}

static void inject_act(struct shca_fault_rule *r)
{
    uint32_t port = shm_port(r->device, r->port);
    switch (r->what) {
    case SHCA_PORT_DOWN:
        shca_port_set(port, IBV_PORT_DOWN);
        if (r->us) gasneti_quiet_thread(NULL, 0, inject_end_port_down, r);
        break;
    case SHCA_PORT_UP:
        shca_port_set(port, IBV_PORT_ACTIVE);
        break;
    case SHCA_CUT:
        inject.cut[r - inject.faults.rule] = true;
        shca_port_retune();
        break;
    case SHCA_REMOVE:
        shca_device_remove(&shca_devices[r->device]);
        break;
    default:
        kill(getpid(), r->what == SHCA_STOP ? SIGSTOP : SIGKILL);
    }
}

static void inject_before_posting(struct shca_qp *qp, uint64_t op)
{
    for (uint32_t i = 0; i < inject.faults.n; i++) {
        struct shca_fault_rule *r = &inject.faults.rule[i];
        if (r->what < SHCA_PORT_DOWN || !shca_inject_matches(r, qp, op)) continue;
        pthread_mutex_lock(&inject.lock);
        bool due = shca_inject_due(r, "process", 0, &inject.count[i]);
        pthread_mutex_unlock(&inject.lock);
        if (due) inject_act(r);
    }
}

/* Posts WRs one by one, so that a fault can happen between two of them. */
static int inject_post_send(struct ibv_qp *base, struct ibv_send_wr *wr, struct ibv_send_wr **bad)
{
    struct shca_qp *qp = shca_qp(base);
    for (; wr; wr = wr->next) {
        struct ibv_send_wr one = *wr, *unused;
        one.next = NULL;
        inject_before_posting(qp, inject_op_of(wr->opcode));
        int error = shca_device(base->context)->gone ? EIO : shca_post_send(base, &one, &unused);
        if (error) {
            if (bad) *bad = wr;
            return error;
        }
        inject.posted++;
        qp->faults->posted++;
        if (shca.waiting) shca_worker_progress_now();
    }
    return 0;
}

/* --- polls --- */

void shca_inject_polled(bool nothing)
{
    if (inject.last_poll) inject.last_poll = gasneti_clock_ns();
    if (!nothing) return;
    inject.empty_polls++;
    if (shca.waiting) shca_worker_progress_now();
}

bool shca_inject_asleep(uint64_t now)
{
    uint64_t last = inject.last_poll;
    return last && now > last && now - last > SLEEPS;
}

static int inject_req_notify(struct ibv_cq *cq, int solicited_only)
{
    inject.last_poll = gasneti_clock_ns();
    return shca_req_notify(cq, solicited_only);
}

void shca_inject_ops(struct ibv_context_ops *ops)
{
    if (!inject.on) return;
    ops->post_send = inject_post_send;
    ops->poll_cq = shca_delayed_poll;
    ops->req_notify_cq = inject_req_notify;
}

/* The child continues the counts of its parent. */
void shca_inject_in_child(void)
{
    pthread_mutex_init(&inject.lock, NULL);
    shca_delayed_in_child();
}
