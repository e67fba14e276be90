/*
 * refusals.c - every code that a call can return is provoked from it, on either interface; what is
 * refused leaves nothing behind.
 *
 * One process and small limits.  Memory runs out because this program is linked with wrappers round
 * the allocator.
 */
#include <portals3.h>
#include <portals3_ext.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/unit/check.h"

#define IS(call, code)                                                                             \
    do {                                                                                           \
        int is_got = (call);                                                                       \
        check_each(is_got == (code), "line %d: %s is %s", __LINE__, #call,                         \
                   PtlErrorStr((unsigned int)is_got));                                             \
    } while (0)
#define OK(call) IS(call, PTL_OK)

enum { PT = 3, LIST = 3, OBJECTS = 5 };
static const ptl_process_id_t anybody = {PTL_NID_ANY, PTL_PID_ANY};
static const ptl_handle_any_t junk[] = {PTL_INVALID_HANDLE, PTL_HANDLE_NONE, PTL_EQ_NONE,
                                        0x20000000, 0x0fff0007};
enum { JUNK = sizeof junk / sizeof *junk };

#define SEEN __attribute__((visibility("default"))) /* the linker says so, of whatever it finds */
static bool starved;                                /* no memory */
void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_aligned_alloc(size_t alignment, size_t size);
SEEN void *__wrap_malloc(size_t size);
SEEN void *__wrap_calloc(size_t count, size_t size);
SEEN void *__wrap_aligned_alloc(size_t alignment, size_t size);
void *__wrap_malloc(size_t size)
{
    return starved ? NULL : __real_malloc(size);
}
void *__wrap_calloc(size_t count, size_t size)
{
    return starved || count > ((size_t)1 << 40) / size ? NULL : __real_calloc(count, size);
}
void *__wrap_aligned_alloc(size_t alignment, size_t size)
{
    return starved ? NULL : __real_aligned_alloc(alignment, size);
}

static struct world {
    const char *name;
    ptl_interface_t interface, other_interface;
    ptl_handle_ni_t ni, other;
    ptl_process_id_t self;
} world;

static ptl_md_t region(void *start, ptl_size_t length)
{
    return (ptl_md_t){.start = start,
                      .length = length,
                      .threshold = PTL_MD_THRESH_INF,
                      .options = PTL_MD_OP_PUT | PTL_MD_OP_GET | PTL_MD_MANAGE_REMOTE |
                                 PTL_MD_EVENT_START_DISABLE,
                      .eq_handle = PTL_EQ_NONE};
}

static ptl_handle_md_t bound(ptl_md_t md)
{
    ptl_handle_md_t handle = PTL_INVALID_HANDLE;
    OK(PtlMDBind(world.ni, md, PTL_RETAIN, &handle));
    return handle;
}

static ptl_handle_me_t entry(void)
{
    ptl_handle_me_t handle = PTL_INVALID_HANDLE;
    OK(PtlMEAttach(world.ni, PT, anybody, 1, 0, PTL_UNLINK, PTL_INS_AFTER, &handle));
    return handle;
}

static ptl_handle_eq_t queue(ptl_size_t count)
{
    ptl_handle_eq_t handle = PTL_INVALID_HANDLE;
    OK(PtlEQAlloc(world.ni, count, PTL_EQ_HANDLER_NONE, &handle));
    return handle;
}

static ptl_sr_value_t reg(ptl_sr_index_t index)
{
    ptl_sr_value_t value = 0;
    OK(PtlNIStatus(world.ni, index, &value));
    return value;
}

/* --- the library, closed --- */

