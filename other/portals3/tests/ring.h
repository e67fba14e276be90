/*
 * ring.h - functions of the programs that test Portals: processes in a ring, each the target of its
 * predecessor and the initiator towards its successor. A ring of one sends to itself, so that the
 * same source tests both.
 */
#ifndef TESTS_PORTALS3_RING_H
#define TESTS_PORTALS3_RING_H

#include <portals3.h>
#include <portals3_ext.h>
#include <stdbool.h>
#include <sys/types.h>

struct ring {
    int rank, size;
    ptl_interface_t interface;
    bool mirrored; /* the single process has itself in a mirror as peer: pid ^ 1 */
    ptl_handle_ni_t ni;
    ptl_process_id_t self, next, previous;
};
extern struct ring ring;
extern const ptl_process_id_t ring_anybody;

/* A PROGRAM [-n processes] [-s: PTL_IFACE_SELF] [word...]; runs body in each process with the
 * interface open, and says the plan.  The exit status of the whole. */
int ring_main(int argc, char **argv, void (*body)(void));
/* True if the command line has this word, or no words. */
bool ring_wanted(const char *word);

void ring_barrier(void);
ptl_process_id_t ring_id(int rank);
pid_t ring_pid(int rank);

/* Checks a condition; if it is false in any process, the next ring_done fails. */
bool ring_expect(bool ok, const char *format, ...) __attribute__((format(printf, 2, 3)));
#define RING_IS(call, code)                                                                        \
    do {                                                                                           \
        int ring_got = (call);                                                                     \
        ring_expect(ring_got == (code), "%s:%d: %s is %s", __FILE__, __LINE__, #call,              \
                    PtlErrorStr((unsigned int)ring_got));                                          \
    } while (0)
#define RING_OK(call) RING_IS(call, PTL_OK)
/* Prints a TAP line for all processes; a barrier. */
void ring_done(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* The next event of a queue, which has to be of this kind; waits for it, but not for ever. */
ptl_event_t ring_event(ptl_handle_eq_t eq, ptl_event_kind_t kind);
void ring_no_event(ptl_handle_eq_t eq);
ptl_sr_value_t ring_register(ptl_sr_index_t index);
/* Waits until a register has that value. */
void ring_await_register(ptl_sr_index_t index, ptl_sr_value_t value);

/* --- shorthand --- */

ptl_handle_eq_t ring_eq(ptl_size_t count);
ptl_md_t ring_md(void *start, ptl_size_t length, unsigned int options, ptl_handle_eq_t eq);
/* An ME at the tail of a table entry with this MD. */
ptl_handle_md_t ring_attach(ptl_pt_index_t pt, ptl_match_bits_t bits, ptl_match_bits_t ignore,
                            ptl_md_t md, ptl_unlink_t unlink);
ptl_handle_md_t ring_bind(ptl_md_t md);
/* Unlinks as soon as nothing is pending any more. */
void ring_unlink(ptl_handle_md_t md);

#endif
