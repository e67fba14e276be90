/* events.c - asynchronous events of the devices: a thread waits for them, keeps those that explain
 * a failure, and ends the job when an event means that the network is lost.
 *
 * A port that goes down may be active again before the transport's retries are exhausted, so the
 * thread waits GASNET_PORT_GRACE for it.  A device, a queue or a completion queue does not recover
 * from a failure.  Other events only explain failures.
 */

#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "core/ib/rail.h"
#include "core/ib/software_device.h"
#include "core/params/params.h"
#include "core/report.h"
#include "other/base/clock.h"
#include "other/base/quiet_thread.h"
#include "other/base/uncancelled.h"

enum { KEPT = 8, STACK = 256 << 10, FIRST_EVENT_MS = 100 };

/* An event that explains failures. */
typedef struct kept {
    const struct net_ib_hca *hca;
    hca_event_t event;
    double since;
} kept_t;

static struct {
    pthread_mutex_t lock;
    kept_t kept[KEPT]; /* oldest first; under lock */
    uint32_t count;
    bool running;
    atomic_bool over;
    int wake_fd; /* wakes the thread */
    pthread_t thread;
} events = {.lock = PTHREAD_MUTEX_INITIALIZER, .wake_fd = -1};

/* --- the events that are kept; the lock is held --- */

/* Drops the events of a port: it is active again, or a newer event replaces them. */
static void forget_port(const struct net_ib_hca *hca, unsigned port)
{
    uint32_t left = 0;
    for (uint32_t i = 0; i < events.count; i++) {
        const kept_t *k = &events.kept[i];
        if (k->hca == hca && k->event.kind == HCA_EVENT_PORT && k->event.port == port) continue;
        events.kept[left++] = *k;
    }
    events.count = left;
}

static void events_keep(const struct net_ib_hca *hca, const hca_event_t *event)
{
    if (event->kind == HCA_EVENT_PORT || event->kind == HCA_EVENT_PORT_ACTIVE)
        forget_port(hca, event->port);
    if (!net_ib_event_advice(event->kind) || events.count == KEPT) return;
    events.kept[events.count++] = (kept_t){.hca = hca, .event = *event, .since = gasneti_clock()};
}

static void collect(void)
{
    hca_event_t event;
    for (uint32_t i = 0; i < net_ib_rails.hcas; i++)
        while (hca_next_event(net_ib_rails.hca[i].hca, &event))
            events_keep(&net_ib_rails.hca[i], &event);
}

/* --- error messages --- */

static const char *quote(const kept_t *kept, char *text, size_t size)
{
    char where[24] = "";
    if (kept->event.port) snprintf(where, sizeof where, " port %u", kept->event.port);
    snprintf(text, size, "%s%s: %s", kept->hca->name, where, kept->event.text);
    return text;
}

/* The event that belongs to a failure may not have arrived yet from the kernel or a thread of
 * libvapi: waits for it, but only once.  The lock is held. */
static void await_first(void)
{
    static bool waited;
    struct pollfd wait[NET_IB_HCAS];
    for (uint32_t i = 0; i < net_ib_rails.hcas; i++)
        wait[i] = (struct pollfd){.fd = hca_events(net_ib_rails.hca[i].hca), .events = POLLIN};
    if (!waited && !events.count) poll(wait, net_ib_rails.hcas, FIRST_EVENT_MS);
    waited = true;
}

const char *net_ib_events_report(char *text, size_t size)
{
    GASNETI_UNCANCELLED;
    char line[256];
    size_t used = 0;
    const char *advice = NULL;
    text[0] = 0;
    if (gasnetc_exit_of_child()) return NULL; /* the thread may have held the lock at the fork */
    pthread_mutex_lock(&events.lock);
    await_first();
    collect();
    if (events.wake_fd >= 0) eventfd_write(events.wake_fd, 1); /* to act on what was collected */
    if (net_ib_software_trouble(line, sizeof line)) {
        used += (size_t)snprintf(text, size, " (%s", line);
        advice = "raise the limit that it names, or run fewer processes on a host";
    }
    for (uint32_t i = 0; i < events.count && used + 2 < size; i++) {
        used += (size_t)snprintf(text + used, size - used, "%s%s", used ? ", " : " (reported by ",
                                 quote(&events.kept[i], line, sizeof line));
        if (!advice) advice = net_ib_event_advice(events.kept[i].event.kind);
    }
    pthread_mutex_unlock(&events.lock);
    if (used > size - 2) used = size - 2;
    snprintf(text + used, size - used, "%s", used ? ")" : "");
    return advice;
}