/* Every call that takes a handle, with one of any value: all say `code`, each its own `invalid`. */
static void closed(ptl_handle_any_t h)
{
    ptl_handle_any_t out;
    ptl_process_id_t id = {0, 0};
    ptl_sr_value_t value;
    ptl_pt_index_t pt;
    ptl_event_t event;
    ptl_md_t md = region(NULL, 0);
    unsigned long distance;
    uint32_t number;
    int which, rank;
    IS(PtlNIInit(PTL_IFACE_SELF, PTL_PID_ANY, NULL, NULL, &out), PTL_NO_INIT);
    IS(PtlNIFini(h), PTL_NO_INIT);
    IS(PtlNIStatus(h, 0, &value), PTL_NO_INIT);
    IS(PtlNIDist(h, id, &distance), PTL_NO_INIT);
    IS(PtlNIHandle(h, &out), PTL_NO_INIT);
    IS(PtlGetUid(h, &number), PTL_NO_INIT);
    IS(PtlGetId(h, &id), PTL_NO_INIT);
    IS(PtlGetJid(h, &number), PTL_NO_INIT);
    IS(PtlMEAttach(h, 0, id, 0, 0, PTL_UNLINK, PTL_INS_AFTER, &out), PTL_NO_INIT);
    IS(PtlMEAttachAny(h, &pt, id, 0, 0, PTL_UNLINK, &out), PTL_NO_INIT);
    IS(PtlMEInsert(h, id, 0, 0, PTL_UNLINK, PTL_INS_AFTER, &out), PTL_NO_INIT);
    IS(PtlMEUnlink(h), PTL_NO_INIT);
    IS(PtlMDAttach(h, md, PTL_UNLINK, &out), PTL_NO_INIT);
    IS(PtlMDBind(h, md, PTL_UNLINK, &out), PTL_NO_INIT);
    IS(PtlMDUnlink(h), PTL_NO_INIT);
    IS(PtlMDUpdate(h, NULL, NULL, PTL_EQ_NONE), PTL_NO_INIT);
    IS(PtlEQAlloc(h, 1, NULL, &out), PTL_NO_INIT);
    IS(PtlEQFree(h), PTL_NO_INIT);
    IS(PtlEQGet(h, &event), PTL_NO_INIT);
    IS(PtlEQWait(h, &event), PTL_NO_INIT);
    IS(PtlEQPoll(&h, 1, 0, &event, &which), PTL_NO_INIT);
    IS(PtlACEntry(h, 0, id, 0, 0, 0), PTL_NO_INIT);
    IS(PtlPut(h, PTL_ACK_REQ, id, 0, 0, 0, 0, 0), PTL_NO_INIT);
    IS(PtlPutRegion(h, 0, 0, PTL_ACK_REQ, id, 0, 0, 0, 0, 0), PTL_NO_INIT);
    IS(PtlGet(h, id, 0, 0, 0, 0), PTL_NO_INIT);
    IS(PtlGetRegion(h, 0, 0, id, 0, 0, 0, 0), PTL_NO_INIT);
    IS(PtlGetPut(h, h, id, 0, 0, 0, 0, 0), PTL_NO_INIT);
    IS(PtlGetPutRegion(h, 0, h, 0, 0, id, 0, 0, 0, 0, 0), PTL_NO_INIT);
    IS(PtlPathOpen(h, id, 0, &(ptl_path_t){NULL}), PTL_NO_INIT);
    IS(PtlPoll(h, &(uint64_t){0}, &(ptl_note_t *){NULL}), PTL_NO_INIT);
    IS(PtlEQCount(&h, 1, &(ptl_size_t){0}), PTL_NO_INIT);
    IS(PtlEQNext(h, &(const ptl_event_t *){NULL}, &(ptl_size_t){0}), PTL_NO_INIT);
    IS(PtlMEMDPost(h, h, id, 0, 0, PTL_UNLINK, PTL_INS_AFTER, md, PTL_UNLINK, &out, &out,
                   PTL_EQ_NONE),
       PTL_NO_INIT);
    IS(PtlProgress(h, 0), PTL_NO_INIT);
    IS(PtlFailNid(h, 0, 0), PTL_NO_INIT);
    IS(PtlGetRank(h, &rank, &which), PTL_NO_INIT);
    /* An out pointer that is NULL is seen before that. */
    IS(PtlNIInit(PTL_IFACE_SELF, PTL_PID_ANY, NULL, NULL, NULL), PTL_SEGV);
    IS(PtlEQGet(h, NULL), PTL_SEGV);
    IS(PtlMDBind(h, md, PTL_UNLINK, NULL), PTL_SEGV);
}

static void before(void)
{
    int interfaces = 0;
    for (int i = 0; i < JUNK; i++) closed(junk[i]);
    IS(PtlInit(NULL), PTL_SEGV);
    closed(0);
    OK(PtlInit(&interfaces));
    check_each(interfaces >= 2, "%d interfaces", interfaces);
    OK(PtlInit(NULL)); /* a repeated call without an output */
    OK(PtlInit(&interfaces));
    check_all("before PtlInit every call returns PTL_NO_INIT, except for NULL arguments");
}

/* One PtlFini ends all PtlInits, closes what is open, and what was open stays closed. */
static void after(void)
{
    ptl_handle_ni_t old = world.ni, ni;
    ptl_handle_md_t md = bound(region(NULL, 0));
    ptl_uid_t uid;
    PtlFini();
    closed(old);
    PtlFini(); /* nothing to end */
    OK(PtlInit(&(int){0}));
    IS(PtlGetUid(old, &uid), PTL_NI_INVALID);
    IS(PtlMDUnlink(md), PTL_MD_INVALID);
    OK(PtlNIInit(world.interface, PTL_PID_ANY, NULL, NULL, &ni));
    IS(PtlGetUid(old, &uid), PTL_NI_INVALID);
    IS(PtlMDUnlink(md), PTL_MD_INVALID);
    OK(PtlGetUid(ni, &uid));
    OK(PtlNIFini(ni));
    IS(PtlNIFini(ni), PTL_NI_INVALID);
    PtlFini();
    check_all("%s: one PtlFini ends every PtlInit; old handles are not those of what comes later",
              world.name);
}

/* --- interfaces --- */

static void open_world(ptl_interface_t interface)
{
    ptl_ni_limits_t wishes = {.max_mes = OBJECTS,
                              .max_mds = OBJECTS,
                              .max_eqs = OBJECTS,
                              .max_ac_index = 2,
                              .max_pt_index = PT,
                              .max_md_iovecs = 4,
                              .max_me_list = LIST,
                              .max_getput_md = 16},
                    actual;
    ptl_handle_ni_t again = PTL_INVALID_HANDLE;
    const ptl_pid_t impossible = 0x12345678;
    world.interface = interface;
    world.other_interface = interface == PTL_IFACE_SELF ? PTL_IFACE_DEFAULT : PTL_IFACE_SELF;
    world.name = interface == PTL_IFACE_SELF ? "self" : "network";
    OK(PtlInit(&(int){0}));
    IS(PtlNIInit(interface, PTL_PID_ANY, NULL, NULL, NULL), PTL_SEGV);
    IS(PtlNIInit(2, PTL_PID_ANY, NULL, NULL, &world.ni), PTL_IFACE_INVALID);
    IS(PtlNIInit(~0u, PTL_PID_ANY, NULL, NULL, &world.ni), PTL_IFACE_INVALID);
    if (interface == PTL_IFACE_DEFAULT)
        IS(PtlNIInit(interface, impossible, NULL, NULL, &world.ni), PTL_PID_INVALID);
    starved = true;
    IS(PtlNIInit(interface, PTL_PID_ANY, NULL, NULL, &world.ni), PTL_NO_SPACE);
    starved = false;
    OK(PtlNIInit(interface, PTL_PID_ANY, &wishes, &actual, &world.ni));
    check_each(memcmp(&wishes, &actual, sizeof actual) == 0, "limits other than desired");
    OK(PtlNIInit(interface, 77, NULL, NULL, &again));
    check_each(again == world.ni, "an open interface has another handle");
    OK(PtlGetId(world.ni, &world.self));
    OK(PtlNIInit(world.other_interface, PTL_PID_ANY, NULL, NULL, &world.other));
    check_all("%s: PtlNIInit", world.name);
}

