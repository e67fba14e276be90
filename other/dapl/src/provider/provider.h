/* provider.h - the objects behind DAT handles, and what the files of the provider share.
 *
 * The first word of each object is the table of its IA: libdat2 finds the function to call there.
 * The IA's lock protects its list of objects and their counts of users. As in DAT, the program must
 * not free an object while another call uses it. The calls that a table names are declared last;
 * their contracts are those of the DAT specification.
 */
#ifndef UDAPL_PROVIDER_H
#define UDAPL_PROVIDER_H

#include <netinet/in.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

/* dat_registry.h needs the types of udat.h. */
/* clang-format off */
#include <dat2/udat.h>
#include <dat2/dat_registry.h>
/* clang-format on */

#include "other/dapl/include/dapl_verbs.h"

/* The kind of a handle; the numbers are unlikely in memory that is no object. */
enum udapl_kind {
    UDAPL_IA = 0x44415001,
    UDAPL_PZ,
    UDAPL_LMR,
    UDAPL_RMR,
    UDAPL_EVD,
    UDAPL_CNO,
    UDAPL_EP,
    UDAPL_PSP,
    UDAPL_RSP,
    UDAPL_FREED
};

enum {
    UDAPL_DEVICE_NAME = 64,   /* bytes of the name of a verbs device */
    UDAPL_MOST_SEGMENTS = 32, /* of a transfer, if the device allows as many */
    /* Completion flags: of receives as an attribute of an endpoint, and of requests. */
    UDAPL_RECV_FLAGS = DAT_COMPLETION_SOLICITED_WAIT_FLAG | DAT_COMPLETION_UNSIGNALLED_FLAG |
                       DAT_COMPLETION_EVD_THRESHOLD_FLAG,
    UDAPL_REQUEST_FLAGS = DAT_COMPLETION_SUPPRESS_FLAG | DAT_COMPLETION_UNSIGNALLED_FLAG |
                          DAT_COMPLETION_BARRIER_FENCE_FLAG
};

struct udapl_ia;

struct udapl_object {
    const DAT_PROVIDER *table;
    enum udapl_kind kind;
    unsigned users; /* objects that refer to this one; it cannot be freed before them */
    struct udapl_ia *ia;
    DAT_CONTEXT context; /* the program's */
    struct udapl_object *next, **link;
};

struct udapl_ia {
    struct udapl_object object;
    const char *name;
    struct ibv_context *verbs;
    struct ibv_device_attr device;
    uint8_t port;
    uint32_t max_message; /* bytes */
    struct sockaddr_in6 address;
    dapl_verbs_device_t device_events;
    dapl_interface_t *events;
    DAT_EVD_HANDLE async_evd; /* null if another IA has it */
    pthread_mutex_t lock;     /* protects the members below, and `users` of the objects */
    struct udapl_object *objects;
    struct ibv_cq *no_cq; /* for queues of endpoints without an EVD; made at first use */
};

struct udapl_pz {
    struct udapl_object object;
    struct ibv_pd *verbs;
};

struct udapl_lmr {
    struct udapl_object object;
    struct udapl_pz *pz;
    struct ibv_mr *verbs;
    DAT_LMR_PARAM param;
};

struct udapl_rmr {
    struct udapl_object object;
    struct udapl_pz *pz;
    struct ibv_mw *verbs;
};

struct udapl_ep {
    struct udapl_object object;
    DAT_EP_PARAM param;
    struct ibv_qp *qp;
    dapl_work_queue_t *receives; /* NULL if none can be posted */
    dapl_link_t *link;           /* NULL if the endpoint has no EVD */
};

/* A PSP or an RSP. */
struct udapl_sp {
    struct udapl_object object;
    DAT_CONN_QUAL qualifier;
    dapl_evd_t *evd;
    DAT_PSP_FLAGS flags; /* of a PSP */
    struct udapl_ep *ep; /* of an RSP */
};

#define UDAPL_CODE(type, subtype) DAPL_ERROR(type, subtype)

