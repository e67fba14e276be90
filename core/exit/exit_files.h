/* exit_files.h - output of the program that buffers still hold: files of stdio, std::cout, units of
 * Fortran, the profile.  A process that ends by _exit has to write the buffers.  Called by exit.c
 * alone. */
#ifndef GASNETC_EXIT_FILES_H
#define GASNETC_EXIT_FILES_H

#include <stdbool.h>

/* Writes the buffers of all output files of stdio; stdout and stderr are the caller's to write.  A
 * file whose lock another thread holds, or whose pipe is full, is waited for until time_is_up(),
 * then skipped.  Returns 0, or an errno value of a file that was skipped (ETIMEDOUT) or could not
 * be written.  A write that blocks nevertheless blocks the caller. */
int gasnetc_exit_write_files(bool (*time_is_up)(void));

/* Writes the buffers of C++ and Fortran, if the program has them. */
void gasnetc_exit_write_streams(void);

/* Writes coverage and profile data, as the end of main would.  Once. */
void gasnetc_exit_write_profile(void);

#endif
