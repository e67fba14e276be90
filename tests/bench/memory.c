/* memory.c - memory that rank 0 has registered, its segment aside, after it has communicated with K
 * peers.
 *
 *   memory K
 *
 * Rank 0 sends a Request to each of its first K peers and puts to them. The device's registrations
 * pass through functions of this file, which interpose those of the verbs library; registered
 * memory is pinned on real devices, whether it is touched or not. Run by memory.sh.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <infiniband/verbs.h>

#include "tests/programs/test.h"
#undef ibv_reg_mr

enum { H_REQUEST = 128, H_REPLY };

static size_t registered;
static int replies;

static void count(size_t length, unsigned access)
{
    if (!(access & IBV_ACCESS_REMOTE_WRITE)) registered += length; /* the segment is for peers */
}

static void *next(const char *name)
{
    void *function = dlsym(RTLD_NEXT, name);
    if (!function) abort();
    return function;
}

#define IN_FRONT __attribute__((visibility("default")))

IN_FRONT struct ibv_mr *ibv_reg_mr(struct ibv_pd *pd, void *start, size_t length, int access)
{
    struct ibv_mr *(*real)(struct ibv_pd *, void *, size_t, int);
    *(void **)&real = next("ibv_reg_mr");
    count(length, (unsigned)access);
    return real(pd, start, length, access);
}

IN_FRONT struct ibv_mr *ibv_reg_mr_iova2(struct ibv_pd *pd, void *start, size_t length,
                                         uint64_t iova, unsigned access)
{
    struct ibv_mr *(*real)(struct ibv_pd *, void *, size_t, uint64_t, unsigned);
    *(void **)&real = next("ibv_reg_mr_iova2");
    count(length, access);
    return real(pd, start, length, iova, access);
}

static void on_request(gasnet_token_t t)
{
    gasnet_AMReplyShort0(t, H_REPLY);
}
static void on_reply(gasnet_token_t t)
{
    (void)t;
    replies++;
}
static gasnet_handlerentry_t table[] = {{H_REQUEST, on_request}, {H_REPLY, on_reply}};

/* Nothing collective: that would be speaking to peers. */
int main(int argc, char **argv)
{
    if (gasnet_init(&argc, &argv) != GASNET_OK) return 1;
    if (gasnet_attach(table, TEST_COUNT(table), GASNET_PAGESIZE, 0) != GASNET_OK) return 1;
    int peers = argc > 1 ? atoi(argv[1]) : 0;
    if (gasnet_mynode() != 0 || peers >= (int)gasnet_nodes()) {
        for (;;) gasnet_AMPoll();
    }
    gasnet_seginfo_t segment[64];
    gasnet_getSegmentInfo(segment, 64);
    for (int i = 1; i <= peers; i++) {
        gasnet_AMRequestShort0((gasnet_node_t)i, H_REQUEST);
        gasnet_put_val((gasnet_node_t)i, segment[i].addr, 1, 4);
    }
    GASNET_BLOCKUNTIL(replies == peers);
    printf("registered %zu\n", registered);
    fflush(stdout);
    gasnet_exit(0);
}
