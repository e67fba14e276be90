/* status.c - softhca-run --status: the processes that have the device open.
 *
 * The values were read within a few milliseconds; related counters may differ by some messages.
 */
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "other/softhca/src/run/run.h"
#include "other/softhca/src/settings/inventory.h"

enum { FEW = 16 }; /* rows of each process when all are shown */

static const char *status_amount(uint64_t bytes, char *text, size_t size)
{
    static const char *const unit[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
    double value = (double)bytes;
    int u = 0;
    while (value >= 1024 && u < 5) value /= 1024, u++;
    snprintf(text, size, u ? "%.1f %s" : "%.0f %s", value, unit[u]);
    return text;
}

static const char *status_state_of(const struct process *p)
{
    switch (p->state) {
    case 'R':
        return "running";
    case 'S':
    case 'I':
        return "sleeping";
    case 'D':
        return "blocked";
    case 'T':
    case 't':
        return "stopped";
    case 'Z':
    case 'X':
        return "ended";
    default:
        return "?";
    }
}

static const char *status_since(const struct process *p, char *text, size_t size)
{
    time_t t = p->memfd < 0 ? 0 : (time_t)p->h->since;
    struct tm tm;
    if (!t || !localtime_r(&t, &tm) || !strftime(text, size, "%F %T", &tm))
        snprintf(text, size, "?");
    return text;
}

static bool status_exists(const struct shm_qp *qp)
{
    return qp->type != 0;
}

/* --- devices: SOFTHCA_DEVICES of each process --- */

/* To be freed; NULL when the environment of the process cannot be read. */
static struct shca_inventory *status_inventory_of(const struct process *p)
{
    char path[64], environment[65536], why[200];
    const char *value = NULL;
    snprintf(path, sizeof path, "/proc/%d/environ", (int)p->pid);
    int fd = p->pid ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    if (fd < 0) return NULL;
    ssize_t n = read(fd, environment, sizeof environment - 1);
    close(fd);
    environment[n < 0 ? 0 : n] = 0;
    for (char *e = environment; e < environment + n; e += strlen(e) + 1)
        if (!strncmp(e, "SOFTHCA_DEVICES=", 16)) value = e + 16;
    struct shca_inventory *i = malloc(sizeof *i);
    if (i && shca_inventory_parse(value && *value ? value : NULL, i, why, sizeof why)) return i;
    free(i);
    return NULL;
}

static void status_devices_of(const struct process *p, char *text, size_t size)
{
    struct shca_inventory *i = status_inventory_of(p);
    if (i)
        snprintf(text, size, "%ux%u", i->devices, i->ports);
    else
        snprintf(text, size, "?");
    free(i);
}

static void status_show_devices(const struct process *p)
{
    static const char *const state[] = {"nop", "down", "init", "armed", "active", "active"};
    struct shca_inventory *i = status_inventory_of(p);
    for (uint32_t d = 0; i && d < i->devices; d++) {
        printf("  softhca%u:", d);
        for (uint32_t port = 0; port < i->ports; port++) {
            uint64_t at = i->device[d].port[port].state;
            printf("%s port %u %s", port ? "," : "", port + 1, at < 6 ? state[at] : "?");
        }
        printf("\n");
    }
    free(i);
}

/* --- memory regions --- */

struct regions {
    struct process *p;
    int count, mapped;
    uint64_t bytes;
    struct table *list; /* NULL: count only */
};

static void status_read_region(const void *entry, size_t index, void *context)
{
    const struct shm_mr *mr = entry;
    struct regions *r = context;
    char size[32];
    if (mr->key >> 8 != index + 1) return;
    r->count++;
    r->mapped += mr->map != SHCA_NOT_MAPPED;
    r->bytes += mr->length;
    if (!r->list) return;
    uint32_t a = mr->access;
    table_add(r->list, "0x%x\t0x%" PRIx64 "\t%s\t%s\t%s%s%s%s", mr->key, mr->iova,
              status_amount(mr->length, size, sizeof size),
              mr->map != SHCA_NOT_MAPPED ? "mapped" : "ordinary",
              a & IBV_ACCESS_LOCAL_WRITE ? "local-write " : "",
              a & IBV_ACCESS_REMOTE_WRITE ? "remote-write " : "",
              a & IBV_ACCESS_REMOTE_READ ? "remote-read " : "",
              a & IBV_ACCESS_REMOTE_ATOMIC ? "atomic" : "");
}

static struct regions status_regions_of(struct process *p, struct table *list)
{
    struct regions r = {.p = p, .list = list};
    process_walk(p, offsetof(struct shm_header, mr), sizeof(struct shm_mr), SHCA_MRS,
                 status_read_region, &r);
    return r;
}

/* --- queue pairs --- */

static const char *status_qp_type(uint32_t type)
{
    switch (type) {
    case IBV_QPT_RC:
        return "RC";
    case IBV_QPT_UC:
        return "UC";
    case IBV_QPT_UD:
        return "UD";
    case IBV_QPT_XRC_SEND:
        return "XRC send";
    case IBV_QPT_XRC_RECV:
        return "XRC recv";
    default:
        return "?";
    }
}

static const char *status_qp_state(uint32_t state)
{
    static const char *const name[] = {"RESET", "INIT", "RTR", "RTS", "SQD", "SQE", "ERR"};
    return state < sizeof name / sizeof *name ? name[state] : "?";
}

static uint32_t status_destination(const struct shm_qp *qp)
{
    return qp->accepts == SHCA_ACCEPTS_NONE || qp->accepts == SHCA_NO_SENDER
               ? 0
               : qp->accepts & 0xffffff;
}

/* The entry at the other end of a connection, where the bytes that QP sent are counted. */
static const struct shm_qp *status_other_end(const struct processes *all, uint32_t qpn,
                                             const struct shm_qp *qp)
{
    uint32_t to = status_destination(qp);
    const struct process *p = to ? processes_at(all, shm_qpn_slot(to)) : NULL;
    const struct shm_qp *other = p && p->memfd >= 0 ? &p->h->qp[shm_qpn_index(to)] : NULL;
    return other && status_destination(other) == qpn ? other : NULL;
}

static void status_add_qp(struct table *t, const struct processes *all, const struct process *p,
                          uint32_t i)
{
    const struct shm_qp *qp = &p->h->qp[i];
    uint32_t qpn = p->slot << 12 | i, to = status_destination(qp);
    const struct process *peer = to ? processes_at(all, shm_qpn_slot(to)) : NULL;
    const struct shm_qp *other = status_other_end(all, qpn, qp);
    char dest[64] = "-", sent[32] = "-", sent_bytes[32] = "-", bytes[32], receives[32] = "shared";
    static const char *const waits[] = {"", "for a receive", "for its peer"};
    if (to && peer)
        snprintf(dest, sizeof dest, "0x%06x (%d)", to, (int)peer->pid);
    else if (to)
        snprintf(dest, sizeof dest, "0x%06x", to);
    if (other) {
        snprintf(sent, sizeof sent, "%u", other->active >> 1);
        status_amount(other->bytes, sent_bytes, sizeof sent_bytes);
    }
    if (!qp->srq)
        snprintf(receives, sizeof receives, "%u/%u", qp->rq_cons - SHCA_FIRST_WR,
                 qp->rq_prod - SHCA_FIRST_WR);
    table_add(t, "0x%06x\t%s\t%s\t%s\t%s\t%s\t%u\t%s\t%s\t%u\t%s", qpn, status_qp_type(qp->type),
              status_qp_state(qp->state), dest, sent, sent_bytes, qp->active >> 1,
              status_amount(qp->bytes, bytes, sizeof bytes), receives, qp->recv_cq,
              qp->waiting < 3 ? waits[qp->waiting] : "?");
}

static int status_show_qps(const struct processes *all, const struct process *p, int most)
{
    struct table t = {.head = "<QP <TYPE <STATE <TO SENT BYTES SERVED BYTES RECEIVES CQ <WAITS"};
    for (uint32_t i = 0; i < SHCA_QPS; i++)
        if (status_exists(&p->h->qp[i])) status_add_qp(&t, all, p, i);
    int n = t.count;
    table_print(&t, 2, most);
    return n;
}

struct cqs {
    struct table *t;
    const struct shm_cq *cq;
    uint32_t index;
};

static void status_read_ring(const void *entry, size_t unused, void *context)
{
    const struct shm_ring *r = entry;
    const struct cqs *c = context;
    uint64_t fill = r->tail > r->head ? r->tail - r->head : 0;
    table_add(c->t, "%u\t%u\t%" PRIu64 "\t%" PRIu64 "\t%s%s", c->index, 1u << r->shift, fill,
              r->before + r->tail, c->cq->overflow ? "overflown" : "", c->cq->armed ? "armed" : "");
}

static void status_show_cqs(const struct process *p, int most)
{
    struct table t = {.head = "CQ SIZE FILL COMPLETIONS <NOTE"};
    for (uint32_t i = 0; i < SHCA_CQS; i++) {
        struct cqs c = {&t, &p->h->cq[i], i};
        if (c.cq->ring)
            process_walk(p, shm_ring_offset(c.cq->ring), sizeof(struct shm_ring), 1,
                         status_read_ring, &c);
    }
    table_print(&t, 2, most);
}

struct srqs {
    struct table *t;
};

static void status_read_srq(const void *entry, size_t index, void *context)
{
    const struct shm_srq *q = entry;
    if (!q->slots) return;
    table_add(((struct srqs *)context)->t, "%zu\t%u\t%" PRIu64 "\t%" PRIu64 "\t%u\t%s", index,
              q->mask + 1, q->prod - q->head, q->head, q->limit, q->waits ? "senders wait" : "");
}

static void status_show_srqs(const struct process *p, int most)
{
    struct table t = {.head = "SRQ SIZE POSTED USED LIMIT <NOTE"};
    struct srqs s = {&t};
    process_walk(p, offsetof(struct shm_header, srq), sizeof(struct shm_srq), SHCA_SRQS,
                 status_read_srq, &s);
    table_print(&t, 2, most);
}

static void status_show_peers(const struct processes *all, const struct process *p)
{
    static bool told[SHCA_SLOTS];
    memset(told, 0, sizeof told);
    int n = 0;
    for (uint32_t i = 0; i < SHCA_QPS; i++) {
        uint32_t to = status_destination(&p->h->qp[i]), slot = shm_qpn_slot(to);
        if (!to || told[slot]) continue;
        told[slot] = true;
        const struct process *peer = processes_at(all, slot);
        printf("%s", n++ ? ", " : "  peers: ");
        if (slot == p->slot)
            printf("itself");
        else if (peer)
            printf("%d", (int)peer->pid);
        else
            printf("slot %u (no process here)", slot);
    }
    if (n) printf("\n");
}

static void status_show_one(const struct processes *all, struct process *p, bool detail)
{
    char size[32];
    struct table list = {.head = "<KEY <ADDRESS SIZE <MEMORY <RIGHTS"};
    printf("\nprocess %d, slot %u, %s: %s\n", (int)p->pid, p->slot, status_state_of(p), p->command);
    if (p->memfd < 0) {
        printf("  %s\n", p->why);
        return;
    }
    int most = detail ? 0 : FEW;
    status_show_devices(p);
    status_show_peers(all, p);
    if (!status_show_qps(all, p, most)) printf("  no QPs\n");
    status_show_cqs(p, most);
    status_show_srqs(p, most);
    struct regions r = status_regions_of(p, detail ? &list : NULL);
    printf("  %d memory regions, %s, %d of them mapped by peers\n", r.count,
           status_amount(r.bytes, size, sizeof size), r.mapped);
    if (detail) table_print(&list, 2, 0);
    printf("  waits for a receive %" PRIu64 ", for a peer %" PRIu64 "; failed sends %" PRIu64
           "; faults injected %" PRIu64 "\n",
           p->h->counts.rnr, p->h->counts.no_target, p->h->counts.errors, p->h->counts.faults);
}

static void status_show_summary(struct processes *all)
{
    struct table t = {.head = "PID SLOT <STATE <SINCE <DEVICES QPS CQS MRS MEMORY <COMMAND"};
    for (int i = 0; i < all->count; i++) {
        struct process *p = &all->p[i];
        char when[32], devices[32], size[32], mrs[16] = "?";
        int qps = 0, cqs = 0;
        snprintf(size, sizeof size, "?");
        status_devices_of(p, devices, sizeof devices);
        if (p->memfd >= 0) {
            for (int k = 0; k < SHCA_QPS; k++) qps += status_exists(&p->h->qp[k]);
            for (int k = 0; k < SHCA_CQS; k++) cqs += p->h->cq[k].ring != 0;
            struct regions r = status_regions_of(p, NULL);
            snprintf(mrs, sizeof mrs, "%d", r.count);
            status_amount(r.bytes, size, sizeof size);
        }
        table_add(&t, "%d\t%u\t%s\t%s\t%s\t%d\t%d\t%s\t%s\t%.60s", (int)p->pid, p->slot,
                  status_state_of(p), status_since(p, when, sizeof when), devices, qps, cqs, mrs,
                  size, p->command);
    }
    table_print(&t, 0, 0);
}

int status_show(pid_t pid)
{
    struct processes all;
    char host[HOST_NAME_MAX + 1] = "?";
    gethostname(host, sizeof host - 1);
    struct passwd *user = getpwuid(getuid());
    processes_find(&all);
    if (pid) {
        for (int i = 0; i < all.count; i++)
            if (all.p[i].pid == pid) {
                status_show_one(&all, &all.p[i], true);
                return 0;
            }
        run_say("process %d has not opened the software device, or has ended", (int)pid);
        return 1;
    }
    printf("host %s, user %s: %d process%s with the software device open\n", host,
           user ? user->pw_name : "?", all.count, all.count == 1 ? "" : "es");
    status_show_summary(&all);
    for (int i = 0; i < all.count; i++) status_show_one(&all, &all.p[i], false);
    return 0;
}
