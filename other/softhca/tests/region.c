/* region.c - rules about memory regions: which memory may be registered, and re-registration. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "pair.h"
#include "rules.h"

enum { ALL = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ };

static bool registers(struct side *s, void *p, size_t n, int access)
{
    errno = 0;
    struct ibv_mr *mr = ibv_reg_mr(s->pd, p, n, access);
    if (!mr) CHECK_EQ(errno, EFAULT);
    if (mr) CHECK_EQ(ibv_dereg_mr(mr), 0);
    return mr != NULL;
}

static const char constant[100000] = "in a part of the program that cannot be written";

static void read_only_memory(struct side *s)
{
    size_t page = sysconf(_SC_PAGESIZE);
    char *p = mmap(NULL, 9 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(p != MAP_FAILED);
    CHECK_EQ(mprotect(p + 3 * page, page, PROT_READ), 0);
    for (int i = 0; i < 2; i++) { /* the second time it is cached */
        CHECK(registers(s, p, 3 * page, ALL));
        CHECK(!registers(s, p, 4 * page, ALL));
        CHECK(!registers(s, p + 3 * page + 100, 8, IBV_ACCESS_LOCAL_WRITE));
        CHECK(!registers(s, p + 4 * page - 1, 2, IBV_ACCESS_LOCAL_WRITE));
        CHECK(registers(s, p + 4 * page, 5 * page, ALL));
        CHECK(registers(s, p, 9 * page, IBV_ACCESS_REMOTE_READ));
        CHECK(!registers(s, (void *)constant, sizeof constant, ALL));
        CHECK(registers(s, (void *)constant, sizeof constant, IBV_ACCESS_REMOTE_READ));
        CHECK(registers(s, s->buf, BUFFER, ALL));
        CHECK(registers(s, &page, sizeof page, ALL));
    }
    CHECK_EQ(mprotect(p + 3 * page, page, PROT_READ | PROT_WRITE), 0);
    CHECK(registers(s, p, 9 * page, ALL));
    CHECK_EQ(munmap(p + 5 * page, page), 0);
    CHECK(!registers(s, p, 9 * page, ALL)); /* a hole, although the range was cached */
    munmap(p, 9 * page);
    for (int i = 0; i < 200; i++) { /* more ranges than the cache holds */
        char *block = malloc(100000 + (size_t)i * 4096);
        CHECK(block && registers(s, block, 100000, ALL));
        if (i % 3) free(block);
    }
    meet(s);
}

/* Replaces the buffer by secret memory, which only its own process can access; false where there is
 * none. */
static bool make_secret(struct side *s)
{
    const int fd = (int)syscall(447 /* memfd_secret */, 0);
    if (fd < 0) return false;
    CHECK_EQ(ftruncate(fd, BUFFER), 0);
    const bool mapped =
        mmap(s->buf, BUFFER, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd, 0) != MAP_FAILED;
    close(fd);
    return mapped;
}

static void secret_memory(struct side *s)
{
    enum { N = 100000, AT = 200000 };
    if (!make_secret(s)) return;
    CHECK(registers(s, s->buf, BUFFER, ALL));
    memset(s->buf, s->is_a ? 'a' : 'b', BUFFER);
    meet(s);
    if (s->is_a) {
        CHECK_EQ(post(s, make_wr(s, IBV_WR_RDMA_WRITE, 1, 0, N, 0)), 0);
        expect(s->scq, 1, IBV_WC_SUCCESS);
        CHECK_EQ(post(s, make_wr(s, IBV_WR_RDMA_READ, 2, AT, N, AT)), 0);
        expect(s->scq, 2, IBV_WC_SUCCESS);
        CHECK(s->buf[AT] == 'b' && s->buf[AT + N - 1] == 'b' && s->buf[AT + N] == 'a');
    }
    meet(s);
    if (!s->is_a) CHECK(s->buf[0] == 'a' && s->buf[N - 1] == 'a' && s->buf[N] == 'b');
}

static void secret_memory_refused(struct side *s)
{
    CHECK(registers(s, s->buf, BUFFER, ALL));
    if (!make_secret(s)) return;
    CHECK(!registers(s, s->buf, BUFFER, ALL));
    CHECK(!registers(s, s->buf, 1, IBV_ACCESS_REMOTE_READ));
    meet(s);
}

