/* device.c - the device list, whether we are in it, and opening us.
 *
 * Decided once. With SOFTHCA=auto the device shows only when no real device has an active port.
 * Real devices stay in the list as the real library gave them.
 */
#include "object.h"
#include "settings.h"
#include "softhca.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <fcntl.h>
#include <unistd.h>

static struct {
    pthread_once_t once;
    bool enabled;
    char why[160];
} decision = {PTHREAD_ONCE_INIT, false, ""};

static pthread_mutex_t contexts_lock = PTHREAD_MUTEX_INITIALIZER;
static struct shca_context *contexts[256]; /* open ones, for the child of a fork to disable */

bool shca_is_device(const struct ibv_device *d)
{
    uintptr_t at = (uintptr_t)d - (uintptr_t)shca_devices;
    return at < sizeof shca_devices;
}

static struct ibv_device **real_list(int *n)
{
    struct ibv_device **(*get)(int *) = shca_real("ibv_get_device_list");
    *n = 0;
    return get ? get(n) : NULL;
}

static void real_free(struct ibv_device **list)
{
    void (*give)(struct ibv_device **) = shca_real("ibv_free_device_list");
    if (list && give) give(list);
}

static int active_port(struct ibv_device *d)
{
    struct ibv_context *(*open)(struct ibv_device *) = shca_real("ibv_open_device");
    int (*close)(struct ibv_context *) = shca_real("ibv_close_device");
    int (*query)(struct ibv_context *, struct ibv_device_attr *) = shca_real("ibv_query_device");
    struct ibv_context *c = open && close && query ? open(d) : NULL;
    struct ibv_device_attr attr;
    int found = 0;
    if (c && query(c, &attr) == 0)
        for (int port = 1; port <= attr.phys_port_cnt && !found; port++) {
            struct ibv_port_attr p;
            struct verbs_context *v = verbs_get_ctx_op(c, query_port);
            if (v && v->query_port(c, port, &p, sizeof p) == 0 && p.state == IBV_PORT_ACTIVE)
                found = port;
        }
    if (c) close(c);
    return found;
}

/* "software device softhca0", or how many. */
static const char *our_devices(char *text, size_t room)
{
    uint32_t n = shca_inventory()->devices;
    if (n == 1)
        snprintf(text, room, "software device softhca0");
    else
        snprintf(text, room, "software devices softhca0 to softhca%u", n - 1);
    return text;
}

static void decide(void)
{
    char us[64];
    int64_t wish = shca_settings()->device;
    if (wish != SHCA_DEVICE_AUTO) {
        decision.enabled = wish == SHCA_DEVICE_ON;
        if (decision.enabled)
            snprintf(decision.why, sizeof decision.why, "%s (SOFTHCA=on)",
                     our_devices(us, sizeof us));
        else
            snprintf(decision.why, sizeof decision.why, "real devices only (SOFTHCA=off)");
        return;
    }
    int n, port = 0;
    struct ibv_device **list = real_list(&n);
    for (int i = 0; i < n && !port; i++)
        if ((port = active_port(list[i])))
            snprintf(
                decision.why, sizeof decision.why,
                "real devices only (%s port %d is active; SOFTHCA=on adds the software device)",
                list[i]->name, port);
    real_free(list);
    decision.enabled = port == 0;
    if (decision.enabled)
        snprintf(decision.why, sizeof decision.why, "%s (%s; processes of this host only)",
                 our_devices(us, sizeof us),
                 n ? "no real device has an active port" : "no real device found");
}

