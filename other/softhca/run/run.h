/* run.h - the parts of softhca-run: starting a program over the device, and showing who uses it. */
#ifndef SOFTHCA_RUN_H
#define SOFTHCA_RUN_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* The exit statuses of env, nice and timeout. */
enum { RUN_FAILED = 125, RUN_NOT_EXECUTABLE = 126, RUN_NOT_FOUND = 127 };

/* One line on stderr that begins with the program's name. */
void run_say(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* library.c */
bool library_find(char *path, size_t size); /* says why when there is none */
bool library_preload(const char *path);     /* puts it first in LD_PRELOAD */
/* Where execvp() would find PROGRAM; false when nowhere. */
bool program_find(const char *program, char *path, size_t size);
/* Says so when the loader will not put a library under the program at PATH. */
void program_warn(const char *path);

/* files.c: what UCX and Open MPI look for in the file system; false after saying why not */
bool files_make(void);

/* status.c: the report; 0, or an exit status. PID 0 for everybody. */
int status_show(pid_t pid);

#endif
