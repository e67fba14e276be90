/* testhandles.c - explicit handles, implicit sets, access regions: many at once, every sync call.
 *
 * What the transfers move is checked too, but sizes and memory kinds are testputget's business.
 */
#include "test.h"

enum { MANY = 65535, WORDS = MANY + 1, SEGMENT = 2 << 20 };

static uint32_t *local;          /* [WORDS] out of the segment */
static gasnet_handle_t *handles; /* [MANY] */

static gasnet_node_t peer(void)
{
    return (gasnet_node_t)test_next;
}
static uint32_t *remote(size_t word)
{
    return (uint32_t *)test_at(test_next, 0) + word;
}
static uint32_t word_of(int round, size_t i)
{
    return (uint32_t)test_mix((uint64_t)round << 32 ^ i);
}

static void fill_words(int round, size_t count)
{
    for (size_t i = 0; i < count; i++) local[i] = word_of(round, i);
}

/* Gets `count` words back in one go and compares them. */
static void check_words(int round, size_t count)
{
    memset(local, 0, count * sizeof *local);
    gasnet_get_bulk(local, peer(), remote(0), count * sizeof *local);
    for (size_t i = 0; i < count; i++)
        if (!test_check(local[i] == word_of(round, i), "round %d: word %zu is %#x", round, i,
                        local[i]))
            return;
}

static bool all_invalid(const gasnet_handle_t *h, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (h[i] != GASNET_INVALID_HANDLE) return false;
    return true;
}

static size_t many(void)
{
    return test_size <= 2 ? MANY : MANY / 8;
}

static void thousands_of_puts(void)
{
    const size_t n = many();
    fill_words(1, n);
    for (size_t i = 0; i < n; i++) handles[i] = gasnet_put_nb(peer(), remote(i), &local[i], 4);
    gasnet_wait_syncnb_all(handles, n);
    test_check(all_invalid(handles, n), "wait_syncnb_all left handles valid");
    check_words(1, n);
}

static void thousands_of_gets(void)
{
    const size_t n = many();
    fill_words(2, n);
    gasnet_put_bulk(peer(), remote(0), local, n * 4);
    memset(local, 0, n * 4);
    for (size_t i = 0; i < n; i++) handles[i] = gasnet_get_nb(&local[i], peer(), remote(i), 4);
    for (size_t i = n; i-- > 0;) gasnet_wait_syncnb(handles[i]); /* newest first */
    for (size_t i = 0; i < n; i++)
        if (!test_check(local[i] == word_of(2, i), "word %zu is %#x", i, local[i])) return;
}

/* Operation number i of a mix; each kind writes word_of(round, i) to its word of the target. */
static gasnet_handle_t start_one(int round, size_t i)
{
    static uint32_t dump[8];
    uint32_t value = word_of(round, i);
    switch (i % 6) {
    case 0:
        return gasnet_put_nb(peer(), remote(i), &value, 4); /* on the stack, reusable at once */
    case 1:
        return gasnet_put_nb_bulk(peer(), remote(i), &local[i], 4);
    case 2:
        return gasnet_put_nb_val(peer(), remote(i), value, 4);
    case 3:
        gasnet_begin_nbi_accessregion();
        gasnet_put_nbi_val(peer(), remote(i), value & 0xffff, 2);
        gasnet_put_nbi_val(peer(), (char *)remote(i) + 2, value >> 16, 2);
        gasnet_get_nbi(&dump[7], peer(), remote(WORDS), 4);
        return gasnet_end_nbi_accessregion();
    case 4:
        gasnet_put(peer(), remote(i), &local[i], 4);
        return gasnet_get_nb(&dump[6], peer(), remote(WORDS), 4);
    default:
        gasnet_put(peer(), remote(i), &local[i], 4);
        return GASNET_INVALID_HANDLE; /* a hole */
    }
}

static void mixed_handles(void)
{
    const size_t n = many() / 4;
    fill_words(3, n);
    for (size_t i = 0; i < n; i++) handles[i] = start_one(3, i);
    gasnet_wait_syncnb_all(handles, n);
    test_check(all_invalid(handles, n), "wait_syncnb_all left handles valid");
    check_words(3, n);
}

