/* remote_process.c - processes on other hosts, and the one connection to each.
 *
 * Called by the wire thread, and under the wire lock by verbs that need such a process. Both sides
 * may dial at once: then the attempt of the process with the lower host and slot is used.
 * Connections have serial numbers, so that an attempt begun before the present connection is told
 * from one to replace it. A process is identified by the nonce drawn at its start: when another
 * nonce answers in its slot, the former process has ended.
 */
#include "other/softhca/src/tcp/remote_process.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "other/base/clock.h"
#include "other/softhca/src/settings/say.h"
#include "other/softhca/src/settings/settings.h"
#include "other/softhca/src/tcp/tcp.h"

#define MS 1000000ull
static const uint64_t connect_timeout = 1000 * MS; /* of one attempt */
static const uint64_t greet_timeout = 10000 * MS;
static const uint64_t silence_limit = 500 * MS; /* of the other kernel: then dial again */
static const uint64_t unanswered_limit =
    30000 * MS; /* of a process that accepts and does not answer */
static const uint64_t look_every = 100 * MS;
static const uint64_t wanted_for = 4000 * MS; /* after the last unreliable message */

/* With a list of hosts, and a slot claimed: starts the wire thread. 0 or an errno value. */
int shca_remote_process_start(void)
{
    const struct shca_fabric *f = shca_fabric();
    if (f->names.n == 0) return 0;
    shca_wire.self = (struct greet_self){.me = {f->self, shca.slot, shca.h->nonce, shca.h->number},
                                         .hosts = f->hash,
                                         .secret = shca_settings()->secret};
    shca_wire.outside = shca_peer_get(SHCA_OUTSIDE, shca.slot);
    if (!shca_wire.outside || !shca_peer_attach(shca_wire.outside)) return EMFILE;
    shca_ud_access_register(shca_wire.outside);
    return shca_tcp_start();
}

static struct shca_remote_process **remote_process_chain(uint32_t slot)
{
    return &shca_wire.process[slot % SHCA_SLOTS];
}

void shca_remote_process_wake(struct shca_remote_process *f, uint64_t when)
{
    if (when < f->wake) f->wake = when;
    if (when < shca_wire.wake) shca_wire.wake = when;
}

static struct shca_remote_process *remote_process_look_up(uint32_t host, uint32_t slot)
{
    struct shca_remote_process *f = *remote_process_chain(slot);
    while (f && (f->gone || f->who.host != host || f->who.slot != slot)) f = f->next;
    return f;
}

static struct shca_remote_process *remote_process_new(uint32_t host, uint32_t slot)
{
    struct shca_remote_process *f = calloc(1, sizeof *f);
    if (!f) return NULL;
    f->who = (struct wire_process){.host = host, .slot = slot, .number = SHCA_NO_PROCESS};
    f->wake = REMOTE_NEVER;
    f->ready_end = &f->ready;
    f->due_end = &f->due;
    f->next = *remote_process_chain(slot);
    return *remote_process_chain(slot) = f;
}

/* The process in that slot of that host, created if unknown, referenced until
 * shca_remote_process_put(); NULL when out of memory. */
struct shca_remote_process *shca_remote_process_find(uint32_t host, uint32_t slot)
{
    shca_lock(&shca_wire.table);
    struct shca_remote_process *f = remote_process_look_up(host, slot);
    if (!f) f = remote_process_new(host, slot);
    if (f) f->refs++;
    shca_unlock(&shca_wire.table);
    return f;
}

void shca_remote_process_put(struct shca_remote_process *f)
{
    shca_lock(&shca_wire.table);
    f->refs--;
    shca_unlock(&shca_wire.table);
}

void shca_remote_process_release(struct shca_remote_process *f)
{
    shca_lock(&shca_wire.table);
    bool idle = f->refs == 0 && !f->up && !f->attempt;
    struct shca_remote_process **at = remote_process_chain(f->who.slot);
    while (idle && *at != f) at = &(*at)->next;
    if (idle) *at = f->next;
    shca_unlock(&shca_wire.table);
    if (idle) free(f);
}

void shca_remote_process_kick(struct shca_remote_process *f)
{
    if (!atomic_exchange(&f->kicked, true)) shca_tcp_kick();
}

static const char *remote_process_name_of(uint32_t host)
{
    const struct shca_hosts *h = &shca_fabric()->names;
    return host < h->n ? h->name[host] : "?";
}