/* Tests the number of another process. */
static void taken_pid(void)
{
    int pipes[2], status = -1;
    ptl_pid_t pid = 0;
    pid_t child;
    if (pipe(pipes) < 0 || (child = fork()) < 0) {
        check(false, "a second process");
        return;
    }
    if (child == 0) {
        ptl_handle_ni_t ni;
        ptl_interface_t iface = PTL_IFACE_DEFAULT;
        int result = PTL_FAIL;
        close(pipes[1]);
        if (read(pipes[0], &pid, sizeof pid) == sizeof pid && PtlInit(&(int){0}) == PTL_OK)
            result = PtlNIInit(iface, pid, NULL, NULL, &ni);
        _exit(result);
    }
    close(pipes[0]);
    OK(PtlInit(&(int){0}));
    OK(PtlNIInit(PTL_IFACE_DEFAULT, PTL_PID_ANY, NULL, NULL, &world.ni));
    OK(PtlGetId(world.ni, &world.self));
    check_each(write(pipes[1], &world.self.pid, sizeof pid) == sizeof pid, "the pipe");
    close(pipes[1]);
    waitpid(child, &status, 0);
    check_each(WIFEXITED(status) && WEXITSTATUS(status) == PTL_PID_INVALID, "status %#x", status);
    PtlFini();
    check_all("network: PtlNIInit with another's pid: PTL_PID_INVALID");
}

static void asking(ptl_handle_any_t wrong)
{
    ptl_process_id_t id;
    ptl_sr_value_t value;
    unsigned long distance;
    uint32_t number;
    IS(PtlNIStatus(wrong, 0, &value), PTL_NI_INVALID);
    IS(PtlNIDist(wrong, world.self, &distance), PTL_NI_INVALID);
    IS(PtlGetUid(wrong, &number), PTL_NI_INVALID);
    IS(PtlGetId(wrong, &id), PTL_NI_INVALID);
    IS(PtlGetJid(wrong, &number), PTL_NI_INVALID);
    IS(PtlNIFini(wrong), PTL_NI_INVALID);
    IS(PtlACEntry(wrong, 0, anybody, 0, 0, 0), PTL_NI_INVALID);
    IS(PtlFailNid(wrong, 0, 0), PTL_NI_INVALID);
    IS(PtlTblDump(wrong, 0), PTL_NI_INVALID);
    IS(PtlNIEqDump(wrong), PTL_NI_INVALID);
    char text[8];
    IS(PtlDeviceText(wrong, text, sizeof text), PTL_NI_INVALID);
    IS(PtlDeviceText(world.ni, NULL, 8), PTL_SEGV);
    IS(PtlDeviceText(world.ni, text, 0), PTL_SEGV);
    IS(PtlSetRank(wrong, 0, 1), wrong == PTL_INVALID_HANDLE ? PTL_OK : PTL_NI_INVALID);
}

static void interfaces(void)
{
    ptl_handle_ni_t ni = PTL_INVALID_HANDLE;
    ptl_handle_eq_t eq = queue(1);
    ptl_sr_value_t value;
    unsigned long distance;
    IS(PtlNIStatus(world.ni, 0, NULL), PTL_SEGV);
    IS(PtlNIStatus(world.ni, PTL_SR_ANSWERS + 1, &value), PTL_SR_INDEX_INVALID);
    IS(PtlNIStatus(world.ni, PTL_SR_TRANSPORT + 1000, &value), PTL_SR_INDEX_INVALID);
    IS(PtlNIStatus(world.ni, ~0u, &value), PTL_SR_INDEX_INVALID);
    IS(PtlNIDist(world.ni, world.self, NULL), PTL_SEGV);
    IS(PtlNIDist(world.ni, anybody, &distance), PTL_PROCESS_INVALID);
    IS(PtlGetUid(world.ni, NULL), PTL_SEGV);
    IS(PtlGetId(world.ni, NULL), PTL_SEGV);
    IS(PtlGetJid(world.ni, NULL), PTL_SEGV);
    IS(PtlNIHandle(eq, NULL), PTL_SEGV);
    OK(PtlNIHandle(eq, &ni));
    check_each(ni == world.ni, "the interface of a queue");
    for (int i = 0; i < JUNK; i++) IS(PtlNIHandle(junk[i], &ni), PTL_HANDLE_INVALID);
    for (int i = 0; i < JUNK; i++) asking(junk[i]);
    asking(eq);
    IS(PtlProgress(PTL_INVALID_HANDLE, 0), PTL_HANDLE_INVALID);
    OK(PtlProgress(world.ni, 0));
    IS(PtlTblDump(world.ni, PT + 1), PTL_PT_INDEX_INVALID);
    IS(PtlMEDump(eq), PTL_ME_INVALID);
    IS(PtlACEntry(world.ni, 3, anybody, 0, 0, 0), PTL_AC_INDEX_INVALID);
    IS(PtlACEntry(world.ni, 0, anybody, 0, 0, PT + 1), PTL_PT_INDEX_INVALID);
    OK(PtlEQFree(eq));
    check_all("%s: interfaces, registers, access entries", world.name);
}

