/* responder.c - the responder of a QP whose other end is on another host; see remote.h.
 *
 * It distinguishes new requests from repeated ones: a repeated SEND or WRITE is acknowledged again,
 * a READ is executed again, an atomic is answered from the saved result. Pure; called by the wire
 * thread only.
 */
#include "other/softhca/src/tcp/remote.h"

void responder_start(struct responder *r)
{
    bool reliable = r->reliable;
    *r = (struct responder){.reliable = reliable};
}

static void responder_answer_nak(struct responder *r, const struct wire_frame *to,
                                 const struct wire_nak *n)
{
    r->nak = (struct wire_frame){
        .type = WIRE_NAK, .life = to->life, .msn = to->msn, .value = wire_put_nak(n)};
    r->nak_due = true;
    r->synced = r->open = false;
}

void responder_no_target(const struct wire_frame *f, struct wire_frame *nak)
{
    *nak = (struct wire_frame){.type = WIRE_NAK,
                               .to = f->from,
                               .from = f->to,
                               .life = f->life,
                               .msn = f->msn,
                               .value = wire_put_nak(&(struct wire_nak){.code = WIRE_NO_TARGET})};
}

/* The frame belongs to an unknown life of the requester: it must begin again. */
static enum responder_verdict responder_unbound(struct responder *r, const struct wire_frame *f)
{
    if (r->reliable) responder_answer_nak(r, f, &(struct wire_nak){.code = WIRE_NO_TARGET});
    return RESPONDER_DROP;
}

void responder_closed(struct responder *r)
{
    struct wire_frame next = {.life = r->life, .msn = r->expected};
    if (r->reliable && r->bound)
        responder_answer_nak(r, &next, &(struct wire_nak){.code = WIRE_NO_TARGET});
}

static void responder_bind(struct responder *r, const struct wire_frame *f)
{
    responder_start(r);
    r->bound = true;
    r->life = f->life;
    r->expected = f->msn;
}

static enum responder_verdict responder_answer_fetch(struct responder *r,
                                                     const struct wire_frame *f, uint64_t value)
{
    if (r->fetches == WIRE_FETCHES) return RESPONDER_BAD;
    r->fetch[(r->first_fetch + r->fetches++) % WIRE_FETCHES] =
        (struct responder_fetch){.msn = f->msn,
                                 .total = f->total,
                                 .rkey = f->rkey,
                                 .srqn = f->srqn,
                                 .opcode = f->opcode,
                                 .addr = f->value,
                                 .value = value};
    return RESPONDER_DROP;
}

static enum responder_verdict responder_repeat_atomic(struct responder *r,
                                                      const struct wire_frame *f)
{
    /* The latest first: an old one may have the same number, 2^32 messages ago. */
    for (uint64_t i = 1; i <= WIRE_FETCHES && i <= r->atomics; i++) {
        const uint64_t at = (r->atomics - i) % WIRE_FETCHES;
        if (r->saved[at].msn == f->msn) return responder_answer_fetch(r, f, r->saved[at].value);
    }
    return RESPONDER_BAD;
}

static enum responder_verdict responder_repeat(struct responder *r, const struct wire_frame *f)
{
    if (f->type == WIRE_REQUEST && f->opcode == WIRE_READ) return responder_answer_fetch(r, f, 0);
    if (f->type == WIRE_REQUEST && wire_is_fetch(f->opcode)) return responder_repeat_atomic(r, f);
    r->ack_due = r->reliable;
    return RESPONDER_DROP;
}

static enum responder_verdict responder_run(struct responder *r, const struct wire_frame *f)
{
    if (f->type == WIRE_REQUEST) {
        r->open = true;
        r->at = 0;
        r->request = *f;
        return RESPONDER_RUN;
    }
    if (!r->open) return r->reliable ? RESPONDER_BAD : RESPONDER_DROP;
    if (f->value != r->at || f->length > r->request.total - r->at) return RESPONDER_BAD;
    return RESPONDER_RUN;
}