static int rereg(struct side *s, int flags, struct ibv_pd *pd, void *addr, size_t len, int access)
{
    errno = 0;
    return ibv_rereg_mr(s->mr, flags, pd, addr, len, access);
}

static void send_rkey(struct side *s)
{
    if (s->is_a)
        hear(s, &s->its.rkey, sizeof s->its.rkey);
    else
        tell(s, &s->mr->rkey, sizeof s->mr->rkey);
}

/* B moves its region to its upper half; A writes there by the new key. */
static void moved(struct side *s)
{
    uint32_t old = s->mr->rkey;
    if (!s->is_a) {
        CHECK_EQ(
            rereg(s, IBV_REREG_MR_CHANGE_TRANSLATION, NULL, s->buf + BUFFER / 2, BUFFER / 2, 0), 0);
        CHECK(s->mr->addr == s->buf + BUFFER / 2 && s->mr->length == BUFFER / 2);
        CHECK(s->mr->rkey != old && s->mr->lkey == s->mr->rkey);
    }
    old = s->its.rkey;
    send_rkey(s);
    if (s->is_a) {
        strcpy(s->buf, "moved");
        CHECK_EQ(post(s, make_wr(s, IBV_WR_RDMA_WRITE, 1, 0, 6, BUFFER / 2)), 0);
        expect(s->scq, 1, IBV_WC_SUCCESS);
        CHECK_EQ(post(s, make_wr(s, IBV_WR_RDMA_READ, 2, 100, 6, BUFFER / 2)), 0);
        expect(s->scq, 2, IBV_WC_SUCCESS);
        CHECK(!strcmp(s->buf + 100, "moved"));
        CHECK_EQ(post(s, make_wr(s, IBV_WR_RDMA_WRITE, 3, 0, 6, BUFFER / 2 - 8)), 0);
        expect(s->scq, 3, IBV_WC_REM_ACCESS_ERR);
    }
    meet(s);
    if (!s->is_a) CHECK(!strcmp(s->buf + BUFFER / 2, "moved"));
}

static void old_key_ends(struct side *s)
{
    if (!s->is_a) CHECK_EQ(rereg(s, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0, ALL), 0);
    meet(s);
    if (s->is_a) {
        CHECK_EQ(post(s, make_wr(s, IBV_WR_RDMA_WRITE, 1, 0, 8, 0)), 0);
        expect(s->scq, 1, IBV_WC_REM_ACCESS_ERR);
    }
    meet(s);
}

static void access_changes(struct side *s)
{
    if (!s->is_a)
        CHECK_EQ(rereg(s, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0, IBV_ACCESS_REMOTE_READ), 0);
    send_rkey(s);
    if (s->is_a) {
        CHECK_EQ(post(s, make_wr(s, IBV_WR_RDMA_READ, 1, 0, 8, 0)), 0);
        expect(s->scq, 1, IBV_WC_SUCCESS);
        CHECK_EQ(post(s, make_wr(s, IBV_WR_RDMA_WRITE, 2, 0, 8, 0)), 0);
        expect(s->scq, 2, IBV_WC_REM_ACCESS_ERR);
    }
    meet(s);
}

static void domain_changes(struct side *s)
{
    struct ibv_pd *other = ibv_alloc_pd(s->ctx);
    if (!s->is_a) CHECK_EQ(rereg(s, IBV_REREG_MR_CHANGE_PD, other, NULL, 0, 0), 0);
    send_rkey(s);
    if (s->is_a) {
        CHECK_EQ(post(s, make_wr(s, IBV_WR_RDMA_READ, 1, 0, 8, 0)), 0);
        expect(s->scq, 1, IBV_WC_REM_ACCESS_ERR);
    } else {
        CHECK(s->mr->pd == other);
        CHECK_EQ(ibv_dealloc_pd(other), EBUSY);
        CHECK_EQ(rereg(s, IBV_REREG_MR_CHANGE_PD, s->pd, NULL, 0, 0), 0);
    }
    CHECK_EQ(ibv_dealloc_pd(other), 0);
    meet(s);
}