static void ranks(void)
{
    static const uint32_t numbers[] = {1, 2};
    ptl_process_id_t id;
    uint32_t map[2];
    int rank, size;
    IS(PtlSetRank(world.ni, 0, 1), PTL_FAIL); /* the interface is open already */
    IS(PtlSetRank(PTL_INVALID_HANDLE, 2, 2), PTL_FAIL);
    IS(PtlSetRank(PTL_INVALID_HANDLE, -2, 2), PTL_FAIL);
    IS(PtlSetRank(PTL_INVALID_HANDLE, 0, 0), PTL_FAIL);
    static const char key[65] = "of one byte more than a key has";
    IS(PtlSetKey(NULL, 16), PTL_SEGV);
    IS(PtlSetKey(key, 15), PTL_FAIL);
    IS(PtlSetKey(key, sizeof key), PTL_FAIL);
    IS(PtlSetNIDMap(PTL_INVALID_HANDLE, NULL, 2), PTL_SEGV);
    IS(PtlSetPIDMap(PTL_INVALID_HANDLE, numbers, 0), PTL_FAIL);
    starved = true;
    IS(PtlSetPIDMap(PTL_INVALID_HANDLE, numbers, 2), PTL_NO_SPACE);
    starved = false;
    IS(PtlGetRank(world.ni, NULL, &size), PTL_SEGV);
    IS(PtlGetRank(world.ni, &rank, &size), PTL_FAIL); /* no rank was set */
    IS(PtlGetRankId(world.ni, 0, NULL), PTL_SEGV);
    IS(PtlGetRankId(world.ni, 0, &id), PTL_FAIL);
    IS(PtlGetNIDMap(world.ni, map, 2, NULL), PTL_SEGV);
    IS(PtlGetPIDMap(world.ni, map, 2, &size), PTL_FAIL);
    IS(PtlGetPIDMap(PTL_EQ_NONE, map, 2, &size), PTL_NI_INVALID);
    check_all("%s: the map of ranks", world.name);
}

/* --- match entries --- */

static void entries(void)
{
    ptl_handle_me_t list[OBJECTS], me;
    ptl_handle_eq_t eq = queue(1);
    ptl_pt_index_t pt;
    const ptl_process_id_t nobody = {0, 0xffffff};
    for (int i = 0; i < JUNK; i++) {
        IS(PtlMEAttach(junk[i], 0, anybody, 0, 0, PTL_UNLINK, PTL_INS_AFTER, &me), PTL_NI_INVALID);
        IS(PtlMEAttachAny(junk[i], &pt, anybody, 0, 0, PTL_UNLINK, &me), PTL_NI_INVALID);
        IS(PtlMEInsert(junk[i], anybody, 0, 0, PTL_UNLINK, PTL_INS_AFTER, &me), PTL_ME_INVALID);
        IS(PtlMEUnlink(junk[i]), PTL_ME_INVALID);
    }
    IS(PtlMEAttach(world.ni, 0, anybody, 0, 0, PTL_UNLINK, PTL_INS_AFTER, NULL), PTL_SEGV);
    IS(PtlMEAttachAny(world.ni, NULL, anybody, 0, 0, PTL_UNLINK, &me), PTL_SEGV);
    IS(PtlMEAttachAny(world.ni, &pt, anybody, 0, 0, PTL_UNLINK, NULL), PTL_SEGV);
    IS(PtlMEAttach(world.ni, PT + 1, anybody, 0, 0, PTL_UNLINK, PTL_INS_AFTER, &me),
       PTL_PT_INDEX_INVALID);
    IS(PtlMEAttach(world.ni, PTL_PT_INDEX_ANY, anybody, 0, 0, PTL_UNLINK, PTL_INS_AFTER, &me),
       PTL_PT_INDEX_INVALID);
    /* Any value might be a process. */
    OK(PtlMEAttach(world.ni, 0, nobody, 0, 0, PTL_UNLINK, PTL_INS_AFTER, &list[0]));
    IS(PtlMEInsert(list[0], anybody, 0, 0, PTL_UNLINK, PTL_INS_AFTER, NULL), PTL_SEGV);
    for (int i = 1; i < LIST; i++)
        OK(PtlMEInsert(list[0], nobody, 0, 0, PTL_UNLINK, PTL_INS_AFTER, &list[i]));
    IS(PtlMEInsert(list[0], anybody, 0, 0, PTL_UNLINK, PTL_INS_BEFORE, &me), PTL_ME_LIST_TOO_LONG);
    IS(PtlMEAttach(world.ni, 0, anybody, 0, 0, PTL_UNLINK, PTL_INS_AFTER, &me),
       PTL_ME_LIST_TOO_LONG);
    for (int i = LIST; i < OBJECTS; i++)
        OK(PtlMEAttachAny(world.ni, &pt, anybody, 0, 0, PTL_UNLINK, &list[i]));
    IS(PtlMEAttach(world.ni, PT, anybody, 0, 0, PTL_UNLINK, PTL_INS_AFTER, &me), PTL_NO_SPACE);
    IS(PtlMEAttachAny(world.ni, &pt, anybody, 0, 0, PTL_UNLINK, &me), PTL_NO_SPACE);
    IS(PtlMEInsert(list[LIST], anybody, 0, 0, PTL_UNLINK, PTL_INS_AFTER, &me), PTL_NO_SPACE);
    for (int i = LIST - 1; i > 0; i--) OK(PtlMEUnlink(list[i]));
    OK(PtlMEAttachAny(world.ni, &pt, anybody, 0, 0, PTL_UNLINK, &list[1])); /* the last that is */
    IS(PtlMEAttachAny(world.ni, &pt, anybody, 0, 0, PTL_UNLINK, &me), PTL_PT_FULL);
    for (int i = 0; i < OBJECTS; i++)
        if (i != 2) OK(PtlMEUnlink(list[i]));
    IS(PtlMEUnlink(list[0]), PTL_ME_INVALID);
    IS(PtlMEInsert(list[0], anybody, 0, 0, PTL_UNLINK, PTL_INS_AFTER, &me), PTL_ME_INVALID);
    IS(PtlMEUnlink(eq), PTL_ME_INVALID);
    OK(PtlEQFree(eq));
    check_all("%s: match entries", world.name);
}

