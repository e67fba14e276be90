/* device_select.c - real and software devices in one program: every name of libibverbs, for both.
 *
 * fake_verbs.c replaces libibverbs; libsofthca is linked or preloaded. Each test runs in a process
 * of its own, because the devices are determined once. TAP on stdout.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fake_verbs.h"
#include "other/softhca/include/softhca.h"
#include "pair.h"
#include "rules.h"

/* The address of each name as the loader binds it. */
typedef uint64_t call(uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t);
#define NAME(version, name, returns, takes) call call_##name __asm__(#name);
#define BOTH                                NAME
#include "names.def"
#undef NAME
#undef BOTH

struct name {
    const char *name;
    char returns;
    const char *takes;
    call *f, *first; /* the second in the first symbol version */
};

/* clang-format off */
static struct name names[] = {
#define NAME(version, name, returns, takes) {#name, #returns[0], takes, call_##name, NULL},
#define BOTH(version, name, returns, takes) {#name, #returns[0], takes, call_##name, call_##name},
#include "names.def"
};
/* clang-format on */
enum { NAMES = sizeof names / sizeof *names };

static void bind_first_version(void)
{
    for (int i = 0; i < NAMES; i++)
        if (names[i].first) {
            names[i].first = (call *)dlvsym(RTLD_DEFAULT, names[i].name, "IBVERBS_1.0");
            CHECK(names[i].first != NULL);
        }
}

static _Thread_local uint64_t seed = 1;
static uint64_t random_bits(void)
{
    seed = seed * 6364136223846793005ull + 1442695040888963407ull;
    return seed ^ seed >> 29;
}

static _Thread_local char scratch[8192];

static uint64_t mask_of(char kind)
{
    return kind == 'b' ? 0xff : kind == 'w' ? 0xffff : kind == 'i' ? 0xffffffff : ~0ull;
}

static uint64_t an_event(void)
{
    struct ibv_async_event *e = (struct ibv_async_event *)(scratch + 4096);
    static const enum ibv_event_type kinds[] = {
        IBV_EVENT_CQ_ERR,   IBV_EVENT_QP_FATAL,          IBV_EVENT_QP_LAST_WQE_REACHED,
        IBV_EVENT_SRQ_ERR,  IBV_EVENT_SRQ_LIMIT_REACHED, IBV_EVENT_WQ_FATAL,
        IBV_EVENT_PORT_ERR, IBV_EVENT_DEVICE_FATAL,      IBV_EVENT_CLIENT_REREGISTER};
    *e = (struct ibv_async_event){.event_type = kinds[random_bits() % 9]};
    if (e->event_type == IBV_EVENT_CQ_ERR)
        e->element.cq = fake_make('q');
    else
        e->element.qp = fake_make('Q');
    return (uintptr_t)e;
}

static uint64_t argument(char kind)
{
    if (strchr("pmqQsahDc", kind)) return (uintptr_t)fake_make(kind);
    if (kind == 'e') return an_event();
    if (kind == 'P') return (uintptr_t)scratch + random_bits() % 512 * 8;
    return random_bits() & mask_of(kind);
}

/* The names implemented by the device are tested one by one below. */
static bool about_devices(const struct name *n)
{
    return strchr("dl", n->takes[0]) != NULL || !strcmp(n->name, "ibv_get_device_list") ||
           !strcmp(n->name, "ibv_close_device");
}

/* Calls F once with objects of the real library: the call must arrive once and unchanged, and its
 * result must be returned. */
