/* context.h - is a call legal where it is made?  Checked in debug builds; nothing in production. */
#ifndef GASNETC_CONTEXT_H
#define GASNETC_CONTEXT_H

/* Fatal, naming the call, inside a handler, with a handler-safe lock held, or in a no-interrupt
 * section. */
void gasnetc_check_may_communicate(const char *call);

/* Fatal if a handler returns or replies with a lock of its own still held; `locks` is what
 * gasnetc_locks_held returned when the handler began. */
void *gasnetc_locks_held(void);
void gasnetc_check_no_new_locks(void *locks, const char *event);

#ifdef GASNET_DEBUG
enum { GASNETC_CHECKING = 1 };
#else
enum { GASNETC_CHECKING = 0 };
#endif

#endif
