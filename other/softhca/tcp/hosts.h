/* hosts.h - the list of hosts that make one fabric, as text: SOFTHCA_HOSTS or the file it names.
 *
 * Pure: the place of a name in the list is the number of the host, the same for every process.
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

/* Take the hosts of TEXT into the empty list H: the lines of a file, with # comments, or words
 * between commas. False, with WHY in one line and H empty, when one is wrong or there is none. */
bool shca_hosts_parse(struct shca_hosts *h, bool file, const char *text, char *why, size_t room);
void shca_hosts_free(struct shca_hosts *h);

/* The number of NAME, -1 when it is not in the list. */
int shca_hosts_find(const struct shca_hosts *h, const char *name);

/* Two processes with one hash have one list. */
uint64_t shca_hosts_hash(const struct shca_hosts *h);

/* For settings.def: any path, or a list that can be parsed. */
bool shca_hosts_check(const char *text, char *why, size_t room);

#endif