static void goes_down(const struct name *n, call *f)
{
    if (!n->takes[0] || about_devices(n)) return;
    uint64_t arg[6] = {0}, result = random_bits() | 1;
    for (int i = 0; n->takes[i]; i++) arg[i] = argument(n->takes[i]);
    if (!strcmp(n->name, "ibv_get_async_event")) result = 0;
    int error = 1 + (int)(random_bits() % 100);
    fake_begin(result, error);
    errno = 0;
    uint64_t got = f(arg[0], arg[1], arg[2], arg[3], arg[4], arg[5]);
    int seen = errno;
    struct fake_call made = {0};
    if (fake_calls(&made) != 1 || strcmp(made.name, n->name)) {
        fprintf(stderr, "# %s: %d calls, of %s\n", n->name, fake_calls(&made), made.name);
        _exit(1);
    }
    for (int i = 0; n->takes[i]; i++)
        if ((made.arg[i] ^ arg[i]) & mask_of(n->takes[i])) {
            fprintf(stderr, "# %s: argument %d was changed\n", n->name, i);
            _exit(1);
        }
    uint64_t mask = mask_of(n->returns);
    if (n->returns != 'v' && ((got ^ result) & mask)) {
        fprintf(stderr, "# %s: returned %#llx instead of %#llx\n", n->name,
                (unsigned long long)(got & mask), (unsigned long long)(result & mask));
        _exit(1);
    }
    CHECK_EQ(seen, error);
}

static void every_name(void)
{
    for (int i = 0; i < NAMES; i++) {
        goes_down(&names[i], names[i].f);
        if (names[i].first) goes_down(&names[i], names[i].first);
    }
}

static void all_names_go_down(void)
{
    bind_first_version();
    for (int i = 0; i < 20; i++) every_name();
}

static void *names_of_a_thread(void *number)
{
    seed = (uintptr_t)number;
    for (int i = 0; i < 50; i++) every_name();
    return NULL;
}

static void from_many_threads(void)
{
    pthread_t t[4];
    bind_first_version();
    for (uintptr_t i = 0; i < 4; i++)
        CHECK_EQ(pthread_create(&t[i], NULL, names_of_a_thread, (void *)(i + 7)), 0);
    for (int i = 0; i < 4; i++) pthread_join(t[i], NULL);
}

/* While one call is inside the real library, another thread calls all other names and the software
 * device: if a lock were held, it would hang. */
static void *other_thread(void *unused)
{
    seed = 99;
    every_name();
    struct ibv_device **list = ibv_get_device_list(NULL);
    CHECK(list != NULL);
    if (softhca_active()) {
        struct side s = {.o = {0}};
        open_device(&s);
        CHECK_EQ(ibv_dereg_mr(s.mr), 0);
        CHECK_EQ(ibv_destroy_comp_channel(s.channel), 0);
        CHECK_EQ(ibv_dealloc_pd(s.pd), 0);
        CHECK_EQ(ibv_close_device(s.ctx), 0);
        softhca_free(s.buf);
    }
    ibv_free_device_list(list);
    return NULL;
}

static void meanwhile(void)
{
    pthread_t t;
    CHECK_EQ(pthread_create(&t, NULL, other_thread, NULL), 0);
    pthread_join(t, NULL);
}

static void no_lock_is_held(void)
{
    bind_first_version();
    fake_hook(meanwhile);
    for (int i = 0; i < NAMES; i++) goes_down(&names[i], names[i].f);
    fake_begin(0, 0);
    struct ibv_device **list = ibv_get_device_list(NULL);
    struct ibv_context *c = ibv_open_device(list[0]);
    CHECK(c != NULL);
    ibv_free_device_list(list);
    CHECK_EQ(ibv_close_device(c), 0);
}

/* The decision calls the real library, which may call back, on this thread or another. */
static void deciding_holds_no_lock(void)
{
    fake_begin(0, 0);
    fake_hook(meanwhile);
    bind_first_version();
    softhca_active();
    fake_hook(NULL);
    CHECK_EQ(fake_lists(), 0);
}

static void names_are_of_libsofthca(void)
{
    for (int i = 0; i < NAMES; i++) {
        Dl_info info;
        if (!strpbrk(names[i].takes, "dlcpmqQsahDe")) continue;
        CHECK(dladdr((void *)names[i].f, &info) && info.dli_fname);
        if (strstr(info.dli_fname, "libsofthca")) continue;
        fprintf(stderr, "# %s is bound to %s\n", names[i].name, info.dli_fname);
        _exit(1);
    }
}