/* The object of a handle, or a null pointer if the handle is not of that kind; not for EVDs and
 * CNOs, which are objects of other/dapl.  */
static inline void *udapl_object_of(DAT_HANDLE handle, enum udapl_kind kind)
{
    struct udapl_object *object = handle;
    bool is = object && ((uintptr_t)object & 7) == 0 && object->kind == kind;
    return is ? object : NULL;
}

/* The object of a handle of this kind that belongs to `ia`, or NULL. */
static inline void *udapl_object_in(const struct udapl_ia *ia, DAT_HANDLE handle,
                                    enum udapl_kind kind)
{
    struct udapl_object *object = udapl_object_of(handle, kind);
    return object && object->ia == ia ? object : NULL;
}

/* ---- objects.c ---- */

/* A zeroed object, in the list of the IA unless that is NULL; or a null pointer.  */
void *udapl_object_new(struct udapl_ia *ia, enum udapl_kind kind, size_t size);
/* Takes the object from its list unless others use it; returns whether it did.  */
bool udapl_object_remove(struct udapl_object *object);
void udapl_object_free(struct udapl_object *object);
/* Returns the memory of all freed objects.  */
void udapl_objects_unload(void);
void udapl_hold(struct udapl_object *object);
void udapl_drop(struct udapl_object *object);
/* The program's name of the IA of this object: a small number that libdat2 assigned. */
DAT_IA_HANDLE udapl_ia_name_of(const struct udapl_object *object);
/* The code for a verb that could not make an object, from its errno.  */
DAT_RETURN udapl_no_resource(int error, DAT_RETURN_SUBTYPE subtype);

/* ---- registry.c ---- */

/* The table of a registered IA, or NULL. It lasts until the provider is unloaded.  */
const DAT_PROVIDER *udapl_registered_table(const char *ia_name);
/* The device and port of an IA, from the parameters of its line in the registry file; false if they
 * are not of this form.  */
bool udapl_registered_port(const char *ia_name, char device[static UDAPL_DEVICE_NAME], int *port);
/* Writes a line to stderr. */
void udapl_complain(const char *ia_name, const char *trouble);

/* ---- attributes.c, ep_attr.c, ep.c ---- */

void udapl_ia_attributes(const struct udapl_ia *ia, DAT_IA_ATTR *attr);
void udapl_provider_attributes(DAT_PROVIDER_ATTR *attr);
/* For an endpoint with the EVDs of `evds`.  */
DAT_EP_ATTR udapl_ep_default_attr(const struct udapl_ia *ia, const DAT_EP_PARAM *evds);
DAT_RETURN udapl_ep_check_attr(const struct udapl_ia *ia, const DAT_EP_PARAM *param);
/* The code of a call that needs a connection.  */
DAT_RETURN udapl_not_connected(DAT_EP_HANDLE ep);

/* ---- events.c ---- */

DAT_RETURN udapl_events_open(struct udapl_ia *ia, bool async);
/* Frees the EVDs and CNOs that remain; udapl_events_shut has ended the waits on them before.  */
void udapl_events_shut(struct udapl_ia *ia);
void udapl_events_close(struct udapl_ia *ia);
DAT_RETURN udapl_evd_create_async(struct udapl_ia *ia, DAT_COUNT qlen);
/* The EVD of a handle; NULL if the handle is no EVD of this IA, or the EVD lacks the stream. */
dapl_evd_t *udapl_evd_in(const struct udapl_ia *ia, DAT_EVD_HANDLE handle, DAT_EVD_FLAGS stream);
/* The provider's object for an EVD or a CNO; NULL if the handle is neither. */
struct udapl_object *udapl_event_object(DAT_HANDLE handle);

/* ---- table.c ---- */

/* All calls; libdat2 needs a table for each IA, with its name as `device_name`.  */
extern const DAT_PROVIDER udapl_calls;

