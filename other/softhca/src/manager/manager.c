/* manager.c - the connection manager: event channels, ids, and the calls that a program finds by
 * their names (softhca_rdmacm).
 *
 * The names are not interposed: librdmacm calls its own functions by them, on ids that only it
 * understands.
 */
#include "other/softhca/src/manager/manager.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "other/softhca/include/softhca.h"
#include "other/softhca/src/device/device.h"
#include "other/softhca/src/settings/say.h"
#include "other/softhca/src/verbs/verbs.h"

pthread_mutex_t shca_cm_lock = PTHREAD_MUTEX_INITIALIZER;

/* A context for each device, opened when it is first needed and kept. */
static struct ibv_context *contexts[SHCA_DEVICES + 1];

static struct ibv_context *manager_context(uint32_t device)
{
    if (!contexts[device]) contexts[device] = shca_open(&shca_devices[device].base);
    return contexts[device];
}

/* --- events --- */

/* With the private data of the message that the id has received last. */
void shca_cm_raise(struct shca_cm_id *c, enum rdma_cm_event_type type, int status)
{
    struct shca_cm_channel *channel = (struct shca_cm_channel *)c->id.channel;
    struct shca_cm_event *e = calloc(1, sizeof *e);
    if (!e) return;
    e->event = (struct rdma_cm_event){.id = &c->id, .event = type, .status = status};
    if (type == RDMA_CM_EVENT_CONNECT_REQUEST) e->event.listen_id = &c->listener->id;
    memcpy(e->private, c->theirs.private, sizeof e->private);
    if (type == RDMA_CM_EVENT_CONNECT_REQUEST || type == RDMA_CM_EVENT_CONNECT_RESPONSE ||
        type == RDMA_CM_EVENT_ESTABLISHED || type == RDMA_CM_EVENT_REJECTED)
        e->event.param.conn = (struct rdma_conn_param){.private_data = e->private,
                                                       .private_data_len = c->theirs.private_length,
                                                       .responder_resources = c->theirs.initiator,
                                                       .initiator_depth = c->theirs.responder,
                                                       .qp_num = c->theirs.qp_number};
    *channel->end = e;
    channel->end = &e->next;
    eventfd_write(channel->wake, 1);
}

static struct rdma_event_channel *create_event_channel(void)
{
    struct shca_cm_channel *channel = calloc(1, sizeof *channel);
    struct epoll_event wake = {.events = EPOLLIN};
    if (!channel) return NULL;
    channel->end = &channel->first;
    channel->base.fd = epoll_create1(EPOLL_CLOEXEC);
    channel->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (channel->base.fd >= 0 && channel->wake >= 0 &&
        !epoll_ctl(channel->base.fd, EPOLL_CTL_ADD, channel->wake, &wake))
        return &channel->base;
    if (channel->base.fd >= 0) close(channel->base.fd);
    if (channel->wake >= 0) close(channel->wake);
    free(channel);
    return NULL;
}

static void destroy_event_channel(struct rdma_event_channel *base)
{
    struct shca_cm_channel *channel = (struct shca_cm_channel *)base;
    for (struct shca_cm_event *e = channel->first, *next; e; e = next) {
        next = e->next;
        free(e);
    }
    close(channel->wake);
    close(base->fd);
    free(channel);
}

static struct shca_cm_event *manager_pop(struct shca_cm_channel *channel)
{
    struct shca_cm_event *e = channel->first;
    eventfd_t count;
    if (e) channel->first = e->next;
    if (!channel->first) {
        channel->end = &channel->first;
        eventfd_read(channel->wake, &count);
    }
    return e;
}

static int get_cm_event(struct rdma_event_channel *base, struct rdma_cm_event **event)
{
    struct shca_cm_channel *channel = (struct shca_cm_channel *)base;
    const int wait = fcntl(base->fd, F_GETFL) & O_NONBLOCK ? 0 : -1;
    for (;;) {
        struct epoll_event ready;
        pthread_mutex_lock(&shca_cm_lock);
        struct shca_cm_event *e = manager_pop(channel);
        const int n = e ? 0 : epoll_wait(base->fd, &ready, 1, 0);
        if (n > 0 && ready.data.ptr) shca_cm_hear(ready.data.ptr);
        pthread_mutex_unlock(&shca_cm_lock);
        if (e) {
            *event = &e->event;
            return 0;
        }
        if (n > 0) continue;
        if (!wait) errno = EAGAIN;
        if (!wait || epoll_wait(base->fd, &ready, 1, wait) < 0) return -1;
    }
}

