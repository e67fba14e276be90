/* requester.c - the requester of a QP whose other end is on another host; see remote.h.
 *
 * A WR is identified by its number in the send queue, which is its message number as well. Pure;
 * called with the send lock of the QP held.
 */
#include <infiniband/verbs.h>

#include "other/softhca/src/datapath/rnr.h"
#include "other/softhca/src/tcp/remote.h"

enum { MS = 1000000 };

static struct requester_wr requester_read_wr(const struct requester *q, uint32_t msn)
{
    struct requester_wr wr;
    q->look(q->owner, msn, &wr);
    return wr;
}

static bool requester_is_fetch(const struct requester *q, uint32_t msn)
{
    return wire_is_fetch(requester_read_wr(q, msn).opcode);
}

static void requester_raise_to(uint32_t *value, uint32_t to)
{
    if (wire_before(*value, to)) *value = to;
}

void requester_start(struct requester *q)
{
    q->una = q->next = q->head = q->at = 0;
    q->acked = q->fetched = q->fetch_at = q->fetches = 0;
    q->first = true;
    q->probe = q->failing = false;
    q->rnr_tries = 0;
    q->pause_until = q->since = q->probed = q->no_target_since = q->pause = 0;
}

void requester_posted(struct requester *q, uint32_t head, uint64_t now)
{
    if (q->una == q->head) {
        q->since = now;
        if (q->no_target_since) q->no_target_since = now;
    }
    q->head = head;
}

/* After a go-back: skips messages at NEXT that are known to be executed. */
static void requester_skip_executed(struct requester *q)
{
    while (q->next != q->head && q->at == 0 && wire_before(q->next, q->acked) &&
           !requester_is_fetch(q, q->next))
        q->next++;
}

bool requester_next(struct requester *q, uint64_t now, struct wire_frame *f)
{
    *f = (struct wire_frame){.life = q->life};
    if (q->failing || now < q->pause_until) return false;
    q->pause_until = 0;
    if (q->probe) {
        f->type = WIRE_PROBE;
        f->msn = q->una;
        return true;
    }
    requester_skip_executed(q);
    if (q->next == q->head) return false;
    struct requester_wr wr = requester_read_wr(q, q->next);
    bool fetch = wire_is_fetch(wr.opcode);
    if (q->at == 0 && fetch && q->fetches >= q->max_fetches) return false;
    if (q->at == 0 && wr.fence && q->fetches > 0) return false;
    uint32_t left = fetch ? 0 : wr.length - q->at;
    f->type = q->at ? WIRE_DATA : WIRE_REQUEST;
    f->flags = q->first ? WIRE_FIRST : 0;
    f->msn = q->next;
    f->value = q->at;
    f->length = left < WIRE_CHUNK ? left : WIRE_CHUNK;
    f->opcode = wr.opcode;
    f->total = wr.length;
    return true;
}

void requester_sent(struct requester *q, const struct wire_frame *f, uint64_t now)
{
    if (f->type == WIRE_PROBE) {
        q->probe = false;
        q->probed = now;
        return;
    }
    q->first = false;
    q->at += f->length;
    bool fetch = wire_is_fetch(requester_read_wr(q, q->next).opcode);
    if (!fetch && q->at < requester_read_wr(q, q->next).length) return;
    q->next++;
    q->at = 0;
    q->fetches += fetch;
}

void requester_skip(struct requester *q)
{
    q->next++;
    q->at = 0;
}

static void requester_progress(struct requester *q, uint64_t now)
{
    q->since = now;
    q->no_target_since = q->pause = 0;
}

static void requester_go_back(struct requester *q, uint32_t msn)
{
    q->next = msn;
    q->at = 0;
    q->first = true;
    q->probe = false;
    q->fetches = 0;
    for (uint32_t i = q->fetched; wire_before(i, msn); i++) q->fetches += requester_is_fetch(q, i);
}

void requester_fail(struct requester *q, uint32_t msn, int status)
{
    if (q->failing && !wire_before(msn, q->fail_msn)) return;
    q->failing = true;
    q->fail_msn = msn;
    q->fail_status = status;
}

static void requester_on_rnr(struct requester *q, uint32_t msn, uint32_t timer, uint64_t now)
{
    if (q->rnr_msn != msn) q->rnr_tries = 0;
    q->rnr_msn = msn;
    if (q->rnr_retry != 7 && q->rnr_tries++ >= q->rnr_retry) {
        requester_fail(q, msn, IBV_WC_RNR_RETRY_EXC_ERR);
        return;
    }
    requester_go_back(q, msn);
    q->pause_until = now + shca_rnr_ns(timer);
}

/* The target QP does not exist yet, or no more, which its process tells when it destroys the QP. It
 * has no state of this connection, so everything is sent again. Refusals of frames sent before may
 * still arrive; requester_on_nak() drops them, because NEXT went back. */
static void requester_on_no_target(struct requester *q, uint64_t now)
{
    if (!q->no_target_since) q->no_target_since = now;
    q->pause = q->pause ? q->pause * 2 : MS;
    if (q->pause > 64 * MS) q->pause = 64 * MS;
    q->fetch_at = 0;
    requester_go_back(q, q->una);
    q->pause_until = now + q->pause;
}