/* --- the thread that reads asynchronous events --- */

static const struct net_ib_rail *rail_of(const kept_t *kept)
{
    for (uint32_t i = 0; i < net_ib_rails.rails; i++) {
        const struct net_ib_rail *rail = &net_ib_rails.rail[i];
        if (&net_ib_rails.hca[rail->hca] == kept->hca && rail->number == kept->event.port)
            return rail;
    }
    return NULL;
}

/* The time at which the event ends the job; below 0: it does not. */
static double end_of(const kept_t *kept)
{
    switch (kept->event.kind) {
    case HCA_EVENT_DEVICE:
    case HCA_EVENT_OVERFLOW:
    case HCA_EVENT_QUEUE:
        return kept->since;
    case HCA_EVENT_PORT:
        return rail_of(kept) ? kept->since + gasnetc_params.port_grace : -1;
    default:
        return -1;
    }
}

static void end_job(const kept_t *kept)
{
    char text[256], grace[80] = "";
    if (gasneti_ending()) return;
    if (kept->event.kind == HCA_EVENT_PORT)
        snprintf(grace, sizeof grace,
                 ", and was not active again within %.3g s (GASNET_PORT_GRACE)",
                 gasnetc_params.port_grace);
    gasneti_fatal_once("%s%s; %s", quote(kept, text, sizeof text), grace,
                       net_ib_event_advice(kept->event.kind));
}

/* Asks the device: the event for an active port may have been lost. */
static bool is_active_again(const kept_t *kept)
{
    const struct net_ib_rail *rail = kept->event.kind == HCA_EVENT_PORT ? rail_of(kept) : NULL;
    hca_port_t port;
    return rail && hca_query_port(kept->hca->hca, rail->number, &port) && port.active;
}

/* Ends the job if an event requires it.  Returns seconds until the next decision, below 0: none. */
static double decide(void)
{
    double first = -1, now = gasneti_clock();
    for (uint32_t i = 0; i < events.count; i++) {
        const kept_t kept = events.kept[i];
        double end = end_of(&kept);
        if (end < 0) continue;
        if (now < end) {
            if (first < 0 || end - now < first) first = end - now;
        } else if (is_active_again(&kept)) {
            forget_port(kept.hca, kept.event.port);
            return 0;
        } else {
            pthread_mutex_unlock(&events.lock);
            end_job(&kept);
            pthread_mutex_lock(&events.lock);
            return -1; /* the job was ending already */
        }
    }
    return first;
}

static void *events_run(void *unused)
{
    struct pollfd wait[NET_IB_HCAS + 1] = {{.fd = events.wake_fd, .events = POLLIN}};
    for (uint32_t i = 0; i < net_ib_rails.hcas; i++)
        wait[1 + i] = (struct pollfd){.fd = hca_events(net_ib_rails.hca[i].hca), .events = POLLIN};
    (void)unused;
    while (!atomic_load(&events.over)) {
        eventfd_t rung;
        pthread_mutex_lock(&events.lock);
        collect();
        double left = decide();
        pthread_mutex_unlock(&events.lock);
        poll(wait, net_ib_rails.hcas + 1, left < 0 ? -1 : (int)(left * 1000) + 1);
        if (wait[0].revents) eventfd_read(events.wake_fd, &rung);
        for (uint32_t i = 1; i <= net_ib_rails.hcas; i++)
            if (wait[i].revents & ~POLLIN)
                wait[i].fd = -1; /* poll would return at once from now on */
    }
    return NULL;
}

void net_ib_events_open(void)
{
    char unused[1];
    net_ib_software_trouble(unused, sizeof unused); /* from now on it is kept for messages */
    events.wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (events.wake_fd < 0) return;
    events.running = gasneti_quiet_thread(&events.thread, STACK, events_run, NULL) == 0;
}

void net_ib_events_close(void)
{
    if (events.running) {
        atomic_store(&events.over, true);
        eventfd_write(events.wake_fd, 1);
        pthread_join(events.thread, NULL);
    }
    if (events.wake_fd >= 0) close(events.wake_fd);
    events.running = false;
    atomic_store(&events.over, false);
    events.wake_fd = -1;
    events.count = 0;
}