static void operations_are_the_real_ones(void)
{
    struct ibv_device **list = ibv_get_device_list(NULL);
    struct ibv_context *c = ibv_open_device(list[0]);
    CHECK(c && c->device == list[0]);
    ibv_free_device_list(list);
    CHECK(!strcmp(ibv_get_device_name(c->device), "fake0")); /* an open device stays */
    struct ibv_cq *cq = fake_make('q');
    struct ibv_qp *qp = fake_make('Q');
    cq->context = qp->context = c;
    int before = fake_data_calls();
    struct ibv_wc wc;
    struct ibv_send_wr wr = {0}, *bad;
    struct ibv_port_attr port;
    CHECK_EQ(ibv_poll_cq(cq, 3, &wc), 3);
    CHECK_EQ(ibv_post_send(qp, &wr, &bad), 77);
    CHECK_EQ(ibv_query_port(c, 1, &port), 0);
    CHECK_EQ(fake_data_calls(), before + 3);
    CHECK_EQ(ibv_close_device(c), 0);
    CHECK_EQ(fake_contexts(), 0);
}

static int devices_named(struct ibv_device **list, const char *start)
{
    int n = 0;
    for (; *list; list++) n += !strncmp(ibv_get_device_name(*list), start, strlen(start));
    return n;
}

/* The device list that a program gets with the present FAKE_VERBS and SOFTHCA. */
static void lists(int real, int soft)
{
    int n = -1;
    struct ibv_device **a = ibv_get_device_list(&n), **b = ibv_get_device_list(NULL),
                      **c = ibv_get_device_list(NULL);
    if (real + soft == 0 && !a) return;
    CHECK(a && b && c);
    CHECK_EQ(n, real + soft);
    CHECK_EQ(softhca_active(), soft > 0);
    CHECK_EQ(devices_named(a, "fake"), real);
    CHECK_EQ(devices_named(b, "softhca"), soft);
    CHECK_EQ(devices_named(c, ""), n);
    for (int i = 0; i < real; i++) CHECK(!strncmp(ibv_get_device_name(c[i]), "fake", 4));
    ibv_free_device_list(b); /* in any order */
    CHECK_EQ(devices_named(a, ""), n);
    ibv_free_device_list(a);
    CHECK_EQ(devices_named(c, ""), n);
    ibv_free_device_list(c);
    CHECK_EQ(fake_lists(), 0);
    CHECK_EQ(fake_contexts(), 0);
}

/* Programs take the array for a block of malloc, which it is in libibverbs. */
static void list_given_to_free(void)
{
    int n;
    for (int i = 0; i < 100; i++) {
        struct ibv_device **list = ibv_get_device_list(&n), *first = list ? list[0] : NULL;
        CHECK(list && n > 0);
        free(list);
        list = ibv_get_device_list(&n);
        CHECK(list && list[0] == first);
        ibv_free_device_list(list);
    }
}

static void asked_for(void)
{
    lists(0, 1);
    CHECK(strstr(softhca_describe(), "SOFTHCA=on") != NULL);
}
static void none_and_soft(void)
{
    lists(0, 1);
    CHECK(strstr(softhca_describe(), "no real device found") != NULL);
}
static void none(void)
{
    lists(0, 0);
}
static void one_and_soft(void)
{
    lists(1, 1);
    CHECK(strstr(softhca_describe(), "softhca0") != NULL);
}
static void iwarp_and_soft(void)
{
    lists(1, 1);
    CHECK(strstr(softhca_describe(), "softhca0") && strstr(softhca_describe(), "but iWARP"));
}
static void two_and_soft(void)
{
    lists(2, 1);
}
static void one(void)
{
    lists(1, 0);
    CHECK(strstr(softhca_describe(), "real devices only") != NULL);
}
static void two(void)
{
    lists(2, 0);
    CHECK(strstr(softhca_describe(), "fake1 port 1 is active") != NULL);
}

