/* amrdma_sim.c - two nodes that talk over the real state machines of amrdma.h and credits.h, each
 * with rings in its memory, under random schedules (IB-A1..A3, IB-R9, IB-R10).
 *
 * The engine and a reliable queue pair are played by this file: a posted request arrives in order
 * but late, a write word by word; rings and receive completions are looked at out of order;
 * messages are released late and in any order. In every other run the two share memory: stores do
 * not wait for what the queue pair carries, and the sender sees what is released. After every step:
 * credits add up, a message that needs a receive buffer finds one, no slot is written before its
 * message was released, a message that arrives is whole and comes once; at the end all have
 * arrived.
 */
#include <stdlib.h>
#include <string.h>

#include "core/am/credits.h"
#include "core/rings/amrdma.h"
#include "tests/unit/check.h"

enum { LIMIT = 64, WORDS = LIMIT / 8, MOST = 1 << 14, HELD = 64 };

/* An Active Message of this test: all its words are its id. */
typedef struct message {
    uint64_t id;
    uint32_t length;
    bool reply;
    uint8_t credits;
} message_t;

/* A work request on its way: a write of `words` that ends at a slot's end, or a message with a word
 * beside it. */
typedef struct request {
    bool write;
    uint32_t slot, words, done;
    uint64_t word[WORDS + 1];
    message_t message;
    uint32_t beside;
} request_t;

/* A message taken and not yet released. */
typedef struct held {
    message_t message;
    bool by_ring;
    uint32_t number;
} held_t;

typedef struct side {
    gasnetc_credits_t credits;
    amrdma_out_t out;
    amrdma_in_t in;
    bool has_in, offer;
    uint64_t memory[AMRDMA_SLOTS][AMRDMA_SLOTS + WORDS + 1]; /* [slot][word], its end at the end */
    bool busy[AMRDMA_SLOTS]; /* the message in this slot is not yet released */
    int posted;              /* receive buffers */
    held_t held[HELD];
    unsigned holds;
    unsigned owing; /* hidden Replies due */
    amrdma_released_t released;
    request_t *way; /* to this side: a queue */
    unsigned first, last;
    request_t *stores; /* stores of a shared-memory peer, a queue like `way` */
    unsigned stores_first, stores_last;
    request_t *inbox; /* messages that have used a buffer */
    unsigned inbox_first, inbox_last;
    uint64_t next_id, seen, by_ring;
} side_t;

static side_t sides[2];
static uint32_t slots;
static uint16_t credits;
static bool in_order, near;
static message_t about[MOST]; /* by id */
static bool arrived[MOST];
static uint64_t ids;

enum { LAST = AMRDMA_SLOTS + WORDS };

static void push(request_t *queue, unsigned *last, const request_t *r)
{
    queue[(*last)++ % MOST] = *r;
}

/* As net_ib_ring_fill and net_ib_near_am do it. */
static void send(side_t *from, side_t *to, const message_t *m)
{
    request_t r = {.message = *m};
    uint16_t freed = from->has_in && !near ? amrdma_freed(&from->in, in_order) : 0;
    if (near && to->has_in) from->out.slots = (uint16_t)slots;
    if (near && !amrdma_may_send(&from->out)) amrdma_look(&from->out, &to->released);
    if (from->offer || m->length > LIMIT || !amrdma_may_send(&from->out)) {
        r.beside = (uint32_t)from->offer << 16 | freed;
        from->offer = false;
    } else {
        uint32_t number = amrdma_send(&from->out);
        r.write = true;
        r.slot = number & (slots - 1);
        r.words = amrdma_padded(m->length) / 8 + 1;
        for (uint32_t i = 0; i < r.words; i++) r.word[i] = m->id;
        r.word[r.words - 1] = amrdma_trailer(number, freed, m->length);
        if (near) {
            push(to->stores, &to->stores_last, &r);
            return;
        }
    }
    push(to->way, &to->last, &r);
}

static void compose(side_t *from, side_t *to, bool reply)
{
    bool needs_recv = false;
    uint8_t own = reply;
    if (ids == MOST) return;
    if (!reply && !gasnetc_credits_take(&from->credits, &needs_recv)) return;
    from->posted += needs_recv;
    message_t m = {.id = ids, .length = 8 + check_below(LIMIT), .reply = reply};
    m.credits = gasnetc_credits_piggyback(&from->credits, own);
    about[ids++] = m;
    send(from, to, &m);
}

/* Writes a word of a write; true when the write is complete. */
static bool write_word(side_t *to, request_t *r)
{
    if (r->done == 0)
        check_each(!to->busy[r->slot], "slot %u is written and its message is not released",
                   r->slot);
    to->memory[r->slot][LAST - r->words + 1 + r->done] = r->word[r->done];
    r->done++;
    if (r->done < r->words) return false;
    to->busy[r->slot] = true;
    return true;
}

