/* exchange.c - an MPI program that checks every byte it exchanges. Started by mpi.sh.
 *
 * Every part is run and checked by all ranks; rank 0 prints one line for each, "ok NAME" or "not ok
 * NAME". It uses only MPI, and no clock.
 */
#include <mpi.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int me, ranks;

/* The value of byte I of a message from FROM to TO. */
static unsigned char byte_of(size_t i, int from, int to, unsigned round)
{
    unsigned h = (unsigned)i * 2654435761u + (unsigned)from * 40503u + (unsigned)to * 9973u + round;
    return (unsigned char)(h ^ h >> 13);
}

static void fill(unsigned char *p, size_t n, int from, int to, unsigned round)
{
    for (size_t i = 0; i < n; i++) p[i] = byte_of(i, from, to, round);
}

static bool holds(const unsigned char *p, size_t n, int from, int to, unsigned round)
{
    for (size_t i = 0; i < n; i++)
        if (p[i] != byte_of(i, from, to, round)) {
            fprintf(stderr, "rank %d: byte %zu of %zu from rank %d is wrong\n", me, i, n, from);
            return false;
        }
    return true;
}

static void *room(size_t n)
{
    void *p = calloc(1, n ? n : 1);
    if (!p) MPI_Abort(MPI_COMM_WORLD, 3);
    return p;
}

static bool ring(void)
{
    static const int sizes[] = {0, 1, 64, 1000, 8192, 12345, 65536, 1 << 20, (4 << 20) + 3};
    int right = (me + 1) % ranks, left = (me + ranks - 1) % ranks;
    bool good = true;
    for (unsigned round = 0; round < sizeof sizes / sizeof *sizes; round++) {
        int n = sizes[round], got = -1;
        unsigned char *out = room(n), *in = room(n);
        MPI_Status status;
        fill(out, n, me, right, round);
        MPI_Sendrecv(out, n, MPI_BYTE, right, (int)round, in, n, MPI_BYTE, left, (int)round,
                     MPI_COMM_WORLD, &status);
        MPI_Get_count(&status, MPI_BYTE, &got);
        good = good && got == n && holds(in, n, left, me, round);
        free(out);
        free(in);
    }
    return good;
}

static bool all_to_all(void)
{
    static const int sizes[] = {1, 500, 30000};
    bool good = true;
    for (unsigned round = 0; round < sizeof sizes / sizeof *sizes; round++) {
        size_t n = sizes[round];
        unsigned char *out = room(n * ranks), *in = room(n * ranks);
        for (int r = 0; r < ranks; r++) fill(out + r * n, n, me, r, round);
        MPI_Alltoall(out, (int)n, MPI_BYTE, in, (int)n, MPI_BYTE, MPI_COMM_WORLD);
        for (int r = 0; r < ranks; r++) good = good && holds(in + r * n, n, r, me, round);
        free(out);
        free(in);
    }
    return good;
}

/* All messages are sent before any is received, then received in the opposite order: each is
 * unexpected. */
