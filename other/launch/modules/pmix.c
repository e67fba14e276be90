/* pmix.c - the pmix spawner: a module loaded when a PMIx server started the program.
 *
 * Called through SPAWNER_SYMBOL by bootstrap.c.  PMIx transports a few kilobytes at start-up,
 * reports deaths and ends the job; no MPI is needed.  The servers keep every value that was put
 * until the job ends, so each call uses a new key.
 */
#include <errno.h>
#include <inttypes.h>
#include <pmix.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "other/base/fnv.h"
#include "other/launch/modules/module.h"
#include "other/launch/spawner_ops.h"

extern const struct spawner_ops SPAWNER_SYMBOL;

enum { FINI_MS = 500 };

static pmix_proc_t me;
static uint32_t size;
static uint64_t calls;      /* collective calls so far: part of the keys, equal on all ranks */
static atomic_bool leaving; /* after fini: events are no failure any more */

static void pmix_abort(int exitcode) __attribute__((noreturn));

static void pmix_check(pmix_status_t status, const char *call)
{
    if (status == PMIX_SUCCESS) return;
    fprintf(stderr, "bootstrap: rank %" PRIu32 ": %s: %s; ending the job\n", me.rank, call,
            PMIx_Error_string(status));
    pmix_abort(1);
}

/* --- bytes from rank to rank --- */

static void pmix_make_key(char key[PMIX_MAX_KEYLEN + 1])
{
    snprintf(key, PMIX_MAX_KEYLEN + 1, "gasnet.%" PRIu64, calls);
}

static void pmix_publish(const void *data, size_t len)
{
    char key[PMIX_MAX_KEYLEN + 1];
    pmix_value_t value = {.type = PMIX_BYTE_OBJECT};
    value.data.bo.bytes = (char *)(uintptr_t)data; /* PMIx_Put copies */
    value.data.bo.size = len;
    pmix_make_key(key);
    pmix_check(PMIx_Put(PMIX_GLOBAL, key, &value), "PMIx_Put");
    pmix_check(PMIx_Commit(), "PMIx_Commit");
}

/* The fence that goes on; posted by PMIx's thread. */
static struct {
    bool begun; /* the fence has begun, and has not been waited for to its end */
    sem_t over;
    pmix_status_t status;
    bootstrap_meanwhile_fn meanwhile;
} fence;

static void pmix_on_fence(pmix_status_t status, void *unused)
{
    fence.status = status;
    sem_post(&fence.over);
}

/* Whether it is over before that time. */
static bool pmix_fence_over(const struct timespec *until)
{
    int error;
    do error = sem_timedwait(&fence.over, until);
    while (error != 0 && errno == EINTR);
    fence.begun = fence.begun && error != 0;
    return error == 0;
}

/* Fence over all ranks; with `collect` the published values are on every host afterwards. */
static void pmix_fence(bool collect)
{
    pmix_info_t info;
    struct timespec next;
    unsigned turn = 0;
    PMIX_INFO_CONSTRUCT(&info);
    PMIX_INFO_LOAD(&info, PMIX_COLLECT_DATA, &collect, PMIX_BOOL);
    fence.begun = true;
    pmix_check(PMIx_Fence_nb(NULL, 0, &info, 1, pmix_on_fence, NULL), "PMIx_Fence_nb");
    do {
        if (fence.meanwhile) fence.meanwhile();
        next = spawner_next_turn(turn++);
    } while (!pmix_fence_over(&next));
    pmix_check(fence.status, "PMIx_Fence_nb");
    PMIX_INFO_DESTRUCT(&info);
}

/* Returns the `len` bytes that `rank` published in this call; the caller releases the value. */
static pmix_value_t *pmix_fetch(uint32_t rank, size_t len)
{
    char key[PMIX_MAX_KEYLEN + 1];
    pmix_value_t *value = NULL;
    pmix_proc_t from = me;
    from.rank = rank;
    pmix_make_key(key);
    pmix_check(PMIx_Get(&from, key, NULL, 0, &value), "PMIx_Get");
    if (value->type != PMIX_BYTE_OBJECT || value->data.bo.size != len)
        pmix_check(PMIX_ERR_TYPE_MISMATCH, "collective calls do not match: PMIx_Get");
    return value;
}