static int ack_cm_event(struct rdma_cm_event *event)
{
    free(event);
    return 0;
}

/* --- ids --- */

struct shca_cm_id *shca_cm_new(struct rdma_event_channel *channel, void *context)
{
    struct shca_cm_id *c = calloc(1, sizeof *c);
    if (!c) return NULL;
    c->id = (struct rdma_cm_id){
        .channel = channel, .context = context, .ps = RDMA_PS_TCP, .qp_type = IBV_QPT_RC};
    c->fd = -1;
    return c;
}

static int create_id(struct rdma_event_channel *channel, struct rdma_cm_id **id, void *context,
                     enum rdma_port_space ps)
{
    if (!channel || ps != RDMA_PS_TCP) {
        errno = EINVAL;
        return -1;
    }
    struct shca_cm_id *c = shca_cm_new(channel, context);
    if (c) *id = &c->id;
    return c ? 0 : -1;
}

/* Frees the id, and its events that the program has not taken yet. */
void shca_cm_free(struct shca_cm_id *c)
{
    struct shca_cm_channel *channel = (struct shca_cm_channel *)c->id.channel;
    struct shca_cm_event **at = &channel->first;
    shca_cm_hang_up(c);
    while (*at) {
        struct shca_cm_event *e = *at;
        if (e->event.id == &c->id)
            *at = e->next, free(e);
        else
            at = &e->next;
    }
    channel->end = at;
    free(c);
}

static int destroy_id(struct rdma_cm_id *id)
{
    pthread_mutex_lock(&shca_cm_lock);
    if (shca_cm_id(id)->state == SHCA_CM_LISTENING) shca_cm_stop_listening(shca_cm_id(id));
    shca_cm_free(shca_cm_id(id));
    pthread_mutex_unlock(&shca_cm_lock);
    return 0;
}

static bool manager_is_any(const struct sockaddr *address)
{
    if (address->sa_family == AF_INET6)
        return IN6_IS_ADDR_UNSPECIFIED(&((const struct sockaddr_in6 *)address)->sin6_addr);
    return ((const struct sockaddr_in *)address)->sin_addr.s_addr == htonl(INADDR_ANY);
}

/* Every address of the host belongs to the first port of the first device. */
void shca_cm_set_source(struct shca_cm_id *c, const struct sockaddr *address)
{
    const size_t length =
        address->sa_family == AF_INET6 ? sizeof(struct sockaddr_in6) : sizeof(struct sockaddr_in);
    memcpy(&c->id.route.addr.src_storage, address, length);
    if (manager_is_any(address)) return;
    c->id.verbs = manager_context(0);
    c->id.port_num = 1;
}

