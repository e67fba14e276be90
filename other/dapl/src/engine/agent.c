/* agent.c - proxy agents: set, taken by what triggers the CNO, and called.
 *
 * An agent is called without a lock, in any thread, and may free the CNO and its EVDs.  A thread
 * that frees them elsewhere waits for such calls (agent_await_calls), of which each thread knows
 * its own.
 */
#include "other/dapl/src/engine/engine.h"

/* The calls that this thread is inside, the innermost first. */
static _Thread_local struct call {
    const dapl_cno_t *cno; /* NULL: it was freed in the call */
    struct call *outer;
} * calls;

DAT_RETURN dapl_cno_modify_agent(dapl_cno_t *cno, DAT_OS_WAIT_PROXY_AGENT agent)
{
    if (!cno_valid(cno)) return DAPL_ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_CNO);
    if (cno->fd_form) return (DAT_RETURN)DAT_CLASS_ERROR | DAT_MODEL_NOT_SUPPORTED;
    pthread_mutex_lock(&cno->mutex);
    cno->agent = agent;
    atomic_store(&cno->has_agent, agent.proxy_agent_func != NULL);
    pthread_mutex_unlock(&cno->mutex);
    if (!agent.proxy_agent_func) return DAT_SUCCESS;
    /* Completions do not call anybody by themselves: a thread must look. */
    DAT_RETURN result = helper_watch_cno(cno);
    if (result != DAT_SUCCESS) return result;
    taken_t taken = {.cno = NULL};
    dapl_evd_t *evd = cno_rearm(cno, true, &taken);
    agent_call(&taken, evd);
    return DAT_SUCCESS;
}

void cno_take_agent(dapl_cno_t *cno, taken_t *agent)
{
    if (!atomic_load(&cno->has_agent)) return;
    pthread_mutex_lock(&cno->mutex);
    if (cno->agent.proxy_agent_func) {
        *agent = (taken_t){cno, cno->agent};
        atomic_fetch_add(&cno->calls, 1);
    }
    cno->agent = DAT_OS_WAIT_PROXY_AGENT_NULL;
    atomic_store(&cno->has_agent, false);
    pthread_mutex_unlock(&cno->mutex);
}

void agent_run(const taken_t *agent, dapl_evd_t *evd)
{
    struct call own = {agent->cno, calls};
    calls = &own;
    agent->agent.proxy_agent_func(agent->agent.instance_data, (DAT_EVD_HANDLE)evd);
    calls = own.outer;
    if (own.cno) atomic_fetch_sub(&agent->cno->calls, 1);
}

void agent_await_calls(dapl_cno_t *cno)
{
    uint32_t own = 0;
    for (const struct call *call = calls; call; call = call->outer) own += call->cno == cno;
    for (unsigned round = 0; atomic_load(&cno->calls) > own; round++) dapl_os_yield(round);
}

void agent_forget_cno(const dapl_cno_t *cno)
{
    for (struct call *call = calls; call; call = call->outer)
        if (call->cno == cno) call->cno = NULL;
}
