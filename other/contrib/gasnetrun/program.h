/* program.h - finds the program to run, and looks for the mark of the library in it. */
#ifndef PROGRAM_H
#define PROGRAM_H

#include <stdbool.h>
#include <stddef.h>

/* Path of the executable that `word` means: with a slash or executable in the current directory
 * that file, else by PATH.  malloc'ed.  NULL: `why` is one line. */
char *program_find(const char *word, char *why, size_t why_size);

/* The first of `words` that is an executable which holds `ident`; NULL if none does. */
const char *program_with_ident(char *const *words, const char *ident);

#endif
