/* verbs_address.c - names of processes, and the datagrams that connect them.
 *
 * The name of a process is the IPv4 address of its host (nid) and a number (pid), which is a UDP
 * port of that host.  So peers need no name server, a name belongs to one process at a time, and
 * the kernel frees it when the process ends.  Handshake messages (other/handshake) go from port to
 * port; one whose source port is not that of the process it names is ignored.  An ICMP error "port
 * unreachable" shows at once that a process has ended.
 *
 * All but ptli_verbs_name is called with driving held.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <ifaddrs.h>
#include <linux/errqueue.h>
#include <net/if.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "other/portals3/transport/verbs.h"

/* Ports below 1024 are the system's: pids so low stand for ports above the range from which the
 * kernel assigns. */
enum { LOW_PIDS = 1024, LOW_PORTS = 61000, RECEIVED_AT_ONCE = 64 };

/* A peer may still be starting: so many seconds its host's refusals are ignored. */
static const double refusals_count_after = 0.5;

static bool port_of(ptl_pid_t pid, in_port_t *port)
{
    if (pid >= LOW_PORTS) return false;
    *port = htons((uint16_t)(pid < LOW_PIDS ? LOW_PORTS + pid : pid));
    return true;
}

static struct sockaddr_in address_of(ptl_process_id_t id)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(id.nid)};
    port_of(id.pid, &address.sin_port);
    return address;
}

static ptl_process_id_t id_of(const struct sockaddr_in *address)
{
    uint16_t port = ntohs(address->sin_port);
    return (ptl_process_id_t){.nid = ntohl(address->sin_addr.s_addr),
                              .pid = port >= LOW_PORTS ? port - LOW_PORTS : port};
}

/* --- the name of this process --- */

/* The address of PTL_IFACE, which is an address or the name of an interface; without it that of the
 * first interface that is up and not the loopback. */
static bool find_nid(const char *wanted, ptl_nid_t *nid)
{
    struct in_addr address;
    struct ifaddrs *all, *i;
    if (*wanted && inet_pton(AF_INET, wanted, &address) == 1) {
        *nid = ntohl(address.s_addr);
        return true;
    }
    bool found = false;
    *nid = INADDR_LOOPBACK;
    if (getifaddrs(&all)) return !*wanted;
    for (i = all; i && !found; i = i->ifa_next) {
        if (!i->ifa_addr || i->ifa_addr->sa_family != AF_INET || !(i->ifa_flags & IFF_UP)) continue;
        if (*wanted ? strcmp(wanted, i->ifa_name) != 0 : (i->ifa_flags & IFF_LOOPBACK) != 0)
            continue;
        *nid = ntohl(((struct sockaddr_in *)(void *)i->ifa_addr)->sin_addr.s_addr);
        found = true;
    }
    freeifaddrs(all);
    return found || !*wanted;
}

/* A port that the kernel assigns; EAGAIN if it stands for a low pid. */
static int bind_any(struct ptli_verbs *v)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(v->face.id.nid)};
    socklen_t size = sizeof address;
    if (bind(v->socket, (struct sockaddr *)&address, sizeof address) ||
        getsockname(v->socket, (struct sockaddr *)&address, &size))
        return errno;
    if (ntohs(address.sin_port) >= LOW_PORTS) return EAGAIN;
    v->face.id = id_of(&address);
    return 0;
}

static int bind_to(struct ptli_verbs *v, ptl_pid_t pid)
{
    v->face.id.pid = pid;
    struct sockaddr_in address = address_of(v->face.id);
    return bind(v->socket, (struct sockaddr *)&address, sizeof address) ? errno : 0;
}

static int open_socket(struct ptli_verbs *v)
{
    const int on = 1;
    if (v->socket >= 0) close(v->socket);
    v->socket = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (v->socket < 0) return errno;
    setsockopt(v->socket, IPPROTO_IP, IP_RECVERR, &on, sizeof on);
    return 0;
}

/* Returns an errno. */
static int take_name(struct ptli_verbs *v, ptl_pid_t pid)
{
    int error = EAGAIN;
    for (int i = 0; i < 100 && error == EAGAIN; i++) {
        error = open_socket(v);
        if (!error) error = pid == PTL_PID_ANY ? bind_any(v) : bind_to(v, pid);
    }
    return error;
}

