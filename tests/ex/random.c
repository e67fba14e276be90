/* random.c - GASNet-EX: random sequences of messages, transfers and events in all their forms, by
 * several threads, to ranks that are named by teams and by pairs; against a model in plain memory.
 *
 * Each thread writes to a region of its own at every rank, of which it keeps a copy: at the end of
 * a phase the region must equal the copy.  The source of an operation is overwritten as soon as the
 * library says that it may be.  Each message has a number: at the end of a phase each rank tells
 * the others how many it has sent them, and the sum of what their numbers hash to.  Events go to a
 * pool, from which any thread takes some, with the leaves of each, and tests or waits for them.
 */
#include "tests/ex/random_model.h"

/* --- transfers --- */

static struct item *put_item(const struct place *p, uint64_t key)
{
    struct item *i = item_new(GEX_EC_PUT, p->nbytes);
    test_fill(i->data, p->nbytes, key);
    memcpy(p->copy, i->data, p->nbytes);
    i->slot = p->busy;
    __atomic_store_n(p->busy, 1, __ATOMIC_RELAXED);
    return i;
}

static struct item *get_item(const struct place *p)
{
    struct item *i = item_new(GEX_EC_GET, p->nbytes);
    i->expected = malloc(p->nbytes);
    memcpy(i->expected, p->copy, p->nbytes);
    i->slot = p->busy;
    __atomic_store_n(p->busy, 1, __ATOMIC_RELAXED);
    return i;
}

static void join(struct thread *t, struct item *i)
{
    i->next = t->implicit, t->implicit = i;
}

static gex_Flags_t any_flags(struct thread *t)
{
    return coin(t) ? GEX_FLAG_IMMEDIATE : 0;
}

static void put_nb(struct thread *t, struct peer peer, const struct place *p)
{
    struct item *i = put_item(p, test_random(&t->random));
    gex_Event_t leaf = GEX_EVENT_NO_OP, root;
    gex_Event_t *const opts[] = {GEX_EVENT_NOW, GEX_EVENT_DEFER, &leaf};
    gex_Event_t *const opt = opts[below(t, 3)];
    root = gex_RMA_PutNB(peer.tm, peer.rank, p->there, i->data, p->nbytes, opt, any_flags(t));
    i->grouped = opt == &leaf;
    if (opt == GEX_EVENT_NOW) source_over(i);
    started(root, opt == &leaf ? &leaf : NULL, i);
}

static void put_nbi(struct thread *t, struct peer peer, const struct place *p)
{
    struct item *i = put_item(p, test_random(&t->random));
    gex_Event_t *const opts[] = {GEX_EVENT_NOW, GEX_EVENT_DEFER, GEX_EVENT_GROUP};
    gex_Event_t *const opt = opts[below(t, 3)];
    FOUND(gex_RMA_PutNBI(peer.tm, peer.rank, p->there, i->data, p->nbytes, opt, any_flags(t)));
    i->grouped = opt == GEX_EVENT_GROUP;
    if (opt == GEX_EVENT_NOW) source_over(i);
    join(t, i);
}

static void put_blocking(struct thread *t, struct peer peer, const struct place *p)
{
    struct item *i = put_item(p, test_random(&t->random));
    FOUND(gex_RMA_PutBlocking(peer.tm, peer.rank, p->there, i->data, p->nbytes, any_flags(t)));
    item_over(i);
}

static void get_nb(struct thread *t, struct peer peer, const struct place *p)
{
    struct item *i = get_item(p);
    started(gex_RMA_GetNB(peer.tm, i->data, peer.rank, p->there, p->nbytes, any_flags(t)), NULL, i);
}

static void get_nbi(struct thread *t, struct peer peer, const struct place *p)
{
    struct item *i = get_item(p);
    FOUND(gex_RMA_GetNBI(peer.tm, i->data, peer.rank, p->there, p->nbytes, any_flags(t)));
    join(t, i);
}

static void get_blocking(struct thread *t, struct peer peer, const struct place *p)
{
    struct item *i = get_item(p);
    FOUND(gex_RMA_GetBlocking(peer.tm, i->data, peer.rank, p->there, p->nbytes, any_flags(t)));
    item_over(i);
}

