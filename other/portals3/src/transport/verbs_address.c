/* verbs_address.c - names of processes, and the datagrams that connect them.
 *
 * The name of a process is the IPv4 address of its host (nid) and a number (pid), which is a UDP
 * port of that host.  So peers need no name server, a name belongs to one process at a time, and
 * the kernel frees it when the process ends.  Handshake messages (other/connect/handshake) go from
 * port to port, sealed with the key of the job or user; what others send is ignored.  An ICMP error
 * "port unreachable" shows at once that a process has ended.
 *
 * Where no interface is up, not even the loopback, processes of one host use sockets of AF_UNIX
 * with abstract names, which, as ports do, belong to the network namespace.
 *
 * All but ptli_verbs_name is called with driving held.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <ifaddrs.h>
#include <linux/errqueue.h>
#include <net/if.h>
#include <netinet/in.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "other/base/clock.h"
#include "other/base/uncancelled.h"
#include "other/portals3/src/transport/verbs.h"

/* Ports below 1024 are the system's: pids below 1024 stand for ports above the range from which the
 * kernel assigns. */
enum { LOW_PIDS = 1024, LOW_PORTS = 61000, RECEIVED_AT_ONCE = 64 };

/* Seconds for which refusals of a peer's host are ignored: the peer may still be starting. */
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

static socklen_t local_address(ptl_pid_t pid, struct sockaddr_un *address)
{
    *address = (struct sockaddr_un){.sun_family = AF_UNIX};
    const int length =
        snprintf(address->sun_path + 1, sizeof address->sun_path - 1, "portals3.%u", pid);
    return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)length);
}

