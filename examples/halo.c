/* halo.c - a 2-D halo exchange: columns of an array as strided puts.
 *
 * A torus of cells is divided into square blocks, one for each process.  In every step each cell
 * becomes the sum of itself and its four neighbours, so each process needs the outermost rows and
 * columns of the blocks beside its own: the "halo" around its block.  A row is contiguous, and one
 * gasnet_put.  A column is a cell in each row: one gasnet_puts, or one put for each row.  The
 * program does both, to show what gasnet_puts saves, and prints the time of the fastest exchange.
 * Then rank 0 computes the same torus alone and compares it with all blocks, which it reads by
 * gasnet_gets.
 *
 *   gasnetrun_ibv -n 4 halo [cells on the side of a block] [steps]
 */
#include <gasnet.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <gasnet_tools.h>

typedef uint64_t cell; /* sums wrap around, and so are exact */

static int me, ranks, across, down; /* the blocks form `down` rows of `across` */
static size_t side, width;          /* side of a block; width of a row with its halo */
static int steps;
static gasnet_seginfo_t *segment;

static void barrier(void)
{
    gasnet_barrier_notify(0, GASNET_BARRIERFLAG_ANONYMOUS);
    gasnet_barrier_wait(0, GASNET_BARRIERFLAG_ANONYMOUS);
}

/* A cell of a rank's block, in one of its two grids: 1 to side in each direction; 0 and side + 1
 * are the halo.  All segments have the same layout, so this is right for other ranks too. */
static cell *at(int rank, int grid, size_t row, size_t column)
{
    return (cell *)segment[rank].addr + ((size_t)grid * width + row) * width + column;
}

static int block(int y, int x)
{
    return (y + down) % down * across + (x + across) % across;
}

static void put_row(int to, size_t there, int grid, size_t here)
{
    gasnet_put_nbi_bulk((gasnet_node_t)to, at(to, grid, there, 1), at(me, grid, here, 1),
                        side * sizeof(cell));
}

/* Puts a column: one cell, repeated `side` times at the distance of a row. */
static void put_column(int to, size_t there, int grid, size_t here)
{
    const size_t stride = width * sizeof(cell), count[2] = {sizeof(cell), side};
    gasnet_puts_nbi_bulk((gasnet_node_t)to, at(to, grid, 1, there), &stride, at(me, grid, 1, here),
                         &stride, count, 1);
}

static void put_column_by_cells(int to, size_t there, int grid, size_t here)
{
    for (size_t row = 1; row <= side; row++)
        gasnet_put_nbi_bulk((gasnet_node_t)to, at(to, grid, row, there), at(me, grid, row, here),
                            sizeof(cell));
}

/* Puts this block's outermost rows and columns into its neighbours' halos.  A halo that is still
 * being read is not overwritten: consecutive steps use different grids, and no process passes the
 * barrier between them early. */
static void exchange(int grid, int by_cells)
{
    void (*column)(int, size_t, int, size_t) = by_cells ? put_column_by_cells : put_column;
    int y = me / across, x = me % across;
    put_row(block(y - 1, x), side + 1, grid, 1);
    put_row(block(y + 1, x), 0, grid, side);
    column(block(y, x - 1), side + 1, grid, 1);
    column(block(y, x + 1), 0, grid, side);
    gasnet_wait_syncnbi_puts();
}

/* The value of a cell of the torus at the start. */
static cell start_value(size_t row, size_t column)
{
    return (row * 2654435761U) ^ (column * 40503U);
}

static void relax(int from, int to)
{
    for (size_t i = 1; i <= side; i++) {
        const cell *above = at(me, from, i - 1, 0), *in = above + width, *below = in + width;
        cell *out = at(me, to, i, 0);
        for (size_t j = 1; j <= side; j++)
            out[j] = in[j] + in[j - 1] + in[j + 1] + above[j] + below[j];
    }
}

/* Makes all steps; returns the microseconds of the fastest exchange. */
static double solve(int by_cells)
{
    size_t first_row = (size_t)(me / across) * side, first_column = (size_t)(me % across) * side;
    gasnett_tick_t best = GASNETT_TICK_MAX;
    for (size_t i = 1; i <= side; i++)
        for (size_t j = 1; j <= side; j++)
            *at(me, 0, i, j) = start_value(first_row + i - 1, first_column + j - 1);
    for (int step = 0; step < steps; step++) {
        barrier(); /* only for the clock: the time of an exchange has no waiting for a late rank */
        gasnett_tick_t begin = gasnett_ticks_now();
        exchange(step % 2, by_cells);
        gasnett_tick_t took = gasnett_ticks_now() - begin;
        if (took < best) best = took;
        barrier(); /* the puts of all ranks are complete */
        relax(step % 2, 1 - step % 2);
    }
    barrier();
    return (double)gasnett_ticks_to_ns(best) / 1000;
}

