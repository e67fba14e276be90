/* hcas.c - libvapi on other HCAs than one plain one: none, several, an InfiniHost of some firmware,
 * small ones, ports that are down.  Each case is a process of its own, as HCAs are what they are
 * from the first look on: hcas CASE.
 */
#include <dirent.h>
#include <dlfcn.h>
#include <endian.h>
#include <infiniband/verbs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "qp_pair.h"

static void no_hca(void)
{
    u_int32_t n = 77;
    VAPI_hca_id_t id[1];
    VAPI_hca_hndl_t hca;
    is_code(EVAPI_list_hcas(0, &n, NULL), VAPI_OK, "the counting call, without any HCA");
    is_number(n, 0, "counts none");
    is_code(EVAPI_list_hcas(1, &n, id), VAPI_OK, "the list");
    is_number(n, 0, "is empty");
    is_code(EVAPI_list_hcas(0, NULL, NULL), VAPI_EINVAL_PARAM, "nowhere to tell how many");
    is_code(VAPI_open_hca("InfiniHost0", &hca), VAPI_EINVAL_HCA_ID, "InfiniHost0 is not there");
    is_code(EVAPI_get_hca_hndl("InfiniHost0", &hca), VAPI_EINVAL_HCA_ID, "nor to be attached to");
    is_code(EVAPI_get_hca_hndl(NULL, &hca), VAPI_EINVAL_HCA_ID, "nor is no name");
}

static VAPI_hca_hndl_t get(const char *name)
{
    VAPI_hca_hndl_t hca;
    NEED(EVAPI_get_hca_hndl(name, &hca));
    return hca;
}

static void maker(void)
{
    VAPI_hca_vendor_t v;
    VAPI_hca_hndl_t hca = get("softhca0");
    NEED(VAPI_query_hca_cap(hca, &v, NULL));
    is_number(v.vendor_id, MT_MELLANOX_IEEE_VENDOR_ID, "the vendor");
    is_number(v.vendor_part_id, 0x5a44, "the part is an InfiniHost");
    is_number(v.hw_ver, 0xa1, "its revision");
    is_number((long long)v.fw_ver, 0x100120000, "firmware 1.18.0");
    NEED(EVAPI_release_hca_hndl(hca));
    hca = get("InfiniHost1");
    NEED(VAPI_query_hca_cap(hca, &v, NULL));
    is_number((long long)v.fw_ver, 0x300020080, "of the second, 3.2.128");
    is_number(v.vendor_part_id, 0x5a44, "an InfiniHost too");
    NEED(EVAPI_release_hca_hndl(hca));
}

static void list_of_three(void)
{
    u_int32_t n = 77;
    VAPI_hca_id_t id[5];
    memset(id, 'z', sizeof id);
    is_code(EVAPI_list_hcas(0, &n, NULL), VAPI_EAGAIN, "counting three");
    is_number(n, 3, "counts three");
    is_code(EVAPI_list_hcas(1, &n, id), VAPI_EAGAIN, "room for one of three");
    is_true(n == 3 && !strcmp(id[0], "softhca0") && id[1][0] == 'z',
            "is filled, and the number of all is told");
    is_code(EVAPI_list_hcas(3, &n, id), VAPI_OK, "room for three");
    is_true(!strcmp(id[2], "softhca2") && id[3][0] == 'z', "is filled");
    memset(id, 'z', sizeof id);
    is_code(EVAPI_list_hcas(sizeof id, &n, id), VAPI_OK, "a number of bytes for one of entries");
    is_true(!strcmp(id[2], "softhca2") && id[3][0] == 'z', "writes no more than there are");
}

