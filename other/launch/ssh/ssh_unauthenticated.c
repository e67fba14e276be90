/* ssh_unauthenticated.c - connections to the launcher's port that have not proved yet that they
 * know the job's secret.
 *
 * Called by ssh_remote.c. Any process on the network may connect: a stranger may lose its own
 * connection, but must not keep the control processes out. So every connection is accepted. Each
 * has an entry in a table until it has proved itself; the table has an entry for each control
 * process and SPARE more. When all are in use, the new connection replaces another one, which is
 * chosen at random: nothing that a client does makes its own entry safer than that of an honest
 * client. An honest client needs its entry for two answers only, and connects again if it loses it
 * (ssh_meeting.c). When all control processes have connected, the port is closed.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#include "other/base/clock.h"
#include "other/base/descriptors.h"
#include "other/base/hex.h"
#include "other/launch/ssh/ssh_master.h"
#include "other/launch/ssh/ssh_meeting.h"

enum {
    SPARE = 256,     /* entries beyond those for the control processes */
    PER_HOST = 4,    /* descriptors that are still to be opened for each host */
    PATIENCE = 5000, /* ms for a client to name its slot */
    TO_PROVE = 15000 /* ms to prove that it knows the secret, on a host where processors are few */
};

/* A connection that has not yet proved that it belongs to this job. */
struct ssh_unauthenticated {
    struct ssh_meeting meeting;
    int64_t late;               /* deadline */
    struct ssh_host_slot *slot; /* slot that the client claims, and was asked to prove; NULL:
                                   none yet */
};

/* --- the listener --- */

static bool unauth_make_secret(char secret[SSH_WIRE_SECRET + 1])
{
    uint8_t random[SSH_WIRE_SECRET / 2];
    if (getrandom(random, sizeof random, 0) != (ssize_t)sizeof random) return false;
    gasneti_hex(secret, random, sizeof random);
    return true;
}

/* An IPv6 socket accepts IPv4 too; some systems have no IPv6. */
static bool unauth_listen(struct ssh_master *m, int family)
{
    static const int off = 0;
    union {
        struct sockaddr any;
        struct sockaddr_in v4;
        struct sockaddr_in6 v6;
    } address = {.any.sa_family = (sa_family_t)family};
    socklen_t len = family == AF_INET ? sizeof address.v4 : sizeof address.v6;
    m->listener = socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (m->listener < 0) return false;
    if (family == AF_INET6) setsockopt(m->listener, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off);
    if (bind(m->listener, &address.any, len) != 0 || listen(m->listener, 1024) != 0 ||
        getsockname(m->listener, &address.any, &len) != 0) {
        close(m->listener);
        m->listener = -1;
        return false;
    }
    m->port = ntohs(family == AF_INET ? address.v4.sin_port : address.v6.sin6_port);
    return true;
}

bool ssh_unauthenticated_open(struct ssh_master *m)
{
    struct gasneti_descriptors found;
    m->places = SPARE + m->remotes;
    gasneti_descriptors_reserve((unsigned)m->places + PER_HOST * m->remotes,
                                &found); /* if may be */
    m->unauthenticated = calloc(m->places, sizeof(*m->unauthenticated));
    if (!m->unauthenticated) m->places = 0;
    return m->places && unauth_make_secret(m->secret) &&
           (unauth_listen(m, AF_INET6) || unauth_listen(m, AF_INET));
}

static void unauth_close_listener(struct ssh_master *m)
{
    if (m->listener >= 0) close(m->listener);
    m->listener = -1;
}

static bool unauth_all_joined(const struct ssh_master *m)
{
    for (uint32_t s = 0; s < m->placement.count; s++)
        if (m->slots[s].placement->remote && !m->slots[s].joined) return false;
    return true;
}

static void unauth_drop(struct ssh_master *m, size_t i)
{
    if (m->unauthenticated[i]->meeting.fd >= 0) close(m->unauthenticated[i]->meeting.fd);
    free(m->unauthenticated[i]);
    m->unauthenticated[i] = NULL;
}

static size_t unauth_random(size_t below)
{
    uint32_t number = 0;
    if (getrandom(&number, sizeof number, GRND_NONBLOCK) < 0)
        number = (uint32_t)(int64_t)gasneti_clock_ms();
    return number % below;
}

/* Returns a free entry of the table; if all are in use, a random connection is dropped for it. */
static size_t unauth_take_place(struct ssh_master *m)
{
    size_t i = 0;
    while (i < m->places && m->unauthenticated[i]) i++;
    if (i == m->places) unauth_drop(m, i = unauth_random(m->places));
    return i;
}

void ssh_unauthenticated_close(struct ssh_master *m)
{
    for (size_t i = 0; i < m->places; i++)
        if (m->unauthenticated[i]) unauth_drop(m, i);
    free(m->unauthenticated);
    m->unauthenticated = NULL;
    m->places = 0;
    unauth_close_listener(m);
}

