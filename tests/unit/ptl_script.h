/* ptl_script.h - a libportals that a script drives: descriptors, lists and queues as the standard
 * has them, and no network.  What the conduit starts is recorded; the test, which plays the peers,
 * says when its events come, and sends messages that walk the match lists.
 *
 * It ends the program, as the conduit broke the rules, for a dead handle, for a range outside its
 * descriptor, and for an event that finds its queue full.
 */
#ifndef PTL_SCRIPT_H
#define PTL_SCRIPT_H

#include <portals3.h>
#include <portals3_ext.h>
#include <stdbool.h>
#include <stddef.h>

enum ptl_script_kind { PTL_SCRIPT_PUT, PTL_SCRIPT_GET };

/* An operation that the conduit has started. */
typedef struct ptl_script_op {
    enum ptl_script_kind kind;
    ptl_handle_md_t md;
    ptl_md_t from; /* the descriptor md at the time of the call */
    ptl_size_t offset, length, there;
    bool ack;
    ptl_process_id_t target;
    ptl_pt_index_t entry;
    ptl_match_bits_t bits;
    ptl_hdr_data_t header;
    unsigned char *bytes; /* of a put, as they were */
    unsigned events;      /* logged so far */
    ptl_note_t *note;     /* of an operation without events, or NULL */
} ptl_script_op_t;

unsigned ptl_script_ops(void);
/* The n-th since the last ptl_script_forget; -1 is the last. */
ptl_script_op_t *ptl_script_op(int n);
void ptl_script_forget(void);

/* The events of an operation. */
void ptl_script_sent(ptl_script_op_t *op);
void ptl_script_acked(ptl_script_op_t *op);
void ptl_script_got(ptl_script_op_t *op, const void *bytes);
void ptl_script_failed(ptl_script_op_t *op);

/* The end of an operation without events. */
void ptl_script_ended(ptl_script_op_t *op, ptl_ni_fail_t fail);

/* A put by the process with that pid: false if nothing took it. */
typedef struct ptl_script_message {
    ptl_pid_t from;
    ptl_pt_index_t entry;
    ptl_match_bits_t bits;
    ptl_size_t offset;
    ptl_hdr_data_t header;
    const void *bytes;
    ptl_size_t length;
    bool fails; /* in the middle */
} ptl_script_message_t;
bool ptl_script_arrive(const ptl_script_message_t *message);

/* UNLINK events are kept back until ptl_script_unlink; the first kept one comes then. */
extern bool ptl_script_hold_unlinks;
bool ptl_script_unlink(void);

/* The queues of the first calls of PtlEQNext since `count` was 0, in order; successive calls for
 * one queue count once. */
extern struct ptl_script_looks {
    unsigned count;
    ptl_handle_eq_t queue[4];
} ptl_script_looks;

/* Connections that broke; answers that have not left. */
extern ptl_sr_value_t ptl_script_breaks, ptl_script_answers;

/* Live objects; those bound and attached. */
unsigned ptl_script_descriptors(void), ptl_script_entries(void);
/* PtlMDBind and PtlMDAttach refuse as long as it is set. */
extern bool ptl_script_no_space;
/* PtlMDBind refuses memory that begins here, with errno EFAULT. */
extern const void *ptl_script_unpinnable;
/* PtlPutBytes sends as long as it is set: an operation without descriptor or events. */
extern bool ptl_script_bytes;
/* PtlPutBytesNoted, PtlPutNoted and PtlGetNoted start operations as long as it is set; of puts so
 * many bytes are copied at once. */
extern bool ptl_script_notes;
enum { PTL_SCRIPT_COPIED = 100 };
/* PtlPutRegion refuses as long as it is set. */
extern bool ptl_script_refuses;
/* Everything is gone: as before PtlInit. */
void ptl_script_reset(void);

#endif
