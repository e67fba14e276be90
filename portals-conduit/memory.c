/* memory.c - memory descriptors over user memory: those of the segment, temporary ones (PO-3,
 * PO-5).
 *
 * Called by start-up, and for transfers whose local side is neither in the segment nor small.
 */
#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "other/base/mapped.h"
#include "other/base/memory_limits.h"
#include "other/portals3/include/portals3_ext.h"
#include "portals.h"

void *net_alloc(size_t size)
{
    return softhca_alloc(size);
}

/* Frees nothing while the job ends: libportals may write to the memory until the process exits.
 */
void net_free(void *memory)
{
    if (!gasneti_ending()) softhca_free(memory);
}

/* --- temporary descriptors --- */

bool net_portals_take_temporary(void)
{
    gasneti_lock(&net_portals.lock);
    bool there = net_portals.temporaries > 0;
    if (there) net_portals.temporaries--;
    gasneti_unlock(&net_portals.lock);
    return there;
}

void net_portals_give_temporary(void)
{
    gasneti_lock(&net_portals.lock);
    net_portals.temporaries++;
    gasneti_unlock(&net_portals.lock);
}

static int memory_bind(const void *start, size_t length, enum net_role role, unsigned options,
                       ptl_handle_md_t *handle)
{
    const ptl_md_t md = net_portals_md(start, length, role, net_portals.safe_eq, options);
    return PtlMDBind(net_portals.ni, md, PTL_RETAIN, handle);
}

/* The errno of a call that failed, from what libportals left in errno, which was 0 before. */
static int memory_errno(int error)
{
    if (errno == EFAULT) return EFAULT;
    return error == PTL_NO_SPACE || error == PTL_VAL_FAILED ? ENOMEM : EINVAL;
}

ptl_handle_md_t net_portals_temporary(const void *start, size_t length)
{
    ptl_handle_md_t handle;
    errno = 0;
    int error = memory_bind(start, length, NET_ROLE_TMPMD, 0, &handle);
    if (error != PTL_OK) {
        errno = memory_errno(error);
        return PTL_INVALID_HANDLE;
    }
    atomic_fetch_add_explicit(&net_portals_rest.registrations, 1, memory_order_relaxed);
    return handle;
}

/* Called after the last event of the operation.  PTL_MD_IN_USE is temporary: libportals is revoking
 * a published list that peers hold a copy of. */
void net_portals_unlink(ptl_handle_md_t md)
{
    enum { TRIES = 10000 };
    for (int i = 0; PtlMDUnlink(md) == PTL_MD_IN_USE && i < TRIES; i++) sched_yield();
}

/* --- regions --- */

static atomic_bool has_rar;
static _Atomic uint32_t entries_of_more; /* numbers are not used again: peers may hold old keys */

/* BITS_RAR for the segment, or its first piece. */
static uint64_t memory_take_selector(enum net_access access)
{
    if (access == NET_SEGMENT && !atomic_exchange(&has_rar, true)) return BITS_RAR;
    return bits_pack(atomic_fetch_add(&entries_of_more, 1), 0, 0, BITS_MORE);
}

static int memory_attach(const net_region_t *region, uint64_t selector, enum net_role role,
                         ptl_handle_eq_t queue, unsigned options, ptl_handle_md_t *handle)
{
    const ptl_process_id_t anybody = {PTL_NID_ANY, PTL_PID_ANY};
    const ptl_md_t md = net_portals_md(region->start, region->size, role, queue,
                                       PTL_MD_OP_PUT | PTL_MD_MANAGE_REMOTE | options);
    const bool segment = region->selector == BITS_RAR;
    ptl_handle_me_t me;
    int error = PtlMEAttach(net_portals.ni, NET_PT_SEGMENT, anybody, selector,
                            segment ? bits_ignored : bits_ignored_more, PTL_UNLINK,
                            segment ? PTL_INS_BEFORE : PTL_INS_AFTER, &me);
    if (error != PTL_OK) return error;
    error = PtlMDAttach(me, md, PTL_RETAIN, handle);
    if (error != PTL_OK) PtlMEUnlink(me);
    return error;
}

/* What the segment has beside RAR: RARAM and RARSRC, for the payload of Longs, and PutSrc, which
 * logs ACKs only. */
static int memory_attach_longs(net_region_t *region)
{
    int error =
        memory_attach(region, BITS_RARSRC, NET_ROLE_SEGMENT, net_portals.safe_eq, 0, &region->md);
    if (error == PTL_OK)
        error = memory_bind(region->start, region->size, NET_ROLE_SEGMENT, PTL_MD_EVENT_END_DISABLE,
                            &region->put);
    if (error == PTL_OK)
        error =
            memory_attach(region, BITS_RARAM, NET_ROLE_RARAM, net_portals.am_eq, 0, &region->raram);
    return error;
}