/* Sets the timer to the earliest deadline. */
static void unauth_set_timer(struct ssh_master *m)
{
    int64_t first = INT64_MAX;
    for (size_t i = 0; i < m->places; i++)
        if (m->unauthenticated[i] && m->unauthenticated[i]->late < first)
            first = m->unauthenticated[i]->late;
    m->due[SSH_TIMER_UNAUTHENTICATED] = first == INT64_MAX ? 0 : first;
}

void ssh_unauthenticated_late(struct ssh_master *m)
{
    int64_t now = (int64_t)gasneti_clock_ms();
    for (size_t i = 0; i < m->places; i++)
        if (m->unauthenticated[i] && m->unauthenticated[i]->late <= now) unauth_drop(m, i);
    unauth_set_timer(m);
}

/* --- messages of unauthenticated clients --- */

/* Returns the slot whose control process is waited for under that number, or NULL. */
static struct ssh_host_slot *unauth_awaited(const struct ssh_master *m, uint32_t number)
{
    if (number >= m->placement.count || m->job.ending) return NULL;
    struct ssh_host_slot *slot = &m->slots[number];
    return slot->ordered && !slot->joined && !slot->lost ? slot : NULL;
}

/* Handles a message of the client. Returns whether the client is to be dropped; `welcome`: because
 * it has proved that it is its slot's control process. */
static bool unauth_hear(const struct ssh_master *m, struct ssh_unauthenticated *client,
                        struct ssh_seals *seals, bool *welcome)
{
    enum ssh_meeting_news news;
    if (!client->slot) {
        news = ssh_meeting_on_join(&client->meeting);
        if (news != SSH_MEETING_DONE) return news != SSH_MEETING_NONE;
        client->late = (int64_t)gasneti_clock_ms() + TO_PROVE;
        client->slot = unauth_awaited(m, client->meeting.slot);
        return !client->slot || !ssh_meeting_challenge(&client->meeting, m->secret);
    }
    news = ssh_meeting_on_proof(&client->meeting, m->secret, seals);
    *welcome = news == SSH_MEETING_DONE && unauth_awaited(m, client->meeting.slot);
    return news != SSH_MEETING_NONE;
}

static void unauth_read(struct ssh_master *m, size_t i)
{
    struct ssh_unauthenticated *client = m->unauthenticated[i];
    struct ssh_host_slot *slot = NULL;
    struct ssh_seals seals;
    bool welcome = false;
    if (!unauth_hear(m, client, &seals, &welcome)) {
        unauth_set_timer(m);
        return;
    }
    int fd = client->meeting.fd;
    if (welcome) {
        slot = client->slot;
        client->meeting.fd = -1;
    }
    unauth_drop(m, i);
    if (slot) ssh_remote_joined(m, slot, fd, &seals);
    if (unauth_all_joined(m)) ssh_unauthenticated_close(m);
    unauth_set_timer(m);
}

/* No descriptor is left: a random connection makes room. */
static void unauth_make_room(struct ssh_master *m)
{
    const size_t first = unauth_random(m->places);
    for (size_t k = 0; k < m->places; k++) {
        const size_t i = (first + k) % m->places;
        if (!m->unauthenticated[i]) continue;
        unauth_drop(m, i);
        return;
    }
}

static void unauth_accept(struct ssh_master *m)
{
    int fd = accept4(m->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (fd < 0 && (errno == EMFILE || errno == ENFILE)) unauth_make_room(m);
    if (fd < 0) return;
    struct ssh_unauthenticated *client = calloc(1, sizeof *client);
    if (!client) {
        close(fd);
        return;
    }
    ssh_stream_watch_host(fd);
    client->late = (int64_t)gasneti_clock_ms() + PATIENCE;
    client->meeting.fd = fd;
    m->unauthenticated[unauth_take_place(m)] = client;
    unauth_set_timer(m);
}

/* --- polling --- */

size_t ssh_unauthenticated_poll_max(const struct ssh_master *m)
{
    return 1 + m->places; /* with the listener */
}

size_t ssh_unauthenticated_poll(const struct ssh_master *m, struct pollfd *fds)
{
    size_t n = 0;
    ssh_poll_add(fds, &n, m->listener, POLLIN);
    for (size_t i = 0; i < m->places; i++)
        if (m->unauthenticated[i]) ssh_poll_add(fds, &n, m->unauthenticated[i]->meeting.fd, POLLIN);
    return n;
}

/* Reads from known connections before it accepts a new one: a connection that has proved itself
 * frees its entry. */
void ssh_unauthenticated_ready(struct ssh_master *m, const struct pollfd *fds, size_t count)
{
    size_t at = 0;
    const bool knock = ssh_poll_ready_from(fds, count, m->listener, &at);
    for (size_t i = 0; i < m->places; i++)
        if (m->unauthenticated[i] &&
            ssh_poll_ready_from(fds, count, m->unauthenticated[i]->meeting.fd, &at))
            unauth_read(m, i);
    if (knock && m->listener >= 0) unauth_accept(m);
}
