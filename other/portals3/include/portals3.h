/*
 * portals3.h - the Portals 3.3 interface: types, constants, every call.
 *
 * A process opens a network interface (NI) and gets an identity (nid, pid).  The interface owns a
 * Portal table; each entry holds an ordered list of match entries (ME), each with at most one
 * memory descriptor (MD).  A put or get names a process, a table entry and match bits; the library
 * of the target finds the first entry that fits, moves the data and logs events in event queues
 * (EQ).
 *
 * All calls return PTL_OK or another value of ptl_err_t, and may be made in any thread.  PtlEQWait
 * and PtlEQPoll wait for events; PtlMDUnlink, PtlMEUnlink and PtlMDAttach may wait up to 10
 * seconds for peers that hold a published list; other calls return at once.  Pointers must not be
 * NULL unless the comment says so.  Additions to the standard are in portals3_ext.h.
 */
#ifndef PORTALS3_H
#define PORTALS3_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif
#ifdef __GNUC__
#pragma GCC visibility push(default)
#endif

/* --- Scalars --- */

typedef uint64_t ptl_size_t;

/* A handle contains its interface and kind, so a ptl_handle_any_t may be a handle of any kind.  */
typedef uint32_t ptl_handle_any_t;
typedef ptl_handle_any_t ptl_handle_ni_t;
typedef ptl_handle_any_t ptl_handle_me_t;
typedef ptl_handle_any_t ptl_handle_md_t;
typedef ptl_handle_any_t ptl_handle_eq_t;

typedef uint32_t ptl_pt_index_t;
typedef uint32_t ptl_ac_index_t;
typedef uint64_t ptl_match_bits_t;
typedef uint32_t ptl_interface_t;
typedef uint32_t ptl_nid_t;
typedef uint32_t ptl_pid_t;
typedef uint32_t ptl_uid_t;
typedef uint32_t ptl_jid_t;
typedef uint32_t ptl_sr_index_t;
typedef uint64_t ptl_sr_value_t;
typedef uint32_t ptl_ni_fail_t;
typedef uint32_t ptl_seq_t;
typedef uint64_t ptl_hdr_data_t;
typedef uint32_t ptl_time_t; /* milliseconds */

/* --- Special values --- */

#define PTL_INVALID_HANDLE  ((ptl_handle_any_t)0xffffffffu)
#define PTL_HANDLE_NONE     ((ptl_handle_any_t)0x7fffffffu)
#define PTL_EQ_NONE         ((ptl_handle_eq_t)0xbfffffffu) /* no events; PtlMDUpdate: unconditional */
#define PTL_EQ_HANDLER_NONE ((ptl_eq_handler_t)0)

#define PTL_NID_ANY      ((ptl_nid_t)-1)
#define PTL_PID_ANY      ((ptl_pid_t)-1)
#define PTL_UID_ANY      ((ptl_uid_t)-1)
#define PTL_JID_ANY      ((ptl_jid_t)-1)
#define PTL_PT_INDEX_ANY ((ptl_pt_index_t)-1)
/* The result of PtlGetJid outside any job; name and value are this library's choice.  */
#define PTL_JID_NONE ((ptl_jid_t)0)

#define PTL_IFACE_DEFAULT ((ptl_interface_t)0)

#define PTL_MD_THRESH_INF (-1)
#define PTL_TIME_FOREVER  ((ptl_time_t)-1)

/* ni_fail_type of an event */
#define PTL_NI_OK   ((ptl_ni_fail_t)0)
#define PTL_NI_FAIL ((ptl_ni_fail_t)1)

typedef enum { PTL_RETAIN = 0, PTL_UNLINK } ptl_unlink_t;
typedef enum { PTL_INS_BEFORE = 0, PTL_INS_AFTER } ptl_ins_pos_t;
typedef enum { PTL_ACK_REQ = 0, PTL_NO_ACK_REQ, PTL_NOACK_REQ = PTL_NO_ACK_REQ } ptl_ack_req_t;

/* --- Options of an MD --- */

#define PTL_MD_OP_PUT              0x001u /* accepts incoming puts */
#define PTL_MD_OP_GET              0x002u /* accepts incoming gets; a getput needs both */
#define PTL_MD_MANAGE_REMOTE       0x004u /* the requester chooses the offset */
#define PTL_MD_TRUNCATE            0x008u /* truncates requests that are too long instead of refusing them */
#define PTL_MD_ACK_DISABLE         0x010u /* never acknowledges */
#define PTL_MD_IOVEC               0x020u /* start points to ptl_md_iovec_t[length] */
#define PTL_MD_MAX_SIZE            0x040u /* inactive when less than max_size is left */
#define PTL_MD_EVENT_START_DISABLE 0x080u
#define PTL_MD_EVENT_END_DISABLE   0x100u
/* Accepted without effect: the UNLINK event of an automatic unlink is always logged.  */
#define PTL_MD_EVENT_AUTO_UNLINK_ENABLE 0x200u
#define PTL_MD_FLAG_AUTO_UNLINK         0x800u
/* Logs an UNLINK event for PtlMDUnlink, too.  */
#define PTL_MD_EVENT_MANUAL_UNLINK_ENABLE 0x400u

