/* event.h - completion channels and asynchronous events. */
#ifndef SOFTHCA_EVENT_H
#define SOFTHCA_EVENT_H

#include "other/softhca/src/segment/shm.h"

struct shca_cq;

struct shca_channel {
    struct ibv_comp_channel base;
    uint32_t id; /* generation and index: a peer never wakes the successor of a destroyed channel */
    struct shca_cq *cqs; /* under shca.channel_lock, like the list itself */
};

struct ibv_comp_channel *shca_create_channel(struct ibv_context *c);
int shca_destroy_channel(struct ibv_comp_channel *channel);
void shca_channel_add(struct shca_cq *cq);
void shca_channel_remove(struct shca_cq *cq);
int shca_get_cq_event(struct ibv_comp_channel *channel, struct ibv_cq **cq, void **context);
void shca_ack_cq_events(struct ibv_cq *cq, unsigned n);
void shca_raise(struct ibv_context *c, const struct ibv_async_event *e);
int shca_get_async_event(struct ibv_context *c, struct ibv_async_event *e);
void shca_ack_async_event(struct ibv_async_event *e);
void shca_forget_events(struct ibv_context *c, const void *object);

#endif
