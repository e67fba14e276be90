/*
 * ni.c - initialisation and shutdown of the library, interfaces, identities, status registers.
 *
 * Interfaces are in a static array, so the check of a stale handle finds a closed interface.  A
 * forked child has no interface: its calls return PTL_NO_INIT until it calls PtlInit itself.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "other/portals3/include/portals3_ext.h"
#include "other/portals3/src/base/settings.h"
#include "other/portals3/src/engine/engine.h"

struct ptli_engine ptli_engines[PTLI_INTERFACES] = {{.handle = PTL_INVALID_HANDLE},
                                                    {.handle = PTL_INVALID_HANDLE}};
static _Atomic bool initialised;
static pthread_mutex_t opening = PTHREAD_MUTEX_INITIALIZER;

/* --- look-up of interfaces --- */

int ptli_not_initialised(void)
{
    return atomic_load_explicit(&initialised, memory_order_acquire) ? PTL_OK : PTL_NO_INIT;
}

static ptl_handle_ni_t open_handle(uint32_t interface)
{
    return atomic_load_explicit(&ptli_engines[interface].handle, memory_order_acquire);
}

struct ptli_engine *ptli_engine_any(ptl_handle_any_t handle, int invalid, int *error)
{
    uint32_t interface = ptli_interface_of(handle);
    if (interface < PTLI_INTERFACES && open_handle(interface) != PTL_INVALID_HANDLE) {
        *error = PTL_OK;
        return &ptli_engines[interface];
    }
    *error = ptli_not_initialised() == PTL_OK ? invalid : PTL_NO_INIT;
    return NULL;
}

struct ptli_engine *ptli_engine_of(ptl_handle_any_t handle, enum ptli_kind kind, int invalid,
                                   int *error)
{
    struct ptli_engine *engine = ptli_engine_any(handle, invalid, error);
    if (!engine) return NULL;
    if (ptli_kind_of(handle) == kind &&
        (kind != PTLI_NI || handle == open_handle(engine->interface)))
        return engine;
    *error = invalid;
    return NULL;
}

/* --- the library --- */

static void forget_in_child(void)
{
    atomic_store(&initialised, false);
    for (uint32_t i = 0; i < PTLI_INTERFACES; i++) {
        struct ptli_engine *engine = &ptli_engines[i];
        atomic_store(&engine->handle, PTL_INVALID_HANDLE);
        /* Calls test these pointers before the handle.  */
        atomic_store(&engine->puts, NULL);
        atomic_store(&engine->gets, NULL);
        atomic_store(&engine->polls, NULL);
        ptli_pool_forget(&engine->eqs);
    }
    pthread_mutex_init(&opening, NULL);
}

int PtlInit(int *max_interfaces)
{
    static bool prepared;
    pthread_mutex_lock(&opening);
    if (!max_interfaces && !atomic_load(&initialised)) {
        pthread_mutex_unlock(&opening);
        return PTL_SEGV;
    }
    if (!prepared) {
        struct ptli_settings settings;
        ptli_settings_read(&settings, false);
        ptli_debug = (unsigned int)settings.debug;
        pthread_atfork(NULL, NULL, forget_in_child);
        prepared = true;
    }
    if (max_interfaces) *max_interfaces = PTLI_INTERFACES;
    atomic_store(&initialised, true);
    pthread_mutex_unlock(&opening);
    return PTL_OK;
}

static void close_engine(struct ptli_engine *engine);

/* Ends the library by one call, however often PtlInit was called. */
void PtlFini(void)
{
    pthread_mutex_lock(&opening);
    for (uint32_t i = 0; i < PTLI_INTERFACES; i++)
        if (open_handle(i) != PTL_INVALID_HANDLE) close_engine(&ptli_engines[i]);
    ptli_launch_reset();
    atomic_store(&initialised, false);
    pthread_mutex_unlock(&opening);
}

/* --- opening and closing an interface --- */