/* Writes a word of the write at the head of the queue, or delivers the message there. */
static void travel(side_t *to)
{
    if (to->first == to->last) return;
    request_t *r = &to->way[to->first % MOST];
    if (r->write) {
        to->first += write_word(to, r);
        return;
    }
    to->posted--;
    check_each(to->posted >= 0, "a message arrives and there is no receive buffer");
    push(to->inbox, &to->inbox_last, r);
    to->first++;
}

static void store(side_t *to)
{
    if (to->stores_first == to->stores_last) return;
    to->stores_first += write_word(to, &to->stores[to->stores_first % MOST]);
}

static void take(side_t *here, const message_t *m, bool by_ring, uint32_t number)
{
    check_each(m->id < ids && !arrived[m->id], "message %llu comes twice",
               (unsigned long long)m->id);
    arrived[m->id] = true;
    here->seen++;
    here->by_ring += by_ring;
    bool sound = gasnetc_credits_return(&here->credits, m->credits, m->reply);
    check_each(sound, "message %llu has too many credits", (unsigned long long)m->id);
    if (m->reply && by_ring) gasnetc_credits_recv_kept(&here->credits);
    if (!m->reply && !by_ring) here->posted++;
    here->held[here->holds++] = (held_t){*m, by_ring, number};
}

static void look_at_ring(side_t *here)
{
    if (!here->has_in || here->holds == HELD) return;
    uint32_t slot = here->in.expected & (slots - 1);
    uint64_t trailer = here->memory[slot][LAST];
    if (!amrdma_is_next(&here->in, trailer)) return;
    uint32_t number = amrdma_take(&here->in), words = amrdma_trailer_length(trailer) / 8;
    if (amrdma_trailer_length(trailer) % 8) words++;
    uint64_t id = here->memory[slot][LAST - words];
    for (uint32_t i = 1; i <= words; i++)
        check_each(here->memory[slot][LAST - i] == id, "message %u is not whole", number);
    check_each(id < ids && about[id].length == amrdma_trailer_length(trailer),
               "message %u is another", number);
    if (!near) amrdma_update_freed(&here->out, amrdma_trailer_freed(trailer));
    if (id < ids) take(here, &about[id], true, number);
}

static void look_at_inbox(side_t *here)
{
    if (here->inbox_first == here->inbox_last || here->holds == HELD) return;
    const request_t *r = &here->inbox[here->inbox_first++ % MOST];
    if (!near) amrdma_update_freed(&here->out, (uint16_t)r->beside);
    if (r->beside >> 16) here->out.slots = (uint16_t)slots;
    take(here, &r->message, false, 0);
}

/* The end of a handler: a Reply, or the credit is banked. */
static void finish(side_t *here, side_t *there, bool may_reply)
{
    if (here->holds == 0) return;
    unsigned i = in_order ? 0 : check_below(here->holds);
    held_t h = here->held[i];
    memmove(&here->held[i], &here->held[i + 1], (--here->holds - i) * sizeof h);
    if (!h.message.reply) {
        if (may_reply && check_below(2) && ids < MOST)
            compose(here, there, true);
        else
            here->owing += gasnetc_credits_bank(&here->credits);
    }
    if (!h.by_ring) return;
    here->busy[h.number & (slots - 1)] = false;
    amrdma_release(&here->in, h.number, in_order);
}

/* A hidden Reply. */
static void give_back(side_t *here, side_t *there)
{
    uint8_t own = gasnetc_credits_one_each(&here->credits);
    message_t m = {.length = 8, .reply = true};
    if (here->owing == 0 || ids == MOST) return;
    here->owing--;
    if (!gasnetc_credits_overdue(&here->credits)) return;
    m.id = ids;
    m.credits = gasnetc_credits_piggyback(&here->credits, own);
    about[ids++] = m;
    send(here, there, &m);
}

static void give_ring(side_t *here)
{
    if (here->has_in) return;
    amrdma_in_init(&here->in, slots, &here->released, near);
    here->has_in = true;
    here->offer = !near;
}

