/* scene.h - scenes: what a few processes of a family go through, each a test of its own; and the
 * few calls that most of them make.  One queue per process, whose events are expected in order.
 */
#ifndef TESTS_PORTALS3_SCENE_H
#define TESTS_PORTALS3_SCENE_H

#include "other/portals3/tests/family.h"

enum { PT = 38, PAGE = 65536, LONG = 1 << 20, EVENTS = 8192 };
enum {
    QUIET = PTL_MD_OP_PUT | PTL_MD_OP_GET | PTL_MD_MANAGE_REMOTE | PTL_MD_EVENT_START_DISABLE |
            PTL_MD_EVENT_END_DISABLE
};

/* Runs it, if the program was called without words or with this one; process 0 may be one that is
 * killed. */
void scene(int argc, char **argv, const char *word, int size, void (*body)(void), bool dies,
           const char *name);
/* Behind the last one: the program's exit status. */
int scenes_over(void);

extern ptl_handle_eq_t eq;
void begin(void); /* an interface, and the queue */
ptl_md_t describe(void *start, ptl_size_t length, unsigned options, ptl_handle_eq_t queue);
ptl_handle_md_t bind_md(void *start, ptl_size_t length);
ptl_event_t next_event(void);
ptl_event_t expect(ptl_event_kind_t kind);
void well(ptl_event_kind_t kind);
void put(ptl_handle_md_t md, ptl_size_t length, int rank, ptl_match_bits_t bits, ptl_size_t to,
         ptl_ack_req_t ack);
void get(ptl_handle_md_t md, ptl_size_t length, int rank, ptl_match_bits_t bits, ptl_size_t from);

#endif