/* The desired limit if it is lower than the library's; a negative one stands for none.  */
static int ni_least(int desired, int limit)
{
    return desired >= 0 && desired < limit ? desired : limit;
}

static void set_limits(struct ptli_engine *engine, const ptl_ni_limits_t *desired)
{
    int iovecs = (int)(engine->transport->eager_limit / PTLI_REMOTE_SIZE);
    ptl_ni_limits_t limits = {.max_mes = 65535,
                              .max_mds = 65535,
                              .max_eqs = 1024,
                              .max_ac_index = PTLI_ACCESS_SIZE - 1,
                              .max_pt_index = PTLI_TABLE_SIZE - 1,
                              .max_md_iovecs = ni_least(iovecs, PTLI_MAX_IOVECS),
                              .max_me_list = 65535,
                              .max_getput_md = PTLI_MAX_GETPUT};
    if (desired) {
        limits.max_mes = ni_least(desired->max_mes, limits.max_mes);
        limits.max_mds = ni_least(desired->max_mds, limits.max_mds);
        limits.max_eqs = ni_least(desired->max_eqs, limits.max_eqs);
        limits.max_ac_index = ni_least(desired->max_ac_index, limits.max_ac_index);
        limits.max_pt_index = ni_least(desired->max_pt_index, limits.max_pt_index);
        limits.max_md_iovecs = ni_least(desired->max_md_iovecs, limits.max_md_iovecs);
        limits.max_me_list = ni_least(desired->max_me_list, limits.max_me_list);
        limits.max_getput_md = ni_least(desired->max_getput_md, limits.max_getput_md);
    }
    engine->limits = limits;
}

static bool open_pools(struct ptli_engine *engine)
{
    uint32_t i = engine->interface;
    const ptl_ni_limits_t *limits = &engine->limits;
    bool opened = ptli_pool_open(&engine->mes, PTLI_ME, i, sizeof(struct ptli_me),
                                 (uint32_t)limits->max_mes) &&
                  ptli_pool_open(&engine->mds, PTLI_MD, i, sizeof(struct ptli_md),
                                 (uint32_t)limits->max_mds) &&
                  ptli_pool_open(&engine->eqs, PTLI_EQ, i, sizeof(struct ptli_eq),
                                 (uint32_t)limits->max_eqs) &&
                  ptli_pool_open(&engine->operations, PTLI_NI, i, sizeof(struct ptli_operation),
                                 PTLI_MAX_OPERATIONS);
    engine->eqs.keeps = true;
    return opened;
}

static void ni_free_all(struct ptli_engine *engine)
{
    for (uint32_t i = 0; i < engine->mds.made; i++) {
        struct ptli_md *md = ptli_pool_at(&engine->mds, i);
        if (md && md->pieces != &md->one) free(md->pieces);
    }
    for (uint32_t i = 0; i < engine->eqs.made; i++) {
        struct ptli_eq *eq = ptli_pool_at(&engine->eqs, i);
        if (eq && eq->open) ptli_eq_close(eq);
    }
    for (uint32_t i = 0; i < engine->operations.made; i++) {
        struct ptli_operation *operation = ptli_pool_at(&engine->operations, i);
        if (operation) free(operation->more);
    }
    ptli_pool_close(&engine->mes);
    ptli_pool_close(&engine->mds);
    ptli_pool_close(&engine->eqs);
    ptli_pool_close(&engine->operations);
}

/* Zeroes the interface, except for its generation.  */
static void ni_prepare(struct ptli_engine *engine, uint32_t interface)
{
    uint32_t generation = engine->generation + 1;
    pthread_condattr_t monotonic;
    struct ptli_settings settings;
    ptli_settings_read(&settings, false);
    memset((void *)engine, 0, sizeof *engine);
    atomic_store(&engine->handle, PTL_INVALID_HANDLE);
    engine->interface = interface;
    engine->generation = generation;
    engine->cray_gets = settings.cray;
    pthread_mutex_init(&engine->bell_lock, NULL);
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&engine->bell, &monotonic);
    pthread_condattr_destroy(&monotonic);
}

