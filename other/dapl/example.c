/* example.c - one thread waits on two completion queues: for a batch of events of one queue, and
 * for the first queue that has an event. */
#include <dapl_verbs.h>
#include <stdio.h>

#define TRY(call)                                                                                  \
    if ((call) != DAT_SUCCESS) return fprintf(stderr, "failed: %s\n", #call), 1

int main(void)
{
    struct ibv_device **list = ibv_get_device_list(NULL);
    dapl_verbs_device_t device = {.context = list && *list ? ibv_open_device(*list) : NULL};
    if (!device.context)
        return fprintf(stderr, "no verbs device can be opened: see ibv_devices\n"), 1;
    dapl_interface_t *interface;
    dapl_cno_t *cno;
    dapl_evd_t *evd[2], *ready;
    dapl_interface_attr_t attr = {
        .device = &device, .cq = &dapl_verbs_cq, .vectors = device.context->num_comp_vectors};
    TRY(dapl_interface_open(&attr, &interface));
    TRY(dapl_cno_create(interface, DAT_OS_WAIT_PROXY_AGENT_NULL, &cno));
    /* Queue pairs are created with dapl_verbs_cq_of(evd[i]); this example posts software events and
     * makes no transfers. */
    for (int i = 0; i < 2; i++) {
        dapl_evd_attr_t with = {.min_qlen = 64,
                                .flags = DAT_EVD_DTO_FLAG | DAT_EVD_SOFTWARE_FLAG,
                                .cno = cno,
                                .vector = -1};
        TRY(dapl_evd_create(interface, &with, &evd[i]));
    }
    DAT_EVENT event = {.event_number = DAT_SOFTWARE_EVENT};
    DAT_COUNT more;
    for (int i = 0; i < 8; i++) TRY(dapl_evd_post_se(evd[0], &event));
    TRY(dapl_evd_wait(evd[0], DAT_TIMEOUT_INFINITE, 8, &event, &more));
    printf("a batch: one event, and %d more\n", more);
    while (dapl_evd_dequeue(evd[0], &event) == DAT_SUCCESS) {
    }
    TRY(dapl_evd_post_se(evd[1], &event));
    /* The EVD that is named is a hint: each one is looked at. */
    TRY(dapl_cno_wait(cno, DAT_TIMEOUT_INFINITE, &ready));
    for (int i = 0; i < 2; i++)
        while (dapl_evd_dequeue(evd[i], &event) == DAT_SUCCESS) printf("an event of EVD %d\n", i);
    dapl_interface_close(interface);
    ibv_close_device(device.context);
    ibv_free_device_list(list);
    return 0;
}
