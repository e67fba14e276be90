/* softhca.h - what a program may ask of the software verbs device.
 *
 * A program needs none of this: it calls libibverbs as ever. These few calls let it put its
 * buffers in memory that peers can map, so that RDMA between processes of one host is a memcpy.
 */
#ifndef SOFTHCA_H
#define SOFTHCA_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* 1 when ibv_get_device_list() includes the software device, 0 when only real devices are used. */
int softhca_active(void);

/* One line, never NULL: which device programs will find and why. */
const char *softhca_describe(void);

/* This process is number N of its job: SOFTHCA_FAULTS may name it so. To be called before a device
 * is opened; SOFTHCA_PROCESS overrules it. */
void softhca_number(unsigned n);

/* This process belongs to a job on several hosts. HOSTS and SECRET are what the program knows about
 * it, in the form of SOFTHCA_HOSTS and SOFTHCA_SECRET, HOSTS "" if it knows nothing; they are used
 * where the user has set neither in this process nor for the whole job, of which USER_VALUE returns
 * the setting with that name, or NULL. To be called before a device is opened. 1 when HOSTS is
 * used, else 0. */
int softhca_hosts(const char *hosts, const char *secret,
                  const char *(*user_value)(const char *name));

/* Copies into LINE, of SIZE bytes, why a peer could not be reached, as one line without its end; 0
 * when there was no such trouble, else the line's length. From the first call on, such lines are
 * kept for this call and not written to stderr. */
size_t softhca_trouble(char *line, size_t size);

/* 1 when the software device stores the last 8 bytes of an RDMA write into memory of
 * softhca_alloc() after all others, and among them the last one last, so that who polls them may
 * then read the rest. 0 when SOFTHCA_FAULTS tears messages otherwise. */
int softhca_in_order(void);

/* Page-aligned, zero, lazily populated memory of at least BYTES; NULL and errno on failure.
 * Peers reach an MR that lies wholly in one such block by plain memcpy. After fork() the child
 * sees a private copy. When the software device is not active this is anonymous memory. */
void *softhca_alloc(size_t bytes);

/* Give back a block from softhca_alloc(); NULL is allowed. Deregister its MRs first. */
void softhca_free(void *block);

#ifdef __cplusplus
}
#endif
#endif
