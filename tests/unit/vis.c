/* vis.c - the pure part of vector, indexed and strided transfers: walks, shapes, rules, addresses
 * in messages, and the choice of the way; compared with what the same descriptions mean byte by
 * byte.
 */
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "extended-ref/vis/choose.h"
#include "extended-ref/vis/pieces.h"
#include "extended-ref/vis/walk.h"

enum { ROUNDS = 4000, MOST = 4096, ENTRIES = 512, LEVELS = 24 };

/* A random description, and the address of each byte of its stream. */
struct described {
    gasnete_vis_side_t side;
    gasnet_memvec_t vector[ENTRIES];
    void *addresses[ENTRIES];
    size_t strides[LEVELS], counts[LEVELS + 1];
    uintptr_t byte[MOST];
    size_t bytes;
};

enum { BASE = 1 << 20 }; /* nothing is read or written there */

static char *somewhere(size_t length)
{
    return (char *)(uintptr_t)(BASE + check_below((uint32_t)(8 * MOST - length)));
}

static void stream(struct described *d, const char *at, size_t length)
{
    for (size_t i = 0; i < length; i++) d->byte[d->bytes++] = (uintptr_t)at + i;
}

/* Entries that often touch the one before; some are empty. */
static void describe_vector(struct described *d, size_t bytes)
{
    size_t count = 0;
    const char *behind = NULL;
    while (d->bytes < bytes && count < ENTRIES - 2) {
        gasnet_memvec_t *entry = &d->vector[count++];
        *entry = (gasnet_memvec_t){(void *)(uintptr_t)check_random(), 0};
        if (check_below(5) == 0) continue;
        entry->len =
            1 + check_below((uint32_t)(bytes - d->bytes) < 40 ? (uint32_t)(bytes - d->bytes) : 40);
        entry->addr = behind && check_below(3) ? (void *)(uintptr_t)behind : somewhere(entry->len);
        behind = (char *)entry->addr + entry->len;
        stream(d, entry->addr, entry->len);
    }
    if (check_below(2)) d->vector[count++] = (gasnet_memvec_t){NULL, 0};
    d->side = (gasnete_vis_side_t){.kind = GASNETE_VIS_VECTOR, .count = count, .list = d->vector};
}

static void describe_indexed(struct described *d, size_t bytes)
{
    size_t length = 1 + check_below((uint32_t)bytes), count = bytes / length;
    if (count > ENTRIES) count = ENTRIES;
    for (size_t i = 0; i < count; i++) {
        bool touches = i && check_below(3);
        d->addresses[i] = touches ? (char *)d->addresses[i - 1] + length : somewhere(length);
        stream(d, d->addresses[i], length);
    }
    d->side = (gasnete_vis_side_t){
        .kind = GASNETE_VIS_INDEXED, .count = count, .list = d->addresses, .length = length};
}

static void section_stream(struct described *d, size_t level, const char *at)
{
    if (level == 0)
        stream(d, at, d->counts[0]);
    else
        for (size_t i = 0; i < d->counts[level]; i++)
            section_stream(d, level - 1, at + i * d->strides[level - 1]);
}

/* Levels that are often of one repetition, or touch. */
static void describe_strided(struct described *d, size_t bytes)
{
    size_t levels = check_below(LEVELS + 1), total = 1 + check_below(32);
    d->counts[0] = total;
    for (size_t i = 0; i < levels; i++) {
        size_t below = i ? d->strides[i - 1] * d->counts[i] : d->counts[0];
        size_t most = bytes / total;
        d->strides[i] = below + (check_below(2) ? check_below(9) : 0);
        d->counts[i + 1] =
            check_below(3) && most > 1 ? 1 + check_below(most < 5 ? (uint32_t)most : 5) : 1;
        total *= d->counts[i + 1];
    }
    d->side = (gasnete_vis_side_t){.kind = GASNETE_VIS_STRIDED,
                                   .count = levels,
                                   .list = d->strides,
                                   .start = somewhere(0),
                                   .counts = d->counts};
    section_stream(d, levels, d->side.start);
}

static void describe(struct described *d)
{
    static void (*const kinds[])(struct described *, size_t) = {describe_vector, describe_indexed,
                                                                describe_strided};
    d->bytes = 0;
    kinds[check_below(3)](d, 1 + check_below(MOST / 2));
}

/* --- one side --- */

