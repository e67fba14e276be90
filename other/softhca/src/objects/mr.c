/* mr.c - protection domains and memory regions.
 *
 * Nothing is pinned or copied: an MR is an entry in the owner's table that initiators check before
 * they access memory. Deregistration waits until no initiator is inside, so memory is not accessed
 * after ibv_dereg_mr() returns.
 */
#include "other/softhca/src/objects/mr.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "other/base/mapped.h"
#include "other/base/memcheck.h"
#include "other/base/uncancelled.h"
#include "other/softhca/src/device/device.h"
#include "other/softhca/src/objects/memlock.h"
#include "other/softhca/src/objects/mw.h"
#include "other/softhca/src/objects/qp.h"
#include "other/softhca/src/segment/segment.h"
#include "other/softhca/src/settings/say.h"
#include "other/softhca/src/settings/settings.h"

static struct {
    uint32_t next;    /* the lowest index never used */
    uint32_t *unused; /* free indices, oldest first: a revoked key is reused as late as possible */
    uint32_t first, count, room;
    uint32_t next_pd;
} mrs;

struct ibv_pd *shca_alloc_pd(struct ibv_context *c)
{
    int error = shca_take(c, SHCA_PD);
    struct shca_pd *pd = error ? NULL : calloc(1, sizeof *pd);
    if (!pd) {
        if (!error) shca_give(c, SHCA_PD);
        errno = error ? error : ENOMEM;
        return NULL;
    }
    pthread_mutex_lock(&shca.lock);
    pd->id = ++mrs.next_pd;
    pthread_mutex_unlock(&shca.lock);
    pd->base.context = c;
    pd->base.handle = pd->id;
    return &pd->base;
}

int shca_dealloc_pd(struct ibv_pd *pd)
{
    if (shca_pd(pd)->users) return EBUSY;
    if (shca_pd(pd)->of) {
        shca_end_parent_domain(shca_pd(pd));
        return 0;
    }
    shca_give(pd->context, SHCA_PD);
    free(pd);
    return 0;
}

static int mr_take_index(uint32_t *index)
{
    if (mrs.count > 0 && (mrs.count >= 64 || mrs.next == SHCA_MRS)) {
        *index = mrs.unused[mrs.first];
        mrs.first = (mrs.first + 1) % mrs.room;
        mrs.count--;
        return 0;
    }
    if (mrs.next == SHCA_MRS) return ENOMEM;
    *index = mrs.next++;
    return 0;
}

static void mr_give_index(uint32_t index)
{
    if (mrs.count == mrs.room) {
        uint32_t room = mrs.room ? 2 * mrs.room : 128;
        uint32_t *more = malloc(room * sizeof *more);
        if (!more) return; /* the index is lost, one of SHCA_MRS */
        for (uint32_t i = 0; i < mrs.count; i++) more[i] = mrs.unused[(mrs.first + i) % mrs.room];
        free(mrs.unused);
        mrs.unused = more;
        mrs.room = room;
        mrs.first = 0;
    }
    mrs.unused[(mrs.first + mrs.count++) % mrs.room] = index;
}

/* Allocates an entry of the table; 0 or an errno value. */
int shca_mr_take(struct ibv_context *c, uint32_t *index)
{
    int error = shca_take(c, SHCA_MR);
    if (error) return error;
    pthread_mutex_lock(&shca.lock);
    error = mr_take_index(index);
    pthread_mutex_unlock(&shca.lock);
    if (error) {
        shca_say("all %d memory region entries are in use", SHCA_MRS);
        shca_give(c, SHCA_MR);
    }
    return error;
}

void shca_mr_give(struct ibv_context *c, uint32_t index)
{
    pthread_mutex_lock(&shca.lock);
    mr_give_index(index);
    pthread_mutex_unlock(&shca.lock);
    shca_give(c, SHCA_MR);
}