/* Tests that objects of one HCA are invalid with another one, in every call. */
static void strangers(void)
{
    struct stage s;
    struct wants w = {.signals = VAPI_SIGNAL_REQ_WR};
    VAPI_hca_hndl_t other = get("InfiniHost2");
    VAPI_wc_desc_t wc;
    VAPI_pd_hndl_t pd;
    open_stage(&s);
    make_ends(&s, &w);
    is_true(other != s.hca, "two HCAs have two handles");
    is_code(VAPI_post_sr(other, s.a.qp, request(&s, VAPI_RDMA_WRITE, 1, 0, 8)), VAPI_EINVAL_QP_HNDL,
            "posting by way of another HCA");
    is_code(EVAPI_post_inline_sr(other, s.a.qp, request(&s, VAPI_RDMA_WRITE, 1, 0, 8)),
            VAPI_EINVAL_QP_HNDL, "inline");
    is_code(VAPI_post_rr(other, s.a.qp, receive(&s, 1, 0, 8)), VAPI_EINVAL_QP_HNDL, "receiving");
    is_code(VAPI_poll_cq(other, s.a.scq, &wc), VAPI_EINVAL_CQ_HNDL, "polling");
    is_code(VAPI_destroy_qp(other, s.a.qp), VAPI_EINVAL_QP_HNDL, "destroying");
    is_code(VAPI_dealloc_pd(other, s.pd), VAPI_EINVAL_PD_HNDL, "a domain");
    NEED(VAPI_alloc_pd(other, &pd));
    VAPI_qp_init_attr_t init = {
        .sq_cq_hndl = s.a.scq, .rq_cq_hndl = s.a.rcq, .cap = {4, 4, 1, 1, 0}, .pd_hndl = pd};
    VAPI_qp_hndl_t qp;
    is_code(VAPI_create_qp(s.hca, &init, &qp, NULL), VAPI_EINVAL_PD_HNDL,
            "a QP of two HCAs' objects");
    is_code(EVAPI_release_hca_hndl(other), VAPI_EBUSY, "each HCA counts its own objects");
    NEED(VAPI_dealloc_pd(other, pd));
    is_code(EVAPI_release_hca_hndl(other), VAPI_OK, "and is released without the other's");
    is_code(VAPI_post_sr(other, s.a.qp, request(&s, VAPI_RDMA_WRITE, 1, 0, 8)),
            VAPI_EINVAL_HCA_HNDL, "posting by way of one that was released");
    is_code(VAPI_poll_cq(other, s.a.scq, &wc), VAPI_EINVAL_HCA_HNDL, "polling so");
    NEED(VAPI_post_sr(s.hca, s.a.qp, request(&s, VAPI_RDMA_WRITE, 7, 0, 8)));
    is_number(await_wc(&s, s.a.scq).id, 7, "what is left works");
    drop_ends(&s);
    close_stage(&s);
}

static void ports(void)
{
    static const struct {
        IB_port_t port;
        IB_port_state_t state;
    } known[] = {{1, PORT_DOWN}, {2, PORT_INITIALIZE}, {3, PORT_ARMED}, {4, PORT_ACTIVE}};
    VAPI_hca_hndl_t hca = get("softhca0");
    VAPI_hca_port_t p;
    VAPI_pkey_t pkey[4];
    u_int16_t n;
    for (int i = 0; i < 4; i++) {
        NEED(VAPI_query_hca_port_prop(hca, known[i].port, &p));
        is_number(p.state, known[i].state, "a port's state");
    }
    is_true(p.max_mtu == MTU1024 && p.lmc == 2 && p.pkey_tbl_len == 2 && p.gid_tbl_len == 3,
            "the last one's properties; its largest MTU is the active one");
    is_code(VAPI_query_hca_port_prop(hca, 5, &p), VAPI_EINVAL_PORT, "port 5 of 4");
    is_code(VAPI_query_hca_pkey_tbl(hca, 4, 1, &n, pkey), VAPI_EAGAIN, "room for one P_Key of two");
    is_true(n == 2 && pkey[0] == 0xffff, "is filled, and the number of all is told");
    is_code(VAPI_query_hca_pkey_tbl(hca, 4, 4, &n, pkey), VAPI_OK, "room for all");
    is_number(pkey[1], 0x8001, "tells the second");
    NEED(EVAPI_release_hca_hndl(hca));
}

