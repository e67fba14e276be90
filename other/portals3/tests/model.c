/*
 * model.c - the pure parts against straightforward models: the walk through a match list, published
 * lists and their leases, headers and remote lists on the wire, memory in pieces.
 *
 * The models are written to be obviously right: arrays, 128-bit numbers, one rule a line.  A seed
 * replays.
 */
#include <stdlib.h>
#include <string.h>

#include "other/portals3/src/base/pieces.h"
#include "other/portals3/src/base/published_list.h"
#include "other/portals3/src/engine/match.h"
#include "other/portals3/src/transport/list_lease.h"
#include "tests/unit/check.h"

enum { ROUNDS = 3000, REQUESTS = 40, ENTRIES = 8 };
typedef unsigned __int128 wide;

/* Numbers near the edges as often as ordinary ones. */
static uint64_t size_of_some(void)
{
    static const uint64_t edges[] = {0, 1, 63, 64, 65, UINT64_MAX, UINT64_MAX - 63, 1ull << 63};
    return check_below(3) ? check_below(130) : edges[check_below(8)];
}

/* --- the walk --- */

struct model {
    bool there, put, get, remote, truncate, max_size_given;
    long threshold;
    wide length, max_size, offset;
    bool inactive;
};

static bool model_takes(const struct model *md, const struct ptli_request *request, wide *offset,
                        wide *mlength)
{
    wide space;
    if (!md->there || md->inactive) return false;
    if ((request->operation & PTL_MD_OP_PUT) && !md->put) return false;
    if ((request->operation & PTL_MD_OP_GET) && !md->get) return false;
    *offset = md->remote ? (wide)request->remote_offset : md->offset;
    if (*offset > md->length) return false;
    space = md->length - *offset;
    *mlength = request->length <= space ? (wide)request->length : space;
    return request->length <= space || md->truncate;
}

static void model_take(struct model *md, wide mlength)
{
    if (!md->remote) {
        md->offset += mlength;
        if (md->max_size_given && md->length - md->offset < md->max_size) md->inactive = true;
    }
    if (md->threshold > 0 && --md->threshold == 0) md->inactive = true;
}

static bool id_passes(uint32_t wanted, uint32_t id)
{
    return wanted == UINT32_MAX || wanted == id;
}

struct list {
    struct ptli_entry entries[ENTRIES];
    struct ptli_rules rules[ENTRIES];
    struct model models[ENTRIES];
    int count;
};

static void make_entry(struct list *list, int i)
{
    struct ptli_entry *entry = &list->entries[i];
    struct model *model = &list->models[i];
    ptl_md_t md = {.threshold = (int)check_below(6) - 1,
                   .max_size = check_below(64),
                   .options = check_below(1 << 9),
                   .length = check_below(4) ? check_below(300) : size_of_some()};
    *entry = (struct ptli_entry){.match_id = {check_below(2) ? PTL_NID_ANY : check_below(3),
                                              check_below(2) ? PTL_PID_ANY : check_below(3)},
                                 .match_bits = check_below(4),
                                 .ignore_bits = check_below(3) ? 0 : check_below(4),
                                 .rules = check_below(8) ? &list->rules[i] : NULL,
                                 .previous = i ? &list->entries[i - 1] : NULL,
                                 .next = i + 1 < list->count ? &list->entries[i + 1] : NULL};
    list->rules[i] = ptli_rules_of(&md, md.length);
    *model = (struct model){.there = entry->rules != NULL,
                            .put = md.options & PTL_MD_OP_PUT,
                            .get = md.options & PTL_MD_OP_GET,
                            .remote = md.options & PTL_MD_MANAGE_REMOTE,
                            .truncate = md.options & PTL_MD_TRUNCATE,
                            .max_size_given = md.options & PTL_MD_MAX_SIZE,
                            .threshold = md.threshold,
                            .length = md.length,
                            .max_size = md.max_size,
                            .inactive = md.threshold == 0};
}

static struct ptli_request some_request(void)
{
    static const unsigned int operations[] = {PTL_MD_OP_PUT, PTL_MD_OP_GET,
                                              PTL_MD_OP_PUT | PTL_MD_OP_GET};
    return (struct ptli_request){.initiator = {check_below(3), check_below(3)},
                                 .operation = operations[check_below(3)],
                                 .match_bits = check_below(4),
                                 .remote_offset = size_of_some(),
                                 .length = size_of_some()};
}

