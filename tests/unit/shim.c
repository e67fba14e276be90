/* shim.c - the shims over the verbs return NULL with errno when an object cannot be created, and
 * leave nothing behind (IB-B1). Compiled with either shim, upon the software device.
 *
 * Leaks are detected by descriptors: a device that still has an object is not closed, and keeps its
 * descriptor.
 */
#include <infiniband/verbs.h>
#include <stdlib.h>
#include <sys/resource.h>

#include "tests/descriptors.h"
#include "tests/unit/check.h"

/* The shim's own, which may be told that there is no memory. */
static bool no_memory;
#define malloc(size)        (no_memory ? NULL : malloc(size))
#define calloc(count, size) (no_memory ? NULL : calloc(count, size))

/* The device's answer about the order of bytes. */
static int in_order;
int ibv_query_qp_data_in_order(struct ibv_qp *qp, enum ibv_wr_opcode op, uint32_t flags)
{
    (void)qp, (void)flags;
    return op == IBV_WR_RDMA_WRITE ? in_order : 0;
}

/* As on a kernel that does not copy pinned pages for a child. */
static int fork_inits;
#pragma GCC visibility push(default)
int ibv_fork_init(void)
{
    fork_inits++;
    return 0;
}
enum ibv_fork_status ibv_is_fork_initialized(void)
{
    return fork_inits ? IBV_FORK_ENABLED : IBV_FORK_DISABLED;
}
#pragma GCC visibility pop

/* As a device that grants longer inline data than it was asked for; the software device does not.
 */
enum { GRANTED_BESIDE = 8 };
static inline struct ibv_qp *create_generously(struct ibv_pd *pd, struct ibv_qp_init_attr *attr)
{
    struct ibv_qp *qp = ibv_create_qp(pd, attr);
    attr->cap.max_inline_data += GRANTED_BESIDE;
    return qp;
}
#undef ibv_create_qp
#define ibv_create_qp create_generously

/* Which is here, and need not be where the shim is. */
#pragma GCC diagnostic ignored "-Waddress"
#include SHIM

/* Leaves room for so many descriptors more; -1: as many as there were. */
static void leave_room(int room)
{
    static struct rlimit before;
    struct rlimit now;
    if (!before.rlim_cur) getrlimit(RLIMIT_NOFILE, &before);
    now = before;
    int lowest = dup(0);
    close(lowest);
    if (room >= 0) now.rlim_cur = (rlim_t)(lowest + room);
    setrlimit(RLIMIT_NOFILE, &now);
}

/* Makes attempts, each with a descriptor more, until one succeeds: `make` returns whether it
 * has. */
static void test_until(bool (*make)(hca_t *), hca_t *hca, const char *what)
{
    int before = count_descriptors(), failed = 0;
    for (; failed < 20; failed++) {
        leave_room(failed);
        errno = 0;
        bool made = make(hca);
        int error = errno;
        leave_room(-1);
        if (made) break;
        check_each(error != 0, "%d: no errno", failed);
        check_each(count_descriptors() == before, "%d: %d are left", failed,
                   count_descriptors() - before);
    }
    check_all("%s for which descriptors do not suffice leaves none", what);
    check(failed > 0 && failed < 20, "%d attempts fail, the next does not", failed);
}

static hca_cq_t made_cq;
static hca_sleeper_t sleeper;

static bool make_cq(hca_t *hca)
{
    made_cq = hca_cq_create(*hca, 16, &sleeper);
    return made_cq;
}

static bool make_hca(hca_t *hca)
{
    char name[64];
    *hca = hca_open(0, name);
    return *hca;
}

/* Objects that the verbs have made are destroyed if the shim has no memory for its record. The shim
 * of the IB Verbs needs none. */
static void without_memory(hca_t hca)
{
    static char memory[4096];
    const hca_route_t route = {.lid = 1};
    hca_pd_t pd = hca_pd_create(hca);
    hca_sleeper_t first = {0}, second = {0};
    hca_cq_t cq = hca_cq_create(hca, 16, &first);
    uint32_t inlined = 0;
    no_memory = true;
    hca_pd_t other = hca_pd_create(hca);
    hca_mr_t region = hca_register(pd, memory, sizeof memory, HCA_LOCAL);
    hca_cq_t queue = hca_cq_create(hca, 16, &second);
    hca_srq_t shared = hca_srq_create(pd, 16);
    hca_qp_t pair = hca_qp_create(pd, HCA_CONNECTED, cq, cq, NULL, 4, 4, 1, &inlined);
    hca_ah_t ah = hca_ah_create(pd, 1, &route);
    no_memory = false;
    hca_sleeper_close(&first);
    hca_sleeper_close(&second);
    if (ah) hca_destroy(ah);
    if (pair) hca_destroy(pair);
    if (shared) hca_destroy(shared);
    if (queue) hca_destroy(queue);
    if (region) hca_destroy(region);
    if (other) hca_destroy(other);
    hca_destroy(cq);
    hca_destroy(pd);
}

