/* program.h - finds the program to run, and looks for the library's ident string in it. */
#ifndef PROGRAM_H
#define PROGRAM_H

#include <stdbool.h>
#include <stddef.h>

/* The path of the program `word`: that file if the word has a slash or the file is executable in
 * the current directory, else found in PATH.  To be freed.  NULL: `why` is one line. */
char *program_find(const char *word, char *why, size_t why_size);

/* The first of `words` that is an executable file which contains `ident`, or NULL. */
const char *program_with_ident(char *const *words, const char *ident);

#endif