/* --- Structures --- */

typedef struct {
    ptl_nid_t nid; /* the node; processes of one node share it */
    ptl_pid_t pid;
} ptl_process_id_t;

/* max_pt_index and max_ac_index are the largest valid indexes, the others are counts. */
typedef struct {
    int max_mes;
    int max_mds;
    int max_eqs;
    int max_ac_index;
    int max_pt_index;
    int max_md_iovecs;
    int max_me_list;
    int max_getput_md;
} ptl_ni_limits_t;

typedef struct {
    void *iov_base;
    ptl_size_t iov_len;
} ptl_md_iovec_t;

/* A memory descriptor, passed by value: the library keeps a copy.  */
typedef struct {
    void *start;       /* region, or array of ptl_md_iovec_t; may be NULL when length is 0 */
    ptl_size_t length; /* bytes, or pieces with PTL_MD_IOVEC */
    int threshold;     /* operations until inactive, or PTL_MD_THRESH_INF */
    ptl_size_t max_size;
    unsigned int options;
    void *user_ptr;
    ptl_handle_eq_t eq_handle;
} ptl_md_t;

typedef enum {
    PTL_EVENT_GET_START = 0,
    PTL_EVENT_GET_END,
    PTL_EVENT_PUT_START,
    PTL_EVENT_PUT_END,
    PTL_EVENT_GETPUT_START,
    PTL_EVENT_GETPUT_END,
    PTL_EVENT_REPLY_START,
    PTL_EVENT_REPLY_END,
    PTL_EVENT_SEND_START,
    PTL_EVENT_SEND_END,
    PTL_EVENT_ACK,
    PTL_EVENT_UNLINK
} ptl_event_kind_t;

typedef struct {
    ptl_event_kind_t type;
    ptl_process_id_t initiator;
    ptl_uid_t uid;
    ptl_jid_t jid;
    ptl_pt_index_t pt_index;
    ptl_match_bits_t match_bits;
    ptl_size_t rlength; /* bytes requested */
    ptl_size_t mlength; /* bytes transferred */
    ptl_size_t offset;  /* in this MD; of an ACK: the requested remote offset */
    ptl_handle_md_t md_handle;
    ptl_md_t md; /* state of the MD just after the operation */
    ptl_hdr_data_t hdr_data;
    ptl_seq_t link; /* number of the operation: equal in its START, END and UNLINK events */
    ptl_ni_fail_t ni_fail_type;
    int unlinked; /* this is the last event of the MD */
    volatile ptl_seq_t sequence;
} ptl_event_t;

typedef void (*ptl_eq_handler_t)(ptl_event_t *event);

/* --- Return codes --- */

typedef enum {
    PTL_OK = 0,
    PTL_AC_INDEX_INVALID,
    PTL_EQ_DROPPED, /* an event is returned, but older ones were lost */
    PTL_EQ_EMPTY,
    PTL_EQ_INVALID,
    PTL_FAIL,
    PTL_HANDLE_INVALID,
    PTL_IFACE_INVALID,
    PTL_MD_ILLEGAL,
    PTL_MD_INVALID,
    PTL_MD_IN_USE,
    PTL_MD_NO_UPDATE,
    PTL_ME_INVALID,
    PTL_ME_IN_USE,
    PTL_ME_LIST_TOO_LONG,
    PTL_NI_INVALID,
    PTL_NO_INIT,
    PTL_NO_SPACE, /* out of resources, or memory that cannot be registered */
    PTL_PID_INVALID,
    PTL_PROCESS_INVALID,
    PTL_PT_FULL,
    PTL_PT_INDEX_INVALID,
    PTL_SEGV,
    PTL_SR_INDEX_INVALID,
    PTL_UNKNOWN_ERROR,
    /* beyond the standard; programs test for them */
    PTL_IFACE_DUP,
    PTL_VAL_FAILED,
    PTL_EQ_IN_USE,
    PTL_NAL_FAILED,
    PTL_IOV_INVALID,
    PTL_MAX_ERRNO /* number of codes */
} ptl_err_t;

/* --- Status registers (PtlNIStatus) --- */