static bool unexpected(void)
{
    enum { MESSAGES = 300, LENGTH = 700 };
    int right = (me + 1) % ranks, left = (me + ranks - 1) % ranks;
    unsigned char *out = room(MESSAGES * LENGTH), *in = room(LENGTH);
    MPI_Request *request = room(MESSAGES * sizeof *request);
    bool good = true;
    for (int i = 0; i < MESSAGES; i++) {
        fill(out + i * LENGTH, LENGTH, me, right, (unsigned)i);
        MPI_Isend(out + i * LENGTH, LENGTH, MPI_BYTE, right, i, MPI_COMM_WORLD, &request[i]);
    }
    for (int i = MESSAGES - 1; i >= 0; i--) {
        MPI_Recv(in, LENGTH, MPI_BYTE, left, i, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        good = good && holds(in, LENGTH, left, me, (unsigned)i);
    }
    MPI_Waitall(MESSAGES, request, MPI_STATUSES_IGNORE);
    free(out);
    free(in);
    free(request);
    return good;
}

static bool large(void)
{
    size_t n = (size_t)24 << 20;
    int right = (me + 1) % ranks, left = (me + ranks - 1) % ranks;
    unsigned char *out = room(n), *in = room(n);
    MPI_Request request[2];
    fill(out, n, me, right, 77);
    MPI_Irecv(in, (int)n, MPI_BYTE, left, 5, MPI_COMM_WORLD, &request[0]);
    MPI_Isend(out, (int)n, MPI_BYTE, right, 5, MPI_COMM_WORLD, &request[1]);
    MPI_Waitall(2, request, MPI_STATUSES_IGNORE);
    bool good = holds(in, n, left, me, 77);
    free(out);
    free(in);
    return good;
}

static bool collectives(void)
{
    long sum = 0, want = 0, mine = me + 1, seen = me == 0 ? 4711 : 0;
    for (int r = 0; r < ranks; r++) want += r + 1;
    bool good = true;
    for (int i = 0; i < 50; i++) {
        MPI_Allreduce(&mine, &sum, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
        good = good && sum == want;
        MPI_Barrier(MPI_COMM_WORLD);
    }
    MPI_Bcast(&seen, 1, MPI_LONG, 0, MPI_COMM_WORLD);
    return good && seen == 4711;
}

/* The windows use memory that other processes cannot map, so that all traffic uses the network. */

/* Puts to the right, gets from the left: N bytes at the beginning of every window. */
static bool put_get(void)
{
    size_t n = 200000;
    int right = (me + 1) % ranks, left = (me + ranks - 1) % ranks;
    unsigned char *window = room(2 * n), *buffer = room(n);
    MPI_Win win;
    MPI_Win_create(window, (MPI_Aint)(2 * n), 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    fill(buffer, n, me, right, 9);
    MPI_Win_fence(0, win);
    fill(window + n, n, me, me, 10);
    MPI_Put(buffer, (int)n, MPI_BYTE, right, 0, (int)n, MPI_BYTE, win);
    MPI_Win_fence(0, win);
    bool good = holds(window, n, left, me, 9);
    MPI_Get(buffer, (int)n, MPI_BYTE, left, (MPI_Aint)n, (int)n, MPI_BYTE, win);
    MPI_Win_fence(0, win);
    good = good && holds(buffer, n, left, left, 10);
    MPI_Win_free(&win);
    free(window);
    free(buffer);
    return good;
}

/* All ranks add to the counters of all: no addition may be lost, and each old value is seen once.
 * */
static bool accumulate(void)
{
    enum { ROUNDS = 20, WORDS = 64 };
    long *window = room(sizeof(long) * (WORDS + 2)), one[WORDS], old = -1, next, seen = -1;
    bool good = true;
    MPI_Win win;
    window[WORDS + 1] = 1;
    MPI_Win_create(window, sizeof(long) * (WORDS + 2), sizeof(long), MPI_INFO_NULL, MPI_COMM_WORLD,
                   &win);
    for (int i = 0; i < WORDS; i++) one[i] = i + 1;
    MPI_Win_lock_all(0, win);
    for (int i = 0; i < ROUNDS; i++)
        for (int r = 0; r < ranks; r++)
            MPI_Accumulate(one, WORDS, MPI_LONG, r, 0, WORDS, MPI_LONG, MPI_SUM, win);
    for (int i = 0; i < ROUNDS; i++) {
        MPI_Fetch_and_op(one, &old, MPI_LONG, 0, WORDS, MPI_SUM, win);
        MPI_Win_flush(0, win);
        good = good && old > seen; /* with its own additions: the counter only grows */
        seen = old;
    }
    old = -1;
    /* A token in the window of rank 0 passes from rank to rank, except rank 0: Open MPI 4.1 over
     * openib cannot swap with itself. */
    for (next = me + 1; me > 0 && old != me;) {
        long from = me;
        MPI_Compare_and_swap(&next, &from, &old, MPI_LONG, 0, WORDS + 1, win);
        MPI_Win_flush(0, win);
    }
    MPI_Win_unlock_all(win);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_lock(MPI_LOCK_SHARED, me, 0, win);
    for (int i = 0; i < WORDS; i++) good = good && window[i] == (long)ranks * ROUNDS * (i + 1);
    if (me == 0) good = good && window[WORDS] == (long)ranks * ROUNDS && window[WORDS + 1] == ranks;
    MPI_Win_unlock(me, win);
    MPI_Win_free(&win);
    free(window);
    return good;
}

static const struct {
    const char *name;
    bool (*run)(void);
} parts[] = {
    {"ring", ring},
    {"all to all", all_to_all},
    {"unexpected messages", unexpected},
    {"24 MiB", large},
    {"collectives", collectives},
    {"put and get", put_get},
    {"accumulate", accumulate},
};

int main(int argc, char **argv)
{
    int bad = 0;
    setvbuf(stdout, NULL, _IOLBF, 0);
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    for (unsigned i = 0; i < sizeof parts / sizeof *parts; i++) {
        int good = parts[i].run(), all;
        MPI_Allreduce(&good, &all, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
        if (me == 0) printf("%s %s\n", all ? "ok" : "not ok", parts[i].name);
        bad += !all;
    }
    MPI_Finalize();
    return bad != 0;
}
