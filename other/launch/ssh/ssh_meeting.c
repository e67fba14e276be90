/* ssh_meeting.c - see ssh_meeting.h.
 *
 * Any process may connect or answer: wrong messages must cost no more than the connection.
 */
#include "other/launch/ssh/ssh_meeting.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#include "other/base/clock.h"
#include "other/launch/ssh/ssh_stream.h"

/* --- messages --- */

static bool meeting_random(uint8_t bytes[SSH_WIRE_NONCE])
{
    return getrandom(bytes, SSH_WIRE_NONCE, 0) == SSH_WIRE_NONCE;
}

/* The buffers of a new connection have room for such a message. */
static bool meeting_send(const struct ssh_meeting *m, enum ssh_wire_type type, const void *data,
                         size_t len)
{
    struct ssh_wire_buf buf = {0};
    ssh_wire_put_message(&buf, type, SSH_WIRE_ALL, data, len);
    bool sent = !buf.failed &&
                send(m->fd, buf.data, buf.len, MSG_NOSIGNAL | MSG_DONTWAIT) == (ssize_t)buf.len;
    ssh_wire_free(&buf);
    return sent;
}

/* Reads the message of that type and length; when it is DONE it lies in m->in, behind its header.
 */
static enum ssh_meeting_news meeting_read(struct ssh_meeting *m, enum ssh_wire_type type,
                                          size_t len, struct ssh_wire_message *message)
{
    const size_t whole = SSH_WIRE_HEADER + len;
    struct ssh_wire_frame frame;
    const char *why;
    ssize_t got = recv(m->fd, m->in + m->got, whole - m->got, MSG_DONTWAIT);
    if (got < 0 && (errno == EINTR || errno == EAGAIN || errno == EWOULDBLOCK))
        return SSH_MEETING_NONE;
    if (got <= 0) return SSH_MEETING_ENDED;
    m->got += (size_t)got;
    ssize_t used = ssh_wire_parse_frame(m->in, m->got, &frame, &why);
    if (used == 0 && m->got < whole) return SSH_MEETING_NONE;
    m->got = 0;
    return used == (ssize_t)whole && frame.type == type && !frame.more &&
                   ssh_wire_decode(type, frame.rank, frame.data, frame.len, message, &why)
               ? SSH_MEETING_DONE
               : SSH_MEETING_WRONG;
}

static struct gasneti_said meeting_said(const struct ssh_meeting *m)
{
    return (struct gasneti_said){.connector = m->join,
                                 .connector_len = sizeof m->join,
                                 .acceptor = m->nonce,
                                 .acceptor_len = sizeof m->nonce};
}

static void meeting_prove(const struct ssh_meeting *m, const char *secret, char side,
                          uint8_t proof[SSH_WIRE_PROOF_LEN])
{
    const struct gasneti_said said = meeting_said(m);
    gasneti_mutual_proof(secret, side, &said, proof);
}

static void meeting_seal(const struct ssh_meeting *m, const char *secret, bool acceptor,
                         struct ssh_seals *seals)
{
    const struct gasneti_said said = meeting_said(m);
    ssh_seal_keys(seals, secret, &said, acceptor);
}

/* --- the launcher's end --- */

enum ssh_meeting_news ssh_meeting_on_join(struct ssh_meeting *m)
{
    struct ssh_wire_message message;
    enum ssh_meeting_news news = meeting_read(m, SSH_WIRE_JOIN, sizeof m->join, &message);
    if (news != SSH_MEETING_DONE) return news;
    memcpy(m->join, m->in + SSH_WIRE_HEADER, sizeof m->join);
    m->slot = message.join.slot;
    return news;
}

bool ssh_meeting_challenge(struct ssh_meeting *m, const char *secret)
{
    uint8_t text[SSH_WIRE_NONCE + SSH_WIRE_PROOF_LEN];
    if (!meeting_random(m->nonce)) return false;
    memcpy(text, m->nonce, sizeof m->nonce);
    meeting_prove(m, secret, 'a', text + SSH_WIRE_NONCE);
    return meeting_send(m, SSH_WIRE_CHALLENGE, text, sizeof text);
}

enum ssh_meeting_news ssh_meeting_on_proof(struct ssh_meeting *m, const char *secret,
                                           struct ssh_seals *seals)
{
    struct ssh_wire_message message;
    uint8_t expected[SSH_WIRE_PROOF_LEN];
    enum ssh_meeting_news news = meeting_read(m, SSH_WIRE_PROOF, SSH_WIRE_PROOF_LEN, &message);
    if (news != SSH_MEETING_DONE) return news;
    meeting_prove(m, secret, 'c', expected);
    if (!gasneti_digest_equal(expected, message.meeting.proof)) return SSH_MEETING_WRONG;
    meeting_seal(m, secret, true, seals);
    return SSH_MEETING_DONE;
}

