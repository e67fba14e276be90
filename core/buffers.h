/* buffers.h - the bbuf pool: pinned 4 KB buffers from which AMs are sent and through which small
 * transfers of unpinned memory bounce.
 *
 * One arena, registered once.  A bbuf is taken by whoever sends and comes back when the send is
 * reaped, so while any is in flight, reaping sends (no handlers) is enough to get one.
 */
#ifndef GASNETC_BUFFERS_H
#define GASNETC_BUFFERS_H

#include <stddef.h>
#include <stdint.h>

#include "core/completion.h"
#include "core/network.h"

enum { GASNETC_BBUF_SIZE = 4096 };

extern net_region_t gasnetc_bbuf_region; /* covers every bbuf */

/* Allocates and registers `count` buffers; fatal, naming limit and remedy, when that fails. */
void gasnetc_bbuf_init(uint32_t count);
void gasnetc_bbuf_fini(void);

/* NULL when none is free. */
void *gasnetc_bbuf_try(void);
void gasnetc_bbuf_free(void *bbuf);

/* Registers [start, start+length) for one transfer: pass as gasnetc_sent_t.held, and `*region` to
 * the posting call; freed when the transfer completes.  Fatal when the network refuses. */
gasnetc_held_t *gasnetc_pin_transient(const void *start, size_t length, net_region_t **region);

#endif