/* --- convergence of the try and some calls --- */

static void converge(int round, int (*try_some)(gasnet_handle_t *, size_t), int (*poll)(void))
{
    const size_t n = 600;
    fill_words(round, n);
    for (size_t i = 0; i < n; i++) handles[i] = start_one(round, i);
    while (!all_invalid(handles, n)) {
        size_t valid_before = 0, valid_after = 0;
        for (size_t i = 0; i < n; i++) valid_before += handles[i] != GASNET_INVALID_HANDLE;
        int status = try_some(handles, n);
        for (size_t i = 0; i < n; i++) valid_after += handles[i] != GASNET_INVALID_HANDLE;
        test_check(status == GASNET_OK || status == GASNET_ERR_NOT_READY, "status %d", status);
        test_check(valid_after <= valid_before, "handles came back to life");
        if (poll) poll();
    }
    test_check(try_some(handles, n) == GASNET_OK, "a list of invalid handles is not OK");
    check_words(round, n);
}

static int try_some(gasnet_handle_t *h, size_t n)
{
    size_t before = 0, after = 0;
    for (size_t i = 0; i < n; i++) before += h[i] != GASNET_INVALID_HANDLE;
    int status = gasnet_try_syncnb_some(h, n);
    for (size_t i = 0; i < n; i++) after += h[i] != GASNET_INVALID_HANDLE;
    test_check((status == GASNET_OK) == (after < before || before == 0),
               "try_syncnb_some says %d, %zu of %zu left", status, after, before);
    return status;
}
static int try_all(gasnet_handle_t *h, size_t n)
{
    int status = gasnet_try_syncnb_all(h, n);
    test_check((status == GASNET_OK) == all_invalid(h, n), "try_syncnb_all says %d", status);
    return status;
}
static int wait_some(gasnet_handle_t *h, size_t n)
{
    size_t before = 0, after = 0;
    for (size_t i = 0; i < n; i++) before += h[i] != GASNET_INVALID_HANDLE;
    gasnet_wait_syncnb_some(h, n);
    for (size_t i = 0; i < n; i++) after += h[i] != GASNET_INVALID_HANDLE;
    test_check(after < before || before == 0, "wait_syncnb_some completed nothing");
    return GASNET_OK;
}
static int some_nopoll(gasnet_handle_t *h, size_t n)
{
    return gasnet_try_syncnb_some_nopoll(h, n);
}
static int all_nopoll(gasnet_handle_t *h, size_t n)
{
    return gasnet_try_syncnb_all_nopoll(h, n);
}
static int poll_network(void)
{
    return gasnet_AMPoll();
}

static void partial_completion(void)
{
    converge(10, try_some, NULL);
    converge(11, try_all, NULL);
    converge(12, wait_some, NULL);
    converge(13, some_nopoll, poll_network);
    converge(14, all_nopoll, poll_network);
}

static void single_tries(void)
{
    for (int i = 0; i < 200; i++) {
        uint32_t value = word_of(20, (size_t)i);
        gasnet_handle_t h = gasnet_put_nb(peer(), remote((size_t)i), &value, 4);
        int status;
        if (i & 1)
            while ((status = gasnet_try_syncnb(h)) == GASNET_ERR_NOT_READY) {
            }
        else
            while ((status = gasnet_try_syncnb_nopoll(h)) == GASNET_ERR_NOT_READY) gasnet_AMPoll();
        test_check(status == GASNET_OK, "status %d", status);
    }
    check_words(20, 200);
}

