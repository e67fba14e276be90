/* testsync.c - the synchronisation table (IB-E1), row by row, in a real job.
 *
 * Rank 0 transfers to and from rank 1.  They talk through a page of a file, not through the
 * library, so that rank 1 sees what has arrived at the moment when rank 0 says that it must have; a
 * network that delays transfers or completions (SOFTHCA_FAULTS, see faults.sh) brings early returns
 * to light. With TEST_HELD every completion is held back for some polls: then an operation
 * must not be found complete at once.  Sources are overwritten as soon as their row allows.
 */
#include <fcntl.h>
#include <sched.h>
#include <sys/mman.h>
#include <unistd.h>

#include "synchronisation_rows.h"
#include "test.h"

enum { SEGMENT = 1 << 20, AT = 64 << 10, LARGEST = 200000, H_LONG = 128, H_DONE };

static struct page {
    int asked;    /* by rank 0: this transfer must have arrived */
    int answered; /* by rank 1: seen ... */
    int right;    /* ... and so many bytes are right */
} * page;

static char outside[LARGEST];
static int transfers; /* number of transfers so far; equal on both ranks */
static bool held;

static uint64_t key_of(int transfer)
{
    return test_mix((uint64_t)transfer + 1);
}

/* --- messages: their handler is the witness --- */

static int replies, replies_bad;

static void on_long(gasnet_token_t token, void *buffer, size_t n, gasnet_handlerarg_t transfer)
{
    gasnet_AMReplyShort1(token, H_DONE, test_mismatch(buffer, n, key_of(transfer)) >= 0);
}
static void on_done(gasnet_token_t token, gasnet_handlerarg_t bad)
{
    (void)token;
    test_add(&replies_bad, bad);
    test_add(&replies, 1);
}
static gasnet_handlerentry_t table[] = {{H_LONG, on_long}, {H_DONE, on_done}};

/* --- the page --- */