/* The first bytes of the place, as a value. */
static void values(struct thread *t, struct peer peer, const struct place *whole)
{
    struct place p = *whole;
    gex_RMA_Value_t value = 0;
    if (p.nbytes > 8) p.nbytes = 8;
    if (below(t, 4) == 0) {
        memcpy(&value, p.copy, p.nbytes);
        FOUND(gex_RMA_GetBlockingVal(peer.tm, peer.rank, p.there, p.nbytes, 0) != value);
        return;
    }
    struct item *i = put_item(&p, test_random(&t->random));
    memcpy(&value, i->data, p.nbytes);
    value |= p.nbytes < 8 ? test_random(&t->random) << 8 * p.nbytes : 0; /* not part of it */
    switch (below(t, 3)) {
    case 0:
        FOUND(gex_RMA_PutBlockingVal(peer.tm, peer.rank, p.there, value, p.nbytes, 0));
        item_over(i);
        break;
    case 1:
        started(gex_RMA_PutNBVal(peer.tm, peer.rank, p.there, value, p.nbytes, 0), NULL, i);
        break;
    default:
        FOUND(gex_RMA_PutNBIVal(peer.tm, peer.rank, p.there, value, p.nbytes, 0));
        join(t, i);
        break;
    }
}

static void transfer(struct thread *t)
{
    static void (*const calls[])(struct thread *, struct peer, const struct place *) = {
        put_nbi, get_nbi, put_nb, put_nb, get_nb, put_blocking, get_blocking, values};
    const struct peer peer = any_peer(t);
    const struct place p = any_place(t, peer.job);
    if (p.copy) calls[below(t, t->in_region ? 2 : TEST_COUNT(calls))](t, peer, &p);
}

/* --- messages: what is counted --- */

struct tally {
    int count;
    uint64_t sum; /* of hashes of the messages' numbers */
};
static struct tally *sent, *received, *told; /* [rank] */
static struct tally answers_due, answers;
static int tellers;

static void count_message(struct tally *tally, gex_AM_Arg_t number, int kind)
{
    __atomic_add_fetch(&tally->sum, test_mix((uint64_t)(uint32_t)number << 8 | (unsigned)kind),
                       __ATOMIC_RELAXED);
    test_add(&tally->count, 1);
}

/* --- messages: Replies, in handlers --- */

enum { H_SHORT = 130, H_MEDIUM, H_LONG, H_SHORT_ANSWER, H_MEDIUM_ANSWER, H_LONG_ANSWER, H_TELL };

enum category { NONE, SHORT, MEDIUM, LONG };
enum way { FIXED, CLIENT, LIBRARY, CANCELLED };

/* How a Request is to be answered; an argument of it. */
struct ask {
    enum category category;
    enum way way;
    bool event, immediate;
};

static gex_AM_Arg_t ask_word(struct ask a)
{
    return (gex_AM_Arg_t)((unsigned)a.category | (unsigned)a.way << 2 | (unsigned)a.event << 4 |
                          (unsigned)a.immediate << 5);
}
static struct ask ask_of(gex_AM_Arg_t word)
{
    return (struct ask){word & 3, word >> 2 & 3, word >> 4 & 1, word >> 5 & 1};
}

#define ANSWER number, key, (gex_AM_Arg_t)nbytes

/* Refused, if the flags allow it. */
static bool reply_fixed(gex_Token_t token, enum category category, const char *data, size_t nbytes,
                        void *dest, gex_Event_t *opt, gex_Flags_t flags, gex_AM_Arg_t number,
                        gex_AM_Arg_t key)
{
    if (category == SHORT) return gex_AM_ReplyShort3(token, H_SHORT_ANSWER, flags, ANSWER);
    if (category == MEDIUM)
        return gex_AM_ReplyMedium3(token, H_MEDIUM_ANSWER, data, nbytes, opt, flags, ANSWER);
    return gex_AM_ReplyLong3(token, H_LONG_ANSWER, data, nbytes, dest, opt, flags, ANSWER);
}