DAT_RETURN udapl_ia_open(const DAT_NAME_PTR, DAT_COUNT, DAT_EVD_HANDLE *, DAT_IA_HANDLE *);
DAT_RETURN udapl_ia_query(DAT_IA_HANDLE, DAT_EVD_HANDLE *, DAT_IA_ATTR_MASK, DAT_IA_ATTR *,
                          DAT_PROVIDER_ATTR_MASK, DAT_PROVIDER_ATTR *);
DAT_RETURN udapl_ia_close(DAT_IA_HANDLE, DAT_CLOSE_FLAGS);
DAT_RETURN udapl_set_context(DAT_HANDLE, DAT_CONTEXT);
DAT_RETURN udapl_get_context(DAT_HANDLE, DAT_CONTEXT *);
DAT_RETURN udapl_get_type(DAT_HANDLE, DAT_HANDLE_TYPE *);
DAT_RETURN udapl_cno_create(DAT_IA_HANDLE, DAT_OS_WAIT_PROXY_AGENT, DAT_CNO_HANDLE *);
DAT_RETURN udapl_cno_fd_create(DAT_IA_HANDLE, DAT_FD *, DAT_CNO_HANDLE *);
DAT_RETURN udapl_cno_modify_agent(DAT_CNO_HANDLE, DAT_OS_WAIT_PROXY_AGENT);
DAT_RETURN udapl_cno_query(DAT_CNO_HANDLE, DAT_CNO_PARAM_MASK, DAT_CNO_PARAM *);
DAT_RETURN udapl_cno_wait(DAT_CNO_HANDLE, DAT_TIMEOUT, DAT_EVD_HANDLE *);
DAT_RETURN udapl_cno_trigger(DAT_CNO_HANDLE, DAT_EVD_HANDLE *);
DAT_RETURN udapl_cno_free(DAT_CNO_HANDLE);
DAT_RETURN udapl_evd_create(DAT_IA_HANDLE, DAT_COUNT, DAT_CNO_HANDLE, DAT_EVD_FLAGS,
                            DAT_EVD_HANDLE *);
DAT_RETURN udapl_evd_query(DAT_EVD_HANDLE, DAT_EVD_PARAM_MASK, DAT_EVD_PARAM *);
DAT_RETURN udapl_evd_modify_cno(DAT_EVD_HANDLE, DAT_CNO_HANDLE);
DAT_RETURN udapl_evd_enable(DAT_EVD_HANDLE);
DAT_RETURN udapl_evd_disable(DAT_EVD_HANDLE);
DAT_RETURN udapl_evd_set_unwaitable(DAT_EVD_HANDLE);
DAT_RETURN udapl_evd_clear_unwaitable(DAT_EVD_HANDLE);
DAT_RETURN udapl_evd_wait(DAT_EVD_HANDLE, DAT_TIMEOUT, DAT_COUNT, DAT_EVENT *, DAT_COUNT *);
DAT_RETURN udapl_evd_resize(DAT_EVD_HANDLE, DAT_COUNT);
DAT_RETURN udapl_evd_post_se(DAT_EVD_HANDLE, const DAT_EVENT *);
DAT_RETURN udapl_evd_dequeue(DAT_EVD_HANDLE, DAT_EVENT *);
DAT_RETURN udapl_evd_free(DAT_EVD_HANDLE);
DAT_RETURN udapl_ep_create(DAT_IA_HANDLE, DAT_PZ_HANDLE, DAT_EVD_HANDLE, DAT_EVD_HANDLE,
                           DAT_EVD_HANDLE, const DAT_EP_ATTR *, DAT_EP_HANDLE *);
DAT_RETURN udapl_ep_query(DAT_EP_HANDLE, DAT_EP_PARAM_MASK, DAT_EP_PARAM *);
DAT_RETURN udapl_ep_get_status(DAT_EP_HANDLE, DAT_EP_STATE *, DAT_BOOLEAN *, DAT_BOOLEAN *);
DAT_RETURN udapl_ep_reset(DAT_EP_HANDLE);
DAT_RETURN udapl_ep_disconnect(DAT_EP_HANDLE, DAT_CLOSE_FLAGS);
DAT_RETURN udapl_ep_free(DAT_EP_HANDLE);
DAT_RETURN udapl_ep_post_send(DAT_EP_HANDLE, DAT_COUNT, DAT_LMR_TRIPLET *, DAT_DTO_COOKIE,
                              DAT_COMPLETION_FLAGS);