static bool mr_access_valid(unsigned access)
{
    unsigned known = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |
                     IBV_ACCESS_REMOTE_ATOMIC | IBV_ACCESS_MW_BIND | IBV_ACCESS_OPTIONAL_RANGE;
    if (access & ~known) return false;
    bool remote_change = access & (IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC);
    return !remote_change || access & IBV_ACCESS_LOCAL_WRITE;
}

/* mincore fails where nothing is mapped.  (So does msync, whose range memory checkers take for an
 * access.) */
static bool mr_is_mapped(void *addr, size_t len)
{
    enum { PAGE = 4096, PAGES = 4096 };
    unsigned char resident[PAGES];
    uintptr_t start = (uintptr_t)addr & ~(PAGE - 1ul), end = (uintptr_t)addr + len;
    if (end < start) return false;
    for (; start < end; start += PAGE * PAGES) {
        const size_t left = end - start;
        if (mincore((void *)start, left < PAGE * PAGES ? left : PAGE * PAGES, resident))
            return false;
    }
    return true;
}

/* True if a device could register the memory.  With SOFTHCA_MEMORY=strict false for pages that the
 * kernel pins for no device. */
static bool mr_is_pinnable(void *addr, size_t len, bool write)
{
    return shca_settings()->memory != SHCA_MEMORY_STRICT ||
           gasneti_mapped(addr, len, write) != GASNETI_UNPINNABLE;
}

static bool mr_is_usable(void *addr, size_t len, unsigned access)
{
    const bool write = access & IBV_ACCESS_LOCAL_WRITE;
    return mr_is_mapped(addr, len) && (!write || shca_is_writable(addr, len)) &&
           mr_is_pinnable(addr, len, write);
}

/* An entry of the table, and the charge for the memory. */
static int mr_take(struct ibv_context *c, const void *addr, size_t len, uint32_t *index)
{
    if (!shca_memlock_take(addr, len)) return ENOMEM;
    int error = shca_mr_take(c, index);
    if (error) shca_memlock_give(addr, len);
    return error;
}

static void mr_give(struct ibv_context *c, const void *addr, size_t len, uint32_t index)
{
    shca_mr_give(c, index);
    shca_memlock_give(addr, len);
}

struct ibv_mr *shca_reg_mr(struct ibv_pd *pd, void *addr, size_t len, uint64_t iova, unsigned acc)
{
    GASNETI_UNCANCELLED;
    uint64_t most = shca_device(pd->context)->model->max_mr_size;
    uint32_t index;
    int error = !mr_access_valid(acc) || !len || len > most ? EINVAL
                : !mr_is_usable(addr, len, acc)             ? EFAULT
                                                : mr_take(pd->context, addr, len, &index);
    struct shca_mr *mr = error ? NULL : calloc(1, sizeof *mr);
    if (!mr) {
        if (!error) mr_give(pd->context, addr, len, index);
        errno = error ? error : ENOMEM;
        return NULL;
    }
    shca_strict_memory(addr, len);
    struct shm_mr *s = mr->s = &shca.h->mr[index];
    uint32_t generation =
        s->key % 255 + 1; /* a free entry keeps its last generation, see mr_revoke() */
    s->pd = shca_pd(pd)->id;
    s->access = acc;
    s->iova = iova;
    s->length = len;
    s->va = (uintptr_t)addr;
    s->map = shca_map_offset(addr, len);
    uint32_t key = (index + 1) << 8 | generation;
    atomic_store_explicit(&s->key, key, memory_order_release);
    mr->base = (struct ibv_mr){.context = pd->context,
                               .pd = pd,
                               .addr = addr,
                               .length = len,
                               .handle = index,
                               .lkey = key,
                               .rkey = key};
    shca_pd(pd)->users++;
    if (acc & IBV_ACCESS_LOCAL_WRITE) gasneti_written_by_others(addr, len);
    return &mr->base;
}