static enum responder_verdict responder_probed(struct responder *r, const struct wire_frame *f)
{
    if (!r->bound || r->life != f->life) return responder_unbound(r, f);
    r->ack_due = r->reliable;
    return RESPONDER_DROP;
}

enum responder_verdict responder_on_frame(struct responder *r, const struct wire_frame *f)
{
    /* Messages of an unreliable requester are not repeated: any request may begin. */
    bool first = f->type == WIRE_REQUEST && (f->flags & WIRE_FIRST || !r->reliable);
    if (r->bound && wire_before(f->life, r->life)) return RESPONDER_DROP; /* of an earlier life */
    if (f->type == WIRE_PROBE) return responder_probed(r, f);
    if (!r->bound || r->life != f->life) {
        if (!first) return responder_unbound(r, f);
        responder_bind(r, f);
    }
    if (first) {
        r->synced = true;
        r->open = r->nak_due = r->ready_due = false;
    } else if (!r->synced)
        return RESPONDER_DROP;
    if (wire_before(f->msn, r->expected)) return responder_repeat(r, f);
    if (f->msn != r->expected) {
        if (r->reliable) return RESPONDER_BAD;
        r->expected = f->msn; /* the messages between are lost */
        r->open = false;
    }
    return responder_run(r, f);
}

bool responder_ran(struct responder *r, uint32_t n)
{
    r->at += n;
    return r->at == r->request.total;
}

enum responder_verdict responder_finish(struct responder *r, uint64_t value)
{
    uint32_t msn = r->expected++;
    r->open = false;
    if (!wire_is_fetch(r->request.opcode)) {
        r->ack_due = r->reliable;
        return RESPONDER_DROP;
    }
    if (r->request.opcode != WIRE_READ) {
        const uint64_t i = r->atomics++ % WIRE_FETCHES;
        r->saved[i].msn = msn;
        r->saved[i].value = value;
    }
    return responder_answer_fetch(r, &r->request, value);
}

void responder_refuse(struct responder *r, const struct wire_nak *nak)
{
    if (r->reliable) {
        responder_answer_nak(r, &r->request, nak);
        return;
    }
    r->expected++;
    r->open = false;
}

void responder_fetch_failed(struct responder *r, int status)
{
    struct wire_frame at = {.life = r->life, .msn = responder_oldest(r)->msn};
    responder_answer_nak(r, &at, &(struct wire_nak){.code = WIRE_ERROR, .status = status});
    r->fetches = 0;
}

void responder_lost(struct responder *r)
{
    r->synced = r->open = false;
    r->ack_due = r->nak_due = r->ready_due = false;
    r->fetches = 0;
}

static void responder_next_answer(const struct responder_fetch *x, struct wire_frame *f)
{
    uint32_t left = x->total - x->at;
    f->msn = x->msn;
    f->type = x->opcode == WIRE_READ ? WIRE_RESPONSE : WIRE_RESULT;
    if (f->type == WIRE_RESULT) {
        f->value = x->value;
        return;
    }
    f->value = x->at;
    f->length = left < WIRE_CHUNK ? left : WIRE_CHUNK;
}

bool responder_next(const struct responder *r, struct wire_frame *f)
{
    *f = (struct wire_frame){.life = r->life, .msn = r->expected};
    if (r->ack_due)
        f->type = WIRE_ACK;
    else if (r->nak_due)
        *f = r->nak;
    else if (r->fetches > 0)
        responder_next_answer(&r->fetch[r->first_fetch % WIRE_FETCHES], f);
    else if (r->ready_due)
        f->type = WIRE_READY;
    else
        return false;
    return true;
}

void responder_sent(struct responder *r, const struct wire_frame *f)
{
    struct responder_fetch *x = responder_oldest(r);
    switch (f->type) {
    case WIRE_ACK:
        r->ack_due = false;
        return;
    case WIRE_NAK:
        r->nak_due = false;
        return;
    case WIRE_READY:
        r->ready_due = false;
        return;
    default:
        x->at += f->length;
        if (f->type == WIRE_RESPONSE && x->at < x->total) return;
        r->first_fetch++;
        r->fetches--;
    }
}
