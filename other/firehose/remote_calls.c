/* remote_calls.c - the calls for memory of peers, messages that arrive, and completions. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "other/firehose/engine.h"

static bool is_right(const firehose_t *fh, uint32_t peer, uintptr_t addr, size_t len)
{
    const uint64_t below = fh->config.page - 1;
    return fh->config.nodes > 1 && peer < fh->config.nodes && len > 0 && addr + len > addr &&
           ((addr + len + below) & ~below) - (addr & ~below) <= fh->config.sizes.max_region;
}

static int answer(const firehose_t *fh, uint32_t region, firehose_request_t *request)
{
    if (region) fh_fill_remote(fh, region, request);
    return region != FH_NONE;
}

int firehose_try_remote_pin(firehose_t *fh, uint32_t peer, uintptr_t addr, size_t len,
                            firehose_request_t *request)
{
    fh_lock(fh);
    const int pinned = answer(fh, fh_remote_try(&fh->remote, peer, addr, addr + len), request);
    fh_unlock(fh);
    return pinned;
}

int firehose_partial_remote_pin(firehose_t *fh, uint32_t peer, uintptr_t addr, size_t len,
                                firehose_request_t *request)
{
    fh_lock(fh);
    uint32_t region = fh_table_first(&fh->remote.table, peer, addr, addr + len);
    if (region) {
        const fh_region_t *r = fh_region(&fh->remote.table, region);
        region = fh_remote_try(&fh->remote, peer, r->start, r->end);
    }
    const int pinned = answer(fh, region, request);
    fh_unlock(fh);
    return pinned;
}

int firehose_remote_pin(firehose_t *fh, uint32_t peer, uintptr_t addr, size_t len,
                        const firehose_remote_args_t *args, firehose_request_t *request)
{
    if (!is_right(fh, peer, addr, len)) {
        errno = EINVAL;
        return -1;
    }
    if (args->return_if_pinned && firehose_try_remote_pin(fh, peer, addr, len, request)) return 1;
    fh_op_t *op = malloc(sizeof *op);
    if (!op) {
        errno = ENOMEM;
        return -1;
    }
    *op = (fh_op_t){.want = {.from = addr,
                             .to = addr + len,
                             .peer = peer,
                             .rides = args->data != NULL && fh->config.max_data > 0},
                    .args = *args};
    fh_lock(fh);
    fh_remote_want(&fh->remote, &op->want);
    fh_unlock(fh);
    return 0;
}

void firehose_release(firehose_t *fh, const firehose_request_t *requests, size_t count)
{
    fh_lock(fh);
    for (size_t i = 0; i < count; i++)
        if (requests[i].peer == FIREHOSE_LOCAL)
            fh_local_release(&fh->local, requests[i].region);
        else
            fh_remote_release(&fh->remote, requests[i].region);
    fh_unlock(fh);
}

/* --- progress --- */

static firehose_result_t result_of(const fh_want_t *want)
{
    if (want->region) return want->rode ? FIREHOSE_OK_DATA_RODE : FIREHOSE_OK;
    return want->why == FH_PEER_DIED ? FIREHOSE_DEAD : FIREHOSE_DENIED;
}

static bool complete_one(firehose_t *fh)
{
    fh_op_t *op = (fh_op_t *)fh_remote_served(&fh->remote);
    firehose_request_t request;
    if (!op) return false;
    const firehose_result_t result = result_of(&op->want);
    if (op->want.region) fh_fill_remote(fh, op->want.region, &request);
    fh_unlock(fh);
    op->args.completion(op->args.context, op->want.region ? &request : NULL, result);
    free(op);
    fh_lock(fh);
    return true;
}

int firehose_poll(firehose_t *fh)
{
    fh_lock(fh);
    bool worked = fh_work(fh);
    /* No more than are there now: a completion may pin again. */
    const fh_want_t *last = fh->remote.served.last, *first = NULL;
    while (last && first != last) {
        first = fh->remote.served.first;
        if (!complete_one(fh)) break;
        worked = true;
    }
    fh_unlock(fh);
    return worked;
}

