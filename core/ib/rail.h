/* rail.h - the devices and ports this process uses, with their attributes.  Shared by
 * this folder's .c files only; the hot state is net_ib in network_ib.h.
 *
 * A rail is one active port; a device (HCA) may have several.  Queue pair i of a peer uses rail
 * i modulo their number.
 */
#pragma once

#include "core/network.h"

enum { NET_IB_RAILS = NET_IB_HCAS == 1 ? 1 : 4 * NET_IB_HCAS };

struct net_ib_hca {
    hca_t hca;
    hca_pd_t pd;
    char name[64];
    hca_limits_t limits;
};

struct net_ib_rail {
    uint32_t hca; /* index in net_ib_rails.hca */
    uint8_t number;
    hca_port_t port;
    roce_port_t gids;
};

struct net_ib_rails {
    struct net_ib_hca hca[NET_IB_HCAS];
    struct net_ib_rail rail[NET_IB_RAILS];
    uint32_t hcas, rails;
    uint32_t qps;                         /* per peer */
    hca_limits_t limits;                  /* the minimum over all devices */
    char text[128];                       /* all ports, for messages */
    const struct net_ib_manager *manager; /* connects queue pairs; NULL: this library does */
};
extern struct net_ib_rails net_ib_rails;

/* What each receive thread sleeps on, and the number of these threads. */
extern hca_sleeper_t net_ib_sleeper[HCA_SLEEPER_SPANS ? 1 : NET_IB_HCAS];
static inline uint32_t net_ib_sleepers(void)
{
    return HCA_SLEEPER_SPANS && net_ib.hcas > 1 ? 1 : net_ib.hcas;
}

/* hca_sleep, after the caller has armed the sleeper and polled its queues empty; reap_multi.c. */
void net_ib_sleep(hca_sleeper_t *sleeper, int ms);

/* Opens the active ports that pass the filter; fatal, listing all ports, when no port passes. */
void net_ib_rails_open(void);
void net_ib_rails_close(void);

/* Fatal where a device lacks what every job with peers needs. */
void net_ib_check_limits(void);

/* The largest message that every port takes; fatal where it is less than an Active Message. */
size_t net_ib_transfer_max(void);

/* Sets caps->plain: what a device limits, and is done in another way or in smaller parts.
 * `refused`: the error by which a device refused a shared receive queue, or 0. */
void net_ib_note_plain_ways(int refused, struct net_caps *caps);

/* Bytes that may be registered under the limit on locked memory; UINT64_MAX: no limit. */
uint64_t net_ib_memlock(void);

struct net_ib_depths; /* connect.h */

/* Bytes that the driver pins for queue pairs, and for completion queues of so many sends and
 * receives: the kernel charges them against the limit on locked memory. */
uint64_t net_ib_queue_bytes(uint32_t qps, const struct net_ib_depths *depths, uint32_t sends,
                            uint32_t receives);

/* The longest inline data to ask for: where the limit on locked memory is small, the entries of all
 * send queues take an eighth of it at most, if that leaves some room to inline. */
uint32_t net_ib_inline_wanted(uint32_t qps, const struct net_ib_depths *depths);

/* Sets caps->pinnable, where this folder registers `bytes` in so many `regions`. */
void net_ib_set_pinnable(uint64_t bytes, uint32_t regions, struct net_caps *caps);

/* For the message about an object that a device refused with `error`: "", or the limit on locked
 * memory, which holds for the queues of a device too. */
const char *net_ib_memlock_advice(int error);

/* Makes `count` registered receive buffers, as a list, for the caller to post or to hand over.
 * Fatal when there is no memory. */
net_recv_t *net_ib_recv_make(uint32_t count);
void net_ib_receive_fini(void);

/* iWARP (system_messages.h): sends the first message on a queue pair that this process has called
 * by and that is not open yet; and returns, of `count` arrivals, those that are for the core, with
 * `systems` as in net_arrivals. */
void net_ib_send_first(net_qp_t *qp);
unsigned net_ib_decode_words(net_message_t **messages, unsigned count, unsigned *systems);

/* True if a message that net_ib_decode_words has not seen yet is no Active Message. */
bool net_ib_is_system(const net_message_t *message);

/* Copies the message to ordinary memory, after which its buffer may be posted again. */
net_recv_t *net_ib_recv_copy(const net_recv_t *recv);

/* Hands buffers over to the next thread that finds no spare (net_ib_recv_more).  Any thread. */
void net_ib_recv_hand_over(net_recv_t *first);

/* Lists of local memory (lists.c): the length to ask of a queue pair, when net_ib.inline_max is
 * final; the caps, when net_ib.list_max is final. */
uint32_t net_ib_lists_wanted(void);
void net_ib_lists_caps(struct net_caps *caps);

/* atomics.c: decides whether peers' atomics may change memory of this process. */
enum net_atomics net_ib_atomics_open(void);

/* Rings for Active Messages (amrdma_rings.c): at most `most` of them, for `peers` peers. */
void net_ib_rings_init(uint32_t peers, uint32_t most);
void net_ib_rings_fini(void);
size_t net_ib_rings_bytes(void); /* registered for the rings */

/* The rings that a process can give to its peers; base 0: it gives none. */
typedef struct net_ib_remote_rings {
    uint64_t base;
    net_key_t key;
} net_ib_remote_rings_t;
net_ib_remote_rings_t net_ib_rings_address(void);

/* --- events.c: asynchronous events of the devices, kept for messages and acted upon --- */

/* Starts the thread that waits for events and ends the job when an event means that the network is
 * lost; after the devices were opened.  Without the thread events still appear in messages. */
void net_ib_events_open(void);
void net_ib_events_close(void);

/* Writes into `text` what the devices have reported, as " (reported by ...)", or "", and returns
 * what to check then; NULL: nothing was reported. */
const char *net_ib_events_report(char *text, size_t size);
