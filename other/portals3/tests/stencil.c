/*
 * stencil.c - a one-sided program of the kind written over Portals: a field distributed over a ring
 * of processes, which put their edges into the windows of the next and previous process; a single
 * process gets all parts.
 *
 * The result is, to the last bit, that of one process alone.
 */
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "other/portals3/tests/ring.h"

enum { PT = 38, CELLS = 500, STEPS = 40, BITS_WINDOW = 1, BITS_EDGES = 2 };

/* Memory of this process that peers access: its cells, two edges of either side, as the next
 * process may be ahead by one step, and the edges that it puts itself. */
struct window {
    double cells[CELLS];
    double edges[2][2];
    double out[2];
};
enum { LEFT, RIGHT };

static struct window window;
static ptl_handle_md_t local; /* over the window too: source and destination */
static ptl_handle_eq_t eq, eq_edges;

static double start(int cell)
{
    return (double)(cell * 7919 % 1000);
}

static double step(double left, double middle, double right)
{
    return middle + 0.25 * (left - 2 * middle + right);
}

/* Waits for the events that end a put or a get. */
static void ended(ptl_event_kind_t kind)
{
    ptl_event_t event = ring_event(eq, kind);
    ring_expect(event.ni_fail_type == PTL_NI_OK, "%s with a failure", PtlEventKindStr(kind));
}

/* Puts an edge of this step into the window of the process on that side, which has it on its other
 * side. */
static void put_edge(int side, int turn, double value)
{
    ptl_process_id_t to = side == LEFT ? ring.previous : ring.next;
    int theirs = side == LEFT ? RIGHT : LEFT;
    ptl_size_t offset = offsetof(struct window, out) + (ptl_size_t)side * 8;
    window.out[side] = value;
    RING_OK(PtlPutRegion(local, offset, sizeof value, PTL_ACK_REQ, to, PT, 0, BITS_EDGES,
                         (ptl_size_t)(theirs * 2 + turn % 2) * sizeof value,
                         (ptl_hdr_data_t)theirs));
}

static void steps(void)
{
    int came[2] = {0, 0};
    for (int i = 0; i < STEPS; i++) {
        double old[CELLS];
        memcpy(old, window.cells, sizeof old);
        put_edge(LEFT, i, old[0]);
        put_edge(RIGHT, i, old[CELLS - 1]);
        for (int end = 0; end < 4; end++) {
            ptl_event_t event;
            RING_OK(PtlEQWait(eq, &event));
            ring_expect(event.ni_fail_type == PTL_NI_OK, "a put has failed");
        }
        while (came[LEFT] <= i || came[RIGHT] <= i) {
            ptl_event_t event = ring_event(eq_edges, PTL_EVENT_PUT_END);
            came[event.hdr_data]++;
        }
        for (int c = 1; c < CELLS - 1; c++) window.cells[c] = step(old[c - 1], old[c], old[c + 1]);
        window.cells[0] = step(window.edges[LEFT][i % 2], old[0], old[1]);
        window.cells[CELLS - 1] = step(old[CELLS - 2], old[CELLS - 1], window.edges[RIGHT][i % 2]);
    }
}

/* Alone, the whole ring. */
static double *alone(void)
{
    int n = ring.size * CELLS;
    double *now = malloc((size_t)n * sizeof *now), *old = malloc((size_t)n * sizeof *old);
    for (int c = 0; c < n; c++) now[c] = start(c);
    for (int i = 0; i < STEPS; i++) {
        memcpy(old, now, (size_t)n * sizeof *now);
        for (int c = 0; c < n; c++) now[c] = step(old[(c + n - 1) % n], old[c], old[(c + 1) % n]);
    }
    free(old);
    return now;
}

static void field(void)
{
    for (int c = 0; c < CELLS; c++) window.cells[c] = start(ring.rank * CELLS + c);
    ring_barrier();
    steps();
    ring_barrier();
    if (ring.rank == 0) {
        size_t size = (size_t)(ring.size * CELLS) * sizeof(double);
        double *all = calloc(1, size), *right = alone();
        ptl_handle_md_t into = ring_bind(ring_md(all, size, PTL_MD_EVENT_START_DISABLE, eq));
        for (int peer = 0; peer < ring.size; peer++)
            RING_OK(PtlGetRegion(into, (ptl_size_t)peer * sizeof window.cells, sizeof window.cells,
                                 ring_id(peer), PT, 0, BITS_WINDOW,
                                 offsetof(struct window, cells)));
        for (int peer = 0; peer < ring.size; peer++) ended(PTL_EVENT_REPLY_END);
        ring_expect(memcmp(all, right, size) == 0, "the field is not what one process computes");
        ring_unlink(into);
        free(all);
        free(right);
    }
    ring_done("a field shared out, its edges put round the ring: as one process computes it");
}

static void body(void)
{
    const unsigned int silent = PTL_MD_EVENT_START_DISABLE | PTL_MD_EVENT_END_DISABLE;
    unsigned int remote = PTL_MD_OP_PUT | PTL_MD_OP_GET | PTL_MD_MANAGE_REMOTE;
    ptl_handle_md_t cells, edges;
    eq = ring_eq(64);
    eq_edges = ring_eq(64);
    cells = ring_attach(PT, BITS_WINDOW, 0,
                        ring_md(&window, sizeof window, remote | silent, PTL_EQ_NONE), PTL_RETAIN);
    edges = ring_attach(
        PT, BITS_EDGES, 0,
        ring_md(window.edges, sizeof window.edges, remote | PTL_MD_EVENT_START_DISABLE, eq_edges),
        PTL_RETAIN);
    local = ring_bind(ring_md(&window, sizeof window, PTL_MD_EVENT_START_DISABLE, eq));
    for (int i = 0; i < 5; i++) field();
    ring_unlink(cells);
    ring_unlink(edges);
    ring_unlink(local);
    RING_OK(PtlEQFree(eq));
    RING_OK(PtlEQFree(eq_edges));
}

int main(int argc, char **argv)
{
    return ring_main(argc, argv, body);
}
