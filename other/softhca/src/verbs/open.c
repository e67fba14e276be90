/* open.c - opening and closing a context.
 *
 * The devices are in port.c; whether programs see them is decided in device_select.c.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "other/softhca/src/faults/inject.h"
#include "other/softhca/src/objects/context.h"
#include "other/softhca/src/objects/event.h"
#include "other/softhca/src/objects/mr.h"
#include "other/softhca/src/objects/mw.h"
#include "other/softhca/src/objects/xrc.h"
#include "other/softhca/src/settings/say.h"
#include "other/softhca/src/settings/settings.h"
#include "other/softhca/src/verbs/verbs.h"

static void open_fill_ops(struct shca_context *c)
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
    open_fill_ops(c);
    error = base->cmd_fd < 0 || base->async_fd < 0 ? errno : shca_context_enter(c);
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
    shca_context_leave(c);
    struct ibv_async_event e;
    while (c->events && shca_get_async_event(base, &e) == 0) continue;
    close(base->cmd_fd);
    close(base->async_fd);
    free(c);
    return 0;
}
