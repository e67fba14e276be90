/* memory.c - domains, regions of all kinds, windows. */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "qp_pair.h"

static VAPI_mr_t plain(struct stage *s, void *start, uint64_t size, VAPI_mrw_acl_t acl)
{
    VAPI_mr_t mr;
    memset(&mr, 0xee, sizeof mr);
    mr.type = VAPI_MR;
    mr.start = (MT_virt_addr_t)start;
    mr.size = size;
    mr.pd_hndl = s->pd;
    mr.acl = acl;
    return mr;
}

static void regions(struct stage *s)
{
    static const struct {
        VAPI_mrw_type_t type;
        uint64_t size;
        VAPI_mrw_acl_t acl;
        VAPI_ret_t code;
        const char *name;
    } refused[] = {
        {VAPI_MPR, 8, 1, VAPI_ENOSYS, "physical memory"},
        {VAPI_MW, 8, 1, VAPI_EINVAL_PARAM, "a window is no region"},
        {VAPI_MSHAR, 8, 1, VAPI_EINVAL_PARAM, "nor is what is shared"},
        {VAPI_MR, 0, 1, VAPI_EINVAL_LEN, "no bytes"},
        {VAPI_MR, UINT64_MAX, 1, VAPI_EINVAL_LEN, "more than there are"},
        {VAPI_MR, 8, VAPI_EN_REMOTE_WRITE, VAPI_EINVAL_ACL, "remote writes without local"},
        {VAPI_MR, 8, VAPI_EN_REMOTE_ATOM, VAPI_EINVAL_ACL, "remote atomics without local writes"},
        {VAPI_MR, 8, 1 << 10, VAPI_EINVAL_ACL, "rights that there are not"},
    };
    VAPI_mr_hndl_t mr;
    VAPI_mr_t want, got;
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        want = plain(s, s->memory, refused[i].size, refused[i].acl);
        want.type = refused[i].type;
        is_code(VAPI_register_mr(s->hca, &want, &mr, &got), refused[i].code, refused[i].name);
    }
    void *gone = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    munmap(gone, 4096);
    want = plain(s, gone, 4096, VAPI_EN_LOCAL_WRITE);
    is_code(VAPI_register_mr(s->hca, &want, &mr, &got), VAPI_EINVAL_VA, "memory that is not there");
    want = plain(s, s->memory + 3, 17, VAPI_EN_LOCAL_WRITE | VAPI_EN_REMOTE_READ);
    is_code(VAPI_register_mr(s->hca, &want, &mr, &got), VAPI_OK, "a region of any alignment");
    is_true(got.type == VAPI_MR && got.start == want.start && got.size == 17 &&
                got.acl == want.acl && got.pd_hndl == s->pd && got.pbuf_list_len == 0 &&
                got.pbuf_list_p == NULL && got.l_key != 0,
            "tells what it is");
    VAPI_mr_t asked;
    VAPI_virt_addr_t start, size;
    is_code(VAPI_query_mr(s->hca, mr, &asked, &start, &size), VAPI_OK, "and tells it again");
    is_true(asked.l_key == got.l_key && start == want.start && size == 17, "the same");
    is_code(VAPI_dealloc_pd(s->hca, s->pd), VAPI_EBUSY, "its domain stays");
    is_code(VAPI_deregister_mr(s->hca, mr), VAPI_OK, "it ends");
    is_code(VAPI_deregister_mr(s->hca, mr), VAPI_EINVAL_MR_HNDL, "once");
    is_code(EVAPI_alloc_pd(s->hca, 0, &want.pd_hndl), VAPI_EINVAL_PARAM, "a domain for no handles");
    is_code(EVAPI_alloc_pd_sqp(s->hca, 1, &want.pd_hndl), VAPI_OK, "a domain for one");
    NEED(VAPI_dealloc_pd(s->hca, want.pd_hndl));
}

static bool can_write(struct stage *s, VAPI_virt_addr_t to, VAPI_rkey_t rkey)
{
    VAPI_sr_desc_t *d = request(s, VAPI_RDMA_WRITE, 1, 0, 8);
    d->remote_addr = to;
    d->r_key = rkey;
    NEED(VAPI_post_sr(s->hca, s->a.qp, d));
    return await_wc(s, s->a.scq).status == VAPI_SUCCESS;
}