static bool reply_negotiated(gex_Token_t token, struct ask a, const char *data, size_t nbytes,
                             void *dest, gex_Event_t *opt, gex_Flags_t flags, gex_AM_Arg_t number,
                             gex_AM_Arg_t key)
{
    const char *const buffer = a.way == CLIENT ? data : NULL;
    const bool is_long = a.category == LONG;
    if (!buffer) opt = NULL;
    const gex_AM_SrcDesc_t sd =
        is_long ? gex_AM_PrepareReplyLong(token, buffer, nbytes, nbytes, dest, opt, flags, 3)
                : gex_AM_PrepareReplyMedium(token, buffer, nbytes, nbytes, opt, flags, 3);
    if (sd == GEX_AM_SRCDESC_NO_OP) return true;
    FOUND(gex_AM_SrcDescSize(sd) != nbytes);
    if (a.way == CANCELLED) {
        FOUND(is_long ? gex_AM_CancelReplyLong(sd, 0) : gex_AM_CancelReplyMedium(sd, 0));
        return true;
    }
    if (!buffer) memcpy(gex_AM_SrcDescAddr(sd), data, nbytes);
    if (is_long)
        gex_AM_CommitReplyLong3(sd, H_LONG_ANSWER, nbytes, dest, ANSWER);
    else
        gex_AM_CommitReplyMedium3(sd, H_MEDIUM_ANSWER, nbytes, ANSWER);
    return false;
}

static void reply(gex_Token_t token, struct ask a, size_t nbytes, void *dest, gex_AM_Arg_t number,
                  gex_AM_Arg_t key)
{
    struct item *const i = item_new(GEX_EC_AM, nbytes);
    gex_Event_t event = GEX_EVENT_INVALID, *opt = a.event ? &event : GEX_EVENT_NOW;
    const gex_Flags_t flags = a.immediate ? GEX_FLAG_IMMEDIATE : 0;
    test_fill(i->data, nbytes, (uint32_t)key);
    bool refused = true;
    if (a.way != FIXED && a.category >= MEDIUM && nbytes > 0)
        refused = reply_negotiated(token, a, i->data, nbytes, dest, opt, flags, number, key);
    else if (a.immediate)
        refused = reply_fixed(token, a.category, i->data, nbytes, dest, opt, flags, number, key);
    if (refused) {
        event = GEX_EVENT_INVALID;
        FOUND(reply_fixed(token, a.category, i->data, nbytes, dest, opt, 0, number, key));
    }
    started(event, NULL, i);
}

/* --- messages: handlers --- */

static gex_Rank_t sender(gex_Token_t token, bool is_request, bool is_long)
{
    gex_Token_Info_t info;
    FOUND(gex_Token_Info(token, &info, GEX_TI_ALL) != GEX_TI_ALL);
    FOUND((info.gex_is_req != 0) != is_request || (info.gex_is_long != 0) != is_long ||
          (int)info.gex_srcrank >= test_size || info.gex_ep != gex_TM_QueryEP(test_tm));
    return info.gex_srcrank;
}

static void on_request(gex_Token_t token, int kind, const void *data, size_t nbytes,
                       gex_AM_Arg_t number, gex_AM_Arg_t key, gex_AM_Arg_t size, gex_AM_Arg_t ask,
                       gex_AM_Arg_t offset, gex_AM_Arg_t answer_size)
{
    const gex_Rank_t from = sender(token, true, kind == LONG);
    FOUND((size_t)size != nbytes || test_mismatch(data, nbytes, (uint32_t)key) >= 0);
    const struct ask a = ask_of(ask);
    if (a.category)
        reply(token, a, (size_t)answer_size, test_at((int)from, (size_t)(uint32_t)offset), number,
              ~key);
    count_message(&received[from], number, kind);
}

