/* context.c - the table of open contexts: whose an object is, and whether calls on it fail.
 *
 * Contexts of a forked process's parent are inherited, and those of a removed device are removed:
 * calls on their objects fail with EIO.
 */
#include "other/softhca/src/objects/context.h"

#include "other/softhca/src/objects/event.h"

static pthread_mutex_t contexts_lock = PTHREAD_MUTEX_INITIALIZER;
static struct shca_context *contexts[256]; /* open contexts */
static struct shca_context *inherited;     /* inherited contexts, in a forked child */
static _Atomic bool removed;               /* a device was removed */

bool shca_is_device(const struct ibv_device *d)
{
    uintptr_t at = (uintptr_t)d - (uintptr_t)shca_devices;
    return at < sizeof shca_devices;
}

/* The open context of a verbs object of any kind, which its first field points to; or NULL. */
static struct shca_context *context_of(const void *object)
{
    const void *first = *(const void *const *)object;
    struct shca_context *found = NULL;
    pthread_mutex_lock(&contexts_lock);
    for (int i = 0; i < 256 && !found; i++)
        if (contexts[i] && first == &contexts[i]->v.context) found = contexts[i];
    pthread_mutex_unlock(&contexts_lock);
    return found;
}

/* Whether OBJECT, of any kind, belongs to the software device: every verbs object begins with its
 * context, and a context with its device. */
bool shca_is_object(const void *object)
{
    return shca_is_device(*(const void *const *)object) || context_of(object);
}

/* Whether every call on OBJECT must fail: the parent of this process made it, or its device was
 * removed. */
bool shca_dead(const void *object)
{
    if (!object || (!inherited && !removed)) return false;
    const void *first = *(const void *const *)object;
    if (shca_is_device(first)) {
        const struct shca_context *c = shca_context((struct ibv_context *)object);
        return c->inherited || c->removed;
    }
    const struct shca_context *c = inherited;
    while (c && first != &c->v.context) c = c->next;
    if (!c && removed && (c = context_of(object))) return c->removed;
    return c != NULL;
}

void shca_contexts_in_child(void)
{
    pthread_mutex_init(&contexts_lock, NULL);
    for (int i = 0; i < 256; i++) {
        if (!contexts[i]) continue;
        shca_context_disable(contexts[i]);
        contexts[i]->inherited = true;
        contexts[i]->next = inherited;
        inherited = contexts[i];
        contexts[i] = NULL;
    }
}

/* Calls on objects of the device fail from now on, but its events are still delivered. */
void shca_contexts_remove(const struct shca_device *d)
{
    pthread_mutex_lock(&contexts_lock);
    removed = true;
    for (int i = 0; i < 256; i++) {
        if (!contexts[i] || contexts[i]->v.context.device != &d->base) continue;
        shca_context_disable(contexts[i]);
        contexts[i]->removed = true;
    }
    pthread_mutex_unlock(&contexts_lock);
}

void shca_raise_on_device(const struct shca_device *d, const struct ibv_async_event *e)
{
    pthread_mutex_lock(&contexts_lock);
    for (int i = 0; i < 256; i++)
        if (contexts[i] && contexts[i]->v.context.device == &d->base)
            shca_raise(&contexts[i]->v.context, e);
    pthread_mutex_unlock(&contexts_lock);
}

static int context_replace(struct shca_context *in_place_of, struct shca_context *c)
{
    int error = ENOMEM;
    pthread_mutex_lock(&contexts_lock);
    for (int i = 0; i < 256 && error; i++)
        if (contexts[i] == in_place_of) {
            contexts[i] = c;
            error = 0;
        }
    pthread_mutex_unlock(&contexts_lock);
    return error;
}

int shca_context_enter(struct shca_context *c)
{
    return context_replace(NULL, c);
}

void shca_context_leave(struct shca_context *c)
{
    context_replace(c, NULL);
}