static void registered_again(struct stage *s)
{
    VAPI_mr_hndl_t mr, fresh;
    VAPI_mr_t want = plain(s, s->memory, 64, VAPI_EN_LOCAL_WRITE | VAPI_EN_REMOTE_WRITE), got;
    NEED(VAPI_register_mr(s->hca, &want, &mr, &got));
    want = plain(s, s->memory + 4096, 8192, 0);
    is_code(VAPI_reregister_mr(s->hca, mr, VAPI_MR_CHANGE_TRANS, &want, &fresh, &got), VAPI_OK,
            "a region moves and grows");
    is_true(got.start == want.start && got.size == 8192 &&
                got.acl == (VAPI_EN_LOCAL_WRITE | VAPI_EN_REMOTE_WRITE),
            "and keeps its rights");
    is_true(can_write(s, want.start + 8000, got.r_key), "memory is reached by the new key");
    VAPI_pd_hndl_t other;
    NEED(VAPI_alloc_pd(s->hca, &other));
    want.pd_hndl = other;
    is_code(VAPI_reregister_mr(s->hca, fresh, VAPI_MR_CHANGE_PD, &want, &mr, &got), VAPI_OK,
            "it goes to another domain");
    is_code(VAPI_dealloc_pd(s->hca, other), VAPI_EBUSY, "which it holds");
    want.pd_hndl = 12345;
    is_code(VAPI_reregister_mr(s->hca, mr, VAPI_MR_CHANGE_PD, &want, &fresh, &got),
            VAPI_EINVAL_PD_HNDL, "not to one that there is not");
    is_code(VAPI_query_mr(s->hca, mr, &got, NULL, NULL), VAPI_OK, "and it is still there");
    want.acl = VAPI_EN_REMOTE_WRITE;
    is_code(VAPI_reregister_mr(s->hca, mr, VAPI_MR_CHANGE_ACL, &want, &fresh, &got),
            VAPI_EINVAL_ACL, "after other failures");
    is_code(VAPI_query_mr(s->hca, mr, &got, NULL, NULL), VAPI_EINVAL_MR_HNDL, "it is gone");
    is_code(VAPI_dealloc_pd(s->hca, other), VAPI_OK, "and holds nothing");
}

static void shared(struct stage *s)
{
    VAPI_mr_hndl_t mr;
    VAPI_mr_t want = plain(s, s->memory, 1, VAPI_EN_LOCAL_WRITE | VAPI_EN_REMOTE_WRITE), got;
    is_code(VAPI_register_smr(s->hca, s->mr, &want, &mr, &got), VAPI_OK, "a second region");
    is_true(got.type == VAPI_MSHAR && got.start == s->keys.start && got.size == BLOCK &&
                got.r_key != s->keys.r_key,
            "over the pages of the first");
    is_true(can_write(s, got.start + 100, got.r_key), "with a key of its own");
    NEED(VAPI_deregister_mr(s->hca, mr));
    want.acl = VAPI_EN_REMOTE_WRITE;
    is_code(VAPI_register_smr(s->hca, s->mr, &want, &mr, &got), VAPI_EINVAL_ACL,
            "its rights count");
}

static void fast(struct stage *s)
{
    EVAPI_fmr_t p = {.pd_hndl = s->pd,
                     .acl = VAPI_EN_LOCAL_WRITE | VAPI_EN_REMOTE_WRITE,
                     .max_pages = 2,
                     .log2_page_sz = 12,
                     .max_outstanding_maps = 2};
    EVAPI_fmr_hndl_t f;
    VAPI_lkey_t lkey;
    VAPI_rkey_t rkey;
    EVAPI_fmr_t wrong = p;
    wrong.acl |= VAPI_EN_MEMREG_BIND;
    is_code(EVAPI_alloc_fmr(s->hca, &wrong, &f), VAPI_EINVAL_ACL, "windows on fast regions");
    wrong = p;
    wrong.acl = VAPI_EN_REMOTE_WRITE;
    is_code(EVAPI_alloc_fmr(s->hca, &wrong, &f), VAPI_EINVAL_ACL, "remote writes without local");
    wrong = p;
    wrong.pd_hndl = 12345;
    is_code(EVAPI_alloc_fmr(s->hca, &wrong, &f), VAPI_EINVAL_PD_HNDL, "a fast region of no domain");
    wrong = p;
    wrong.max_pages = 0;
    is_code(EVAPI_alloc_fmr(s->hca, &wrong, &f), VAPI_EINVAL_PARAM, "of no pages");
    is_code(EVAPI_alloc_fmr(s->hca, &p, &f), VAPI_OK, "a fast region");
    EVAPI_fmr_map_t map = {.start = (MT_virt_addr_t)s->memory, .size = 8192};
    is_code(EVAPI_map_fmr(s->hca, f, &map, &lkey, &rkey), VAPI_OK, "is mapped");
    is_true(can_write(s, map.start + 8000, rkey), "and reached");
    is_code(EVAPI_map_fmr(s->hca, f, &map, &lkey, &rkey), VAPI_OK, "and mapped again");
    is_code(EVAPI_map_fmr(s->hca, f, &map, &lkey, &rkey), VAPI_EAGAIN, "as often as was asked for");
    is_code(EVAPI_unmap_fmr(s->hca, 1, &f), VAPI_OK, "unmapped");
    map.size = 8193;
    is_code(EVAPI_map_fmr(s->hca, f, &map, &lkey, &rkey), VAPI_EINVAL_LEN, "too many pages");
    map.size = 0;
    is_code(EVAPI_map_fmr(s->hca, f, &map, &lkey, &rkey), VAPI_EINVAL_LEN, "no bytes");
    map.page_array_len = 1;
    is_code(EVAPI_map_fmr(s->hca, f, &map, &lkey, &rkey), VAPI_ENOSYS, "physical pages");
    EVAPI_fmr_hndl_t two[2] = {f, 12345};
    is_code(EVAPI_unmap_fmr(s->hca, 2, two), VAPI_EINVAL_MR_HNDL,
            "unmapping one that there is not");
    is_code(EVAPI_unmap_fmr(s->hca, 0, two), VAPI_EINVAL_PARAM, "and none");
    is_code(EVAPI_unmap_fmr(s->hca, 2001, two), VAPI_EINVAL_PARAM, "and too many");
    is_code(EVAPI_free_fmr(s->hca, f), VAPI_OK, "freed");
    is_code(EVAPI_free_fmr(s->hca, f), VAPI_EINVAL_MR_HNDL, "once");
}

