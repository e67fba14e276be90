/* cno.c - notification objects: creation, query, the agent, the EVDs that belong to one, and its
 * trigger.
 *
 * The state is one word, the EVD that triggered. The thread that changes it from none to an EVD
 * writes to `wake`, and has the agent called. The thread that consumes it clears `wake` first: only
 * between these two steps can a triggered CNO have a `wake` that is not readable.
 */
#include <stdlib.h>
#include <string.h>

#include "other/dapl/src/engine/engine.h"

static const DAT_RETURN no_memory = DAPL_ERROR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_MEMORY);
static const DAT_RETURN bad_cno = DAPL_ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_CNO);

/* ---- Life ---- */

static void cno_destroy(dapl_cno_t *cno)
{
    dapl_os_close(cno->set);
    dapl_os_close(cno->wake);
    pthread_mutex_destroy(&cno->mutex);
    pthread_mutex_destroy(&cno->releasing);
    cno->object.magic = 0;
    free(cno->members);
    free(cno);
}

static DAT_RETURN cno_create(dapl_interface_t *interface, bool fd_form, dapl_cno_t **cno)
{
    dapl_cno_t *made = calloc(1, sizeof *made);
    if (!made) return no_memory;
    made->object = (object_t){
        .provider = interface->attr.provider, .magic = CNO_MAGIC, .interface = interface};
    made->fd_form = fd_form;
    pthread_mutex_init(&made->mutex, NULL);
    pthread_mutex_init(&made->releasing, NULL);
    made->set = dapl_os_set_open();
    made->wake = dapl_os_wake_open();
    if (made->set < 0 || made->wake < 0 || dapl_os_set_add(made->set, made->wake, 0, true)) {
        cno_destroy(made);
        return no_memory;
    }
    atomic_store(&made->shut, atomic_load(&interface->shut));
    interface_add(interface, &interface->cnos, &made->object);
    *cno = made;
    return DAT_SUCCESS;
}

DAT_RETURN dapl_cno_create(dapl_interface_t *interface, DAT_OS_WAIT_PROXY_AGENT agent,
                           dapl_cno_t **cno)
{
    if (!cno) return DAPL_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3);
    DAT_RETURN result = cno_create(interface, false, cno);
    if (result == DAT_SUCCESS && agent.proxy_agent_func) {
        result = dapl_cno_modify_agent(*cno, agent);
        if (result != DAT_SUCCESS) dapl_cno_free(*cno);
    }
    return result;
}

DAT_RETURN dapl_cno_fd_create(dapl_interface_t *interface, DAT_FD *fd, dapl_cno_t **cno)
{
    if (!fd) return DAPL_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
    if (!cno) return DAPL_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3);
    DAT_RETURN result = cno_create(interface, true, cno);
    if (result == DAT_SUCCESS) *fd = (*cno)->set;
    return result;
}

DAT_RETURN dapl_cno_free(dapl_cno_t *cno)
{
    if (!cno_valid(cno)) return bad_cno;
    pthread_mutex_lock(&cno->mutex);
    bool used = cno->nmembers > 0;
    pthread_mutex_unlock(&cno->mutex);
    if (used || atomic_load(&cno->waiters[0]) || atomic_load(&cno->waiters[1]))
        return DAPL_ERROR(DAT_INVALID_STATE, DAT_INVALID_STATE_CNO_IN_USE);
    helper_forget_cno(cno);
    agent_await_calls(cno);
    agent_forget_cno(cno);
    interface_remove(cno->object.interface, &cno->object.interface->cnos, &cno->object);
    cno_destroy(cno);
    return DAT_SUCCESS;
}

DAT_RETURN dapl_cno_query(dapl_cno_t *cno, DAT_CNO_PARAM_MASK mask, DAT_CNO_PARAM *param)
{
    if (!cno_valid(cno)) return bad_cno;
    if (!param) return DAPL_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3);
    (void)mask; /* values of the mask overlap in the DAT headers: everything is reported */
    memset(param, 0, sizeof *param);
    param->ia_handle = cno->object.interface->attr.ia_handle;
    pthread_mutex_lock(&cno->mutex);
    if (cno->fd_form) {
        param->proxy_type = DAT_PROXY_TYPE_FD;
        param->proxy.fd = cno->set;
    } else if (cno->agent.proxy_agent_func) {
        param->proxy_type = DAT_PROXY_TYPE_AGENT;
        param->proxy.agent = cno->agent;
    } else {
        param->proxy_type = DAT_PROXY_TYPE_NONE;
    }
    pthread_mutex_unlock(&cno->mutex);
    return DAT_SUCCESS;
}