static int model_walk(const struct list *list, const struct ptli_request *request, wide *offset,
                      wide *mlength)
{
    for (int i = 0; i < list->count; i++) {
        const struct ptli_entry *entry = &list->entries[i];
        bool bits = true;
        for (int bit = 0; bit < 64; bit++)
            if (!(entry->ignore_bits >> bit & 1))
                bits = bits && (entry->match_bits >> bit & 1) == (request->match_bits >> bit & 1);
        if (bits && id_passes(entry->match_id.nid, request->initiator.nid) &&
            id_passes(entry->match_id.pid, request->initiator.pid) &&
            model_takes(&list->models[i], request, offset, mlength))
            return i;
    }
    return -1;
}

static void walks(void)
{
    for (int round = 0; round < ROUNDS; round++) {
        struct list list = {.count = 1 + (int)check_below(ENTRIES)};
        for (int i = 0; i < list.count; i++) make_entry(&list, i);
        for (int i = 0; i < REQUESTS; i++) {
            const struct ptli_request request = some_request();
            struct ptli_acceptance found = ptli_walk(&list.entries[0], &request);
            wide offset = 0, mlength = 0;
            int who = model_walk(&list, &request, &offset, &mlength);
            int took = found.entry ? (int)(found.entry - list.entries) : -1;
            if (!check_each(who == took, "round %d: entry %d, by the model %d", round, took, who) ||
                who < 0)
                continue;
            check_each(found.offset == offset && found.mlength == mlength,
                       "round %d: another offset or length", round);
            ptli_rules_advance(found.entry->rules, found.mlength);
            ptli_rules_count(found.entry->rules);
            model_take(&list.models[who], mlength);
            check_each(found.entry->rules->inactive == list.models[who].inactive &&
                           found.entry->rules->threshold == list.models[who].threshold,
                       "round %d: another state after it", round);
        }
    }
    check_all("the walk and acceptance are the model's");
}

/* --- published lists --- */

/* Tests that the target's own walk accepts, whole and in the same entry, each request that a
 * published list allows. */
static void published_lists(void)
{
    int found = 0;
    for (int round = 0; round < ROUNDS; round++) {
        struct list list = {.count = 1 + (int)check_below(ENTRIES)};
        struct ptli_published published = {.pt_index = check_below(64)}, back;
        struct ptli_entry *whose[ENTRIES];
        unsigned char bytes[PTLI_PUBLISHED_BYTES];
        for (int i = 0; i < list.count; i++) {
            struct ptli_rules *rules = &list.rules[i];
            struct ptli_published_entry *entry = &published.entries[published.count];
            make_entry(&list, i);
            list.entries[i].match_id = (ptl_process_id_t){PTL_NID_ANY, PTL_PID_ANY};
            if (rules->length > 1000) rules->length = 1000;
            if (check_below(4)) { /* as a segment is described */
                rules->options |= PTL_MD_OP_PUT | PTL_MD_OP_GET | PTL_MD_MANAGE_REMOTE;
                rules->threshold = PTL_MD_THRESH_INF;
                rules->inactive = false;
            }
            if (!list.entries[i].rules) continue;
            whose[published.count++] = &list.entries[i];
            *entry = (struct ptli_published_entry){.match_bits = list.entries[i].match_bits,
                                                   .ignore_bits = list.entries[i].ignore_bits,
                                                   .address = 4096,
                                                   .length = rules->length,
                                                   .access = (uint32_t)check_random()};
            if (rules->threshold == PTL_MD_THRESH_INF && rules->options & PTL_MD_MANAGE_REMOTE)
                entry->flags = PTLI_PUBLISHED_OPEN |
                               (rules->options & PTL_MD_OP_PUT ? PTLI_PUBLISHED_PUT : 0) |
                               (rules->options & PTL_MD_OP_GET ? PTLI_PUBLISHED_GET : 0);
        }
        size_t size = ptli_published_encode(&published, bytes);
        check_each(!ptli_published_parse(bytes, size, &back) && back.count == published.count,
                   "round %d: a list that is not read again", round);
        for (int i = 0; i < REQUESTS; i++) {
            struct ptli_request request = some_request();
            bool put = check_below(2);
            ptl_ac_index_t ac = check_below(40);
            if (check_below(4)) {
                request.remote_offset = check_below(300);
                request.length = check_below(300);
            }
            request.operation = put ? PTL_MD_OP_PUT : PTL_MD_OP_GET;
            const struct ptli_published_entry *entry =
                ptli_published_find(&back, put ? PTLI_PUBLISHED_PUT : PTLI_PUBLISHED_GET, ac,
                                    request.match_bits, request.remote_offset, request.length);
            if (!entry) continue;
            found++;
            struct ptli_acceptance taken = ptli_walk(&list.entries[0], &request);
            check_each(taken.entry == whose[entry - back.entries] &&
                           taken.mlength == request.length && taken.offset == request.remote_offset,
                       "round %d: the target's walk says otherwise", round);
            check_each(ac < 32 && entry->access >> ac & 1, "round %d: not admitted", round);
        }
    }
    check_each(found > ROUNDS / 3, "only %d requests were found in a list", found);
    check_all("what a published list says yes to, the target takes whole");
}

