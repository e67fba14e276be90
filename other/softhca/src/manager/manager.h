/* manager.h - the connection manager of the software device: calls with the contracts of
 * librdmacm's of the same names, for softhca_rdmacm().
 *
 * An address is one of this host, and a port number one of TCP.  Two processes converse over a TCP
 * connection of their own (conversation.c), which ends when the queue pairs are connected.
 */
#ifndef SOFTHCA_MANAGER_H
#define SOFTHCA_MANAGER_H

#include <pthread.h>
#include <rdma/rdma_cma.h>
#include <stdbool.h>
#include <stdint.h>

enum { SHCA_CM_PRIVATE = 196, SHCA_CM_REQUEST_PRIVATE = 56, SHCA_CM_REJECT_PRIVATE = 148 };

enum shca_cm_kind { SHCA_CM_REQUEST = 1, SHCA_CM_REPLY, SHCA_CM_REJECT, SHCA_CM_READY };

/* A message of a conversation.  Host byte order: the fabric has one kind of processor. */
struct shca_cm_frame {
    uint32_t magic;
    uint8_t kind, transport, private_length, ethernet;
    uint32_t qp_number, psn;
    uint16_t lid;
    uint8_t mtu, gid_type, gid_family, responder, initiator, unused;
    uint8_t gid[16];
    uint8_t private[SHCA_CM_PRIVATE];
};

enum shca_cm_state {
    SHCA_CM_IDLE,
    SHCA_CM_BOUND,
    SHCA_CM_LISTENING,
    SHCA_CM_RESOLVED,
    SHCA_CM_ROUTED,
    SHCA_CM_CALLING,  /* connecting, then waiting for the answer */
    SHCA_CM_HEARING,  /* a request is arriving; the program has not seen this id */
    SHCA_CM_ASKED,    /* a request has arrived */
    SHCA_CM_ACCEPTED, /* answered, and waiting for READY */
    SHCA_CM_ANSWERED, /* the answer has arrived */
    SHCA_CM_CONNECTED,
    SHCA_CM_OVER
};

struct shca_cm_id {
    struct rdma_cm_id id; /* first */
    enum shca_cm_state state;
    int fd;       /* -1: none */
    bool writing; /* CALLING: the TCP connection is not there yet */
    struct shca_cm_id *listener;
    struct shca_cm_id *next; /* HEARING: the one accepted before it */
    struct shca_cm_frame mine, theirs;
    size_t got; /* bytes of `theirs` */
};

struct shca_cm_event {
    struct rdma_cm_event event; /* first */
    uint8_t private[SHCA_CM_PRIVATE];
    struct shca_cm_event *next;
};

struct shca_cm_channel {
    struct rdma_event_channel base; /* first; its descriptor is that of an epoll set */
    int wake;                       /* an eventfd in it: there are events */
    struct shca_cm_event *first, **end;
};

/* A single lock protects all ids, events and channels: no code of the manager is on a hot path. */
extern pthread_mutex_t shca_cm_lock;

static inline struct shca_cm_id *shca_cm_id(struct rdma_cm_id *id)
{
    return (struct shca_cm_id *)id;
}

/* manager.c; the lock is held */
void shca_cm_raise(struct shca_cm_id *c, enum rdma_cm_event_type type, int status);
struct shca_cm_id *shca_cm_new(struct rdma_event_channel *channel, void *context);
void shca_cm_free(struct shca_cm_id *c);
void shca_cm_set_source(struct shca_cm_id *c, const struct sockaddr *address);

/* conversation.c; the lock is held.  They return 0, or -1 with errno. */
int shca_cm_listen(struct shca_cm_id *c, int backlog);
int shca_cm_call(struct shca_cm_id *c);
int shca_cm_send(struct shca_cm_id *c, enum shca_cm_kind kind);
void shca_cm_watch(struct shca_cm_id *c, uint32_t events);
void shca_cm_hang_up(struct shca_cm_id *c);
/* Advances the conversation; called when the descriptor of the id is readable or writable. */
void shca_cm_hear(struct shca_cm_id *c);
/* Ends the conversations that LISTENER has accepted and the program has not seen yet. */
void shca_cm_stop_listening(struct shca_cm_id *listener);

/* queue_pairs.c */
/* Fills what the peer needs to connect to a queue pair of the id's port. */
void shca_cm_describe(const struct shca_cm_id *c, struct shca_cm_frame *frame);
int shca_cm_attributes(const struct shca_cm_id *c, struct ibv_qp_attr *attr, int *mask);
/* iWARP: the manager connects the queue pair, whose number is that of `mine`; the end that accepts
 * may send after the first message of the other.  0 or an errno. */
int shca_cm_join(const struct shca_cm_id *c, bool accepts);

#endif
