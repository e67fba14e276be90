/* verbs_node.c - the records of peers, found by name without a lock.
 *
 * Each operation of a program looks up a record.  It is allocated when it is first looked up and
 * stays until the interface closes, as do tables that have become too small.
 */
#include <stdlib.h>

#include "other/portals3/src/transport/verbs.h"

enum { FIRST_TABLE = 64 };

static inline uint32_t node_slot(ptl_process_id_t id)
{
    uint32_t hash = id.nid * 0x9e3779b1u ^ id.pid * 0x85ebca6bu;
    return hash ^ hash >> 15;
}

static struct ptli_nodes *table(uint32_t size)
{
    struct ptli_nodes *nodes = calloc(1, sizeof *nodes + size * sizeof nodes->at[0]);
    if (nodes) nodes->mask = size - 1;
    return nodes;
}

static inline struct ptli_node *node_look(struct ptli_nodes *nodes, ptl_process_id_t id)
{
    for (uint32_t i = node_slot(id);; i++) {
        struct ptli_node *node =
            atomic_load_explicit(&nodes->at[i & nodes->mask], memory_order_acquire);
        if (!node || (node->face.id.pid == id.pid && node->face.id.nid == id.nid)) return node;
    }
}

static void node_put(struct ptli_nodes *nodes, struct ptli_node *node)
{
    uint32_t i = node_slot(node->face.id);
    while (atomic_load_explicit(&nodes->at[i & nodes->mask], memory_order_relaxed)) i++;
    atomic_store_explicit(&nodes->at[i & nodes->mask], node, memory_order_release);
    nodes->count++;
}

/* A table with room for one more, or NULL. */
static struct ptli_nodes *roomy(struct ptli_verbs *v)
{
    struct ptli_nodes *old = atomic_load_explicit(&v->nodes, memory_order_relaxed);
    if (old && 2 * (old->count + 1) <= old->mask) return old;
    struct ptli_nodes *nodes = table(old ? 2 * (old->mask + 1) : FIRST_TABLE);
    if (!nodes) return NULL;
    for (struct ptli_node *node = v->all; node; node = node->next) node_put(nodes, node);
    nodes->older = old;
    atomic_store_explicit(&v->nodes, nodes, memory_order_release);
    return nodes;
}

static struct ptli_node *node_make(struct ptli_verbs *v, ptl_process_id_t id)
{
    struct ptli_nodes *nodes = roomy(v);
    struct ptli_node *node = nodes ? node_look(nodes, id) : NULL;
    if (!nodes || node) return node;
    node = calloc(1, sizeof *node);
    if (!node) return NULL;
    node->face = (struct ptli_peer){.id = id, .uid = PTL_UID_ANY, .jid = PTL_JID_NONE};
    node->verbs = v;
    node->next = v->all;
    v->all = node;
    node_put(nodes, node);
    return node;
}

static inline struct ptli_node *known(struct ptli_verbs *v, ptl_process_id_t id)
{
    struct ptli_nodes *nodes = atomic_load_explicit(&v->nodes, memory_order_acquire);
    return nodes ? node_look(nodes, id) : NULL;
}

struct ptli_node *ptli_verbs_known_node(struct ptli_verbs *v, ptl_process_id_t id)
{
    return known(v, id);
}

struct ptli_node *ptli_verbs_node(struct ptli_verbs *v, ptl_process_id_t id)
{
    struct ptli_node *node = known(v, id);
    if (node != NULL) return node;
    ptli_mutex_lock(&v->posting.lock);
    node = node_make(v, id);
    ptli_mutex_unlock(&v->posting.lock);
    return node;
}

struct ptli_peer *ptli_verbs_find(struct ptli_transport *transport, ptl_process_id_t id)
{
    if (id.nid == PTL_NID_ANY || id.pid == PTL_PID_ANY || id.pid > UINT16_MAX) return NULL;
    struct ptli_node *node = ptli_verbs_node(ptli_verbs(transport), id);
    return node ? &node->face : NULL;
}

void ptli_verbs_nodes_free(struct ptli_verbs *v)
{
    for (struct ptli_node *node; (node = v->all);) {
        v->all = node->next;
        for (struct ptli_route *route; (route = node->routes);) {
            node->routes = route->next;
            free(route->list);
            free(route->lent);
            free(route);
        }
        free(node);
    }
    for (struct ptli_nodes *nodes; (nodes = atomic_load(&v->nodes));) {
        atomic_store(&v->nodes, nodes->older);
        free(nodes);
    }
}