bool shca_enabled(void)
{
    pthread_once(&decision.once, decide);
    return decision.enabled;
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

SHCA_EXPORT void *softhca_alloc(size_t bytes)
{
    if (shca_enabled() && shca_start() == 0) return shca_arena_alloc(bytes);
    /* The size must be known again at free: keep it in a page in front. */
    char *p = mmap(NULL, bytes + 4096, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (p == MAP_FAILED) {
        errno = ENOMEM;
        return NULL;
    }
    *(size_t *)p = bytes + 4096;
    return p + 4096;
}

SHCA_EXPORT void softhca_free(void *block)
{
    if (!block || shca_arena_free(block)) return;
    char *p = (char *)block - 4096;
    munmap(p, *(size_t *)p);
}

/* The program's list: before it, at [-1], hangs the real one, whose devices it shares. */
struct ibv_device **shca_list(int *num)
{
    int n;
    struct ibv_device **real = real_list(&n);
    int ours = shca_inventory()->devices;
    struct ibv_device **all = calloc(n + ours + 2, sizeof *all);
    if (!all) {
        real_free(real);
        errno = ENOMEM;
        return NULL;
    }
    all[0] = (struct ibv_device *)real;
    if (n > 0) memcpy(all + 1, real, n * sizeof *real);
    for (int i = 0; i < ours; i++) all[++n] = &shca_devices[i].base;
    if (num) *num = n;
    errno = 0;
    return all + 1;
}

void shca_list_free(struct ibv_device **list)
{
    real_free((struct ibv_device **)list[-1]);
    free(list - 1);
}

static void fill_ops(struct shca_context *c)
{
    struct ibv_context_ops *ops = &c->v.context.ops;
    ops->poll_cq = shca_poll_cq;
    ops->req_notify_cq = shca_req_notify;
    ops->post_send = shca_post_send;
    ops->post_recv = shca_post_recv;
    c->v.query_port = shca_query_port;
    c->v.query_device_ex = shca_query_device_ex;
    c->v.create_qp_ex = shca_create_qp_ex;
    c->v.create_cq_ex = shca_create_cq_ex;
}

static int poll_nothing(struct ibv_cq *cq, int n, struct ibv_wc *wc)
{
    return -1;
}
static int notify_nothing(struct ibv_cq *cq, int solicited)
{
    return EIO;
}

static int send_nothing(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad)
{
    *bad = wr;
    return EIO;
}

static int recv_nothing(struct ibv_qp *qp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad)
{
    *bad = wr;
    return EIO;
}

/* In the child of a fork the device is the parent's: every data verb fails. */
void shca_disable_contexts(void)
{
    pthread_mutex_init(&contexts_lock, NULL);
    for (int i = 0; i < 256; i++) {
        if (!contexts[i]) continue;
        struct ibv_context_ops *ops = &contexts[i]->v.context.ops;
        ops->poll_cq = poll_nothing;
        ops->req_notify_cq = notify_nothing;
        ops->post_send = send_nothing;
        ops->post_recv = recv_nothing;
    }
}

void shca_raise_on_device(const struct shca_device *d, const struct ibv_async_event *e)
{
    pthread_mutex_lock(&contexts_lock);
    for (int i = 0; i < 256; i++)
        if (contexts[i] && contexts[i]->v.context.device == &d->base)
            shca_raise(&contexts[i]->v.context, e);
    pthread_mutex_unlock(&contexts_lock);
}

static int remember(struct shca_context *c, struct shca_context *in_place_of)
{
    int error = ENOMEM;
    pthread_mutex_lock(&contexts_lock);
    for (int i = 0; i < 256 && error; i++)
        if (contexts[i] == in_place_of) {
            contexts[i] = c;
            error = 0;
        }
    pthread_mutex_unlock(&contexts_lock);
    return error;
}

struct ibv_context *shca_open(struct ibv_device *d)
{
    int error = shca_settings_good() ? shca_start() : EINVAL;
    struct shca_context *c = error ? NULL : calloc(1, sizeof *c);
    if (!c) {
        errno = error ? error : ENOMEM;
        return NULL;
    }
    struct ibv_context *base = &c->v.context;
    c->v.sz = sizeof c->v;
    base->abi_compat = __VERBS_ABI_IS_EXTENDED;
    base->device = d;
    base->num_comp_vectors = 1;
    base->cmd_fd = open("/dev/null", O_RDWR | O_CLOEXEC);
    if (base->cmd_fd < 0) base->cmd_fd = eventfd(0, EFD_CLOEXEC); /* any descriptor will do */
    base->async_fd = eventfd(0, EFD_CLOEXEC | EFD_SEMAPHORE);
    pthread_mutex_init(&base->mutex, NULL);
    fill_ops(c);
    error = base->cmd_fd < 0 || base->async_fd < 0 ? errno : remember(c, NULL);
    if (!error) return base;
    shca_say("cannot open the device: %s", strerror(error));
    if (base->cmd_fd >= 0) close(base->cmd_fd);
    if (base->async_fd >= 0) close(base->async_fd);
    free(c);
    errno = error;
    return NULL;
}

int shca_close(struct ibv_context *base)
{
    struct shca_context *c = shca_context(base);
    remember(NULL, c);
    struct ibv_async_event e;
    while (c->events && shca_get_async_event(base, &e) == 0) continue;
    close(base->cmd_fd);
    close(base->async_fd);
    free(c);
    return 0;
}
