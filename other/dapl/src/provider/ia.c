/* ia.c - interface adapters: open, query, close.
 *
 * Each dat_ia_open opens the device once more, so that IAs share nothing.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "provider.h"

static struct ibv_context *ia_open_device(const char *ia_name, const char *device)
{
    char trouble[160];
    struct ibv_device **list = ibv_get_device_list(NULL);
    struct ibv_context *verbs = NULL;
    int at = 0;
    while (list && list[at] && strcmp(ibv_get_device_name(list[at]), device) != 0) at++;
    if (list && list[at]) {
        verbs = ibv_open_device(list[at]);
        if (!verbs)
            snprintf(trouble, sizeof trouble, "device %s cannot be opened: %s", device,
                     strerror(errno));
    } else
        snprintf(trouble, sizeof trouble,
                 "there is no device %s, which its line in dat.conf names; ibv_devices lists them",
                 device);
    if (!verbs) udapl_complain(ia_name, trouble);
    if (list) ibv_free_device_list(list);
    return verbs;
}

/* The address of an IA is the first GID of its port.  */
static bool ia_query_port(struct udapl_ia *ia)
{
    struct ibv_port_attr port;
    union ibv_gid gid;
    if (ibv_query_port(ia->verbs, ia->port, &port) || ibv_query_gid(ia->verbs, ia->port, 0, &gid))
        return false;
    ia->max_message = port.max_msg_sz;
    ia->address.sin6_family = AF_INET6;
    memcpy(&ia->address.sin6_addr, &gid, sizeof gid);
    return true;
}

static DAT_RETURN open_port(struct udapl_ia *ia)
{
    char device[UDAPL_DEVICE_NAME];
    int port;
    if (!udapl_registered_port(ia->name, device, &port)) {
        udapl_complain(ia->name,
                       "its parameters in dat.conf must be a verbs device and the number of a "
                       "port, such as \"mlx5_0 1\"");
        return UDAPL_CODE(DAT_PROVIDER_NOT_FOUND, DAT_NAME_NOT_REGISTERED);
    }
    ia->verbs = ia_open_device(ia->name, device);
    if (!ia->verbs) return UDAPL_CODE(DAT_PROVIDER_NOT_FOUND, DAT_NAME_NOT_REGISTERED);
    ia->port = (uint8_t)port;
    if (ibv_query_device(ia->verbs, &ia->device) || !ia_query_port(ia)) {
        char trouble[160];
        snprintf(trouble, sizeof trouble,
                 "port %d of device %s cannot be queried; the device has %d ports", port, device,
                 ia->device.phys_port_cnt);
        udapl_complain(ia->name, trouble);
        ibv_close_device(ia->verbs);
        return UDAPL_CODE(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_DEVICE);
    }
    return DAT_SUCCESS;
}

static void discard(struct udapl_ia *ia)
{
    pthread_mutex_destroy(&ia->lock);
    udapl_object_free(&ia->object);
}

/* Nothing but EVDs and CNOs may remain.  */
static void close_port(struct udapl_ia *ia)
{
    if (ia->no_cq) ibv_destroy_cq(ia->no_cq);
    if (ia->events) udapl_events_close(ia);
    ibv_close_device(ia->verbs);
    discard(ia);
}

/* An IA without an asynchronous EVD leaves the events to an IA of the same port that has one: the
 * device reports them to each context that opened it.  */
static DAT_RETURN open_events(struct udapl_ia *ia, DAT_COUNT qlen, DAT_EVD_HANDLE *async_evd)
{
    bool own = *async_evd == DAT_HANDLE_NULL;
    DAT_RETURN code = udapl_events_open(ia, own);
    if (code != DAT_SUCCESS || !own) return code;
    code = udapl_evd_create_async(ia, qlen);
    if (code == DAT_SUCCESS) *async_evd = ia->async_evd;
    return code;
}

/* An EVD of another IA cannot take the events of this one.  */
static DAT_RETURN check_async_evd(DAT_EVD_HANDLE evd)
{
    if (evd == DAT_HANDLE_NULL || evd == DAT_EVD_ASYNC_EXISTS || evd == DAT_EVD_OUT_OF_SCOPE)
        return DAT_SUCCESS;
    return udapl_event_object(evd) ? UDAPL_CODE(DAT_MODEL_NOT_SUPPORTED, DAT_NO_SUBTYPE)
                                   : UDAPL_CODE(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EVD_ASYNC);
}

