/* status.h - the data of a process that softhca-run --status prints. */
#ifndef SOFTHCA_STATUS_H
#define SOFTHCA_STATUS_H

#include "other/softhca/src/segment/shm.h"

#include <stdbool.h>
#include <sys/types.h>

struct process {
    uint32_t slot;
    pid_t pid;  /* 0: in another pid namespace */
    char state; /* as in /proc: R, S, T ...; 0: unknown */
    int memfd;  /* -1: its segment could not be opened, and the reason: */
    const char *why;
    char command[256];
    struct shm_header *h; /* a copy, up to the CQs */
};

struct processes {
    struct process *p;
    int count;
};

/* find.c: all processes of this user, with their tables. */
void processes_find(struct processes *all);
struct process *processes_at(const struct processes *all, uint32_t slot);
/* Calls SEEN for the entries of SIZE in [OFFSET, OFFSET + COUNT * SIZE) of the segment of P that
 * lie in allocated pages: reading must not allocate pages. */
void process_walk(const struct process *p, uint64_t offset, size_t size, size_t count,
                  void (*seen)(const void *entry, size_t index, void *context), void *context);

#endif