/* --- the check: rank 0 computes the whole torus --- */

static cell *whole_torus(size_t rows, size_t columns)
{
    cell *in = malloc(rows * columns * sizeof *in), *out = malloc(rows * columns * sizeof *out);
    if (!in || !out) gasnet_exit(1);
    for (size_t i = 0; i < rows; i++)
        for (size_t j = 0; j < columns; j++) in[i * columns + j] = start_value(i, j);
    for (int step = 0; step < steps; step++) {
        for (size_t i = 0; i < rows; i++) {
            const cell *row = in + i * columns, *above = in + (i + rows - 1) % rows * columns,
                       *below = in + (i + 1) % rows * columns;
            for (size_t j = 0; j < columns; j++)
                out[i * columns + j] = row[j] + row[(j + columns - 1) % columns] +
                                       row[(j + 1) % columns] + above[j] + below[j];
        }
        cell *finished = out;
        out = in;
        in = finished;
    }
    free(out);
    return in;
}

/* The number of wrong cells.  A block without its halo is a section of its grid, and of the torus.
 */
static size_t wrong_cells(void)
{
    size_t rows = side * (size_t)down, columns = side * (size_t)across, wrong = 0;
    size_t here = columns * sizeof(cell), there = width * sizeof(cell);
    const size_t count[2] = {side * sizeof(cell), side};
    cell *expected = whole_torus(rows, columns), *torus = calloc(rows * columns, sizeof *torus);
    if (!torus) gasnet_exit(1);
    for (int rank = 0; rank < ranks; rank++) {
        cell *corner = torus + ((size_t)(rank / across) * columns + (size_t)(rank % across)) * side;
        gasnet_gets_nbi_bulk(corner, &here, (gasnet_node_t)rank, at(rank, steps % 2, 1, 1), &there,
                             count, 1);
    }
    gasnet_wait_syncnbi_gets();
    for (size_t i = 0; i < rows * columns; i++) wrong += torus[i] != expected[i];
    free(expected), free(torus);
    return wrong;
}

int main(int argc, char **argv)
{
    if (gasnet_init(&argc, &argv) != GASNET_OK) return 1;
    me = (int)gasnet_mynode(), ranks = (int)gasnet_nodes();
    int cells = argc > 1 ? atoi(argv[1]) : 256;
    steps = argc > 2 ? atoi(argv[2]) : 100;
    if (cells < 1 || cells > 10000 || steps < 1) {
        if (me == 0) fprintf(stderr, "usage: halo [cells on a side: 1 to 10000] [steps >= 1]\n");
        gasnet_exit(1);
    }
    side = (size_t)cells, width = side + 2;
    for (down = 1, across = 1; down * down <= ranks; down++)
        if (ranks % down == 0) across = ranks / down;
    down = ranks / across; /* as square as possible */

    uintptr_t bytes = 2 * width * width * sizeof(cell);
    bytes = (bytes + GASNET_PAGESIZE - 1) / GASNET_PAGESIZE * GASNET_PAGESIZE;
    if (gasnet_attach(NULL, 0, bytes, 0) != GASNET_OK) return 1;
    segment = malloc((size_t)ranks * sizeof(*segment));
    if (!segment) gasnet_exit(1);
    gasnet_getSegmentInfo(segment, ranks);

    int failed = 0;
    for (int by_cells = 1; by_cells >= 0; by_cells--) {
        double us = solve(by_cells);
        if (me == 0) {
            size_t wrong = wrong_cells();
            printf("halo: %d x %d blocks of %zu x %zu cells, %d steps, columns %s: an exchange "
                   "takes %.1f us, %s\n",
                   down, across, side, side, steps, by_cells ? "cell by cell" : "by gasnet_puts",
                   us, wrong ? "FAILED" : "verified");
            failed |= wrong != 0;
        }
        barrier(); /* no block changes while rank 0 reads it */
    }
    gasnet_exit(failed);
}