/* --- the wire --- */

enum { EAGER = 512 };

static struct ptli_header some_header(void)
{
    struct ptli_header header;
    check_fill(&header, sizeof header);
    header.type = 1 + (uint8_t)check_below(PTLI_DONE);
    header.flags = 0;
    header.data_length = 0;
    header.length = header.type == PTLI_GET ? check_below(EAGER + 1) : header.length;
    if (header.type == PTLI_PUT || header.type == PTLI_GETPUT || header.type == PTLI_REPLY)
        header.length = header.data_length = check_below(EAGER + 1);
    if (header.type == PTLI_PUT && check_below(2)) header.flags = PTLI_ANSWER | PTLI_ASKS_ACK;
    return header;
}

static bool same(const struct ptli_header *a, const struct ptli_header *b)
{
    return a->type == b->type && a->flags == b->flags && a->source.nid == b->source.nid &&
           a->source.pid == b->source.pid && a->destination.nid == b->destination.nid &&
           a->destination.pid == b->destination.pid && a->uid == b->uid && a->jid == b->jid &&
           a->pt_index == b->pt_index && a->ac_index == b->ac_index &&
           a->data_length == b->data_length && a->operation == b->operation &&
           a->match_bits == b->match_bits && a->hdr_data == b->hdr_data && a->length == b->length &&
           a->remote_offset == b->remote_offset && a->transport == b->transport;
}

/* Memory of exactly this size, so that a sanitizer sees the byte behind it. */
static unsigned char *exactly(const unsigned char *bytes, size_t size)
{
    unsigned char *copy = malloc(size ? size : 1);
    if (!copy) abort();
    memcpy(copy, bytes, size);
    return copy;
}

static void sound_headers(void)
{
    for (int round = 0; round < 10 * ROUNDS; round++) {
        struct ptli_header header = some_header(), back;
        unsigned char bytes[PTLI_WIRE_SIZE + EAGER];
        const char *wrong;
        memset(&back, 0x55, sizeof back);
        ptli_wire_encode(&header, bytes);
        wrong = ptli_wire_parse(bytes, PTLI_WIRE_SIZE + header.data_length, EAGER, &back);
        check_each(!wrong && same(&header, &back), "round %d, type %d: %s", round, header.type,
                   wrong ? wrong : "another header");
        wrong = ptli_wire_parse(bytes, PTLI_WIRE_SIZE + header.data_length + 1, EAGER, &back);
        check_each(wrong != NULL, "round %d: a byte too many", round);
    }
    check_all("sound headers are read as they were written");
}

static void long_requests(void)
{
    for (int round = 0; round < 10 * ROUNDS; round++) {
        unsigned char bytes[PTLI_WIRE_SIZE + EAGER];
        struct ptli_header header = some_header(), back;
        uint32_t count = 1 + check_below(EAGER / PTLI_REMOTE_SIZE), spoiled = check_below(6);
        uint64_t sum = 0;
        header.type = check_below(2) ? PTLI_PUT : PTLI_GET;
        header.flags = PTLI_LONG | (header.type == PTLI_PUT ? PTLI_ANSWER : 0);
        header.data_length = count * PTLI_REMOTE_SIZE;
        for (uint32_t i = 0; i < count; i++) {
            struct ptli_remote remote = {check_random() >> 1, (uint32_t)check_random(),
                                         1 + check_below(PTLI_REMOTE_MAX)};
            if (i == count - 1 && spoiled == 1) remote.length = 0;
            if (i == count - 1 && spoiled == 2) remote.length = PTLI_REMOTE_MAX + 1;
            if (i == count - 1 && spoiled == 3) remote.address = UINT64_MAX - remote.length + 2;
            ptli_wire_encode_remote(&remote, bytes + PTLI_WIRE_SIZE + i * PTLI_REMOTE_SIZE);
            sum += remote.length;
        }
        header.length = spoiled == 4 ? sum + 1 : sum;
        if (spoiled == 5) header.data_length--;
        ptli_wire_encode(&header, bytes);
        const char *wrong =
            ptli_wire_parse(bytes, PTLI_WIRE_SIZE + header.data_length, EAGER, &back);
        check_each(!wrong == !spoiled, "round %d, spoiled %u: %s", round, spoiled,
                   wrong ? wrong : "nothing wrong");
    }
    check_all("remote lists: whole, of sound pieces, of the request's length, or refused");
}