/* ---- Trigger ---- */

void cno_set_triggered(dapl_cno_t *cno, dapl_evd_t *evd, taken_t *agent)
{
    if (atomic_exchange(&cno->triggered, evd)) return;
    cno_take_agent(cno, agent);
    dapl_os_wake(cno->wake);
}

void cno_release(dapl_cno_t *cno)
{
    taken_t agent = {.cno = NULL};
    pthread_mutex_lock(&cno->releasing);
    uint32_t epoch = atomic_fetch_add(&cno->epoch, 1);
    for (unsigned round = 0; atomic_load(&cno->waiters[epoch & 1]); round++) {
        dapl_os_wake(cno->wake);
        dapl_os_yield(round);
    }
    dapl_os_clear(cno->wake);
    if (atomic_load(&cno->triggered)) dapl_os_wake(cno->wake);
    pthread_mutex_unlock(&cno->releasing);
    cno_take_agent(cno, &agent);
    agent_call(&agent, NULL);
}

/* ---- The EVDs that belong to it ---- */

static uint64_t key_of(const dapl_cno_t *cno, const dapl_evd_t *evd)
{
    return (uint64_t)cno->members[evd->member - 1].generation << 32 | evd->member;
}

/* A free entry of `members`, counted from 1; 0 without memory. */
static uint32_t free_slot(dapl_cno_t *cno)
{
    for (uint32_t i = 0; i < cno->room; i++)
        if (!cno->members[i].evd) return i + 1;
    uint32_t room = cno->room ? cno->room * 2 : 4;
    member_t *members = realloc(cno->members, room * sizeof *members);
    if (!members) return 0;
    memset(members + cno->room, 0, (room - cno->room) * sizeof *members);
    cno->members = members;
    uint32_t slot = cno->room + 1;
    cno->room = room;
    return slot;
}

bool cno_attach(dapl_cno_t *cno, dapl_evd_t *evd, bool watch)
{
    pthread_mutex_lock(&cno->mutex);
    evd->member = free_slot(cno);
    bool done = evd->member != 0;
    if (done && evd->fd >= 0)
        done = dapl_os_set_add(cno->set, evd->fd, key_of(cno, evd), watch) == 0;
    if (done) {
        cno->members[evd->member - 1].evd = evd;
        cno->nmembers++;
        evd->pins = 0;
        evd->dirty = false;
    }
    pthread_mutex_unlock(&cno->mutex);
    return done;
}

void cno_watch(dapl_cno_t *cno, dapl_evd_t *evd, bool watch)
{
    pthread_mutex_lock(&cno->mutex);
    dapl_os_set_watch(cno->set, evd->fd, key_of(cno, evd), watch);
    pthread_mutex_unlock(&cno->mutex);
}

void cno_detach(dapl_cno_t *cno, dapl_evd_t *evd, bool freed)
{
    pthread_mutex_lock(&cno->mutex);
    member_t *member = &cno->members[evd->member - 1];
    member->evd = NULL;
    member->generation++;
    if (evd->fd >= 0) dapl_os_set_remove(cno->set, evd->fd);
    if (evd->dirty) atomic_fetch_sub(&cno->ndirty, 1);
    evd->dirty = false;
    for (unsigned round = 0; evd->pins; round++) {
        pthread_mutex_unlock(&cno->mutex);
        dapl_os_yield(round);
        pthread_mutex_lock(&cno->mutex);
    }
    cno->nmembers--;
    dapl_evd_t *other = NULL;
    for (uint32_t i = 0; i < cno->room && !other; i++) other = cno->members[i].evd;
    bool last = freed && cno->nmembers == 0;
    /* A trigger of this EVD may have replaced that of another one, which is then named instead. */
    dapl_evd_t *triggered = evd;
    atomic_compare_exchange_strong(&cno->triggered, &triggered, other);
    pthread_mutex_unlock(&cno->mutex);
    if (last) cno_release(cno);
}
