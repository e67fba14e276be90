/* provider_rules.c - the uDAPL provider through Debian's libdat2: codes of wrong calls, queries,
 * and what local use promises. TAP on stdout.
 *
 *   provider_rules IA   an IA of the registry file that DAT_OVERRIDE names
 *   provider_rules wrong IA   opens an IA whose line is wrong; prints the code's type. The IA
 * "threads" is asked for as one that is thread-safe.
 *
 * What dapltest covers is not repeated here: other/dapl/tests/provider.sh runs it.
 */
/* dat_registry.h needs the types of udat.h. */
/* clang-format off */
#include <dat2/udat.h>
#include <dat2/dat_registry.h>
/* clang-format on */

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "other/softhca/include/softhca.h"
#include "tests/descriptors.h"
#include "tests/unit/check.h"

enum { PAGE = 4096 };

static char *ia_name;
static DAT_IA_HANDLE ia;
static DAT_EVD_HANDLE async_evd;
static char memory[4 * PAGE] __attribute__((aligned(PAGE)));

static DAT_UINT32 code(DAT_RETURN_TYPE type, DAT_RETURN_SUBTYPE subtype)
{
    return (DAT_UINT32)DAT_CLASS_ERROR | (DAT_UINT32)type | (DAT_UINT32)subtype;
}