static void one_denied(void)
{
    one();
    CHECK(strstr(softhca_describe(), "fake0: no permission to open it") != NULL);
}
static void two_denied(void)
{
    lists(2, 0);
    CHECK(strstr(softhca_describe(), "fake0: no permission to open it") != NULL);
}

static void a_device_outlives_its_list(void)
{
    struct side s = {.o = {0}};
    int before = fake_total();
    open_device(&s); /* which frees the list */
    CHECK(fake_total() > before);
    before = fake_total();
    CHECK(!strcmp(ibv_get_device_name(s.ctx->device), "softhca0"));
    struct ibv_context *second = ibv_open_device(s.ctx->device);
    CHECK(second && second != s.ctx);
    CHECK_EQ(ibv_close_device(second), 0);
    CHECK_EQ(fake_total(), before);
}

static struct ibv_async_event fetch(struct ibv_context *c, struct ibv_async_event e)
{
    CHECK_EQ(ibv_get_async_event(c, &e), 0);
    return e;
}

/* Events of ports and devices name no object: acknowledging them must reach the library that
 * delivered them. */
static void events_go_back(void)
{
    struct ibv_device **list = ibv_get_device_list(NULL);
    struct ibv_context *real = ibv_open_device(list[0]);
    CHECK(real != NULL);
    struct fake_call call;
    struct ibv_async_event e = {.event_type = IBV_EVENT_PORT_ERR};
    for (int kind = IBV_EVENT_DEVICE_FATAL; kind <= IBV_EVENT_GID_CHANGE; kind++) {
        if (kind == IBV_EVENT_SRQ_ERR || kind == IBV_EVENT_SRQ_LIMIT_REACHED ||
            kind == IBV_EVENT_QP_LAST_WQE_REACHED)
            continue;
        struct ibv_async_event theirs = {.event_type = kind, .element.port_num = 1};
        fake_event(&theirs);
        memset(&e, 0x5a, sizeof e); /* any former content, which must not matter */
        fake_begin(0, 0);
        e = fetch(real, e);
        CHECK_EQ(e.event_type, kind);
        CHECK_EQ(e.element.port_num, 1);
        fake_begin(0, 0);
        ibv_ack_async_event(&e);
        CHECK_EQ(fake_calls(&call), 1);
        CHECK_EQ(call.arg[0], (uintptr_t)&e);
    }
    CHECK_EQ(ibv_close_device(real), 0);
    ibv_free_device_list(list);
}

/* The names that the tests of the software device have called. */
static bool called[NAMES];
static void mark(const char *name)
{
    for (int i = 0; i < NAMES; i++)
        if (!strcmp(names[i].name, name)) called[i] = true;
}
#define SOFT(name, ...) (mark(#name), name(__VA_ARGS__))

int ibv_query_gid_type(struct ibv_context *c, uint8_t port, unsigned index, unsigned *type);

