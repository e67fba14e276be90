/* verbs_address.c - names of processes, and the datagrams that connect them.
 *
 * A process is called by the IPv4 address of its host (nid) and a number (pid), which is a UDP port
 * of that host: so anybody is found without a name server, one name belongs to one process at a
 * time, and nothing is left behind.  Greetings (greeting.h) go from port to port; a datagram whose
 * sender's port is not that of the process it names is a stranger's.  A host that answers that
 * nobody has the port tells at once that a process has ended.
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

/* Low numbers are another user's ports, the system's: they become ports that nobody is given by
 * chance. */
enum { LOW_PIDS = 1024, LOW_PORTS = 61000, HEARD_AT_ONCE = 64 };

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

/* --- our own name --- */

/* The address of PTL_IFACE, which is an address or the name of an interface; without it the first
 * that is up and not the loop. */
static bool find_nid(const char *wish, ptl_nid_t *nid)
{
    struct in_addr address;
    struct ifaddrs *all, *i;
    if (*wish && inet_pton(AF_INET, wish, &address) == 1) {
        *nid = ntohl(address.s_addr);
        return true;
    }
    bool found = false;
    *nid = INADDR_LOOPBACK;
    if (getifaddrs(&all)) return !*wish;
    for (i = all; i && !found; i = i->ifa_next) {
        if (!i->ifa_addr || i->ifa_addr->sa_family != AF_INET || !(i->ifa_flags & IFF_UP)) continue;
        if (*wish ? strcmp(wish, i->ifa_name) != 0 : (i->ifa_flags & IFF_LOOPBACK) != 0) continue;
        *nid = ntohl(((struct sockaddr_in *)(void *)i->ifa_addr)->sin_addr.s_addr);
        found = true;
    }
    freeifaddrs(all);
    return found || !*wish;
}

/* A port of the system's choice, but none that stands for a low number. */
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

int ptli_verbs_name(struct ptli_verbs *v, ptl_pid_t wished)
{
    const struct ptli_launch *launch = &v->launch;
    bool mapped = launch->rank >= 0 && launch->rank < launch->size;
    in_port_t port;
    if (wished == PTL_PID_ANY && mapped && launch->pids) wished = launch->pids[launch->rank];
    if (mapped && launch->nids) {
        v->face.id.nid = launch->nids[launch->rank];
    } else if (!find_nid(v->settings.iface, &v->face.id.nid)) {
        ptli_verbs_say(v, "PTL_IFACE=%s: there is no such interface with an IPv4 address",
                       v->settings.iface);
        return PTL_IFACE_INVALID;
    }
    if (wished != PTL_PID_ANY && !port_of(wished, &port)) return PTL_PID_INVALID;
    int error = take_name(v, wished);
    if (!error) return PTL_OK;
    if (error == EADDRINUSE || error == EACCES) return PTL_PID_INVALID;
    struct in_addr address = {.s_addr = htonl(v->face.id.nid)};
    char text[INET_ADDRSTRLEN] = "?";
    inet_ntop(AF_INET, &address, text, sizeof text);
    ptli_verbs_say(v, "cannot open a socket for %s: %s; PTL_IFACE or PTL_NIDMAP names the address",
                   text, strerror(error));
    return PTL_FAIL;
}

/* --- greetings --- */

