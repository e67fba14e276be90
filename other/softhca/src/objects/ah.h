/* ah.h - address handles, and the targets of datagrams. */
#ifndef SOFTHCA_AH_H
#define SOFTHCA_AH_H

#include "other/softhca/src/segment/peer.h"

struct shca_target;
struct shca_qp;

struct shca_ah {
    struct ibv_ah base;
    uint32_t port; /* the source port */
    struct shca_destination destination;
    struct shm_route route;
    bool global;
    struct ibv_grh grh; /* without its length; zero when not global */
};

static inline struct shca_ah *shca_ah(struct ibv_ah *a)
{
    return (struct shca_ah *)a;
}

struct ibv_ah *shca_create_ah(struct ibv_pd *pd, struct ibv_ah_attr *a);
int shca_destroy_ah(struct ibv_ah *ah);
int shca_init_ah_from_wc(struct ibv_context *c, uint8_t number, struct ibv_wc *wc,
                         struct ibv_grh *grh, struct ibv_ah_attr *a);
struct ibv_ah *shca_create_ah_from_wc(struct ibv_pd *pd, struct ibv_wc *wc, struct ibv_grh *grh,
                                      uint8_t number);
bool shca_datagram_target(struct shca_target *target, struct shca_qp *qp, const struct shca_ah *ah,
                          uint32_t to, uint32_t qkey);
struct shca_peer *shca_peer_for(struct shca_target *target, int host, uint32_t number);
void shca_peers_put(struct shca_target *target);

#endif