static void open_page(void)
{
    char name[200];
    const char *folder = getenv("TMPDIR");
    snprintf(name, sizeof name, "%s/testsync.%llx", folder ? folder : "/tmp",
             (unsigned long long)test_seed);
    int file = -1;
    if (test_rank == 0) file = open(name, O_RDWR | O_CREAT | O_EXCL, 0600);
    if (test_rank == 0 && (file < 0 || ftruncate(file, sizeof *page))) {
        perror(name);
        gasnet_exit(1);
    }
    test_sync();
    if (test_rank == 1) file = open(name, O_RDWR);
    if (test_rank < 2) {
        page = mmap(NULL, sizeof *page, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
        if (page == MAP_FAILED) {
            perror(name);
            gasnet_exit(1);
        }
        close(file);
    }
    test_sync();
    if (test_rank == 0) unlink(name);
}

/* Rank 0: this transfer is complete, says the library. */
static bool has_arrived(void)
{
    __atomic_store_n(&page->asked, transfers, __ATOMIC_RELEASE);
    while (__atomic_load_n(&page->answered, __ATOMIC_ACQUIRE) != transfers) sched_yield();
    return page->right;
}

/* Rank 1: looks when it is asked, and only serves messages until then. */
static void witness(const void *bytes, size_t n)
{
    do gasnet_AMPoll();
    while (__atomic_load_n(&page->asked, __ATOMIC_ACQUIRE) != transfers);
    page->right = test_mismatch(bytes, n, key_of(transfers)) < 0;
    __atomic_store_n(&page->answered, transfers, __ATOMIC_RELEASE);
}

/* --- one transfer --- */

static void synchronise(void)
{
    bool waited =
        use.row->local == 'I' && use.nbytes > 65536; /* the source can be freed no other way */
    if (held && !waited && use.row->kind != VALGET &&
        !test_check(try_sync() == GASNET_ERR_NOT_READY, "%s: synchronised early", use.row->name))
        return;
    wait_sync();
}

static void put_one(void)
{
    test_fill(use.local, use.nbytes, key_of(transfers));
    int before = replies;
    if (use.region) gasnet_begin_nbi_accessregion();
    initiate();
    if (use.region) use.handle = gasnet_end_nbi_accessregion();
    if (use.row->local == 'I' || use.row->value) memset(use.local, 0x5a, use.nbytes);
    if (use.row->kind == MESSAGE) {
        GASNET_BLOCKUNTIL(test_get(&replies) > before);
        test_check(replies_bad == 0, "%s: wrong bytes", use.row->name);
    }
    if (use.row->remote == 'S') synchronise();
    if (use.row->kind != MESSAGE)
        test_check(has_arrived(), "%s of %zu bytes is not there", use.row->name, use.nbytes);
    memset(use.local, 0x5a, use.nbytes);
}

static void get_one(void)
{
    memset(use.local, 0x5a, use.nbytes < 8 ? 8 : use.nbytes);
    has_arrived(); /* rank 1 has the bytes ready */
    if (use.region) gasnet_begin_nbi_accessregion();
    initiate();
    if (use.region) use.handle = gasnet_end_nbi_accessregion();
    if (use.row->remote == 'S') synchronise();
    ptrdiff_t wrong = test_mismatch(use.local, use.nbytes, key_of(transfers));
    test_check(wrong < 0, "%s of %zu bytes: byte %td has not landed", use.row->name, use.nbytes,
               wrong);
}

static void transfer(const struct row *row, size_t nbytes, bool in_segment, bool region)
{
    transfers++;
    use = (struct use){.row = row,
                       .nbytes = nbytes,
                       .in_segment = in_segment,
                       .region = region,
                       .peer = 1,
                       .handler = H_LONG,
                       .argument = transfers,
                       .local = in_segment ? test_at(0, 2 * AT + LARGEST) : outside,
                       .remote = test_at(1, AT)};
    if (test_rank == 1) test_fill(use.remote, nbytes, row->get ? key_of(transfers) : 0);
    test_sync();
    if (test_rank == 0) {
        if (row->get)
            get_one();
        else
            put_one();
    } else if (test_rank == 1 && row->kind != MESSAGE) {
        witness(use.remote, nbytes);
    }
    test_sync();
}

static void walk(enum kind kind)
{
    static const size_t sizes[] = {8, 3000, 20000, LARGEST};
    if (test_size == 1) {
        test_skip("needs two ranks");
        return;
    }
    for (const struct row *row = rows; row < rows + FORMS; row++)
        for (int i = 0; row->kind == kind && i < TEST_COUNT(sizes); i++) {
            if (row->value && sizes[i] > sizeof(gasnet_register_value_t)) continue;
            for (int in_segment = 0; in_segment < 2; in_segment++) {
                transfer(row, sizes[i], in_segment, false);
                if (kind == IMPLICIT) transfer(row, sizes[i], in_segment, true);
            }
        }
}

static void messages(void)
{
    walk(MESSAGE);
}
static void blocking(void)
{
    walk(BLOCKING);
}
static void handles(void)
{
    walk(HANDLE);
}
static void implicit(void)
{
    walk(IMPLICIT);
}
static void value_gets(void)
{
    walk(VALGET);
}

int main(int argc, char **argv)
{
    static const struct test_rule rules[] = {
        {"IB-E1 Longs need their source until they return, LongAsyncs until the Reply", messages},
        {"IB-E1 blocking forms return when all is done", blocking},
        {"IB-E1 explicit handles: the source at once or at the sync, the rest at the sync",
         handles},
        {"IB-E1 implicit operations, in access regions or not: likewise", implicit},
        {"IB-E1 a value is there when its handle is synchronised", value_gets},
    };
    const char *word = getenv("TEST_HELD");
    held = word && *word;
    test_start(&argc, &argv, table, TEST_COUNT(table), SEGMENT);
    open_page();
    test_run(rules, TEST_COUNT(rules));
    test_finish();
}
