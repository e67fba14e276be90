/* cg.c - the conjugate gradient method: dot products by reduce and broadcast, rows of neighbours by
 * puts.
 *
 * It solves A x = b.  The product with A is, at each point of a square grid, four times the point
 * minus its four neighbours (points outside count as zero).  b is made from a known solution, so
 * that the result can be checked.  Each process owns a band of rows.  A product with A needs the
 * rows next to the band, which the neighbours put into this process's halo; a dot product is the
 * sum of all bands' parts, which rank 0 gets by reduce and all ranks get by broadcast.
 *
 *   gasnetrun_ibv -n 4 cg [points per side]
 */
#include <gasnet_coll.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MINE = GASNET_COLL_LOCAL | GASNET_COLL_IN_MYSYNC | GASNET_COLL_OUT_MYSYNC };
enum { SUM, LARGEST, FUNCTIONS };

static int me, ranks, side, rows, band_max;
static size_t points; /* points of this rank's band */
static gasnet_seginfo_t *segment;

/* --- the functions of reduce: results[i] = left[i] op right[i] --- */

static void sum(void *results, size_t count, const void *left, size_t left_count, const void *right,
                size_t elem_size, int flags, int arg)
{
    (void)left_count, (void)elem_size, (void)flags, (void)arg;
    double *result = results;
    const double *a = left, *b = right;
    for (size_t i = 0; i < count; i++) result[i] = a[i] + b[i];
}

static void largest(void *results, size_t count, const void *left, size_t left_count,
                    const void *right, size_t elem_size, int flags, int arg)
{
    (void)left_count, (void)elem_size, (void)flags, (void)arg;
    double *result = results;
    const double *a = left, *b = right;
    for (size_t i = 0; i < count; i++) result[i] = fmax(a[i], b[i]);
}

/* Combines the values of all processes; returns the result on all processes.  */
static double combined(double value, gasnet_coll_fn_handle_t function)
{
    double result = 0;
    gasnet_coll_reduce(GASNET_TEAM_ALL, 0, &result, &value, 0, 0, sizeof value, 1, function, 0,
                       MINE);
    gasnet_coll_broadcast(GASNET_TEAM_ALL, &result, 0, &result, sizeof result, MINE);
    return result;
}

static double dot(const double *a, const double *b)
{
    double part = 0;
    for (size_t i = 0; i < points; i++) part += a[i] * b[i];
    return combined(part, SUM);
}

/* --- the vector to which A is applied: in the segment, with a row of halo on either side --- */

static int first_row(int rank)
{
    return (int)((long)side * rank / ranks);
}

/* Row `i` of a rank's vector; -1 and the row after the last are its halo.  */
static double *row(int rank, int i)
{
    return (double *)segment[rank].addr + (size_t)(i + 1) * (size_t)side;
}

static void barrier(void)
{
    gasnet_barrier_notify(0, GASNET_BARRIERFLAG_ANONYMOUS);
    gasnet_barrier_wait(0, GASNET_BARRIERFLAG_ANONYMOUS);
}

/* Puts this band's outermost rows into the neighbours' halos.  A halo is not overwritten while it
 * is in use: a dot product follows each use, and no process begins the next product with A before
 * all have taken part in the dot product.  */
static void exchange_halo(void)
{
    const size_t bytes = (size_t)side * sizeof(double);
    if (me > 0) {
        const int rows_above = first_row(me) - first_row(me - 1);
        gasnet_put_nbi_bulk((gasnet_node_t)(me - 1), row(me - 1, rows_above), row(me, 0), bytes);
    }
    if (me < ranks - 1)
        gasnet_put_nbi_bulk((gasnet_node_t)(me + 1), row(me + 1, -1), row(me, rows - 1), bytes);
    gasnet_wait_syncnbi_puts();
    barrier();
}

