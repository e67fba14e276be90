/* datagrams.c - the UD queue pair: opening, sending, receiving, sleeping.
 *
 * Called by connect_on_demand.c's thread alone, but for opening, closing and net_ib_datagrams_wake.
 * Does not read the datagrams.  A datagram that cannot be posted at once counts as lost.
 */
#include "core/ib/datagrams.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>

#include "core/params/params.h"

/* The number of buffers, each for one datagram; the first SENDS are for sending. */
enum { SENDS = 32, MOST_RECVS = 256, RECVS_FOR_FEW = 8 };

static struct {
    hca_cq_t cq;
    hca_sleeper_t sleeper;
    hca_qp_t qp;
    net_region_t region;
    char *memory;
    hca_recv_t *recv; /* [recvs] */
    hca_send_t send;
    uint32_t recvs, size; /* of each buffer */
    uint32_t free_sends[SENDS], sends_left;
    uint32_t rank[SENDS]; /* destination of each send */
    bool failed;
    uint32_t failed_rank;
    hca_failure_t failure;
    int arrived[MOST_RECVS]; /* receives completed, not yet taken */
    uint32_t lengths[MOST_RECVS], first, count;
    uint32_t key;
} box;

static const struct net_ib_rail *rail(void)
{
    return &net_ib_rails.rail[0];
}

static const struct net_ib_hca *device(void)
{
    return &net_ib_rails.hca[rail()->hca];
}

static char *buffer(uint32_t index)
{
    return box.memory + (size_t)index * box.size;
}

static void post_recv(uint32_t i)
{
    hca_post_recv(box.qp, &box.recv[i]);
}

static bool make_buffers(uint32_t length)
{
    box.size = (HCA_DATAGRAM_HEAD + length + 63) & ~63u;
    size_t size = (size_t)box.size * (SENDS + box.recvs);
    size = (size + 4095) & ~(size_t)4095;
    box.memory = net_alloc(size);
    box.recv = calloc(box.recvs, sizeof *box.recv);
    return box.memory && box.recv && net_register(box.memory, size, NET_LOCAL, &box.region);
}

static bool datagrams_make_queues(void)
{
    const struct net_ib_hca *hca = device();
    box.cq = hca_cq_create(hca->hca, SENDS + box.recvs, &box.sleeper);
    uint32_t inlined = 0;
    if (box.cq)
        box.qp = hca_qp_create(hca->pd, HCA_DATAGRAMS, box.cq, box.cq, NULL, SENDS, box.recvs, 1,
                               &inlined);
    return box.qp != NULL;
}

/* Moves the queue pair from RESET to RTS; 0 or an errno. */
static int datagrams_start(void)
{
    const hca_setup_t setup = {
        .port = rail()->number, .pkey_index = (uint16_t)gasnetc_params.pkey_index, .key = box.key};
    int error = 0;
    for (int step = HCA_INIT; !error && step <= HCA_RTS; step++)
        error = hca_qp_step(box.qp, HCA_DATAGRAMS, (enum hca_step)step, &setup);
    return error;
}

bool net_ib_datagrams_open(uint32_t peers, uint32_t length, char *why, size_t why_size)
{
    box.recvs = 2 * peers + RECVS_FOR_FEW < MOST_RECVS ? 2 * peers + RECVS_FOR_FEW : MOST_RECVS;
    if (getrandom(&box.key, sizeof box.key, 0) != sizeof box.key) box.key = 1;
    box.key &= INT32_MAX;
    const char *what = NULL;
    errno = 0;
    if (!make_buffers(length))
        what = "memory for datagrams";
    else if (!datagrams_make_queues())
        what = "a queue pair for datagrams";
    else if ((errno = datagrams_start()))
        what = "datagrams";
    if (what) {
        snprintf(why, why_size, "%s refuses %s: %s", device()->name, what, strerror(errno));
        net_ib_datagrams_close();
        return false;
    }
    for (uint32_t i = 0; i < SENDS; i++) box.free_sends[box.sends_left++] = i;
    for (uint32_t i = 0; i < box.recvs; i++) {
        hca_recv_init(&box.recv[i], SENDS + i, buffer(SENDS + i), HCA_DATAGRAM_HEAD + length,
                      box.region.lkey[rail()->hca]);
        post_recv(i);
    }
    return true;
}

