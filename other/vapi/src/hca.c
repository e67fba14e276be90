/* hca.c - HCAs: their names, attach and release.
 *
 * An HCA is a verbs device that the process has opened.  VAPI programs call VAPI_open_hca, which
 * returns VAPI_EBUSY, and then attach; the device is opened when the process attaches.
 */
#include <stdlib.h>
#include <string.h>

#include "objects.h"
#include "other/base/verbs_fork.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct vapi_hca *attached;

/* --- names --- */

/* iWARP devices are not listed: they need a connection manager, which VAPI does not have.  */
static bool is_listed(struct ibv_device *device)
{
    return device->transport_type != IBV_TRANSPORT_IWARP;
}

static void hca_name_of(struct ibv_device *device, VAPI_hca_id_t name)
{
    memset(name, 0, HCA_MAXNAME);
    strncpy(name, ibv_get_device_name(device), HCA_MAXNAME - 1);
}

/* InfiniHost<k> is an alias of the k-th HCA, for programs with fixed names.  */
static bool historic_number(const char *id, int *number)
{
    char *end;
    if (strncmp(id, "InfiniHost", 10) || id[10] < '0' || id[10] > '9') return false;
    unsigned long value = strtoul(id + 10, &end, 10);
    *number = value < 1000 ? (int)value : -1;
    return *end == '\0';
}

static struct ibv_device *find_device(struct ibv_device **list, const char *id)
{
    VAPI_hca_id_t name;
    int number, seen = 0;
    for (int i = 0; list[i]; i++) {
        if (!is_listed(list[i])) continue;
        hca_name_of(list[i], name);
        if (!strncmp(name, id, HCA_MAXNAME)) return list[i];
    }
    if (!historic_number(id, &number)) return NULL;
    for (int i = 0; list[i]; i++)
        if (is_listed(list[i]) && seen++ == number) return list[i];
    return NULL;
}

/* A copy of `id`, which need not end within its 32 bytes. */
static void copy_id(VAPI_hca_id_t to, const char *id)
{
    memset(to, 0, HCA_MAXNAME);
    memcpy(to, id, strnlen(id, HCA_MAXNAME - 1));
}

static bool hca_exists(const char *id)
{
    VAPI_hca_id_t name;
    struct ibv_device **list = id ? ibv_get_device_list(NULL) : NULL;
    if (!list) return false;
    copy_id(name, id);
    bool found = find_device(list, name) != NULL;
    ibv_free_device_list(list);
    return found;
}

/* Without room for all names the original header says that nothing is copied, its implementation
 * filled the array, and one program (ParaStation) expected VAPI_OK.  Here the array is filled and
 * VAPI_EAGAIN returned.  n_entries may exceed the size of the array: LA-MPI passes a number of
 * bytes.  */
VAPI_ret_t EVAPI_list_hcas(u_int32_t n_entries, u_int32_t *num_hcas, VAPI_hca_id_t *ids)
{
    if (!num_hcas || (n_entries == 0) != (ids == NULL)) return VAPI_EINVAL_PARAM;
    *num_hcas = 0;
    struct ibv_device **list = ibv_get_device_list(NULL);
    if (!list) return errno == ENOMEM ? VAPI_EAGAIN : VAPI_OK; /* no verbs at all: no HCAs */
    u_int32_t count = 0;
    for (int i = 0; list[i]; i++) {
        if (!is_listed(list[i])) continue;
        if (count < n_entries) hca_name_of(list[i], ids[count]);
        count++;
    }
    ibv_free_device_list(list);
    *num_hcas = count;
    return count > n_entries ? VAPI_EAGAIN : VAPI_OK;
}

VAPI_ret_t VAPI_open_hca(const char *id, VAPI_hca_hndl_t *hca)
{
    return hca_exists(id) ? VAPI_EBUSY : VAPI_EINVAL_HCA_ID;
}

VAPI_ret_t EVAPI_open_hca(const char *id, EVAPI_hca_profile_t *wanted, EVAPI_hca_profile_t *actual)
{
    return hca_exists(id) ? VAPI_EBUSY : VAPI_EINVAL_HCA_ID;
}

VAPI_ret_t EVAPI_close_hca(const char *id)
{
    return hca_exists(id) ? VAPI_EBUSY : VAPI_EINVAL_HCA_ID;
}

/* Programs call this with a handle that they have just released; they accept any negative code.  */
VAPI_ret_t VAPI_close_hca(VAPI_hca_hndl_t hca)
{
    return vapi_hca(hca) ? VAPI_EBUSY : VAPI_EINVAL_HCA_HNDL;
}

/* --- attaching --- */

