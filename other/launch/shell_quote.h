/* shell_quote.h - splits text into words and joins words into text, with the quoting of a shell.
 *
 * Pure.  For GASNET_SSH_OPTIONS, MPIRUN_CMD and the commands of remote shells.
 */
#ifndef SHELL_QUOTE_H
#define SHELL_QUOTE_H

#include <stdbool.h>
#include <stddef.h>

/* A growing, NULL-terminated list that owns its words. */
struct shell_words {
    char **word; /* NULL while empty */
    size_t count;
    bool failed; /* out of memory */
};

void shell_add(struct shell_words *list, const char *word);
void shell_add_bytes(struct shell_words *list, const char *bytes, size_t len);
void shell_free(struct shell_words *list);

/* Appends the words of `text`, split at white space; '...', "..." and \ quote as in a shell,
 * without expansions.  Returns false if a quote has no end. */
bool shell_split(struct shell_words *list, const char *text);

/* Returns `word` quoted for a POSIX shell; a plain word is not changed.  The caller frees the
 * result; NULL: out of memory. */
char *shell_quote(const char *word);
/* Returns all words quoted and separated by blanks. */
char *shell_join(char *const *words);

#endif
