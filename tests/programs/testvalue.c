/* testvalue.c - value transfers, memset, and zero-length operations, with the bytes beside them.
 *
 * Every rank works on its own stripe of its own and of its successor's segment.
 */
#include "test.h"

enum { SEGMENT = 4 << 20, STRIPE = SEGMENT / 2, WIDTH = SIZEOF_GASNET_REGISTER_VALUE_T };

static unsigned char *target(int node)
{
    return test_at(node, node == test_rank ? 0 : STRIPE);
}

static uint64_t low_bytes(uint64_t v, size_t n)
{
    return n >= 8 ? v : v & (((uint64_t)1 << 8 * n) - 1);
}

/* Native order of an n-byte integer, for odd n as well. */
static void to_bytes(unsigned char *out, uint64_t v, size_t n)
{
    for (size_t i = 0; i < n; i++) out[i] = (unsigned char)(v >> 8 * i);
}

static void put_value(int form, int node, void *dst, uint64_t v, size_t n)
{
    const gasnet_node_t to = (gasnet_node_t)node;
    if (form == 0) gasnet_put_val(to, dst, (gasnet_register_value_t)v, n);
    if (form == 1) gasnet_wait_syncnb(gasnet_put_nb_val(to, dst, (gasnet_register_value_t)v, n));
    if (form == 2) {
        gasnet_put_nbi_val(to, dst, (gasnet_register_value_t)v, n);
        gasnet_wait_syncnbi_puts();
    }
}

static void values(void)
{
    struct test_random random = test_random_for(58);
    for (int i = 0; i < test_iterations(60); i++)
        for (size_t n = 1; n <= WIDTH; n++)
            for (int form = 0; form < 3; form++) {
                const int node = i & 1 ? test_next : test_rank;
                const uint64_t v = i < 4 ? (uint64_t)0 - (uint64_t)(i >> 1) : test_random(&random);
                unsigned char *dst = target(node) + 16 + test_below(&random, 16);
                unsigned char around[24], expected[8];
                memset(around, 0x77, sizeof around);
                gasnet_put(node, dst - 8, around, sizeof around);
                put_value(form, node, dst, v, n);
                gasnet_get(around, (gasnet_node_t)node, dst - 8, sizeof around);
                to_bytes(expected, v, n);
                test_check(memcmp(around + 8, expected, n) == 0, "form %d, %zu bytes", form, n);
                test_check(test_not_all(around, 8, 0x77) < 0, "bytes before touched, %zu bytes", n);
                test_check(test_not_all(around + 8 + n, 16 - n, 0x77) < 0, "bytes after, %zu", n);
                uint64_t got = gasnet_get_val((gasnet_node_t)node, dst, n);
                test_check(got == low_bytes(v, n), "get_val of %zu: %#llx", n,
                           (unsigned long long)got);
                got = gasnet_wait_syncnb_valget(gasnet_get_nb_val((gasnet_node_t)node, dst, n));
                test_check(got == low_bytes(v, n), "get_nb_val of %zu: %#llx", n,
                           (unsigned long long)got);
            }
}

static void many_value_gets(void)
{
    const int count = test_size <= 2 ? 65535 : 8192;
    gasnet_valget_handle_t *handles = malloc((size_t)count * sizeof *handles);
    uint16_t *source = malloc((size_t)count * 2);
    for (int i = 0; i < count; i++) source[i] = (uint16_t)test_mix((uint64_t)i);
    gasnet_put_bulk((gasnet_node_t)test_next, target(test_next), source, (size_t)count * 2);
    for (int i = 0; i < count; i++)
        handles[i] = gasnet_get_nb_val((gasnet_node_t)test_next, target(test_next) + 2 * i, 2);
    int step = 4099; /* prime and no divisor of count: visits all, in no order */
    for (int k = 0, i = 0; k < count; k++, i = (i + step) % count) {
        uint64_t got = gasnet_wait_syncnb_valget(handles[i]);
        if (!test_check(got == source[i], "value %d is %#llx", i, (unsigned long long)got)) break;
    }
    free(source);
    free(handles);
}

/* --- memset --- */

static void memset_form(int form, int node, void *dst, int value, size_t n)
{
    const gasnet_node_t to = (gasnet_node_t)node;
    if (form == 0) gasnet_memset(to, dst, value, n);
    if (form == 1) gasnet_wait_syncnb(gasnet_memset_nb(to, dst, value, n));
    if (form == 2) {
        gasnet_memset_nbi(to, dst, value, n);
        gasnet_wait_syncnbi_puts(); /* memset counts as a put */
    }
}

