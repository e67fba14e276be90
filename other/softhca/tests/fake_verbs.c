/* fake_verbs.c - a fake libibverbs, loaded instead of the real one behind libsofthca.
 *
 * The fake library has the names and versions of the real one and its own devices and objects. It
 * records every call, and aborts on an object that it did not create. Like the real library it
 * calls its own exported names. FAKE_VERBS in the environment lists its devices: active, down,
 * closed (cannot be opened), denied (this user may not open it), old (active, without
 * verbs_context), iwarp (active), or "none" when there is no list at all.
 */
#include "fake_verbs.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MADE = 1 << 16, DEVICES = 4, CALLS = 64 };

static struct {
    pthread_mutex_t lock;
    struct {
        const void *p;
        char kind;
    } made[MADE];
    int count;
} objects = {PTHREAD_MUTEX_INITIALIZER, {{0}}, 0};

static struct fake_device {
    struct ibv_device base;
    char tail[512];
    char kind[16];
    _Atomic int users; /* lists and contexts */
} devices[DEVICES];
static int device_count = -1;

static _Atomic int total, lists, contexts, data_calls;

static _Thread_local struct {
    struct fake_call call;
    int calls, depth;
    uint64_t result;
    int error;
    struct ibv_async_event event;
    void (*hook)(void);
} mine;