/* The process with this nonce has ended. */
static void remote_process_set_gone(struct shca_remote_process *f)
{
    f->gone = true;
    shca_remote_process_wake(f, 0);
}

static void remote_process_drop_attempt(struct shca_remote_process *f)
{
    if (f->attempt) shca_tcp_close(f->attempt);
    f->attempt = NULL;
}

/* Retries after a failed attempt; the pause grows from 10 to 200 ms. */
static void remote_process_retry_later(struct shca_remote_process *f)
{
    remote_process_drop_attempt(f);
    f->pause = f->pause ? f->pause * 2 : 10 * MS;
    if (f->pause > 200 * MS) f->pause = 200 * MS;
    f->retry_at = gasneti_clock_ns() + f->pause;
    f->address++;
    shca_remote_process_wake(f, f->retry_at);
}

static void remote_process_dial(struct shca_remote_process *f)
{
    const struct shca_site *site = &shca_fabric()->site[f->who.host];
    struct sockaddr_storage to = site->address[f->address % site->n];
    shca_set_port(&to, shca_settings()->tcp_port + f->who.slot);
    f->attempt = shca_tcp_dial(&to);
    if (f->attempt) {
        f->attempt->process = f;
        return;
    }
    if (errno == EMFILE || errno == ENFILE) {
        static bool reported;
        if (!reported)
            shca_say("no descriptor left to reach %s (raise ulimit -n)",
                     remote_process_name_of(f->who.host));
        reported = true;
    }
    remote_process_retry_later(f);
}

static void remote_process_send_greeting(struct shca_conn *c)
{
    uint8_t header[WIRE_REQUEST_HEADER];
    if (c->greet.out.type == 0) return;
    struct iovec iov[2] = {{header, wire_put(&c->greet.out, header)},
                           {c->greet.payload, c->greet.out.length}};
    shca_tcp_send(c, iov, 2, iov[0].iov_len + iov[1].iov_len);
    c->greet.out.type = 0;
}

void shca_remote_process_dialled(struct shca_conn *c, int error)
{
    struct shca_remote_process *f = c->process;
    const struct shca_site *site = &shca_fabric()->site[f->who.host];
    uint8_t random[WIRE_NONCE];
    if (!error && !shca_tcp_random(random, sizeof random)) error = EAGAIN;
    shca_wire.self.me.number = shca.h->number; /* the number may be set late */
    f->refused = error == ECONNREFUSED ? f->refused + 1 : 0;
    if (!error) {
        greet_connect(&c->greet, &shca_wire.self, f->who.host, f->who.slot, f->serial, random);
        remote_process_send_greeting(c);
        return;
    }
    remote_process_retry_later(f);
    /* All of its addresses refused: the process has ended. */
    if (f->refused >= site->n && f->who.nonce) remote_process_set_gone(f);
}

static bool remote_process_is_listed(const struct sockaddr_storage *a, uint32_t host)
{
    const struct shca_site *site = &shca_fabric()->site[host];
    for (unsigned i = 0; i < site->n; i++)
        if (shca_same_address(a, &site->address[i])) return true;
    return false;
}

/* True if the connection comes from the address of a listed host. */
bool shca_remote_process_accepted(struct shca_conn *c)
{
    static unsigned reported;
    uint8_t random[WIRE_NONCE];
    char text[64];
    uint32_t hosts = shca_fabric()->names.n, host = 0;
    while (host < hosts && !remote_process_is_listed(&c->address, host)) host++;
    if (host == hosts) {
        if (reported++ < 5)
            shca_say("refused a connection from %s, which is none of SOFTHCA_HOSTS",
                     shca_address_text(&c->address, text));
        return false;
    }
    if (!shca_tcp_random(random, sizeof random)) return false;
    shca_wire.self.me.number = shca.h->number;
    greet_accept(&c->greet, random);
    if (c->since + greet_timeout < shca_wire.wake) shca_wire.wake = c->since + greet_timeout;
    return true;
}

static bool remote_process_is_before(const struct wire_process *other)
{
    const struct wire_process *me = &shca_wire.self.me;
    return other->host != me->host ? other->host < me->host : other->slot < me->slot;
}

static void remote_process_set_up(struct shca_remote_process *f, struct shca_conn *c,
                                  uint32_t serial)
{
    c->process = f;
    c->state = CONN_UP;
    c->confirmed = c->connector;
    f->serial = serial;
    f->down_since = f->unanswered_since = f->pause = 0;
    f->refused = 0;
    f->up = c;
    shca_tcp_send_up(f);
}

