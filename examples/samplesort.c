/* samplesort.c - sorting numbers that lie on all processes, by gather_all and exchange.
 *
 * Each process makes numbers at random and sorts them.  From evenly spaced samples of all processes
 * (gather_all) each process finds the same splitters: numbers between two splitters belong to one
 * process.  The processes exchange how many numbers they will send (exchange), then send the
 * numbers (exchange), in blocks of equal size, as exchange requires.  At the end the numbers of
 * rank r are not larger than those of rank r + 1, and no number is lost.
 *
 *   gasnetrun_ibv -n 4 samplesort [numbers per process]
 */
#include <gasnet_coll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Each process passes its own addresses, and may touch its data as soon as the call returns.  */
enum { MINE = GASNET_COLL_LOCAL | GASNET_COLL_IN_MYSYNC | GASNET_COLL_OUT_MYSYNC };

static int me, ranks;

static void *allocate(size_t count, size_t size)
{
    void *memory = calloc(count ? count : 1, size);
    if (!memory) {
        fprintf(stderr, "samplesort: rank %d: no memory for %zu numbers\n", me, count);
        gasnet_exit(1);
    }
    return memory;
}

static int ascending(const void *a, const void *b)
{
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

static void sort(uint64_t *numbers, size_t count)
{
    qsort(numbers, count, sizeof *numbers, ascending);
}

/* A generator with 64 bits of state; small numbers are more frequent, so that equal intervals of
 * values would be a poor division.  */
static uint64_t random_number(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    const uint64_t x = *state >> 33;
    return x * x >> (x & 15);
}

/* splitter[r - 1] is the first number of rank r, for r = 1 ... ranks - 1.  */
static void find_splitters(const uint64_t *sorted, size_t count, uint64_t *splitter)
{
    const size_t each = (size_t)ranks; /* samples of a process */
    uint64_t *sample = allocate(each, sizeof *sample);
    uint64_t *all = allocate(each * (size_t)ranks, sizeof *all);
    for (size_t i = 0; i < each; i++) sample[i] = sorted[i * count / each];
    gasnet_coll_gather_all(GASNET_TEAM_ALL, all, sample, each * sizeof *sample, MINE);
    sort(all, each * (size_t)ranks);
    for (int r = 1; r < ranks; r++) splitter[r - 1] = all[(size_t)r * each];
    free(sample);
    free(all);
}

/* Counts the sorted numbers that go to each rank.  */
static void count_by_rank(const uint64_t *sorted, size_t count, const uint64_t *splitter,
                          uint64_t *to)
{
    size_t i = 0;
    for (int r = 0; r < ranks; r++) {
        const size_t first = i;
        while (i < count && (r == ranks - 1 || sorted[i] < splitter[r])) i++;
        to[r] = i - first;
    }
}

static uint64_t largest_of_all(const uint64_t *value)
{
    uint64_t mine = 0, largest = 0, *all = allocate((size_t)ranks, sizeof *all);
    for (int r = 0; r < ranks; r++)
        if (value[r] > mine) mine = value[r];
    gasnet_coll_gather_all(GASNET_TEAM_ALL, all, &mine, sizeof mine, MINE);
    for (int r = 0; r < ranks; r++)
        if (all[r] > largest) largest = all[r];
    free(all);
    return largest;
}

/* Sends to[r] of the numbers to each rank r; returns the numbers that came from all ranks, and
 * their count.  */
static uint64_t *redistribute(const uint64_t *sorted, const uint64_t *to, size_t *received)
{
    const size_t block = (size_t)largest_of_all(to), total = block * (size_t)ranks;
    uint64_t *from = allocate((size_t)ranks, sizeof *from);
    uint64_t *out = allocate(total, sizeof *out), *in = allocate(total, sizeof *in);
    for (int r = 0; r < ranks; r++) {
        memcpy(out + (size_t)r * block, sorted, to[r] * sizeof *out);
        sorted += to[r];
    }
    gasnet_coll_exchange(GASNET_TEAM_ALL, from, (void *)(uintptr_t)to, sizeof *to, MINE);
    gasnet_coll_exchange(GASNET_TEAM_ALL, in, out, block * sizeof *out, MINE);
    *received = 0;
    for (int r = 0; r < ranks; r++) { /* moves blocks together, without the unused parts */
        memmove(in + *received, in + (size_t)r * block, from[r] * sizeof *in);
        *received += from[r];
    }
    free(from);
    free(out);
    return in;
}

struct summary {
    uint64_t count, sum, first, last;
};

static struct summary summarize(const uint64_t *number, size_t count)
{
    struct summary s = {count, 0, UINT64_MAX, 0};
    for (size_t i = 0; i < count; i++) {
        s.sum += number[i];
        if (number[i] < s.first) s.first = number[i];
        if (number[i] > s.last) s.last = number[i];
    }
    return s;
}

/* True if no number is lost, and the numbers are in order over all ranks.  */
static int verified(struct summary before, const uint64_t *number, size_t count)
{
    struct summary mine[2] = {before, summarize(number, count)};
    struct summary *all = allocate((size_t)ranks, sizeof mine);
    uint64_t numbers = 0, sum = 0, last = 0;
    int right = 1;
    for (size_t i = 1; i < count; i++) right &= number[i - 1] <= number[i];
    gasnet_coll_gather_all(GASNET_TEAM_ALL, all, mine, sizeof mine, MINE);
    for (int r = 0; r < ranks; r++) {
        const struct summary had = all[2 * r], has = all[2 * r + 1];
        numbers += has.count - had.count; /* differences may wrap around; their sums are 0 */
        sum += has.sum - had.sum;
        if (has.count == 0) continue;
        right &= last <= has.first;
        last = has.last;
    }
    free(all);
    return right && numbers == 0 && sum == 0;
}

int main(int argc, char **argv)
{
    if (gasnet_init(&argc, &argv) != GASNET_OK) return 1;
    if (gasnet_attach(NULL, 0, GASNET_PAGESIZE, 0) != GASNET_OK) return 1;
    gasnet_coll_init(NULL, 0, NULL, 0, 0);
    me = (int)gasnet_mynode(), ranks = (int)gasnet_nodes();
    const long wanted = argc > 1 ? atol(argv[1]) : 100000;
    if (wanted < 1) {
        if (me == 0) fprintf(stderr, "usage: samplesort [numbers per process >= 1]\n");
        gasnet_exit(1);
    }

    const size_t count = (size_t)wanted;
    uint64_t *number = allocate(count, sizeof *number), state = (uint64_t)me;
    for (size_t i = 0; i < count; i++) number[i] = random_number(&state);
    const struct summary before = summarize(number, count);

    sort(number, count);
    uint64_t *splitter = allocate((size_t)ranks, sizeof *splitter);
    uint64_t *to = allocate((size_t)ranks, sizeof *to);
    find_splitters(number, count, splitter);
    count_by_rank(number, count, splitter, to);
    size_t received;
    uint64_t *sorted = redistribute(number, to, &received);
    sort(sorted, received);

    const int right = verified(before, sorted, received);
    if (me == 0)
        printf("samplesort: %zu numbers on each of %d processes, %s\n", count, ranks,
               right ? "verified" : "FAILED");
    free(number), free(splitter), free(to), free(sorted);
    gasnet_exit(!right);
}