static int manager_bind(struct shca_cm_id *c, const struct sockaddr *address)
{
    struct sockaddr_storage bound;
    socklen_t length = sizeof bound, given = address->sa_family == AF_INET6
                                                 ? sizeof(struct sockaddr_in6)
                                                 : sizeof(struct sockaddr_in);
    if (c->state != SHCA_CM_IDLE) return errno = EINVAL, -1;
    c->fd = socket(address->sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (c->fd < 0) return -1;
    if (bind(c->fd, address, given) || getsockname(c->fd, (struct sockaddr *)&bound, &length)) {
        const int error = errno;
        shca_cm_hang_up(c);
        return errno = error, -1;
    }
    shca_cm_set_source(c, (struct sockaddr *)&bound);
    c->state = SHCA_CM_BOUND;
    return 0;
}

static int bind_addr(struct rdma_cm_id *id, struct sockaddr *address)
{
    pthread_mutex_lock(&shca_cm_lock);
    const int result = manager_bind(shca_cm_id(id), address);
    pthread_mutex_unlock(&shca_cm_lock);
    return result;
}

static int listen_id(struct rdma_cm_id *id, int backlog)
{
    struct shca_cm_id *c = shca_cm_id(id);
    if (c->state != SHCA_CM_BOUND) return errno = EINVAL, -1;
    pthread_mutex_lock(&shca_cm_lock);
    const int result = shca_cm_listen(c, backlog);
    pthread_mutex_unlock(&shca_cm_lock);
    return result;
}

static __be16 get_src_port(struct rdma_cm_id *id)
{
    return id->route.addr.src_addr.sa_family == AF_INET6 ? id->route.addr.src_sin6.sin6_port
                                                         : id->route.addr.src_sin.sin_port;
}

/* The source address is that from which the host would send to the destination. */
static int manager_choose_source(struct shca_cm_id *c, const struct sockaddr *to, socklen_t length)
{
    struct sockaddr_storage from;
    socklen_t own = sizeof from;
    const int fd = socket(to->sa_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd < 0) return -1;
    const int failed = connect(fd, to, length) || getsockname(fd, (struct sockaddr *)&from, &own);
    const int error = errno;
    close(fd);
    if (failed) return errno = error, -1;
    shca_cm_set_source(c, (struct sockaddr *)&from);
    c->state = SHCA_CM_BOUND;
    return 0;
}

static int resolve_addr(struct rdma_cm_id *id, struct sockaddr *from, struct sockaddr *to,
                        int timeout_ms)
{
    struct shca_cm_id *c = shca_cm_id(id);
    const socklen_t length =
        to->sa_family == AF_INET6 ? sizeof(struct sockaddr_in6) : sizeof(struct sockaddr_in);
    (void)timeout_ms;
    int result = 0;
    pthread_mutex_lock(&shca_cm_lock);
    if (c->state == SHCA_CM_IDLE)
        result = from ? manager_bind(c, from) : manager_choose_source(c, to, length);
    if (!result && (c->state != SHCA_CM_BOUND || !id->verbs)) errno = ENODEV, result = -1;
    if (!result) {
        memcpy(&id->route.addr.dst_storage, to, length);
        c->state = SHCA_CM_RESOLVED;
        shca_cm_raise(c, RDMA_CM_EVENT_ADDR_RESOLVED, 0);
    }
    pthread_mutex_unlock(&shca_cm_lock);
    return result;
}

static int resolve_route(struct rdma_cm_id *id, int timeout_ms)
{
    struct shca_cm_id *c = shca_cm_id(id);
    (void)timeout_ms;
    if (c->state != SHCA_CM_RESOLVED) return errno = EINVAL, -1;
    pthread_mutex_lock(&shca_cm_lock);
    c->state = SHCA_CM_ROUTED;
    shca_cm_raise(c, RDMA_CM_EVENT_ROUTE_RESOLVED, 0);
    pthread_mutex_unlock(&shca_cm_lock);
    return 0;
}

/* --- conversations --- */

/* Fills the message to be sent.  False with errno. */
static bool manager_compose(struct shca_cm_id *c, const void *private, size_t length, size_t most)
{
    if (length > most) return errno = EINVAL, false;
    c->mine = (struct shca_cm_frame){.private_length = (uint8_t)length};
    if (length) memcpy(c->mine.private, private, length);
    return true;
}

static bool manager_compose_connection(struct shca_cm_id *c, const struct rdma_conn_param *p,
                                       size_t most)
{
    if (!manager_compose(c, p->private_data, p->private_data_len, most)) return false;
    c->mine.qp_number = c->id.qp ? c->id.qp->qp_num : p->qp_num;
    c->mine.responder = p->responder_resources;
    c->mine.initiator = p->initiator_depth;
    shca_cm_describe(c, &c->mine);
    return true;
}

static int connect_id(struct rdma_cm_id *id, struct rdma_conn_param *param)
{
    struct shca_cm_id *c = shca_cm_id(id);
    int result = -1;
    if (c->state != SHCA_CM_ROUTED) return errno = EINVAL, -1;
    pthread_mutex_lock(&shca_cm_lock);
    if (manager_compose_connection(c, param, SHCA_CM_REQUEST_PRIVATE)) result = shca_cm_call(c);
    pthread_mutex_unlock(&shca_cm_lock);
    return result;
}

/* An iWARP queue pair is connected here; another was brought to RTS by the program. */
static int manager_accept(struct shca_cm_id *c, const struct rdma_conn_param *param)
{
    if (c->state != SHCA_CM_ASKED) return errno = EINVAL, -1;
    if (!manager_compose_connection(c, param, SHCA_CM_PRIVATE)) return -1;
    const bool iwarp = c->mine.transport == IBV_TRANSPORT_IWARP;
    const int error = iwarp ? shca_cm_join(c, true) : 0;
    if (error) return errno = error, -1;
    if (shca_cm_send(c, SHCA_CM_REPLY)) return -1;
    c->state = iwarp ? SHCA_CM_CONNECTED : SHCA_CM_ACCEPTED;
    if (iwarp) {
        shca_cm_hang_up(c);
        shca_cm_raise(c, RDMA_CM_EVENT_ESTABLISHED, 0);
    } else {
        shca_cm_watch(c, EPOLLIN);
    }
    return 0;
}

static int accept_id(struct rdma_cm_id *id, struct rdma_conn_param *param)
{
    pthread_mutex_lock(&shca_cm_lock);
    const int result = manager_accept(shca_cm_id(id), param);
    pthread_mutex_unlock(&shca_cm_lock);
    return result;
}

static int reject_id(struct rdma_cm_id *id, const void *private, uint8_t length)
{
    struct shca_cm_id *c = shca_cm_id(id);
    int result = -1;
    pthread_mutex_lock(&shca_cm_lock);
    if (c->state != SHCA_CM_ASKED)
        errno = EINVAL;
    else if (manager_compose(c, private, length, SHCA_CM_REJECT_PRIVATE)) {
        c->mine.transport = (uint8_t)id->verbs->device->transport_type;
        result = shca_cm_send(c, SHCA_CM_REJECT);
        shca_cm_hang_up(c);
        c->state = SHCA_CM_OVER;
    }
    pthread_mutex_unlock(&shca_cm_lock);
    return result;
}

static int establish(struct rdma_cm_id *id)
{
    struct shca_cm_id *c = shca_cm_id(id);
    int result = -1;
    pthread_mutex_lock(&shca_cm_lock);
    if (c->state == SHCA_CM_ANSWERED) {
        result = shca_cm_send(c, SHCA_CM_READY);
        shca_cm_hang_up(c);
        c->state = SHCA_CM_CONNECTED;
    } else {
        errno = EINVAL;
    }
    pthread_mutex_unlock(&shca_cm_lock);
    return result;
}

static int init_qp_attr(struct rdma_cm_id *id, struct ibv_qp_attr *attr, int *mask)
{
    pthread_mutex_lock(&shca_cm_lock);
    const int error = id->verbs ? shca_cm_attributes(shca_cm_id(id), attr, mask) : ENODEV;
    pthread_mutex_unlock(&shca_cm_lock);
    return error ? (errno = error, -1) : 0;
}

/* --- devices, and the names --- */

static struct ibv_context **get_devices(int *count)
{
    const uint32_t devices = shca_inventory()->devices;
    struct ibv_context **list = calloc(devices + 1, sizeof *list);
    int n = 0;
    for (uint32_t i = 0; list && i < devices; i++)
        if (manager_context(i)) list[n++] = contexts[i];
    if (count) *count = n;
    return list;
}

static void free_devices(struct ibv_context **list)
{
    free(list);
}

typedef void (*function_t)(void);

SHCA_EXPORT function_t softhca_rdmacm(const char *name)
{
    static const struct {
        const char *name;
        function_t call;
    } calls[] = {{"rdma_create_event_channel", (function_t)create_event_channel},
                 {"rdma_destroy_event_channel", (function_t)destroy_event_channel},
                 {"rdma_get_cm_event", (function_t)get_cm_event},
                 {"rdma_ack_cm_event", (function_t)ack_cm_event},
                 {"rdma_create_id", (function_t)create_id},
                 {"rdma_destroy_id", (function_t)destroy_id},
                 {"rdma_bind_addr", (function_t)bind_addr},
                 {"rdma_listen", (function_t)listen_id},
                 {"rdma_get_src_port", (function_t)get_src_port},
                 {"rdma_resolve_addr", (function_t)resolve_addr},
                 {"rdma_resolve_route", (function_t)resolve_route},
                 {"rdma_connect", (function_t)connect_id},
                 {"rdma_accept", (function_t)accept_id},
                 {"rdma_reject", (function_t)reject_id},
                 {"rdma_establish", (function_t)establish},
                 {"rdma_init_qp_attr", (function_t)init_qp_attr},
                 {"rdma_get_devices", (function_t)get_devices},
                 {"rdma_free_devices", (function_t)free_devices}};
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++)
        if (!strcmp(name, calls[i].name)) return calls[i].call;
    return NULL;
}