static void soft_rare_names(struct side *s)
{
    unsigned char mac[ETHERNET_LL_SIZE];
    struct ibv_ece ece = {0};
    uint16_t vid;
    struct ibv_ah_attr ah = {.port_num = 1};
    errno = 0;
    CHECK(!SOFT(ibv_import_pd, s->ctx, 1));
    CHECK_EQ(errno, EOPNOTSUPP);
    CHECK(!SOFT(ibv_import_mr, s->pd, 1));
    CHECK_EQ(errno, EOPNOTSUPP);
    CHECK(!SOFT(ibv_import_dm, s->ctx, 1));
    CHECK_EQ(errno, EOPNOTSUPP);
    CHECK(!SOFT(ibv_reg_dmabuf_mr, s->pd, 0, 4096, 0, 1, 0));
    CHECK_EQ(errno, EOPNOTSUPP);
    SOFT(ibv_unimport_pd, s->pd);
    SOFT(ibv_unimport_mr, s->mr);
    struct ibv_dm dm = {.context = s->ctx};
    SOFT(ibv_unimport_dm, &dm);
    CHECK_EQ(SOFT(ibv_query_ece, s->qp, &ece), EOPNOTSUPP);
    CHECK_EQ(SOFT(ibv_set_ece, s->qp, &ece), EOPNOTSUPP);
    CHECK_EQ(SOFT(ibv_resolve_eth_l2_from_gid, s->ctx, &ah, mac, &vid), EOPNOTSUPP);
    CHECK(SOFT(ibv_query_qp_data_in_order, s->qp, IBV_WR_RDMA_WRITE, 0) >= 0);
    static const char *const later[] = {
        "ibv_alloc_dmah", "ibv_reg_mr_ex",        "ibv_query_port_speed",   "ibv_alloc_buf",
        "ibv_reg_buf_mr", "ibv_create_comp_cntr", "ibv_qp_attach_comp_cntr"};
    for (int i = 0; i < NAMES; i++)
        for (size_t k = 0; k < sizeof later / sizeof *later; k++)
            if (!strcmp(names[i].name, later[k])) {
                errno = 0;
                void *object = names[i].takes[0] == 'c'   ? (void *)s->ctx
                               : names[i].takes[0] == 'p' ? (void *)s->pd
                                                          : (void *)s->qp;
                uint64_t r = names[i].f((uintptr_t)object, 0, 0, 0, 0, 0);
                CHECK_EQ(errno, EOPNOTSUPP);
                CHECK_EQ((int)r, names[i].returns == 'p' ? 0 : EOPNOTSUPP);
                called[i] = true;
            }
}

static void soft_queries(struct side *s)
{
    struct ibv_device_attr d;
    struct ibv_port_attr port = {0};
    struct ibv_gid_entry entry;
    union ibv_gid gid;
    __be16 pkey;
    unsigned type;
    CHECK(!strcmp(SOFT(ibv_get_device_name, s->ctx->device), "softhca0"));
    CHECK(SOFT(ibv_get_device_guid, s->ctx->device) != 0);
    CHECK_EQ(SOFT(ibv_get_device_index, s->ctx->device), -1);
    CHECK_EQ(SOFT(ibv_query_device, s->ctx, &d), 0);
    mark("ibv_query_port");
    CHECK_EQ((ibv_query_port)(s->ctx, 1, (void *)&port), 0);
    CHECK_EQ(port.state, IBV_PORT_ACTIVE);
    CHECK_EQ(SOFT(ibv_query_gid, s->ctx, 1, 0, &gid), 0);
    CHECK_EQ(SOFT(ibv_query_gid_type, s->ctx, 1, 0, &type), 0);
    CHECK_EQ(SOFT(_ibv_query_gid_ex, s->ctx, 1, 0, &entry, 0, sizeof entry), 0);
    CHECK(SOFT(_ibv_query_gid_table, s->ctx, &entry, 1, 0, sizeof entry) == 1);
    CHECK_EQ(SOFT(ibv_query_pkey, s->ctx, 1, 0, &pkey), 0);
    CHECK_EQ(SOFT(ibv_get_pkey_index, s->ctx, 1, pkey), 0);
}

static void soft_memory(struct side *s)
{
    mark("ibv_reg_mr");
    struct ibv_mr *mr = (ibv_reg_mr)(s->pd, s->buf, 4096, 0);
    CHECK(mr != NULL);
    int r = SOFT(ibv_rereg_mr, mr, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0, 0);
    CHECK(r == 0 || r == IBV_REREG_MR_ERR_INPUT);
    CHECK_EQ(SOFT(ibv_dereg_mr, mr), 0);
    mark("ibv_reg_mr_iova");
    mr = (ibv_reg_mr_iova)(s->pd, s->buf, 4096, 0, 0);
    CHECK(mr && ibv_dereg_mr(mr) == 0);
    mr = SOFT(ibv_reg_mr_iova2, s->pd, s->buf, 4096, 0, IBV_ACCESS_RELAXED_ORDERING);
    CHECK(mr && ibv_dereg_mr(mr) == 0);
}

