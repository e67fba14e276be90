/* engine.c - the event channel, the listener and the ids of engine.h. */
#include "other/connect/rdmacm/engine.h"

#include <arpa/inet.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <stdio.h>
#include <string.h>

#include "other/connect/rdmacm/failure.h"

enum { RESOLVE_MS = 2000, BACKLOG = 1024, RETRIES = 7, RNR_TIMER = 12 /* 0.64 ms */ };

/* The functions of a connection manager, by their names there. */
#define FUNCTIONS(F)                                                                               \
    F(create_event_channel)                                                                        \
    F(destroy_event_channel)                                                                       \
    F(get_cm_event)                                                                                \
    F(ack_cm_event)                                                                                \
    F(create_id)                                                                                   \
    F(destroy_id)                                                                                  \
    F(bind_addr)                                                                                   \
    F(listen)                                                                                      \
    F(get_src_port)                                                                                \
    F(resolve_addr)                                                                                \
    F(resolve_route)                                                                               \
    F(connect)                                                                                     \
    F(accept)                                                                                      \
    F(reject)                                                                                      \
    F(establish)                                                                                   \
    F(init_qp_attr)                                                                                \
    F(get_devices)                                                                                 \
    F(free_devices)

#define POINTER(name) __typeof__(&rdma_##name) name;
static struct {
    FUNCTIONS(POINTER)
} cm;

static struct {
    struct rdma_event_channel *channel;
    struct rdma_cm_id *listener;
} engine;

/* --- opening --- */

static void *library;

static rdmacm_function_t find_in_library(const char *name)
{
    rdmacm_function_t function;
    *(void **)&function = dlsym(library, name);
    return function;
}

rdmacm_finder_t rdmacm_library(char *why, size_t size)
{
    if (!library) library = dlopen("librdmacm.so.1", RTLD_NOW);
    if (library) return find_in_library;
    snprintf(why, size, "%s", dlerror());
    return NULL;
}

