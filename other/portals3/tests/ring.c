/*
 * ring.c - processes in a ring, for the programs that try Portals; see ring.h.
 *
 * Processes are forked before anything of Portals is touched, and share a page for barriers and
 * ids.
 */
#include "other/portals3/tests/ring.h"

#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { MOST = 16, PATIENCE_MS = 60000, SHOWN = 12 };

static struct page {
    pthread_barrier_t barrier;
    ptl_process_id_t ids[MOST];
    pid_t pids[MOST];
    _Atomic int failed, shown;
    int lines, bad;
} * page;

struct ring ring;
const ptl_process_id_t ring_anybody = {PTL_NID_ANY, PTL_PID_ANY};
static char **words;

bool ring_wanted(const char *word)
{
    for (char **each = words; *each; each++)
        if (strcmp(*each, word) == 0) return true;
    return !*words;
}

void ring_barrier(void)
{
    pthread_barrier_wait(&page->barrier);
}

ptl_process_id_t ring_id(int rank)
{
    return page->ids[(rank + ring.size) % ring.size];
}

pid_t ring_pid(int rank)
{
    return page->pids[(rank + ring.size) % ring.size];
}

bool ring_expect(bool ok, const char *format, ...)
{
    char line[512];
    va_list arguments;
    if (ok) return true;
    page->failed++;
    if (page->shown++ >= SHOWN) return false;
    va_start(arguments, format);
    vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    dprintf(STDOUT_FILENO, "# process %d: %s\n", ring.rank, line);
    return false;
}

void ring_done(const char *format, ...)
{
    va_list arguments;
    ring_barrier();
    if (ring.rank == 0) {
        page->lines++;
        if (page->failed) page->bad++;
        printf("%s %d - ", page->failed ? "not ok" : "ok", page->lines);
        va_start(arguments, format);
        vprintf(format, arguments);
        va_end(arguments);
        printf(", %d process%s\n", ring.size, ring.size == 1 ? "" : "es");
        fflush(stdout);
        page->failed = page->shown = 0;
    }
    ring_barrier();
}

ptl_event_t ring_event(ptl_handle_eq_t eq, ptl_event_kind_t kind)
{
    ptl_event_t event;
    int which, result;
    memset(&event, 0, sizeof event);
    result = PtlEQPoll(&eq, 1, PATIENCE_MS, &event, &which);
    if (result != PTL_OK) {
        ring_expect(false, "waiting for %s: %s", PtlEventKindStr(kind),
                    PtlErrorStr((unsigned int)result));
        if (result == PTL_EQ_EMPTY) _exit(3); /* the others would wait for ever */
    } else {
        ring_expect(event.type == kind, "%s, where %s was due", PtlEventKindStr(event.type),
                    PtlEventKindStr(kind));
    }
    return event;
}

void ring_no_event(ptl_handle_eq_t eq)
{
    ptl_event_t event;
    int result = PtlEQGet(eq, &event);
    ring_expect(result == PTL_EQ_EMPTY, "%s in a queue that should be empty",
                result == PTL_OK ? PtlEventKindStr(event.type) : PtlErrorStr((unsigned int)result));
}

ptl_sr_value_t ring_register(ptl_sr_index_t index)
{
    ptl_sr_value_t value = 0;
    RING_OK(PtlNIStatus(ring.ni, index, &value));
    return value;
}

void ring_await_register(ptl_sr_index_t index, ptl_sr_value_t value)
{
    time_t end = time(NULL) + PATIENCE_MS / 1000;
    while (ring_register(index) < value && time(NULL) < end) PtlProgress(ring.ni, 1);
    ring_expect(ring_register(index) == value, "register %u is %llu, not %llu", index,
                (unsigned long long)ring_register(index), (unsigned long long)value);
}

/* --- shorthand --- */

ptl_handle_eq_t ring_eq(ptl_size_t count)
{
    ptl_handle_eq_t eq = PTL_INVALID_HANDLE;
    RING_OK(PtlEQAlloc(ring.ni, count, PTL_EQ_HANDLER_NONE, &eq));
    return eq;
}

ptl_md_t ring_md(void *start, ptl_size_t length, unsigned int options, ptl_handle_eq_t eq)
{
    return (ptl_md_t){.start = start,
                      .length = length,
                      .threshold = PTL_MD_THRESH_INF,
                      .options = options,
                      .eq_handle = eq};
}

