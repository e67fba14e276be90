/* tables.c - tables and parsers without a device: codes and constants in words, firmware versions,
 * the changes of state that there are.
 */
#include <stdio.h>
#include <string.h>

#include "other/vapi/src/event_record.h"
#include "other/vapi/src/firmware.h"
#include "other/vapi/src/qp_rules.h"
#include "other/vapi/src/wc_status.h"
#include "qp_pair.h"

void string_rules(void)
{
    static const struct {
        VAPI_ret_t code;
        const char *name;
    } codes[] = {
#define VAPI_ERROR_INFO(name, value, text) {name, #name},
        VAPI_ERROR_LIST
#undef VAPI_ERROR_INFO
    };
    int good = 0, count = (int)(sizeof codes / sizeof *codes);
    for (int i = 0; i < count; i++) {
        bool known = strcmp(VAPI_strerror(codes[i].code), "VAPI_UNKNOWN_ERROR") != 0;
        good += !strcmp(VAPI_strerror_sym(codes[i].code), codes[i].name) && known;
    }
    is_number(good, count, "every code has its name and a text");
    is_number(count, 59, "there are as many codes as there were");
    is_true(VAPI_OK == 0 && VAPI_EGEN == -255 && VAPI_EAGAIN == -253 &&
                VAPI_EINVAL_QP_HNDL == -228 && VAPI_CQ_EMPTY == -213 &&
                VAPI_EINVAL_MCG_GID == -200 && VAPI_ERROR_MAX == -198,
            "with the values they had");
    is_true(!strcmp(VAPI_strerror(-7), "VAPI_UNKNOWN_ERROR") &&
                !strcmp(VAPI_strerror_sym(-7), "VAPI_UNKNOWN_ERROR"),
            "what is no code");
    is_true(!strcmp(VAPI_wc_status_sym(VAPI_RETRY_EXC_ERR), "VAPI_RETRY_EXC_ERR") &&
                !strcmp(VAPI_wc_status_sym(999), "UnKnown") &&
                !strcmp(VAPI_event_record_sym(VAPI_PORT_ACTIVE), "VAPI_PORT_ACTIVE") &&
                !strcmp(VAPI_event_syndrome_sym(VAPI_CQ_ERR_OVERRUN), "VAPI_CQ_ERR_OVERRUN") &&
                !strcmp(VAPI_qp_state_sym(VAPI_SQE), "VAPI_SQE") &&
                !strcmp(VAPI_cqe_opcode_sym(VAPI_CQE_INVAL_OPCODE), "VAPI_CQE_INVAL_OPCODE") &&
                !strcmp(VAPI_ts_type_sym(VAPI_TS_UD), "VAPI_TS_UD") &&
                !strcmp(VAPI_special_qp_sym(VAPI_GSI_QP), "VAPI_GSI_QP") &&
                !strcmp(VAPI_atomic_cap_sym(VAPI_ATOMIC_CAP_HCA), "VAPI_ATOMIC_CAP_HCA") &&
                !strcmp(VAPI_sig_type_sym(VAPI_SIGNAL_REQ_WR), "VAPI_SIGNAL_REQ_WR") &&
                !strcmp(VAPI_mig_state_sym(VAPI_ARMED), "VAPI_ARMED") &&
                !strcmp(VAPI_mrw_type_sym(VAPI_MSHAR), "VAPI_MSHAR") &&
                !strcmp(VAPI_remote_node_addr_sym(VAPI_RNA_UD), "VAPI_RNA_UD") &&
                !strcmp(VAPI_comp_type_sym(VAPI_UNSIGNALED), "VAPI_UNSIGNALED") &&
                !strcmp(VAPI_cq_notif_sym(VAPI_NEXT_COMP), "VAPI_NEXT_COMP"),
            "constants have their names");
    char text[64], small[8], none[2];
    is_true(
        !strcmp(VAPI_mrw_acl_mask_sym(text, sizeof text, 5), "EN_LOCAL_WRITE+EN_REMOTE_READ+") &&
            !strcmp(VAPI_rdma_atom_acl_mask_sym(text, sizeof text, 4), "EN_REM_ATOMIC_OP+") &&
            !strcmp(VAPI_mr_change_mask_sym(text, sizeof text, 2), "MR_CHANGE_PD+") &&
            !strcmp(VAPI_hca_attr_mask_sym(text, sizeof text, 1), "IS_SM+") &&
            !strcmp(VAPI_hca_cap_sym(text, sizeof text, 1 << 12), "RC_RNR_NAK_GEN_CAP+") &&
            !strcmp(VAPI_qp_attr_mask_sym(text, sizeof text, 0), ""),
        "masks have theirs");
    is_true(
        !strcmp(VAPI_qp_attr_mask_sym(small, sizeof small, QP_ATTR_AV | QP_ATTR_QKEY), "QKEY+>") &&
            !strcmp(VAPI_qp_attr_mask_sym(none, sizeof none, QP_ATTR_AV), ">"),
        "masks that do not fit end in '>'");
}

