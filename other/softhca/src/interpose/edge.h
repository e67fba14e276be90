/* edge.h - the functions of interpose/ that the rest of the device calls: the libibverbs behind
 * this library, messages, fork, and device selection.
 */
#ifndef SOFTHCA_EDGE_H
#define SOFTHCA_EDGE_H

#include "other/softhca/src/objects/qp.h"

/* real_verbs.c: the real libibverbs, and messages to the user */
void *shca_real_verbs(const char *name);
int shca_unsupported(void); /* sets errno, returns EOPNOTSUPP */
void shca_say(const char *format, ...) __attribute__((format(printf, 1, 2)));
void shca_say_of_peer(const char *format, ...) __attribute__((format(printf, 1, 2)));
void shca_trouble_in_child(void);

/* fork.c */
void shca_watch_forks(void);
void shca_context_disable(struct shca_context *c);

/* device_select.c */
bool shca_enabled(void);
struct ibv_device **shca_list(int *num);
bool shca_list_free(struct ibv_device **list);
struct ibv_context *shca_open_real(struct ibv_device *d); /* EACCES without permission */
void shca_device_select_in_child(void);

#endif