static void on_short(gex_Token_t token, gex_AM_Arg_t number, gex_AM_Arg_t key, gex_AM_Arg_t size,
                     gex_AM_Arg_t ask, gex_AM_Arg_t offset, gex_AM_Arg_t answer_size)
{
    on_request(token, SHORT, NULL, 0, number, key, size, ask, offset, answer_size);
}
static void on_medium(gex_Token_t token, void *data, size_t nbytes, gex_AM_Arg_t number,
                      gex_AM_Arg_t key, gex_AM_Arg_t size, gex_AM_Arg_t ask, gex_AM_Arg_t offset,
                      gex_AM_Arg_t answer_size)
{
    on_request(token, MEDIUM, data, nbytes, number, key, size, ask, offset, answer_size);
}
static void on_long(gex_Token_t token, void *data, size_t nbytes, gex_AM_Arg_t number,
                    gex_AM_Arg_t key, gex_AM_Arg_t size, gex_AM_Arg_t ask, gex_AM_Arg_t offset,
                    gex_AM_Arg_t answer_size)
{
    on_request(token, LONG, data, nbytes, number, key, size, ask, offset, answer_size);
}

static void on_answer(gex_Token_t token, int kind, const void *data, size_t nbytes,
                      gex_AM_Arg_t number, gex_AM_Arg_t key)
{
    sender(token, false, kind == LONG);
    FOUND(test_mismatch(data, nbytes, (uint32_t)key) >= 0);
    count_message(&answers, number, kind);
}
static void on_short_answer(gex_Token_t token, gex_AM_Arg_t number, gex_AM_Arg_t key,
                            gex_AM_Arg_t size)
{
    FOUND(size != 0);
    on_answer(token, SHORT, NULL, 0, number, key);
}
static void on_medium_answer(gex_Token_t token, void *data, size_t nbytes, gex_AM_Arg_t number,
                             gex_AM_Arg_t key, gex_AM_Arg_t size)
{
    FOUND((size_t)size != nbytes);
    on_answer(token, MEDIUM, data, nbytes, number, key);
}
static void on_long_answer(gex_Token_t token, void *data, size_t nbytes, gex_AM_Arg_t number,
                           gex_AM_Arg_t key, gex_AM_Arg_t size)
{
    FOUND((size_t)size != nbytes);
    on_answer(token, LONG, data, nbytes, number, key);
}

static void on_tell(gex_Token_t token, gex_AM_Arg_t count, gex_AM_Arg_t high, gex_AM_Arg_t low)
{
    struct tally *const t = &told[sender(token, true, false)];
    t->count = count;
    t->sum = (uint64_t)(uint32_t)high << 32 | (uint32_t)low;
    test_add(&tellers, 1);
}

/* --- messages: Requests --- */

struct message {
    struct peer peer;
    enum category category;
    struct item *item; /* the payload */
    char *dest;
    gex_Event_t event, *opt;
    gex_AM_Arg_t args[6];
};

#define ARGUMENTS(m) m->args[0], m->args[1], m->args[2], m->args[3], m->args[4], m->args[5]

static bool request_fixed(struct message *m, gex_Flags_t flags)
{
    const char *const data = m->item->data;
    const size_t nbytes = m->item->nbytes;
    if (m->category == SHORT)
        return gex_AM_RequestShort6(m->peer.tm, m->peer.rank, H_SHORT, flags, ARGUMENTS(m));
    if (m->category == MEDIUM)
        return gex_AM_RequestMedium6(m->peer.tm, m->peer.rank, H_MEDIUM, data, nbytes, m->opt,
                                     flags, ARGUMENTS(m));
    return gex_AM_RequestLong6(m->peer.tm, m->peer.rank, H_LONG, data, nbytes, m->dest, m->opt,
                               flags, ARGUMENTS(m));
}

/* Refused, if the flags allow it. */
static bool commit(struct message *m, gex_AM_SrcDesc_t sd, bool v2, gex_Flags_t flags)
{
    const size_t nbytes = m->item->nbytes;
    if (!v2 && m->category == MEDIUM)
        gex_AM_CommitRequestMedium6(sd, H_MEDIUM, nbytes, ARGUMENTS(m));
    if (!v2 && m->category == LONG)
        gex_AM_CommitRequestLong6(sd, H_LONG, nbytes, m->dest, ARGUMENTS(m));
    if (!v2) return false;
    return m->category == MEDIUM
               ? gex_AM_CommitRequestMedium6_v2(sd, H_MEDIUM, nbytes, flags, ARGUMENTS(m))
               : gex_AM_CommitRequestLong6_v2(sd, H_LONG, nbytes, m->dest, flags, ARGUMENTS(m));
}