ptl_handle_md_t ring_attach(ptl_pt_index_t pt, ptl_match_bits_t bits, ptl_match_bits_t ignore,
                            ptl_md_t md, ptl_unlink_t unlink)
{
    ptl_handle_me_t me = PTL_INVALID_HANDLE;
    ptl_handle_md_t handle = PTL_INVALID_HANDLE;
    RING_OK(PtlMEAttach(ring.ni, pt, ring_anybody, bits, ignore, PTL_UNLINK, PTL_INS_AFTER, &me));
    RING_OK(PtlMDAttach(me, md, unlink, &handle));
    return handle;
}

ptl_handle_md_t ring_bind(ptl_md_t md)
{
    ptl_handle_md_t handle = PTL_INVALID_HANDLE;
    RING_OK(PtlMDBind(ring.ni, md, PTL_RETAIN, &handle));
    return handle;
}

void ring_unlink(ptl_handle_md_t md)
{
    time_t end = time(NULL) + PATIENCE_MS / 1000;
    int result = PTL_MD_IN_USE;
    while (result == PTL_MD_IN_USE && time(NULL) < end) {
        result = PtlMDUnlink(md);
        if (result == PTL_MD_IN_USE) PtlProgress(ring.ni, 1);
    }
    ring_expect(result == PTL_OK, "PtlMDUnlink: %s", PtlErrorStr((unsigned int)result));
}

/* --- processes --- */

static void run(int rank, ptl_interface_t interface, void (*body)(void))
{
    int most;
    ring.rank = rank;
    ring.interface = interface;
    if (PtlInit(&most) != PTL_OK) _exit(2);
    int result = PtlNIInit(interface, PTL_PID_ANY, NULL, NULL, &ring.ni);
    if (result != PTL_OK) {
        printf("# process %d: PtlNIInit: %s\n", rank, PtlErrorStr((unsigned int)result));
        fflush(stdout);
        _exit(2);
    }
    PtlGetId(ring.ni, &ring.self);
    page->ids[rank] = ring.self;
    page->pids[rank] = getpid();
    if (ring.mirrored) page->ids[rank].pid ^= 1;
    ring_barrier();
    ring.next = ring_id(rank + 1);
    ring.previous = ring_id(rank - 1);
    body();
    ring_barrier();
    PtlNIFini(ring.ni);
    PtlFini();
}

static void prepare_page(void)
{
    pthread_barrierattr_t shared;
    page = mmap(NULL, sizeof *page, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (page == MAP_FAILED) exit(2);
    pthread_barrierattr_init(&shared);
    pthread_barrierattr_setpshared(&shared, PTHREAD_PROCESS_SHARED);
    pthread_barrier_init(&page->barrier, &shared, (unsigned int)ring.size);
}

/* The first that ends badly ends all. */
static int watch(const pid_t *pids)
{
    int bad = 0, status;
    for (int left = ring.size; left > 0; left--) {
        pid_t pid = wait(&status);
        if (pid < 0) break;
        if (status != 0 && !bad) {
            bad = 1;
            printf("# a process ended with status %#x\n", (unsigned int)status);
            for (int i = 0; i < ring.size; i++)
                if (pids[i] != pid) kill(pids[i], SIGKILL);
        }
    }
    return bad;
}

int ring_main(int argc, char **argv, void (*body)(void))
{
    ptl_interface_t interface = PTL_IFACE_DEFAULT;
    pid_t pids[MOST];
    int option, bad;
    ring.size = 1;
    while ((option = getopt(argc, argv, "n:s")) != -1) {
        if (option == 'n') ring.size = atoi(optarg);
        if (option == 's') interface = PTL_IFACE_SELF;
        if (option == '?' || ring.size < 1 || ring.size > MOST) return 2;
    }
    words = argv + optind;
    prepare_page();
    fflush(stdout);
    for (int i = 0; i < ring.size; i++) {
        pids[i] = fork();
        if (pids[i] < 0) return 2;
        if (pids[i] > 0) continue;
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        run(i, interface, body);
        exit(0);
    }
    bad = watch(pids);
    if (bad) printf("not ok %d - a process did not come to its end\n", page->lines + 1);
    printf("1..%d\n", page->lines + bad);
    return bad || page->bad;
}