/* --- the control process --- */

enum {
    ADDRESSES = 32,   /* addresses of the launcher that are tried */
    NEXT_AFTER = 500, /* ms for an address before the next one is tried as well */
    /* ms for all addresses; the launcher's GASNET_SSH_TIMEOUT usually ends the search before. */
    FIND_LIMIT = 600000,
    /* A launcher to which many strangers connect may close a connection for another one. */
    TRIES = 12,       /* connections to one address */
    RETRY_AFTER = 50, /* ms to the second; each time 50 ms more */
};

/* An address that may be the launcher's, or another machine's. */
struct candidate {
    const char *address;
    struct ssh_meeting meeting;
    bool asked, proved; /* JOIN is sent; PROOF is */
    int tries;          /* connections that were closed */
    int64_t again;      /* time of the next; 0: none is due */
    const char *why;    /* reason why this is not the launcher; NULL: not known yet */
};

struct search {
    struct candidate at[ADDRESSES];
    size_t count, begun;
    int64_t next; /* when another is tried */
    uint16_t port;
    uint32_t slot;
    const char *secret;
};

static void find_drop(struct candidate *c, const char *why)
{
    if (c->meeting.fd >= 0) close(c->meeting.fd);
    c->meeting.fd = -1;
    c->why = why;
}

/* The connection was closed: it is made again, a few times. */
static void find_retry(struct candidate *c)
{
    find_drop(c, "closed the connection: it is not the launcher, or gave up");
    if (++c->tries < TRIES)
        c->again = (int64_t)gasneti_clock_ms() + (int64_t)c->tries * RETRY_AFTER;
}