static int open_engine(struct ptli_engine *engine, uint32_t interface, ptl_pid_t pid,
                       const ptl_ni_limits_t *desired)
{
    const struct ptli_launch *launch = ptli_launch_given();
    int result;
    ni_prepare(engine, interface);
    result = interface == PTL_IFACE_SELF
                 ? ptli_loopback_open(engine, launch, pid, &engine->transport)
                 : ptli_verbs_open(engine, launch, pid, &engine->transport);
    if (result != PTL_OK) return result;
    engine->self = (struct ptli_peer){
        .id = engine->transport->id, .uid = engine->transport->uid, .jid = engine->transport->jid};
    set_limits(engine, desired);
    ptli_access_reset(engine);
    result = open_pools(engine) ? engine->transport->ops->start(engine->transport) : PTL_NO_SPACE;
    if (result != PTL_OK) {
        engine->transport->ops->close(engine->transport);
        ni_free_all(engine);
        return result;
    }
    atomic_store_explicit(&engine->handle, ptli_handle(PTLI_NI, interface, engine->generation, 0),
                          memory_order_release);
    ptli_fast_ways(engine);
    return PTL_OK;
}

/* Wakes the threads that sleep in calls and waits until they return; then closes the network and
 * frees the memory.  */
static void close_engine(struct ptli_engine *engine)
{
    static const struct timespec tick = {.tv_nsec = 1000000};
    atomic_store(&engine->handle, PTL_INVALID_HANDLE);
    ptli_fast_ways(engine);
    atomic_store(&engine->closing, true);
    while (atomic_load(&engine->inside) > 0) {
        ptli_wake_sleepers(engine);
        nanosleep(&tick, NULL);
    }
    engine->transport->ops->close(engine->transport);
    engine->transport = NULL;
    ni_free_all(engine);
    pthread_mutex_destroy(&engine->bell_lock);
    pthread_cond_destroy(&engine->bell);
}

/* For an open interface returns its handle and PTL_OK, not Cray's PTL_IFACE_DUP.  */
int PtlNIInit(ptl_interface_t iface, ptl_pid_t pid, ptl_ni_limits_t *desired,
              ptl_ni_limits_t *actual, ptl_handle_ni_t *ni)
{
    int result = PTL_OK;
    if (!ni) return PTL_SEGV;
    if (ptli_not_initialised() != PTL_OK) return PTL_NO_INIT;
    if (iface >= PTLI_INTERFACES) return PTL_IFACE_INVALID;
    pthread_mutex_lock(&opening);
    if (open_handle(iface) == PTL_INVALID_HANDLE)
        result = open_engine(&ptli_engines[iface], iface, pid, desired);
    if (result == PTL_OK) {
        *ni = open_handle(iface);
        if (actual) *actual = ptli_engines[iface].limits;
    }
    pthread_mutex_unlock(&opening);
    return result;
}

int PtlNIFini(ptl_handle_ni_t ni)
{
    struct ptli_engine *engine;
    int result;
    pthread_mutex_lock(&opening);
    engine = ptli_engine_of(ni, PTLI_NI, PTL_NI_INVALID, &result);
    if (engine) close_engine(engine);
    pthread_mutex_unlock(&opening);
    return result;
}

/* --- queries --- */

int PtlNIHandle(ptl_handle_any_t any, ptl_handle_ni_t *ni)
{
    struct ptli_engine *engine;
    int result;
    if (!ni) return PTL_SEGV;
    engine = ptli_engine_any(any, PTL_HANDLE_INVALID, &result);
    if (!engine) return result;
    if (ptli_kind_of(any) == PTLI_NI && any != open_handle(engine->interface))
        return PTL_HANDLE_INVALID;
    *ni = open_handle(engine->interface);
    return PTL_OK;
}

