/*
 * portals3_ext.h - calls beyond the Portals 3.3 standard that programs use: names of codes, Cray's
 * combined calls, Sandia's map of ranks, inspection and injected failures.
 */
#ifndef PORTALS3_EXT_H
#define PORTALS3_EXT_H

#include <portals3.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif
#ifdef __GNUC__
#pragma GCC visibility push(default)
#endif

/* An interface that reaches its own process only and needs no network. */
#define PTL_IFACE_SELF ((ptl_interface_t)1)

/* Cray's names of interfaces; all mean the default one. */
#define PTL_IFACE_SS                                PTL_IFACE_DEFAULT
#define PTL_BRIDGE_UK                               0
#define PTL_BRIDGE_QK                               0
#define IFACE_FROM_BRIDGE_AND_NALID(bridge, number) PTL_IFACE_DEFAULT

/* --- Names --- */

/* Names, indexed by return code and by kind of event. */
extern const char *ptl_err_str[];
extern const char *ptl_event_str[];

/* The name of a return code, of a kind of event, of a failure; for any value, also an invalid
 * one. */
const char *PtlErrorStr(unsigned int code);
const char *PtlEventKindStr(ptl_event_kind_t kind);
const char *PtlNIFailStr(ptl_handle_ni_t ni, ptl_ni_fail_t fail);

/* Writes a handle as text; arguments and result like snprintf.  */
int PtlSnprintHandle(char *text, int size, ptl_handle_any_t handle);

/* --- Combined calls --- */

/* PtlGetPut of parts of the MDs. */
int PtlGetPutRegion(ptl_handle_md_t get_md, ptl_size_t get_offset, ptl_handle_md_t put_md,
                    ptl_size_t put_offset, ptl_size_t length, ptl_process_id_t target,
                    ptl_pt_index_t pt, ptl_ac_index_t ac, ptl_match_bits_t match_bits,
                    ptl_size_t remote_offset, ptl_hdr_data_t hdr_data);

/* PtlMEInsert, PtlMDAttach and the test of PtlMDUpdate in one call.  Does nothing and returns
 * PTL_MD_NO_UPDATE if testq has events or will receive an event of a message that was already
 * matched. */
int PtlMEMDPost(ptl_handle_ni_t ni, ptl_handle_me_t base, ptl_process_id_t match_id,
                ptl_match_bits_t match_bits, ptl_match_bits_t ignore_bits, ptl_unlink_t me_unlink,
                ptl_ins_pos_t pos, ptl_md_t md, ptl_unlink_t md_unlink, ptl_handle_me_t *me,
                ptl_handle_md_t *md_handle, ptl_handle_eq_t testq);

/* --- Paths --- */

/* A short way to a table entry of another process, through its access entry 0; valid until
 * PtlNIFini.  PTL_NO_SPACE: there is no such way.  The calls below return PTL_NO_SPACE if they have
 * done nothing, and only PtlPut or PtlGet may be able to do it now: for the first operations to the
 * table entry, for a process that is not connected, and while earlier operations wait.  */
typedef struct ptli_route *ptl_path_t;
int PtlPathOpen(ptl_handle_ni_t ni, ptl_process_id_t target, ptl_pt_index_t pt, ptl_path_t *path);

/* A put of bytes that belong to no MD, without ACK or other events; they may be reused on return,
 * and are sent in order with PtlPut to the same process.  PTL_NO_SPACE also for more than about 150
 * bytes.  */
int PtlPutBytes(ptl_path_t path, const void *data, ptl_size_t length, ptl_match_bits_t match_bits,
                ptl_size_t remote_offset, ptl_hdr_data_t hdr_data);

/* Puts and gets of memory that the target has published, without any event.  When the operation is
 * complete, for a put at the target, PtlPoll returns the note, which is the caller's memory, with
 * `fail` set.  `local` is in the MD that the caller has stored in the note.  PtlPutBytesNoted needs
 * no MD: it copies the data at once if they are few, and returns PTL_NO_SPACE otherwise.  */
typedef struct ptl_note {
    struct ptl_note *next;
    ptl_ni_fail_t fail;
    ptl_handle_md_t md;
} ptl_note_t;
int PtlPutBytesNoted(ptl_path_t path, const void *data, ptl_size_t length,
                     ptl_match_bits_t match_bits, ptl_size_t remote_offset, ptl_note_t *note);
int PtlPutNoted(ptl_path_t path, const void *local, ptl_size_t length, ptl_match_bits_t match_bits,
                ptl_size_t remote_offset, ptl_note_t *note);
int PtlGetNoted(ptl_path_t path, void *local, ptl_size_t length, ptl_match_bits_t match_bits,
                ptl_size_t remote_offset, ptl_note_t *note);

/* --- Progress and inspection --- */

/* Drives the network for up to timeout ms; needed only with PTL_PROGRESS=none in programs that make
 * no call for events.  */
int PtlProgress(ptl_handle_any_t handle, ptl_time_t timeout);