/* Each helper knows as many constants as there are from 0 on, each by another name, and no more. */
#define KNOWS(helper, type, count)                                                                 \
    do {                                                                                           \
        int known = 0;                                                                             \
        for (int i = 0; i < (count); i++) {                                                        \
            known += !strncmp(helper((type)i), "VAPI_", 5);                                        \
            for (int k = 0; k < i; k++) known -= !strcmp(helper((type)i), helper((type)k));        \
        }                                                                                          \
        known += !strcmp(helper((type)(count)), "UnKnown");                                        \
        is_number(known, (count) + 1, #helper);                                                    \
    } while (0)

static int words_in(const char *text)
{
    int words = 0;
    for (; *text; text++) words += *text == '+';
    return words;
}

void word_rules(void)
{
    char text[1024];
    KNOWS(VAPI_atomic_cap_sym, VAPI_atomic_cap_t, 3);
    KNOWS(VAPI_sig_type_sym, VAPI_sig_type_t, 2);
    KNOWS(VAPI_ts_type_sym, VAPI_ts_type_t, 5);
    KNOWS(VAPI_qp_state_sym, VAPI_qp_state_t, 7);
    KNOWS(VAPI_mig_state_sym, VAPI_mig_state_t, 3);
    KNOWS(VAPI_special_qp_sym, VAPI_special_qp_t, 5);
    KNOWS(VAPI_mrw_type_sym, VAPI_mrw_type_t, 4);
    KNOWS(VAPI_remote_node_addr_sym, VAPI_remote_node_addr_type_t, 4);
    KNOWS(VAPI_wr_opcode_sym, VAPI_wr_opcode_t, 8);
    KNOWS(VAPI_cqe_opcode_sym, VAPI_cqe_opcode_t, 8);
    KNOWS(VAPI_wc_status_sym, VAPI_wc_status_t, 21);
    KNOWS(VAPI_comp_type_sym, VAPI_comp_type_t, 2);
    KNOWS(VAPI_cq_notif_sym, VAPI_cq_notif_type_t, 3);
    KNOWS(VAPI_event_record_sym, VAPI_event_record_type_t, 17);
    KNOWS(VAPI_event_syndrome_sym, VAPI_event_syndrome_t, 15);
    const u_int32_t all = 0xffffffff;
    is_number(words_in(VAPI_hca_cap_sym(text, sizeof text, all)), 13, "flags of an HCA");
    is_number(words_in(VAPI_hca_attr_mask_sym(text, sizeof text, all)), 4, "attributes of an HCA");
    is_number(words_in(VAPI_qp_attr_mask_sym(text, sizeof text, all)), 22, "attributes of a QP");
    is_number(words_in(VAPI_mrw_acl_mask_sym(text, sizeof text, all)), 5, "rights of a region");
    is_number(words_in(VAPI_mr_change_mask_sym(text, sizeof text, all)), 3, "changes of a region");
    is_number(words_in(VAPI_rdma_atom_acl_mask_sym(text, sizeof text, all)), 3, "rights of a QP");
}

/* Every number of errno's that a call on verbs may fail with. */
static void errors(void)
{
    static const struct {
        int error;
        VAPI_ret_t code;
    } known[] = {
        {0, VAPI_OK},
        {EINVAL, VAPI_EINVAL_MTU},
        {ENOMEM, VAPI_EAGAIN},
        {EAGAIN, VAPI_EAGAIN},
        {EMFILE, VAPI_EAGAIN},
        {ENFILE, VAPI_EAGAIN},
        {ENOSPC, VAPI_EAGAIN},
        {EBUSY, VAPI_EBUSY},
        {EPERM, VAPI_EPERM},
        {EACCES, VAPI_EPERM},
        {ENOSYS, VAPI_ENOSYS},
        {EOPNOTSUPP, VAPI_ENOSYS},
        {EPROTONOSUPPORT, VAPI_ENOSYS},
        {EFAULT, VAPI_EINVAL_VA},
        {EINTR, VAPI_EINTR},
        {ETIMEDOUT, VAPI_ETIMEOUT},
        {EIO, VAPI_EFATAL},
        {ENODEV, VAPI_EFATAL},
        {EDOM, VAPI_ESYSCALL},
    };
    int good = 0, count = (int)(sizeof known / sizeof *known);
    for (int i = 0; i < count; i++) {
        errno = known[i].error;
        good += vapi_error(known[i].error, VAPI_EINVAL_MTU) == known[i].code &&
                (i == 0 || vapi_error(-1, VAPI_EINVAL_MTU) == known[i].code);
    }
    is_number(good, count, "numbers of errno's, returned or left there");
}

static void statuses(void)
{
    int good = 0;
    for (VAPI_wc_status_t i = 0; i < 40; i++) {
        VAPI_wc_status_t wanted = i <= 19 ? i : 20;
        good += vapi_wc_status(i) == wanted;
    }
    is_number(good, 40, "every status of verbs");
    is_true(vapi_wc_status(IBV_WC_RETRY_EXC_ERR) == VAPI_RETRY_EXC_ERR &&
                vapi_wc_status(IBV_WC_FATAL_ERR) == VAPI_COMP_FATAL_ERR &&
                vapi_wc_status(IBV_WC_RESP_TIMEOUT_ERR) == VAPI_COMP_GENERAL_ERR &&
                vapi_wc_status(IBV_WC_GENERAL_ERR) == VAPI_COMP_GENERAL_ERR,
            "by their names");
}

static void events(void)
{
    static const struct {
        enum ibv_event_type verbs;
        VAPI_event_record_type_t type;
        VAPI_event_syndrome_t syndrome;
        MT_ulong_ptr_t modifier; /* 11, 12, 13: the handles below; 5: the port */
    } known[] = {
        {IBV_EVENT_CQ_ERR, VAPI_CQ_ERROR, VAPI_CQ_ERR_OVERRUN, 11},
        {IBV_EVENT_QP_FATAL, VAPI_LOCAL_WQ_CATASTROPHIC_ERROR, VAPI_EV_SYNDROME_NONE, 12},
        {IBV_EVENT_QP_REQ_ERR, VAPI_LOCAL_WQ_INV_REQUEST_ERROR, VAPI_EV_SYNDROME_NONE, 12},
        {IBV_EVENT_QP_ACCESS_ERR, VAPI_LOCAL_WQ_ACCESS_VIOL_ERROR, VAPI_EV_SYNDROME_NONE, 12},
        {IBV_EVENT_COMM_EST, VAPI_QP_COMM_ESTABLISHED, VAPI_EV_SYNDROME_NONE, 12},
        {IBV_EVENT_SQ_DRAINED, VAPI_SEND_QUEUE_DRAINED, VAPI_EV_SYNDROME_NONE, 12},
        {IBV_EVENT_QP_LAST_WQE_REACHED, VAPI_RECEIVE_QUEUE_DRAINED, VAPI_EV_SYNDROME_NONE, 12},
        {IBV_EVENT_PATH_MIG, VAPI_QP_PATH_MIGRATED, VAPI_EV_SYNDROME_NONE, 12},
        {IBV_EVENT_PATH_MIG_ERR, VAPI_PATH_MIG_REQ_ERROR, VAPI_EV_SYNDROME_NONE, 12},
        {IBV_EVENT_SRQ_ERR, VAPI_SRQ_CATASTROPHIC_ERROR, VAPI_EV_SYNDROME_NONE, 13},
        {IBV_EVENT_SRQ_LIMIT_REACHED, VAPI_SRQ_LIMIT_REACHED, VAPI_EV_SYNDROME_NONE, 13},
        {IBV_EVENT_DEVICE_FATAL, VAPI_LOCAL_CATASTROPHIC_ERROR, VAPI_CATAS_ERR_GENERAL, 0},
        {IBV_EVENT_PORT_ACTIVE, VAPI_PORT_ACTIVE, VAPI_EV_SYNDROME_NONE, 5},
        {IBV_EVENT_PORT_ERR, VAPI_PORT_ERROR, VAPI_EV_SYNDROME_NONE, 5},
    };
    static const enum ibv_event_type unknown[] = {
        IBV_EVENT_LID_CHANGE, IBV_EVENT_PKEY_CHANGE,       IBV_EVENT_SM_CHANGE,
        IBV_EVENT_WQ_FATAL,   IBV_EVENT_CLIENT_REREGISTER, IBV_EVENT_GID_CHANGE};
    struct vapi_cq cq = {.handle = 11};
    struct vapi_qp qp = {.handle = 12};
    struct vapi_srq srq = {.handle = 13};
    struct ibv_cq verbs_cq = {.cq_context = &cq};
    struct ibv_qp verbs_qp = {.qp_context = &qp};
    struct ibv_srq verbs_srq = {.srq_context = &srq};
    int good = 0, count = (int)(sizeof known / sizeof *known), none = 0;
    VAPI_event_record_t record;
    for (int i = 0; i < count; i++) {
        struct ibv_async_event event = {.event_type = known[i].verbs};
        if (known[i].modifier == 11) event.element.cq = &verbs_cq;
        if (known[i].modifier == 12) event.element.qp = &verbs_qp;
        if (known[i].modifier == 13) event.element.srq = &verbs_srq;
        if (known[i].modifier == 5) event.element.port_num = 5;
        memset(&record, 0xee, sizeof record);
        bool told = vapi_event_record(&event, &record);
        MT_ulong_ptr_t of =
            known[i].modifier == 5 ? record.modifier.port_num : record.modifier.qp_hndl;
        good += told && record.type == known[i].type && record.syndrome == known[i].syndrome &&
                of == known[i].modifier;
    }
    is_number(good, count, "every event that VAPI has");
    for (size_t i = 0; i < sizeof unknown / sizeof *unknown; i++) {
        struct ibv_async_event event = {.event_type = unknown[i]};
        none += !vapi_event_record(&event, &record);
    }
    is_number(none, 6, "and none that it has not");
}

static void firmware(void)
{
    static const struct {
        const char *text;
        uint64_t version;
    } known[] = {
        {"3.0.2", UINT64_C(0x300000002)},
        {"16.35.2000", UINT64_C(0x10002307d0)},
        {"2.42.5000", UINT64_C(0x2002a1388)},
        {"20.6.0.0/1.60.37", UINT64_C(0x1400060000)},
        {"1.54", UINT64_C(0x100360000)},
        {"0.0.0.0", 0},
        {"", 0},
        {"rubbish", 0},
        {"4", UINT64_C(0x400000000)},
        {"3.x", UINT64_C(0x300000000)},
        {"1.70000.1", UINT64_C(0x111700001)},
        {"v3.0.0", 0},
    };
    int good = 0, count = (int)(sizeof known / sizeof *known);
    for (int i = 0; i < count; i++) {
        good += vapi_firmware(known[i].text) == known[i].version;
        if (vapi_firmware(known[i].text) != known[i].version)
            printf("# %s is 0x%llx\n", known[i].text,
                   (unsigned long long)vapi_firmware(known[i].text));
    }
    is_number(good, count, "firmware versions");
}

/* Every pair of states: whether there is a way, by the plain reading of the architecture. */
static void transitions(void)
{
    static const char *ways[] = {/* to:   RESET INIT RTR RTS SQD SQE ERR */
                                 "11....1", "111...1", "1..1..1", "1..11.1",
                                 "1..11.1", "1..u..1", "1.....1"};
    int good = 0;
    const VAPI_qp_attr_mask_t all = 0x07ffffff;
    for (VAPI_ts_type_t type = 0; type <= VAPI_TS_UD; type++) {
        if (type == VAPI_TS_RD) continue;
        for (VAPI_qp_state_t from = 0; from <= VAPI_ERR; from++)
            for (VAPI_qp_state_t to = 0; to <= VAPI_ERR; to++) {
                char way = ways[from][to];
                if (from == VAPI_RESET && to == VAPI_RESET) way = '1';
                bool open = way == '1' || (way == 'u' && type != VAPI_TS_RC);
                VAPI_ret_t none = vapi_qp_rule(type, from, to, 0);
                VAPI_ret_t every = vapi_qp_rule(type, from, to, all);
                good += open ? none != VAPI_EINVAL_QP_STATE && every == VAPI_ENOSYS_ATTR
                             : none == VAPI_EINVAL_QP_STATE && every == VAPI_EINVAL_QP_STATE;
            }
    }
    is_number(good, 3 * 49, "from every state to every state");
}

/* The sets that all known programs send, and what is left of them when one attribute is missing. */
static void attributes(void)
{
    static const struct {
        VAPI_ts_type_t type;
        VAPI_qp_state_t from, to;
        VAPI_qp_attr_mask_t must;
    } known[] = {
        {VAPI_TS_RC, VAPI_RESET, VAPI_INIT,
         QP_ATTR_PKEY_IX | QP_ATTR_PORT | QP_ATTR_REMOTE_ATOMIC_FLAGS},
        {VAPI_TS_RC, VAPI_INIT, VAPI_RTR,
         QP_ATTR_AV | QP_ATTR_PATH_MTU | QP_ATTR_RQ_PSN | QP_ATTR_QP_OUS_RD_ATOM |
             QP_ATTR_DEST_QP_NUM | QP_ATTR_MIN_RNR_TIMER},
        {VAPI_TS_RC, VAPI_RTR, VAPI_RTS,
         QP_ATTR_SQ_PSN | QP_ATTR_TIMEOUT | QP_ATTR_RETRY_COUNT | QP_ATTR_RNR_RETRY |
             QP_ATTR_OUS_DST_RD_ATOM},
        {VAPI_TS_UC, VAPI_RESET, VAPI_INIT,
         QP_ATTR_PKEY_IX | QP_ATTR_PORT | QP_ATTR_REMOTE_ATOMIC_FLAGS},
        {VAPI_TS_UC, VAPI_INIT, VAPI_RTR,
         QP_ATTR_AV | QP_ATTR_PATH_MTU | QP_ATTR_RQ_PSN | QP_ATTR_DEST_QP_NUM},
        {VAPI_TS_UC, VAPI_RTR, VAPI_RTS, QP_ATTR_SQ_PSN},
        {VAPI_TS_UD, VAPI_RESET, VAPI_INIT, QP_ATTR_PKEY_IX | QP_ATTR_PORT | QP_ATTR_QKEY},
        {VAPI_TS_UD, VAPI_RTR, VAPI_RTS, QP_ATTR_SQ_PSN},
    };
    int bad = 0;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        VAPI_qp_attr_mask_t must = known[i].must | QP_ATTR_QP_STATE;
        bad += vapi_qp_rule(known[i].type, known[i].from, known[i].to, must) != VAPI_OK;
        for (int bit = 1; bit < 28; bit++) {
            VAPI_qp_attr_mask_t one = 1u << bit;
            VAPI_ret_t without =
                vapi_qp_rule(known[i].type, known[i].from, known[i].to, must & ~one);
            bad += without != (must & one ? VAPI_EINVAL_ATTR : VAPI_OK);
        }
    }
    is_number(bad, 0, "what each change needs");
    is_code(vapi_qp_rule(VAPI_TS_RC, VAPI_INIT, VAPI_RTR, known[1].must | QP_ATTR_PKEY_IX), VAPI_OK,
            "what it may have besides");
    is_code(vapi_qp_rule(VAPI_TS_RC, VAPI_INIT, VAPI_RTR, known[1].must | QP_ATTR_SQ_PSN),
            VAPI_ENOSYS_ATTR, "and what not");
}

void pure_rules(void)
{
    firmware();
    errors();
    statuses();
    events();
    transitions();
    attributes();
}
