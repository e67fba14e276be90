/* hosts.h - parses the list of hosts that form a fabric: SOFTHCA_HOSTS or the file it names.
 *
 * Pure. The index of a name in the list is the number of the host, the same for every process.
 */
#ifndef SOFTHCA_HOSTS_H
#define SOFTHCA_HOSTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { SHCA_HOSTS_MAX = 1024, SHCA_HOST_NAME_MAX = 255 };

struct shca_hosts {
    unsigned n;
    char *name[SHCA_HOSTS_MAX];
};

/* A value with a slash is the path of a file. */
bool shca_hosts_is_path(const char *value);

/* Parses TEXT into the empty list H: the lines of a file, with # comments, or words between commas.
 * False, with one line in WHY and H empty: a name is invalid, or TEXT has no name. */
bool shca_hosts_parse(struct shca_hosts *h, bool file, const char *text, char *why, size_t room);
void shca_hosts_free(struct shca_hosts *h);

/* The index of NAME, -1 when it is not in the list. */
int shca_hosts_find(const struct shca_hosts *h, const char *name);

/* Processes compare the hash to check that their lists are equal. */
uint64_t shca_hosts_hash(const struct shca_hosts *h);

/* The check of settings.def: any path, or a list that can be parsed. */
bool shca_hosts_check(const char *text, char *why, size_t room);

#endif
