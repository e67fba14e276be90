/* work.c - the engine does what the state machines say: registers, deregisters, composes and sends.
 *
 * Called by firehose_poll and by threads that wait in firehose_local_pin.
 */
#include <stdlib.h>
#include <string.h>

#include "other/firehose/engine.h"

/* --- letters --- */

static void work_append(fh_letters_t *letters, fh_letter_t *letter)
{
    letter->next = NULL;
    if (letters->last)
        letters->last->next = letter;
    else
        letters->first = letter;
    letters->last = letter;
}

static fh_letter_t *take_first(fh_letters_t *letters)
{
    fh_letter_t *letter = letters->first;
    if (!letter) return NULL;
    letters->first = letter->next;
    if (!letters->first) letters->last = NULL;
    return letter;
}

static void put_first(fh_letters_t *letters, fh_letter_t *letter)
{
    letter->next = letters->first;
    letters->first = letter;
    if (!letters->last) letters->last = letter;
}

/* Makes a spare message, if there is none.  False: out of memory; messages are composed later. */
static bool have_spare(firehose_t *fh)
{
    if (fh->spare) return true;
    fh_unlock(fh);
    fh_letter_t *letter = malloc(sizeof *letter + fh->config.max_message);
    fh_lock(fh);
    if (!letter) return false;
    letter->next = fh->spare;
    fh->spare = letter;
    return true;
}

static fh_letter_t *take_spare(firehose_t *fh, uint32_t peer)
{
    fh_letter_t *letter = fh->spare;
    fh->spare = letter->next;
    letter->peer = peer;
    return letter;
}

typedef int sender_t(void *, uint32_t, const void *, size_t);

/* Sends the first message of the list.  False: the list is empty, or the network takes none now. */
static bool send_first(firehose_t *fh, fh_letters_t *letters, sender_t *sender)
{
    fh_letter_t *letter = take_first(letters);
    if (!letter) return false;
    fh_unlock(fh);
    const bool sent =
        sender(fh->config.callbacks.context, letter->peer, letter->bytes, letter->size) != 0;
    fh_lock(fh);
    if (!sent)
        put_first(letters, letter);
    else {
        letter->next = fh->spare;
        fh->spare = letter;
    }
    return sent;
}

/* --- tasks --- */

static bool do_local_task(firehose_t *fh)
{
    const firehose_callbacks_t *call = &fh->config.callbacks;
    uint32_t region;
    const fh_task_t task = fh_local_next(&fh->local, &region);
    if (task == FH_NOTHING || task == FH_GAVE_UP) return task == FH_GAVE_UP;
    const fh_region_t *r = fh_region(&fh->local.table, region);
    const uintptr_t addr = (uintptr_t)r->start;
    const size_t len = (size_t)(r->end - r->start);
    void *key = fh_local_key(fh, region);
    firehose_outcome_t outcome = FIREHOSE_PINNED;
    fh_unlock(fh);
    if (task == FH_DEREGISTER)
        call->unpin(call->context, addr, len, key);
    else
        outcome = call->pin(call->context, addr, len, key);
    fh_lock(fh);
    fh->registrations += task == FH_REGISTER && outcome == FIREHOSE_PINNED;
    fh_local_done(&fh->local, region,
                  outcome == FIREHOSE_PINNED    ? FH_DONE
                  : outcome == FIREHOSE_REFUSED ? FH_REFUSED
                                                : FH_BAD);
    return true;
}

/* Data that rode is delivered after its region is registered, and before the answer. */
static void deliver(firehose_t *fh, const fh_debt_t *debt)
{
    const firehose_callbacks_t *call = &fh->config.callbacks;
    const uint8_t *data = debt->data;
    for (uint32_t i = 0; i < debt->owed.pins; i++) {
        if (debt->owed.token[i] && debt->data_size[i] && call->data)
            call->data(call->context, debt->owed.peer, (uintptr_t)debt->owed.pin[i].start, data,
                       debt->data_size[i]);
        data += debt->data_size[i];
    }
}