int firehose_busy(firehose_t *fh)
{
    fh_lock(fh);
    const bool busy = fh->replies.first || fh->requests.first || fh->target.first ||
                      fh->target.revoked_first || fh->remote.served.first || fh->remote.first_due ||
                      fh->local.to_register.oldest || fh->local.to_deregister.oldest;
    fh_unlock(fh);
    return busy;
}

/* --- messages --- */

static const char *receive_request(firehose_t *fh, uint32_t peer, const fh_message_t *m)
{
    fh_debt_t *debt = malloc(sizeof *debt + m->extra_size);
    if (!debt) return "no memory for a request";
    fh_owed_t *owed = &debt->owed;
    *owed = (fh_owed_t){.peer = peer, .pins = m->pins, .unpins = m->tokens};
    for (uint32_t i = 0; i < m->tokens; i++) owed->unpin[i] = fh_get_token(m, i);
    for (uint32_t i = 0; i < m->pins; i++) {
        const fh_pin_t pin = fh_get_pin(m, i);
        const uint64_t size = (uint64_t)pin.pages << fh->local.table.page_shift;
        owed->pin[i] = (fh_range_t){pin.start, pin.start + size};
        debt->data_size[i] = pin.extra;
    }
    memcpy(debt->data, m->extra, m->extra_size);
    fh_lock(fh);
    const char *wrong = fh_target_receive(&fh->target, owed);
    fh_unlock(fh);
    if (wrong) free(debt);
    return wrong;
}

static const char *receive_reply(firehose_t *fh, uint32_t peer, const fh_message_t *m)
{
    const char *wrong = NULL;
    const size_t key_size = fh->config.key_size;
    fh_lock(fh);
    for (uint32_t i = 0; i < m->pins && !wrong; i++) {
        const fh_pin_t pin = fh_get_pin(m, i);
        const uint64_t size = (uint64_t)pin.pages << fh->remote.table.page_shift;
        const uint32_t region =
            fh_remote_answer(&fh->remote, peer, pin.extra, pin.start, pin.start + size);
        if (region)
            memcpy(fh_remote_key(fh, region), m->extra + i * key_size, key_size);
        else
            wrong = "a reply to what was not asked for";
    }
    if (!wrong && !fh_remote_answered(&fh->remote, peer)) wrong = "a reply that is not complete";
    fh_unlock(fh);
    return wrong;
}

static const char *receive_revocation(firehose_t *fh, uint32_t peer, const fh_message_t *m)
{
    fh_lock(fh);
    for (uint32_t i = 0; i < m->tokens; i++)
        fh_remote_revoked(&fh->remote, peer, fh_get_token(m, i));
    fh_unlock(fh);
    return NULL;
}

const char *firehose_receive(firehose_t *fh, uint32_t peer, const void *bytes, size_t size)
{
    fh_message_t m;
    if (fh->config.nodes <= 1 || peer >= fh->config.nodes) return "from a rank that is no peer";
    const char *wrong =
        fh_parse(&m, bytes, size, FH_UNPINS, FH_PINS, (uint32_t)fh->config.key_size);
    if (wrong) return wrong;
    if (m.kind == FH_REQUEST) return receive_request(fh, peer, &m);
    if (m.kind == FH_REPLY) return receive_reply(fh, peer, &m);
    return receive_revocation(fh, peer, &m);
}

/* Letters to a dead peer become spare ones: nothing is freed under the lock. */
static void withdraw(firehose_t *fh, fh_letters_t *letters, uint32_t peer)
{
    fh_letter_t **link = &letters->first;
    letters->last = NULL;
    while (*link) {
        fh_letter_t *letter = *link;
        if (letter->peer == peer) {
            *link = letter->next;
            letter->next = fh->spare;
            fh->spare = letter;
        } else {
            letters->last = letter;
            link = &letter->next;
        }
    }
}

void firehose_peer_died(firehose_t *fh, uint32_t peer)
{
    fh_lock(fh);
    fh_remote_died(&fh->remote, peer);
    fh_owed_t *owed = fh_target_died(&fh->target, peer);
    withdraw(fh, &fh->replies, peer);
    withdraw(fh, &fh->requests, peer);
    fh_unlock(fh);
    while (owed) {
        fh_owed_t *next = owed->next;
        free(owed);
        owed = next;
    }
}