static void walks(void)
{
    static struct described d;
    for (int round = 0; round < ROUNDS; round++) {
        gasnete_vis_walk_t walk;
        size_t at = 0, runs = 0;
        uintptr_t low = UINTPTR_MAX, high = 0;
        bool same = true;
        describe(&d);
        for (size_t i = 0; i < d.bytes; i++) {
            runs += i == 0 || d.byte[i] != d.byte[i - 1] + 1;
            if (d.byte[i] < low) low = d.byte[i];
            if (d.byte[i] + 1 > high) high = d.byte[i] + 1;
        }
        size_t walked = 0;
        gasnete_vis_begin(&walk, &d.side);
        for (; walk.length; gasnete_vis_advance(&walk, walk.length, 1), walked++)
            for (size_t i = 0; i < walk.length; i++, at++)
                same = same && at < d.bytes && d.byte[at] == (uintptr_t)walk.at + i;
        check_each(same && at == d.bytes, "round %d: %zu of %zu bytes", round, at, d.bytes);
        check_each(walked == runs, "round %d: %zu runs instead of %zu", round, walked, runs);
        gasnete_vis_shape_t shape = gasnete_vis_shape(&d.side);
        check_each(shape.bytes == d.bytes && shape.runs == runs, "round %d: %zu bytes in %zu runs",
                   round, shape.bytes, shape.runs);
        check_each(d.bytes == 0 || (shape.low == low && shape.high == high),
                   "round %d: [%zx, %zx) instead of [%zx, %zx)", round, shape.low, shape.high, low,
                   high);
        const char *why;
        check_each(gasnete_vis_valid(&d.side, &why), "round %d: %s", round, why);
    }
    check_all("walks, shapes and rules of %d descriptions", ROUNDS);
}

/* --- initiator and target, and the addresses in messages --- */

/* Reads a description of addresses of `bytes` bytes, which are `expected`. */
static void read_back(const void *out, size_t used, const uintptr_t *expected, size_t bytes)
{
    gasnete_vis_reader_t reader = {
        .in = out, .end = (const unsigned char *)out + used, .data = bytes};
    gasnete_vis_group_t group;
    enum gasnete_vis_read got;
    size_t at = 0;
    bool same = true;
    while ((got = gasnete_vis_read(&reader, &group)) == GASNETE_VIS_GROUP) {
        for (size_t i = 0; i < group.times; i++)
            for (size_t j = 0; j < group.length; j++, at++)
                same = same && at < bytes &&
                       expected[at] == (uintptr_t)group.first + i * (uintptr_t)group.stride + j;
        same = same && group.last == group.first + (ptrdiff_t)(group.times - 1) * group.stride;
    }
    check_each(got == GASNETE_VIS_END && same && at == bytes, "%zu of %zu bytes read back", at,
               bytes);
}

/* A truncated description is broken, and so is one of another number of bytes. */
static void read_broken(const void *out, size_t used, size_t bytes)
{
    size_t cut = check_below((uint32_t)used), read = 0;
    gasnete_vis_reader_t readers[] = {
        {.in = out, .end = (const unsigned char *)out + cut, .data = bytes},
        {.in = out, .end = (const unsigned char *)out + used, .data = bytes + 1},
        {.in = out, .end = (const unsigned char *)out + used, .data = bytes - 1}};
    gasnete_vis_group_t group;
    enum gasnete_vis_read got;
    for (int i = 0; i < 3; i++, read = 0) {
        size_t most = readers[i].data;
        while ((got = gasnete_vis_read(&readers[i], &group)) == GASNETE_VIS_GROUP)
            read += group.length * group.times;
        check_each(got == GASNETE_VIS_BROKEN && read <= most, "a wrong description (%d)", i);
    }
}