static void pmix_barrier(void)
{
    pmix_fence(false);
}

/* Every rank publishes `len` bytes; of each rank's, `want` bytes at `offset` go to `all`. */
static void pmix_share(const void *mine, size_t len, void *all, size_t offset, size_t want)
{
    calls++;
    if (len) pmix_publish(mine, len);
    pmix_fence(len > 0);
    for (uint32_t r = 0; len && r < size; r++) {
        if (r == me.rank) {
            memcpy((char *)all + r * want, (const char *)mine + offset, want);
            continue;
        }
        pmix_value_t *value = pmix_fetch(r, len);
        memcpy((char *)all + r * want, value->data.bo.bytes + offset, want);
        PMIX_VALUE_RELEASE(value);
    }
}

static void pmix_exchange(const void *mine, size_t len, void *all)
{
    pmix_share(mine, len, all, 0, len);
}

static void pmix_alltoall(const void *mine, size_t len, void *all)
{
    pmix_share(mine, len * size, all, len * me.rank, len);
}

static void pmix_broadcast(void *data, size_t len, uint32_t root)
{
    calls++;
    if (len && me.rank == root) pmix_publish(data, len);
    pmix_fence(len > 0);
    if (!len || me.rank == root) return;
    pmix_value_t *value = pmix_fetch(root, len);
    memcpy(data, value->data.bo.bytes, len);
    PMIX_VALUE_RELEASE(value);
}

/* --- joining --- */

/* Reads a number about a rank, or about the job (PMIX_RANK_WILDCARD). */
static bool pmix_get_u32(uint32_t rank, const char *key, uint32_t *answer)
{
    pmix_value_t *value = NULL;
    pmix_proc_t about = me;
    about.rank = rank;
    if (PMIx_Get(&about, key, NULL, 0, &value) != PMIX_SUCCESS) return false;
    bool good = value->type == PMIX_UINT32;
    if (good) *answer = value->data.uint32;
    PMIX_VALUE_RELEASE(value);
    return good;
}

/* A key of this host: the server's number for it, else a hash of its name. */
static uint64_t pmix_host_key(void)
{
    uint32_t node;
    if (pmix_get_u32(me.rank, PMIX_NODEID, &node)) return node;
    char name[256] = "";
    gethostname(name, sizeof name - 1);
    return gasneti_fnv(GASNETI_FNV_START, name, strlen(name)) | UINT64_C(1) << 63;
}

static bool pmix_map_hosts(struct bootstrap_job *job)
{
    uint64_t mine = pmix_host_key(), *keys = malloc(size * sizeof *keys);
    uint32_t *host_of = malloc(size * sizeof *host_of);
    uint32_t *first = malloc(size * sizeof *first); /* the first rank of each host */
    uint32_t hosts = 0, here = 0;
    bool good = keys && host_of && first;
    if (good) pmix_exchange(&mine, sizeof mine, keys);
    for (uint32_t r = 0; good && r < size; r++) {
        uint32_t h = r && keys[r] == keys[r - 1] ? host_of[r - 1] : 0;
        while (h < hosts && keys[first[h]] != keys[r]) h++;
        if (h == hosts) first[hosts++] = r;
        host_of[r] = h;
        here += keys[r] == mine;
    }
    free(keys);
    free(first);
    if (good)
        *job = (struct bootstrap_job){.rank = me.rank,
                                      .size = size,
                                      .host = host_of[me.rank],
                                      .host_size = here,
                                      .host_of = host_of};
    return good;
}