static bool request_negotiated(struct thread *t, struct message *m, bool lent, gex_Flags_t flags)
{
    const size_t least = m->item->nbytes, most = lent ? least + (size_t)below(t, 300) : least;
    const char *const buffer = lent ? NULL : m->item->data;
    gex_Event_t *const opt = lent ? NULL : m->opt;
    const gex_AM_SrcDesc_t sd =
        m->category == MEDIUM
            ? gex_AM_PrepareRequestMedium(m->peer.tm, m->peer.rank, buffer, least, most, opt, flags,
                                          6)
            : gex_AM_PrepareRequestLong(m->peer.tm, m->peer.rank, buffer, least, most,
                                        coin(t) ? m->dest : NULL, opt, flags, 6);
    if (sd == GEX_AM_SRCDESC_NO_OP) {
        FOUND(!(flags & GEX_FLAG_IMMEDIATE));
        return true;
    }
    FOUND(gex_AM_SrcDescSize(sd) < least || gex_AM_SrcDescSize(sd) > most);
    FOUND(buffer && gex_AM_SrcDescAddr(sd) != buffer);
    if (lent) memset(gex_AM_SrcDescAddr(sd), 0x11, gex_AM_SrcDescSize(sd));
    bool refused = below(t, 4) == 0; /* is cancelled */
    if (!refused) {
        if (lent) memcpy(gex_AM_SrcDescAddr(sd), m->item->data, least);
        const bool v2 = coin(t);
        refused = commit(m, sd, v2, v2 ? any_flags(t) : 0);
        if (refused && coin(t)) refused = commit(m, sd, true, 0);
    }
    if (refused)
        FOUND(m->category == MEDIUM ? gex_AM_CancelRequestMedium(sd, 0)
                                    : gex_AM_CancelRequestLong(sd, 0));
    return refused;
}

/* What the library says of the source of a message that is sent. */
static void request_sent(struct thread *t, struct message *m, bool lent)
{
    if (lent || m->category == SHORT || m->opt == GEX_EVENT_NOW)
        item_over(m->item);
    else if (m->opt == GEX_EVENT_GROUP)
        join(t, m->item);
    else
        started(m->event, NULL, m->item);
}

static void send(struct thread *t, struct message *m)
{
    gex_Event_t *const opts[] = {GEX_EVENT_GROUP, GEX_EVENT_NOW, &m->event};
    m->opt = opts[below(t, t->in_region ? 1 : 3)];
    for (;;) {
        const size_t most = m->category == MEDIUM
                                ? gex_AM_MaxRequestMedium(m->peer.tm, m->peer.rank, NULL,
                                                          GEX_FLAG_AM_PREPARE_LEAST_ALLOC, 6)
                                : gex_AM_MaxRequestLong(m->peer.tm, m->peer.rank, NULL,
                                                        GEX_FLAG_AM_PREPARE_LEAST_ALLOC, 6);
        const bool lent = m->item->nbytes <= most && coin(t);
        const bool fixed = m->category == SHORT || m->item->nbytes == 0 || coin(t);
        m->event = GEX_EVENT_INVALID;
        if (!(fixed ? request_fixed(m, any_flags(t))
                    : request_negotiated(t, m, lent, any_flags(t))))
            return request_sent(t, m, !fixed && lent);
        gasnet_AMPoll();
    }
}

