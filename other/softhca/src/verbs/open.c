/* open.c - open contexts, and memory of softhca_alloc().
 *
 * The devices are in port.c; whether programs see them is decided in device_select.c.
 */
#include "other/softhca/src/datapath/datapath.h"
#include "other/softhca/src/device/device.h"
#include "other/softhca/src/settings/settings.h"
#include "other/softhca/src/faults/inject.h"
#include "other/softhca/src/interpose/edge.h"
#include "other/softhca/src/objects/verbs.h"
#include "other/softhca/src/segment/segment.h"
#include "other/softhca/include/softhca.h"

#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <fcntl.h>
#include <unistd.h>

static pthread_mutex_t contexts_lock = PTHREAD_MUTEX_INITIALIZER;
static struct shca_context *contexts[256]; /* open contexts */
static struct shca_context *inherited;     /* inherited contexts, in a forked child */
static _Atomic bool removed;               /* a device was removed */

bool shca_is_device(const struct ibv_device *d)
{
    uintptr_t at = (uintptr_t)d - (uintptr_t)shca_devices;
    return at < sizeof shca_devices;
}

SHCA_EXPORT void *softhca_alloc(size_t bytes)
{
    if (shca_enabled() && shca_start() == 0) return shca_arena_alloc(bytes);
    /* softhca_free() needs the size: it is kept in a page in front. */
    char *p = mmap(NULL, bytes + 4096, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (p == MAP_FAILED) {
        errno = ENOMEM;
        return NULL;
    }
    *(size_t *)p = bytes + 4096;
    return p + 4096;
}

SHCA_EXPORT uint32_t *softhca_sleeper(void (*wake)(uint32_t number))
{
    if (!shca_enabled() || shca_start() != 0) return NULL;
    shca.wake = wake;
    return (uint32_t *)&shca.h->sleeper;
}

SHCA_EXPORT void softhca_free(void *block)
{
    if (!block || shca_arena_free(block)) return;
    char *p = (char *)block - 4096;
    munmap(p, *(size_t *)p);
}

static void device_fill_ops(struct shca_context *c)
{
    struct ibv_context_ops *ops = &c->v.context.ops;
    ops->poll_cq = shca_poll_cq;
    ops->req_notify_cq = shca_req_notify;
    ops->post_send = shca_post_send;
    ops->post_recv = shca_post_recv;
    ops->post_srq_recv = shca_post_srq_recv;
    ops->alloc_mw = shca_alloc_mw;
    ops->bind_mw = shca_bind_mw;
    ops->dealloc_mw = shca_dealloc_mw;
    c->v.query_port = shca_query_port;
    c->v.query_device_ex = shca_query_device_ex;
    c->v.create_qp_ex = shca_create_qp_ex;
    c->v.create_cq_ex = shca_create_cq_ex;
    c->v.alloc_td = shca_alloc_td;
    c->v.dealloc_td = shca_dealloc_td;
    c->v.alloc_parent_domain = shca_alloc_parent_domain;
    c->v.modify_cq = shca_modify_cq;
    c->v.advise_mr = shca_advise_mr;
    c->v.create_srq_ex = shca_create_srq_ex;
    c->v.get_srq_num = shca_get_srq_num;
    c->v.open_xrcd = shca_open_xrcd;
    c->v.close_xrcd = shca_close_xrcd;
    c->v.open_qp = shca_open_qp;
    shca_inject_ops(ops);
}

/* As if the device had been unplugged: its objects fail, but its events are still delivered. */
void shca_device_remove(struct shca_device *d)
{
    struct ibv_async_event e = {.event_type = IBV_EVENT_DEVICE_FATAL};
    if (atomic_exchange(&d->gone, true)) return;
    pthread_mutex_lock(&contexts_lock);
    removed = true;
    for (int i = 0; i < 256; i++) {
        if (!contexts[i] || contexts[i]->v.context.device != &d->base) continue;
        shca_context_disable(contexts[i]);
        contexts[i]->removed = true;
    }
    pthread_mutex_unlock(&contexts_lock);
    shca_port_retune();
    shca_raise_on_device(d, &e);
}

void shca_raise_on_device(const struct shca_device *d, const struct ibv_async_event *e)
{
    pthread_mutex_lock(&contexts_lock);
    for (int i = 0; i < 256; i++)
        if (contexts[i] && contexts[i]->v.context.device == &d->base)
            shca_raise(&contexts[i]->v.context, e);
    pthread_mutex_unlock(&contexts_lock);
}

/* The open context of a verbs object of any kind, which its first field points to; or NULL. */
static struct shca_context *device_open_context(const void *object)
{
    const void *first = *(const void *const *)object;
    struct shca_context *found = NULL;
    pthread_mutex_lock(&contexts_lock);
    for (int i = 0; i < 256 && !found; i++)
        if (contexts[i] && first == &contexts[i]->v.context) found = contexts[i];
    pthread_mutex_unlock(&contexts_lock);
    return found;
}

/* Whether OBJECT, of any kind, belongs to the software device: every verbs object begins with its
 * context, and a context with its device. */
bool shca_is_object(const void *object)
{
    return shca_is_device(*(const void *const *)object) || device_open_context(object);
}

/* Whether every call on OBJECT must fail: the parent of this process made it, or its device was
 * removed. */
bool shca_dead(const void *object)
{
    if (!object || (!inherited && !removed)) return false;
    const void *first = *(const void *const *)object;
    if (shca_is_device(first)) {
        const struct shca_context *c = shca_context((struct ibv_context *)object);
        return c->inherited || c->removed;
    }
    const struct shca_context *c = inherited;
    while (c && first != &c->v.context) c = c->next;
    if (!c && removed && (c = device_open_context(object))) return c->removed;
    return c != NULL;
}

void shca_contexts_in_child(void)
{
    pthread_mutex_init(&contexts_lock, NULL);
    for (int i = 0; i < 256; i++) {
        if (!contexts[i]) continue;
        shca_context_disable(contexts[i]);
        contexts[i]->inherited = true;
        contexts[i]->next = inherited;
        inherited = contexts[i];
        contexts[i] = NULL;
    }
}

static int device_set_context(struct shca_context *c, struct shca_context *in_place_of)
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
    int error = shca_settings_good() ? shca_inject_start() : EINVAL;
    if (!error) error = ((struct shca_device *)d)->gone ? EIO : shca_start();
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
    if (base->cmd_fd < 0) base->cmd_fd = eventfd(0, EFD_CLOEXEC); /* any descriptor */
    base->async_fd = eventfd(0, EFD_CLOEXEC | EFD_SEMAPHORE);
    pthread_mutex_init(&base->mutex, NULL);
    device_fill_ops(c);
    error = base->cmd_fd < 0 || base->async_fd < 0 ? errno : device_set_context(c, NULL);
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
    device_set_context(NULL, c);
    struct ibv_async_event e;
    while (c->events && shca_get_async_event(base, &e) == 0) continue;
    close(base->cmd_fd);
    close(base->async_fd);
    free(c);
    return 0;
}