static void soft_srq_and_ah(struct side *s)
{
    struct ibv_srq_init_attr init = {.attr = {.max_wr = 4, .max_sge = 1}};
    struct ibv_srq_attr a = {0};
    struct ibv_srq *srq = SOFT(ibv_create_srq, s->pd, &init);
    struct ibv_srq stand_in = {.context = s->ctx}; /* without real devices */
    if (!srq) CHECK_EQ(errno, EOPNOTSUPP);
    int r = SOFT(ibv_query_srq, srq ? srq : &stand_in, &a);
    CHECK_EQ(r, srq ? 0 : EOPNOTSUPP);
    r = SOFT(ibv_modify_srq, srq ? srq : &stand_in, &a, 0);
    CHECK_EQ(r, srq ? 0 : EOPNOTSUPP);
    r = SOFT(ibv_destroy_srq, srq ? srq : &stand_in);
    CHECK_EQ(r, srq ? 0 : EOPNOTSUPP);

    struct ibv_ah_attr attr = {.dlid = s->mine.lid, .port_num = 1};
    struct ibv_ah *ah = SOFT(ibv_create_ah, s->pd, &attr), other = {.context = s->ctx};
    if (!ah) CHECK_EQ(errno, EOPNOTSUPP);
    CHECK_EQ(SOFT(ibv_destroy_ah, ah ? ah : &other), ah ? 0 : EOPNOTSUPP);
    struct ibv_wc wc = {.slid = s->mine.lid};
    struct ibv_grh grh = {0};
    SOFT(ibv_init_ah_from_wc, s->ctx, 1, &wc, &grh, &attr);
    ah = SOFT(ibv_create_ah_from_wc, s->pd, &wc, &grh, 1);
    if (ah) CHECK_EQ(ibv_destroy_ah(ah), 0);
    union ibv_gid gid = {{0xff}};
    SOFT(ibv_attach_mcast, s->qp, &gid, 0xc000);
    SOFT(ibv_detach_mcast, s->qp, &gid, 0xc000);
}

/* Asynchronous and completion events of the software device. */
static void soft_events(struct side *s)
{
    struct ibv_cq *cq;
    void *context;
    int flags = O_NONBLOCK;
    CHECK_EQ(fcntl(s->channel->fd, F_SETFL, flags), 0);
    CHECK_EQ(SOFT(ibv_get_cq_event, s->channel, &cq, &context), -1);
    SOFT(ibv_ack_cq_events, s->scq, 0);
    struct side t = *s; /* another QP of the same context */
    make_qp(&t);
    connect_qp(s, &t.mine);
    connect_qp(&t, &s->mine);
    struct ibv_send_wr *wr = make_wr(s, IBV_WR_RDMA_WRITE, 1, 0, 8, 0);
    wr->wr.rdma.remote_addr = s->mine.addr;
    wr->wr.rdma.rkey = s->mine.rkey + 0x1000;
    CHECK_EQ(post(s, wr), 0);
    expect(s->scq, 1, IBV_WC_REM_ACCESS_ERR);
    struct ibv_async_event e;
    CHECK_EQ(SOFT(ibv_get_async_event, s->ctx, &e), 0);
    CHECK_EQ(e.event_type, IBV_EVENT_QP_ACCESS_ERR);
    CHECK(e.element.qp == t.qp);
    SOFT(ibv_ack_async_event, &e);
    CHECK_EQ(ibv_destroy_qp(t.qp), 0);
    CHECK_EQ(ibv_destroy_cq(t.scq), 0);
    CHECK_EQ(ibv_destroy_cq(t.rcq), 0);
}