/* out = A p, p being the vector in the segment.  */
static void apply(double *out)
{
    exchange_halo();
    for (int i = 0; i < rows; i++) {
        const double *here = row(me, i), *above = row(me, i - 1), *below = row(me, i + 1);
        for (int j = 0; j < side; j++) {
            const double left = j > 0 ? here[j - 1] : 0, right = j < side - 1 ? here[j + 1] : 0;
            out[(size_t)i * (size_t)side + (size_t)j] =
                4 * here[j] - left - right - above[j] - below[j];
        }
    }
}

/* Solves A x = b from x = 0; returns the number of steps.  r is the residual b - A x.  */
static int solve(double *x, double *r, double *product)
{
    double *p = row(me, 0), rr = dot(r, r);
    const double enough = rr * 1e-24;
    int step = 0;
    memcpy(p, r, points * sizeof *p);
    for (; rr > enough && step < 10 * side; step++) {
        apply(product);
        const double alpha = rr / dot(p, product), before = rr;
        for (size_t i = 0; i < points; i++) {
            x[i] += alpha * p[i];
            r[i] -= alpha * product[i];
        }
        rr = dot(r, r);
        for (size_t i = 0; i < points; i++) p[i] = r[i] + rr / before * p[i];
    }
    return step;
}

static double solution(int i, int j)
{
    return sin(0.1 * i) + 0.01 * j;
}

static double *vector(void)
{
    double *v = calloc(points, sizeof *v);
    if (!v) {
        fprintf(stderr, "cg: rank %d: no memory for %zu points\n", me, points);
        gasnet_exit(1);
    }
    return v;
}

int main(int argc, char **argv)
{
    gasnet_coll_fn_entry_t functions[FUNCTIONS] = {[SUM] = {sum, 0}, [LARGEST] = {largest, 0}};

    if (gasnet_init(&argc, &argv) != GASNET_OK) return 1;
    me = (int)gasnet_mynode(), ranks = (int)gasnet_nodes();
    side = argc > 1 ? atoi(argv[1]) : 100;
    if (side < ranks || side > 20000) {
        if (me == 0) fprintf(stderr, "usage: cg [points per side >= ranks]\n");
        gasnet_exit(1);
    }
    band_max = (side + ranks - 1) / ranks;
    uintptr_t bytes = (uintptr_t)(band_max + 2) * (uintptr_t)side * sizeof(double);
    bytes = (bytes + GASNET_PAGESIZE - 1) / GASNET_PAGESIZE * GASNET_PAGESIZE;
    if (gasnet_attach(NULL, 0, bytes, 0) != GASNET_OK) return 1;
    segment = calloc((size_t)ranks, sizeof *segment);
    if (!segment) gasnet_exit(1);
    gasnet_getSegmentInfo(segment, ranks);
    gasnet_coll_init(NULL, 0, functions, FUNCTIONS, 0);

    rows = first_row(me + 1) - first_row(me);
    points = (size_t)rows * (size_t)side;
    memset(segment[me].addr, 0, bytes);
    double *x = vector(), *b = vector(), *product = vector();
    for (size_t i = 0; i < points; i++)
        row(me, 0)[i] = solution(first_row(me) + (int)(i / (size_t)side), (int)(i % (size_t)side));
    barrier(); /* all halos are zero before a neighbour puts into them */
    apply(b);
    const double size = sqrt(dot(b, b));
    const int steps = solve(x, b, product);

    double off = 0;
    for (size_t i = 0; i < points; i++)
        off = fmax(off, fabs(x[i] - solution(first_row(me) + (int)(i / (size_t)side),
                                             (int)(i % (size_t)side))));
    off = combined(off, LARGEST);
    const int failed = !(off < 1e-6);
    if (me == 0)
        printf("cg: %d x %d points on %d processes, |b| = %.3g, %d steps, %s (differs by %.2g)\n",
               side, side, ranks, size, steps, failed ? "FAILED" : "verified", off);
    barrier();
    gasnet_exit(failed);
}