/* The name of a rule is the call, written as in the source.  */
static void expect(DAT_RETURN got, DAT_UINT32 wanted, const char *call)
{
    const char *major = "?", *minor = "?";
    dat_strerror(got, &major, &minor);
    check(got == wanted, "%s: %s %s", call, major, minor);
}
#define IS(call, type, subtype) expect(call, code(type, subtype), #call)
#define WORKS(call)             expect(call, DAT_SUCCESS, #call)
/* Without a line of its own. */
#define MUST(call)                                                                                 \
    do {                                                                                           \
        DAT_RETURN must_ = (call);                                                                 \
        if (must_ != DAT_SUCCESS) expect(must_, DAT_SUCCESS, #call), exit(check_end());            \
    } while (0)

static void open_ia(void)
{
    async_evd = DAT_HANDLE_NULL;
    MUST(dat_ia_open(ia_name, 8, &async_evd, &ia));
}

/* By the table, for calls that libdat2 does not export.  */
static const DAT_PROVIDER *table_of(DAT_HANDLE handle)
{
    return *(const DAT_PROVIDER **)handle;
}

static DAT_EVD_HANDLE make_evd(DAT_EVD_FLAGS flags)
{
    DAT_EVD_HANDLE evd;
    MUST(dat_evd_create(ia, 16, DAT_HANDLE_NULL, flags, &evd));
    return evd;
}

static DAT_PZ_HANDLE make_pz(void)
{
    DAT_PZ_HANDLE pz;
    MUST(dat_pz_create(ia, &pz));
    return pz;
}

static DAT_RETURN make_lmr(DAT_MEM_TYPE type, DAT_REGION_DESCRIPTION region, DAT_VLEN length,
                           DAT_PZ_HANDLE pz, DAT_MEM_PRIV_FLAGS rights, DAT_VA_TYPE va,
                           DAT_LMR_HANDLE *lmr, DAT_LMR_CONTEXT *context)
{
    DAT_RMR_CONTEXT remote;
    DAT_VLEN size;
    DAT_VADDR address;
    return dat_lmr_create(ia, type, region, length, pz, rights, va, lmr, context, &remote, &size,
                          &address);
}

/* ---- Interface adapters ---- */

static void ia_rules(void)
{
    DAT_IA_ATTR attr;
    DAT_PROVIDER_ATTR provider;
    DAT_EVD_HANDLE evd = DAT_HANDLE_NULL;
    DAT_IA_HANDLE other;
    IS(dat_ia_open(ia_name, 0, &evd, &other), DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
    open_ia();
    WORKS(dat_ia_query(ia, &evd, DAT_IA_FIELD_ALL, &attr, DAT_PROVIDER_FIELD_ALL, &provider));
    check(evd == async_evd, "a query returns the asynchronous EVD");
    check(strncmp(attr.adapter_name, "softhca", 7) == 0 && attr.max_eps > 0 && attr.max_evds > 0 &&
              attr.max_evd_qlen > 0 && attr.max_lmrs > 0 && attr.max_message_size > 0 &&
              attr.ia_address_ptr && attr.ia_address_ptr->sa_family == AF_INET6,
          "attributes of %s: %d endpoints, %d EVDs of %d events", attr.adapter_name, attr.max_eps,
          attr.max_evds, attr.max_evd_qlen);
    check(provider.dapl_version_major == 2 && !provider.is_thread_safe && !provider.srq_supported &&
              provider.max_private_data_size == 0,
          "attributes of the provider claim no connections, threads or shared queues");
    IS(dat_ia_query(ia, &evd, DAT_IA_FIELD_ALL, NULL, 0, NULL), DAT_INVALID_PARAMETER,
       DAT_INVALID_ARG4);
    IS(dat_ia_query(ia, &evd, 0, NULL, DAT_PROVIDER_FIELD_ALL, NULL), DAT_INVALID_PARAMETER,
       DAT_INVALID_ARG6);
    IS(dat_evd_free(async_evd), DAT_INVALID_STATE, DAT_INVALID_STATE_EVD_IN_USE);
    IS(dat_ia_close(ia, 7), DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
    make_pz();
    IS(dat_ia_close(ia, DAT_CLOSE_GRACEFUL_FLAG), DAT_INVALID_STATE, DAT_INVALID_STATE_IA_IN_USE);
    WORKS(dat_ia_close(ia, DAT_CLOSE_ABRUPT_FLAG));
    evd = DAT_EVD_ASYNC_EXISTS;
    WORKS(dat_ia_open(ia_name, 8, &evd, &other));
    check(evd == DAT_EVD_ASYNC_EXISTS,
          "an IA that leaves its asynchronous events to another has no EVD");
    WORKS(dat_ia_close(other, DAT_CLOSE_GRACEFUL_FLAG));
}

/* An abrupt close frees what is left, in whatever order it was made.  */
/* Each claim about two streams is true: an EVD of both can be made, or cannot. */
static void merging_rules(void)
{
    static const DAT_EVD_FLAGS flags[6] = {DAT_EVD_SOFTWARE_FLAG, DAT_EVD_CR_FLAG,
                                           DAT_EVD_DTO_FLAG,      DAT_EVD_CONNECTION_FLAG,
                                           DAT_EVD_RMR_BIND_FLAG, DAT_EVD_ASYNC_FLAG};
    DAT_PROVIDER_ATTR attr;
    int wrong = 0;
    open_ia();
    MUST(dat_ia_query(ia, NULL, DAT_IA_FIELD_NONE, NULL, DAT_PROVIDER_FIELD_ALL, &attr));
    for (int a = 0; a < 6; a++)
        for (int b = 0; b < 6; b++) {
            DAT_EVD_HANDLE evd;
            DAT_EVD_FLAGS both = (DAT_EVD_FLAGS)(flags[a] | flags[b]);
            bool made = dat_evd_create(ia, 4, DAT_HANDLE_NULL, both, &evd) == DAT_SUCCESS;
            wrong += made != (attr.evd_stream_merging_supported[a][b] == DAT_TRUE);
            if (made) MUST(dat_evd_free(evd));
        }
    check(!wrong, "R8 U17 evd_stream_merging_supported says which streams merge: %d wrong", wrong);
    MUST(dat_ia_close(ia, DAT_CLOSE_GRACEFUL_FLAG));
}

static void close_rules(void)
{
    DAT_EP_HANDLE ep;
    DAT_RSP_HANDLE rsp;
    DAT_PSP_HANDLE psp;
    DAT_CNO_HANDLE cno;
    DAT_LMR_HANDLE lmr;
    DAT_LMR_CONTEXT context;
    DAT_RMR_HANDLE rmr;
    open_ia();
    DAT_PZ_HANDLE pz = make_pz();
    DAT_EVD_HANDLE dto = make_evd(DAT_EVD_DTO_FLAG), cr = make_evd(DAT_EVD_CR_FLAG);
    MUST(dat_cno_create(ia, DAT_OS_WAIT_PROXY_AGENT_NULL, &cno));
    MUST(dat_evd_modify_cno(cr, cno));
    MUST(dat_ep_create(ia, pz, dto, dto, DAT_HANDLE_NULL, NULL, &ep));
    MUST(make_lmr(DAT_MEM_TYPE_VIRTUAL, (DAT_REGION_DESCRIPTION){.for_va = memory}, PAGE, pz,
                  DAT_MEM_PRIV_ALL_FLAG, DAT_VA_TYPE_VA, &lmr, &context));
    DAT_LMR_TRIPLET segment = {(DAT_VADDR)(uintptr_t)memory, 64, context};
    MUST(dat_ep_post_recv(ep, 1, &segment, (DAT_DTO_COOKIE){.as_64 = 1},
                          DAT_COMPLETION_DEFAULT_FLAG));
    MUST(dat_rmr_create(pz, &rmr));
    MUST(dat_psp_create(ia, 5000, cr, DAT_PSP_CONSUMER_FLAG, &psp));
    MUST(dat_rsp_create(ia, 5001, ep, cr, &rsp));
    WORKS(dat_ia_close(ia, DAT_CLOSE_ABRUPT_FLAG));
}

/* ---- Handles ---- */

static void handle_rules(void)
{
    static const DAT_HANDLE_TYPE types[] = {DAT_HANDLE_TYPE_PZ, DAT_HANDLE_TYPE_EVD,
                                            DAT_HANDLE_TYPE_CNO};
    DAT_CONTEXT in = {.as_64 = 0x1234567890}, out;
    DAT_CNO_HANDLE cno;
    DAT_EVENT event;
    DAT_EVD_HANDLE found;
    DAT_EVD_PARAM evd_param;
    open_ia();
    MUST(dat_cno_create(ia, DAT_OS_WAIT_PROXY_AGENT_NULL, &cno));
    DAT_HANDLE handles[] = {make_pz(), make_evd(DAT_EVD_SOFTWARE_FLAG), cno};
    for (int at = 0; at < 3; at++) {
        DAT_HANDLE_TYPE type = DAT_HANDLE_TYPE_CR;
        out.as_64 = 0;
        DAT_RETURN a = dat_get_handle_type(handles[at], &type);
        DAT_RETURN b = dat_set_consumer_context(handles[at], in);
        DAT_RETURN c = dat_get_consumer_context(handles[at], &out);
        check(!a && !b && !c && type == types[at] && out.as_64 == in.as_64,
              "type and context of handle %d", at);
    }
    WORKS(dat_set_consumer_context(ia, in));
    /* Of another kind. */
    IS(dat_evd_dequeue(handles[0], &event), DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EVD_REQUEST);
    IS(dat_evd_dequeue(cno, &event), DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EVD_REQUEST);
    IS(dat_cno_wait(handles[1], 0, &found), DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_CNO);
    IS(dat_evd_query(cno, DAT_EVD_FIELD_ALL, &evd_param), DAT_INVALID_HANDLE,
       DAT_INVALID_HANDLE_EVD_REQUEST);
    IS(dat_pz_free(handles[1]), DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_PZ);
    IS(dat_evd_create(ia, 8, handles[1], DAT_EVD_SOFTWARE_FLAG, &found), DAT_INVALID_HANDLE,
       DAT_INVALID_HANDLE_CNO);
    IS(dat_pz_create(handles[0], &found), DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_IA);
    WORKS(dat_pz_free(handles[0]));
    IS(dat_pz_free(handles[0]), DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_PZ);
    /* Of another IA. */
    DAT_IA_HANDLE first = ia;
    open_ia();
    IS(dat_evd_create(ia, 8, cno, DAT_EVD_SOFTWARE_FLAG, &found), DAT_INVALID_HANDLE,
       DAT_INVALID_HANDLE_CNO);
    IS(dat_evd_modify_cno(make_evd(DAT_EVD_SOFTWARE_FLAG), cno), DAT_INVALID_HANDLE,
       DAT_INVALID_HANDLE_CNO);
    WORKS(dat_ia_close(ia, DAT_CLOSE_ABRUPT_FLAG));
    WORKS(dat_ia_close(first, DAT_CLOSE_ABRUPT_FLAG));
}

/* ---- Memory ---- */

static void memory_rules(void)
{
    DAT_LMR_HANDLE lmr, same;
    DAT_LMR_CONTEXT context, other_context;
    DAT_LMR_PARAM param;
    DAT_RMR_HANDLE rmr;
    DAT_RMR_PARAM rmr_param;
    DAT_RMR_CONTEXT rmr_context;
    DAT_REGION_DESCRIPTION region = {.for_va = memory};
    DAT_MEM_PRIV_FLAGS all = DAT_MEM_PRIV_ALL_FLAG;
    open_ia();
    DAT_PZ_HANDLE pz = make_pz(), other = make_pz();
    IS(make_lmr(DAT_MEM_TYPE_SHARED_VIRTUAL, region, PAGE, pz, all, DAT_VA_TYPE_VA, &lmr, &context),
       DAT_MODEL_NOT_SUPPORTED, DAT_NO_SUBTYPE);
    IS(make_lmr(9, region, PAGE, pz, all, DAT_VA_TYPE_VA, &lmr, &context), DAT_INVALID_PARAMETER,
       DAT_INVALID_ARG2);
    IS(make_lmr(DAT_MEM_TYPE_VIRTUAL, region, PAGE, pz, 0x1000, DAT_VA_TYPE_VA, &lmr, &context),
       DAT_INVALID_PARAMETER, DAT_INVALID_ARG6);
    IS(make_lmr(DAT_MEM_TYPE_VIRTUAL, region, PAGE, pz, all, DAT_VA_TYPE_ZB, &lmr, &context),
       DAT_MODEL_NOT_SUPPORTED, DAT_NO_SUBTYPE);
    IS(make_lmr(DAT_MEM_TYPE_VIRTUAL, (DAT_REGION_DESCRIPTION){.for_va = (char *)8}, PAGE, pz, all,
                DAT_VA_TYPE_VA, &lmr, &context),
       DAT_INVALID_PARAMETER, DAT_INVALID_ARG3);
    IS(make_lmr(DAT_MEM_TYPE_LMR, (DAT_REGION_DESCRIPTION){.for_lmr_handle = pz}, 0, pz, all,
                DAT_VA_TYPE_VA, &lmr, &context),
       DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_LMR);
    WORKS(make_lmr(DAT_MEM_TYPE_VIRTUAL, region, 2 * PAGE, pz, DAT_MEM_PRIV_REMOTE_WRITE_FLAG,
                   DAT_VA_TYPE_VA, &lmr, &context));
    WORKS(make_lmr(DAT_MEM_TYPE_LMR, (DAT_REGION_DESCRIPTION){.for_lmr_handle = lmr}, 0, other, all,
                   DAT_VA_TYPE_VA, &same, &other_context));
    WORKS(dat_lmr_query(same, DAT_LMR_FIELD_ALL, &param));
    check(param.ia_handle == ia && param.registered_address == (DAT_VADDR)(uintptr_t)memory &&
              param.registered_size == 2 * PAGE && param.pz_handle == other &&
              param.lmr_context == other_context && param.lmr_context != context,
          "a region of a region has its memory, and a zone and contexts of its own");
    IS(dat_lmr_query(same, 0x1000, &param), DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
    DAT_LMR_TRIPLET segment = {(DAT_VADDR)(uintptr_t)memory, 64, context};
    IS(dat_lmr_sync_rdma_read(ia, NULL, 1), DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
    WORKS(dat_lmr_sync_rdma_write(ia, &segment, 1));
    WORKS(dat_rmr_create(pz, &rmr));
    WORKS(dat_rmr_query(rmr, DAT_RMR_FIELD_ALL, &rmr_param));
    check(rmr_param.ia_handle == ia && rmr_param.pz_handle == pz && rmr_param.rmr_context != 0,
          "a query of an RMR");
    IS(dat_pz_free(pz), DAT_INVALID_STATE, DAT_INVALID_STATE_PZ_IN_USE);
    DAT_EVD_HANDLE dto = make_evd(DAT_EVD_DTO_FLAG);
    DAT_EP_HANDLE ep;
    MUST(dat_ep_create(ia, pz, dto, dto, DAT_HANDLE_NULL, NULL, &ep));
    DAT_RMR_COOKIE cookie = {.as_64 = 1};
    IS(dat_rmr_bind(rmr, pz, &segment, all, DAT_VA_TYPE_VA, ep, cookie, DAT_COMPLETION_DEFAULT_FLAG,
                    &rmr_context),
       DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_LMR);
    IS(dat_rmr_bind(rmr, lmr, &segment, all, DAT_VA_TYPE_VA, ep, cookie,
                    DAT_COMPLETION_DEFAULT_FLAG, &rmr_context),
       DAT_INVALID_STATE, DAT_INVALID_STATE_EP_UNCONNECTED);
    MUST(dat_ep_free(ep));
    MUST(dat_evd_free(dto));
    WORKS(dat_rmr_free(rmr));
    WORKS(dat_lmr_free(lmr));
    WORKS(dat_lmr_free(same));
    WORKS(dat_pz_free(pz));
    WORKS(dat_pz_free(other));
    WORKS(dat_ia_close(ia, DAT_CLOSE_GRACEFUL_FLAG));
}

/* ---- Endpoints ---- */

static void endpoint_attr_rules(DAT_PZ_HANDLE pz, DAT_EVD_HANDLE dto, DAT_EVD_HANDLE connection)
{
    DAT_EP_HANDLE ep, refused;
    DAT_EP_PARAM param;
    IS(dat_ep_create(ia, dto, dto, dto, connection, NULL, &ep), DAT_INVALID_HANDLE,
       DAT_INVALID_HANDLE_PZ);
    IS(dat_ep_create(ia, pz, connection, dto, connection, NULL, &ep), DAT_INVALID_HANDLE,
       DAT_INVALID_HANDLE_EVD_RECV);
    IS(dat_ep_create(ia, pz, dto, connection, connection, NULL, &ep), DAT_INVALID_HANDLE,
       DAT_INVALID_HANDLE_EVD_REQUEST);
    IS(dat_ep_create(ia, pz, dto, dto, dto, NULL, &ep), DAT_INVALID_HANDLE,
       DAT_INVALID_HANDLE_EVD_CONN);
    MUST(dat_ep_create(ia, pz, dto, dto, connection, NULL, &ep));
    MUST(dat_ep_query(ep, DAT_EP_FIELD_ALL, &param));
    check(param.ia_handle == ia && param.ep_state == DAT_EP_STATE_UNCONNECTED &&
              param.pz_handle == pz && param.recv_evd_handle == dto &&
              param.connect_evd_handle == connection && param.ep_attr.max_recv_dtos > 0 &&
              param.ep_attr.qos == DAT_QOS_BEST_EFFORT,
          "an endpoint without attributes gets defaults");
    DAT_EP_ATTR attr = param.ep_attr;
    attr.max_recv_dtos = 1 << 30;
    IS(dat_ep_create(ia, pz, dto, dto, connection, &attr, &refused), DAT_INVALID_PARAMETER,
       DAT_INVALID_ARG6);
    attr = param.ep_attr;
    attr.max_recv_dtos = 0;
    IS(dat_ep_create(ia, pz, dto, dto, connection, &attr, &refused), DAT_INVALID_PARAMETER,
       DAT_INVALID_ARG6);
    attr = param.ep_attr;
    attr.qos = DAT_QOS_PREMIUM;
    IS(dat_ep_create(ia, pz, dto, dto, connection, &attr, &refused), DAT_MODEL_NOT_SUPPORTED,
       DAT_NO_SUBTYPE);
    WORKS(dat_ep_free(ep));
    IS(dat_ep_free(ep), DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EP);
}

static void post_rules(DAT_EP_HANDLE ep, DAT_LMR_CONTEXT context, DAT_COUNT most)
{
    DAT_EP_STATE state;
    DAT_BOOLEAN recv_idle, request_idle;
    DAT_DTO_COOKIE cookie = {.as_64 = 1};
    DAT_LMR_TRIPLET segments[2] = {{0, 0, 77}, {(DAT_VADDR)(uintptr_t)memory, 64, context}};
    DAT_RMR_TRIPLET remote = {0, 64, 1};
    DAT_COMPLETION_FLAGS plain = DAT_COMPLETION_DEFAULT_FLAG;
    IS(dat_ep_post_recv(ep, -1, segments, cookie, plain), DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
    IS(dat_ep_post_recv(ep, 1, NULL, cookie, plain), DAT_INVALID_PARAMETER, DAT_INVALID_ARG3);
    IS(dat_ep_post_recv(ep, 1, segments, cookie, DAT_COMPLETION_UNSIGNALLED_FLAG),
       DAT_INVALID_PARAMETER, DAT_INVALID_ARG5);
    MUST(dat_ep_get_status(ep, &state, &recv_idle, &request_idle));
    check(state == DAT_EP_STATE_UNCONNECTED && recv_idle && request_idle, "a new endpoint is idle");
    WORKS(dat_ep_post_recv(ep, 2, segments, cookie, plain));
    MUST(dat_ep_get_status(ep, &state, &recv_idle, &request_idle));
    check(!recv_idle && request_idle, "with a receive posted it is not");
    DAT_COUNT posted = 1;
    while (dat_ep_post_recv(ep, 1, segments + 1, cookie, plain) == DAT_SUCCESS) posted++;
    check(posted == most, "%d receives can be posted, and max_recv_dtos is %d", posted, most);
    IS(dat_ep_post_recv(ep, 1, segments + 1, cookie, plain), DAT_INSUFFICIENT_RESOURCES,
       DAT_RESOURCE_MEMORY);
    IS(dat_ep_post_send(ep, 1, segments + 1, cookie, plain), DAT_INVALID_STATE,
       DAT_INVALID_STATE_EP_UNCONNECTED);
    IS(dat_ep_post_rdma_write(ep, 1, segments + 1, cookie, NULL, plain), DAT_INVALID_PARAMETER,
       DAT_INVALID_ARG5);
    IS(dat_ep_post_rdma_read(ep, 1, segments + 1, cookie, &remote, plain), DAT_INVALID_STATE,
       DAT_INVALID_STATE_EP_UNCONNECTED);
    IS(dat_ep_disconnect(ep, DAT_CLOSE_ABRUPT_FLAG), DAT_INVALID_STATE,
       DAT_INVALID_STATE_EP_UNCONNECTED);
    WORKS(dat_ep_reset(ep));
}

static void service_point_rules(DAT_EP_HANDLE ep, DAT_EVD_HANDLE cr, DAT_EVD_HANDLE dto)
{
    DAT_PSP_HANDLE psp, again;
    DAT_RSP_HANDLE rsp;
    DAT_EP_STATE state;
    IS(dat_psp_create(ia, 7, dto, DAT_PSP_CONSUMER_FLAG, &psp), DAT_INVALID_HANDLE,
       DAT_INVALID_HANDLE_EVD_CR);
    WORKS(dat_psp_create(ia, 7, cr, DAT_PSP_CONSUMER_FLAG, &psp));
    IS(dat_psp_create(ia, 7, cr, DAT_PSP_CONSUMER_FLAG, &again), DAT_CONN_QUAL_IN_USE,
       DAT_NO_SUBTYPE);
    IS(dat_evd_free(cr), DAT_INVALID_STATE, DAT_INVALID_STATE_EVD_IN_USE);
    WORKS(dat_rsp_create(ia, 8, ep, cr, &rsp));
    IS(dat_rsp_create(ia, 9, ep, cr, &again), DAT_INVALID_STATE, DAT_INVALID_STATE_EP_RESERVED);
    IS(dat_ep_free(ep), DAT_INVALID_STATE, DAT_INVALID_STATE_EP_RESERVED);
    IS(dat_ep_reset(ep), DAT_INVALID_STATE, DAT_INVALID_STATE_EP_RESERVED);
    WORKS(dat_rsp_free(rsp));
    MUST(dat_ep_get_status(ep, &state, NULL, NULL));
    check(state == DAT_EP_STATE_UNCONNECTED,
          "without its service point an endpoint is unconnected again");
    WORKS(dat_psp_free(psp));
}

static void endpoint_rules(void)
{
    DAT_EP_HANDLE ep;
    DAT_EP_PARAM param;
    DAT_LMR_HANDLE lmr;
    DAT_LMR_CONTEXT context;
    open_ia();
    DAT_PZ_HANDLE pz = make_pz();
    DAT_EVD_HANDLE dto = make_evd(DAT_EVD_DTO_FLAG), connection = make_evd(DAT_EVD_CONNECTION_FLAG);
    DAT_EVD_HANDLE cr = make_evd(DAT_EVD_CR_FLAG);
    endpoint_attr_rules(pz, dto, connection);
    MUST(make_lmr(DAT_MEM_TYPE_VIRTUAL, (DAT_REGION_DESCRIPTION){.for_va = memory}, PAGE, pz,
                  DAT_MEM_PRIV_LOCAL_WRITE_FLAG, DAT_VA_TYPE_VA, &lmr, &context));
    MUST(dat_ep_create(ia, pz, dto, dto, connection, NULL, &ep));
    IS(dat_pz_free(pz), DAT_INVALID_STATE, DAT_INVALID_STATE_PZ_IN_USE);
    IS(dat_evd_free(dto), DAT_INVALID_STATE, DAT_INVALID_STATE_EVD_IN_USE);
    IS(dat_evd_free(connection), DAT_INVALID_STATE, DAT_INVALID_STATE_EVD_IN_USE);
    MUST(dat_ep_query(ep, DAT_EP_FIELD_ALL, &param));
    post_rules(ep, context, param.ep_attr.max_recv_dtos);
    service_point_rules(ep, cr, dto);
    WORKS(dat_ep_free(ep));
    MUST(dat_ep_create(ia, pz, DAT_HANDLE_NULL, DAT_HANDLE_NULL, DAT_HANDLE_NULL, NULL, &ep));
    IS(dat_ep_post_recv(ep, 0, NULL, (DAT_DTO_COOKIE){0}, DAT_COMPLETION_DEFAULT_FLAG),
       DAT_INVALID_STATE, DAT_INVALID_STATE_EP_EVD_RECV);
    WORKS(dat_ep_free(ep));
    WORKS(dat_lmr_free(lmr));
    WORKS(dat_evd_free(dto));
    WORKS(dat_evd_free(connection));
    WORKS(dat_evd_free(cr));
    WORKS(dat_pz_free(pz));
    WORKS(dat_ia_close(ia, DAT_CLOSE_GRACEFUL_FLAG));
}

/* ---- Calls that are not there ---- */

static void missing_rules(void)
{
    DAT_EP_HANDLE ep;
    DAT_SRQ_HANDLE srq;
    DAT_CONN_QUAL qualifier;
    DAT_PSP_HANDLE psp;
    DAT_EP_PARAM param;
    struct sockaddr nowhere = {0};
    open_ia();
    DAT_PZ_HANDLE pz = make_pz();
    DAT_EVD_HANDLE dto = make_evd(DAT_EVD_DTO_FLAG), connection = make_evd(DAT_EVD_CONNECTION_FLAG);
    DAT_EVD_HANDLE cr = make_evd(DAT_EVD_CR_FLAG);
    MUST(dat_ep_create(ia, pz, dto, dto, connection, NULL, &ep));
    IS(dat_ep_connect(ep, &nowhere, 7, DAT_TIMEOUT_INFINITE, 0, NULL, DAT_QOS_BEST_EFFORT,
                      DAT_CONNECT_DEFAULT_FLAG),
       DAT_NOT_IMPLEMENTED, DAT_NO_SUBTYPE);
    IS(dat_ep_modify(ep, DAT_EP_FIELD_PZ_HANDLE, &param), DAT_NOT_IMPLEMENTED, DAT_NO_SUBTYPE);
    IS(dat_psp_create_any(ia, &qualifier, cr, DAT_PSP_CONSUMER_FLAG, &psp), DAT_NOT_IMPLEMENTED,
       DAT_NO_SUBTYPE);
    IS(dat_srq_create(ia, pz, &(DAT_SRQ_ATTR){1, 1, 0}, &srq), DAT_NOT_IMPLEMENTED, DAT_NO_SUBTYPE);
    IS(dat_extension_op(ep, 1, 0), DAT_NOT_IMPLEMENTED, DAT_NO_SUBTYPE);
    /* A null slot would crash its caller; before the calls are a name and a pointer of the
     * provider's own. */
    const void *const *slots = (const void *const *)(const void *)table_of(ep);
    size_t empty = 0, count = sizeof(DAT_PROVIDER) / sizeof *slots;
    for (size_t at = 2; at < count; at++) empty += !slots[at];
    check(empty == 0, "none of the %zu calls of the table is null", count - 2);
    WORKS(dat_ia_close(ia, DAT_CLOSE_ABRUPT_FLAG));
}

/* ---- Events that need no connection ---- */

static void event_rules(void)
{
    DAT_CNO_HANDLE cno;
    DAT_EVD_HANDLE evd, from;
    DAT_EVD_PARAM param;
    DAT_CNO_PARAM cno_param;
    DAT_FD fd;
    DAT_EVENT event = {.event_number = DAT_SOFTWARE_EVENT}, got;
    DAT_COUNT more;
    event.event_data.software_event_data.pointer = memory;
    open_ia();
    IS(dat_evd_create(ia, 0, DAT_HANDLE_NULL, DAT_EVD_SOFTWARE_FLAG, &evd), DAT_INVALID_PARAMETER,
       DAT_INVALID_ARG2);
    /* libdat2 does not export this call: it wants the IA's object and not its number. */
    IS(table_of(async_evd)->cno_fd_create_func(async_evd, &fd, &cno), DAT_INVALID_HANDLE,
       DAT_INVALID_HANDLE_IA);
    WORKS(dat_cno_create(ia, DAT_OS_WAIT_PROXY_AGENT_NULL, &cno));
    WORKS(dat_cno_query(cno, DAT_CNO_FIELD_ALL, &cno_param));
    check(cno_param.ia_handle == ia, "a query of a CNO reports the IA by its number");
    WORKS(dat_evd_create(ia, 8, cno, DAT_EVD_SOFTWARE_FLAG, &evd));
    WORKS(dat_evd_query(evd, DAT_EVD_FIELD_ALL, &param));
    check(param.ia_handle == ia && param.evd_qlen >= 8 && param.cno_handle == cno &&
              param.evd_flags == DAT_EVD_SOFTWARE_FLAG,
          "a query of an EVD");
    WORKS(dat_evd_post_se(evd, &event));
    WORKS(dat_cno_wait(cno, DAT_TIMEOUT_INFINITE, &from));
    check(from == evd, "a software event triggers the CNO, which names the EVD");
    WORKS(dat_evd_dequeue(evd, &got));
    check(got.evd_handle == evd && got.event_data.software_event_data.pointer == memory,
          "the event, with its EVD");
    expect(dat_evd_dequeue(evd, &got), DAT_QUEUE_EMPTY,
           "dequeue of an empty EVD, with the bare code");
    expect(dat_evd_wait(evd, 1000, 1, &got, &more), DAT_TIMEOUT_EXPIRED, "wait for 1 ms");
    IS(dat_cno_free(cno), DAT_INVALID_STATE, DAT_INVALID_STATE_CNO_IN_USE);
    WORKS(dat_evd_free(evd));
    WORKS(dat_cno_free(cno));
    WORKS(dat_ia_close(ia, DAT_CLOSE_GRACEFUL_FLAG));
}

int main(int argc, char **argv)
{
    if (!softhca_active()) return check(false, "the software device is there"), check_end();
    if (argc == 3) {
        DAT_RETURN got =
            dat_ia_openv(argv[2], 8, &async_evd, &ia, DAT_VERSION_MAJOR, DAT_VERSION_MINOR,
                         strcmp(argv[2], "threads") == 0 ? DAT_TRUE : DAT_FALSE);
        printf("%#x\n", (unsigned)DAT_GET_TYPE(got));
        return got == DAT_SUCCESS;
    }
    ia_name = argv[1];
    open_ia(); /* opens the descriptors that libraries keep open */
    MUST(dat_ia_close(ia, DAT_CLOSE_GRACEFUL_FLAG));
    int before = count_descriptors();
    ia_rules();
    merging_rules();
    close_rules();
    handle_rules();
    memory_rules();
    endpoint_rules();
    missing_rules();
    event_rules();
    check(count_descriptors() == before, "no descriptor is left open: %d, and %d before",
          count_descriptors(), before);
    return check_end();
}