static void find_begin(const struct search *s, struct candidate *c)
{
    struct sockaddr_in v4 = {.sin_family = AF_INET, .sin_port = htons(s->port)};
    struct sockaddr_in6 v6 = {.sin6_family = AF_INET6, .sin6_port = htons(s->port)};
    const bool is_v4 = inet_pton(AF_INET, c->address, &v4.sin_addr) == 1;
    c->meeting.got = 0;
    c->asked = c->proved = false;
    c->again = 0;
    c->why = NULL;
    if (!is_v4 && inet_pton(AF_INET6, c->address, &v6.sin6_addr) != 1) {
        c->why = "is no address";
        return;
    }
    c->meeting.fd =
        socket(is_v4 ? AF_INET : AF_INET6, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (c->meeting.fd < 0 ||
        (connect(c->meeting.fd, is_v4 ? (struct sockaddr *)&v4 : (struct sockaddr *)&v6,
                 is_v4 ? sizeof v4 : sizeof v6) != 0 &&
         errno != EINPROGRESS))
        find_drop(c, strerror(errno));
}

/* The connection is there, or has failed. */
static void find_ask(const struct search *s, struct candidate *c)
{
    struct ssh_meeting *m = &c->meeting;
    int error = 0;
    socklen_t len = sizeof error;
    if (getsockopt(m->fd, SOL_SOCKET, SO_ERROR, &error, &len) != 0 || error) {
        find_drop(c, strerror(error ? error : errno));
        return;
    }
    ssh_stream_watch_host(m->fd);
    for (int i = 0; i < 4; i++) m->join[i] = (uint8_t)(s->slot >> (8 * i));
    c->asked =
        meeting_random(m->join + 4) && meeting_send(m, SSH_WIRE_JOIN, m->join, sizeof m->join);
    if (!c->asked) find_retry(c);
}

/* Reads the challenge, and answers it if it proves that the candidate is the launcher. */
static void find_hear(const struct search *s, struct candidate *c)
{
    struct ssh_meeting *m = &c->meeting;
    struct ssh_wire_message message;
    uint8_t proof[SSH_WIRE_PROOF_LEN];
    enum ssh_meeting_news news =
        meeting_read(m, SSH_WIRE_CHALLENGE, SSH_WIRE_NONCE + SSH_WIRE_PROOF_LEN, &message);
    if (news == SSH_MEETING_NONE) return;
    if (news == SSH_MEETING_DONE) {
        memcpy(m->nonce, message.meeting.nonce, sizeof m->nonce);
        meeting_prove(m, s->secret, 'a', proof);
        c->proved = gasneti_digest_equal(proof, message.meeting.proof);
    }
    if (c->proved) meeting_prove(m, s->secret, 'c', proof);
    if (news != SSH_MEETING_ENDED && !c->proved)
        find_drop(c,
                  "what answers there does not know the job's secret, so it is not the launcher");
    else if (!c->proved || !meeting_send(m, SSH_WIRE_PROOF, proof, sizeof proof))
        find_retry(c);
}

/* Whether the launcher, to which the proof was sent, has taken it: then it sends what to start. */
static bool find_taken(struct candidate *c)
{
    char first;
    ssize_t got = recv(c->meeting.fd, &first, 1, MSG_PEEK | MSG_DONTWAIT);
    if (got > 0) return true;
    if (got == 0 || (errno != EINTR && errno != EAGAIN && errno != EWOULDBLOCK)) find_retry(c);
    return false;
}

static struct candidate *find_ready(struct search *s, const struct pollfd *fds)
{
    for (size_t i = 0; i < s->begun; i++) {
        struct candidate *c = &s->at[i];
        if (!fds[i].revents || c->meeting.fd < 0) continue;
        if (!c->asked)
            find_ask(s, c);
        else if (!c->proved)
            find_hear(s, c);
        else if (find_taken(c))
            return c;
    }
    return NULL;
}

/* Connects to those whose turn it is; returns when the next turn is, at most `limit`. */
static int64_t find_connect(struct search *s, int64_t now, int64_t limit)
{
    int64_t first = limit;
    for (size_t i = 0; i < s->begun; i++) {
        struct candidate *c = &s->at[i];
        if (c->again && c->again <= now) find_begin(s, c);
        if (c->again && c->again < first) first = c->again;
    }
    if (s->begun < s->count && now >= s->next) {
        find_begin(s, &s->at[s->begun++]);
        s->next = now + NEXT_AFTER;
    }
    return s->begun < s->count && s->next < first ? s->next : first;
}

/* Entry i of `fds` is for candidate i, the last for standard output, whose reader ends with the
 * launcher's interest in this process.  Returns how many candidates there still are. */
static size_t find_watch(const struct search *s, struct pollfd *fds)
{
    size_t open = 0;
    for (size_t i = 0; i < s->begun; i++) {
        const struct candidate *c = &s->at[i];
        fds[i] = (struct pollfd){.fd = c->meeting.fd, .events = c->asked ? POLLIN : POLLOUT};
        open += c->meeting.fd >= 0 || c->again;
    }
    fds[s->begun] = (struct pollfd){.fd = STDOUT_FILENO};
    return open;
}

static struct candidate *find_first(struct search *s)
{
    const int64_t limit = (int64_t)gasneti_clock_ms() + FIND_LIMIT;
    struct pollfd fds[ADDRESSES + 1];
    for (;;) {
        const int64_t now = (int64_t)gasneti_clock_ms(), until = find_connect(s, now, limit);
        if (!find_watch(s, fds)) {
            if (s->begun == s->count) return NULL;
            s->next = 0;
            continue;
        }
        if (poll(fds, s->begun + 1, until > now ? (int)(until - now) : 0) <= 0) {
            if (now >= limit) return NULL;
            continue;
        }
        struct candidate *found = find_ready(s, fds);
        if (found || fds[s->begun].revents & (POLLERR | POLLHUP)) return found;
    }
}

static void find_explain(const struct search *s, char *why, size_t size)
{
    size_t len = 0;
    if (size) why[0] = 0;
    for (size_t i = 0; i < s->count && len < size; i++) {
        const struct candidate *c = &s->at[i];
        int n = snprintf(why + len, size - len, "%s%s: %s", i ? "; " : "", c->address,
                         c->why         ? c->why
                         : i < s->begun ? "no answer"
                                        : "not tried");
        len += n > 0 ? (size_t)n : 0;
    }
}

int ssh_meeting_find(char *addresses, uint16_t port, uint32_t slot, const char *secret,
                     struct ssh_seals *seals, char *why, size_t size)
{
    struct search s = {.port = port, .slot = slot, .secret = secret};
    char *rest = NULL;
    int fd = -1;
    for (char *a = strtok_r(addresses, ",", &rest); a && s.count < ADDRESSES;
         a = strtok_r(NULL, ",", &rest))
        s.at[s.count++] = (struct candidate){.address = a, .meeting = {.fd = -1}};
    struct candidate *found = find_first(&s);
    if (found) {
        meeting_seal(&found->meeting, secret, false, seals);
        fd = found->meeting.fd;
        found->meeting.fd = -1;
    }
    find_explain(&s, why, size);
    for (size_t i = 0; i < s.count; i++) find_drop(&s.at[i], NULL);
    return fd;
}
