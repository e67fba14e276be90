/* vis.c - strided puts and gets beside the loop of implicit operations that they replace; vis.sh
 * prints the figures.
 *
 *   vis time PIECES BYTES LAYOUT      microseconds: put loop, put, get loop, get; the best of many
 *   vis DIRECTION WAY PIECES BYTES LAYOUT N     does it N times, inside counted()
 * DIRECTION is put or get; WAY is `loop`, `section`, or `nb`, of which the start alone is counted.
 * LAYOUT says on which sides the pieces are apart: `both`, `local` or `remote`.  Rank 0 acts; rank
 * 1 polls.
 */
#include "tests/programs/test.h"

#include <gasnet_tools.h>

enum { SEGMENT = 64 << 20, REPEATS = 151 };

static size_t pieces, bytes, local_stride, remote_stride;
static char *local, *remote;
static void **local_list, **remote_list; /* NULL: a section */

static void loop_put(void)
{
    for (size_t i = 0; i < pieces; i++)
        if (local_list)
            gasnet_put_nbi_bulk(1, remote_list[i], local_list[i], bytes);
        else
            gasnet_put_nbi_bulk(1, remote + i * remote_stride, local + i * local_stride, bytes);
    gasnet_wait_syncnbi_puts();
}

static void loop_get(void)
{
    for (size_t i = 0; i < pieces; i++)
        if (local_list)
            gasnet_get_nbi_bulk(local_list[i], 1, remote_list[i], bytes);
        else
            gasnet_get_nbi_bulk(local + i * local_stride, 1, remote + i * remote_stride, bytes);
    gasnet_wait_syncnbi_gets();
}

static void section_put(void)
{
    if (local_list) {
        gasnet_puti_bulk(1, pieces, remote_list, bytes, pieces, local_list, bytes);
        return;
    }
    const size_t count[2] = {bytes, pieces};
    gasnet_puts_bulk(1, remote, &remote_stride, local, &local_stride, count, 1);
}

static void section_get(void)
{
    if (local_list) {
        gasnet_geti_bulk(pieces, local_list, bytes, 1, pieces, remote_list, bytes);
        return;
    }
    const size_t count[2] = {bytes, pieces};
    gasnet_gets_bulk(local, &local_stride, 1, remote, &remote_stride, count, 1);
}

static gasnet_handle_t handle;

static void start_put(void)
{
    const size_t count[2] = {bytes, pieces};
    if (local_list)
        handle = gasnet_puti_nb_bulk(1, pieces, remote_list, bytes, pieces, local_list, bytes);
    else
        handle = gasnet_puts_nb_bulk(1, remote, &remote_stride, local, &local_stride, count, 1);
}

static void start_get(void)
{
    const size_t count[2] = {bytes, pieces};
    if (local_list)
        handle = gasnet_geti_nb_bulk(pieces, local_list, bytes, 1, pieces, remote_list, bytes);
    else
        handle = gasnet_gets_nb_bulk(local, &local_stride, 1, remote, &remote_stride, count, 1);
}

/* Callgrind collects from entry to exit of this function. */
void counted(void (*operation)(void));
__attribute__((noinline)) void counted(void (*operation)(void))
{
    operation();
    __asm__ volatile("" ::: "memory"); /* no tail call: we must return from here */
}

/* The addresses of a section, in random order. */
static void **shuffled(char *start, size_t stride, uint64_t seed)
{
    void **list = malloc(pieces * sizeof *list);
    if (!list) abort();
    for (size_t i = 0; i < pieces; i++) {
        size_t j = seed % (i + 1);
        list[i] = list[j];
        list[j] = start + i * stride;
        seed = test_mix(seed);
    }
    return list;
}

static void layout(const char *const *words)
{
    pieces = strtoul(words[0], NULL, 0);
    bytes = strtoul(words[1], NULL, 0);
    local_stride = bytes * (strcmp(words[2], "remote") ? 4 : 1);
    remote_stride = bytes * (strcmp(words[2], "local") ? 4 : 1);
    local = test_at(test_rank, SEGMENT / 2);
    remote = test_at(1, 0);
    if (pieces * bytes * 4 > SEGMENT / 2) abort();
    if (strcmp(words[2], "list") != 0) return;
    local_list = shuffled(local, local_stride, 1);
    remote_list = shuffled(remote, remote_stride, 2);
}

/* Alternating, so that what else the machine does meets all four. */
static void take_times(void)
{
    void (*const operations[])(void) = {loop_put, section_put, loop_get, section_get};
    double best[4] = {0};
    for (int i = 0; i < REPEATS * 4; i++) {
        gasnett_tick_t start = gasnett_ticks_now();
        operations[i % 4]();
        double took = (double)gasnett_ticks_to_ns(gasnett_ticks_now() - start) / 1000;
        if (i < 4 || took < best[i % 4]) best[i % 4] = took;
    }
    printf("%.1f %.1f %.1f %.1f\n", best[0], best[1], best[2], best[3]);
}

static void repeat(const char *direction, const char *way, int n)
{
    static const struct {
        const char *way;
        void (*put)(void), (*get)(void);
    } ways[] = {{"loop", loop_put, loop_get},
                {"section", section_put, section_get},
                {"nb", start_put, start_get}};
    for (int i = 0; i < TEST_COUNT(ways); i++) {
        if (strcmp(ways[i].way, way) != 0) continue;
        for (int k = 0; k < n; k++) {
            counted(strcmp(direction, "put") ? ways[i].get : ways[i].put);
            gasnet_wait_syncnb(handle);
            handle = GASNET_INVALID_HANDLE;
        }
    }
}

int main(int argc, char **argv)
{
    test_start(&argc, &argv, NULL, 0, SEGMENT);
    const char *const *words = (const char *const *)argv;
    bool timed = argc == 5;
    if (!timed && argc != 7) return 2;
    layout(timed ? words + 2 : words + 3);
    test_sync();
    if (test_rank == 0 && timed) take_times();
    if (test_rank == 0 && !timed) repeat(words[1], words[2], atoi(words[6]));
    test_sync();
    gasnet_exit(0);
}