static void small(void)
{
    struct stage s;
    VAPI_hca_cap_t cap;
    struct wants w = {.signals = VAPI_SIGNAL_REQ_WR};
    open_stage(&s);
    NEED(VAPI_query_hca_cap(s.hca, NULL, &cap));
    is_true(cap.max_num_qp == 2 && cap.max_num_cq == 4 && cap.max_num_ent_cq == 100 &&
                cap.max_num_sg_ent == 3 && cap.max_qp_ous_rd_atom == 255 &&
                cap.max_qp_init_rd_atom == 7,
            "what a small HCA can");
    is_number(cap.max_num_srq, 0, "without shared queues");
    make_ends(&s, &w);
    is_number(s.a.prop.cap.max_inline_data_sq, 64, "room for inline data is what the device has");
    is_code(EVAPI_post_inline_sr(s.hca, s.a.qp, request(&s, VAPI_RDMA_WRITE, 1, 0, 65)),
            VAPI_EINVAL_SG_NUM, "one byte more is refused");
    VAPI_qp_init_attr_t init = {
        .sq_cq_hndl = s.a.scq, .rq_cq_hndl = s.a.rcq, .cap = {4, 4, 1, 1, 0}, .pd_hndl = s.pd};
    VAPI_qp_hndl_t qp;
    VAPI_cq_hndl_t cq;
    VAPI_cqe_num_t n;
    VAPI_srq_attr_t attr = {.pd_hndl = s.pd, .max_outs_wr = 4, .max_sentries = 1};
    is_code(VAPI_create_qp(s.hca, &init, &qp, NULL), VAPI_EAGAIN, "a third QP of two");
    is_code(VAPI_create_cq(s.hca, 10, &cq, &n), VAPI_EAGAIN, "a fifth CQ of four");
    is_code(VAPI_create_srq(s.hca, &attr, &qp, NULL), VAPI_ENOSYS, "a shared queue");
    VAPI_qp_attr_t got;
    VAPI_qp_attr_mask_t mask;
    NEED(VAPI_query_qp(s.hca, s.a.qp, &got, &mask, &init));
    is_true(got.ous_dst_rd_atom == 4 && got.qp_ous_rd_atom == 4, "depths that fit are as asked");
    drop_ends(&s);
    close_stage(&s);
}

/* --- a wrapper of the software device, with attributes that it never has --- */

static bool odd;

__attribute__((visibility("default"))) int ibv_query_device(struct ibv_context *context,
                                                            struct ibv_device_attr *a)
{
    int (*next)(struct ibv_context *, struct ibv_device_attr *);
    *(void **)&next = dlsym(RTLD_NEXT, "ibv_query_device");
    int error = next(context, a);
    if (error || !odd) return error;
    a->fw_ver[0] = '\0';
    a->node_guid = htobe64(0x0102030405060708);
    a->device_cap_flags = ~0u;
    a->page_size_cap = UINT64_C(0x1fffff000) & ~(UINT64_C(1) << 31);
    a->max_qp = -1;
    a->max_qp_wr = 1 << 30;
    a->max_sge = 100;
    a->max_sge_rd = 3;
    a->max_cq = 17;
    a->max_cqe = 1 << 30;
    a->max_mr = 19;
    a->max_mr_size = UINT64_MAX;
    a->max_pd = 20;
    a->max_qp_rd_atom = 1000;
    a->max_qp_init_rd_atom = 300;
    a->max_ee_rd_atom = 21;
    a->max_ee_init_rd_atom = 22;
    a->max_res_rd_atom = 1 << 20;
    a->atomic_cap = IBV_ATOMIC_NONE;
    a->max_ee = 23;
    a->max_rdd = 24;
    a->max_mw = 25;
    a->max_raw_ipv6_qp = 26;
    a->max_raw_ethy_qp = 27;
    a->max_mcast_grp = 28;
    a->max_mcast_qp_attach = 29;
    a->max_total_mcast_qp_attach = 30;
    a->max_ah = 31;
    a->max_srq = 32;
    a->max_srq_wr = 1 << 30;
    a->max_srq_sge = 100;
    a->max_pkeys = 33;
    a->local_ca_ack_delay = 34;
    return 0;
}

