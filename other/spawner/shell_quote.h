/* shell_quote.h - shell-style quoting: text to words and words to text.
 *
 * Pure; for GASNET_SSH_OPTIONS, MPIRUN_CMD and the commands given to remote shells.
 */
#ifndef SHELL_QUOTE_H
#define SHELL_QUOTE_H

#include <stdbool.h>
#include <stddef.h>

/* A growing, NULL-terminated list of words it owns. */
struct shell_words {
    char **word; /* NULL while empty */
    size_t count;
    bool failed; /* out of memory */
};

void shell_add(struct shell_words *list, const char *word);
void shell_add_bytes(struct shell_words *list, const char *bytes, size_t len);
void shell_free(struct shell_words *list);

/* Appends the words of `text`, split at white space; '...', "..." and \ quote as in a shell (no
 * expansions).  False: a quote without end. */
bool shell_split(struct shell_words *list, const char *text);

/* `word` as a POSIX shell reads it back unchanged; plain words stay plain.  malloc'ed; NULL: out
 * of memory. */
char *shell_quote(const char *word);
/* All words quoted and joined by blanks. */
char *shell_join(char *const *words);

#endif
