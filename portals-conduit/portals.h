/* portals.h - what the files of this folder share beside network_portals.h: start-up, memory,
 * words. Nothing of it is on a hot path.
 */
#ifndef PORTALS_H
#define PORTALS_H

#include "core/network.h"
#include "other/softhca/softhca.h"

struct net_portals_rest {
    bool open;
    ptl_process_id_t id;
    uint32_t peers;
    net_peer_t **peer; /* [peers + 1], by rank; NULL: this process */
    uint16_t each;     /* credits that every peer begins with */
    ptl_handle_me_t cb;
    uint32_t buffers;
    size_t reqrb_size;
    net_reqrb_t *reqrb; /* [buffers] */
    char *reqrb_memory;
    long_ids_t longs;
    uint32_t asked_last; /* where the round of those asked for credits stopped */
    _Atomic uint64_t registrations;
    _Atomic uint32_t words_open; /* the core's system messages that are not acknowledged */
};
#pragma GCC visibility push(hidden)
extern struct net_portals_rest net_portals_rest;

/* Before the library reads it: environment.c. */
void net_portals_environment(void);
/* A code of the library, in words. */
const char *net_portals_error(int error);
/* Start-up: fatal unless error is PTL_OK. */
void net_portals_must(int error, const char *what, const char *remedy);

/* Credits of one Request: taken, and brought back by its Reply. */
bool net_portals_take_credits(net_peer_t *peer, unsigned cost, uint8_t *byte);
bool net_portals_credits_back(net_peer_t *peer, uint8_t byte);
/* The byte of the Reply to a Request that came with `byte`. */
uint8_t net_portals_answer_credits(net_peer_t *peer, uint8_t byte);
/* True if a Request may come with it. */
bool net_portals_credits_valid(net_peer_t *peer, uint8_t byte);
/* Messages about credits came. */
void net_portals_revoked(net_peer_t *peer, uint32_t word);
void net_portals_returned(net_peer_t *peer, uint32_t word);

/* A system message leaves; nobody waits for it unless it is for the core.  False: it does not. */
bool net_portals_system(net_peer_t *peer, enum bits_message message, uint32_t word, uint32_t more);

/* A temporary descriptor of [start, start+length); PTL_INVALID_HANDLE and errno when refused.  Its
 * ticket is taken by the caller. */
ptl_handle_md_t net_portals_temporary(const void *start, size_t length);
void net_portals_unlink(ptl_handle_md_t md);
bool net_portals_take_temporary(void);
void net_portals_give_temporary(void);

/* One use of it ends. */
void net_portals_answer_used(net_answer_t *answer);
#pragma GCC visibility pop

#endif