static void fuzz(void)
{
    int passed = 0;
    for (int round = 0; round < 100 * ROUNDS; round++) {
        unsigned char bytes[PTLI_WIRE_SIZE + EAGER + 64];
        size_t size = check_below(4) ? PTLI_WIRE_SIZE + check_below(EAGER + 64)
                                     : check_below(PTLI_WIRE_SIZE + 1);
        struct ptli_header header = some_header();
        unsigned char *exact;
        check_fill(bytes, sizeof bytes);
        if (check_below(8)) {
            ptli_wire_encode(&header, bytes);
            if (check_below(4)) size = PTLI_WIRE_SIZE + header.data_length;
            for (uint32_t i = check_below(4); i > 0; i--)
                bytes[check_below(PTLI_WIRE_SIZE)] ^= (unsigned char)(1u << check_below(8));
        }
        exact = exactly(bytes, size);
        if (!ptli_wire_parse(exact, size, EAGER, &header)) {
            passed++;
            check_each(size == PTLI_WIRE_SIZE + (size_t)header.data_length &&
                           header.data_length <= EAGER,
                       "round %d: a header of a message of another size", round);
            check_each(header.type >= PTLI_PUT &&
                           (header.type <= PTLI_DONE || header.type >= PTLI_TYPE_TRANSPORT),
                       "round %d: type %d", round, header.type);
            if (header.type == PTLI_PUT && !(header.flags & PTLI_LONG))
                check_each(header.length == header.data_length, "round %d: a put", round);
        }
        free(exact);
        struct ptli_published published;
        exact = exactly(bytes, size);
        if (size >= 16 && check_below(2)) memset(exact + 9, 0, 7);
        if (!ptli_published_parse(exact, size, &published))
            check_each(published.count <= PTLI_PUBLISHED_MAX, "round %d: a list", round);
        free(exact);
    }
    check_each(passed > ROUNDS, "only %d messages passed", passed);
    check_all("nothing that arrives is read beyond its end or believed unjudged");
}

/* --- pieces --- */

static void pieces(void)
{
    for (int round = 0; round < ROUNDS; round++) {
        enum { PIECES = 6, MOST = 40 };
        char from_memory[PIECES][MOST], to_memory[PIECES][MOST], flat[PIECES * MOST],
            got[PIECES * MOST];
        struct ptli_piece from_pieces[PIECES], to_pieces[PIECES];
        uint64_t from_length = 0, to_length = 0;
        for (int i = 0; i < PIECES; i++) {
            check_fill(from_memory[i], MOST);
            from_pieces[i] = (struct ptli_piece){from_memory[i], check_below(MOST + 1), NULL};
            to_pieces[i] = (struct ptli_piece){to_memory[i], check_below(MOST + 1), NULL};
            memcpy(flat + from_length, from_memory[i], from_pieces[i].length);
            from_length += from_pieces[i].length;
            to_length += to_pieces[i].length;
        }
        uint64_t offset = check_below((uint32_t)from_length + 1);
        uint64_t there = check_below((uint32_t)to_length + 1);
        uint64_t most =
            from_length - offset < to_length - there ? from_length - offset : to_length - there;
        uint64_t length = check_below((uint32_t)most + 1);
        struct ptli_span from = {from_pieces, PIECES, offset, length};
        struct ptli_span to = {to_pieces, PIECES, there, length};
        ptli_span_read(&from, got);
        check_each(memcmp(got, flat + offset, length) == 0, "round %d: read", round);
        ptli_span_move(&to, &from);
        ptli_span_read(&to, got);
        check_each(memcmp(got, flat + offset, length) == 0, "round %d: moved", round);
        check_fill(got, length);
        ptli_span_write(&to, got);
        memcpy(flat, got, length);
        ptli_span_read(&to, got);
        check_each(memcmp(got, flat, length) == 0, "round %d: written", round);
    }
    check_all("memory in pieces is read, written and moved like memory in one");
}

/* --- leases --- */

enum { ASK, LIST, NO_LIST, REVOKE, REVOKED };
struct way { /* messages arrive in the order sent */
    struct {
        int kind;
        uint32_t epoch;
    } message[16];
    int count;
};

static void tell(struct way *way, int kind, uint32_t epoch)
{
    if (!check_each(way->count < 16, "too many messages")) return;
    way->message[way->count].kind = kind;
    way->message[way->count++].epoch = epoch;
}