static void pairs(void)
{
    static struct described dst, src;
    static unsigned char out[64 * MOST];
    for (int round = 0; round < ROUNDS; round++) {
        gasnete_vis_pair_t pair;
        gasnete_vis_match_t match;
        gasnete_vis_writer_t writer;
        size_t at = 0, most = check_below(2) ? SIZE_MAX : 1 + check_below(100), taken;
        bool same = true, within = true;
        describe(&dst);
        describe(&src);
        size_t bytes = dst.bytes < src.bytes ? dst.bytes : src.bytes;
        gasnete_vis_begin(&pair.dst, &dst.side);
        gasnete_vis_begin(&pair.src, &src.side);
        gasnete_vis_write(&writer, out);
        for (; (taken = gasnete_vis_next(&pair, most, &match)) != 0; at += taken) {
            for (size_t i = 0; i < taken; i++) {
                size_t time = i / match.length, k = i % match.length;
                same = same && at + i < bytes &&
                       dst.byte[at + i] == (uintptr_t)match.dst + time * match.dst_stride + k &&
                       src.byte[at + i] == (uintptr_t)match.src + time * match.src_stride + k;
            }
            within = within && taken <= most && taken == match.length * match.times;
            size_t bound = gasnete_vis_written(&writer);
            gasnete_vis_add(&writer, match.dst, match.length, match.dst_stride, match.times);
            gasnete_vis_writer_t copy = writer;
            within = within && gasnete_vis_finish(&copy) <= bound;
        }
        check_each(same && at == bytes, "round %d: %zu of %zu bytes match", round, at, bytes);
        check_each(within, "round %d: more than the bound", round);
        size_t used = gasnete_vis_finish(&writer);
        read_back(out, used, dst.byte, bytes);
        if (bytes) read_broken(out, used, bytes);
    }
    check_all("%d pairs of descriptions, and addresses written and read back", ROUNDS);
}

/* For any bytes, groups have no more data than was announced and do not wrap. */
static void random_bytes(void)
{
    unsigned char in[64];
    for (int round = 0; round < 50 * ROUNDS; round++) {
        size_t length = check_below(sizeof in + 1), data = check_below(5000), read = 0;
        check_fill(in, length);
        for (size_t i = 0; i < length; i++)
            if (check_below(3)) in[i] &= 0x87; /* short numbers */
        gasnete_vis_reader_t reader = {.in = in, .end = in + length, .data = data};
        gasnete_vis_group_t group;
        while (gasnete_vis_read(&reader, &group) == GASNETE_VIS_GROUP) {
            __int128 last = (__int128)(uintptr_t)group.first +
                            (__int128)group.stride * (__int128)(group.times - 1);
            read += group.length * group.times;
            check_each(last == (__int128)(uintptr_t)group.last, "round %d: wraps", round);
        }
        check_each(read <= data, "round %d: %zu bytes of %zu", round, read, data);
    }
    check_all("random bytes as addresses");
}

/* A section takes two groups, whatever its size. */
static void compact(void)
{
    unsigned char out[128];
    gasnete_vis_writer_t writer;
    gasnete_vis_write(&writer, out);
    gasnete_vis_add(&writer, (void *)(uintptr_t)0x7f0012345678, 8, 4096, 400);
    check(gasnete_vis_finish(&writer) <= 16, "400 pieces of a section in 16 bytes");
}

static void copies(void)
{
    static const size_t lengths[] = {1, 3, 4, 8, 16, 17};
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        size_t length = lengths[i];
        for (ptrdiff_t stride = -40; stride <= 40; stride++) {
            char from[1000], packed[200], to[1000], model[1000];
            if ((size_t)labs(stride) < length) continue;
            check_fill(from, sizeof from);
            memset(to, 0, sizeof to);
            memset(model, 0, sizeof model);
            for (int j = 0; j < 10; j++)
                memcpy(model + 500 + j * stride, from + 500 + j * stride, length);
            gasnete_vis_gather(packed, from + 500, length, stride, 10);
            gasnete_vis_scatter(to + 500, length, stride, 10, packed);
            check_each(memcmp(to, model, sizeof to) == 0, "%zu bytes at distances of %td", length,
                       stride);
        }
    }
    check_all("gathered and scattered");
}

/* --- rules and shapes that clients should not give --- */

static bool is_valid(size_t levels, const size_t *strides, const size_t *counts)
{
    gasnete_vis_side_t side = {
        .kind = GASNETE_VIS_STRIDED, .count = levels, .list = strides, .counts = counts};
    const char *why;
    return gasnete_vis_valid(&side, &why);
}