bool rdmacm_engine_open(rdmacm_finder_t find, char *why, size_t size)
{
    const char *missing = NULL;
#define FIND(name)                                                                                 \
    cm.name = (__typeof__(cm.name))find("rdma_" #name);                                            \
    if (!cm.name) missing = "rdma_" #name;
    FUNCTIONS(FIND)
    if (missing) {
        snprintf(why, size, "the installed librdmacm lacks %s: it is too old", missing);
        return false;
    }
    engine.channel = cm.create_event_channel();
    if (engine.channel && !fcntl(engine.channel->fd, F_SETFL, O_NONBLOCK)) return true;
    snprintf(why, size, "no event channel: %s%s", strerror(errno),
             errno == ENOENT || errno == ENODEV
                 ? " (is the kernel module rdma_ucm loaded, and /dev/infiniband/rdma_cm there?)"
                 : "");
    return false;
}

void rdmacm_engine_close(void)
{
    if (engine.listener) cm.destroy_id(engine.listener);
    if (engine.channel) cm.destroy_event_channel(engine.channel);
    engine.listener = NULL;
    engine.channel = NULL;
}

struct ibv_context **rdmacm_devices(int *count)
{
    return cm.get_devices(count);
}

void rdmacm_devices_free(struct ibv_context **list)
{
    cm.free_devices(list);
}

bool rdmacm_is_iwarp(const struct ibv_context *verbs)
{
    return verbs->device->transport_type == IBV_TRANSPORT_IWARP;
}

int rdmacm_descriptor(void)
{
    return engine.channel->fd;
}

/* --- addresses --- */

/* Copies an IP address.  False: it is of another family, or valid on one link only. */
static bool copy_address(const struct sockaddr *from, rdmacm_address_t *to)
{
    memset(to, 0, sizeof *to);
    if (from && from->sa_family == AF_INET) {
        memcpy(&to->ip4, from, sizeof to->ip4);
        return true;
    }
    if (!from || from->sa_family != AF_INET6) return false;
    memcpy(&to->ip6, from, sizeof to->ip6);
    return !IN6_IS_ADDR_LINKLOCAL(&to->ip6.sin6_addr);
}

/* The manager knows the device of an address that an id is bound to. */
static bool belongs_to(const struct ibv_context *verbs, uint8_t port, rdmacm_address_t *address)
{
    struct rdma_cm_id *id;
    if (cm.create_id(engine.channel, &id, NULL, RDMA_PS_TCP)) return false;
    const bool found =
        !cm.bind_addr(id, &address->any) && id->verbs == verbs && id->port_num == port;
    cm.destroy_id(id);
    return found;
}

static bool find_address(const struct ifaddrs *list, int family, bool loopback,
                         const struct ibv_context *verbs, uint8_t port, rdmacm_address_t *address)
{
    for (const struct ifaddrs *i = list; i; i = i->ifa_next)
        if (i->ifa_flags & IFF_UP && !(i->ifa_flags & IFF_LOOPBACK) == !loopback &&
            copy_address(i->ifa_addr, address) && address->any.sa_family == family &&
            belongs_to(verbs, port, address))
            return true;
    return false;
}

bool rdmacm_own_address(const struct ibv_context *verbs, uint8_t port, bool loopback,
                        rdmacm_address_t *address)
{
    struct ifaddrs *list;
    if (getifaddrs(&list)) return false;
    const bool found = find_address(list, AF_INET, false, verbs, port, address) ||
                       find_address(list, AF_INET6, false, verbs, port, address) ||
                       (loopback && find_address(list, AF_INET, true, verbs, port, address));
    freeifaddrs(list);
    return found;
}

int rdmacm_listen(rdmacm_address_t *address)
{
    if (cm.create_id(engine.channel, &engine.listener, NULL, RDMA_PS_TCP)) return errno;
    if (cm.bind_addr(engine.listener, &address->any) || cm.listen(engine.listener, BACKLOG))
        return errno;
    /* The port has the same offset in the addresses of both families. */
    address->ip4.sin_port = cm.get_src_port(engine.listener);
    return 0;
}

const char *rdmacm_address_text(const rdmacm_address_t *address, char text[RDMACM_ADDRESS_TEXT])
{
    char host[INET6_ADDRSTRLEN] = "?";
    const void *bytes = address->any.sa_family == AF_INET6 ? (const void *)&address->ip6.sin6_addr
                                                           : (const void *)&address->ip4.sin_addr;
    inet_ntop(address->any.sa_family, bytes, host, sizeof host);
    const unsigned port = ntohs(address->ip4.sin_port);
    if (port)
        snprintf(text, RDMACM_ADDRESS_TEXT, "%s port %u", host, port);
    else
        snprintf(text, RDMACM_ADDRESS_TEXT, "%s", host);
    return text;
}

/* --- events --- */

static enum rdmacm_event_kind kind_of(enum rdma_cm_event_type type)
{
    switch (type) {
    case RDMA_CM_EVENT_ADDR_RESOLVED:
        return RDMACM_EVENT_RESOLVED;
    case RDMA_CM_EVENT_ROUTE_RESOLVED:
        return RDMACM_EVENT_ROUTED;
    case RDMA_CM_EVENT_CONNECT_REQUEST:
        return RDMACM_EVENT_REQUESTED;
    case RDMA_CM_EVENT_CONNECT_RESPONSE:
        return RDMACM_EVENT_ANSWERED;
    case RDMA_CM_EVENT_ESTABLISHED:
        return RDMACM_EVENT_ESTABLISHED;
    case RDMA_CM_EVENT_ADDR_ERROR:
    case RDMA_CM_EVENT_ROUTE_ERROR:
    case RDMA_CM_EVENT_CONNECT_ERROR:
    case RDMA_CM_EVENT_UNREACHABLE:
    case RDMA_CM_EVENT_REJECTED:
    case RDMA_CM_EVENT_DEVICE_REMOVAL:
        return RDMACM_EVENT_FAILED;
    case RDMA_CM_EVENT_DISCONNECTED:
        return RDMACM_EVENT_GONE;
    default:
        return RDMACM_EVENT_OTHER;
    }
}

bool rdmacm_next(rdmacm_event_t *event)
{
    struct rdma_cm_event *e;
    if (cm.get_cm_event(engine.channel, &e)) return false;
    *event = (rdmacm_event_t){.kind = kind_of(e->event),
                              .id = e->id,
                              .context = e->id->context,
                              .private_data = e->param.conn.private_data,
                              .private_length = e->param.conn.private_data_len,
                              .reads_served = e->param.conn.responder_resources,
                              .reads_started = e->param.conn.initiator_depth,
                              .event = e};
    if (event->kind == RDMACM_EVENT_FAILED)
        rdmacm_failure_text(e->event, e->status, event->text, sizeof event->text);
    return true;
}

void rdmacm_done(rdmacm_event_t *event)
{
    cm.ack_cm_event(event->event);
}

/* --- ids --- */

int rdmacm_id_create(const rdmacm_address_t *from, const rdmacm_address_t *to, void *context,
                     struct rdma_cm_id **id)
{
    rdmacm_address_t source = *from, target = *to;
    source.ip4.sin_port = 0;
    if (cm.create_id(engine.channel, id, context, RDMA_PS_TCP)) return errno;
    if (!cm.resolve_addr(*id, &source.any, &target.any, RESOLVE_MS)) return 0;
    const int error = errno;
    cm.destroy_id(*id);
    *id = NULL;
    return error;
}

int rdmacm_id_route(struct rdma_cm_id *id)
{
    return cm.resolve_route(id, RESOLVE_MS) ? errno : 0;
}

static int engine_modify(struct rdma_cm_id *id, struct ibv_qp *qp, enum ibv_qp_state state,
                         const rdmacm_terms_t *terms)
{
    struct ibv_qp_attr attr = {.qp_state = state};
    int mask = 0;
    if (cm.init_qp_attr(id, &attr, &mask)) return errno;
    attr.qp_access_flags |= IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ;
    if (terms) {
        attr.max_dest_rd_atomic = terms->reads_served;
        attr.max_rd_atomic = terms->reads_started;
        attr.min_rnr_timer = RNR_TIMER;
        attr.timeout = terms->timeout;
        attr.retry_cnt = terms->retries;
        attr.rnr_retry = RETRIES; /* for ever */
    }
    return ibv_modify_qp(qp, &attr, mask);
}

int rdmacm_id_prepare(struct rdma_cm_id *id, struct ibv_qp *qp)
{
    return engine_modify(id, qp, IBV_QPS_INIT, NULL);
}

static int engine_to_rts(struct rdma_cm_id *id, struct ibv_qp *qp, const rdmacm_terms_t *terms)
{
    if (rdmacm_is_iwarp(id->verbs)) return 0;
    const int error = engine_modify(id, qp, IBV_QPS_RTR, terms);
    return error ? error : engine_modify(id, qp, IBV_QPS_RTS, terms);
}

static struct rdma_conn_param parameters(const struct ibv_qp *qp, const rdmacm_terms_t *terms)
{
    return (struct rdma_conn_param){.private_data = terms->private_data,
                                    .private_data_len = terms->private_length,
                                    .responder_resources = terms->reads_served,
                                    .initiator_depth = terms->reads_started,
                                    .retry_count = terms->retries,
                                    .rnr_retry_count = RETRIES,
                                    .srq = qp->srq != NULL,
                                    .qp_num = qp->qp_num};
}

int rdmacm_id_call(struct rdma_cm_id *id, struct ibv_qp *qp, const rdmacm_terms_t *terms)
{
    struct rdma_conn_param param = parameters(qp, terms);
    return cm.connect(id, &param) ? errno : 0;
}

int rdmacm_id_accept(struct rdma_cm_id *id, struct ibv_qp *qp, const rdmacm_terms_t *terms)
{
    struct rdma_conn_param param = parameters(qp, terms);
    const int error = engine_to_rts(id, qp, terms);
    if (error) return error;
    return cm.accept(id, &param) ? errno : 0;
}

int rdmacm_id_establish(struct rdma_cm_id *id, struct ibv_qp *qp, const rdmacm_terms_t *terms)
{
    const int error = engine_to_rts(id, qp, terms);
    if (error || rdmacm_is_iwarp(id->verbs)) return error;
    return cm.establish(id) ? errno : 0;
}

void rdmacm_id_reject(struct rdma_cm_id *id, const void *private_data, uint8_t length)
{
    cm.reject(id, private_data, length);
}

void rdmacm_id_destroy(struct rdma_cm_id *id)
{
    cm.destroy_id(id);
}
