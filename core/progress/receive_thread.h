/* receive_thread.h - the thread that serves Active Messages while the client's threads compute
 * (IB-C8), if GASNET_RCV_THREAD asks for it and the build has it (IB-B3); in SEQ and PARSYNC
 * libraries only with --enable-seq-rcv-thread (IB-C10).
 */
#pragma once

/* The number of these threads, if there are to be any. */
unsigned gasnetc_receive_channels(void);

/* The body of the thread with this number; does not return. */
void *gasnetc_receive_thread(void *number);

/* Starts the threads, at the end of init.  They live until the process ends. */
void gasnetc_receive_thread_start(void);
