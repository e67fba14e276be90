/* memlock.c - rules about SOFTHCA_MEMLOCK: registrations are charged as the kernel charges them. */
#include <errno.h>
#include <linux/capability.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "other/softhca/include/softhca.h"
#include "pair.h"
#include "rules.h"

enum { PAGE = 4096, LIMIT = 16 * PAGE, ALL = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE };

/* As an ordinary user: root may lock any amount. */
static void limit_memory(void)
{
    struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3] = {{.effective = 0}};
    struct rlimit limit = {.rlim_cur = LIMIT, .rlim_max = LIMIT};
    CHECK_EQ(setrlimit(RLIMIT_MEMLOCK, &limit), 0);
    CHECK_EQ(syscall(SYS_capset, &head, data), 0);
}

static size_t charged(void)
{
    size_t bytes = 0;
    CHECK_EQ(softhca_charges(&bytes), 1);
    return bytes;
}

static struct ibv_pd *limited_domain(char **memory)
{
    setenv("SOFTHCA_MEMLOCK", "1", 1);
    limit_memory();
    struct ibv_context *c = open_named("softhca0");
    struct ibv_pd *pd = c ? ibv_alloc_pd(c) : NULL;
    *memory = mmap(NULL, 2 * LIMIT, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(pd && *memory != MAP_FAILED);
    return pd;
}

static void refused(struct ibv_pd *pd, char *start, size_t size)
{
    size_t before = charged();
    errno = 0;
    CHECK(ibv_reg_mr(pd, start, size, ALL) == NULL);
    CHECK_EQ(errno, ENOMEM);
    CHECK_EQ(charged(), before);
}

static void the_sum_is_limited(void)
{
    char *memory;
    struct ibv_pd *pd = limited_domain(&memory);
    refused(pd, memory, LIMIT + 1);
    struct ibv_mr *most = ibv_reg_mr(pd, memory, LIMIT - PAGE, ALL);
    /* Two bytes on two pages, one of them of the other region: both pages count. */
    refused(pd, memory + LIMIT - PAGE - 1, 2);
    struct ibv_mr *last = ibv_reg_mr(pd, memory + 100, 1, ALL);
    CHECK(most && last);
    CHECK_EQ(charged(), LIMIT);
    refused(pd, memory, 1);
    CHECK_EQ(ibv_dereg_mr(most), 0);
    CHECK_EQ(charged(), PAGE);
    CHECK((most = ibv_reg_mr(pd, memory + LIMIT, LIMIT - PAGE, ALL)));
}

static void changes_are_charged(void)
{
    enum { MOVE = IBV_REREG_MR_CHANGE_TRANSLATION };
    char *memory;
    struct ibv_pd *pd = limited_domain(&memory);
    struct ibv_mr *mr = ibv_reg_mr(pd, memory, 2 * PAGE, ALL);
    CHECK(mr);
    CHECK_EQ(ibv_rereg_mr(mr, MOVE, NULL, memory + PAGE, 5 * PAGE, 0), 0);
    CHECK_EQ(charged(), 5 * PAGE);
    errno = 0;
    CHECK_EQ(ibv_rereg_mr(mr, MOVE, NULL, memory, 12 * PAGE, 0), IBV_REREG_MR_ERR_INPUT);
    CHECK_EQ(errno, ENOMEM);
    CHECK_EQ(charged(), 5 * PAGE);
    CHECK_EQ(ibv_dereg_mr(mr), 0);
    CHECK_EQ(charged(), 0);
}

/* A queue that is refused is charged for nothing. */
static void queues_are_charged(void)
{
    char *memory;
    struct ibv_pd *pd = limited_domain(&memory);
    struct ibv_cq *cq = ibv_create_cq(pd->context, 64, NULL, NULL, 0);
    CHECK(cq);
    CHECK_EQ(charged(), PAGE);
    CHECK_EQ(ibv_resize_cq(cq, 128), 0);
    CHECK_EQ(charged(), 2 * PAGE);
    CHECK_EQ(ibv_resize_cq(cq, (int)(LIMIT / 64)), ENOMEM);
    CHECK_EQ(charged(), 2 * PAGE);
    struct ibv_srq_init_attr shared = {.attr = {.max_wr = 128, .max_sge = 1}};
    struct ibv_srq *srq = ibv_create_srq(pd, &shared);
    CHECK(srq);
    CHECK_EQ(charged(), 3 * PAGE);
    /* Entries of 64 bytes, and of 16. */
    struct ibv_qp_init_attr pair = {
        .send_cq = cq, .recv_cq = cq, .qp_type = IBV_QPT_RC, .cap = {64, 256, 1, 1, 0}};
    struct ibv_qp *qp = ibv_create_qp(pd, &pair);
    CHECK(qp);
    CHECK_EQ(charged(), 5 * PAGE);
    errno = 0;
    pair.cap.max_send_wr = 64 * LIMIT / PAGE;
    CHECK(!ibv_create_qp(pd, &pair));
    CHECK_EQ(errno, ENOMEM);
    shared.attr.max_wr = 128 * LIMIT / PAGE;
    CHECK(!ibv_create_srq(pd, &shared));
    CHECK_EQ(errno, ENOMEM);
    CHECK(!ibv_create_cq(pd->context, 64 * LIMIT / PAGE, NULL, NULL, 0));
    CHECK_EQ(errno, ENOMEM);
    CHECK_EQ(charged(), 5 * PAGE);
    CHECK_EQ(ibv_destroy_qp(qp), 0);
    CHECK_EQ(ibv_destroy_srq(srq), 0);
    CHECK_EQ(ibv_destroy_cq(cq), 0);
    CHECK_EQ(charged(), 0);
}

static void a_child_begins_anew(void)
{
    int status;
    char *memory;
    struct ibv_pd *pd = limited_domain(&memory);
    CHECK(ibv_reg_mr(pd, memory, LIMIT, ALL));
    pid_t child = fork();
    if (child == 0) {
        CHECK_EQ(charged(), 0);
        _exit(0);
    }
    CHECK(waitpid(child, &status, 0) == child);
    CHECK_EQ(status, 0);
    CHECK_EQ(charged(), LIMIT);
}

static void nothing_is_charged(void)
{
    char *memory;
    struct ibv_pd *pd = limited_domain(&memory);
    size_t bytes = 1;
    CHECK(ibv_reg_mr(pd, memory, 2 * LIMIT, ALL));
    CHECK_EQ(softhca_charges(&bytes), 0);
    CHECK_EQ(bytes, 0);
}

static void without_the_setting(void)
{
    setenv("SOFTHCA_MEMLOCK", "0", 1);
    softhca_charges(NULL); /* the environment is read once */
    nothing_is_charged();
}

void memlock_rules(void)
{
    check(run_alone(the_sum_is_limited), "SOFTHCA_MEMLOCK: the pages of all regions are limited");
    check(run_alone(changes_are_charged), "SOFTHCA_MEMLOCK: a region that moves is charged anew");
    check(run_alone(queues_are_charged), "SOFTHCA_MEMLOCK: the buffers of queues are charged");
    check(run_alone(a_child_begins_anew), "SOFTHCA_MEMLOCK: the child of a fork owes nothing");
    check(run_alone(without_the_setting), "without SOFTHCA_MEMLOCK nothing is charged");
}
