/* softhca.h - optional calls of the software verbs device.
 *
 * A program needs only libibverbs. These calls let it allocate buffers in memory that peers can
 * map, so that RDMA between processes of one host is a memcpy, and query the device.
 */
#ifndef SOFTHCA_H
#define SOFTHCA_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* 1 when ibv_get_device_list() includes the software device, 0 when only real devices are used. */
int softhca_active(void);

/* One line of text, never NULL: which devices programs find, and why. */
const char *softhca_describe(void);

/* Sets the number of this process in its job, which SOFTHCA_FAULTS refers to. To be called before a
 * device is opened; SOFTHCA_PROCESS overrides it. */
void softhca_number(unsigned n);

/* Says that this process belongs to a job on several hosts. HOSTS and SECRET have the form of
 * SOFTHCA_HOSTS and SOFTHCA_SECRET; HOSTS is "" if the program does not know the hosts. Each is
 * used unless the user has set that variable, in the environment of this process or for the job:
 * USER_VALUE returns the job's setting of a name, or NULL. To be called before a device is opened.
 * Returns 1 when HOSTS is used, else 0. */
int softhca_hosts(const char *hosts, const char *secret,
                  const char *(*user_value)(const char *name));

/* Copies into LINE, of SIZE bytes, the first message about a peer that could not be reached,
 * without a line end. Returns its length, 0 when there was none. From the first call on, such
 * messages are kept for this call and not written to stderr. */
size_t softhca_trouble(char *line, size_t size);

/* 1 when the software device stores the last 8 bytes of an RDMA write into memory of
 * softhca_alloc() after all others, and the very last byte last. A program that polls these bytes
 * may then read the rest. 0 when SOFTHCA_FAULTS tears messages in another order. */
int softhca_in_order(void);

/* 1 with SOFTHCA_MEMLOCK: registered memory and queues are charged against RLIMIT_MEMLOCK. *BYTES,
 * unless NULL, is what this process is charged with at present; without SOFTHCA_MEMLOCK it is 0. */
int softhca_charges(size_t *bytes);

/* The software device's connection manager: the function with the contract of librdmacm's NAME,
 * such as "rdma_create_id", to be converted to its type; NULL if this manager does not have the
 * function. Ids of this manager and of librdmacm are not to be mixed. This manager has the
 * functions that connecting reliable queue pairs takes. */
void (*softhca_rdmacm(const char *name))(void);

/* Page-aligned, zero, lazily populated memory of at least BYTES; NULL and errno on failure.
 * Peers reach an MR that lies wholly in one such block by plain memcpy. After fork() the child
 * sees a private copy. When the software device is not active this is anonymous memory. */
void *softhca_alloc(size_t bytes);

/* The word of this process, for programs that sleep in another way than on completion channels. A
 * sleeper sets it to 1 + a number below 2^32 - 1. The next process of this host that moves data to
 * this process, or adds a completion, sets it to 0 and calls its own WAKE with the number; so do
 * threads of this process. After it has set the word, the sleeper executes
 * MEMBARRIER_CMD_GLOBAL_EXPEDITED, for which all have registered, and polls once more before it
 * sleeps. To be called once, when a device is open; NULL when the software device is not active. */
uint32_t *softhca_sleeper(void (*wake)(uint32_t number));

/* Frees a block from softhca_alloc(); NULL is allowed. The MRs in it are to be deregistered
 * before. */
void softhca_free(void *block);

#ifdef __cplusplus
}
#endif
#endif