void net_ib_datagrams_close(void)
{
    if (box.qp) hca_destroy(box.qp);
    hca_sleeper_close(&box.sleeper);
    if (box.cq) hca_destroy(box.cq);
    net_deregister(&box.region);
    if (box.memory) net_free(box.memory);
    free(box.recv);
    memset(&box, 0, sizeof box);
}

hca_ud_addr_t net_ib_datagrams_address(void)
{
    return (hca_ud_addr_t){.qp_number = box.qp->qp_num, .key = box.key};
}

hca_ah_t net_ib_datagram_ah(const hca_route_t *route)
{
    return hca_ah_create(device()->pd, rail()->number, route);
}

/* Takes one completion; false when the completion queue is empty.  `arrived` has room for all
 * receives posted. */
static bool complete_one(void)
{
    hca_wc_t wc;
    if (net_ib_poll(box.cq, 1, &wc) < 1) return false;
    const hca_done_t done = hca_done(&wc);
    uint32_t id = (uint32_t)done.id;
    if (id < SENDS) {
        box.free_sends[box.sends_left++] = id;
        if (!done.ok && !box.failed) {
            box.failed = true;
            box.failed_rank = box.rank[id];
            box.failure = hca_wc_failure(&wc);
        }
    } else if (!done.ok) { /* not posted again: the queue pair is in error state, and would flush it
                            */
    } else if (done.length < HCA_DATAGRAM_HEAD) {
        post_recv(id - SENDS);
    } else {
        uint32_t at = (box.first + box.count++) % MOST_RECVS;
        box.arrived[at] = (int)id;
        box.lengths[at] = done.length - HCA_DATAGRAM_HEAD;
    }
    return true;
}

int net_ib_datagram_send(hca_ah_t ah, const hca_ud_addr_t *to, uint32_t rank, const void *bytes,
                         uint32_t length)
{
    while (!box.sends_left)
        if (!complete_one()) return 0; /* counts as lost */
    uint32_t i = box.free_sends[--box.sends_left];
    box.rank[i] = rank;
    memcpy(buffer(i), bytes, length);
    hca_send_init(&box.send, i);
    hca_local_t local = {.data = buffer(i), .length = length, .lkey = box.region.lkey[rail()->hca]};
    hca_send_ah(&box.send, ah, to);
    int error = hca_post(box.qp, &box.send, HCA_SEND, local);
    if (error) box.free_sends[box.sends_left++] = i;
    return error;
}

bool net_ib_datagram_failure(uint32_t *rank, hca_failure_t *failure)
{
    if (box.failed) *rank = box.failed_rank, *failure = box.failure;
    return box.failed;
}

int net_ib_datagram_take(void *bytes, uint32_t room)
{
    while (!box.count)
        if (!complete_one()) return -1;
    uint32_t id = (uint32_t)box.arrived[box.first], length = box.lengths[box.first];
    box.first = (box.first + 1) % MOST_RECVS;
    box.count--;
    memcpy(bytes, buffer(id) + HCA_DATAGRAM_HEAD, length < room ? length : room);
    post_recv(id - SENDS);
    return (int)length;
}

void net_ib_datagrams_arm(void)
{
    hca_arm(&box.sleeper);
}

void net_ib_datagrams_sleep(double seconds)
{
    net_ib_sleep(&box.sleeper, seconds < 0     ? -1
                               : seconds > 1e6 ? 1000000000
                                               : (int)(seconds * 1e3) + 1);
}

void net_ib_datagrams_wake(void)
{
    hca_wake(&box.sleeper);
}