/* Invalidates the key and waits for initiators that use it. The entry keeps the generation: with
 * index 0 it matches no key. shca.lock held. */
static void mr_revoke(struct shca_mr *mr)
{
    atomic_store(&mr->s->key, mr->s->key & 255);
    atomic_fetch_add(&mr->s->changes, 1);
    shca_quiesce();
}

int shca_dereg_mr(struct ibv_mr *base)
{
    struct shca_mr *mr = shca_mr(base);
    if (mr->windows && shca_mr_has_windows(mr)) return EBUSY;
    pthread_mutex_lock(&shca.lock);
    mr_revoke(mr);
    pthread_mutex_unlock(&shca.lock);
    mr_give(base->context, base->addr, base->length, base->handle);
    shca_pd(base->pd)->users--;
    free(mr);
    return 0;
}

/* 0 or an errno value: why the changes are refused. */
static int mr_check_changes(const struct ibv_mr *mr, int flags, const struct ibv_pd *pd, void *addr,
                            size_t len, unsigned access)
{
    int all = IBV_REREG_MR_CHANGE_TRANSLATION | IBV_REREG_MR_CHANGE_PD | IBV_REREG_MR_CHANGE_ACCESS;
    bool moves = flags & IBV_REREG_MR_CHANGE_TRANSLATION;
    if (!flags || flags & ~all) return EINVAL;
    if (flags & IBV_REREG_MR_CHANGE_PD && (!pd || pd->context != mr->context)) return EINVAL;
    if (!mr_access_valid(access)) return EINVAL;
    if (moves && (!addr || !len || len > shca_device(mr->context)->model->max_mr_size))
        return EINVAL;
    return mr_is_usable(moves ? addr : mr->addr, moves ? len : mr->length, access) ? 0 : EFAULT;
}

/* Like deregistering and registering: the keys change. ACCESS counts only with
 * IBV_REREG_MR_CHANGE_ACCESS. When refused, nothing has changed. */
int shca_rereg_mr(struct ibv_mr *base, int flags, struct ibv_pd *pd, void *addr, size_t len,
                  unsigned access)
{
    GASNETI_UNCANCELLED;
    struct shca_mr *mr = shca_mr(base);
    struct shm_mr *s = mr->s;
    if (!(flags & IBV_REREG_MR_CHANGE_ACCESS)) access = s->access;
    errno = shca_mr_has_windows(mr) ? EBUSY : mr_check_changes(base, flags, pd, addr, len, access);
    if (errno) return IBV_REREG_MR_ERR_INPUT;
    if (flags & IBV_REREG_MR_CHANGE_TRANSLATION && !shca_memlock_take(addr, len)) {
        errno = ENOMEM;
        return IBV_REREG_MR_ERR_INPUT;
    }
    uint32_t generation = (s->key & 255) % 255 + 1;
    pthread_mutex_lock(&shca.lock);
    mr_revoke(mr);
    pthread_mutex_unlock(&shca.lock);
    if (flags & IBV_REREG_MR_CHANGE_PD) {
        shca_pd(base->pd)->users--;
        shca_pd(pd)->users++;
        base->pd = pd;
        s->pd = shca_pd(pd)->id;
    }
    if (flags & IBV_REREG_MR_CHANGE_TRANSLATION) {
        shca_memlock_give(base->addr, base->length);
        base->addr = addr;
        base->length = s->length = len;
        s->iova = s->va = (uintptr_t)addr;
        s->map = shca_map_offset(addr, len);
    }
    s->access = access;
    base->lkey = base->rkey = (base->handle + 1) << 8 | generation;
    atomic_store_explicit(&s->key, base->lkey, memory_order_release);
    return 0;
}

void shca_mr_in_child(void)
{
    free(mrs.unused);
    memset(&mrs, 0, sizeof mrs);
    shca_writable_in_child();
    shca_memlock_in_child();
    shca_strict_in_child();
    shca_mw_in_child();
}
