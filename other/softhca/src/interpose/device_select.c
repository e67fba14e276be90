/* device_select.c - which devices programs see: whether the software device is in the list, and the
 * lists that programs hold.
 *
 * With SOFTHCA=auto the software device is shown only when no real device but iWARP has an active
 * port, and this user may open all of them: otherwise their owner may expect the program to use
 * them. iWARP needs a connection manager, which few programs use. Real devices stay in the list as
 * the real library returned them. No lock is held during calls of that library.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "other/base/environment.h"
#include "other/softhca/include/softhca.h"
#include "other/softhca/src/interpose/interpose.h"
#include "other/softhca/src/settings/settings.h"

/* Whether programs see the software device, and why. Written once, by the first thread asking. */
struct decision {
    bool enabled;
    char why[160];
};
static struct decision decision;
static _Atomic int decided; /* 1 while it is being written, 2 once it is valid */
static _Thread_local bool deciding;

/* A list returned to the program, with the real list whose devices it contains. The array is a
 * block of malloc of its own, as that of libibverbs is: some programs give it to free(). */
struct list {
    struct list *next;
    struct ibv_device **real;
    struct ibv_device **device;
};
static pthread_mutex_t lists_lock = PTHREAD_MUTEX_INITIALIZER;
static struct list *lists;

static struct ibv_device **device_select_real_list(int *n)
{
    struct ibv_device **(*get)(int *) = shca_real_verbs("ibv_get_device_list");
    *n = 0;
    return get ? get(n) : NULL;
}

static void device_select_real_free(struct ibv_device **list)
{
    void (*give)(struct ibv_device **) = shca_real_verbs("ibv_free_device_list");
    if (list && give) give(list);
}

/* Providers older than verbs_context have no query_port operation there. */
static bool device_select_is_active(struct ibv_context *c, int port)
{
    int (*query)(struct ibv_context *, uint8_t, void *) = shca_real_verbs("ibv_query_port");
    struct verbs_context *v = verbs_get_ctx_op(c, query_port);
    struct ibv_port_attr p = {0};
    int error = v ? v->query_port(c, port, &p, sizeof p) : query ? query(c, port, &p) : ENOSYS;
    return error == 0 && p.state == IBV_PORT_ACTIVE;
}

/* libibverbs may report a device file that this user may not open as absent. */
struct ibv_context *shca_open_real(struct ibv_device *d)
{
    struct ibv_context *(*open)(struct ibv_device *) = shca_real_verbs("ibv_open_device");
    struct ibv_context *c = open ? open(d) : NULL;
    char path[sizeof "/dev/infiniband/" + sizeof d->dev_name];
    if (c) return c;
    int error = open ? errno : ENOSYS;
    snprintf(path, sizeof path, "/dev/infiniband/%s", d->dev_name);
    if (*d->dev_name && access(path, R_OK | W_OK) && errno == EACCES) error = EACCES;
    errno = error;
    return NULL;
}

/* An active port of D, or 0: a device whose queue pairs a connection manager must connect has none
 * for most programs. *DENIED: this user may not open it. */
static int device_select_active_port(struct ibv_device *d, bool *denied)
{
    *denied = false;
    if (d->transport_type == IBV_TRANSPORT_IWARP) return 0;
    int (*close)(struct ibv_context *) = shca_real_verbs("ibv_close_device");
    int (*query)(struct ibv_context *, struct ibv_device_attr *) =
        shca_real_verbs("ibv_query_device");
    struct ibv_context *c = close && query ? shca_open_real(d) : NULL;
    *denied = !c && (errno == EACCES || errno == EPERM);
    struct ibv_device_attr attr;
    int found = 0;
    if (c && query(c, &attr) == 0)
        for (int port = 1; port <= attr.phys_port_cnt && !found; port++)
            if (device_select_is_active(c, port)) found = port;
    if (c) close(c);
    return found;
}

/* for messages: the range of names */
static const char *device_select_software(char *text, size_t room)
{
    uint32_t n = shca_inventory()->devices;
    if (n == 1)
        snprintf(text, room, "software device softhca0");
    else
        snprintf(text, room, "software devices softhca0 to softhca%u", n - 1);
    return text;
}

