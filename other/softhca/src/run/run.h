/* run.h - the parts of softhca-run: starting a program with the device, and showing its users. */
#ifndef SOFTHCA_RUN_H
#define SOFTHCA_RUN_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "other/softhca/src/segment/shm.h"

/* The exit statuses of env, nice and timeout. */
enum { RUN_FAILED = 125, RUN_NOT_EXECUTABLE = 126, RUN_NOT_FOUND = 127 };

/* Writes a line to stderr that begins with the program's name. */
void run_say(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* library.c */
bool library_find(char *path, size_t size); /* reports it when not found */
bool library_preload(const char *path);     /* inserts it first in LD_PRELOAD */
/* Finds the path that execvp() would execute for PROGRAM; false when execvp() would find no
 * file. */
bool program_find(const char *program, char *path, size_t size);
/* Warns when the loader ignores LD_PRELOAD for the program at PATH. */
void program_warn(const char *path);

/* files.c: the files that UCX and Open MPI look for; false after an error message */
bool files_make(void);

/* status.c: prints the report; 0, or an exit status. PID 0: all processes. */
int status_show(pid_t pid);

/* table.c: rows of words, printed in aligned columns. */
enum { TABLE_COLUMNS = 16 };

struct table {
    const char *head; /* names of the columns; < before a name: words */
    char (*rows)[TABLE_COLUMNS][64];
    int count, room;
};

/* Adds a row: FORMAT makes its cells, separated by tabs. */
void table_add(struct table *t, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Prints at most MOST rows (0: all), each after INDENT blanks, and empties the table. */
void table_print(struct table *t, int indent, int most);

/* The data of a process that --status prints. */
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