DAT_RETURN udapl_ia_open(const DAT_NAME_PTR name, DAT_COUNT qlen, DAT_EVD_HANDLE *async_evd,
                         DAT_IA_HANDLE *handle)
{
    if (!name) return UDAPL_CODE(DAT_INVALID_PARAMETER, DAT_INVALID_ARG1);
    if (qlen <= 0) return UDAPL_CODE(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
    if (!async_evd) return UDAPL_CODE(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3);
    if (!handle) return UDAPL_CODE(DAT_INVALID_PARAMETER, DAT_INVALID_ARG4);
    DAT_RETURN code = check_async_evd(*async_evd);
    if (code != DAT_SUCCESS) return code;
    const DAT_PROVIDER *table = udapl_registered_table(name);
    if (!table) return UDAPL_CODE(DAT_PROVIDER_NOT_FOUND, DAT_NAME_NOT_REGISTERED);
    struct udapl_ia *ia = udapl_object_new(NULL, UDAPL_IA, sizeof *ia);
    if (!ia) return udapl_no_resource(ENOMEM, DAT_RESOURCE_MEMORY);
    ia->object.ia = ia;
    ia->object.table = table;
    ia->name = table->device_name;
    pthread_mutex_init(&ia->lock, NULL);
    code = open_port(ia);
    if (code != DAT_SUCCESS) {
        discard(ia);
        return code;
    }
    code = open_events(ia, qlen, async_evd);
    if (code != DAT_SUCCESS)
        close_port(ia);
    else
        *handle = ia;
    return code;
}

DAT_RETURN udapl_ia_query(DAT_IA_HANDLE handle, DAT_EVD_HANDLE *async_evd, DAT_IA_ATTR_MASK ia_mask,
                          DAT_IA_ATTR *ia_attr, DAT_PROVIDER_ATTR_MASK provider_mask,
                          DAT_PROVIDER_ATTR *provider_attr)
{
    const struct udapl_ia *ia = udapl_object_of(handle, UDAPL_IA);
    if (!ia) return UDAPL_CODE(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_IA);
    if (ia_mask & ~DAT_IA_FIELD_ALL) return UDAPL_CODE(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3);
    if (ia_mask && !ia_attr) return UDAPL_CODE(DAT_INVALID_PARAMETER, DAT_INVALID_ARG4);
    if (provider_mask & ~DAT_PROVIDER_FIELD_ALL)
        return UDAPL_CODE(DAT_INVALID_PARAMETER, DAT_INVALID_ARG5);
    if (provider_mask && !provider_attr) return UDAPL_CODE(DAT_INVALID_PARAMETER, DAT_INVALID_ARG6);
    if (async_evd) *async_evd = ia->async_evd;
    if (ia_mask) udapl_ia_attributes(ia, ia_attr);
    if (provider_mask) udapl_provider_attributes(provider_attr);
    return DAT_SUCCESS;
}

static bool only_async_evd(struct udapl_ia *ia)
{
    pthread_mutex_lock(&ia->lock);
    const struct udapl_object *first = ia->objects;
    bool only =
        !first || (!first->next && ia->async_evd && first == udapl_event_object(ia->async_evd));
    pthread_mutex_unlock(&ia->lock);
    return only;
}

static struct udapl_object *first_of(struct udapl_ia *ia, enum udapl_kind kind)
{
    pthread_mutex_lock(&ia->lock);
    struct udapl_object *object = ia->objects;
    while (object && object->kind != kind) object = object->next;
    pthread_mutex_unlock(&ia->lock);
    return object;
}

/* Frees what is left but EVDs and CNOs, users first.  */
static void free_objects(struct udapl_ia *ia)
{
    static const struct {
        enum udapl_kind kind;
        DAT_RETURN (*destroy)(DAT_HANDLE);
    } order[] = {
        {UDAPL_RSP, udapl_rsp_free}, {UDAPL_PSP, udapl_psp_free}, {UDAPL_EP, udapl_ep_free},
        {UDAPL_RMR, udapl_rmr_free}, {UDAPL_LMR, udapl_lmr_free}, {UDAPL_PZ, udapl_pz_free},
    };
    for (size_t at = 0; at < sizeof order / sizeof *order; at++)
        for (struct udapl_object *object; (object = first_of(ia, order[at].kind));)
            order[at].destroy(object);
}

DAT_RETURN udapl_ia_close(DAT_IA_HANDLE handle, DAT_CLOSE_FLAGS flags)
{
    struct udapl_ia *ia = udapl_object_of(handle, UDAPL_IA);
    if (!ia) return UDAPL_CODE(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_IA);
    if (flags != DAT_CLOSE_ABRUPT_FLAG && flags != DAT_CLOSE_GRACEFUL_FLAG)
        return UDAPL_CODE(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
    if (flags == DAT_CLOSE_GRACEFUL_FLAG && !only_async_evd(ia))
        return UDAPL_CODE(DAT_INVALID_STATE, DAT_INVALID_STATE_IA_IN_USE);
    udapl_events_shut(ia);
    free_objects(ia);
    close_port(ia);
    return DAT_SUCCESS;
}