/* Runs in PMIx's thread, which must not block: the death function runs in another. */
static void pmix_on_event(size_t id, pmix_status_t status, const pmix_proc_t *source,
                          pmix_info_t info[], size_t ninfo, pmix_info_t results[], size_t nresults,
                          pmix_event_notification_cbfunc_fn_t done, void *done_data)
{
    int code = 1;
    for (size_t i = 0; i < ninfo; i++)
        if (PMIX_CHECK_KEY(&info[i], PMIX_EXIT_CODE) && info[i].value.type == PMIX_INT)
            code = info[i].value.data.integer;
    if (!atomic_load(&leaving)) module_watch_report(code & 0xff ? code & 0xff : 1);
    if (done) done(PMIX_EVENT_ACTION_COMPLETE, NULL, 0, NULL, NULL, done_data);
}

static void pmix_watch_deaths(void)
{
    static pmix_status_t codes[] = {PMIX_ERR_PROC_ABORTED, PMIX_ERR_PROC_ABORTING,
                                    PMIX_ERR_PROC_REQUESTED_ABORT,
                                    PMIX_ERR_LOST_CONNECTION_TO_SERVER, PMIX_ERR_NODE_DOWN};
    PMIx_Register_event_handler(codes, sizeof codes / sizeof *codes, NULL, 0, pmix_on_event, NULL,
                                NULL);
}

/* PMIx starts threads, which must not take signals of the program. */
static pmix_status_t pmix_start(void)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    pmix_status_t status = PMIx_Init(&me, NULL, 0);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return status;
}

static enum bootstrap_status pmix_init(int *argc, char ***argv, struct bootstrap_job *job,
                                       struct spawner_console *console, char *why, size_t why_size)
{
    pmix_status_t status = pmix_start();
    sem_init(&fence.over, 0, 0);
    if (status != PMIX_SUCCESS) {
        snprintf(why, why_size,
                 "spawner pmix: the PMIx server named by PMIX_SERVER_URI* does not "
                 "answer (%s): its launcher is gone, or of another version",
                 PMIx_Error_string(status));
        return BOOTSTRAP_FAILED;
    }
    if (!pmix_get_u32(PMIX_RANK_WILDCARD, PMIX_JOB_SIZE, &size) || me.rank >= size) {
        PMIx_Finalize(NULL, 0);
        snprintf(why, why_size, "spawner pmix: the PMIx server does not tell the job's size");
        return BOOTSTRAP_FAILED;
    }
    if (!pmix_map_hosts(job)) {
        snprintf(why, why_size, "spawner pmix: rank %" PRIu32 ": out of memory", me.rank);
        return BOOTSTRAP_FAILED;
    }
    pmix_watch_deaths();
    module_answer_start(me.rank, size);
    module_watch_start();
    return BOOTSTRAP_OK;
}

static void pmix_meanwhile(bootstrap_meanwhile_fn meanwhile)
{
    fence.meanwhile = meanwhile;
}

/* --- leaving --- */

/* The launcher ends the other ranks when one has exited with a code other than 0.  So all ranks
 * meet here before they exit, for at most FINI_MS.  A rank that ends while it waits in a fence is
 * met there. */
static void pmix_fini(int exitcode)
{
    struct timespec until;
    if (atomic_exchange(&leaving, true)) return;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec += FINI_MS * 1000000L;
    until.tv_sec += until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
    if (fence.begun || PMIx_Fence_nb(NULL, 0, NULL, 0, pmix_on_fence, NULL) == PMIX_SUCCESS)
        pmix_fence_over(&until);
    PMIx_Finalize(NULL, 0);
}

static void pmix_end(int exitcode)
{
    if (PMIx_Initialized()) PMIx_Abort(exitcode, "", NULL, 0);
    _exit(exitcode);
}

static void pmix_abort(int exitcode)
{
    atomic_store(&leaving, true);
    module_watch_abort(pmix_end, exitcode & 0xff);
}

__attribute__((visibility("default"))) const struct spawner_ops SPAWNER_SYMBOL = {
    .abi = SPAWNER_ABI,
    .name = "pmix",
    .init = pmix_init,
    .barrier = pmix_barrier,
    .exchange = pmix_exchange,
    .alltoall = pmix_alltoall,
    .broadcast = pmix_broadcast,
    .meanwhile = pmix_meanwhile,
    .watch = module_watch_arm,
    .answer = module_answer,
    .fini = pmix_fini,
    .abort = pmix_abort,
};
