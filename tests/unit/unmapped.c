/* unmapped.c - reports of unmapped memory: none is lost, in any thread, and reports of
 * unregistered memory are dropped. */
#include "core/rdma/unmapped.h"

#include <pthread.h>

#include "tests/unit/check.h"

enum { BLOCK = 1 << UNMAPPED_SHIFT, THREADS = 4, EACH = 20000, PAGE = 4096 };

static uintptr_t first;
static size_t first_size;
static unsigned visits, all_visits;

static void visit(uintptr_t start, size_t size)
{
    if (size == UINTPTR_MAX) all_visits++;
    if (visits++ == 0) {
        first = start;
        first_size = size;
    }
}

static void take(void)
{
    visits = all_visits = 0;
    gasnetc_unmapped_take(visit);
}

static void one_thread(void)
{
    const uintptr_t at = (uintptr_t)1000 * BLOCK;
    check(!gasnetc_unmapped_report(at, PAGE) && !gasnetc_unmapped_pending(),
          "nothing is registered, and nothing kept");
    gasnetc_unmapped_watch(at, 3 * BLOCK);
    check(gasnetc_unmapped_report(at + 2 * BLOCK, PAGE) && gasnetc_unmapped_pending(),
          "a part of what is registered is kept");
    take();
    check(visits == 1 && first == at + 2 * BLOCK && first_size == PAGE &&
              !gasnetc_unmapped_pending(),
          "and taken, once");
    check(!gasnetc_unmapped_report(at + 77 * (uintptr_t)BLOCK, PAGE), "memory far from it is not");
    check(!gasnetc_unmapped_report(at, 0), "nor is none at all");
    check(gasnetc_unmapped_report(at / 2, at), "a long range is kept without a look");
    take();
    for (int i = 0; i < 1000; i++) gasnetc_unmapped_report(at, PAGE);
    take();
    check(all_visits == 1 && !gasnetc_unmapped_pending(),
          "more than are kept stand for all memory");
    gasnetc_unmapped_unwatch(at, 3 * BLOCK);
    check(!gasnetc_unmapped_report(at, PAGE), "what was deregistered is no longer kept");
}

/* Each thread has a page, reports it, and looks whether the report was taken: by one of all memory,
 * or by its own. */
static atomic_uint seen[THREADS];
static const uintptr_t base = (uintptr_t)5000 * BLOCK;

static void note(uintptr_t start, size_t size)
{
    for (unsigned i = 0; i < THREADS; i++)
        if (size == UINTPTR_MAX || start == base + i * (uintptr_t)PAGE)
            atomic_fetch_add(&seen[i], 1);
}

static pthread_mutex_t taking = PTHREAD_MUTEX_INITIALIZER;

static void *report(void *argument)
{
    const unsigned number = (unsigned)(uintptr_t)argument;
    for (int i = 0; i < EACH; i++) {
        const unsigned before = atomic_load(&seen[number]);
        gasnetc_unmapped_report(base + number * (uintptr_t)PAGE, PAGE);
        pthread_mutex_lock(&taking);
        if (gasnetc_unmapped_pending()) gasnetc_unmapped_take(note);
        pthread_mutex_unlock(&taking);
        check_each(atomic_load(&seen[number]) != before, "thread %u: report %d is lost", number, i);
    }
    return NULL;
}

static void many_threads(void)
{
    pthread_t thread[THREADS];
    gasnetc_unmapped_watch(base, BLOCK);
    for (uintptr_t i = 0; i < THREADS; i++) pthread_create(&thread[i], NULL, report, (void *)i);
    for (int i = 0; i < THREADS; i++) pthread_join(thread[i], NULL);
    gasnetc_unmapped_unwatch(base, BLOCK);
    check_all("each report is taken before the next look-up, in any thread");
}

int main(int argc, char **argv)
{
    check_begin(argc, argv);
    one_thread();
    many_threads();
    return check_end();
}