static void device_select_automatic(struct decision *d)
{
    static const char only[] = "real devices only (%s%s; SOFTHCA=on adds the software device)";
    char software[64], active[32];
    const char *denied = NULL;
    int n, port = 0;
    struct ibv_device **list = device_select_real_list(&n);
    bool iwarp = false;
    for (int i = 0; i < n && !port; i++) {
        bool no_permission;
        port = device_select_active_port(list[i], &no_permission);
        snprintf(active, sizeof active, " port %d is active", port);
        if (port) snprintf(d->why, sizeof d->why, only, list[i]->name, active);
        if (no_permission && !denied) denied = list[i]->name;
        iwarp |= list[i]->transport_type == IBV_TRANSPORT_IWARP;
    }
    d->enabled = !port && !denied;
    if (d->enabled)
        snprintf(d->why, sizeof d->why, "%s (%s; processes of this host only)",
                 device_select_software(software, sizeof software),
                 iwarp ? "no real device but iWARP has an active port"
                 : n   ? "no real device has an active port"
                       : "no real device found");
    else if (!port)
        snprintf(d->why, sizeof d->why, only, denied, ": no permission to open it");
    device_select_real_free(list);
}

static void device_select_shown(struct decision *d)
{
    char software[64];
    int64_t setting = shca_settings()->device;
    d->enabled = setting == SHCA_DEVICE_ON;
    if (setting == SHCA_DEVICE_AUTO)
        device_select_automatic(d);
    else if (d->enabled)
        snprintf(d->why, sizeof d->why, "%s (SOFTHCA=on)",
                 device_select_software(software, sizeof software));
    else
        snprintf(d->why, sizeof d->why, "real devices only (SOFTHCA=off)");
}

/* The mpi spawner hides the device until it knows the hosts of the job. Answers given meanwhile are
 * not kept. */
static bool device_select_is_hidden(void)
{
    return gasneti_variable("GASNET_SPAWN_HIDDEN_DEVICE") != NULL;
}

/* The real library is called without a lock, and its own calls that come back here meanwhile see no
 * software device. Several threads may ask at once; the first result is kept. */
bool shca_enabled(void)
{
    if (decided < 2) {
        struct decision d = {0};
        int undecided = 0;
        if (deciding || device_select_is_hidden()) return false;
        deciding = true;
        device_select_shown(&d);
        deciding = false;
        if (atomic_compare_exchange_strong(&decided, &undecided, 1)) {
            decision = d;
            decided = 2;
        }
        while (decided < 2) sched_yield();
    }
    return decision.enabled;
}

/* At load time, before a fork could find anything half done. */
__attribute__((constructor)) static void device_select_begin(void)
{
    shca_watch_forks();
}

/* In the child of a fork: makes the lock and the decision usable, which another thread of the
 * parent may have held or been writing. */
void shca_device_select_in_child(void)
{
    if (decided == 1) decided = 0;
    pthread_mutex_init(&lists_lock, NULL);
}

SHCA_EXPORT int softhca_active(void)
{
    return shca_enabled();
}

SHCA_EXPORT const char *softhca_describe(void)
{
    shca_enabled();
    return decision.why;
}

/* lists_lock held. */
static struct list *device_select_unlink(struct ibv_device **array)
{
    struct list **at = &lists;
    while (*at && (*at)->device != array) at = &(*at)->next;
    struct list *l = *at;
    if (l) *at = l->next;
    return l;
}

/* An earlier list whose array is at the same address was given to free(). Its devices may be in use
 * still, so its real list stays. */
static void device_select_enter(struct list *l)
{
    pthread_mutex_lock(&lists_lock);
    free(device_select_unlink(l->device));
    l->next = lists;
    lists = l;
    pthread_mutex_unlock(&lists_lock);
}

struct ibv_device **shca_list(int *num)
{
    int n;
    struct ibv_device **real = device_select_real_list(&n);
    int ours = shca_inventory()->devices;
    struct list *l = calloc(1, sizeof *l);
    struct ibv_device **array = l ? calloc(n + ours + 1, sizeof *array) : NULL;
    if (!array) {
        free(l);
        device_select_real_free(real);
        errno = ENOMEM;
        return NULL;
    }
    l->real = real;
    l->device = array;
    if (n > 0) memcpy(array, real, n * sizeof *real);
    for (int i = 0; i < ours; i++) array[n++] = &shca_devices[i].base;
    device_select_enter(l);
    if (num) *num = n;
    errno = 0;
    return array;
}

/* Frees a list of devices.  False: it is not from shca_list. */
bool shca_list_free(struct ibv_device **list)
{
    pthread_mutex_lock(&lists_lock);
    struct list *l = device_select_unlink(list);
    pthread_mutex_unlock(&lists_lock);
    if (!l) return false;
    device_select_real_free(l->real);
    free(l);
    free(list);
    return true;
}