/* Whether the peer holds the list, or a message says that it will or did. */
static bool lease_is_out(const struct ptli_lease *lease, const struct way *to,
                         const struct way *back)
{
    bool out = lease->state == PTLI_LEASE_HELD || lease->state == PTLI_LEASE_LEAVING;
    for (int i = 0; i < to->count; i++) out |= to->message[i].kind == LIST;
    for (int i = 0; i < back->count; i++) out |= back->message[i].kind == REVOKED;
    return out;
}

static void lease_hears(struct ptli_lease *lease, struct way *to, struct way *back)
{
    if (!to->count) return;
    const int kind = to->message[0].kind;
    const uint32_t epoch = to->message[0].epoch;
    memmove(to->message, to->message + 1, (size_t)--to->count * sizeof *to->message);
    if (kind != REVOKE)
        check_each(ptli_lease_answered(lease, kind == LIST, epoch), "an answer is not expected");
    else if (ptli_lease_revoke(lease, epoch))
        tell(back, REVOKED, epoch);
}

static void grant_hears(struct ptli_grant *grant, struct way *to, struct way *back)
{
    if (!back->count) return;
    const int kind = back->message[0].kind;
    const uint32_t epoch = back->message[0].epoch;
    memmove(back->message, back->message + 1, (size_t)--back->count * sizeof *back->message);
    if (kind == REVOKED) {
        check_each(ptli_grant_returned(grant, epoch), "what is returned was not granted");
        return;
    }
    check_each(ptli_grant_asked(grant), "asked for what it has");
    if (check_below(50) == 0) ptli_grant_refuse(grant);
    tell(to, grant->state == PTLI_GRANT_GIVEN ? LIST : NO_LIST, grant->epoch);
}

/* Does a random act of lease or grant, or delivers a message of an earlier connection, which
 * changes nothing. */
static void lease_step(struct ptli_lease *lease, struct ptli_grant *grant, struct way *to,
                       struct way *back)
{
    const struct ptli_grant before = *grant;
    switch (check_below(8)) {
    case 0:
        if (ptli_lease_request(lease)) tell(back, ASK, 0);
        break;
    case 1:
        ptli_lease_hold(lease);
        break;
    case 2:
        if (lease->users && ptli_lease_release(lease)) tell(back, REVOKED, lease->epoch);
        break;
    case 3:
        if (check_below(4) == 0 && ptli_grant_revoke(grant)) tell(to, REVOKE, grant->epoch);
        break;
    case 4:
        lease_hears(lease, to, back);
        break;
    case 5:
        grant_hears(grant, to, back);
        break;
    case 6:
        check_each(!ptli_grant_returned(grant, grant->epoch - 1 - check_below(3)) &&
                       grant->state == before.state,
                   "a list of another epoch is returned");
        check_each(!ptli_lease_revoke(lease, lease->epoch + 1), "another epoch is revoked");
        break;
    default:
        if (check_below(20)) break;
        ptli_lease_lost(lease);
        ptli_grant_lost(grant);
        to->count = back->count = 0;
    }
}

/* The match entries may change exactly while nobody holds their list. */
static void leases(void)
{
    for (int round = 0; round < ROUNDS; round++) {
        struct ptli_lease lease = {.users = 0};
        struct ptli_grant grant = {.epoch = UINT32_MAX - check_below(20)};
        struct way to = {.count = 0}, back = {.count = 0};
        for (int i = 0; i < 10 * REQUESTS; i++) {
            lease_step(&lease, &grant, &to, &back);
            check_each((grant.state != PTLI_GRANT_NONE) == lease_is_out(&lease, &to, &back),
                       "round %d: granted %d, lease %d", round, grant.state, lease.state);
        }
        while (to.count || back.count) {
            lease_hears(&lease, &to, &back);
            grant_hears(&grant, &to, &back);
        }
        if (ptli_grant_revoke(&grant)) tell(&to, REVOKE, grant.epoch);
        lease_hears(&lease, &to, &back);
        while (lease.users)
            if (ptli_lease_release(&lease)) tell(&back, REVOKED, lease.epoch);
        grant_hears(&grant, &to, &back);
        check_each(grant.state == PTLI_GRANT_NONE && lease.state == PTLI_LEASE_NONE,
                   "round %d: granted %d, lease %d at the end", round, grant.state, lease.state);
    }
    check_all("a published list changes only while nobody holds it, and a revoked one comes back");
}

int main(int argc, char **argv)
{
    check_begin(argc, argv);
    walks();
    published_lists();
    sound_headers();
    long_requests();
    fuzz();
    pieces();
    leases();
    return check_end();
}
