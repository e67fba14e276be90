/* heat.c - heat spreading over a square plate: one-sided puts, a barrier, and Active Messages.
 *
 * The plate is a grid of points whose left edge is kept hot.  Each process owns a band of rows and
 * in every step replaces each inner point by the mean of its four neighbours.  The rows next to a
 * band belong to other processes: before each step every process puts its outermost rows into the
 * "halo" rows of its neighbours' memory.  Every CHECK steps rank 0 collects the largest change by
 * Active Messages and sends it to all ranks; when the change is small enough all ranks stop.  At
 * the end rank 0 solves the same plate alone and compares the results.
 *
 *   gasnetrun_ibv -n 4 heat [points per side] [most steps]
 */
#include <gasnet.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CHANGE = 201, VERDICT = 202, CHECK = 50 };
static const double HOT = 100.0, SMALL = 0.02;

static int me, ranks, side, most_steps;
static int band_max; /* rows of the largest band: all processes lay out their segment alike */
static gasnet_seginfo_t *segment;

/* First row of a rank's band; also the end of the previous band. */
static int first_row(int rank)
{
    return (int)((long)side * rank / ranks);
}

/* Row `i` of a rank's band, as an address in that rank's segment; -1 and the row after the last are
 * its halo.  Each rank has two grids: a step reads one and writes the second. */
static double *row(int rank, int grid, int i)
{
    return (double *)segment[rank].addr + ((size_t)grid * (band_max + 2) + i + 1) * side;
}

static void barrier(void)
{
    gasnet_barrier_notify(0, GASNET_BARRIERFLAG_ANONYMOUS);
    gasnet_barrier_wait(0, GASNET_BARRIERFLAG_ANONYMOUS);
}

/* --- the largest change of all processes: to rank 0 and back, by Active Messages --- */

static volatile int changes_in, verdicts_in;
static double worst_change, verdict;

/* Handler arguments are 32 bits wide, so a double is sent as two arguments. */
static double join(gasnet_handlerarg_t high, gasnet_handlerarg_t low)
{
    uint64_t bits = (uint64_t)(uint32_t)high << 32 | (uint32_t)low;
    double value;
    memcpy(&value, &bits, sizeof(value));
    return value;
}

static void send_double(int rank, gasnet_handler_t handler, double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof(bits));
    gasnet_AMRequestShort2((gasnet_node_t)rank, handler, (gasnet_handlerarg_t)(bits >> 32),
                           (gasnet_handlerarg_t)bits);
}

static void change_handler(gasnet_token_t token, gasnet_handlerarg_t high, gasnet_handlerarg_t low)
{
    (void)token;
    double change = join(high, low);
    if (change > worst_change) worst_change = change;
    changes_in++;
}

static void verdict_handler(gasnet_token_t token, gasnet_handlerarg_t high, gasnet_handlerarg_t low)
{
    (void)token;
    verdict = join(high, low);
    verdicts_in++;
}

static double max_over_ranks(double mine)
{
    int expected = verdicts_in + 1;
    send_double(0, CHANGE, mine);
    if (me == 0) {
        GASNET_BLOCKUNTIL(changes_in == ranks);
        double worst = worst_change;
        changes_in = 0;
        worst_change = 0;
        for (int rank = 0; rank < ranks; rank++) send_double(rank, VERDICT, worst);
    }
    GASNET_BLOCKUNTIL(verdicts_in == expected);
    return verdict;
}

/* --- one step --- */

/* Computes one row; returns the largest change in it.  The parallel and the serial solver both use
 * it, so that their results agree to the last bit.  */
static double relax_row(double *out, const double *in, const double *above, const double *below)
{
    double worst = 0;
    for (int j = 1; j < side - 1; j++) {
        out[j] = 0.25 * (in[j - 1] + in[j + 1] + above[j] + below[j]);
        double change = fabs(out[j] - in[j]);
        if (change > worst) worst = change;
    }
    return worst;
}

/* Puts this band's outermost rows into the neighbours' halos.  After the barrier each process's own
 * halo is complete.  A halo that is still being read is not overwritten: consecutive steps use
 * different grids, and no process passes the barrier between them early.  */
static void exchange_halo(int grid)
{
    int rows = first_row(me + 1) - first_row(me);
    size_t bytes = (size_t)side * sizeof(double);
    if (me > 0) {
        int rows_above = first_row(me) - first_row(me - 1);
        gasnet_put_nbi_bulk((gasnet_node_t)(me - 1), row(me - 1, grid, rows_above),
                            row(me, grid, 0), bytes);
    }
    if (me < ranks - 1)
        gasnet_put_nbi_bulk((gasnet_node_t)(me + 1), row(me + 1, grid, -1), row(me, grid, rows - 1),
                            bytes);
    gasnet_wait_syncnbi_puts(); /* this rank's puts are complete ... */
    barrier();                  /* ... and those of all other ranks */
}