static bool do_reply(firehose_t *fh)
{
    fh_debt_t *debt = (fh_debt_t *)fh_target_next(&fh->target);
    if (!debt) return do_local_task(fh); /* fh_target_next may have created a task */
    const fh_owed_t *owed = &debt->owed;
    fh_letter_t *letter = take_spare(fh, owed->peer);
    fh_unlock(fh);
    deliver(fh, debt);
    fh_lock(fh);
    fh_message_t m;
    const size_t key_size = fh->config.key_size;
    fh_compose(&m, FH_REPLY, 0, owed->pins, letter->bytes);
    for (uint32_t i = 0; i < owed->pins; i++) {
        const uint32_t region =
            owed->token[i] ? fh_target_region(&fh->target, owed->token[i]) : FH_NONE;
        fh_range_t range = owed->pin[i];
        memset(m.extra + i * key_size, 0, key_size);
        if (region) {
            const fh_region_t *r = fh_region(&fh->local.table, region);
            range = (fh_range_t){r->start, r->end};
            memcpy(m.extra + i * key_size, fh_local_key(fh, region), key_size);
        }
        const uint64_t pages = (range.end - range.start) >> fh->local.table.page_shift;
        fh_put_pin(&m, i, &(fh_pin_t){range.start, (uint32_t)pages, owed->token[i]});
    }
    letter->size = fh_composed(&m, owed->pins * key_size, letter->bytes);
    work_append(&fh->replies, letter);
    fh_unlock(fh);
    free(debt);
    fh_lock(fh);
    return true;
}

/* The data of one region, if there is room for any. */
static size_t add_data(firehose_t *fh, fh_want_t *rider, uint8_t *at, const uint8_t *end)
{
    const firehose_remote_args_t *args = &((fh_op_t *)rider)->args;
    if ((size_t)(end - at) < fh->config.max_data) return 0;
    const size_t size = args->data(args->context, at);
    rider->riding = size > 0;
    return size;
}

static bool do_request(firehose_t *fh)
{
    fh_ask_t ask;
    if (!fh_remote_next(&fh->remote, &ask)) return false;
    fh_letter_t *letter = take_spare(fh, ask.peer);
    const uint8_t *end = letter->bytes + fh->config.max_message;
    fh_message_t m;
    size_t data = 0;
    fh_compose(&m, FH_REQUEST, ask.unpins, ask.pins, letter->bytes);
    for (uint32_t i = 0; i < ask.unpins; i++) fh_put_token(&m, i, ask.unpin[i]);
    for (uint32_t i = 0; i < ask.pins; i++) {
        const fh_region_t *r = fh_region(&fh->remote.table, ask.pin[i]);
        const size_t size = ask.rider[i] ? add_data(fh, ask.rider[i], m.extra + data, end) : 0;
        fh_put_pin(&m, i, &(fh_pin_t){r->start, r->charge, (uint32_t)size});
        data += size;
    }
    letter->size = fh_composed(&m, data, letter->bytes);
    work_append(&fh->requests, letter);
    return true;
}

static bool do_revocation(firehose_t *fh)
{
    uint32_t peer, tokens[FH_UNPINS];
    const uint32_t count = fh_target_next_revoked(&fh->target, &peer, tokens);
    if (!count) return false;
    fh_letter_t *letter = take_spare(fh, peer);
    fh_message_t m;
    fh_compose(&m, FH_REVOKE, count, 0, letter->bytes);
    for (uint32_t i = 0; i < count; i++) fh_put_token(&m, i, tokens[i]);
    letter->size = fh_composed(&m, 0, letter->bytes);
    work_append(&fh->requests, letter);
    return true;
}

/* Replies go first: they need nothing of anybody, and peers wait for them. */
bool fh_work(firehose_t *fh)
{
    const firehose_callbacks_t *call = &fh->config.callbacks;
    bool worked = false;
    while (do_local_task(fh) ||
           (have_spare(fh) && (do_reply(fh) || do_revocation(fh) || do_request(fh))))
        worked = true;
    while (send_first(fh, &fh->replies, call->send_reply)) worked = true;
    while (send_first(fh, &fh->requests, call->send_request)) worked = true;
    return worked;
}