/* Reserves what a Reply fills; stores the arguments that ask for it. */
static void ask_for_answer(struct thread *t, struct message *m)
{
    struct ask a = {(enum category)below(t, 4), (enum way)below(t, 4), coin(t), coin(t)};
    const int slot = (int)below(t, ANSWERS);
    int *const taken = &answer_busy[t->index * ANSWERS + slot];
    const size_t most = gex_AM_MaxReplyMedium(test_tm, GEX_RANK_INVALID, GEX_EVENT_NOW,
                                              GEX_FLAG_AM_PREPARE_LEAST_ALLOC, 3);
    size_t nbytes = a.category < MEDIUM ? 0 : (size_t)below(t, most + 1);
    if (a.category == LONG && *taken) a.category = SHORT, nbytes = 0;
    if (a.category == LONG) {
        char *const model = answer_copy + (size_t)(t->index * ANSWERS + slot) * SMALL;
        *taken = 1;
        test_fill(model, nbytes, (uint32_t)~m->args[1]);
    }
    m->args[3] = ask_word(a);
    m->args[4] = (gex_AM_Arg_t)answer_offset(t->index, slot);
    m->args[5] = (gex_AM_Arg_t)nbytes;
    if (a.category) count_message(&answers_due, m->args[0], (int)a.category);
}

static void request(struct thread *t)
{
    struct message m = {.peer = any_peer(t), .category = SHORT + (enum category)below(t, 3)};
    size_t nbytes = 0;
    const gex_AM_Arg_t key = (gex_AM_Arg_t)(uint32_t)test_random(&t->random);
    if (m.category == MEDIUM)
        nbytes = (size_t)below(
            t, 1 + gex_AM_MaxRequestMedium(m.peer.tm, m.peer.rank, GEX_EVENT_NOW, 0, 6));
    if (m.category == LONG) {
        /* The place is the message's until the end of the phase. */
        const struct place p = any_place(t, m.peer.job);
        const size_t most = gex_AM_MaxRequestLong(m.peer.tm, m.peer.rank, GEX_EVENT_NOW, 0, 6);
        if (!p.copy) return;
        nbytes = p.nbytes < most ? p.nbytes : most;
        m.dest = p.there;
        *p.busy = 1;
        test_fill(p.copy, nbytes, (uint32_t)key);
    }
    m.item = item_new(GEX_EC_AM, nbytes);
    test_fill(m.item->data, nbytes, (uint32_t)key);
    m.args[0] = (gex_AM_Arg_t)((uint32_t)t->index << 28 | t->messages++);
    m.args[1] = key;
    m.args[2] = (gex_AM_Arg_t)nbytes;
    ask_for_answer(t, &m);
    count_message(&sent[m.peer.job], m.args[0], (int)m.category);
    send(t, &m);
}

/* --- implicit operations --- */

static void end_implicit(struct thread *t)
{
    static const gex_EC_t categories[] = {GEX_EC_PUT,
                                          GEX_EC_GET,
                                          GEX_EC_AM,
                                          GEX_EC_LC,
                                          GEX_EC_PUT | GEX_EC_AM,
                                          GEX_EC_LC | GEX_EC_GET,
                                          GEX_EC_ALL};
    const gex_EC_t mask = categories[below(t, TEST_COUNT(categories))];
    if (coin(t))
        gex_NBI_Wait(mask, 0);
    else if (gex_NBI_Test(mask, 0) != GASNET_OK)
        return;
    categories_over(&t->implicit, mask);
}

static void region(struct thread *t)
{
    gex_EC_t present = 0;
    struct item *const outside = t->implicit;
    t->implicit = NULL;
    gex_NBI_BeginAccessRegion(0);
    t->in_region = true;
    for (uint64_t n = below(t, ITEMS + 1); n > 0; n--) coin(t) ? transfer(t) : request(t);
    t->in_region = false;
    const gex_Event_t root = gex_NBI_EndAccessRegion(0);
    struct item *const items = t->implicit;
    t->implicit = outside;
    if (root == GEX_EVENT_INVALID) {
        started(root, NULL, items);
        return;
    }
    struct bundle *b = calloc(1, sizeof *b);
    b->root = root, b->items = items;
    for (const struct item *i = items; i; i = i->next)
        present |= i->category | (i->grouped ? GEX_EC_LC : 0);
    for (int c = 0; c < 4; c++) {
        const gex_EC_t category[] = {GEX_EC_PUT, GEX_EC_GET, GEX_EC_AM, GEX_EC_LC};
        if (!(present & category[c]) || below(t, 4) == 0) continue;
        b->leaf[b->leaves] = gex_Event_QueryLeaf(root, category[c]);
        b->category[b->leaves++] = category[c];
    }
    test_add(&bundles, 1);
    give(b);
}

