/* ssh_watch.h - the launcher's part of GASNET_WATCHDOG: when no rank gets on, it prints what each
 * waits for, once until one gets on again.
 */
#ifndef SSH_WATCH_H
#define SSH_WATCH_H

#include <stdbool.h>
#include <stdint.h>

#include "other/launch/ssh/ssh_wire.h"

struct ssh_master;

/* What the ranks have announced, each about as often as it looks. */
struct ssh_watch {
    double seconds;  /* of GASNET_WATCHDOG; 0: no rank has announced anything */
    int64_t *heard;  /* [ranks] milliseconds of the monotonic clock; 0: nothing yet */
    bool *moves;     /* [ranks] */
    bool is_printed; /* the report of this stall */
};

/* Takes a rank's announcement. */
void ssh_watch_frame(struct ssh_master *m, uint32_t rank, const struct ssh_wire_frame *frame);
/* The time to look at all of them. */
void ssh_watch_due(struct ssh_master *m);
/* The launcher goes on after a stop, in which it has heard nothing. */
void ssh_watch_stopped(struct ssh_master *m);
void ssh_watch_close(struct ssh_master *m);

#endif