enum {
    PTL_SR_DROP_COUNT = 0, /* requests, ACKs and replies discarded */
    PTL_SR_DROP_LENGTH,    /* their bytes */
    PTL_SR_RECV_COUNT,     /* operations accepted as target, acks and replies */
    PTL_SR_RECV_LENGTH,
    PTL_SR_SEND_COUNT, /* operations started */
    PTL_SR_SEND_LENGTH,
    PTL_SR_PTLS_MAX, /* table entries in use: most at once, now */
    PTL_SR_PTLS_CUR,
    PTL_SR_MSG_ALLOC, /* records of operations: made, freed, most at once, now */
    PTL_SR_MSG_FREED,
    PTL_SR_MSG_MAX,
    PTL_SR_MSG_CUR,
    PTL_SR_MES_ALLOC,
    PTL_SR_MES_FREED,
    PTL_SR_MES_MAX,
    PTL_SR_MES_CUR,
    PTL_SR_MDS_ALLOC,
    PTL_SR_MDS_FREED,
    PTL_SR_MDS_MAX,
    PTL_SR_MDS_CUR,
    PTL_SR_EQS_ALLOC,
    PTL_SR_EQS_FREED,
    PTL_SR_EQS_MAX,
    PTL_SR_EQS_CUR,
    PTL_SR_FAST_PUTS, /* operations started that were RDMA on published memory: puts, gets */
    PTL_SR_FAST_GETS,
    PTL_SR_ANSWERS,        /* ACKs, and other short answers, that have not been sent */
    PTL_SR_TRANSPORT = 64, /* first counter of the transport, see README.md */
    PTL_SR_BREAKS = PTL_SR_TRANSPORT + 2 /* broken connections: messages may be lost */
};

/* --- Library --- */

/* The first call; may be repeated.  Stores the maximum number of interfaces in *max_interfaces,
 * which may be NULL in a repeated call.  */
int PtlInit(int *max_interfaces);

/* Closes all interfaces; one call undoes all calls of PtlInit.  */
void PtlFini(void);

/* --- Network interface --- */

/* Opens an interface, or returns the handle of the open one.  desired and actual may be NULL. */
int PtlNIInit(ptl_interface_t iface, ptl_pid_t pid, ptl_ni_limits_t *desired,
              ptl_ni_limits_t *actual, ptl_handle_ni_t *ni);

/* Closes an interface and frees every ME, MD and EQ; nothing is written to user memory afterwards.
 */
int PtlNIFini(ptl_handle_ni_t ni);

/* Reads a status register, PTL_SR_... */
int PtlNIStatus(ptl_handle_ni_t ni, ptl_sr_index_t reg, ptl_sr_value_t *value);

/* The distance of a process: 0 this process, 1 on this node, 2 on another node.  */
int PtlNIDist(ptl_handle_ni_t ni, ptl_process_id_t process, unsigned long *distance);

/* The interface of any handle. */
int PtlNIHandle(ptl_handle_any_t any, ptl_handle_ni_t *ni);

/* --- Identity --- */

int PtlGetUid(ptl_handle_ni_t ni, ptl_uid_t *uid);      /* effective user id */
int PtlGetId(ptl_handle_ni_t ni, ptl_process_id_t *id); /* own (nid, pid) */
int PtlGetJid(ptl_handle_ni_t ni, ptl_jid_t *jid);      /* job, or PTL_JID_NONE */

/* --- Match entries --- */

/* Creates an ME at the head (PTL_INS_BEFORE) or tail (PTL_INS_AFTER) of a table entry's list.  nid
 * and pid of match_id may be wildcards; bits set in ignore_bits are not compared.  PTL_UNLINK: the
 * ME is freed with its MD.  */
int PtlMEAttach(ptl_handle_ni_t ni, ptl_pt_index_t pt, ptl_process_id_t match_id,
                ptl_match_bits_t match_bits, ptl_match_bits_t ignore_bits, ptl_unlink_t unlink,
                ptl_ins_pos_t pos, ptl_handle_me_t *me);

/* Creates an ME, as PtlMEAttach does, on a table entry that has none; the index of the entry is
 * stored in *pt. */
int PtlMEAttachAny(ptl_handle_ni_t ni, ptl_pt_index_t *pt, ptl_process_id_t match_id,
                   ptl_match_bits_t match_bits, ptl_match_bits_t ignore_bits, ptl_unlink_t unlink,
                   ptl_handle_me_t *me);

/* Creates an ME just before or after another.  */
int PtlMEInsert(ptl_handle_me_t base, ptl_process_id_t match_id, ptl_match_bits_t match_bits,
                ptl_match_bits_t ignore_bits, ptl_unlink_t unlink, ptl_ins_pos_t pos,
                ptl_handle_me_t *me);

/* Frees an ME and its MD; PTL_ME_IN_USE while operations are pending on the MD.  */
int PtlMEUnlink(ptl_handle_me_t me);

/* --- Memory descriptors --- */