/* Reads the process id from the name of a local socket.  False: it is no name of libportals'. */
static bool local_pid(const struct sockaddr_un *address, socklen_t size, ptl_pid_t *pid)
{
    struct sockaddr_un same;
    char text[sizeof address->sun_path + 1] = "";
    const size_t before = offsetof(struct sockaddr_un, sun_path) + 1;
    if (size <= before || size > sizeof *address) return false;
    memcpy(text, address->sun_path + 1, size - before);
    return sscanf(text, "portals3.%u", pid) == 1 && local_address(*pid, &same) == size &&
           memcmp(address, &same, size) == 0;
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

/* Without it a job where no interface is up fails later, and says that peers do not answer. */
static void open_local_socket(struct ptli_verbs *v)
{
    struct sockaddr_un address;
    const socklen_t size = local_address(v->face.id.pid, &address);
    v->local_socket = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (v->local_socket < 0 || bind(v->local_socket, (struct sockaddr *)&address, size) == 0)
        return;
    close(v->local_socket);
    v->local_socket = -1;
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
    if (!error) open_local_socket(v);
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

/* Nanoseconds of the real-time clock, which processes that have one name after the other share:
 * stamps and numbers of messages are from it. */
static uint64_t real_time(void)
{
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static handshake_moment_t moment(void)
{
    return (handshake_moment_t){.now = gasneti_clock(), .stamp = real_time()};
}

static handshake_way_t way(ptl_process_id_t from, ptl_process_id_t to)
{
    return (handshake_way_t){.from = (uint64_t)from.nid << 32 | from.pid,
                             .to = (uint64_t)to.nid << 32 | to.pid};
}

/* A message that cannot be sent counts as lost. */
static void send_sealed(struct ptli_verbs *v, ptl_process_id_t to, uint32_t protocol,
                        const handshake_message_t *message)
{
    GASNETI_UNCANCELLED;
    char bytes[HANDSHAKE_MOST];
    size_t size = handshake_encode(message, protocol, bytes);
    size = handshake_seal(&v->key, way(v->face.id, to), bytes, size);
    struct sockaddr_in address = address_of(to);
    struct sockaddr_un local;
    if (sendto(v->socket, bytes, size, MSG_NOSIGNAL, (struct sockaddr *)&address, sizeof address) >=
            0 ||
        to.nid != v->face.id.nid || v->local_socket < 0)
        return;
    const socklen_t local_size = local_address(to.pid, &local);
    sendto(v->local_socket, bytes, size, MSG_NOSIGNAL, (struct sockaddr *)&local, local_size);
}

void ptli_verbs_send_handshake(struct ptli_verbs *v, struct ptli_node *node)
{
    const struct ptli_conn *conn = node->making ? node->making : node->conn;
    if (!conn) return;
    const uint64_t now = real_time();
    node->guard.sent = v->number = now > v->number ? now : v->number + 1;
    ptli_connect_payload_t payload = {.nid = v->face.id.nid,
                                      .pid = v->face.id.pid,
                                      .uid = v->face.uid,
                                      .jid = v->face.jid,
                                      .life = v->life,
                                      .your_life = node->guard.life,
                                      .number = v->number,
                                      .qp_number = conn->qp->qp_num,
                                      .psn = conn->psn,
                                      .eager = v->settings.eager,
                                      .window = (uint16_t)v->settings.window,
                                      .lid = v->lid,
                                      .mtu = v->mtu,
                                      .rd_atom = v->rd_atom,
                                      .gids = v->gids.offer};
    handshake_message_t message = handshake_message(&node->handshake);
    message.payload = &payload;
    message.payload_size = sizeof payload;
    send_sealed(v, node->face.id, PTLI_HANDSHAKE, &message);
}

static void challenge(struct ptli_verbs *v, ptl_process_id_t id,
                      const ptli_connect_payload_t *theirs)
{
    const ptli_challenge_t payload = {
        .nid = v->face.id.nid, .pid = v->face.id.pid, .number = theirs->number};
    const handshake_message_t message = {.mine = v->life,
                                         .yours = theirs->life,
                                         .payload = &payload,
                                         .payload_size = sizeof payload};
    send_sealed(v, id, PTLI_CHALLENGE, &message);
}

static void receive_challenge(struct ptli_verbs *v, const handshake_message_t *message,
                              ptl_process_id_t id)
{
    ptli_challenge_t theirs;
    if (message->payload_size != sizeof theirs) return;
    memcpy(&theirs, message->payload, sizeof theirs);
    if (id.nid != theirs.nid || id.pid != theirs.pid) return;
    struct ptli_node *node = ptli_verbs_known_node(v, id);
    if (node && !node->failing && !v->closing &&
        ptli_guard_challenged(&node->guard, v->life, message->yours, theirs.number, message->mine))
        ptli_verbs_send_handshake(v, node);
}

/* The sender's record, created for a first message; NULL: the message is not new. */
static struct ptli_node *accept_message(struct ptli_verbs *v, const handshake_message_t *message,
                                        const ptli_connect_payload_t *theirs, ptl_process_id_t id)
{
    struct ptli_node *node = ptli_verbs_known_node(v, id);
    switch (ptli_guard_judge(node ? &node->guard : NULL, v->life, theirs)) {
    case PTLI_STALE:
        if (message->ask) challenge(v, id, theirs);
        return NULL;
    case PTLI_REPEATED:
        return NULL;
    case PTLI_NEW:
        break;
    }
    if (!node) node = ptli_verbs_node(v, id);
    if (node) ptli_guard_accept(&node->guard, theirs);
    return node;
}

static void address_receive(struct ptli_verbs *v, const handshake_message_t *message,
                            ptl_process_id_t id)
{
    ptli_connect_payload_t theirs;
    if (ptli_connect_payload_parse(message->payload, message->payload_size, &theirs)) return;
    if (id.nid != theirs.nid || id.pid != theirs.pid) return; /* not by the named process */
    if (id.nid == v->face.id.nid && id.pid == v->face.id.pid) return;
    struct ptli_node *node = accept_message(v, message, &theirs, id);
    if (!node) return;
    if (theirs.eager != v->settings.eager) {
        if (!node->other_eager)
            ptli_verbs_say(v, "process %u:%u has PTL_EAGER=%u, this one %u: it must be the same",
                           id.nid, id.pid, theirs.eager, v->settings.eager);
        node->other_eager = true;
        return;
    }
    if (node->failing || v->closing) return;
    ptli_verbs_act(v, node, handshake_receive(&node->handshake, message, moment(), &v->times),
                   &theirs);
}

/* Anybody may send datagrams: they cost no memory, and a line in ten minutes. */
static void ignore_stranger(struct ptli_verbs *v, const struct sockaddr_in *from)
{
    static const double EVERY = 600;
    const double now = gasneti_clock();
    char text[INET_ADDRSTRLEN] = "?";
    if (v->strangers++ && now < v->strangers_due) return;
    v->strangers_due = now + EVERY;
    inet_ntop(AF_INET, &from->sin_addr, text, sizeof text);
    ptli_verbs_say(v,
                   "datagrams ignored so far, as they are not made with the key of this %s: %llu, "
                   "the last from %s port %u%s",
                   v->launch.key.size ? "job" : "user", (unsigned long long)v->strangers, text,
                   ntohs(from->sin_port),
                   v->launch.key.size
                       ? ""
                       : "; if that is a process of yours, its PTL_KEYFILE has another key");
}

enum {
    SEALED_MESSAGE = HANDSHAKE_HEADER + sizeof(ptli_connect_payload_t) + HANDSHAKE_SEAL,
    SEALED_CHALLENGE = HANDSHAKE_HEADER + sizeof(ptli_challenge_t) + HANDSHAKE_SEAL
};

/* Handles a handshake message.  False: it is not from a process of this job. */
static bool receive_one(struct ptli_verbs *v, const char *bytes, size_t length, ptl_process_id_t id)
{
    handshake_message_t message;
    if (length != SEALED_MESSAGE && length != SEALED_CHALLENGE) return false;
    const size_t size = handshake_unseal(&v->key, way(id, v->face.id), bytes, length);
    if (!size) return false;
    if (!handshake_parse(bytes, size, PTLI_HANDSHAKE, &message))
        address_receive(v, &message, id);
    else if (!handshake_parse(bytes, size, PTLI_CHALLENGE, &message))
        receive_challenge(v, &message, id);
    return true;
}

static bool address_receive_all(struct ptli_verbs *v)
{
    bool any = false;
    for (int i = 0; i < RECEIVED_AT_ONCE; i++) {
        char bytes[HANDSHAKE_MOST + 1]; /* a longer datagram is seen to be too long */
        struct sockaddr_in from = {0};
        socklen_t size = sizeof from;
        ssize_t length =
            recvfrom(v->socket, bytes, sizeof bytes, 0, (struct sockaddr *)&from, &size);
        if (length < 0 && (errno == EAGAIN || errno == EINTR)) break;
        if (length < 0 || size != sizeof from) continue;
        if (receive_one(v, bytes, (size_t)length, id_of(&from)))
            any = true;
        else
            ignore_stranger(v, &from);
    }
    return any;
}

static bool receive_local(struct ptli_verbs *v)
{
    bool any = false;
    for (int i = 0; i < RECEIVED_AT_ONCE; i++) {
        char bytes[HANDSHAKE_MOST + 1];
        struct sockaddr_un from = {0};
        socklen_t size = sizeof from;
        ptl_process_id_t id = {.nid = v->face.id.nid};
        const ssize_t length =
            recvfrom(v->local_socket, bytes, sizeof bytes, 0, (struct sockaddr *)&from, &size);
        if (length < 0) break;
        if (local_pid(&from, size, &id.pid) && receive_one(v, bytes, (size_t)length, id))
            any = true;
    }
    return any;
}

/* An ICMP error quotes the datagram that it answers.  Anybody can forge one, but not what this
 * process has sent to the peer last. */
static bool is_quoted(const struct ptli_verbs *v, const struct ptli_node *node, const char *bytes,
                      size_t length)
{
    ptli_connect_payload_t mine;
    handshake_message_t message;
    if (length != SEALED_MESSAGE) return false;
    const size_t size = handshake_unseal(&v->key, way(v->face.id, node->face.id), bytes, length);
    return size && !handshake_parse(bytes, size, PTLI_HANDSHAKE, &message) &&
           !ptli_connect_payload_parse(message.payload, message.payload_size, &mine) &&
           mine.number == node->guard.sent;
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
        const ssize_t length = recvmsg(v->socket, &message, MSG_ERRQUEUE);
        if (length < 0) return;
        struct cmsghdr *c = CMSG_FIRSTHDR(&message);
        if (!c || c->cmsg_level != IPPROTO_IP || c->cmsg_type != IP_RECVERR) continue;
        struct sock_extended_err error;
        memcpy(&error, CMSG_DATA(c), sizeof error);
        if (error.ee_errno != ECONNREFUSED || message.msg_namelen != sizeof to) continue;
        struct ptli_node *node = ptli_verbs_known_node(v, id_of(&to));
        if (!node || !is_quoted(v, node, bytes, (size_t)length)) continue;
        /* A process that was connected before is not starting: it has ended. */
        const double least = node->known ? 0 : refusals_count_after;
        ptli_verbs_act(v, node, handshake_refused(&node->handshake, gasneti_clock(), least), NULL);
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
                           "or is the network between the hosts at fault? PTL_QP_TIMEOUT says how "
                           "long to try",
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
    any |= address_receive_all(v);
    if (v->local_socket >= 0) any |= receive_local(v);
    double now = gasneti_clock();
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
    double first = -1, now = gasneti_clock();
    for (struct ptli_node *node = all_nodes(v); node && v->connecting; node = node->next) {
        double left = node->handshake.next - now;
        if (node->handshake.waiting && (first < 0 || left < first)) first = left > 0 ? left : 0;
    }
    return first;
}