/* --- memory descriptors --- */

static void descriptors(void)
{
    enum { BAD = 7 };
    char bytes[8];
    ptl_md_iovec_t pieces[5] = {{bytes, 1}, {bytes, 1}, {bytes, 1}, {bytes, 1}, {bytes, 1}};
    ptl_handle_me_t me = entry();
    ptl_handle_eq_t eq = queue(1), foreign;
    ptl_handle_md_t md, mds[OBJECTS];
    ptl_md_t good = region(bytes, 8), bad[BAD];
    static const int why[BAD] = {PTL_MD_ILLEGAL, PTL_MD_ILLEGAL, PTL_MD_ILLEGAL, PTL_MD_ILLEGAL,
                                 PTL_EQ_INVALID, PTL_MD_ILLEGAL, PTL_MD_ILLEGAL};
    ptl_md_iovec_t holed[3] = {{bytes, 1}, {NULL, 1}, {bytes, 1}};
    OK(PtlEQAlloc(world.other, 1, NULL, &foreign));
    for (int i = 0; i < BAD; i++) bad[i] = good;
    bad[0].start = NULL;
    bad[1].length = UINT64_MAX;
    bad[2].start = pieces;
    bad[2].length = 5;
    bad[2].options |= PTL_MD_IOVEC;
    bad[3].threshold = -2;
    bad[4].eq_handle = me;
    bad[5].eq_handle = foreign;
    bad[6].start = holed;
    bad[6].length = 3;
    bad[6].options |= PTL_MD_IOVEC;
    for (int i = 0; i < JUNK; i++) {
        IS(PtlMDAttach(junk[i], good, PTL_RETAIN, &md), PTL_ME_INVALID);
        IS(PtlMDBind(junk[i], good, PTL_RETAIN, &md), PTL_NI_INVALID);
        IS(PtlMDUnlink(junk[i]), PTL_MD_INVALID);
        IS(PtlMDUpdate(junk[i], &good, &good, PTL_EQ_NONE), PTL_MD_INVALID);
    }
    IS(PtlMDBind(world.ni, good, PTL_RETAIN, NULL), PTL_SEGV);
    mds[0] = bound(good);
    for (int i = 0; i < BAD; i++) {
        IS(PtlMDAttach(me, bad[i], PTL_RETAIN, &md), why[i]);
        IS(PtlMDBind(world.ni, bad[i], PTL_RETAIN, &md), why[i]);
        IS(PtlMDUpdate(mds[0], NULL, &bad[i], PTL_EQ_NONE), why[i]);
    }
    IS(PtlMDUpdate(mds[0], NULL, &good, me), PTL_EQ_INVALID);
    IS(PtlMDUpdate(mds[0], NULL, &good, foreign), PTL_MD_ILLEGAL);
    starved = true; /* more pieces than there is room for without asking for memory */
    bad[2].length = 4;
    IS(PtlMDBind(world.ni, bad[2], PTL_RETAIN, &md), PTL_NO_SPACE);
    IS(PtlMDAttach(me, bad[2], PTL_RETAIN, &md), PTL_NO_SPACE);
    IS(PtlMDUpdate(mds[0], NULL, &bad[2], PTL_EQ_NONE), PTL_NO_SPACE);
    starved = false;
    OK(PtlMDAttach(me, good, PTL_RETAIN, NULL)); /* the output of the handle may be NULL */
    IS(PtlMDAttach(me, good, PTL_RETAIN, NULL), PTL_ME_IN_USE);
    for (int i = 1; i < OBJECTS - 1; i++) mds[i] = bound(good);
    IS(PtlMDBind(world.ni, good, PTL_RETAIN, &md), PTL_NO_SPACE);
    OK(PtlMEUnlink(me));
    me = entry();
    mds[OBJECTS - 1] = bound(good);
    IS(PtlMDAttach(me, good, PTL_RETAIN, &md), PTL_NO_SPACE);
    for (int i = 0; i < OBJECTS; i++) OK(PtlMDUnlink(mds[i]));
    IS(PtlMDUnlink(mds[0]), PTL_MD_INVALID);
    IS(PtlMDUpdate(mds[0], &good, NULL, PTL_EQ_NONE), PTL_MD_INVALID);
    OK(PtlMEUnlink(me));
    IS(PtlMDAttach(me, good, PTL_RETAIN, &md), PTL_ME_INVALID);
    OK(PtlEQFree(eq));
    OK(PtlEQFree(foreign));
    check_all("%s: memory descriptors", world.name);
}