/* Attaches an MD to an ME, which requests may match from now on.  md_handle may be NULL.  */
int PtlMDAttach(ptl_handle_me_t me, ptl_md_t md, ptl_unlink_t unlink_op,
                ptl_handle_md_t *md_handle);

/* Creates an MD without ME, for the local memory of operations.  */
int PtlMDBind(ptl_handle_ni_t ni, ptl_md_t md, ptl_unlink_t unlink_op, ptl_handle_md_t *md_handle);

/* Frees an MD (and its ME, if that was created with PTL_UNLINK).  PTL_MD_IN_USE: operations are
 * pending; PTL_MD_INVALID: it was freed already.  */
int PtlMDUnlink(ptl_handle_md_t md);

/* Reads an MD to *old_md, and replaces it by *new_md; either may be NULL.  It is replaced only if
 * testq is PTL_EQ_NONE, or is empty and will receive no event of a message that was already
 * matched; otherwise PTL_MD_NO_UPDATE.  */
int PtlMDUpdate(ptl_handle_md_t md, ptl_md_t *old_md, ptl_md_t *new_md, ptl_handle_eq_t testq);

/* --- Event queues --- */

/* Creates a queue of at least count events.  The handler, if any, is called for each event when it
 * is deposited, by the library's thread or in a call that takes events, one call at a time.  It
 * must be brief and must not call Portals.  */
int PtlEQAlloc(ptl_handle_ni_t ni, ptl_size_t count, ptl_eq_handler_t handler, ptl_handle_eq_t *eq);

/* Frees a queue and its events; PTL_EQ_IN_USE while an MD uses it.  */
int PtlEQFree(ptl_handle_eq_t eq);

/* Takes an event. PTL_EQ_EMPTY: the queue is empty. PTL_EQ_DROPPED: an event was taken, and older
 * ones were lost. */
int PtlEQGet(ptl_handle_eq_t eq, ptl_event_t *event);

/* Waits for an event and takes it. */
int PtlEQWait(ptl_handle_eq_t eq, ptl_event_t *event);

/* Takes an event of the first of several queues, in order, that has one; waits up to timeout (ms,
 * or PTL_TIME_FOREVER).  Stores the index of the queue in *which.  */
int PtlEQPoll(ptl_handle_eq_t *eqs, int size, ptl_time_t timeout, ptl_event_t *event, int *which);

/* --- Access control --- */

/* Sets an entry of the access table: the processes, users and jobs that may access a table entry
 * with it.  All arguments may be wildcards.  */
int PtlACEntry(ptl_handle_ni_t ni, ptl_ac_index_t ac, ptl_process_id_t match_id, ptl_uid_t uid,
               ptl_jid_t jid, ptl_pt_index_t pt);

/* --- Data movement --- */

/* Puts the whole MD to the target.  */
int PtlPut(ptl_handle_md_t md, ptl_ack_req_t ack, ptl_process_id_t target, ptl_pt_index_t pt,
           ptl_ac_index_t ac, ptl_match_bits_t match_bits, ptl_size_t remote_offset,
           ptl_hdr_data_t hdr_data);

/* Puts a part of the MD.  */
int PtlPutRegion(ptl_handle_md_t md, ptl_size_t local_offset, ptl_size_t length, ptl_ack_req_t ack,
                 ptl_process_id_t target, ptl_pt_index_t pt, ptl_ac_index_t ac,
                 ptl_match_bits_t match_bits, ptl_size_t remote_offset, ptl_hdr_data_t hdr_data);

/* Fills the whole MD from the target. */
int PtlGet(ptl_handle_md_t md, ptl_process_id_t target, ptl_pt_index_t pt, ptl_ac_index_t ac,
           ptl_match_bits_t match_bits, ptl_size_t remote_offset);

/* Fills a part of the MD.  */
int PtlGetRegion(ptl_handle_md_t md, ptl_size_t local_offset, ptl_size_t length,
                 ptl_process_id_t target, ptl_pt_index_t pt, ptl_ac_index_t ac,
                 ptl_match_bits_t match_bits, ptl_size_t remote_offset);

/* Writes put_md's bytes to the target and returns the old contents in get_md.  Atomic with respect
 * to other getputs.  At most max_getput_md bytes.  */
int PtlGetPut(ptl_handle_md_t get_md, ptl_handle_md_t put_md, ptl_process_id_t target,
              ptl_pt_index_t pt, ptl_ac_index_t ac, ptl_match_bits_t match_bits,
              ptl_size_t remote_offset, ptl_hdr_data_t hdr_data);

/* True for handles of the same object.  Sources disagree on the result, and on whether the standard
 * has this call.  */
#define PtlHandleIsEqual(a, b) ((a) == (b))

#ifdef __GNUC__
#pragma GCC visibility pop
#endif
#ifdef __cplusplus
}
#endif

#endif
