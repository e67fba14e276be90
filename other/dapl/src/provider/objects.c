/* objects.c - the memory, lists and counts of the objects behind DAT handles, and the calls that
 * any handle may be given to.
 *
 * Programs use handles of objects that they have freed, and libdat2 itself reads their first word.
 * So the memory of an object serves only objects of its kind, until the provider is unloaded.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "provider.h"

/* Objects are aligned as EVDs and CNOs are: other/dapl looks at any handle to see whether it is one
 * of these.  */
enum { KINDS = UDAPL_FREED - UDAPL_IA, ALIGNMENT = 64 };

/* In libdat2: the number of an IA from its object, or its object from the number.  */
extern DAT_RETURN dats_get_ia_handle(DAT_IA_HANDLE, DAT_IA_HANDLE *);

static pthread_mutex_t spare_lock = PTHREAD_MUTEX_INITIALIZER;
static struct udapl_object *spare[KINDS];

static struct udapl_object *take_spare(enum udapl_kind kind)
{
    pthread_mutex_lock(&spare_lock);
    struct udapl_object **first = &spare[kind - UDAPL_IA], *object = *first;
    if (object) *first = object->next;
    pthread_mutex_unlock(&spare_lock);
    return object;
}

void *udapl_object_new(struct udapl_ia *ia, enum udapl_kind kind, size_t size)
{
    struct udapl_object *object = take_spare(kind);
    if (!object) object = aligned_alloc(ALIGNMENT, (size + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT);
    if (!object) return NULL;
    memset(object, 0, size);
    object->kind = kind;
    object->ia = ia;
    if (!ia) return object;
    object->table = ia->object.table;
    pthread_mutex_lock(&ia->lock);
    object->next = ia->objects;
    object->link = &ia->objects;
    if (object->next) object->next->link = &object->next;
    ia->objects = object;
    pthread_mutex_unlock(&ia->lock);
    return object;
}

bool udapl_object_remove(struct udapl_object *object)
{
    pthread_mutex_lock(&object->ia->lock);
    bool unused = object->users == 0;
    if (unused) {
        *object->link = object->next;
        if (object->next) object->next->link = object->link;
    }
    pthread_mutex_unlock(&object->ia->lock);
    return unused;
}

void udapl_object_free(struct udapl_object *object)
{
    struct udapl_object **first = &spare[object->kind - UDAPL_IA];
    object->kind = UDAPL_FREED;
    pthread_mutex_lock(&spare_lock);
    object->next = *first;
    *first = object;
    pthread_mutex_unlock(&spare_lock);
}

void udapl_objects_unload(void)
{
    for (int kind = 0; kind < KINDS; kind++)
        for (struct udapl_object *object; (object = spare[kind]);) {
            spare[kind] = object->next;
            free(object);
        }
}

void udapl_hold(struct udapl_object *object)
{
    if (!object) return;
    pthread_mutex_lock(&object->ia->lock);
    object->users++;
    pthread_mutex_unlock(&object->ia->lock);
}

void udapl_drop(struct udapl_object *object)
{
    if (!object) return;
    pthread_mutex_lock(&object->ia->lock);
    object->users--;
    pthread_mutex_unlock(&object->ia->lock);
}

DAT_IA_HANDLE udapl_ia_name_of(const struct udapl_object *object)
{
    DAT_IA_HANDLE name = DAT_HANDLE_NULL;
    return dats_get_ia_handle(object->ia, &name) == DAT_SUCCESS ? name : DAT_HANDLE_NULL;
}

DAT_RETURN udapl_no_resource(int error, DAT_RETURN_SUBTYPE subtype)
{
    return UDAPL_CODE(DAT_INSUFFICIENT_RESOURCES, error == ENOMEM ? DAT_RESOURCE_MEMORY : subtype);
}

/* ---- Calls on any handle ---- */

static struct udapl_object *objects_any(DAT_HANDLE handle)
{
    struct udapl_object *object = udapl_event_object(handle);
    if (object) return object;
    object = handle;
    if (!object || (uintptr_t)object & 7) return NULL;
    return object->kind >= UDAPL_IA && object->kind < UDAPL_FREED ? object : NULL;
}

DAT_RETURN udapl_set_context(DAT_HANDLE handle, DAT_CONTEXT context)
{
    struct udapl_object *object = objects_any(handle);
    if (!object) return UDAPL_CODE(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE1);
    object->context = context;
    return DAT_SUCCESS;
}

DAT_RETURN udapl_get_context(DAT_HANDLE handle, DAT_CONTEXT *context)
{
    const struct udapl_object *object = objects_any(handle);
    if (!object) return UDAPL_CODE(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE1);
    if (!context) return UDAPL_CODE(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
    *context = object->context;
    return DAT_SUCCESS;
}

DAT_RETURN udapl_get_type(DAT_HANDLE handle, DAT_HANDLE_TYPE *type)
{
    static const DAT_HANDLE_TYPE types[KINDS] = {
        DAT_HANDLE_TYPE_IA,  DAT_HANDLE_TYPE_PZ,  DAT_HANDLE_TYPE_LMR,
        DAT_HANDLE_TYPE_RMR, DAT_HANDLE_TYPE_EVD, DAT_HANDLE_TYPE_CNO,
        DAT_HANDLE_TYPE_EP,  DAT_HANDLE_TYPE_PSP, DAT_HANDLE_TYPE_RSP};
    const struct udapl_object *object = objects_any(handle);
    if (!object) return UDAPL_CODE(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE1);
    if (!type) return UDAPL_CODE(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
    *type = types[object->kind - UDAPL_IA];
    return DAT_SUCCESS;
}