static void empty_lists(void)
{
    gasnet_handle_t none[3];
    memset(none, 0, sizeof none); /* all zero bytes is the invalid handle */
    test_check(none[0] == GASNET_INVALID_HANDLE, "invalid handle is not all zero bytes");
    gasnet_wait_syncnb(GASNET_INVALID_HANDLE);
    test_check(gasnet_try_syncnb(GASNET_INVALID_HANDLE) == GASNET_OK, "try of invalid");
    test_check(gasnet_try_syncnb_nopoll(GASNET_INVALID_HANDLE) == GASNET_OK,
               "nopoll try of invalid");
    for (size_t n = 0; n <= 3; n += 3) {
        gasnet_wait_syncnb_all(none, n);
        gasnet_wait_syncnb_some(none, n);
        test_check(gasnet_try_syncnb_all(none, n) == GASNET_OK, "%zu invalid", n);
        test_check(gasnet_try_syncnb_some(none, n) == GASNET_OK, "%zu invalid", n);
        test_check(gasnet_try_syncnb_all_nopoll(none, n) == GASNET_OK, "%zu invalid", n);
        test_check(gasnet_try_syncnb_some_nopoll(none, n) == GASNET_OK, "%zu invalid", n);
    }
    gasnet_wait_syncnbi_gets();
    gasnet_wait_syncnbi_puts();
    gasnet_wait_syncnbi_all();
    test_check(gasnet_try_syncnbi_gets() == GASNET_OK, "nothing outstanding");
    test_check(gasnet_try_syncnbi_puts() == GASNET_OK, "nothing outstanding");
    test_check(gasnet_try_syncnbi_all() == GASNET_OK, "nothing outstanding");
    gasnet_begin_nbi_accessregion();
    gasnet_wait_syncnb(gasnet_end_nbi_accessregion());
}

/* --- implicit sets and regions --- */

static void implicit_thousands(void)
{
    const size_t n = many();
    fill_words(30, n);
    for (size_t i = 0; i < n; i++) gasnet_put_nbi(peer(), remote(i), &local[i], 4);
    gasnet_wait_syncnbi_puts();
    memset(local, 0, n * 4);
    for (size_t i = 0; i < n; i++) gasnet_get_nbi(&local[i], peer(), remote(i), 4);
    while (gasnet_try_syncnbi_gets() == GASNET_ERR_NOT_READY) {
    }
    for (size_t i = 0; i < n; i++)
        if (!test_check(local[i] == word_of(30, i), "word %zu is %#x", i, local[i])) return;
}

static void puts_and_gets_apart(void)
{
    for (int round = 40; round < 40 + test_iterations(60); round++) {
        uint32_t got[50];
        fill_words(round, 50);
        for (int i = 0; i < 50; i++) gasnet_put_nbi(peer(), remote((size_t)i), &local[i], 4);
        gasnet_wait_syncnbi_puts();
        for (int i = 0; i < 50; i++) {
            gasnet_get_nbi(&got[i], peer(), remote((size_t)i), 4);
            gasnet_put_nbi(peer(), remote(1000 + (size_t)i), &local[i], 4);
        }
        gasnet_wait_syncnbi_gets(); /* puts still pending */
        for (int i = 0; i < 50; i++)
            test_check(got[i] == word_of(round, (size_t)i), "round %d: get %d is %#x", round, i,
                       got[i]);
        gasnet_wait_syncnbi_puts();
        gasnet_get(got, peer(), remote(1000), 200);
        test_check(memcmp(got, local, 200) == 0, "round %d: puts not complete", round);
        gasnet_get_nbi(&got[0], peer(), remote(0), 4);
        gasnet_put_nbi(peer(), remote(2), &local[2], 4);
        while (gasnet_try_syncnbi_all() != GASNET_OK) {
        }
        test_check(got[0] == local[0], "round %d: try_syncnbi_all", round);
    }
}

/* Operations before, inside and after a region complete with their own set. */
static void regions_apart(void)
{
    for (int round = 200; round < 200 + test_iterations(40); round++) {
        uint32_t before = 0, inside = 0, after = 0, explicit_one = 0;
        fill_words(round, 8);
        gasnet_put(peer(), remote(0), local, 32);
        gasnet_get_nbi(&before, peer(), remote(0), 4);
        gasnet_begin_nbi_accessregion();
        gasnet_get_nbi(&inside, peer(), remote(1), 4);
        gasnet_handle_t h = gasnet_get_nb(&explicit_one, peer(), remote(2), 4);
        gasnet_put_nbi(peer(), remote(4), &local[4], 4);
        gasnet_put(peer(), remote(5), &local[5], 4);
        gasnet_wait_syncnb(h);
        test_check(explicit_one == word_of(round, 2), "explicit handle inside a region");
        gasnet_handle_t region = gasnet_end_nbi_accessregion();
        gasnet_get_nbi(&after, peer(), remote(3), 4);
        if (round & 1)
            gasnet_wait_syncnbi_all();
        else
            gasnet_wait_syncnb(region);
        if (round & 1)
            gasnet_wait_syncnb(region);
        else
            gasnet_wait_syncnbi_gets();
        test_check(before == word_of(round, 0), "operation before the region: %#x", before);
        test_check(inside == word_of(round, 1), "operation inside the region: %#x", inside);
        test_check(after == word_of(round, 3), "operation after the region: %#x", after);
    }
}