static void odd_device(void)
{
    static const unsigned char guid[] = {1, 2, 3, 4, 5, 6, 7, 8};
    struct stage s;
    VAPI_hca_vendor_t v;
    VAPI_hca_cap_t c;
    odd = true;
    open_stage(&s);
    NEED(VAPI_query_hca_cap(s.hca, &v, &c));
    is_number((long long)v.fw_ver, 0, "no firmware version");
    is_true(c.max_num_qp == 0 && c.max_qp_ous_wr == 16384 && c.max_num_sg_ent == 30 &&
                c.max_num_ent_cq == 131071 && c.max_wqe_per_srq == 16384 &&
                c.max_srq_sentries == 30,
            "sizes that would not work together are not told");
    is_true(c.max_qp_ous_rd_atom == 255 && c.max_qp_init_rd_atom == 255 && c.max_res_rd_atom == 255,
            "what has 8 bits is no more than 255");
    is_true(c.flags == 0x1fff && c.srq_resize_supported && c.page_size_cap == 1u << 30 &&
                memcmp(c.node_guid, guid, sizeof guid) == 0,
            "flags, the largest page of 32 bits, the GUID as it is");
    is_true(c.max_num_sg_ent_rd == 3 && c.max_num_cq == 17 && c.max_num_mr == 19 &&
                c.max_mr_size == UINT64_MAX && c.max_pd_num == 20 && c.max_ee_ous_rd_atom == 21 &&
                c.max_ee_init_rd_atom == 22 && c.max_ee_num == 23 && c.max_rdd_num == 24 &&
                c.max_mw_num == 25 && c.max_raw_ipv6_qp == 26 && c.max_raw_ethy_qp == 27 &&
                c.max_mcast_grp_num == 28 && c.max_mcast_qp_attach_num == 29 &&
                c.max_total_mcast_qp_attach_num == 30 && c.max_ah_num == 31 &&
                c.max_num_srq == 32 && c.max_pkeys == 33 && c.local_ca_ack_delay == 34 &&
                c.phys_port_num == 1 && c.max_num_fmr == 19 && c.max_num_map_per_fmr > 0 &&
                c.atomic_cap == VAPI_ATOMIC_CAP_NONE,
            "all else as the device has it");
    struct wants w = {.signals = VAPI_SIGNAL_REQ_WR, .raw = true};
    make_ends(&s, &w);
    VAPI_qp_attr_t a = {
        .qp_state = VAPI_INIT, .port = 1, .remote_atomic_flags = VAPI_EN_REM_ATOMIC_OP};
    VAPI_qp_attr_mask_t mask =
        QP_ATTR_QP_STATE | QP_ATTR_PKEY_IX | QP_ATTR_PORT | QP_ATTR_REMOTE_ATOMIC_FLAGS;
    VAPI_qp_cap_t cap;
    is_code(VAPI_modify_qp(s.hca, s.a.qp, &a, &mask, &cap), VAPI_ENOSYS_ATOMIC,
            "the right to atomics where there are none");
    a.remote_atomic_flags = VAPI_EN_REM_WRITE;
    is_code(VAPI_modify_qp(s.hca, s.a.qp, &a, &mask, &cap), VAPI_OK, "another right");
    drop_ends(&s);
    close_stage(&s);
}

/* As a device may answer: no two members are the same. */
static int distinct_port(struct ibv_context *context, uint8_t number, struct ibv_port_attr *attr,
                         size_t size)
{
    (void)context;
    struct ibv_port_attr a = {
        .state = IBV_PORT_ARMED,
        .active_mtu = IBV_MTU_2048,
        .gid_tbl_len = 16,
        .port_cap_flags = 17,
        .max_msg_sz = 18,
        .bad_pkey_cntr = 19,
        .qkey_viol_cntr = 20,
        .pkey_tbl_len = 21,
        .lid = 22,
        .sm_lid = 23,
        .lmc = 6,
        .max_vl_num = 7,
        .sm_sl = 8,
        .subnet_timeout = 9,
        .init_type_reply = 10,
    };
    memset(attr, 0, size);
    memcpy(attr, &a, size < sizeof a ? size : sizeof a);
    return number == 1 ? 0 : EINVAL;
}