/* --- phases --- */

static int messages_in_ten, regions_in_ten; /* of the steps */
static int phase, working;

static void steps(struct thread *t)
{
    for (int i = 0; i < test_iterations(300); i++) {
        const int draw = (int)below(t, 10);
        if (draw < regions_in_ten)
            region(t);
        else if (draw < regions_in_ten + messages_in_ten)
            request(t);
        else
            transfer(t);
        if (below(t, 3) == 0) synchronise(&t->random);
        if (below(t, 6) == 0) end_implicit(t);
        if (below(t, 6) == 0) gasnet_AMPoll();
    }
    gex_NBI_Wait(GEX_EC_ALL, 0);
    categories_over(&t->implicit, GEX_EC_ALL);
    test_add(&working, -1);
    while (test_get(&working) || test_get(&bundles)) {
        gasnet_AMPoll();
        synchronise(&t->random);
    }
}

static uint32_t numbers[THREADS]; /* of messages, by thread */

static void *run_thread(void *arg)
{
    const int index = (int)(uintptr_t)arg;
    struct thread t = {.index = index,
                       .random = test_random_for((uint64_t)phase << 16 | (uint64_t)index << 8),
                       .messages = numbers[index]};
    steps(&t);
    numbers[index] = t.messages;
    return NULL;
}

static void run_threads(void)
{
    working = THREADS;
#ifdef GASNET_PAR
    pthread_t threads[THREADS];
    for (int i = 1; i < THREADS; i++)
        if (pthread_create(&threads[i], NULL, run_thread, (void *)(uintptr_t)i)) gasnet_exit(5);
    run_thread(NULL);
    for (int i = 1; i < THREADS; i++) pthread_join(threads[i], NULL);
#else
    run_thread(NULL);
#endif
}

static bool all_arrived(void)
{
    bool all = test_get(&answers.count) >= test_get(&answers_due.count);
    for (int r = 0; r < test_size; r++) all &= test_get(&received[r].count) >= told[r].count;
    return all;
}

/* Until nothing has arrived for a time, if not all does. */
static void await_messages(void)
{
    int before = -1;
    gasnett_tick_t last = gasnett_ticks_now();
    while (!all_arrived()) {
        int now = test_get(&answers.count);
        for (int r = 0; r < test_size; r++) now += test_get(&received[r].count);
        if (now != before) before = now, last = gasnett_ticks_now();
        if (gasnett_ticks_to_ns(gasnett_ticks_now() - last) > QUIET_SECONDS * 1000000000ull) return;
        gasnet_AMPoll();
    }
}

static void check_messages(void)
{
    tellers = 0;
    test_sync();
    for (int r = 0; r < test_size; r++)
        gex_AM_RequestShort3(test_tm, (gex_Rank_t)r, H_TELL, 0, sent[r].count,
                             (gex_AM_Arg_t)(sent[r].sum >> 32), (gex_AM_Arg_t)sent[r].sum);
    GASNET_BLOCKUNTIL(test_get(&tellers) == test_size);
    await_messages();
    for (int r = 0; r < test_size; r++)
        test_check(received[r].count == told[r].count && received[r].sum == told[r].sum,
                   "%d messages of rank %d, which has sent %d%s", received[r].count, r,
                   told[r].count, received[r].count == told[r].count ? " others" : "");
    test_check(answers.count == answers_due.count && answers.sum == answers_due.sum,
               "%d Replies, %d are due", answers.count, answers_due.count);
    test_sync();
}

static void check_memory(void)
{
    char *const got = malloc(REGION);
    for (int r = 0; r < test_size; r++)
        for (int t = 0; t < THREADS; t++) {
            const char *const model = copy + region_offset(r, t);
            size_t at = 0;
            gex_RMA_GetBlocking(test_tm, got, (gex_Rank_t)r,
                                test_at(r, region_offset(test_rank, t)), REGION, 0);
            while (at < REGION && got[at] == model[at]) at++;
            test_check(at == REGION, "byte %zu of the region of thread %d at rank %d", at, t, r);
        }
    free(got);
    test_check(!memcmp(answer_copy, test_at(test_rank, answer_offset(0, 0)),
                       (size_t)THREADS * ANSWERS * SMALL),
               "payloads of Long Replies");
}

