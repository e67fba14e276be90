/* mappings.h - the list of the process's mappings, read without allocating memory. */
#ifndef MEMORY_EVENTS_MAPPINGS_H
#define MEMORY_EVENTS_MAPPINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct me_mapping {
    uintptr_t start, end;
    int protection; /* PROT_READ, PROT_WRITE, PROT_EXEC */
    bool file;      /* of a file */
    bool shared;    /* writes go to the file, or are seen by other processes */
    bool stack;     /* of the first thread */
    char name[256];
} me_mapping_t;

typedef struct me_mappings {
    int fd;
    size_t at, filled;
    char bytes[4096];
} me_mappings_t;

bool me_mappings_open(me_mappings_t *list);
/* In the order of addresses. */
bool me_mappings_next(me_mappings_t *list, me_mapping_t *mapping);
void me_mappings_close(me_mappings_t *list);

#endif