/* Each member of a port is what verbs reports. */
static void whole_port(void)
{
    struct stage s;
    struct wants w = {.raw = true};
    struct ibv_port_attr p;
    VAPI_hca_port_t port;
    const VAPI_hca_port_t *v = &port;
    open_stage(&s);
    make_ends(&s, &w);
    struct ibv_context *context = vapi_slot_of(s.a.scq)->verbs.cq->context;
    struct verbs_context *verbs = verbs_get_ctx_op(context, query_port);
    if (!verbs) NEED(VAPI_EGEN);
    verbs->query_port = distinct_port;
    if (ibv_query_port(context, 1, &p)) NEED(VAPI_EGEN);
    NEED(VAPI_query_hca_port_prop(s.hca, 1, &port));
    is_true(v->max_mtu == p.active_mtu && v->max_msg_sz == p.max_msg_sz && v->lid == p.lid &&
                v->lmc == p.lmc && (int)v->state == (int)p.state &&
                v->capability_mask == p.port_cap_flags && v->max_vl_num == p.max_vl_num &&
                v->bad_pkey_counter == p.bad_pkey_cntr &&
                v->qkey_viol_counter == p.qkey_viol_cntr && v->sm_lid == p.sm_lid &&
                v->sm_sl == p.sm_sl && v->pkey_tbl_len == p.pkey_tbl_len &&
                v->gid_tbl_len == p.gid_tbl_len && v->subnet_timeout == p.subnet_timeout &&
                v->initTypeReply == p.init_type_reply,
            "a port is as verbs tells");
    VAPI_mr_hndl_t mr[8];
    VAPI_mr_t want = s.keys, got;
    VAPI_ret_t code = VAPI_OK;
    int made = 0;
    want.type = VAPI_MR;
    while (made < 8 && (code = VAPI_register_mr(s.hca, &want, &mr[made], &got)) == VAPI_OK) made++;
    is_code(code, VAPI_EAGAIN, "more regions than there may be");
    is_number(made, 3, "as many as there may be");
    while (made > 0) NEED(VAPI_deregister_mr(s.hca, mr[--made]));
    drop_ends(&s);
    close_stage(&s);
}

/* --- from the first to the last, over and over --- */

static int entries(const char *directory)
{
    int count = 0;
    DIR *d = opendir(directory);
    while (d && readdir(d)) count++;
    if (d) closedir(d);
    return count;
}

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int calls;

static void await_calls(int wanted)
{
    pthread_mutex_lock(&lock);
    while (calls < wanted) pthread_cond_wait(&changed, &lock);
    pthread_mutex_unlock(&lock);
}

static void note_call(void)
{
    pthread_mutex_lock(&lock);
    calls++;
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&lock);
}

static void on_completion(VAPI_hca_hndl_t hca, VAPI_cq_hndl_t cq, void *priv)
{
    note_call();
}

static void on_event(VAPI_hca_hndl_t hca, VAPI_event_record_t *record, void *priv) {}

static void write_one(struct stage *s)
{
    NEED(VAPI_post_sr(s->hca, s->a.qp, request(s, VAPI_RDMA_WRITE, 1, 0, 8)));
    need(await_wc(s, s->a.scq).status == VAPI_SUCCESS ? VAPI_OK : VAPI_EGEN, "a write");
}

static void cycles(void)
{
    struct wants w = {.signals = VAPI_SIGNAL_REQ_WR};
    int files = 0, threads = 0;
    for (int i = 0; i < 8; i++) {
        struct stage s;
        EVAPI_compl_handler_hndl_t handler, waiting;
        EVAPI_async_handler_hndl_t async;
        calls = 0;
        open_stage(&s);
        make_ends(&s, &w);
        NEED(EVAPI_set_async_event_handler(s.hca, on_event, NULL, &async));
        NEED(EVAPI_set_comp_eventh(s.hca, s.a.scq, on_completion, NULL, &handler));
        NEED(EVAPI_set_comp_eventh(s.hca, s.a.rcq, EVAPI_POLL_CQ_UNBLOCK_HANDLER, NULL, &waiting));
        NEED(VAPI_req_comp_notif(s.hca, s.a.scq, VAPI_NEXT_COMP));
        write_one(&s);
        await_calls(1);
        NEED(EVAPI_clear_comp_eventh(s.hca, handler));
        NEED(EVAPI_clear_comp_eventh(s.hca, waiting));
        if (i % 2) NEED(EVAPI_clear_async_event_handler(s.hca, async));
        drop_ends(&s);
        close_stage(&s);
        if (i == 3) {
            files = entries("/proc/self/fd");
            threads = entries("/proc/self/task");
        }
    }
    is_number(entries("/proc/self/fd"), files,
              "no descriptors are left of an HCA that was released");
    is_number(entries("/proc/self/task"), threads, "and no threads");
}

/* The last handler destroys everything and releases the HCA, from the library's own thread. */
static void destroys_all(VAPI_hca_hndl_t hca, VAPI_cq_hndl_t cq, void *priv)
{
    struct stage *s = priv;
    await_calls(1); /* the post has returned */
    NEED(EVAPI_clear_comp_eventh(hca, cq));
    drop_ends(s);
    close_stage(s);
    note_call();
}

