/* run.h - the parts of softhca-run: starting a program with the device, and showing its users. */
#ifndef SOFTHCA_RUN_H
#define SOFTHCA_RUN_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

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

#endif