static uint32_t under_way(const side_t *to, bool requests, unsigned *returning)
{
    uint32_t n = 0;
    const struct {
        const request_t *queue;
        unsigned first, last;
    } queues[] = {{to->way, to->first, to->last},
                  {to->stores, to->stores_first, to->stores_last},
                  {to->inbox, to->inbox_first, to->inbox_last}};
    for (int q = 0; q < 3; q++)
        for (unsigned i = queues[q].first; i != queues[q].last; i++) {
            const message_t *m = &queues[q].queue[i % MOST].message;
            n += m->reply != requests;
            *returning += m->credits;
        }
    for (uint32_t s = 0; s < slots && to->has_in; s++) {
        uint32_t number = to->in.expected + s, length;
        uint64_t trailer = to->memory[number & (slots - 1)][LAST];
        if (amrdma_trailer_number(trailer) != number) break;
        length = amrdma_padded(amrdma_trailer_length(trailer)) / 8;
        const message_t *m = &about[to->memory[number & (slots - 1)][LAST - length] % MOST];
        n += m->reply != requests;
        *returning += m->credits;
    }
    return n;
}

static void look(void)
{
    for (int i = 0; i < 2; i++) {
        const side_t *a = &sides[i], *b = &sides[!i];
        unsigned home = 0, away = 0;
        uint32_t sum = a->credits.available + b->credits.banked + under_way(b, true, &away);
        for (unsigned h = 0; h < b->holds; h++) sum += !b->held[h].message.reply;
        if (gasnetc_credits_one_each(&b->credits)) sum += b->owing;
        under_way(a, true, &home);
        check_each(sum + home == credits, "%u credits of %u", sum + home, credits);
        check_each(a->posted <= 2 * credits, "%d receive buffers, %u credits", a->posted, credits);
    }
}

static void begin(void)
{
    slots = 1u << check_below(6);
    credits = (uint16_t)(1 + check_below(16));
    in_order = check_below(2);
    near = !near;
    ids = 0;
    memset(arrived, 0, sizeof arrived);
    for (int i = 0; i < 2; i++) {
        side_t *s = &sides[i];
        request_t *way = s->way, *inbox = s->inbox, *stores = s->stores;
        memset(s, 0, sizeof *s);
        s->way = way ? way : malloc(MOST * sizeof *way);
        s->inbox = inbox ? inbox : malloc(MOST * sizeof *inbox);
        s->stores = stores ? stores : malloc(MOST * sizeof *stores);
        if (!s->way || !s->inbox || !s->stores) abort();
        gasnetc_credits_init(&s->credits, credits, (uint16_t)check_below(4));
        s->posted = credits;
    }
}

static void step(side_t *here, side_t *there, bool may_send)
{
    switch (check_below(near ? 10 : 8)) {
    case 0:
        if (may_send) compose(here, there, false);
        break;
    case 1:
        look_at_ring(here);
        break;
    case 2:
        look_at_inbox(here);
        break;
    case 3:
        finish(here, there, true);
        break;
    case 4:
        give_back(here, there);
        break;
    case 5:
        if (check_below(50) == 0) give_ring(here);
        break;
    case 8:
    case 9:
        store(here);
        break;
    default:
        travel(here);
    }
}

static bool at_rest(void)
{
    for (int i = 0; i < 2; i++) {
        const side_t *s = &sides[i];
        if (s->first != s->last || s->stores_first != s->stores_last ||
            s->inbox_first != s->inbox_last || s->holds)
            return false;
        if (s->owing && ids < MOST) return false;
    }
    for (uint64_t id = 0; id < ids; id++)
        if (!arrived[id]) return false;
    return true;
}

static uint64_t by_ring[2], by_message; /* [near] */

/* False when it did not end well: then there is no need for more. */
static bool conversation(void)
{
    begin();
    unsigned steps = 20000, extra = 0;
    for (unsigned i = 0; i < steps; i++) {
        int who = (int)check_below(2);
        step(&sides[who], &sides[!who], ids < MOST / 2);
        if (i % 16 == 0) look();
    }
    for (; !at_rest() && extra < 10 * steps; extra++) {
        int who = (int)check_below(2);
        step(&sides[who], &sides[!who], false);
    }
    look();
    bool well =
        check_each(at_rest(), "it does not come to rest: %u slots, %u credits", slots, credits);
    for (int i = 0; i < 2; i++) {
        by_ring[near] += sides[i].by_ring;
        by_message += sides[i].seen - sides[i].by_ring;
    }
    return well;
}

int main(int argc, char **argv)
{
    check_begin(argc, argv);
    for (int i = 0; i < 200 && conversation(); i++) {
    }
    check_note("%llu messages by ring, %llu of neighbours, %llu otherwise",
               (unsigned long long)by_ring[0], (unsigned long long)by_ring[1],
               (unsigned long long)by_message);
    check_all("200 conversations: nothing lost, minted, torn, overwritten or stuck");
    check(by_ring[0] > 10000 && by_ring[1] > 10000 && by_message > 10000,
          "and messages went each way");
    for (int i = 0; i < 2; i++) {
        free(sides[i].way);
        free(sides[i].inbox);
        free(sides[i].stores);
    }
    return check_end();
}