static void remote_process_disconnect(struct shca_remote_process *f, uint64_t since)
{
    struct shca_conn *c = f->up;
    shca_lock(&f->out);
    f->up = NULL;
    shca_unlock(&f->out);
    shca_tcp_close(c);
    f->down_since = since;
    f->retry_at = 0;
    shca_tcp_send_lost(f);
    shca_remote_process_wake(f, 0);
}

/* Finds or creates the record of process WHO; a process known in the same slot with another nonce
 * has ended. */
static struct shca_remote_process *remote_process_identify(const struct wire_process *who)
{
    struct shca_remote_process *f = shca_remote_process_find(who->host, who->slot);
    if (f && f->who.nonce && f->who.nonce != who->nonce) {
        if (f->up) remote_process_disconnect(f, gasneti_clock_ns());
        remote_process_drop_attempt(f);
        remote_process_set_gone(f);
        shca_remote_process_put(f);
        f = shca_remote_process_find(who->host, who->slot);
    }
    if (f) f->who = *who;
    return f;
}

/* An incoming connection is authenticated: accept or reject it. */
static void remote_process_decide(struct shca_conn *c)
{
    struct greet *g = &c->greet;
    struct shca_remote_process *f = remote_process_identify(&g->other);
    bool ours_first = f && f->attempt && f->attempt->state == CONN_GREETING &&
                      !remote_process_is_before(&g->other);
    bool stale = f && f->up && f->up->confirmed && g->hello.serial < f->serial;
    if (!f || ours_first || stale) {
        greet_reject(g, WIRE_BUSY);
        remote_process_send_greeting(c);
        if (f) shca_remote_process_put(f);
        return;
    }
    uint32_t serial = (f->serial > g->hello.serial ? f->serial : g->hello.serial) + 1;
    remote_process_drop_attempt(f);
    if (f->up) remote_process_disconnect(f, gasneti_clock_ns());
    greet_welcome(g, serial);
    remote_process_send_greeting(c);
    remote_process_set_up(f, c, serial);
    shca_remote_process_put(f); /* the connection keeps F alive */
}

static void remote_process_report_failure(const struct shca_conn *c)
{
    static const char *const words[] = {
        [WIRE_OTHER_LIB] = "uses another version of libsofthca; use one version in a job",
        [WIRE_OTHER_HOSTS] = "has another SOFTHCA_HOSTS; all must have the same list",
        [WIRE_OTHER_SECRET] = "has another SOFTHCA_SECRET",
        [WIRE_NOT_ME] = "and this one assign the entries of SOFTHCA_HOSTS to different hosts",
        [WIRE_NOT_YOU] = "and this one assign the entries of SOFTHCA_HOSTS to different hosts",
    };
    static unsigned reported;
    const struct greet *g = &c->greet;
    char text[64];
    if (g->reason == WIRE_BUSY || reported++ >= 5) return;
    shca_say("a process at %s (host %u, %s) %s", shca_address_text(&c->address, text),
             g->other.host + 1, remote_process_name_of(g->other.host), words[g->reason]);
}

/* Confirms WELCOME: the acceptor marks the connection confirmed on the first frame. */
static void remote_process_confirm(struct shca_conn *c)
{
    uint8_t header[WIRE_REQUEST_HEADER];
    struct wire_frame f = {.type = WIRE_ACK};
    struct iovec iov = {header, wire_put(&f, header)};
    shca_tcp_send(c, &iov, 1, iov.iov_len);
}

static bool remote_process_welcomed(struct shca_conn *c)
{
    struct shca_remote_process *f = c->process;
    if (f->who.nonce && f->who.nonce != c->greet.other.nonce) {
        remote_process_set_gone(f);
        return false;
    }
    f->who = c->greet.other;
    f->attempt = NULL;
    remote_process_confirm(c);
    remote_process_set_up(f, c, c->greet.serial);
    return true;
}