static void leave(void)
{
    for (int i = 0; i < 4; i++) {
        struct stage s;
        struct wants w = {.signals = VAPI_SIGNAL_REQ_WR};
        EVAPI_compl_handler_hndl_t handler;
        calls = 0;
        open_stage(&s);
        make_ends(&s, &w);
        NEED(EVAPI_set_comp_eventh(s.hca, s.a.scq, destroys_all, &s, &handler));
        NEED(VAPI_req_comp_notif(s.hca, s.a.scq, VAPI_NEXT_COMP));
        NEED(VAPI_post_sr(s.hca, s.a.qp, request(&s, VAPI_RDMA_WRITE, 1, 0, 8)));
        note_call();
        await_calls(2);
        is_code(VAPI_query_hca_cap(s.hca, NULL, NULL), VAPI_EINVAL_HCA_HNDL,
                "a handler releases the HCA that calls it");
    }
}

static void in_child(struct stage *s)
{
    struct stage own;
    struct wants w = {.signals = VAPI_SIGNAL_REQ_WR};
    VAPI_wc_desc_t wc;
    if (VAPI_query_hca_cap(s->hca, NULL, NULL) != VAPI_EINVAL_HCA_HNDL) _exit(2);
    if (VAPI_poll_cq(s->hca, s->a.scq, &wc) != VAPI_EINVAL_HCA_HNDL) _exit(3);
    if (VAPI_post_sr(s->hca, s->a.qp, request(s, VAPI_RDMA_WRITE, 1, 0, 8)) != VAPI_EINVAL_HCA_HNDL)
        _exit(4);
    open_stage(&own);
    make_ends(&own, &w);
    write_one(&own);
    drop_ends(&own);
    close_stage(&own);
    _exit(0);
}

static void forks(void)
{
    struct stage s;
    struct wants w = {.signals = VAPI_SIGNAL_REQ_WR};
    EVAPI_compl_handler_hndl_t handler;
    int status;
    open_stage(&s);
    make_ends(&s, &w);
    NEED(EVAPI_set_comp_eventh(s.hca, s.b.scq, on_completion, NULL, &handler)); /* a thread */
    write_one(&s);
    pid_t child = fork();
    if (child == 0) in_child(&s);
    write_one(&s);
    waitpid(child, &status, 0);
    is_number(WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + status, 0,
              "a child has no handles of its parent's, and attaches anew");
    write_one(&s);
    is_true(true, "and the parent goes on");
    NEED(EVAPI_clear_comp_eventh(s.hca, handler));
    drop_ends(&s);
    close_stage(&s);
}

static const struct {
    const char *name, *devices;
    void (*run)(void);
} cases[] = {
    {"none", NULL, no_hca},
    {"maker",
     "2x1;vendor_id=0x2c9,vendor_part_id=0x5a44,hw_ver=0xa1,fw_ver=1.18.0;softhca1:fw_ver=3.2.128",
     maker},
    {"list", "3x1", list_of_three},
    {"strangers", "3x1", strangers},
    {"ports",
     "1x4;softhca0/1:state=down;softhca0/2:state=init;softhca0/3:state=armed;"
     "softhca0/4:active_mtu=1024,lmc=2,gids=3,pkeys=0xffff+0x8001",
     ports},
    {"small",
     "1x1;max_qp=2,max_cq=4,max_cqe=100,max_sge=3,max_srq=0,max_inline_data=64,max_qp_rd_atom=255,"
     "max_qp_init_rd_atom=7",
     small},
    {"odd", "1x1", odd_device},
    {"port", "1x1;max_mr=4;lmc=1,gids=4", whole_port},
    {"cycles", "2x1", cycles},
    {"leave", "1x1", leave},
    {"fork", "1x1", forks},
};

int main(int argc, char **argv)
{
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        if (argc != 2 || strcmp(argv[1], cases[i].name) != 0) continue;
        setenv("SOFTHCA", cases[i].devices ? "on" : "off", 1);
        if (cases[i].devices) setenv("SOFTHCA_DEVICES", cases[i].devices, 1);
        cases[i].run();
        return check_end();
    }
    fprintf(stderr, "usage: hcas CASE, as in run.sh\n");
    return 2;
}