/* Solves the plate; returns the number of steps.  The result is in grid (steps % 2). */
static int solve(double *change)
{
    int first = first_row(me), rows = first_row(me + 1) - first, step = 0;
    for (*change = HOT; step<most_steps && * change> SMALL; step++) {
        int from = step % 2, to = 1 - from;
        double worst = 0;
        exchange_halo(from);
        for (int i = 0; i < rows; i++) {
            if (first + i == 0 || first + i == side - 1)
                continue; /* the edge of the plate is constant */
            double here = relax_row(row(me, to, i), row(me, from, i), row(me, from, i - 1),
                                    row(me, from, i + 1));
            if (here > worst) worst = here;
        }
        if ((step + 1) % CHECK == 0) *change = max_over_ranks(worst);
    }
    barrier();
    return step;
}

/* --- the check: rank 0 repeats the same steps alone --- */

static void heat_left_edge(double *grid, int rows)
{
    for (int i = 0; i < rows; i++) {
        for (int j = 0; j < side; j++) grid[(size_t)i * side + j] = j == 0 ? HOT : 0;
    }
}

/* Largest difference between the bands of all ranks and a serial solution. */
static double difference_from_serial(int steps)
{
    size_t points = (size_t)side * side;
    double *grid[2] = {malloc(points * sizeof(double)), malloc(points * sizeof(double))};
    double *theirs = malloc((size_t)side * sizeof(double)), worst = 0;
    if (!grid[0] || !grid[1] || !theirs) return HUGE_VAL;
    heat_left_edge(grid[0], side);
    heat_left_edge(grid[1], side);
    for (int step = 0; step < steps; step++) {
        double *in = grid[step % 2], *out = grid[1 - step % 2];
        for (int i = 1; i < side - 1; i++) {
            double *line = in + (size_t)i * side;
            relax_row(out + (size_t)i * side, line, line - side, line + side);
        }
    }
    for (int rank = 0; rank < ranks; rank++) {
        for (int i = first_row(rank); i < first_row(rank + 1); i++) {
            double *line = grid[steps % 2] + (size_t)i * side;
            gasnet_get_bulk(theirs, (gasnet_node_t)rank, row(rank, steps % 2, i - first_row(rank)),
                            (size_t)side * sizeof(double));
            for (int j = 0; j < side; j++) worst = fmax(worst, fabs(theirs[j] - line[j]));
        }
    }
    free(grid[0]), free(grid[1]), free(theirs);
    return worst;
}

int main(int argc, char **argv)
{
    gasnet_handlerentry_t handlers[] = {{CHANGE, change_handler}, {VERDICT, verdict_handler}};

    if (gasnet_init(&argc, &argv) != GASNET_OK) return 1;
    me = (int)gasnet_mynode(), ranks = (int)gasnet_nodes();
    side = argc > 1 ? atoi(argv[1]) : 256;
    most_steps = argc > 2 ? atoi(argv[2]) : 2000;
    if (side < 3 || side < ranks || side > 20000 || most_steps < 1) {
        if (me == 0)
            fprintf(stderr, "usage: heat [points per side: >= 3 and >= ranks] [most steps >= 1]\n");
        gasnet_exit(1);
    }

    band_max = (side + ranks - 1) / ranks;
    uintptr_t bytes = (uintptr_t)2 * (band_max + 2) * side * sizeof(double);
    bytes = (bytes + GASNET_PAGESIZE - 1) / GASNET_PAGESIZE * GASNET_PAGESIZE;
    if (gasnet_attach(handlers, 2, bytes, 0) != GASNET_OK) return 1;
    segment = malloc((size_t)ranks * sizeof(*segment));
    if (!segment) gasnet_exit(1);
    gasnet_getSegmentInfo(segment, ranks);
    heat_left_edge((double *)segment[me].addr, 2 * (band_max + 2));
    barrier(); /* every grid is initialised before a neighbour puts into it */

    double change;
    int steps = solve(&change), failed = 0;
    if (me == 0) {
        double off = difference_from_serial(steps);
        failed = !(off < 1e-9);
        printf("heat: %d x %d points on %d processes, %d steps, last change %.2g, %s (differs by "
               "%g)\n",
               side, side, ranks, steps, change, failed ? "FAILED" : "verified", off);
    }
    barrier(); /* no segment disappears while rank 0 reads it */
    gasnet_exit(failed);
}
