/* lists.c - see lists.h.  One side is contiguous at the peer, or at this node itself; the other is
 * many pieces, at odd addresses and with empty entries among them, in the segment, outside it, or
 * on both sides of its end.
 */
#include "tests/vis/lists.h"

#include <gasnet_vis.h>

#include "tests/programs/test.h"

enum { MOST = 70, ENTRIES = 2 * MOST, AREA = LISTS_BYTES / 3 };
enum place { INSIDE, OUTSIDE, MIXED, PLACES };

static char heap[AREA], wanted[AREA];
static gasnet_memvec_t pieces[ENTRIES];
static size_t entries, bytes;

/* `count` pieces that do not touch, and empty entries with addresses of nothing. */
static void cut(size_t count, size_t length, enum place place, struct test_random *random)
{
    char *at[2] = {test_at(test_rank, AREA), heap};
    entries = bytes = 0;
    for (size_t i = 0; i < count; i++) {
        const int where = place == MIXED ? (int)test_below(random, 2) : (int)place;
        if (test_below(random, 3) == 0) pieces[entries++] = (gasnet_memvec_t){(void *)1, 0};
        at[where] += 1 + test_below(random, 5);
        const size_t n = length + test_below(random, 3);
        pieces[entries++] = (gasnet_memvec_t){at[where], n};
        at[where] += n;
        bytes += n;
    }
}

static bool pieces_hold(const char *data)
{
    for (size_t i = 0; i < entries; data += pieces[i++].len)
        if (memcmp(pieces[i].addr, data, pieces[i].len) != 0) return false;
    return true;
}

static void scatter(const char *data)
{
    for (size_t i = 0; i < entries; data += pieces[i++].len)
        memcpy(pieces[i].addr, data, pieces[i].len);
}

static void put(gasnet_node_t node, gasnet_memvec_t *remote, int form)
{
    if (form == 0) gasnet_putv_bulk(node, 1, remote, entries, pieces);
    if (form == 1) gasnet_wait_syncnb(gasnet_putv_nb_bulk(node, 1, remote, entries, pieces));
    if (form == 2) gasnet_putv_nbi_bulk(node, 1, remote, entries, pieces);
    gasnet_wait_syncnbi_puts();
}

static void get(gasnet_node_t node, gasnet_memvec_t *remote, int form)
{
    if (form == 0) gasnet_getv_bulk(entries, pieces, node, 1, remote);
    if (form == 1) gasnet_wait_syncnb(gasnet_getv_nb_bulk(entries, pieces, node, 1, remote));
    if (form == 2) gasnet_getv_nbi_bulk(entries, pieces, node, 1, remote);
    gasnet_wait_syncnbi_gets();
}

static void one(size_t count, size_t length, enum place place, int form, struct test_random *random)
{
    const gasnet_node_t node = (gasnet_node_t)(test_below(random, 8) ? test_next : test_rank);
    char *there =
        test_at((int)node, ((int)node == test_rank ? 2 * AREA : 0) + test_below(random, 4));
    const uint64_t key = test_random(random);
    static char seen[AREA];
    cut(count, length, place, random);
    gasnet_memvec_t remote = {there, bytes};
    test_fill(wanted, bytes, key);
    scatter(wanted);
    put(node, &remote, form);
    gasnet_get_bulk(seen, node, there, bytes);
    test_check(memcmp(seen, wanted, bytes) == 0, "a put of %zu pieces of %zu, place %d, form %d",
               count, length, (int)place, form);
    test_fill(wanted, bytes, key + 1);
    gasnet_put_bulk(node, there, wanted, bytes);
    get(node, &remote, form);
    test_check(pieces_hold(wanted), "a get into %zu pieces of %zu, place %d, form %d", count,
               length, (int)place, form);
}

void lists(void)
{
    static const size_t counts[] = {1, 2, 3, 7, 8, 9, 16, 17, 31, 32, 33, 64, 65, MOST};
    static const size_t lengths[] = {1, 257, 1500};
    struct test_random random = test_random_for(77);
    for (int c = 0; c < TEST_COUNT(counts); c++)
        for (int l = 0; l < TEST_COUNT(lengths); l++)
            for (int place = 0; place < PLACES; place++)
                for (int form = 0; form < 3; form++)
                    one(counts[c], lengths[l], (enum place)place, form, &random);
}