static void soft_objects(struct side *s)
{
    struct ibv_qp_attr a;
    struct ibv_qp_init_attr init;
    CHECK(SOFT(ibv_qp_to_qp_ex, s->qp) == NULL);
    CHECK_EQ(SOFT(ibv_query_qp, s->qp, &a, 0, &init), 0);
    int r = SOFT(ibv_resize_cq, s->scq, 512);
    CHECK(r == 0 || r == EOPNOTSUPP);
    struct ibv_pd *pd = SOFT(ibv_alloc_pd, s->ctx);
    CHECK(pd && SOFT(ibv_dealloc_pd, pd) == 0);
    struct ibv_cq *cq = SOFT(ibv_create_cq, s->ctx, 4, NULL, NULL, 0);
    CHECK(cq && SOFT(ibv_destroy_cq, cq) == 0);
    struct ibv_comp_channel *ch = SOFT(ibv_create_comp_channel, s->ctx);
    CHECK(ch && SOFT(ibv_destroy_comp_channel, ch) == 0);
    struct ibv_context *c = SOFT(ibv_open_device, s->ctx->device);
    CHECK(c && SOFT(ibv_close_device, c) == 0);
    mark("ibv_create_qp"), mark("ibv_modify_qp"), mark("ibv_destroy_qp"); /* called by pair.c */
}

static void soft_names_stay(void)
{
    struct side s = {.o = {0}};
    mark("ibv_get_device_list"), mark("ibv_free_device_list");
    open_device(&s);
    int before = fake_total();
    make_qp(&s);
    soft_queries(&s);
    soft_memory(&s);
    soft_objects(&s);
    soft_srq_and_ah(&s);
    soft_rare_names(&s);
    soft_events(&s);
    tear_down(&s);
    CHECK_EQ(fake_total(), before);
    for (int i = 0; i < NAMES; i++)
        if (strpbrk(names[i].takes, "dlcpmqQsahDe") && !called[i]) {
            fprintf(stderr, "# %s was not called with an object of ours\n", names[i].name);
            _exit(1);
        }
}

/* Objects inherited by a forked child belong neither to the software device nor to the real
 * library. */
static void is_dead(const struct name *n, struct side *s)
{
    struct ibv_srq srq = {.context = s->ctx};
    struct ibv_ah ah = {.context = s->ctx};
    struct ibv_dm dm = {.context = s->ctx};
    uint64_t arg[6] = {0};
    for (int i = 0; n->takes[i]; i++) {
        static const char kinds[] = "cpmqQsahDP";
        void *const objects[] = {s->ctx, s->pd, s->mr,      s->scq, s->qp,
                                 &srq,   &ah,   s->channel, &dm,    scratch};
        const char *k = strchr(kinds, n->takes[i]);
        if (k) arg[i] = (uintptr_t)objects[k - kinds];
    }
    if (!n->takes[0] || !strchr("cpmqQsahD", n->takes[0])) return;
    errno = 0;
    uint64_t r = n->f(arg[0], arg[1], arg[2], arg[3], arg[4], arg[5]);
    bool failed = n->returns == 'v' || (errno == EIO && (n->returns == 'p'   ? r == 0
                                                         : n->returns == 'z' ? r == -(uint64_t)EIO
                                                                             : (int)r != 1));
    if (!failed) fprintf(stderr, "# %s: %#llx\n", n->name, (unsigned long long)r);
    CHECK(failed);
}

static void child_of_a_fork(void)
{
    struct side s = {.o = {0}};
    bind_first_version();
    open_device(&s);
    make_qp(&s);
    struct ibv_async_event e = {.event_type = IBV_EVENT_QP_FATAL, .element.qp = s.qp};
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        int before = fake_total();
        for (int i = 0; i < NAMES; i++) is_dead(&names[i], &s);
        ibv_ack_async_event(&e);
        CHECK_EQ(fake_total(), before);
        every_name();
        exit(0);
    }
    int status;
    CHECK(waitpid(child, &status, 0) == child);
    CHECK_EQ(status, 0);
    tear_down(&s);
}

/* Pages that this process has mapped. */
static long mapped_pages(void)
{
    char text[100] = "";
    int fd = open("/proc/self/statm", O_RDONLY);
    CHECK(fd >= 0 && read(fd, text, sizeof text - 1) > 0);
    close(fd);
    return atol(text);
}