/* Every region has RAR, the target of puts and gets, which logs no event but acknowledges.  The
 * entries of the segment, known by selector BITS_RAR, are the first of the list, RAR before the
 * others: peers search the list in that order. */
static int memory_attach_all(net_region_t *region)
{
    const bool segment = region->selector == BITS_RAR;
    int error = segment ? memory_attach_longs(region) : PTL_OK;
    if (error == PTL_OK)
        error = memory_attach(region, region->selector, NET_ROLE_SEGMENT, PTL_EQ_NONE,
                              PTL_MD_OP_GET | PTL_MD_EVENT_END_DISABLE, &region->rar);
    if (!segment) region->md = region->put = region->rar;
    return error;
}

static bool memory_register_remote(net_region_t *region, enum net_access access)
{
    region->remote = true;
    region->rar = region->raram = region->md = region->put = PTL_INVALID_HANDLE;
    region->selector = memory_take_selector(access);
    int error = memory_attach_all(region);
    if (error == PTL_OK) {
        atomic_fetch_add_explicit(&net_portals_rest.registrations, 1, memory_order_relaxed);
        return true;
    }
    net_deregister(region);
    errno = error == PTL_NO_SPACE || error == PTL_VAL_FAILED ? ENOMEM : EINVAL;
    return false;
}

bool net_register(void *start, size_t size, enum net_access access, net_region_t *region)
{
    *region = (net_region_t){.start = start, .size = size};
    if (net_portals.safe_eq == PTL_EQ_NONE) return true; /* the only process of the job */
    if (access == NET_REMOTE || access == NET_SEGMENT)
        return memory_register_remote(region, access);
    /* libportals binds memory that is mapped read-only as well. */
    if (access == NET_LOCAL && gasneti_mapped(start, size, true) == GASNETI_UNMAPPED) {
        *region = (net_region_t){.size = 0};
        errno = EFAULT;
        return false;
    }
    errno = EAGAIN;
    if (net_portals_take_temporary()) {
        region->md = region->put = net_portals_temporary(start, size);
        if (region->md != PTL_INVALID_HANDLE) return true;
        net_portals_give_temporary();
    }
    *region = (net_region_t){.size = 0};
    return false;
}

/* Does nothing while the job ends: peers that hold a copy of the published list may have exited and
 * would not answer its revocation.  The descriptors end with the process. */
void net_deregister(net_region_t *region)
{
    if (!region->size || net_portals.safe_eq == PTL_EQ_NONE || gasneti_ending()) return;
    if (region->remote) {
        net_portals_withdrawn();
        if (region->put != PTL_INVALID_HANDLE && region->put != region->rar)
            net_portals_unlink(region->put);
        if (region->raram != PTL_INVALID_HANDLE) net_portals_unlink(region->raram);
        if (region->md != PTL_INVALID_HANDLE && region->md != region->rar)
            net_portals_unlink(region->md);
        if (region->rar != PTL_INVALID_HANDLE) net_portals_unlink(region->rar);
        if (region->selector == BITS_RAR) atomic_store(&has_rar, false);
    } else {
        net_portals_unlink(region->md);
        net_portals_give_temporary();
    }
    *region = (net_region_t){.size = 0};
}

net_key_t net_key(const net_region_t *region)
{
    return (net_key_t){.base = (uintptr_t)region->start, .selector = region->selector};
}

static bool memory_charged(void)
{
    return !softhca_active() || softhca_charges(NULL);
}

uint64_t net_portals_memlock(void)
{
    return memory_charged() ? gasneti_memlock() : UINT64_MAX;
}

void net_explain_register(int error, size_t size, char *text, size_t text_size)
{
    char limit[240];
    if (error == ENOMEM && memory_charged() && gasneti_memlock_explain(limit, sizeof limit))
        snprintf(text, text_size,
                 "%s, or lower GASNET_MAX_SEGSIZE or GASNET_PHYSMEM_PINNABLE_RATIO", limit);
    else if (error == ENOMEM)
        snprintf(text, text_size,
                 "Portals could not pin %zu KB; lower GASNET_MAX_SEGSIZE or "
                 "GASNET_PHYSMEM_PINNABLE_RATIO",
                 size / 1024);
    else if (error == EFAULT)
        snprintf(text, text_size, "part of the range is not mapped, or not writable");
    else
        snprintf(text, text_size, "Portals refused: %s", strerror(error));
}
