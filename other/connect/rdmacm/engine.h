/* engine.h - the calls of librdmacm that connect reliable queue pairs, on one event channel with
 * one listener.  The queue pairs are the caller's own.
 *
 * The functions of librdmacm are found by name, so that nothing is linked to it: in the library
 * itself, or in another connection manager with the same contracts.
 *
 * Functions that return an int return 0 or an errno.  All calls but rdmacm_engine_open and _close
 * are made by one thread.
 */
#ifndef RDMACM_ENGINE_H
#define RDMACM_ENGINE_H

#include <netinet/in.h>
#include <rdma/rdma_cma.h>
#include <stdbool.h>
#include <stddef.h>

typedef union rdmacm_address {
    struct sockaddr any;
    struct sockaddr_in ip4;
    struct sockaddr_in6 ip6;
} rdmacm_address_t;

typedef void (*rdmacm_function_t)(void);
typedef rdmacm_function_t (*rdmacm_finder_t)(const char *name);

/* Finds functions in librdmacm.so.1; NULL with `why` if it cannot be loaded. */
rdmacm_finder_t rdmacm_library(char *why, size_t size);

/* Loads the functions and opens the event channel, which never blocks.  False with `why`. */
bool rdmacm_engine_open(rdmacm_finder_t find, char *why, size_t size);
void rdmacm_engine_close(void);

/* The contexts of all devices, as of rdma_get_devices: queue pairs are made in these.  They stay
 * open.
 */
struct ibv_context **rdmacm_devices(int *count);
void rdmacm_devices_free(struct ibv_context **list);

/* An address of this host that belongs to a port: an IPv4 address of the port's network interfaces
 * if they have one, otherwise a global IPv6 address. With `loopback` also one of the loopback
 * interface. False if the port has no address. */
bool rdmacm_own_address(const struct ibv_context *verbs, uint8_t port, bool loopback,
                        rdmacm_address_t *address);

/* Listens at an own address; stores the port number there. */
int rdmacm_listen(rdmacm_address_t *address);

/* "10.0.0.1 port 4711", or without the port while it has none. */
enum { RDMACM_ADDRESS_TEXT = 96 };
const char *rdmacm_address_text(const rdmacm_address_t *address, char text[RDMACM_ADDRESS_TEXT]);

/* Readable when there are events. */
int rdmacm_descriptor(void);

enum rdmacm_event_kind {
    RDMACM_EVENT_RESOLVED,
    RDMACM_EVENT_ROUTED,
    RDMACM_EVENT_REQUESTED, /* the id is new */
    RDMACM_EVENT_ANSWERED,
    RDMACM_EVENT_ESTABLISHED,
    RDMACM_EVENT_FAILED,
    RDMACM_EVENT_GONE, /* the peer has closed the connection */
    RDMACM_EVENT_OTHER
};

typedef struct rdmacm_event {
    enum rdmacm_event_kind kind;
    struct rdma_cm_id *id;
    void *context; /* of the id; of the listener when REQUESTED */
    const void *private_data;
    size_t private_length;
    uint8_t reads_served, reads_started; /* at once, by the peer */
    char text[128];                      /* FAILED: what has failed, and the reason */
    struct rdma_cm_event *event;
} rdmacm_event_t;

/* Takes the next event, which rdmacm_done frees; false if no event is waiting. */
bool rdmacm_next(rdmacm_event_t *event);
void rdmacm_done(rdmacm_event_t *event);

/* The parameters that a process proposes for a connection. */
typedef struct rdmacm_terms {
    const void *private_data;
    uint8_t private_length;
    uint8_t reads_served, reads_started; /* at once, by this process */
    uint8_t timeout, retries;            /* as queue pairs encode them */
} rdmacm_terms_t;

int rdmacm_id_create(const rdmacm_address_t *from, const rdmacm_address_t *to, void *context,
                     struct rdma_cm_id **id);
int rdmacm_id_route(struct rdma_cm_id *id);
int rdmacm_id_call(struct rdma_cm_id *id, struct ibv_qp *qp, const rdmacm_terms_t *terms);
int rdmacm_id_accept(struct rdma_cm_id *id, struct ibv_qp *qp, const rdmacm_terms_t *terms);
int rdmacm_id_establish(struct rdma_cm_id *id, struct ibv_qp *qp, const rdmacm_terms_t *terms);
void rdmacm_id_reject(struct rdma_cm_id *id, const void *private_data, uint8_t length);
void rdmacm_id_destroy(struct rdma_cm_id *id);

/* To be called before call or accept.  Receives may be posted from then on. */
int rdmacm_id_prepare(struct rdma_cm_id *id, struct ibv_qp *qp);

/* iWARP: the manager connects queue pairs itself, and the calling end must send first. */
bool rdmacm_is_iwarp(const struct ibv_context *verbs);

#endif