/* Drives the network.  Stores the notes of the operations that have ended since the last call, as a
 * list in that order, or NULL.  PTL_OK if events were logged since `seen`, which is changed then:
 * in whatever queue of the interface.  PTL_EQ_EMPTY: no queue need be looked at.  *seen is 0 at
 * first.  */
int PtlPoll(ptl_handle_ni_t ni, uint64_t *seen, ptl_note_t **notes);

/* Stores the number of events in each of the queues, which are of one interface.  A program of
 * several queues need not try each with PtlEQGet.  */
int PtlEQCount(const ptl_handle_eq_t *eqs, int size, ptl_size_t *counts);

/* The oldest events of a queue, where they lie one behind the other, and their number, which may be
 * less than there are; PtlEQDone takes the first `count` of them from there.  PTL_OK, PTL_EQ_EMPTY,
 * PTL_EQ_DROPPED (as PtlEQGet) or PTL_EQ_INVALID; no network is driven.  Between the two calls no
 * thread may take events of the queue, and one that overflows may change these events.  */
int PtlEQNext(ptl_handle_eq_t eq, const ptl_event_t **events, ptl_size_t *count);
void PtlEQDone(ptl_handle_eq_t eq, ptl_size_t count);

/* Sets the mask of messages on stderr, and returns the old one.  PTL_INVALID_HANDLE: for interfaces
 * opened later.  */
unsigned int PtlNIDebug(ptl_handle_ni_t ni, unsigned int mask);
enum {
    PTL_DEBUG_DROP = 1 << 0,   /* every request that is dropped, with the reason */
    PTL_DEBUG_WIRE = 1 << 1,   /* malformed messages */
    PTL_DEBUG_UNLINK = 1 << 2, /* MDs that unlink themselves */
    PTL_DEBUG_PEER = 1 << 3,   /* peers found, connected, lost */
    PTL_DEBUG_FAST = 1 << 4    /* lists published and revoked */
};

/* Writes the state to stderr: a table entry's list, a match entry, all queues. */
int PtlTblDump(ptl_handle_ni_t ni, ptl_pt_index_t pt);
int PtlMEDump(ptl_handle_me_t me);
int PtlNIEqDump(ptl_handle_ni_t ni);

/* The device and port that the interface uses, such as "mlx5_0 port 1", and on Ethernet the GID: as
 * much of it as `text` holds, with the final 0.  "" for PTL_IFACE_SELF.  */
int PtlDeviceText(ptl_handle_ni_t ni, char *text, int size);

/* Makes the next threshold operations with that node (or PTL_NID_ANY) fail; all ones: all of them;
 * 0: none any more.  */
int PtlFailNid(ptl_handle_ni_t ni, ptl_nid_t nid, unsigned int threshold);
#define PtlNIFailNid PtlFailNid

/* Installs a handler for failures that are otherwise reported on stderr or not at all: a peer
 * cannot be connected, or (PTL_NID_ANY, PTL_PID_ANY) the device or its port is lost.  Any thread
 * may call the handler, also in calls of Portals; it must not call Portals.  `why` is one line.
 * NULL: no handler.  */
typedef void (*ptl_trouble_handler_t)(ptl_process_id_t peer, const char *why);
void PtlTroubleHandler(ptl_trouble_handler_t handler);

/* Installs a function that the thread which makes progress calls, without locks, each time it has
 * done something: what a thread of the program waits for may be there.  It must not call Portals.
 * NULL: none.  */
typedef void (*ptl_progress_handler_t)(void);
void PtlProgressHandler(ptl_progress_handler_t handler);

/* --- Map of ranks --- */

/* To be called before PtlNIInit, with PTL_INVALID_HANDLE: they apply to the next interface, for
 * which PTL_PID_ANY then stands for the process's own entry of the map.  PtlSetRank(ni, -1, -1)
 * reads PTL_MY_RID, PTL_NIDMAP, PTL_PIDMAP, PTL_MY_JID.  */
int PtlSetJID(ptl_jid_t jid);
int PtlSetRank(ptl_handle_ni_t ni, int rank, int size);
int PtlSetNIDMap(ptl_handle_ni_t ni, const ptl_nid_t *nids, int size);
int PtlSetPIDMap(ptl_handle_ni_t ni, const ptl_pid_t *pids, int size);

/* Sets the key of the job: the next interface connects only to processes that have the same key,
 * and does not use the key file of the user. 16 to 64 bytes at random that only the job knows.
 * PTL_FAIL: another size. */
int PtlSetKey(const void *key, ptl_size_t size);

/* The map of an open interface; PTL_FAIL if it has no map. PtlGetNIDMap and PtlGetPIDMap store up
 * to size elements, and the number of all elements in *count. */
int PtlGetRank(ptl_handle_ni_t ni, int *rank, int *size);
int PtlGetRankId(ptl_handle_ni_t ni, int rank, ptl_process_id_t *id);
int PtlGetNIDMap(ptl_handle_ni_t ni, ptl_nid_t *nids, int size, int *count);
int PtlGetPIDMap(ptl_handle_ni_t ni, ptl_pid_t *pids, int size, int *count);

#ifdef __GNUC__
#pragma GCC visibility pop
#endif
#ifdef __cplusplus
}
#endif

#endif