int PtlNIDist(ptl_handle_ni_t ni, ptl_process_id_t process, unsigned long *distance)
{
    struct ptli_engine *engine;
    int result;
    if (!distance) return PTL_SEGV;
    if (!(engine = ptli_engine_of(ni, PTLI_NI, PTL_NI_INVALID, &result))) return result;
    if (process.nid == PTL_NID_ANY || process.pid == PTL_PID_ANY) return PTL_PROCESS_INVALID;
    *distance = engine->transport->ops->distance(engine->transport, process);
    return PTL_OK;
}

int PtlGetUid(ptl_handle_ni_t ni, ptl_uid_t *uid)
{
    struct ptli_engine *engine;
    int result;
    if (!uid) return PTL_SEGV;
    if (!(engine = ptli_engine_of(ni, PTLI_NI, PTL_NI_INVALID, &result))) return result;
    *uid = engine->transport->uid;
    return PTL_OK;
}

int PtlGetId(ptl_handle_ni_t ni, ptl_process_id_t *id)
{
    struct ptli_engine *engine;
    int result;
    if (!id) return PTL_SEGV;
    if (!(engine = ptli_engine_of(ni, PTLI_NI, PTL_NI_INVALID, &result))) return result;
    *id = engine->transport->id;
    return PTL_OK;
}

int PtlGetJid(ptl_handle_ni_t ni, ptl_jid_t *jid)
{
    struct ptli_engine *engine;
    int result;
    if (!jid) return PTL_SEGV;
    if (!(engine = ptli_engine_of(ni, PTLI_NI, PTL_NI_INVALID, &result))) return result;
    *jid = engine->transport->jid;
    return PTL_OK;
}

/* The registers of a pool: 0 allocated, 1 freed, 2 most at once, 3 now.  */
static ptl_sr_value_t pool_register(const struct ptli_pool *pool, ptl_sr_index_t which)
{
    const ptl_sr_value_t values[] = {pool->allocated, pool->freed, pool->most,
                                     pool->allocated - pool->freed};
    return values[which];
}

static int read_register(struct ptli_engine *engine, ptl_sr_index_t reg, ptl_sr_value_t *value)
{
    const struct ptli_pool *pools[] = {&engine->operations, &engine->mes, &engine->mds,
                                       &engine->eqs};
    const struct ptli_fast_counts quick = ptli_fast_counts(engine);
    const ptl_sr_value_t plain[] = {engine->drop_count,
                                    engine->drop_length,
                                    engine->recv_count + quick.answers,
                                    engine->recv_length + quick.get_length,
                                    engine->send_count + quick.puts + quick.gets + quick.messages,
                                    engine->send_length + quick.put_length + quick.message_length,
                                    engine->tables_most,
                                    engine->tables_used};
    if (reg < PTL_SR_MSG_ALLOC)
        *value = plain[reg];
    else if (reg <= PTL_SR_EQS_CUR)
        *value = pool_register(pools[(reg - PTL_SR_MSG_ALLOC) / 4], (reg - PTL_SR_MSG_ALLOC) % 4);
    else if (reg == PTL_SR_FAST_PUTS)
        *value = engine->fast_puts + quick.puts;
    else if (reg == PTL_SR_FAST_GETS)
        *value = engine->fast_gets + quick.gets;
    else if (reg == PTL_SR_ANSWERS)
        *value = ptli_operations_unanswered(engine);
    else
        return PTL_SR_INDEX_INVALID;
    return PTL_OK;
}

int PtlNIStatus(ptl_handle_ni_t ni, ptl_sr_index_t reg, ptl_sr_value_t *value)
{
    struct ptli_engine *engine;
    int result;
    if (!value) return PTL_SEGV;
    if (!(engine = ptli_engine_of(ni, PTLI_NI, PTL_NI_INVALID, &result))) return result;
    if (reg >= PTL_SR_TRANSPORT)
        return engine->transport->ops->status(engine->transport, reg, value);
    ptli_lock(engine);
    result = read_register(engine, reg, value);
    ptli_unlock(engine);
    return result;
}