static void rules(void)
{
    const char *why;
    gasnete_vis_side_t empty_pieces = {.kind = GASNETE_VIS_INDEXED, .count = 1};
    check(!gasnete_vis_valid(&empty_pieces, &why), "pieces of length 0");
    check(!is_valid(1, (size_t[]){7}, (size_t[]){8, 2}), "a stride smaller than the block");
    check(is_valid(1, (size_t[]){7}, (size_t[]){8, 1}), "but it may be if it is not used");
    check(is_valid(1, (size_t[]){7}, (size_t[]){8, 0}), "or if the section is empty");
    check(!is_valid(2, (size_t[]){16, 31}, (size_t[]){8, 2, 2}),
          "a stride smaller than the level below");
    check(is_valid(2, (size_t[]){16, 32}, (size_t[]){8, 2, 2}), "one that is as large");
    check(!is_valid(2, (size_t[]){SIZE_MAX / 2, SIZE_MAX}, (size_t[]){8, 3, 2}),
          "larger than memory");
    gasnet_memvec_t wraps[] = {{(void *)(uintptr_t)16, 8}, {(void *)(UINTPTR_MAX - 7), 9}};
    gasnete_vis_side_t side = {.kind = GASNETE_VIS_VECTOR, .count = 2, .list = wraps};
    check(gasnete_vis_shape(&side).bytes == SIZE_MAX, "an entry that wraps around memory");
    size_t strides[70], counts[71];
    counts[0] = 1;
    for (int i = 0; i < 70; i++) counts[i + 1] = 2, strides[i] = 3;
    side = (gasnete_vis_side_t){
        .kind = GASNETE_VIS_STRIDED, .count = 70, .list = strides, .counts = counts};
    check(gasnete_vis_shape(&side).bytes == SIZE_MAX, "more levels than memory has room for");
}

/* --- the choice --- */

static enum gasnete_vis_way way(size_t local, size_t remote, size_t bytes, bool put, bool blocking,
                                gasnete_vis_limits_t limits)
{
    gasnete_vis_shape_t here = {.runs = local, .bytes = bytes},
                        there = {.runs = remote, .bytes = bytes};
    return gasnete_vis_choose(&here, &there, put, blocking, limits);
}

static void choice(void)
{
    const gasnete_vis_limits_t all = {true, true, false, 0}, none = {false, false, false, 0},
                               long_ones = {true, true, false, 4096}, lists = {true, true, true, 0};
    check(way(1, 1, 100, true, true, all) == GASNETE_VIS_EACH, "contiguous: one put");
    check(way(4096, 4096, 32768, true, true, all) == GASNETE_VIS_PACK, "4096 of 8 bytes: messages");
    check(way(4096, 4096, 32768, true, true, none) == GASNETE_VIS_EACH, "unless forbidden");
    check(way(64, 64, 262144, true, true, all) == GASNETE_VIS_EACH, "64 of 4 KiB: puts");
    check(way(64, 64, 262144, true, true, long_ones) == GASNETE_VIS_PACK,
          "unless they count as short");
    check(way(8, 8, 64, false, true, all) == GASNETE_VIS_EACH, "few: gets");
    check(way(2, 1, 64, true, false, all) == GASNETE_VIS_COPY, "to contiguous memory: one put");
    check(way(4096, 1, 32768, false, true, all) == GASNETE_VIS_COPY, "from it, blocking: one get");
    check(way(4096, 1, 32768, false, false, all) == GASNETE_VIS_PACK, "not blocking: messages");
    check(way(64, 1, 64 * 600, true, true, all) == GASNETE_VIS_COPY, "600 bytes: a buffer");
    check(way(64, 1, 64 * 600, true, true, lists) == GASNETE_VIS_LIST, "or lists");
    check(way(64, 1, 64 * 600, false, false, lists) == GASNETE_VIS_LIST,
          "also for gets that do not block");
    check(way(4096, 1, 32768, true, true, lists) == GASNETE_VIS_COPY, "but short ones: a buffer");
    check(way(64, 64, 64 * 600, true, true, lists) == GASNETE_VIS_EACH,
          "and several remote pieces: puts");
    check(way(1, 1, 4096, true, true, lists) == GASNETE_VIS_EACH, "and one piece: a put");
    check(way(1, 4096, 32768, true, true, all) == GASNETE_VIS_PACK,
          "from contiguous memory: messages");
    check(way(64, 64, 64 * 200, true, true, all) == GASNETE_VIS_EACH, "200 bytes: puts");
    check(way(64, 64, 64 * 200, false, true, all) == GASNETE_VIS_PACK,
          "but messages instead of gets");
}

int main(int argc, char **argv)
{
    check_begin(argc, argv);
    walks();
    pairs();
    random_bytes();
    compact();
    copies();
    rules();
    choice();
    return check_end();
}