static void requester_on_nak(struct requester *q, const struct wire_frame *f, uint64_t now)
{
    struct wire_nak nak;
    bool sent = wire_before(f->msn, q->next) || (f->msn == q->next && q->at > 0);
    if (wire_before(f->msn, q->una) || wire_before(q->next, f->msn)) return;
    if (!wire_get_nak(f->value, &nak)) return;
    /* Only a target that is destroyed refuses a message before it was sent. */
    if (!sent && (nak.code != WIRE_NO_TARGET || q->no_target_since)) return;
    if (nak.code == WIRE_NO_TARGET) {
        requester_on_no_target(q, now);
        return;
    }
    requester_raise_to(&q->acked, f->msn);
    requester_progress(q, now);
    if (nak.code == WIRE_RNR)
        requester_on_rnr(q, f->msn, nak.timer, now);
    else
        requester_fail(q, f->msn, nak.status);
}

void requester_on_frame(struct requester *q, const struct wire_frame *f, uint64_t now)
{
    if (f->life != q->life || !q->reliable) return;
    switch (f->type) {
    case WIRE_ACK:
        if (wire_before(f->msn, q->una) || wire_before(q->next, f->msn)) return;
        requester_raise_to(&q->acked, f->msn);
        requester_progress(q, now);
        return;
    case WIRE_NAK:
        requester_on_nak(q, f, now);
        return;
    case WIRE_READY:
        if (q->no_target_since == 0) q->pause_until = 0;
        return;
    default:
        return;
    }
}

bool requester_wants(struct requester *q, uint32_t life, uint32_t msn, uint32_t offset, uint32_t n)
{
    if (life != q->life || wire_before(msn, q->fetched) || !wire_before(msn, q->next)) return false;
    for (uint32_t i = q->fetched; i != msn; i++)
        if (requester_is_fetch(q, i)) return false; /* an earlier fetch is answered first */
    struct requester_wr wr = requester_read_wr(q, msn);
    if (!wire_is_fetch(wr.opcode)) return false;
    if (q->fetched != msn) {
        q->fetched = msn;
        q->fetch_at = 0;
    }
    return offset == q->fetch_at && n <= wr.length - offset;
}

void requester_received(struct requester *q, uint32_t n, uint64_t now)
{
    q->fetch_at += n;
    if (q->fetch_at == requester_read_wr(q, q->fetched).length) {
        requester_raise_to(&q->acked, q->fetched); /* executed after all before it */
        q->fetched++;
        q->fetch_at = 0;
        q->fetches--;
    }
    requester_progress(q, now);
}

void requester_lost(struct requester *q)
{
    requester_go_back(q, q->reliable ? q->una : q->next);
    q->pause_until = 0;
    q->fetch_at = 0;
}

void requester_stop(struct requester *q, uint32_t head)
{
    q->una = q->next = q->head = q->acked = q->fetched = head;
    q->at = q->fetch_at = q->fetches = 0;
    q->failing = q->probe = false;
}

/* Messages of an unreliable QP wait so long for a connection; then they are lost. */
static const uint64_t unreliable_timeout = 2000ull * MS;

static uint64_t requester_tick_unreliable(struct requester *q, uint64_t now, uint64_t down_since,
                                          bool gone)
{
    if (!down_since && !gone) return REMOTE_NEVER;
    if (!gone && now < down_since + unreliable_timeout) return down_since + unreliable_timeout;
    q->next = q->head;
    q->at = 0;
    return REMOTE_NEVER;
}

static uint64_t requester_give_up_at(const struct requester *q, uint64_t down_since)
{
    uint64_t end = REMOTE_NEVER, timeout = q->timeout * q->tries;
    if (q->timeout == 0) return end;
    if (q->no_target_since) end = q->no_target_since + timeout;
    if (down_since) {
        uint64_t from = q->since > down_since ? q->since : down_since;
        if (from + timeout < end) end = from + timeout;
    }
    return end;
}

/* Probes find a target that lost its state without notice. */
static uint64_t requester_probe_at(const struct requester *q)
{
    uint64_t every = q->timeout < 50 * MS ? 50 * MS : q->timeout;
    if (q->timeout == 0 || every > 1000 * MS) every = 1000 * MS;
    return (q->since > q->probed ? q->since : q->probed) + every;
}

uint64_t requester_tick(struct requester *q, uint64_t now, uint64_t down_since, bool gone)
{
    if (q->una == q->head) return REMOTE_NEVER;
    if (!q->reliable) return requester_tick_unreliable(q, now, down_since, gone);
    uint64_t end = requester_give_up_at(q, down_since);
    /* A process that destroyed the target before it ended is tried as an HCA tries it. */
    if ((gone && !q->no_target_since) || now >= end) {
        requester_fail(q, q->una, IBV_WC_RETRY_EXC_ERR);
        return REMOTE_NEVER;
    }
    if (now < q->pause_until) return q->pause_until < end ? q->pause_until : end;
    if (down_since || q->una == q->next) return end;
    uint64_t probe = requester_probe_at(q);
    if (now >= probe) {
        q->probe = true;
        q->probed = now;
        probe = requester_probe_at(q);
    }
    return probe < end ? probe : end;
}

bool requester_drained(const struct requester *q)
{
    return q->una == q->next && q->at == 0;
}

bool requester_done(struct requester *q, int *status)
{
    *status = IBV_WC_SUCCESS;
    if (q->una == q->head) return false;
    if (q->failing && q->una == q->fail_msn)
        *status = q->fail_status;
    else if (!q->reliable) {
        if (q->una == q->next) return false;
    } else if (requester_is_fetch(q, q->una) ? !wire_before(q->una, q->fetched)
                                             : !wire_before(q->una, q->acked))
        return false;
    if (*status == IBV_WC_SUCCESS && q->una == q->rnr_msn) q->rnr_tries = 0;
    q->una++;
    /* None stays behind: it would be ahead 2^31 messages later. */
    requester_raise_to(&q->acked, q->una);
    requester_raise_to(&q->fetched, q->una);
    requester_raise_to(&q->next, q->una);
    return true;
}