/* The exported names as the loader binds them, possibly to libsofthca. */
#define NAME(version, name, returns, takes)                                                        \
    uint64_t again_##name(uint64_t, uint64_t, uint64_t, uint64_t, uint64_t,                        \
                          uint64_t) __asm__(#name);
#define BOTH NAME
#include "names.def"
#undef NAME
#undef BOTH

static void fail(const char *name, const char *what)
{
    fprintf(stderr, "# fake_verbs: %s %s\n", name, what);
    abort();
}

static void keep(const void *p, char kind)
{
    pthread_mutex_lock(&objects.lock);
    if (objects.count == MADE) fail("the table", "of objects is full");
    objects.made[objects.count].p = p;
    objects.made[objects.count++].kind = kind;
    pthread_mutex_unlock(&objects.lock);
}

static void lose(const void *p)
{
    pthread_mutex_lock(&objects.lock);
    for (int i = 0; i < objects.count; i++)
        if (objects.made[i].p == p) objects.made[i].kind = 0;
    pthread_mutex_unlock(&objects.lock);
}

static bool kept(const void *p, char kind)
{
    bool found = false;
    pthread_mutex_lock(&objects.lock);
    for (int i = 0; i < objects.count && !found; i++)
        found = objects.made[i].p == p && objects.made[i].kind == kind;
    pthread_mutex_unlock(&objects.lock);
    return found;
}

static void read_devices(void)
{
    char text[128], *rest, *kind;
    if (device_count >= 0) return;
    device_count = 0;
    snprintf(text, sizeof text, "%s", getenv("FAKE_VERBS") ? getenv("FAKE_VERBS") : "");
    for (kind = strtok_r(text, ",", &rest); kind && device_count < DEVICES;
         kind = strtok_r(NULL, ",", &rest)) {
        struct fake_device *d = &devices[device_count];
        snprintf(d->kind, sizeof d->kind, "%s", kind);
        snprintf(d->base.name, sizeof d->base.name, "fake%d", device_count++);
        if (!strcmp(kind, "iwarp")) d->base.transport_type = IBV_TRANSPORT_IWARP;
    }
}

static int query_port(struct ibv_context *c, uint8_t port, struct ibv_port_attr *a, size_t size)
{
    const struct fake_device *d = (struct fake_device *)c->device;
    data_calls++;
    memset(a, 0, size);
    a->state = strcmp(d->kind, "down") ? IBV_PORT_ACTIVE : IBV_PORT_DOWN;
    return port == 1 ? 0 : EINVAL;
}

static int poll_cq(struct ibv_cq *cq, int n, struct ibv_wc *wc)
{
    if (!kept(cq, 'q')) fail("poll_cq", "met a CQ not its own");
    data_calls++;
    return n;
}

static int post_send(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad)
{
    if (!kept(qp, 'Q')) fail("post_send", "met a QP not its own");
    data_calls++;
    return 77;
}

static struct ibv_context *open_device(struct fake_device *d)
{
    bool denied = !strcmp(d->kind, "denied");
    if (denied || !strcmp(d->kind, "closed")) {
        errno = denied ? EACCES : EIO;
        return NULL;
    }
    struct verbs_context *v = calloc(1, sizeof *v);
    v->sz = sizeof *v;
    v->query_port = query_port;
    v->context.device = &d->base;
    v->context.ops.poll_cq = poll_cq;
    v->context.ops.post_send = post_send;
    if (strcmp(d->kind, "old")) v->context.abi_compat = __VERBS_ABI_IS_EXTENDED;
    keep(&v->context, 'c');
    d->users++;
    contexts++;
    return &v->context;
}

static void *get_list(int *n)
{
    if (!strcmp(devices[0].kind, "none")) {
        if (n) *n = 0;
        errno = ENOSYS;
        return NULL;
    }
    struct ibv_device **list = calloc(device_count + 1, sizeof *list);
    for (int i = 0; i < device_count; i++) {
        list[i] = &devices[i].base;
        devices[i].users++;
    }
    if (n) *n = device_count;
    keep(list, 'l');
    lists++;
    return list;
}

static void free_list(struct ibv_device **list)
{
    for (int i = 0; list[i]; i++) ((struct fake_device *)list[i])->users--;
    lose(list);
    lists--;
    free(list);
}

static bool is_device(const void *p)
{
    for (int i = 0; i < device_count; i++)
        if (p == &devices[i].base)
            return devices[i].users > 0; /* also if it was removed from the list */
    return false;
}

static void check_objects(const char *name, const char *takes, const uint64_t *arg)
{
    for (int i = 0; takes[i]; i++) {
        const void *p = (const void *)(uintptr_t)arg[i];
        if (takes[i] == 'd' && !is_device(p)) fail(name, "got a device not its own, or not listed");
        if (strchr("lcpmqQsahD", takes[i]) && !kept(p, takes[i]))
            fail(name, "got an object not its own");
    }
}

/* Calls the own exported name during a call. */
static void call_oneself(void)
{
    static struct ibv_context *_Atomic context;
    if (!context) {
        struct verbs_context *v = calloc(1, sizeof *v);
        v->context.device = &devices[0].base;
        keep(&v->context, 'c');
        context = &v->context;
    }
    uint64_t c = (uintptr_t)context, result = mine.result;
    mine.result = 5;
    if ((int)again_ibv_query_device(c, 1, 0, 0, 0, 0) != 5 ||
        (int)again_ibv_query_gid(c, 1, 2, 3, 0, 0) != 5 ||
        (int)again_ibv_query_gid_type(c, 1, 2, 3, 0, 0) != 5 ||
        (int)again_ibv_get_pkey_index(c, 1, 2, 0, 0, 0) != 5 ||
        (int)again_ibv_fork_init(0, 0, 0, 0, 0, 0) != 5)
        fail("a call to itself", "came back with another result");
    mine.result = result;
    uint64_t list = again_ibv_get_device_list(0, 0, 0, 0, 0, 0);
    if (list) again_ibv_free_device_list(list, 0, 0, 0, 0, 0);
}

static uint64_t act(const char *name, const uint64_t *arg)
{
    void *first = (void *)(uintptr_t)arg[0];
    if (!strcmp(name, "ibv_get_device_list")) return (uintptr_t)get_list(first);
    if (!strcmp(name, "ibv_free_device_list")) free_list(first);
    if (!strcmp(name, "ibv_open_device")) return (uintptr_t)open_device(first);
    if (!strcmp(name, "ibv_get_device_name")) return (uintptr_t)((struct ibv_device *)first)->name;
    if (!strcmp(name, "ibv_query_device") && mine.depth == 1 && arg[1] > 4096)
        ((struct ibv_device_attr *)(uintptr_t)arg[1])->phys_port_cnt = 1;
    if (!strcmp(name, "ibv_query_port") && arg[2] > 4096)
        ((struct ibv_port_attr *)(uintptr_t)arg[2])->state = IBV_PORT_ACTIVE;
    if (!strcmp(name, "ibv_get_async_event"))
        /* like the real library: only the port number of the element is written */
        ((struct ibv_async_event *)(uintptr_t)arg[1])->element.port_num =
            mine.event.element.port_num,
                                 ((struct ibv_async_event *)(uintptr_t)arg[1])->event_type =
                                     mine.event.event_type;
    if (!strcmp(name, "ibv_close_device")) {
        ((struct fake_device *)((struct ibv_context *)first)->device)->users--;
        lose(first);
        contexts--;
    }
    return mine.result;
}

static uint64_t called(const char *name, const char *takes, const uint64_t *arg)
{
    read_devices();
    check_objects(name, takes, arg);
    total++;
    if (mine.depth++ == 0) {
        mine.calls++;
        mine.call.name = name;
        memcpy(mine.call.arg, arg, sizeof mine.call.arg);
        if (device_count > 0) call_oneself();
        if (mine.hook) mine.hook();
    }
    int error = mine.error;
    uint64_t result = act(name, arg);
    if (error) errno = error;
    mine.depth--;
    return result;
}

/* clang-format off */
#define NAME(version, name, returns, takes)                                                        \
    uint64_t fake_##name(uint64_t a, uint64_t b, uint64_t c, uint64_t d, uint64_t e, uint64_t f);  \
    uint64_t fake_##name(uint64_t a, uint64_t b, uint64_t c, uint64_t d, uint64_t e, uint64_t f)   \
    {                                                                                              \
        uint64_t arg[] = {a, b, c, d, e, f};                                                       \
        return called(#name, takes, arg);                                                          \
    }                                                                                              \
    __asm__(".symver fake_" #name ", " #name "@@" #version);
#define BOTH(version, name, returns, takes)                                                        \
    NAME(version, name, returns, takes)                                                            \
    uint64_t first_##name(uint64_t a, uint64_t b, uint64_t c, uint64_t d, uint64_t e, uint64_t f); \
    uint64_t first_##name(uint64_t a, uint64_t b, uint64_t c, uint64_t d, uint64_t e, uint64_t f)  \
    {                                                                                              \
        return again_##name(a, b, c, d, e, f);                                                     \
    }                                                                                              \
    __asm__(".symver first_" #name ", " #name "@IBVERBS_1.0");
#include "names.def"
/* clang-format on */

void fake_begin(uint64_t result, int error)
{
    mine.calls = 0;
    mine.result = result;
    mine.error = error;
}

int fake_calls(struct fake_call *call)
{
    *call = mine.call;
    return mine.calls;
}

void fake_event(const struct ibv_async_event *e)
{
    mine.event = *e;
}

void fake_hook(void (*hook)(void))
{
    mine.hook = hook;
}

void *fake_make(char kind)
{
    struct ibv_context *c = calloc(1, sizeof *c);
    read_devices();
    c->device = &devices[0].base;
    if (kind == 'c') {
        keep(c, 'c');
        devices[0].users++;
        contexts++;
        return c;
    }
    void **object = calloc(1, 4096); /* every object begins with its context */
    object[0] = c;
    keep(object, kind);
    return object;
}

int fake_total(void)
{
    return total;
}

int fake_lists(void)
{
    return lists;
}

int fake_contexts(void)
{
    return contexts;
}

int fake_data_calls(void)
{
    return data_calls;
}