DAT_RETURN udapl_ep_post_recv(DAT_EP_HANDLE, DAT_COUNT, DAT_LMR_TRIPLET *, DAT_DTO_COOKIE,
                              DAT_COMPLETION_FLAGS);
DAT_RETURN udapl_ep_post_rdma_read(DAT_EP_HANDLE, DAT_COUNT, DAT_LMR_TRIPLET *, DAT_DTO_COOKIE,
                                   const DAT_RMR_TRIPLET *, DAT_COMPLETION_FLAGS);
DAT_RETURN udapl_ep_post_rdma_write(DAT_EP_HANDLE, DAT_COUNT, DAT_LMR_TRIPLET *, DAT_DTO_COOKIE,
                                    const DAT_RMR_TRIPLET *, DAT_COMPLETION_FLAGS);
DAT_RETURN udapl_lmr_create(DAT_IA_HANDLE, DAT_MEM_TYPE, DAT_REGION_DESCRIPTION, DAT_VLEN,
                            DAT_PZ_HANDLE, DAT_MEM_PRIV_FLAGS, DAT_VA_TYPE, DAT_LMR_HANDLE *,
                            DAT_LMR_CONTEXT *, DAT_RMR_CONTEXT *, DAT_VLEN *, DAT_VADDR *);
DAT_RETURN udapl_lmr_query(DAT_LMR_HANDLE, DAT_LMR_PARAM_MASK, DAT_LMR_PARAM *);
DAT_RETURN udapl_lmr_sync(DAT_IA_HANDLE, const DAT_LMR_TRIPLET *, DAT_VLEN);
DAT_RETURN udapl_lmr_free(DAT_LMR_HANDLE);
DAT_RETURN udapl_rmr_create(DAT_PZ_HANDLE, DAT_RMR_HANDLE *);
DAT_RETURN udapl_rmr_query(DAT_RMR_HANDLE, DAT_RMR_PARAM_MASK, DAT_RMR_PARAM *);
DAT_RETURN udapl_rmr_bind(DAT_RMR_HANDLE, DAT_LMR_HANDLE, const DAT_LMR_TRIPLET *,
                          DAT_MEM_PRIV_FLAGS, DAT_VA_TYPE, DAT_EP_HANDLE, DAT_RMR_COOKIE,
                          DAT_COMPLETION_FLAGS, DAT_RMR_CONTEXT *);
DAT_RETURN udapl_rmr_free(DAT_RMR_HANDLE);
DAT_RETURN udapl_psp_create(DAT_IA_HANDLE, DAT_CONN_QUAL, DAT_EVD_HANDLE, DAT_PSP_FLAGS,
                            DAT_PSP_HANDLE *);
DAT_RETURN udapl_psp_query(DAT_PSP_HANDLE, DAT_PSP_PARAM_MASK, DAT_PSP_PARAM *);
DAT_RETURN udapl_psp_free(DAT_PSP_HANDLE);
DAT_RETURN udapl_rsp_create(DAT_IA_HANDLE, DAT_CONN_QUAL, DAT_EP_HANDLE, DAT_EVD_HANDLE,
                            DAT_RSP_HANDLE *);
DAT_RETURN udapl_rsp_query(DAT_RSP_HANDLE, DAT_RSP_PARAM_MASK, DAT_RSP_PARAM *);
DAT_RETURN udapl_rsp_free(DAT_RSP_HANDLE);
DAT_RETURN udapl_pz_create(DAT_IA_HANDLE, DAT_PZ_HANDLE *);
DAT_RETURN udapl_pz_query(DAT_PZ_HANDLE, DAT_PZ_PARAM_MASK, DAT_PZ_PARAM *);
DAT_RETURN udapl_pz_free(DAT_PZ_HANDLE);

#endif