static void memory_without_the_device(void)
{
    softhca_free(softhca_alloc(1)); /* decides */
    const long before = mapped_pages();
    char *block = softhca_alloc(100000);
    CHECK(block && !((uintptr_t)block % 4096));
    memset(block, 1, 100000);
    CHECK(mapped_pages() > before);
    softhca_free(block);
    CHECK_EQ(mapped_pages(), before);
}

static void run(const char *soft, const char *real, void (*test)(void), const char *name)
{
    if (soft)
        setenv("SOFTHCA", soft, 1);
    else
        unsetenv("SOFTHCA");
    setenv("FAKE_VERBS", real, 1);
    check(run_alone(test), "%s (SOFTHCA %s, devices: %s)", name, soft ? soft : "unset",
          *real ? real : "no");
}

int main(void)
{
    static const struct {
        const char *soft, *real, *name;
        void (*test)(void);
    } tests[] = {
        {NULL, "active", "every name is of libsofthca", names_are_of_libsofthca},
        {"on", "active", "every call arrives as it was made", all_names_go_down},
        {"off", "active", "the same", all_names_go_down},
        {NULL, "active", "the same", all_names_go_down},
        {NULL, "down", "the same", all_names_go_down},
        {"on", "active", "the same from four threads", from_many_threads},
        {NULL, "active", "the same from four threads that decide at once", from_many_threads},
        {"on", "active", "no lock is held meanwhile", no_lock_is_held},
        {NULL, "active", "no lock is held meanwhile", no_lock_is_held},
        {NULL, "down,active", "no lock is held while deciding", deciding_holds_no_lock},
        {NULL, "down", "no lock is held while deciding", deciding_holds_no_lock},
        {"on", "active", "an open device has its own operations", operations_are_the_real_ones},
        {NULL, "", "no device: ours", none_and_soft},
        {NULL, "none", "not even a list: ours", none_and_soft},
        {"auto", "down", "a port that is down: ours beside it", one_and_soft},
        {NULL, "closed", "a device that cannot be opened: ours beside it", one_and_soft},
        {NULL, "closed,down", "both: ours beside them", two_and_soft},
        {NULL, "iwarp", "iWARP, which few programs can use: ours beside it", iwarp_and_soft},
        {NULL, "iwarp,active", "iWARP beside an active port: not ours", two},
        {NULL, "active", "an active port: not ours", one},
        {NULL, "old", "one of an old provider: not ours", one},
        {NULL, "closed,active", "an active port of the second: not ours", two},
        {NULL, "denied", "one that this user may not open: not ours", one_denied},
        {NULL, "denied,down", "the same beside a port that is down", two_denied},
        {NULL, "denied,active", "the same beside an active port", two},
        {"on", "denied", "the same, asked for: ours beside it", one_and_soft},
        {"on", "active,down", "asked for: ours beside them", two_and_soft},
        {"on", "none", "asked for: ours", asked_for},
        {"off", "active", "not wanted: not ours", one},
        {"off", "", "not wanted: none", none},
        {"off", "none", "not wanted: none", none},
        {"off", "active", "memory is given back without the device", memory_without_the_device},
        {"on", "active", "a device outlives its list", a_device_outlives_its_list},
        {"on", "active", "a list may be given to free()", list_given_to_free},
        {"on", "none", "also one of our devices alone", list_given_to_free},
        {"on", "active", "events go back where they came from", events_go_back},
        {"off", "active", "events go back where they came from", events_go_back},
        {"on", "active", "nothing of ours reaches the real library", soft_names_stay},
        {"on", "active", "nor does what the child of a fork inherits", child_of_a_fork},
    };
    for (size_t i = 0; i < sizeof tests / sizeof *tests; i++)
        run(tests[i].soft, tests[i].real, tests[i].test, tests[i].name);
    return check_end();
}
