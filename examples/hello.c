/* hello.c - the first program: every process writes its rank into its right neighbour's memory. */
#include <gasnet.h>
#include <stdio.h>

int main(int argc, char **argv)
{
    if (gasnet_init(&argc, &argv) != GASNET_OK) return 1; /* join the job */
    gasnet_attach(NULL, 0, GASNET_PAGESIZE, 0); /* one page that other processes may write to */

    gasnet_node_t me = gasnet_mynode(), right = (me + 1) % gasnet_nodes();
    gasnet_seginfo_t segment[gasnet_nodes()]; /* address of each process's page */
    gasnet_getSegmentInfo(segment, gasnet_nodes());

    gasnet_put_val(right, segment[right].addr, me, sizeof(me));
    gasnet_barrier_notify(0, GASNET_BARRIERFLAG_ANONYMOUS);
    gasnet_barrier_wait(0, GASNET_BARRIERFLAG_ANONYMOUS);

    printf("rank %d of %d: my left neighbour is %d\n", (int)me, (int)gasnet_nodes(),
           (int)*(gasnet_node_t *)segment[me].addr);
    gasnet_exit(0);
}