int ptli_verbs_name(struct ptli_verbs *v, ptl_pid_t wanted)
{
    const struct ptli_launch *launch = &v->launch;
    bool mapped = launch->rank >= 0 && launch->rank < launch->size;
    in_port_t port;
    if (wanted == PTL_PID_ANY && mapped && launch->pids) wanted = launch->pids[launch->rank];
    if (mapped && launch->nids) {
        v->face.id.nid = launch->nids[launch->rank];
    } else if (!find_nid(v->settings.iface, &v->face.id.nid)) {
        ptli_verbs_say(v, "PTL_IFACE=%s: there is no such interface with an IPv4 address",
                       v->settings.iface);
        return PTL_IFACE_INVALID;
    }
    if (wanted != PTL_PID_ANY && !port_of(wanted, &port)) return PTL_PID_INVALID;
    int error = take_name(v, wanted);
    if (!error) return PTL_OK;
    if (error == EADDRINUSE || error == EACCES) return PTL_PID_INVALID;
    struct in_addr address = {.s_addr = htonl(v->face.id.nid)};
    char text[INET_ADDRSTRLEN] = "?";
    inet_ntop(AF_INET, &address, text, sizeof text);
    ptli_verbs_say(v, "cannot open a socket for %s: %s; PTL_IFACE or PTL_NIDMAP names the address",
                   text, strerror(error));
    return PTL_FAIL;
}

/* --- handshake messages --- */