/* Handles a frame of the greeting. False: close the connection. */
bool shca_remote_process_greeting(struct shca_conn *c, const struct wire_frame *f,
                                  const uint8_t *payload)
{
    struct greet *g = &c->greet;
    if (!greet_on_frame(g, &shca_wire.self, f, payload)) return false;
    if (f->type == WIRE_HELLO && g->state == GREET_AWAITS_PROOF &&
        (g->other.host >= shca_fabric()->names.n ||
         !remote_process_is_listed(&c->address, g->other.host)))
        greet_reject(g, WIRE_NOT_YOU);
    if (g->state == GREET_PROVEN) remote_process_decide(c);
    remote_process_send_greeting(c);
    if (g->state == GREET_FAILED) {
        remote_process_report_failure(c);
        return false;
    }
    return g->state != GREET_WELCOME || c->state == CONN_UP || remote_process_welcomed(c);
}

/* C, in any state, has ended or must end. */
void shca_remote_process_lost(struct shca_conn *c)
{
    struct shca_remote_process *f = c->process;
    if (f && f->up == c) {
        remote_process_disconnect(f, gasneti_clock_ns());
        shca_remote_process_release(f);
    } else if (f && f->attempt == c)
        remote_process_retry_later(f);
    else
        shca_tcp_close(c);
}

/* Gives up an attempt that takes too long. While the other kernel acknowledges and only the process
 * does not answer, because it is stopped for example, the way to it does not count as lost, up to a
 * limit. */
static void remote_process_check_attempt(struct shca_remote_process *f, uint64_t now)
{
    struct shca_conn *c = f->attempt;
    bool greeting = c->state == CONN_GREETING;
    if (greeting && shca_tcp_silence(c, now) == 0) {
        if (!f->unanswered_since) f->unanswered_since = now;
        if (now - f->unanswered_since < unanswered_limit) f->down_since = now;
    }
    if (now - c->since > (greeting ? greet_timeout : connect_timeout))
        remote_process_retry_later(f);
}

static void remote_process_check_connection(struct shca_remote_process *f, uint64_t now)
{
    uint64_t silence = shca_tcp_silence(f->up, now);
    if (silence > silence_limit) remote_process_disconnect(f, now - silence);
}

static void remote_process_tick(struct shca_remote_process *f, uint64_t now)
{
    f->wake = REMOTE_NEVER;
    if (f->attempt) remote_process_check_attempt(f, now); /* first: it may move down_since */
    bool busy = shca_tcp_send_tick(f) || now - f->wanted < wanted_for;
    if (f->gone) return;
    if (busy || f->attempt) shca_remote_process_wake(f, now + look_every);
    if (f->up && busy) remote_process_check_connection(f, now);
    if (!busy) f->down_since = 0;
    if (f->up || !busy) return;
    if (!f->down_since) f->down_since = now;
    if (!f->attempt && now >= f->retry_at) remote_process_dial(f);
}

/* Closes incoming connections whose greeting takes too long; returns when the next is due. */
static uint64_t remote_process_check_incoming(uint64_t now)
{
    uint64_t wake = REMOTE_NEVER;
    for (struct shca_conn *c = shca_wire.conns, *next; c; c = next) {
        next = c->next;
        if (c->process || c->state != CONN_GREETING) continue;
        uint64_t end = c->since + greet_timeout;
        if (now >= end)
            shca_tcp_close(c);
        else if (end < wake)
            wake = end;
    }
    return wake;
}

uint64_t shca_remote_process_tick(uint64_t now)
{
    shca_wire.wake = REMOTE_NEVER;
    uint64_t wake = remote_process_check_incoming(now);
    for (uint32_t slot = 0; slot < SHCA_SLOTS; slot++)
        for (struct shca_remote_process *f = shca_wire.process[slot], *next; f; f = next) {
            next = f->next;
            if (atomic_exchange(&f->kicked, false) || now >= f->wake) remote_process_tick(f, now);
            if (f->wake < wake) wake = f->wake;
            shca_remote_process_release(f);
        }
    return wake < shca_wire.wake ? wake : shca_wire.wake;
}

/* At exit: sends answers that are due, so that peers learn what was executed. */
static __attribute__((destructor)) void remote_process_flush_at_exit(void)
{
    struct timespec limit;
    if (shca_wire.epoll < 0) return;
    clock_gettime(CLOCK_REALTIME, &limit);
    limit.tv_sec++;
    if (pthread_mutex_timedlock(&shca_wire.lock, &limit) != 0) return;
    for (uint32_t slot = 0; slot < SHCA_SLOTS; slot++)
        for (struct shca_remote_process *f = shca_wire.process[slot]; f; f = f->next)
            shca_tcp_respond_answer(f);
    pthread_mutex_unlock(&shca_wire.lock);
}