static void windows(struct stage *s)
{
    VAPI_mw_hndl_t mw;
    VAPI_rkey_t rkey, bound;
    VAPI_pd_hndl_t pd;
    is_code(VAPI_alloc_mw(s->hca, s->pd, &mw, &rkey), VAPI_OK, "a window");
    is_code(VAPI_query_mw(s->hca, mw, &bound, &pd), VAPI_OK, "tells its key");
    is_true(bound == rkey && pd == s->pd, "and its domain");
    VAPI_mw_bind_t b = {.mr_lkey = s->keys.l_key,
                        .start = (MT_virt_addr_t)s->memory + 64,
                        .size = 64,
                        .acl = VAPI_EN_REMOTE_WRITE};
    is_code(VAPI_bind_mw(s->hca, mw, &b, s->b.qp, 42, VAPI_SIGNALED, &bound), VAPI_OK, "is bound");
    VAPI_wc_desc_t wc = await_wc(s, s->b.scq);
    is_true(wc.status == VAPI_SUCCESS && wc.opcode == VAPI_CQE_SQ_BIND_MRW && wc.id == 42,
            "which completes");
    is_true(can_write(s, b.start, bound), "and reached by its key");
    is_code(VAPI_deregister_mr(s->hca, s->mr), VAPI_EBUSY, "the region below stays");
    VAPI_mr_hndl_t fresh;
    VAPI_mr_t want = s->keys, got;
    is_code(VAPI_reregister_mr(s->hca, s->mr, VAPI_MR_CHANGE_ACL, &want, &fresh, &got), VAPI_EBUSY,
            "as it is");
    VAPI_mw_bind_t wrong = b;
    wrong.mr_lkey = 0xdeadbeef;
    is_code(VAPI_bind_mw(s->hca, mw, &wrong, s->b.qp, 42, VAPI_SIGNALED, &bound),
            VAPI_EINVAL_MR_HNDL, "to no region");
    wrong = b;
    wrong.acl = VAPI_EN_LOCAL_WRITE;
    is_code(VAPI_bind_mw(s->hca, mw, &wrong, s->b.qp, 42, VAPI_SIGNALED, &bound), VAPI_EINVAL_ACL,
            "with rights that are not a window's");
    wrong = b;
    wrong.size = BLOCK;
    is_code(VAPI_bind_mw(s->hca, mw, &wrong, s->b.qp, 42, VAPI_SIGNALED, &bound), VAPI_EINVAL_VA,
            "beyond the region");
    is_code(VAPI_bind_mw(s->hca, mw, &b, 12345, 42, VAPI_SIGNALED, &bound), VAPI_EINVAL_QP_HNDL,
            "by no queue pair");
    is_code(VAPI_dealloc_mw(s->hca, mw), VAPI_OK, "ends");
    is_code(VAPI_dealloc_mw(s->hca, mw), VAPI_EINVAL_MW_HNDL, "once");
}

void memory_rules(struct stage *s)
{
    struct wants w = {.signals = VAPI_SIGNAL_REQ_WR};
    make_ends(s, &w);
    regions(s);
    registered_again(s);
    shared(s);
    fast(s);
    windows(s);
    drop_ends(s);
}