static void check_memset(int form, int node, size_t offset, int value, size_t n)
{
    static unsigned char view[STRIPE];
    unsigned char *dst = target(node) + 64 + offset;
    memset(view, 0x99, n + 32);
    gasnet_put_bulk((gasnet_node_t)node, dst - 16, view, n + 32);
    memset_form(form, node, dst, value, n);
    gasnet_get_bulk(view, (gasnet_node_t)node, dst - 16, n + 32);
    ptrdiff_t at = test_not_all(view + 16, n, (uint8_t)value);
    test_check(at < 0, "form %d, %zu bytes of %d: wrong at %td", form, n, value, at);
    test_check(test_not_all(view, 16, 0x99) < 0, "memset of %zu: bytes before touched", n);
    test_check(test_not_all(view + 16 + n, 16, 0x99) < 0, "memset of %zu: bytes after touched", n);
}

static void memset_values(void)
{
    for (int value = -3; value < 259; value++) {
        if (test_size > 2 && value % 5) continue;
        check_memset((value + 3) % 3, value & 1 ? test_next : test_rank, 3, value, 50);
    }
    check_memset(0, test_next, 0, INT_MIN, 100);
    check_memset(1, test_next, 0, 0x12345678, 100);
}

static void memset_sizes(void)
{
    static const size_t sizes[] = {1,    2,     3,     5,     7,     8,     9,       63,
                                   64,   65,    100,   511,   1000,  4000,  4095,    4096,
                                   4097, 10001, 65535, 65536, 65537, 99999, 1 << 20, 1200007};
    for (int s = 0; s < TEST_COUNT(sizes); s++)
        for (int form = 0; form < 3; form++) {
            check_memset(form, test_next, (size_t)s % 9, 0xC1 + s, sizes[s]);
            check_memset(form, test_rank, (size_t)s % 9, 0xC1 + s, sizes[s]);
        }
}

static void memset_handles(void)
{
    enum { COUNT = 500, PIECE = 37 };
    gasnet_handle_t handle[COUNT];
    unsigned char back[PIECE];
    unsigned char *dst = target(test_next);
    for (int i = 0; i < COUNT; i++)
        handle[i] = gasnet_memset_nb((gasnet_node_t)test_next, dst + i * PIECE, i, PIECE);
    gasnet_wait_syncnb_all(handle, COUNT);
    for (int i = 0; i < COUNT; i++) {
        gasnet_get(back, (gasnet_node_t)test_next, dst + i * PIECE, PIECE);
        test_check(test_not_all(back, PIECE, (uint8_t)i) < 0, "piece %d", i);
    }
    gasnet_begin_nbi_accessregion();
    for (int i = 0; i < COUNT; i++)
        gasnet_memset_nbi((gasnet_node_t)test_next, dst + i * PIECE, i + 1, PIECE);
    gasnet_wait_syncnb(gasnet_end_nbi_accessregion());
    for (int i = 0; i < COUNT; i++) {
        gasnet_get(back, (gasnet_node_t)test_next, dst + i * PIECE, PIECE);
        test_check(test_not_all(back, PIECE, (uint8_t)(i + 1)) < 0, "piece %d of the region", i);
    }
}

/* --- zero length --- */

static void zero_length(void)
{
    void *junk[] = {NULL, (void *)1, (void *)~(uintptr_t)0, (void *)(uintptr_t)0x1234567};
    for (int i = 0; i < 16; i++) {
        void *a = junk[i % 4], *b = junk[i / 4];
        gasnet_node_t to = (gasnet_node_t)(i & 1 ? test_next : test_rank);
        gasnet_put(to, a, b, 0);
        gasnet_get(a, to, b, 0);
        gasnet_put_bulk(to, a, b, 0);
        gasnet_get_bulk(a, to, b, 0);
        gasnet_memset(to, a, 5, 0);
        gasnet_handle_t h[] = {gasnet_put_nb(to, a, b, 0), gasnet_get_nb(a, to, b, 0),
                               gasnet_put_nb_bulk(to, a, b, 0), gasnet_get_nb_bulk(a, to, b, 0),
                               gasnet_memset_nb(to, a, 5, 0)};
        for (int k = 0; k < TEST_COUNT(h); k++)
            test_check(h[k] == GASNET_INVALID_HANDLE, "zero-length form %d has a handle", k);
        gasnet_wait_syncnb_all(h, TEST_COUNT(h));
        gasnet_put_nbi(to, a, b, 0);
        gasnet_get_nbi(a, to, b, 0);
        gasnet_put_nbi_bulk(to, a, b, 0);
        gasnet_get_nbi_bulk(a, to, b, 0);
        gasnet_memset_nbi(to, a, 5, 0);
        gasnet_wait_syncnbi_all();
    }
}

int main(int argc, char **argv)
{
    static const struct test_rule rules[] = {
        {"B58 values of 1 to 8 bytes, all forms", values},
        {"B59 value gets outstanding by the ten thousand, synced in no order", many_value_gets},
        {"B60 memset of every value", memset_values},
        {"B60 memset of every size and form", memset_sizes},
        {"B60 B55 memset handles and regions", memset_handles},
        {"B61 zero length with junk addresses", zero_length},
    };
    test_start(&argc, &argv, NULL, 0, SEGMENT);
    test_run(rules, TEST_COUNT(rules));
    test_finish();
}
