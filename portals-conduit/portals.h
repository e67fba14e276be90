/* portals.h - declarations shared by the files of this folder, in addition to network_portals.h:
 * start-up, callbacks of libportals, memory, messages, credits. */
#pragma once

#include "core/network.h"
#include "other/softhca/include/softhca.h"

struct net_portals_rest {
    bool open;
    bool put_limited, get_limited; /* the user has set a limit of bounced transfers */
    ptl_process_id_t id;
    uint32_t peers;
    net_peer_t **peer; /* [peers + 1], by rank; NULL: this process */
    uint16_t each;     /* initial credits of every peer */
    ptl_handle_me_t cb;
    uint32_t buffers;
    size_t reqrb_size;
    net_reqrb_t *reqrb; /* [buffers] */
    char *reqrb_memory;
    long_ids_t longs;
    _Atomic uint64_t registrations;
    _Atomic uint32_t words_open; /* system messages of the core that are not acknowledged */
};
#pragma GCC visibility push(hidden)
extern struct net_portals_rest net_portals_rest;

/* Sets the variables that libportals reads; before PtlInit. */
void net_portals_environment(void);
/* Bytes that libportals registers when it opens; after net_portals_environment. */
uint64_t net_portals_library_bytes(void);
/* Bytes that may be registered under the limit on locked memory; UINT64_MAX: no limit. */
uint64_t net_portals_memlock(void);
/* For start-up: fatal unless error is PTL_OK. */
void net_portals_must(int error, const char *what, const char *remedy);

/* status.c: callbacks from libportals. */
/* Installs the handler by which libportals reports peers that cannot be connected and devices that
 * are lost. */
void net_portals_trouble_init(void);
/* Creates the descriptor that the receive thread waits on; does nothing without GASNET_RCV_THREAD.
 */
void net_portals_wake_init(void);
/* Called by libportals, in any of its threads, for each event. */
void net_portals_wake(ptl_event_t *event);

/* Acquire the credits of one Request, and release them with its Reply; false if the Reply's byte is
 * invalid. */
bool net_portals_take_credits(net_peer_t *peer, unsigned cost, uint8_t *byte);
bool net_portals_credits_back(net_peer_t *peer, uint8_t byte);
/* The credit byte of the Reply to a Request that arrived with `byte`. */
uint8_t net_portals_answer_credits(net_peer_t *peer, uint8_t byte);
/* True if `byte` is a valid credit byte of a Request. */
static inline bool net_portals_credits_valid(const net_peer_t *peer, uint8_t byte)
{
    if (!net_portals.flow) return true;
    gasneti_lock(&net_portals.lending_lock);
    bool sound = gasnetc_lending_valid(&peer->loan, byte);
    gasneti_unlock(&net_portals.lending_lock);
    return sound;
}
/* Handle a BITS_REVOKE or BITS_RETURN message. */
void net_portals_revoked(net_peer_t *peer, uint32_t word);
void net_portals_returned(net_peer_t *peer, uint32_t word);

/* Sends a system message; only those for the core are acknowledged.  False if it could not be sent.
 */
bool net_portals_system(net_peer_t *peer, enum bits_message message, uint32_t word, uint32_t more);

/* A descriptor of memory for any number of operations, which log events in the queue but those that
 * `options` excludes. */
static inline ptl_md_t net_portals_md(const void *start, size_t length, enum net_role role,
                                      ptl_handle_eq_t queue, unsigned options)
{
    return (ptl_md_t){.start = (void *)(uintptr_t)start,
                      .length = length,
                      .threshold = PTL_MD_THRESH_INF,
                      .options = PTL_MD_EVENT_START_DISABLE | options,
                      .user_ptr = (void *)(uintptr_t)role,
                      .eq_handle = queue};
}

/* Makes a temporary descriptor of [start, start+length); PTL_INVALID_HANDLE and errno on failure.
 * The caller has taken its ticket, by net_portals_take_temporary or in a net_answer_t. */
ptl_handle_md_t net_portals_temporary(const void *start, size_t length);
void net_portals_unlink(ptl_handle_md_t md);
bool net_portals_take_temporary(void);
void net_portals_give_temporary(void);

/* Drops one reference; the last one releases the answer and its unused tickets. */
void net_portals_answer_used(net_answer_t *answer);
#pragma GCC visibility pop