static void run_phase(void)
{
    struct test_random random = test_random_for((uint64_t)phase << 16 | 255);
    test_phase("phase %d", phase);
    run_threads();
    check_messages();
    drain(&random); /* sources of Replies */
    check_memory();
    test_check(test_get(&wrong) == 0, "%d findings", test_get(&wrong));
    memset(busy, 0, sizeof *busy * (size_t)(test_size * THREADS * SLOTS));
    memset(answer_busy, 0, sizeof *answer_busy * THREADS * ANSWERS);
    test_sync();
    phase++;
}

static void phases(int messages, int regions)
{
    messages_in_ten = messages, regions_in_ten = regions;
    for (int i = 0; i < 4; i++) run_phase();
}

static void transfers(void)
{
    phases(0, 0);
}
static void messages(void)
{
    phases(10, 0);
}
static void regions(void)
{
    phases(0, 10);
}
static void everything(void)
{
    phases(4, 2);
}

/* --- start --- */

static void start(int *argc, char ***argv)
{
    enum {
        SHORTS = GEX_FLAG_AM_SHORT,
        MEDIUMS = GEX_FLAG_AM_MEDIUM,
        LONGS = GEX_FLAG_AM_LONG,
        REQUEST = GEX_FLAG_AM_REQUEST,
        REPLY = GEX_FLAG_AM_REPLY
    };
    gex_AM_Entry_t table[] = {
        {H_SHORT, (gex_AM_Fn_t)on_short, SHORTS | REQUEST, 6, NULL, "short"},
        {H_MEDIUM, (gex_AM_Fn_t)on_medium, MEDIUMS | REQUEST, 6, NULL, "medium"},
        {H_LONG, (gex_AM_Fn_t)on_long, LONGS | REQUEST, 6, NULL, "long"},
        {H_SHORT_ANSWER, (gex_AM_Fn_t)on_short_answer, SHORTS | REPLY, 3, NULL, "short answer"},
        {H_MEDIUM_ANSWER, (gex_AM_Fn_t)on_medium_answer, MEDIUMS | REPLY, 3, NULL, "medium answer"},
        {H_LONG_ANSWER, (gex_AM_Fn_t)on_long_answer, LONGS | REPLY, 3, NULL, "long answer"},
        {H_TELL, (gex_AM_Fn_t)on_tell, SHORTS | REQUEST, 3, NULL, "tell"},
    };
    enum { SEGMENT = 8 << 20 };
    test_ex_start(argc, argv, table, TEST_COUNT(table), SEGMENT);
    if (answer_offset(THREADS, 0) > SEGMENT) {
        fprintf(stderr, "# too many ranks: %d\n", test_size);
        gasnet_exit(4);
    }
    const size_t n = (size_t)test_size;
    busy = calloc(n * THREADS * SLOTS, sizeof *busy);
    copy = calloc(n * THREADS, REGION);
    answer_busy = calloc(THREADS * ANSWERS, sizeof *answer_busy);
    answer_copy = calloc(THREADS * ANSWERS, SMALL);
    sent = calloc(n, sizeof *sent), received = calloc(n, sizeof *received);
    told = calloc(n, sizeof *told);
    memset(test_seg[test_rank].addr, 0, answer_offset(THREADS, 0));
    gex_TM_Split(&halves, test_tm, test_rank % 2, 0, NULL, 0, GEX_FLAG_TM_NO_SCRATCH);
    gex_TM_Split(&reversed, test_tm, 0, -test_rank, NULL, 0, GEX_FLAG_TM_NO_SCRATCH);
}

int main(int argc, char **argv)
{
    static const struct test_rule rules[] = {
        {"EX 8, 9: random transfers and events", transfers},
        {"EX 7: random messages", messages},
        {"EX 9.2: random access regions", regions},
        {"EX 7, 8, 9: all of these at once", everything},
    };
    start(&argc, &argv);
    test_run(rules, TEST_COUNT(rules));
    test_finish();
}
