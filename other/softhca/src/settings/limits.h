/* limits.h - how many objects a process can have, and how large they can be.
 *
 * The tables of the segment (shm.h) have these sizes, and SOFTHCA_DEVICES can only lower them.
 * Pure.
 */
#ifndef SOFTHCA_LIMITS_H
#define SOFTHCA_LIMITS_H

enum {
    SHCA_SLOTS = 4096, /* processes of a user */
    SHCA_QPS = 4096,
    SHCA_CQS = 4096,
    SHCA_SRQS = 8192, /* SRQs of programs, and one SRQ for each UD QP */
    SHCA_MRS = 1 << 18,
    SHCA_CHANNELS = 1024,
    SHCA_MAX_WR = 16384,
    SHCA_MAX_SGE = 32,
    SHCA_MAX_INLINE = 1024,
    SHCA_MAX_MESSAGE = 1 << 30,
    SHCA_MAX_CQE = 1 << 20,
};

#endif
