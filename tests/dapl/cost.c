/* cost.c - dequeues and posts that callgrind counts: run.sh reads the instructions of each
 * function.
 *
 * The device is a function that gives a completion, or none, at once: its instructions are counted
 * apart.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/dapl/mock.h"

enum { CALLS = 10000 };

static dapl_work_t *work;
static bool full;

__attribute__((noinline)) static int cost_poll(void *cq, int n, struct ibv_wc *wc)
{
    (void)cq;
    if (!full) return 0;
    for (int i = 0; i < n; i++) wc[i] = (struct ibv_wc){.wr_id = (uintptr_t)work};
    return n;
}

int main(int argc, char **argv)
{
    world_t world;
    DAT_EVENT event;
    dapl_evd_t *evd;
    int good = 0;
    const char *what = argc > 1 ? argv[1] : "";
    world_open(&world);
    bool software = strstr(what, "software") != NULL;
    evd = evd_of(&world, software ? DAT_EVD_SOFTWARE_FLAG : DAT_EVD_DTO_FLAG, CALLS, NULL);
    dapl_work_queue_t *queue;
    good += dapl_work_queue_create(16, &queue) != DAT_SUCCESS;
    work = dapl_work_take(queue);
    if (evd->channel.cq) evd->poll = cost_poll;
    full = !strcmp(what, "completion");
    if (software)
        for (int i = 0; i < CALLS; i++) good += post_number(evd, 1) == DAT_SUCCESS;
    else
        for (int i = 0; i < CALLS; i++) good += dapl_evd_dequeue(evd, &event) == DAT_SUCCESS;
    if (software)
        for (int i = 0; i < CALLS; i++) good -= dapl_evd_dequeue(evd, &event) == DAT_SUCCESS;
    printf("%d\n", good);
    return 0;
}