static bool orders_bytes(hca_t hca)
{
    hca_pd_t pd = hca_pd_create(hca);
    hca_cq_t cq = hca_cq_create(hca, 16, NULL);
    uint32_t inlined = 0;
    hca_qp_t pair = hca_qp_create(pd, HCA_CONNECTED, cq, cq, NULL, 4, 4, 1, &inlined);
    bool orders = hca_in_order(hca, pair);
    hca_destroy(pair);
    hca_destroy(cq);
    hca_destroy(pd);
    return orders;
}

static void test_inline(hca_t hca)
{
    hca_pd_t pd = hca_pd_create(hca);
    hca_cq_t cq = hca_cq_create(hca, 16, NULL);
    uint32_t inlined = 64;
    hca_destroy(hca_qp_create(pd, HCA_CONNECTED, cq, cq, NULL, 4, 4, 1, &inlined));
    check(inlined == (strstr(SHIM, "ibv") ? 64 + GRANTED_BESIDE : 128),
          "IB-P3 what the device grants is used");
    hca_destroy(cq);
    hca_destroy(pd);
}

static void test_ports(hca_t hca)
{
    hca_port_t port;
    check(hca_query_port(hca, 1, &port) && port.active && !port.ethernet && port.lid,
          "a port is described: active, InfiniBand");
    check(!hca_query_port(hca, 200, &port), "one that is not there is not");
    roce_entry_t gids[4];
    check(hca_query_gids(hca, 1, gids, 4) == 1 && gids[0].at == 0 && gids[0].type == ROCE_IB &&
              gids[0].gid[0] == 0xfe && hca_query_gids(hca, 200, gids, 4) == 0,
          "so are its GIDs");
}

int main(int argc, char **argv)
{
    hca_t hca;
    setenv("SOFTHCA", "on", 1);
    check_begin(argc, argv);
    if (!make_hca(&hca)) return 1; /* opens descriptors that stay until the process ends */
    hca_close(hca);
    check(fork_inits == 1, "memory is protected at a fork where the kernel does not");
    int before = count_descriptors();
    test_until(make_hca, &hca, "a device");
    int open = count_descriptors();
    test_until(make_cq, &hca, "a completion queue");
    hca_sleeper_close(&sleeper);
    hca_destroy(made_cq);
    check(count_descriptors() == open, "a completion queue ends with its own");
    check(!hca_cq_create(hca, 1u << 30, &sleeper) && errno == EINVAL && count_descriptors() == open,
          "one that is too large is a wrong argument, and leaves none either");
    without_memory(hca);
    check(count_descriptors() == open, "nor does what cannot be kept");
    check(hca_always_in_order(0x2c9, 0x5a44) && hca_always_in_order(0x2c9, 0x1003) &&
              !hca_always_in_order(0x2c9, 0x1013) && !hca_always_in_order(0x15b3, 0x5a44) &&
              !hca_always_in_order(0x626d74, 0) && !hca_always_in_order(0xffffff, 0),
          "IB-R9 devices that can but place bytes in order are known, and no others");
    check(hca_is_emulated("rxe0", 0) && hca_is_emulated("eth", 0xffffff) &&
              hca_is_emulated("siw1", 0x626d74) && !hca_is_emulated("mlx5_0", 0x2c9) &&
              !hca_is_emulated("hfi1_0", 0),
          "the kernel's software devices are known, and no others");
    test_ports(hca);
    test_inline(hca);
    check(!orders_bytes(hca), "IB-R9 one that does not say so is not taken for one that does");
    in_order = 1;
    check(orders_bytes(hca) == !!strstr(SHIM, "ibv"), "IB-R9 one that says so is believed");
    hca_close(hca);
    check(count_descriptors() == before, "so that a device closes with its own");
    no_memory = true;
    bool made = make_hca(&hca);
    no_memory = false;
    if (made) hca_close(hca);
    check(count_descriptors() == before, "as one does that cannot be kept");
    return check_end();
}
