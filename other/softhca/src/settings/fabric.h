/* fabric.h - the hosts of SOFTHCA_HOSTS: their number, their addresses, and which one this is. */
#ifndef SOFTHCA_FABRIC_H
#define SOFTHCA_FABRIC_H

#include <sys/socket.h>

#include "other/softhca/src/settings/hosts.h"

enum { SHCA_ADDRESSES = 8 };

struct shca_site {
    unsigned n;
    struct sockaddr_storage address[SHCA_ADDRESSES];
};

struct shca_fabric {
    struct shca_hosts names; /* empty: this host only */
    unsigned self;
    uint64_t hash;
    struct shca_site *site; /* [names.n] */
    bool anywhere; /* the own name resolves to a loopback address only, those of other hosts do not
                    */
};

/* Determined by the first call. A wrong list is reported in one line and counts as empty. */
const struct shca_fabric *shca_fabric(void);
bool shca_fabric_good(void);

bool shca_same_address(const struct sockaddr_storage *a, const struct sockaddr_storage *b);
socklen_t shca_address_len(const struct sockaddr_storage *a);
void shca_set_port(struct sockaddr_storage *a, unsigned port);
/* "10.0.0.1", for messages. */
const char *shca_address_text(const struct sockaddr_storage *a, char text[64]);

#endif