static void large_region(void)
{
    const size_t n = many();
    fill_words(50, n);
    gasnet_begin_nbi_accessregion();
    for (size_t i = 0; i < n; i++) gasnet_put_nbi_bulk(peer(), remote(i), &local[i], 4);
    gasnet_handle_t region = gasnet_end_nbi_accessregion();
    test_check(gasnet_try_syncnbi_all() == GASNET_OK, "the region leaked into the implicit set");
    gasnet_wait_syncnb_all(&region, 1);
    check_words(50, n);
}

static void many_regions(void)
{
    const size_t n = 2000;
    fill_words(51, n);
    for (size_t i = 0; i < n; i++) {
        gasnet_begin_nbi_accessregion();
        gasnet_put_nbi(peer(), remote(i), &local[i], 4);
        handles[i] = gasnet_end_nbi_accessregion();
    }
    gasnet_wait_syncnb_all(handles, n);
    check_words(51, n);
}

static void random_interleaving(void)
{
    struct test_random random = test_random_for(56);
    const size_t n = 1000;
    size_t pending = 0;
    for (int round = 300; round < 300 + test_iterations(12); round++) {
        fill_words(round, n);
        for (size_t i = 0; i < n; i++) {
            handles[pending++] = start_one(round, i);
            if (test_below(&random, 20) == 0) {
                size_t first = test_below(&random, pending);
                gasnet_wait_syncnb_all(handles + first, pending - first);
                pending = first;
            }
            if (test_below(&random, 30) == 0) {
                uint32_t value = word_of(round, i);
                gasnet_put_nbi(peer(), remote(i), &value, 4);
                gasnet_wait_syncnbi_puts();
            }
        }
        gasnet_wait_syncnb_all(handles, pending);
        pending = 0;
        check_words(round, n);
    }
}

static void as_expressions(void)
{
    uint32_t value = 5;
    gasnet_handle_t h =
        test_rank >= 0 ? gasnet_put_nb_bulk(peer(), remote(0), &value, 4) : GASNET_INVALID_HANDLE;
    if (h != GASNET_INVALID_HANDLE)
        gasnet_wait_syncnb(h);
    else
        gasnet_wait_syncnbi_all();
    if (value == 5)
        gasnet_wait_syncnbi_puts();
    else
        gasnet_wait_syncnbi_gets();
    test_check(gasnet_get_val(peer(), remote(0), 4) == 5, "value not there");
}

int main(int argc, char **argv)
{
    static const struct test_rule rules[] = {
        {"3.3 invalid handles and empty lists", empty_lists},
        {"B141 initiators and syncs in expressions and if/else", as_expressions},
        {"3.3 try of one handle, polling and not", single_tries},
        {"B57 try and some forms converge, completed entries invalid", partial_completion},
        {"B55 65535 puts outstanding", thousands_of_puts},
        {"B55 65535 gets outstanding, synced newest first", thousands_of_gets},
        {"B55 mixed kinds and holes in one array", mixed_handles},
        {"3.4 65535 implicit operations", implicit_thousands},
        {"B56 implicit gets and puts are separate sets", puts_and_gets_apart},
        {"B56 operations before, inside and after an access region", regions_apart},
        {"3.5 an access region of 65535 operations", large_region},
        {"3.5 thousands of regions outstanding", many_regions},
        {"B56 random interleaving of all kinds", random_interleaving},
    };
    test_start(&argc, &argv, NULL, 0, SEGMENT);
    local = malloc(WORDS * sizeof *local);
    handles = calloc(MANY, sizeof(gasnet_handle_t));
    test_run(rules, TEST_COUNT(rules));
    test_finish();
}
