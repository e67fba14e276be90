/* cost.c - dequeues and posts that callgrind counts: run.sh reads the instructions of each
 * function.
 *
 *   cost KIND [BATCH]   KIND: empty, send, write, read, receive, software, software-post. The
 *                       device is a function that gives BATCH (1) completions at once, or none: its
 *                       instructions are counted apart.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "other/dapl/tests/mock.h"

enum { CALLS = 10000, LENGTH = 16 };

static dapl_work_queue_t *queue;
static dapl_link_t *link_open;
static dapl_work_t example;
static int batch;

/* Completes that many works, which it takes as a program would. */
__attribute__((noinline)) static int cost_poll(void *cq, int n, struct ibv_wc *wc)
{
    (void)cq;
    for (int i = 0; i < batch && i < n; i++) {
        dapl_work_t *work = dapl_work_take(queue);
        if (!work) abort();
        const uint32_t position = work->position;
        *work = example;
        work->queue = queue;
        work->link = link_open;
        work->position = position;
        wc[i] = (struct ibv_wc){.wr_id = (uintptr_t)work, .byte_len = 64};
    }
    return batch;
}

static const struct kind {
    const char *name;
    DAT_DTOS operation;
    uint32_t flags;
} kinds[] = {
    {"send", DAT_DTO_SEND, 0},
    {"write", DAT_DTO_RDMA_WRITE, 0},
    {"read", DAT_DTO_RDMA_READ, 0},
    {"receive", DAT_DTO_RECEIVE, DAPL_WORK_RECEIVE},
};

/* An EVD of transfers with a link that is connected, as that of an endpoint is. */
static dapl_evd_t *open_transfers(world_t *world, const char *name)
{
    dapl_evd_t *evd = evd_of(world, DAT_EVD_DTO_FLAG, CALLS, NULL);
    const dapl_link_attr_t attr = {
        .ep_handle = evd, .request = evd, .receive = evd, .receives = LENGTH};
    if (dapl_link_create(&attr, &link_open) != DAT_SUCCESS) abort();
    dapl_link_open(link_open);
    if (dapl_work_queue_create(LENGTH, &queue) != DAT_SUCCESS) abort();
    batch = 0;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (!strcmp(name, kinds[i].name)) {
            example =
                (dapl_work_t){.event = {.operation = kinds[i].operation, .transfered_length = 64},
                              .flags = kinds[i].flags};
            batch = 1;
        }
    evd->poll = cost_poll;
    return evd;
}

int main(int argc, char **argv)
{
    world_t world;
    DAT_EVENT event;
    int good = 0;
    const char *what = argc > 1 ? argv[1] : "";
    bool software = strstr(what, "software") != NULL;
    world_open(&world);
    dapl_evd_t *evd = software ? evd_of(&world, DAT_EVD_SOFTWARE_FLAG, CALLS, NULL)
                               : open_transfers(&world, what);
    if (batch && argc > 2) batch = atoi(argv[2]);
    if (software)
        for (int i = 0; i < CALLS; i++) good += post_number(evd, 1) == DAT_SUCCESS;
    else
        for (int i = 0; i < CALLS; i++) good += dapl_evd_dequeue(evd, &event) == DAT_SUCCESS;
    if (software)
        for (int i = 0; i < CALLS; i++) good -= dapl_evd_dequeue(evd, &event) == DAT_SUCCESS;
    printf("%d\n", good);
    return 0;
}