static ptli_moment_t moment(void)
{
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    return (ptli_moment_t){.now = ptli_verbs_clock(),
                           .stamp = (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec};
}

/* A greeting that cannot be sent is as good as lost. */
void ptli_verbs_greet(struct ptli_verbs *v, struct ptli_node *node)
{
    const struct ptli_link *link = node->making ? node->making : node->link;
    if (!link) return;
    ptli_greeting_t greeting;
    ptli_greeting_init(&greeting);
    greeting.flags = node->greet.ask ? PTLI_GREETING_ASK : 0;
    greeting.mtu = v->mtu;
    greeting.rd_atom = v->rd_atom;
    greeting.mine = node->greet.mine;
    greeting.yours = node->greet.theirs;
    greeting.nid = v->face.id.nid;
    greeting.pid = v->face.id.pid;
    greeting.uid = v->face.uid;
    greeting.jid = v->face.jid;
    greeting.qp_number = link->qp->qp_num;
    greeting.psn = link->psn;
    greeting.eager = v->settings.eager;
    greeting.window = (uint16_t)v->settings.window;
    greeting.lid = v->lid;
    memcpy(greeting.gid, v->gid.raw, sizeof greeting.gid);
    struct sockaddr_in address = address_of(node->face.id);
    sendto(v->socket, &greeting, sizeof greeting, MSG_NOSIGNAL, (struct sockaddr *)&address,
           sizeof address);
}

static void heard(struct ptli_verbs *v, const ptli_greeting_t *greeting,
                  const struct sockaddr_in *from)
{
    ptl_process_id_t id = id_of(from);
    if (id.nid != greeting->nid || id.pid != greeting->pid) return; /* a stranger's */
    if (id.nid == v->face.id.nid && id.pid == v->face.id.pid) return;
    if (greeting->eager != v->settings.eager) {
        ptli_verbs_say(v, "process %u:%u has PTL_EAGER=%u, this one %u: it must be the same",
                       id.nid, id.pid, greeting->eager, v->settings.eager);
        return;
    }
    struct ptli_node *node = ptli_verbs_node(v, id);
    if (!node || node->failing || v->closing) return;
    bool ask = greeting->flags & PTLI_GREETING_ASK;
    ptli_verbs_act(
        v, node,
        ptli_greet_hear(&node->greet, greeting->mine, greeting->yours, ask, moment(), &v->patience),
        greeting);
}

static bool hear_greetings(struct ptli_verbs *v)
{
    bool any = false;
    for (int i = 0; i < HEARD_AT_ONCE; i++) {
        char bytes[sizeof(ptli_greeting_t) + 1];
        ptli_greeting_t greeting;
        struct sockaddr_in from = {0};
        socklen_t size = sizeof from;
        ssize_t length =
            recvfrom(v->socket, bytes, sizeof bytes, 0, (struct sockaddr *)&from, &size);
        if (length < 0 && (errno == EAGAIN || errno == EINTR)) break;
        any = true;
        if (length >= 0 && size == sizeof from &&
            !ptli_greeting_parse(bytes, (size_t)length, &greeting))
            heard(v, &greeting, &from);
    }
    return any;
}

/* Hosts that say that nobody has the name. */
static void hear_refusals(struct ptli_verbs *v)
{
    for (int i = 0; i < HEARD_AT_ONCE; i++) {
        struct sockaddr_in to = {0};
        char control[512], bytes[sizeof(ptli_greeting_t)];
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
        /* One that was there and is not any more does not come late. */
        ptli_patience_t patience = v->patience;
        if (node->known) patience.refused = 0;
        ptli_verbs_act(v, node, ptli_greet_refused(&node->greet, ptli_verbs_clock(), &patience),
                       NULL);
    }
}

static struct ptli_node *take_wish(struct ptli_verbs *v)
{
    ptli_mutex_lock(&v->posting.lock);
    struct ptli_node *node = v->wishes;
    if (node) {
        v->wishes = node->next_wish;
        node->wished = false;
    }
    ptli_mutex_unlock(&v->posting.lock);
    return node;
}

static bool take_wishes(struct ptli_verbs *v)
{
    bool any = false;
    for (struct ptli_node *node; (node = take_wish(v)); any = true) {
        in_port_t port;
        unsigned actions = PTLI_GREET_FAIL;
        if (node->failing) continue;
        if (port_of(node->face.id.pid, &port) && !v->closing)
            actions = ptli_greet_want(&node->greet, moment(), &v->patience);
        ptli_verbs_act(v, node, actions, NULL);
    }
    return any;
}

bool ptli_verbs_hear(struct ptli_verbs *v)
{
    atomic_store_explicit(&v->attention, false, memory_order_relaxed);
    bool any = take_wishes(v);
    hear_refusals(v);
    any |= hear_greetings(v);
    double now = ptli_verbs_clock();
    uint32_t waiting = 0;
    ptli_mutex_lock(&v->posting.lock);
    struct ptli_node *all = v->all;
    ptli_mutex_unlock(&v->posting.lock);
    for (struct ptli_node *node = all; node; node = node->next) {
        if (!node->greet.waiting) continue;
        unsigned actions = ptli_greet_tick(&node->greet, now, &v->patience);
        if (actions & PTLI_GREET_FAIL)
            ptli_verbs_trouble(v, node,
                               "it has not answered for %.0f s: does it still run, is it stopped, "
                               "or is the network between the hosts at fault?",
                               v->patience.silent);
        ptli_verbs_act(v, node, actions, NULL);
        waiting += node->greet.waiting;
    }
    v->greeting = waiting;
    return any;
}

double ptli_verbs_due(struct ptli_verbs *v)
{
    double first = -1, now = ptli_verbs_clock();
    ptli_mutex_lock(&v->posting.lock);
    struct ptli_node *all = v->all;
    ptli_mutex_unlock(&v->posting.lock);
    for (struct ptli_node *node = all; node && v->greeting; node = node->next) {
        double left = node->greet.next - now;
        if (node->greet.waiting && (first < 0 || left < first)) first = left > 0 ? left : 0;
    }
    return first;
}