/* Stamps are from the real-time clock, which processes that have one name after the other share. */
static handshake_moment_t moment(void)
{
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    return (handshake_moment_t){.now = ptli_verbs_clock(),
                                .stamp = (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec};
}

/* A message that cannot be sent counts as lost. */
void ptli_verbs_send_handshake(struct ptli_verbs *v, struct ptli_node *node)
{
    const struct ptli_link *link = node->making ? node->making : node->link;
    if (!link) return;
    ptli_connect_payload_t payload = {.nid = v->face.id.nid,
                                      .pid = v->face.id.pid,
                                      .uid = v->face.uid,
                                      .jid = v->face.jid,
                                      .qp_number = link->qp->qp_num,
                                      .psn = link->psn,
                                      .eager = v->settings.eager,
                                      .window = (uint16_t)v->settings.window,
                                      .lid = v->lid,
                                      .mtu = v->mtu,
                                      .rd_atom = v->rd_atom,
                                      .gids = v->gids.offer};
    handshake_message_t message = handshake_message(&node->handshake);
    message.payload = &payload;
    message.payload_size = sizeof payload;
    char bytes[HANDSHAKE_MOST];
    const size_t size = handshake_encode(&message, PTLI_HANDSHAKE, bytes);
    struct sockaddr_in address = address_of(node->face.id);
    sendto(v->socket, bytes, size, MSG_NOSIGNAL, (struct sockaddr *)&address, sizeof address);
}

static void receive(struct ptli_verbs *v, const handshake_message_t *message,
                    const struct sockaddr_in *from)
{
    ptli_connect_payload_t theirs;
    if (ptli_connect_payload_parse(message->payload, message->payload_size, &theirs)) return;
    ptl_process_id_t id = id_of(from);
    if (id.nid != theirs.nid || id.pid != theirs.pid) return; /* not sent by whom it names */
    if (id.nid == v->face.id.nid && id.pid == v->face.id.pid) return;
    if (theirs.eager != v->settings.eager) {
        ptli_verbs_say(v, "process %u:%u has PTL_EAGER=%u, this one %u: it must be the same",
                       id.nid, id.pid, theirs.eager, v->settings.eager);
        return;
    }
    struct ptli_node *node = ptli_verbs_node(v, id);
    if (!node || node->failing || v->closing) return;
    ptli_verbs_act(v, node, handshake_receive(&node->handshake, message, moment(), &v->times),
                   &theirs);
}

static bool receive_all(struct ptli_verbs *v)
{
    bool any = false;
    for (int i = 0; i < RECEIVED_AT_ONCE; i++) {
        char bytes[HANDSHAKE_MOST + 1]; /* a longer datagram is seen to be too long */
        handshake_message_t message;
        struct sockaddr_in from = {0};
        socklen_t size = sizeof from;
        ssize_t length =
            recvfrom(v->socket, bytes, sizeof bytes, 0, (struct sockaddr *)&from, &size);
        if (length < 0 && (errno == EAGAIN || errno == EINTR)) break;
        any = true;
        if (length >= 0 && size == sizeof from &&
            !handshake_parse(bytes, (size_t)length, PTLI_HANDSHAKE, &message))
            receive(v, &message, &from);
    }
    return any;
}

/* ICMP errors: no process has the name that a message was sent to. */
static void receive_refusals(struct ptli_verbs *v)
{
    for (int i = 0; i < RECEIVED_AT_ONCE; i++) {
        struct sockaddr_in to = {0};
        char control[512], bytes[HANDSHAKE_MOST];
        struct iovec iov = {.iov_base = bytes, .iov_len = sizeof bytes};
        struct msghdr message = {.msg_name = &to,
                                 .msg_namelen = sizeof to,
                                 .msg_iov = &iov,
                                 .msg_iovlen = 1,
                                 .msg_control = control,
                                 .msg_controllen = sizeof control};
        if (recvmsg(v->socket, &message, MSG_ERRQUEUE) < 0) return;
        struct cmsghdr *c = CMSG_FIRSTHDR(&message);
        if (!c || c->cmsg_level != IPPROTO_IP || c->cmsg_type != IP_RECVERR) continue;
        struct sock_extended_err error;
        memcpy(&error, CMSG_DATA(c), sizeof error);
        if (error.ee_errno != ECONNREFUSED || message.msg_namelen != sizeof to) continue;
        struct ptli_node *node = ptli_verbs_node(v, id_of(&to));
        if (!node) continue;
        /* A process that was connected before is not starting: it has ended. */
        const double least = node->known ? 0 : refusals_count_after;
        ptli_verbs_act(v, node, handshake_refused(&node->handshake, ptli_verbs_clock(), least),
                       NULL);
    }
}

static struct ptli_node *take_request(struct ptli_verbs *v)
{
    ptli_mutex_lock(&v->posting.lock);
    struct ptli_node *node = v->connect_requests;
    if (node) {
        v->connect_requests = node->next_request;
        node->connect_requested = false;
    }
    ptli_mutex_unlock(&v->posting.lock);
    return node;
}

static bool take_requests(struct ptli_verbs *v)
{
    bool any = false;
    for (struct ptli_node *node; (node = take_request(v)); any = true) {
        in_port_t port;
        if (node->failing) continue;
        if (port_of(node->face.id.pid, &port) && !v->closing)
            ptli_verbs_act(v, node, handshake_want(&node->handshake, moment(), &v->times), NULL);
        else
            ptli_verbs_unreachable(v, node);
    }
    return any;
}

/* Repeats what is due, or gives up. */
static void tick(struct ptli_verbs *v, struct ptli_node *node, double now)
{
    unsigned actions = handshake_tick(&node->handshake, now, &v->times);
    if ((actions & HANDSHAKE_SILENT) && node->handshake.wanted)
        ptli_verbs_trouble(v, node,
                           "it has not answered for %.0f s: does it still run, is it stopped, "
                           "or is the network between the hosts at fault?",
                           v->times.give_up);
    ptli_verbs_act(v, node, actions, NULL);
}

/* Newer records are put before those that the list holds now. */
static struct ptli_node *all_nodes(struct ptli_verbs *v)
{
    ptli_mutex_lock(&v->posting.lock);
    struct ptli_node *all = v->all;
    ptli_mutex_unlock(&v->posting.lock);
    return all;
}

bool ptli_verbs_handshakes(struct ptli_verbs *v)
{
    atomic_store_explicit(&v->attention, false, memory_order_relaxed);
    bool any = take_requests(v);
    receive_refusals(v);
    any |= receive_all(v);
    double now = ptli_verbs_clock();
    uint32_t waiting = 0;
    for (struct ptli_node *node = all_nodes(v); node; node = node->next) {
        if (!node->handshake.waiting) continue;
        tick(v, node, now);
        waiting += node->handshake.waiting;
    }
    v->connecting = waiting;
    return any;
}

double ptli_verbs_due(struct ptli_verbs *v)
{
    double first = -1, now = ptli_verbs_clock();
    for (struct ptli_node *node = all_nodes(v); node && v->connecting; node = node->next) {
        double left = node->handshake.next - now;
        if (node->handshake.waiting && (first < 0 || left < first)) first = left > 0 ? left : 0;
    }
    return first;
}