static VAPI_ret_t hca_open_device(struct vapi_hca *hca, struct ibv_device *device)
{
    gasneti_verbs_fork_safe();
    hca->verbs = ibv_open_device(device);
    if (!hca->verbs) return vapi_error(errno ? errno : EINVAL, VAPI_ESYSCALL);
    int error = ibv_query_device(hca->verbs, &hca->attr);
    if (error) return vapi_error(error, VAPI_ESYSCALL);
    hca_name_of(device, hca->name);
    pthread_mutex_init(&hca->lock, NULL);
    hca->watch = vapi_watch_new(hca);
    if (hca->watch) hca->handle = vapi_handle_new(KIND_HCA, 0, hca);
    if (hca->handle) return VAPI_OK;
    if (hca->watch) vapi_watch_end(hca->watch);
    pthread_mutex_destroy(&hca->lock);
    return VAPI_EAGAIN;
}

/* ---- fork: the child has neither the library's threads nor a right to the parent's objects.  It
 * keeps none of their handles, and may attach anew. */

static void before_fork(void)
{
    pthread_mutex_lock(&lock);
    vapi_handles_hold();
}

static void hca_in_parent(void)
{
    vapi_handles_go_on();
    pthread_mutex_unlock(&lock);
}

static void hca_in_child(void)
{
    attached = NULL;
    vapi_handles_forget();
    hca_in_parent();
}

static void watch_forks(void)
{
    pthread_atfork(before_fork, hca_in_parent, hca_in_child);
}

static VAPI_ret_t hca_attach(struct ibv_device *device, struct vapi_hca **found)
{
    VAPI_hca_id_t name;
    hca_name_of(device, name);
    for (struct vapi_hca *h = attached; h; h = h->next)
        if (!strcmp(h->name, name)) {
            *found = h;
            return VAPI_OK;
        }
    struct vapi_hca *hca = calloc(1, sizeof *hca);
    if (!hca) return VAPI_ENOMEM;
    VAPI_ret_t code = hca_open_device(hca, device);
    if (code != VAPI_OK) {
        if (hca->verbs) ibv_close_device(hca->verbs);
        free(hca);
        return code;
    }
    hca->next = attached;
    attached = hca;
    *found = hca;
    return VAPI_OK;
}

VAPI_ret_t EVAPI_get_hca_hndl(const char *id, VAPI_hca_hndl_t *hca)
{
    VAPI_hca_id_t name;
    VAPI_ret_t code = VAPI_EINVAL_HCA_ID;
    struct vapi_hca *found;
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, watch_forks);
    if (!id || !hca) return id ? VAPI_EINVAL_PARAM : VAPI_EINVAL_HCA_ID;
    struct ibv_device **list = ibv_get_device_list(NULL);
    if (!list) return VAPI_EINVAL_HCA_ID;
    copy_id(name, id);
    struct ibv_device *device = find_device(list, name);
    pthread_mutex_lock(&lock);
    if (device) code = hca_attach(device, &found);
    if (code == VAPI_OK) {
        found->gets++;
        *hca = found->handle;
    }
    pthread_mutex_unlock(&lock);
    ibv_free_device_list(list);
    return code;
}

VAPI_ret_t EVAPI_release_hca_hndl(VAPI_hca_hndl_t handle)
{
    VAPI_ret_t code = VAPI_OK;
    struct vapi_hca *last = NULL;
    pthread_mutex_lock(&lock);
    struct vapi_hca *hca = vapi_hca(handle);
    if (!hca)
        code = VAPI_EINVAL_HCA_HNDL;
    else if (hca->gets == 1 && vapi_held(&hca->objects))
        code = VAPI_EBUSY; /* the handle stays valid */
    else if (--hca->gets == 0) {
        struct vapi_hca **link = &attached;
        while (*link != hca) link = &(*link)->next;
        *link = hca->next;
        vapi_handle_free(hca->handle);
        last = hca;
    }
    pthread_mutex_unlock(&lock);
    if (last) vapi_watch_end(last->watch); /* which frees it, at once or when its threads end */
    return code;
}

/* --- look-up of queue pairs by number, for completions --- */

static struct vapi_qp **hca_bucket(struct vapi_hca *hca, uint32_t number)
{
    return &hca->qps[number % (sizeof hca->qps / sizeof *hca->qps)];
}

void vapi_qp_enter(struct vapi_qp *qp)
{
    struct vapi_qp **first = hca_bucket(qp->hca, qp->verbs->qp_num);
    pthread_mutex_lock(&qp->hca->lock);
    qp->next_by_number = *first;
    *first = qp;
    pthread_mutex_unlock(&qp->hca->lock);
}

void vapi_qp_leave(struct vapi_qp *qp)
{
    pthread_mutex_lock(&qp->hca->lock);
    struct vapi_qp **link = hca_bucket(qp->hca, qp->verbs->qp_num);
    while (*link != qp) link = &(*link)->next_by_number;
    *link = qp->next_by_number;
    pthread_mutex_unlock(&qp->hca->lock);
}

struct vapi_qp *vapi_qp_by_number(struct vapi_hca *hca, uint32_t number)
{
    struct vapi_qp *qp = *hca_bucket(hca, number);
    while (qp && qp->verbs->qp_num != number) qp = qp->next_by_number;
    return qp;
}