/* The network cannot register what is not there. */
static void unregistered(void)
{
    size_t size = 1 << 16;
    void *nowhere = mmap(NULL, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ptl_md_t ghost = region(nowhere, size);
    ptl_handle_me_t me = entry();
    ptl_handle_md_t md, real = bound(region(NULL, 0));
    munmap(nowhere, size);
    IS(PtlMDBind(world.ni, ghost, PTL_RETAIN, &md), PTL_NO_SPACE);
    IS(PtlMDAttach(me, ghost, PTL_RETAIN, &md), PTL_NO_SPACE);
    IS(PtlMDUpdate(real, NULL, &ghost, PTL_EQ_NONE), PTL_NO_SPACE);
    OK(PtlMDUnlink(real));
    OK(PtlMEUnlink(me));
    check_all("%s: memory that cannot be registered: PTL_NO_SPACE", world.name);
}

/* --- event queues --- */

/* Puts `n` events into the queue. */
static void events(ptl_handle_eq_t eq, int n)
{
    ptl_md_t md = region(NULL, 0);
    ptl_handle_md_t from;
    md.eq_handle = eq;
    from = bound(md);
    for (int i = 0; i < n; i++) OK(PtlPut(from, PTL_NOACK_REQ, world.self, 0, 0, 99, 0, 0));
    OK(PtlMDUnlink(from));
}

static void queues(void)
{
    ptl_handle_eq_t eqs[OBJECTS], eq, foreign;
    ptl_md_t user = region(NULL, 0);
    ptl_handle_md_t md;
    ptl_event_t event;
    int which;
    OK(PtlEQAlloc(world.other, 1, NULL, &foreign));
    IS(PtlEQAlloc(world.ni, 1, NULL, NULL), PTL_SEGV);
    OK(PtlEQAlloc(world.ni, 0, PTL_EQ_HANDLER_NONE, &eq));
    check_each(eq == PTL_EQ_NONE, "a queue of nothing has a handle");
    IS(PtlEQAlloc(world.ni, UINT64_MAX, NULL, &eq), PTL_NO_SPACE);
    starved = true;
    IS(PtlEQAlloc(world.ni, 1000, NULL, &eq), PTL_NO_SPACE);
    starved = false;
    for (int i = 0; i < OBJECTS; i++) eqs[i] = queue(4);
    IS(PtlEQAlloc(world.ni, 1, NULL, &eq), PTL_NO_SPACE);
    for (int i = 0; i < JUNK; i++) {
        eq = junk[i];
        IS(PtlEQAlloc(eq, 1, NULL, &eq), PTL_NI_INVALID);
        eq = junk[i];
        IS(PtlEQFree(eq), PTL_EQ_INVALID);
        IS(PtlEQGet(eq, &event), PTL_EQ_INVALID);
        IS(PtlEQWait(eq, &event), PTL_EQ_INVALID);
        IS(PtlEQPoll(&eq, 1, 0, &event, &which), PTL_EQ_INVALID);
    }
    IS(PtlEQGet(eqs[0], NULL), PTL_SEGV);
    IS(PtlEQWait(eqs[0], NULL), PTL_SEGV);
    IS(PtlEQPoll(NULL, 1, 0, &event, &which), PTL_SEGV);
    IS(PtlEQPoll(eqs, 1, 0, NULL, &which), PTL_SEGV);
    IS(PtlEQPoll(eqs, 1, 0, &event, NULL), PTL_SEGV);
    IS(PtlEQPoll(eqs, 0, 0, &event, &which), PTL_EQ_INVALID);
    IS(PtlEQPoll(eqs, -1, 0, &event, &which), PTL_EQ_INVALID);
    eq = eqs[2];
    eqs[2] = foreign;
    IS(PtlEQPoll(eqs, OBJECTS, 0, &event, &which), PTL_EQ_INVALID);
    check_each(which == 2, "the queue of another interface is %d", which);
    eqs[2] = eq;
    IS(PtlEQGet(eqs[0], &event), PTL_EQ_EMPTY);
    IS(PtlEQPoll(eqs, OBJECTS, 0, &event, &which), PTL_EQ_EMPTY);
    IS(PtlEQPoll(eqs, OBJECTS, 1, &event, &which), PTL_EQ_EMPTY);
    for (int i = 0; i < 3; i++) events(eqs[3], 3); /* 9 events, of which 4 are kept */
    IS(PtlEQGet(eqs[3], &event), PTL_EQ_DROPPED);
    OK(PtlEQGet(eqs[3], &event));
    events(eqs[3], 3);
    IS(PtlEQWait(eqs[3], &event), PTL_EQ_DROPPED);
    OK(PtlEQWait(eqs[3], &event));
    events(eqs[3], 3);
    IS(PtlEQPoll(eqs, OBJECTS, PTL_TIME_FOREVER, &event, &which), PTL_EQ_DROPPED);
    check_each(which == 3, "the queue that lost is %d", which);
    OK(PtlEQPoll(eqs, OBJECTS, PTL_TIME_FOREVER, &event, &which));
    user.eq_handle = eqs[1];
    md = bound(user);
    IS(PtlEQFree(eqs[1]), PTL_EQ_IN_USE);
    OK(PtlMDUnlink(md));
    for (int i = 0; i < OBJECTS; i++) OK(PtlEQFree(eqs[i]));
    IS(PtlEQFree(eqs[0]), PTL_EQ_INVALID);
    IS(PtlEQGet(eqs[0], &event), PTL_EQ_INVALID);
    OK(PtlEQFree(foreign));
    check_all("%s: event queues", world.name);
}

/* --- operations --- */

static void refused_by_md(ptl_handle_md_t bad, ptl_handle_md_t good, int why)
{
    const ptl_process_id_t to = world.self;
    IS(PtlPut(bad, PTL_ACK_REQ, to, 0, 0, 0, 0, 0), why);
    IS(PtlPutRegion(bad, 0, 0, PTL_ACK_REQ, to, 0, 0, 0, 0, 0), why);
    IS(PtlGet(bad, to, 0, 0, 0, 0), why);
    IS(PtlGetRegion(bad, 0, 0, to, 0, 0, 0, 0), why);
    IS(PtlGetPut(bad, good, to, 0, 0, 0, 0, 0), why);
    IS(PtlGetPut(good, bad, to, 0, 0, 0, 0, 0), why);
    IS(PtlGetPutRegion(bad, 0, good, 0, 0, to, 0, 0, 0, 0, 0), why);
    IS(PtlGetPutRegion(good, 0, bad, 0, 0, to, 0, 0, 0, 0, 0), why);
}

/* Memory for the records of operations is taken at their first use; nothing was started yet. */
static void no_records(void)
{
    ptl_handle_md_t md = bound(region(NULL, 0));
    starved = true;
    refused_by_md(md, md, PTL_NO_SPACE);
    starved = false;
    check_each(reg(PTL_SR_SEND_COUNT) == 0, "something was started");
    OK(PtlMDUnlink(md));
    check_all("%s: operations for which there is no memory: PTL_NO_SPACE", world.name);
}

static void operations(void)
{
    char bytes[32];
    ptl_handle_md_t md = bound(region(bytes, 8)), large = bound(region(bytes, 17)), idle, dead;
    ptl_handle_md_t foreign;
    ptl_md_t inactive = region(bytes, 8);
    const ptl_process_id_t to = world.self;
    inactive.threshold = 0;
    idle = bound(inactive);
    dead = bound(inactive);
    OK(PtlMDUnlink(dead));
    OK(PtlMDBind(world.other, region(NULL, 0), PTL_RETAIN, &foreign));
    for (int i = 0; i < JUNK; i++) refused_by_md(junk[i], md, PTL_MD_INVALID);
    refused_by_md(world.ni, md, PTL_MD_INVALID);
    refused_by_md(dead, md, PTL_MD_INVALID);
    refused_by_md(idle, md, PTL_MD_INVALID);
    IS(PtlPutRegion(md, 9, 0, PTL_ACK_REQ, to, 0, 0, 0, 0, 0), PTL_MD_ILLEGAL);
    IS(PtlPutRegion(md, 4, UINT64_MAX - 2, PTL_ACK_REQ, to, 0, 0, 0, 0, 0), PTL_MD_ILLEGAL);
    IS(PtlPutRegion(md, UINT64_MAX, 2, PTL_ACK_REQ, to, 0, 0, 0, 0, 0), PTL_MD_ILLEGAL);
    IS(PtlGetRegion(md, 9, 0, to, 0, 0, 0, 0), PTL_MD_ILLEGAL);
    IS(PtlGetRegion(md, 1, 8, to, 0, 0, 0, 0), PTL_MD_ILLEGAL);
    IS(PtlGetPut(large, large, to, 0, 0, 0, 0, 0), PTL_MD_ILLEGAL); /* beyond max_getput_md */
    IS(PtlGetPut(md, large, to, 0, 0, 0, 0, 0), PTL_MD_ILLEGAL);
    IS(PtlGetPutRegion(large, 0, large, 0, 17, to, 0, 0, 0, 0, 0), PTL_MD_ILLEGAL);
    IS(PtlGetPutRegion(md, 4, md, 0, 8, to, 0, 0, 0, 0, 0), PTL_MD_ILLEGAL);
    IS(PtlGetPutRegion(md, 0, md, 4, 8, to, 0, 0, 0, 0, 0), PTL_MD_ILLEGAL);
    IS(PtlGetPut(foreign, md, to, 0, 0, 0, 0, 0), PTL_MD_ILLEGAL);
    IS(PtlGetPut(md, foreign, to, 0, 0, 0, 0, 0), PTL_MD_ILLEGAL);
    IS(PtlPut(md, PTL_ACK_REQ, anybody, 0, 0, 0, 0, 0), PTL_PROCESS_INVALID);
    IS(PtlPutRegion(md, 0, 0, PTL_ACK_REQ, anybody, 0, 0, 0, 0, 0), PTL_PROCESS_INVALID);
    IS(PtlGet(md, anybody, 0, 0, 0, 0), PTL_PROCESS_INVALID);
    IS(PtlGetRegion(md, 0, 0, anybody, 0, 0, 0, 0), PTL_PROCESS_INVALID);
    IS(PtlGetPut(md, md, anybody, 0, 0, 0, 0, 0), PTL_PROCESS_INVALID);
    IS(PtlGetPutRegion(md, 0, md, 0, 8, anybody, 0, 0, 0, 0, 0), PTL_PROCESS_INVALID);
    check_each(reg(PTL_SR_MSG_CUR) == 0, "operations are left");
    OK(PtlMDUnlink(md));
    OK(PtlMDUnlink(large));
    OK(PtlMDUnlink(idle));
    OK(PtlMDUnlink(foreign));
    check_all("%s: operations", world.name);
}

/* --- PtlMEMDPost and the rest of PtlMDUpdate --- */

static int post(ptl_handle_me_t base, ptl_md_t md, ptl_handle_eq_t testq)
{
    ptl_handle_me_t me;
    ptl_handle_md_t out;
    return PtlMEMDPost(world.ni, base, anybody, 0, 0, PTL_UNLINK, PTL_INS_BEFORE, md, PTL_UNLINK,
                       &me, &out, testq);
}

static void conditions(void)
{
    ptl_handle_eq_t eq = queue(4);
    ptl_handle_me_t base = entry(), me;
    ptl_handle_md_t out, md = bound(region(NULL, 0)), mds[OBJECTS];
    ptl_md_t good = region(NULL, 0), bad = region(NULL, 1), queued = good;
    ptl_event_t event;
    IS(PtlMEMDPost(world.ni, base, anybody, 0, 0, PTL_UNLINK, PTL_INS_BEFORE, good, PTL_UNLINK,
                   NULL, &out, eq),
       PTL_SEGV);
    IS(PtlMEMDPost(eq, base, anybody, 0, 0, PTL_UNLINK, PTL_INS_BEFORE, good, PTL_UNLINK, &me, &out,
                   eq),
       PTL_NI_INVALID);
    ptl_path_t path = NULL;
    IS(PtlPathOpen(eq, anybody, 0, &path), PTL_NI_INVALID);
    IS(PtlPathOpen(world.ni, anybody, 0, NULL), PTL_SEGV);
    IS(PtlPathOpen(world.ni, anybody, 1 << 20, &path), PTL_PT_INDEX_INVALID);
    IS(PtlPathOpen(world.ni, anybody, 0, &path), PTL_NO_SPACE);
    IS(PtlPutBytes(path, NULL, 0, 0, 0, 0), PTL_NO_SPACE);
    IS(PtlPoll(eq, &(uint64_t){0}, &(ptl_note_t *){NULL}), PTL_NI_INVALID);
    ptl_size_t counts[2] = {1, 1};
    IS(PtlEQCount(NULL, 1, counts), PTL_SEGV);
    IS(PtlEQCount(&eq, 1, NULL), PTL_SEGV);
    IS(PtlEQCount(&eq, 0, counts), PTL_EQ_INVALID);
    IS(PtlEQCount(&base, 1, counts), PTL_EQ_INVALID);
    IS(PtlEQCount((const ptl_handle_eq_t[]){eq, base}, 2, counts), PTL_EQ_INVALID);
    IS(PtlEQCount(&eq, 1, counts), PTL_OK);
    const ptl_event_t *next;
    IS(PtlEQNext(eq, NULL, counts), PTL_SEGV);
    IS(PtlEQNext(eq, &next, NULL), PTL_SEGV);
    IS(PtlEQNext(base, &next, counts), PTL_EQ_INVALID);
    IS(PtlEQNext(eq, &next, counts), PTL_EQ_EMPTY);
    IS(PtlMEMDPost(world.other, base, anybody, 0, 0, PTL_UNLINK, PTL_INS_BEFORE, good, PTL_UNLINK,
                   &me, &out, PTL_EQ_NONE),
       PTL_ME_INVALID);
    IS(post(eq, good, eq), PTL_ME_INVALID);
    IS(post(base, bad, eq), PTL_MD_ILLEGAL);
    IS(post(base, good, base), PTL_EQ_INVALID);
    queued.eq_handle = base;
    IS(post(base, queued, eq), PTL_EQ_INVALID);
    for (int i = 0; i < OBJECTS - 1; i++) mds[i] = bound(good);
    IS(post(base, good, eq), PTL_NO_SPACE);
    for (int i = 0; i < OBJECTS - 1; i++) OK(PtlMDUnlink(mds[i]));
    events(eq, 1);
    IS(post(base, good, eq), PTL_MD_NO_UPDATE);
    IS(PtlMDUpdate(md, NULL, &good, eq), PTL_MD_NO_UPDATE);
    check_each(reg(PTL_SR_MES_CUR) == 1 && reg(PTL_SR_MDS_CUR) == 1, "what was refused is there");
    OK(PtlEQGet(eq, &event));
    OK(PtlMDUpdate(md, NULL, &good, eq));
    OK(PtlMDUpdate(md, NULL, &good, PTL_EQ_NONE));
    OK(PtlMDUpdate(md, NULL, NULL, PTL_EQ_NONE));
    queued.eq_handle = eq;
    OK(PtlMDUpdate(md, NULL, &queued, eq)); /* the queue is used from now on */
    IS(PtlEQFree(eq), PTL_EQ_IN_USE);
    OK(PtlMDUpdate(md, NULL, &good, eq));
    OK(PtlEQFree(eq));
    OK(PtlMDUnlink(md));
    OK(PtlMEUnlink(base));
    check_all("%s: PtlMDUpdate and PtlMEMDPost", world.name);
}

static void on(ptl_interface_t interface)
{
    open_world(interface);
    no_records();
    interfaces();
    ranks();
    entries();
    descriptors();
    if (interface == PTL_IFACE_DEFAULT) unregistered();
    queues();
    operations();
    conditions();
    for (ptl_sr_index_t i = PTL_SR_MSG_CUR; i <= PTL_SR_EQS_CUR; i += 4)
        check_each(reg(i) == 0, "register %u is %llu", i, (unsigned long long)reg(i));
    check_all("%s: nothing is left of all that was refused", world.name);
    after();
}

int main(int argc, char **argv)
{
    check_begin(argc, argv);
    taken_pid(); /* first of all, for it forks */
    before();
    PtlFini();
    on(PTL_IFACE_SELF);
    on(PTL_IFACE_DEFAULT);
    return check_end();
}
