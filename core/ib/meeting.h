/* meeting.h - how two processes that are to be connected meet: by datagrams (connect_greetings.c),
 * or by a connection manager, which a conduit may have (HCA_MANAGER).  connect_on_demand.c has the
 * thread that runs either.
 */
#pragma once

#include "core/ib/connect.h"

/* The address by which a process is met. */
typedef union net_ib_address {
    hca_ud_addr_t ud;
    struct {
        uint64_t key; /* random, and known to this job alone */
        unsigned char address[32];
    } managed;
} net_ib_address_t;

/* The contact address of a process (net_contact). */
typedef struct net_ib_contact {
    net_ib_address_t address;
    bool managed; /* by a connection manager */
    net_ib_remote_rings_t rings;
    uint32_t rails;
    net_ib_end_t
        rail[]; /* one end each; what is exchanged later gives the numbers of queue pairs */
} net_ib_contact_t;

/* A way to meet processes.  All calls but `open`, `wake` and `close` are made by the thread of
 * connect_on_demand.c alone. */
struct net_ib_meeting {
    /* Opens it for a job of `processes`; false with the reason. */
    bool (*open)(uint32_t processes, char *why, size_t why_size);
    net_ib_address_t (*address)(void); /* of this process */
    /* Between `arm` and `sleep`: an arrival after `arm` ends the sleep. */
    void (*arm)(void);
    void (*receive)(void);
    void (*want)(uint32_t rank); /* a thread has something to send to the peer */
    /* Repeats messages whose time has come.  Returns the seconds until the next one is due; below
     * 0: none is. */
    double (*repeat)(void);
    void (*sleep)(double seconds);
    void (*wake)(void); /* any thread: ends the sleep, or the next */
    void (*close)(void);
};
extern const struct net_ib_meeting net_ib_greetings;

/* A connection manager. */
struct net_ib_manager {
    bool (*open)(char *why, size_t why_size); /* before devices are listed */
    hca_t (*device)(int i, char name[64]);    /* as hca_open; not to be closed */
    bool (*has_address)(hca_t hca, uint8_t port);
    const char *(*address)(void); /* found by has_address, as text */
    void (*close)(void);
    const struct net_ib_meeting *meeting;
};

/* The record of a rank, NULL if it is no peer, and its contact. */
net_peer_t *net_ib_peer(uint32_t rank);
const net_ib_contact_t *net_ib_contact(uint32_t rank);

/* Records that the peer was not reached, and is not tried any more. */
void net_ib_unanswered(uint32_t rank);

/* Ends the job: the connection manager has not connected the peer at this address, with the failure
 * that it has reported last (status.c). */
void net_ib_not_met(uint32_t rank, const char *device, const char *address, const char *failure,
                    double seconds) __attribute__((noreturn, cold));

/* Seconds to try to meet a peer.  A meeting needs a thread of the peer, which may have to wait for
 * a processor, and not its device alone; so the time is four times that of a connection. */
double net_ib_meeting_patience(void);