/* A refused change leaves the region unchanged. */
static void bad_changes(struct side *s)
{
    enum { MOVE = IBV_REREG_MR_CHANGE_TRANSLATION };
    uint32_t key = s->mr->rkey;
    CHECK_EQ(rereg(s, 0, NULL, NULL, 0, 0), IBV_REREG_MR_ERR_INPUT);
    CHECK_EQ(rereg(s, 64, NULL, NULL, 0, 0), IBV_REREG_MR_ERR_INPUT);
    CHECK_EQ(rereg(s, MOVE, NULL, NULL, 4096, 0), IBV_REREG_MR_ERR_INPUT);
    CHECK_EQ(rereg(s, MOVE, NULL, s->buf, 0, 0), IBV_REREG_MR_ERR_INPUT);
    CHECK_EQ(rereg(s, MOVE, NULL, (void *)4096, 4096, 0), IBV_REREG_MR_ERR_INPUT);
    CHECK_EQ(errno, EFAULT);
    CHECK_EQ(rereg(s, MOVE, NULL, (void *)constant, 4096, 0), IBV_REREG_MR_ERR_INPUT);
    CHECK_EQ(errno, EFAULT);
    CHECK_EQ(rereg(s, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0, IBV_ACCESS_REMOTE_WRITE),
             IBV_REREG_MR_ERR_INPUT);
    CHECK_EQ(rereg(s, IBV_REREG_MR_CHANGE_PD, NULL, NULL, 0, 0), IBV_REREG_MR_ERR_INPUT);
    struct ibv_context *c = open_named("softhca0");
    struct ibv_pd *foreign = ibv_alloc_pd(c);
    CHECK_EQ(rereg(s, IBV_REREG_MR_CHANGE_PD, foreign, NULL, 0, 0), IBV_REREG_MR_ERR_INPUT);
    CHECK_EQ(ibv_dealloc_pd(foreign), 0);
    CHECK_EQ(ibv_close_device(c), 0);
    CHECK_EQ(s->mr->rkey, key);
    CHECK(s->mr->addr == s->buf && s->mr->length == BUFFER && s->mr->pd == s->pd);
    meet(s);
    if (s->is_a) {
        CHECK_EQ(post(s, make_wr(s, IBV_WR_RDMA_WRITE, 1, 0, 8, 0)), 0);
        expect(s->scq, 1, IBV_WC_SUCCESS);
    }
    meet(s);
}

/* Regions move to another domain; domains are created and freed. */
static void do_not_grow(struct side *s)
{
    long before = 0;
    for (int i = 0; i < 20000; i++) {
        if (i == 500) before = resident();
        struct ibv_td *td = ibv_alloc_td(s->ctx, &(struct ibv_td_init_attr){0});
        struct ibv_parent_domain_init_attr a = {.pd = s->pd, .td = td};
        struct ibv_pd *parent = ibv_alloc_parent_domain(s->ctx, &a);
        struct ibv_mr *mr = ibv_reg_mr(parent, s->buf, 4096, IBV_ACCESS_LOCAL_WRITE);
        CHECK_EQ(ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_PD, s->pd, NULL, 0, 0), 0);
        CHECK_EQ(ibv_dealloc_pd(parent), 0);
        CHECK_EQ(ibv_dealloc_td(td), 0);
        CHECK_EQ(ibv_dereg_mr(mr), 0);
    }
    CHECK(resident() < before + 1024);
    meet(s);
}

void region_rules(void)
{
    static const struct {
        const char *name;
        test_function *run;
    } tests[] = {
        {"memory that cannot be written is not registered to be written", read_only_memory},
        {"a region registered again elsewhere", moved},
        {"the key of before ends", old_key_ends},
        {"rights change", access_changes},
        {"the protection domain changes", domain_changes},
        {"changes that are refused leave all as it was", bad_changes},
        {"twenty thousand regions and domains without growth", do_not_grow},
    };
    for (int ordinary = 0; ordinary < 2; ordinary++)
        for (size_t i = 0; i < sizeof tests / sizeof *tests; i++) {
            struct options o = {.ordinary = ordinary};
            check(run_pair(tests[i].run, &o), "%s, %s memory", tests[i].name,
                  ordinary ? "ordinary" : "mapped");
        }
    check(run_pair(secret_memory, &(struct options){.ordinary = true}),
          "secret memory is accessed by peers");
    check(run_pair(secret_memory_refused,
                   &(struct options){.ordinary = true, .env = {"SOFTHCA_MEMORY=strict"}}),
          "SOFTHCA_MEMORY=strict: secret memory is not registered");
}
