/* failures.c - libportals' network on bad days: targets that sleep, floods, processes that are
 * killed, are not there, begin anew under an old name, fork; memory that cannot be registered;
 * lists revoked under load.
 *
 *   trouble [WORD...]     which of the scenes; all without
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "other/portals3/tests/scene.h"

/* --- the target sleeps --- */

static void on_signal(int number)
{
    (void)number;
}

/* Process 0 is in pause() until all of the others' operations have been done. */
static void bypass(void)
{
    begin();
    unsigned char *memory = family_memory(2 * LONG);
    if (family_rank == 0) {
        sigset_t usr1, before;
        sigemptyset(&usr1);
        sigaddset(&usr1, SIGUSR1);
        sigprocmask(SIG_BLOCK, &usr1, &before);
        signal(SIGUSR1, on_signal);
        family_attach(PT, 0, describe(memory, 2 * LONG, QUIET, PTL_EQ_NONE), PTL_RETAIN);
        family_attach(
            PT, 1,
            describe(memory, 2 * LONG, PTL_MD_OP_PUT | PTL_MD_OP_GET | PTL_MD_MANAGE_REMOTE, eq),
            PTL_RETAIN);
        family_barrier(NULL);
        sigsuspend(&before);
        ptl_sr_value_t drops; /* asking orders what the library's thread did before what we do */
        must(PtlNIStatus(family_ni, PTL_SR_DROP_COUNT, &drops));
        if (drops) family_fail("%ju were dropped", (uintmax_t)drops);
        if (memory[0] != 7 || memory[LONG - 1] != 7) family_fail("the data did not come");
    } else {
        family_barrier(NULL);
        memset(memory, 7, LONG);
        ptl_handle_md_t md = bind_md(memory, 2 * LONG);
        for (int i = 0; i < 40; i++) {
            ptl_size_t length = i % 3 == 0 ? 8 : i % 3 == 1 ? 5000 : LONG;
            put(md, length, 0, (ptl_match_bits_t)(i % 2), 0, PTL_ACK_REQ);
            well(PTL_EVENT_SEND_END);
            well(PTL_EVENT_ACK);
            get(md, length, 0, (ptl_match_bits_t)(i % 2), 0);
            well(PTL_EVENT_REPLY_END);
        }
        if (atomic_fetch_add(&family->flag[0], 1) + 2 == (uint32_t)family_size)
            kill(family->pid[0], SIGUSR1);
    }
    family_barrier(NULL);
    family_close();
}

/* --- a flood --- */

enum { FLOOD = 3000, DROP = 200 };

/* All put as fast as they can, without asking for an answer, into a target with few receives. */
static void flood(void)
{
    setenv("PTL_RECEIVES", "16", 1);
    begin();
    if (family_rank == 0) {
        ptl_size_t whole = (ptl_size_t)(family_size - 1) * FLOOD * DROP;
        unsigned char *memory = family_memory(whole);
        ptl_sr_value_t count = 0, drops;
        family_attach(PT, 0, describe(memory, whole, PTL_MD_OP_PUT, PTL_EQ_NONE), PTL_RETAIN);
        family_barrier(NULL);
        while (count < (ptl_sr_value_t)(family_size - 1) * FLOOD) {
            family_nap(); /* computes */
            must(PtlNIStatus(family_ni, PTL_SR_RECV_COUNT, &count));
        }
        must(PtlNIStatus(family_ni, PTL_SR_DROP_COUNT, &drops));
        uint32_t next[FAMILY_MOST] = {0};
        for (ptl_size_t i = 0; i < whole; i += DROP) {
            uint32_t from = memory[i], number;
            memcpy(&number, memory + i + 4, sizeof number);
            if (from >= (uint32_t)family_size || number != next[from]++)
                family_fail("message %u of %u is out of order", number, from);
        }
        if (drops) family_fail("%ju were dropped", (uintmax_t)drops);
    } else {
        unsigned char *memory = family_memory(FLOOD * DROP);
        ptl_handle_md_t md;
        must(PtlMDBind(family_ni, describe(memory, FLOOD * DROP, 0, PTL_EQ_NONE), PTL_RETAIN, &md));
        family_barrier(NULL);
        for (uint32_t i = 0; i < FLOOD; i++) {
            memory[i * DROP] = (unsigned char)family_rank;
            memcpy(memory + i * DROP + 4, &i, sizeof i);
            must(PtlPutRegion(md, i * DROP, DROP, PTL_NOACK_REQ, family->id[0], PT, 0, 0, 0, 0));
        }
    }
    family_barrier(NULL);
    family_close();
}

/* --- death --- */

/* Takes what comes until nothing is pending on the MD; how many operations failed. */
static uint32_t unlink_at_last(ptl_handle_md_t md)
{
    uint32_t failed = 0;
    for (int code; (code = PtlMDUnlink(md)) != PTL_OK;) {
        ptl_event_t event;
        if (code != PTL_MD_IN_USE) family_fail("PtlMDUnlink: %s", PtlErrorStr((unsigned)code));
        int which, got = PtlEQPoll(&eq, 1, 30000, &event, &which);
        if (got != PTL_OK) family_fail("operations with a dead process never end");
        failed += event.ni_fail_type != PTL_NI_OK;
    }
    for (ptl_event_t event; PtlEQGet(eq, &event) == PTL_OK;)
        failed += event.ni_fail_type != PTL_NI_OK;
    return failed;
}

/* Process 0 is killed with all kinds of operations under way; the others end theirs, and still
 * communicate. */
static void death(void)
{
    begin();
    unsigned char *memory = family_memory(4 * LONG);
    ptl_md_t md = describe(memory, 4 * LONG, PTL_MD_OP_PUT | PTL_MD_OP_GET | PTL_MD_MANAGE_REMOTE,
                           PTL_EQ_NONE);
    family_attach(PT, 1, md, PTL_RETAIN);
    md.options = QUIET;
    family_attach(PT, 0, md, PTL_RETAIN);
    ptl_handle_md_t source = bind_md(memory, 4 * LONG);
    family_barrier(NULL);
    if (family_rank == 0)
        for (;;) pause();
    int friend = family_rank == 1 ? family_size - 1 : family_rank - 1;
    /* All processes hold a list of the process that will end. */
    for (int i = 0; i < 20; i++) {
        put(source, 8, 0, 0, 0, PTL_ACK_REQ);
        well(PTL_EVENT_SEND_END);
        well(PTL_EVENT_ACK);
    }
    atomic_fetch_add(&family->flag[2], 1);
    family_await(2, (uint32_t)family_size - 1);
    for (int i = 0; i < 60; i++) {
        if (i == 10 && atomic_fetch_add(&family->flag[0], 1) == 0) kill(family->pid[0], SIGKILL);
        put(source, i % 2 ? 3000 : LONG, 0, (ptl_match_bits_t)(i % 4 == 0), 0, PTL_ACK_REQ);
        get(source, i % 3 ? 3000 : LONG, 0, (ptl_match_bits_t)(i % 4 == 0), 0);
        if (friend != family_rank) put(source, 100, friend, 1, 0, PTL_NOACK_REQ);
    }
    unlink_at_last(source); /* a process that is quick may have had all its answers */
    family_await_end(0);
    /* Operations that begin after the failure fail as well, at once, and without a message. */
    source = bind_md(memory, LONG);
    put(source, 8, 0, 1, 0, PTL_ACK_REQ);
    if (expect(PTL_EVENT_SEND_END).ni_fail_type == PTL_NI_OK) family_fail("the dead receive");
    get(source, 8, 0, 1, 0);
    if (expect(PTL_EVENT_REPLY_END).ni_fail_type == PTL_NI_OK) family_fail("the dead reply");
    put(source, LONG, friend, 1, 0, PTL_ACK_REQ);
    well(PTL_EVENT_SEND_END);
    well(PTL_EVENT_ACK);
    if (unlink_at_last(source)) family_fail("operations with the living failed");
    /* The dead do not come to barriers. */
    atomic_fetch_add(&family->flag[1], 1);
    family_await(1, (uint32_t)family_size - 1);
    family_close();
}

/* A process waits for the answer of a stopped process, which is then killed. */
static void silent(void)
{
    begin();
    unsigned char *memory = family_memory(LONG);
    family_attach(
        PT, 1,
        describe(memory, LONG, PTL_MD_OP_PUT | PTL_MD_OP_GET | PTL_MD_MANAGE_REMOTE, PTL_EQ_NONE),
        PTL_RETAIN);
    family_barrier(NULL);
    if (family_rank == 0)
        for (;;) pause();
    ptl_handle_md_t md = bind_md(memory, LONG);
    put(md, 8, 0, 1, 0, PTL_ACK_REQ);
    well(PTL_EVENT_SEND_END);
    well(PTL_EVENT_ACK);
    family_stop(0);
    get(md, 8, 0, 1, 0);
    for (int i = 0; i < 20; i++) family_nap();
    kill(family->pid[0], SIGKILL);
    if (expect(PTL_EVENT_REPLY_END).ni_fail_type == PTL_NI_OK) family_fail("the dead reply");
    must(PtlMDUnlink(md));
    family_close();
}

/* --- nothing left to answer with --- */

static ptl_sr_value_t status_of(ptl_sr_index_t index)
{
    ptl_sr_value_t value;
    must(PtlNIStatus(family_ni, index, &value));
    return value;
}

static void look(void)
{
    ptl_event_t event;
    PtlEQGet(eq, &event);
}

static void look_until(int flag)
{
    while (!atomic_load(&family->flag[flag])) look(), family_nap();
}

/* A process whose device keeps completions of sends back, and takes nothing inline, uses up what it
 * can send with; then it is asked what it has matched, because a put by RDMA has to wait for an
 * ordinary one before it.  It must report it when it can. */
static void unsent(void)
{
    enum { BUFFERS = 16 }; /* to one peer */
    setenv("SOFTHCA_DEVICES", "1x1;max_inline_data=0", 1);
    if (family_rank == 1) {
        setenv("SOFTHCA_FAULTS", "hold:op=send,polls=4000,times=16", 1);
        setenv("PTL_PROGRESS", "none", 1); /* no other thread polls the device */
    }
    begin();
    unsigned char *memory = family_memory(PAGE);
    if (family_rank == 1) {
        family_attach(PT, 0, describe(memory, PAGE, QUIET, PTL_EQ_NONE), PTL_RETAIN);
        family_attach(PT, 1, describe(memory, PAGE, PTL_MD_OP_PUT | PTL_MD_MANAGE_REMOTE, eq),
                      PTL_RETAIN);
        family_barrier(NULL);
        look_until(0);
        atomic_store(&family->flag[1], (uint32_t)status_of(PTL_SR_TRANSPORT));
        atomic_store(&family->flag[2], 1);
        look_until(3);
        if (status_of(PTL_SR_TRANSPORT) != BUFFERS)
            family_fail("it has sent %ju times", (uintmax_t)status_of(PTL_SR_TRANSPORT));
        family_barrier(look);
        family_close();
        return;
    }
    family_barrier(NULL);
    ptl_handle_md_t md = bind_md(memory, PAGE);
    while (!status_of(PTL_SR_FAST_PUTS)) { /* answered by the list that is lent, alone */
        put(md, 8, 1, 0, 0, PTL_NOACK_REQ);
        well(PTL_EVENT_SEND_END);
        family_nap();
    }
    atomic_store(&family->flag[0], 1);
    family_await(2, 1);
    for (uint32_t n = atomic_load(&family->flag[1]); n < BUFFERS; n++) {
        put(md, 8, 1, 1, 0, PTL_ACK_REQ);
        well(PTL_EVENT_SEND_END);
        well(PTL_EVENT_ACK);
    }
    put(md, 8, 1, 1, 0, PTL_NOACK_REQ);
    well(PTL_EVENT_SEND_END);
    put(md, 8, 1, 0, 0, PTL_ACK_REQ);
    atomic_store(&family->flag[3], 1);
    well(PTL_EVENT_SEND_END);
    well(PTL_EVENT_ACK);
    family_barrier(NULL);
    must(PtlMDUnlink(md));
    family_close();
}

/* --- polling --- */

/* Process 0 alone makes its progress, by asking queues: all of them in turn, then one again and
 * again. */
static void turns(void)
{
    enum { QUEUES = 3, EACH = 20 };
    if (family_rank == 0) setenv("PTL_PROGRESS", "none", 1);
    begin();
    unsigned char *memory = family_memory(PAGE);
    if (family_rank == 0) {
        const unsigned options = PTL_MD_OP_PUT | PTL_MD_MANAGE_REMOTE | PTL_MD_EVENT_START_DISABLE;
        ptl_handle_eq_t queue[QUEUES];
        ptl_event_t event;
        for (int q = 0; q < QUEUES; q++) {
            must(PtlEQAlloc(family_ni, 16, PTL_EQ_HANDLER_NONE, &queue[q]));
            family_attach(PT, (ptl_match_bits_t)q, describe(memory, PAGE, options, queue[q]),
                          PTL_RETAIN);
        }
        family_barrier(NULL);
        for (int q = 0, came = 0; came < QUEUES * EACH; q = (q + 1) % QUEUES)
            came += PtlEQGet(queue[q], &event) == PTL_OK;
        for (int came = 0; came < EACH;) came += PtlEQGet(queue[QUEUES - 1], &event) == PTL_OK;
        family_barrier(look);
        family_close();
        return;
    }
    family_barrier(NULL);
    ptl_handle_md_t md = bind_md(memory, PAGE);
    for (int i = 0; i < (QUEUES + 1) * EACH; i++) {
        int q = i < QUEUES * EACH ? i % QUEUES : QUEUES - 1;
        put(md, 8, 0, (ptl_match_bits_t)q, 0, PTL_ACK_REQ);
        well(PTL_EVENT_SEND_END);
        well(PTL_EVENT_ACK);
    }
    family_barrier(NULL);
    family_close();
}

/* --- names --- */

static void nobody(void)
{
    begin();
    ptl_process_id_t there = family->id[0];
    there.pid = 5; /* which no test of this host takes */
    ptl_handle_md_t md = bind_md(family_memory(LONG), LONG);
    must(PtlPutRegion(md, 0, 8, PTL_ACK_REQ, there, PT, 0, 0, 0, 0));
    if (expect(PTL_EVENT_SEND_END).ni_fail_type == PTL_NI_OK) family_fail("nobody receives");
    must(PtlPutRegion(md, 0, LONG, PTL_ACK_REQ, there, PT, 0, 0, 0, 0));
    if (expect(PTL_EVENT_SEND_END).ni_fail_type == PTL_NI_OK) family_fail("nobody receives");
    must(PtlGetRegion(md, 0, 8, there, PT, 0, 0, 0));
    if (expect(PTL_EVENT_REPLY_END).ni_fail_type == PTL_NI_OK) family_fail("nobody replies");
    must(PtlMDUnlink(md));
    must(PtlMDBind(family_ni, describe(family_memory(LONG), LONG, QUIET, eq), PTL_RETAIN, &md));
    must(PtlPutRegion(md, 0, 8, PTL_ACK_REQ, there, PT, 0, 0, 0, 0));
    if (expect(PTL_EVENT_ACK).ni_fail_type == PTL_NI_OK) family_fail("nobody acknowledges");
    must(PtlMDUnlink(md));
    family_close();
}

/* Each handshake has a queue pair, of which this device has few. */
static void few_pairs(void)
{
    enum { PAIRS = 4 };
    char device[32];
    snprintf(device, sizeof device, "1x1;max_qp=%d", PAIRS);
    setenv("SOFTHCA_DEVICES", device, 1);
    begin();
    unsigned char *memory = family_memory(PAGE);
    family_attach(PT, 0, describe(memory, PAGE, QUIET, PTL_EQ_NONE), PTL_RETAIN);
    family_barrier(NULL);
    if (family_rank == 0) {
        ptl_handle_md_t md = bind_md(memory, PAGE);
        ptl_process_id_t there = family->id[0];
        for (ptl_pid_t i = 0; i < 3 * PAIRS; i++) {
            there.pid = 5 + i % 2; /* which no test of this host takes */
            must(PtlPutRegion(md, 0, 8, PTL_NOACK_REQ, there, PT, 0, 0, 0, 0));
            if (expect(PTL_EVENT_SEND_END).ni_fail_type == PTL_NI_OK)
                family_fail("nobody receives");
        }
        put(md, 8, 1, 0, 0, PTL_ACK_REQ);
        well(PTL_EVENT_SEND_END);
        well(PTL_EVENT_ACK);
        must(PtlMDUnlink(md));
    }
    family_barrier(NULL);
    family_close();
}

/* Process 1 opens and closes its interface under one name; process 0 communicates with each of
 * them. */
static void again(void)
{
    enum { TIMES = 5 };
    unsigned char *memory = family_memory(LONG);
    if (family_rank == 1) {
        ptl_pid_t pid = PTL_PID_ANY;
        for (uint32_t i = 1; i <= TIMES; i++) {
            family_open(pid);
            pid = family->id[1].pid;
            family_attach(PT, 0, describe(memory, LONG, QUIET, PTL_EQ_NONE), PTL_RETAIN);
            atomic_store(&family->flag[0], i);
            family_await(1, i);
            family_close();
        }
        return;
    }
    begin();
    ptl_handle_md_t md = bind_md(memory, LONG);
    for (uint32_t i = 1; i <= TIMES; i++) {
        family_await(0, i);
        for (int n = 0; n < 20;) {
            put(md, n % 2 ? 8 : LONG, 1, 0, 0, PTL_ACK_REQ);
            /* Reports of the process before may still be in flight. */
            bool well = expect(PTL_EVENT_SEND_END).ni_fail_type == PTL_NI_OK &&
                        expect(PTL_EVENT_ACK).ni_fail_type == PTL_NI_OK;
            if (!well && n) family_fail("the connection broke");
            n += well;
        }
        atomic_store(&family->flag[1], i);
    }
    must(PtlMDUnlink(md));
    family_close();
}

/* Tests that a name belongs to a single process, and that the map of a launcher has it. */
static void names(void)
{
    char map[64];
    ptl_handle_ni_t ni;
    int most, rank, size, code;
    must(PtlInit(&most));
    if (family_rank == 0) {
        begin();
        atomic_store(&family->flag[0], 1);
        family_await(1, 1);
        family_close();
        return;
    }
    family_await(0, 1);
    if ((code = PtlNIInit(PTL_IFACE_DEFAULT, family->id[0].pid, NULL, NULL, &ni)) !=
        PTL_PID_INVALID)
        family_fail("another's name: %s", PtlErrorStr((unsigned)code));
    atomic_store(&family->flag[1], 1);
    setenv("PTL_MY_RID", "1", 1);
    setenv("PTL_NIDMAP", "127.0.0.1:127.0.0.1", 1);
    snprintf(map, sizeof map, "9:%u", 11u);
    setenv("PTL_PIDMAP", map, 1);
    setenv("PTL_MY_JID", "77", 1);
    family_open(PTL_PID_ANY);
    ptl_jid_t jid;
    must(PtlGetJid(family_ni, &jid));
    must(PtlGetRank(family_ni, &rank, &size));
    if (family->id[1].pid != 11 || family->id[1].nid != 0x7f000001 || jid != 77 || rank != 1 ||
        size != 2)
        family_fail("the map is not followed: %x:%u", family->id[1].nid, family->id[1].pid);
    family_close();
}

/* Opens an interface with the map of a program, for rank 1 of 2, whose arrays change before that.
 */
static void open_mapped(int pids_count, ptl_pid_t wished)
{
    ptl_nid_t nids[] = {0x7f000001, 0x7f000001};
    ptl_pid_t pids[] = {9, 11, 0};
    must(PtlSetRank(PTL_INVALID_HANDLE, 1, 2));
    must(PtlSetNIDMap(PTL_INVALID_HANDLE, nids, 2));
    must(PtlSetPIDMap(PTL_INVALID_HANDLE, pids, pids_count));
    memset(nids, 0xff, sizeof nids);
    memset(pids, 0xff, sizeof pids);
    family_open(wished);
}

static void mapped(void)
{
    ptl_process_id_t other;
    ptl_pid_t pids[2];
    ptl_nid_t nids[2];
    int count = 0;
    open_mapped(2, PTL_PID_ANY);
    must(PtlGetRankId(family_ni, 0, &other));
    must(PtlGetPIDMap(family_ni, pids, 2, &count));
    must(PtlGetNIDMap(family_ni, nids, 2, &count));
    if (family->id[0].nid != 0x7f000001 || family->id[0].pid != 11)
        family_fail("the map names it 127.0.0.1:11: %x:%u", family->id[0].nid, family->id[0].pid);
    if (other.nid != 0x7f000001 || other.pid != 9 || count != 2 || pids[0] != 9 || pids[1] != 11 ||
        nids[0] != other.nid || nids[1] != other.nid)
        family_fail("the map is not the one that was set: rank 0 is %x:%u", other.nid, other.pid);
    family_close();
    open_mapped(2, 12);
    if (family->id[0].pid != 12) family_fail("12 was asked for: %u", family->id[0].pid);
    family_close();
    open_mapped(3, PTL_PID_ANY);
    if (family->id[0].pid == 11) family_fail("a map of 3 pids is used for 2 ranks");
    if (PtlGetPIDMap(family_ni, pids, 2, &count) != PTL_FAIL ||
        PtlGetRankId(family_ni, 0, &other) != PTL_FAIL)
        family_fail("a map of 3 pids is returned for 2 ranks");
    family_close();
}

/* --- memory --- */

/* Which the device refuses, from the outside (SOFTHCA_DEVICES=...max_mr=...): some MDs are had, and
 * messages are sent with them. */
static void refused(void)
{
    enum { MANY = 200 };
    ptl_handle_md_t md[MANY];
    char *memory = family_memory(MANY * 8192);
    int had = 0, code = PTL_OK;
    begin();
    ptl_md_t target = describe(memory, 4096, PTL_MD_OP_PUT, PTL_EQ_NONE);
    target.options |= PTL_MD_TRUNCATE;
    family_attach(PT, 0, target, PTL_RETAIN);
    while (had < MANY && code == PTL_OK)
        if ((code = PtlMDBind(family_ni, describe(memory + 8192 * had, 4096, 0, eq), PTL_RETAIN,
                              &md[had])) == PTL_OK)
            had++;
    if (code != PTL_NO_SPACE || had < 10)
        family_fail("%d MDs, then %s", had, PtlErrorStr((unsigned)code));
    family_barrier(NULL);
    put(md[0], 1000, !family_rank, 0, 0, PTL_ACK_REQ);
    well(PTL_EVENT_SEND_END);
    well(PTL_EVENT_ACK);
    /* Memory that is registered already is not charged again. */
    ptl_handle_md_t same, part;
    must(PtlMDBind(family_ni, describe(memory, 4096, 0, eq), PTL_RETAIN, &same));
    must(PtlMDBind(family_ni, describe(memory + 100, 1000, 0, eq), PTL_RETAIN, &part));
    must(PtlMDUnlink(md[0]));
    must(PtlMDUnlink(same));
    must(PtlMDUnlink(part));
    must(PtlMDBind(family_ni, describe(memory, 4096, 0, eq), PTL_RETAIN, &md[0]));
    while (had > 0) must(PtlMDUnlink(md[--had]));
    family_barrier(NULL);
    family_close();
}

/* Opens an interface with too little lockable memory for one; later tries fail alike, as the first
 * leaves nothing behind. */
static void none(void)
{
    int most, code = PTL_OK;
    ptl_handle_ni_t ni;
    must(PtlInit(&most));
    for (int i = 0; i < 3; i++)
        if ((code = PtlNIInit(PTL_IFACE_DEFAULT, 6, NULL, NULL, &ni)) != PTL_NO_SPACE)
            family_fail("an interface without memory: %s", PtlErrorStr((unsigned)code));
    PtlFini();
}

/* --- lists revoked under load --- */

enum { ROUNDS = 40 };
static ptl_handle_md_t target_md;

/* Process 0 unlinks what the others write to, and nothing of theirs may come afterwards. */
static void revoker(void)
{
    ptl_md_t md = describe(NULL, PAGE, QUIET, PTL_EQ_NONE);
    unsigned char *memory = NULL;
    for (uint32_t round = 1; round <= ROUNDS; round++) {
        memory = family_memory(PAGE);
        md.start = memory;
        target_md = family_attach(PT, 0, md, PTL_RETAIN);
        atomic_store(&family->flag[0], round);
        uint32_t since = atomic_load(&family->flag[1]);
        family_await(1, since + 100);
        int code;
        while ((code = PtlMDUnlink(target_md)) == PTL_MD_IN_USE) family_nap();
        must(code);
        memset(memory, 0xaa, PAGE);
        since = atomic_load(&family->flag[1]);
        family_await(1, since + 20); /* which go nowhere */
        for (int i = 0; i < PAGE; i++)
            if (memory[i] != 0xaa) family_fail("a write after the unlink, in round %u", round);
        munmap(memory, PAGE);
    }
    atomic_store(&family->flag[2], 1);
}

static void revoked(void)
{
    begin();
    family_barrier(NULL);
    if (family_rank == 0) {
        revoker();
    } else {
        ptl_handle_md_t md = bind_md(family_memory(PAGE), PAGE);
        while (!atomic_load(&family->flag[2])) {
            ptl_size_t length = 1 + family_below(family_below(2) ? 64 : 30000);
            if (atomic_load(&family->failed)) _exit(1);
            put(md, length, 0, 0, family_below(PAGE - 30000), PTL_ACK_REQ);
            /* A put that no entry accepts has no ACK. */
            ptl_event_t event;
            while ((event = next_event()).type == PTL_EVENT_ACK) {
            }
            if (event.ni_fail_type != PTL_NI_OK) family_fail("a put failed");
            atomic_fetch_add(&family->flag[1], 1);
        }
        ptl_sr_value_t fast;
        must(PtlNIStatus(family_ni, PTL_SR_FAST_PUTS, &fast));
        atomic_fetch_add(&family->flag[3], (uint32_t)fast);
    }
    family_barrier(NULL);
    if (family_rank == 0) printf("# %u puts by RDMA\n", atomic_load(&family->flag[3]));
    family_close();
}

/* --- a child that has no interface --- */

/* Calls with the parent's handles in a child; returns a bit for each that does not return
 * PTL_NO_INIT. */
static int of_the_child(ptl_handle_md_t md)
{
    ptl_event_t event;
    int wrong = 0;
    wrong |= PtlPutRegion(md, 0, 8, PTL_ACK_REQ, family->id[1], PT, 0, 0, 0, 0) != PTL_NO_INIT;
    wrong |= (PtlGetRegion(md, 0, 8, family->id[1], PT, 0, 0, 0) != PTL_NO_INIT) << 1;
    wrong |= (PtlEQGet(eq, &event) != PTL_NO_INIT) << 2;
    return wrong;
}

static void child(void)
{
    begin();
    unsigned char *memory = family_memory(PAGE);
    ptl_sr_value_t fast = 0;
    if (family_rank == 1)
        family_attach(PT, 0, describe(memory, PAGE, QUIET, PTL_EQ_NONE), PTL_RETAIN);
    family_barrier(NULL);
    if (family_rank == 0) {
        ptl_handle_md_t md = bind_md(memory, PAGE);
        for (int i = 0; fast == 0; i++) {
            if (i == 1000) family_fail("no put went by RDMA");
            put(md, 8, 1, 0, 0, PTL_ACK_REQ);
            well(PTL_EVENT_SEND_END);
            well(PTL_EVENT_ACK);
            must(PtlNIStatus(family_ni, PTL_SR_FAST_PUTS, &fast));
        }
        int status = 0;
        pid_t pid = fork();
        if (pid == 0) _exit(of_the_child(md));
        if (waitpid(pid, &status, 0) != pid || status)
            family_fail("the child acts by its parent's handles: %#x", (unsigned)status);
        put(md, 8, 1, 0, 0, PTL_ACK_REQ);
        well(PTL_EVENT_SEND_END);
        well(PTL_EVENT_ACK);
    }
    family_barrier(NULL);
    family_close();
}

int main(int argc, char **argv)
{
    family_settle_seed(NULL);
    scene(argc, argv, "bypass", 3, bypass, false,
          "puts and gets of all sizes end while their target sleeps in the kernel");
    scene(argc, argv, "flood", 4, flood, false,
          "a flood into a target with 16 receives: nothing is lost, each sender's in order");
    scene(argc, argv, "death", 4, death, true,
          "a process is killed with everything under way: all ends, the others go on");
    scene(argc, argv, "silent", 2, silent, true,
          "a process with an answer due is stopped, then killed: its peers notice");
    scene(argc, argv, "unsent", 2, unsent, false,
          "a process without a free slot reports later what it has matched");
    scene(argc, argv, "turns", 2, turns, false,
          "polling several queues, or one alone, returns all events");
    scene(argc, argv, "nobody", 1, nobody, false, "operations to no process fail");
    scene(argc, argv, "few", 2, few_pairs, false,
          "handshakes that fail return their queue pairs, which a device of four has for a peer");
    scene(argc, argv, "again", 2, again, false,
          "a process ends its interface and opens another under the same name, five times");
    scene(argc, argv, "names", 2, names, false,
          "a name belongs to one process; PTL_MY_RID, PTL_NIDMAP, PTL_PIDMAP and PTL_MY_JID count");
    scene(argc, argv, "mapped", 1, mapped, false,
          "a program's map of ranks names its interface, unless another pid is asked for");
    scene(argc, argv, "revoke", 4, revoked, false,
          "descriptors are unlinked under load: nothing is written afterwards");
    scene(argc, argv, "child", 2, child, false,
          "a forked child's calls say PTL_NO_INIT and do nothing, the parent goes on");
    if (argc > 1)
        scene(argc, argv, "none", 1, none, false,
              "where nothing can be registered PtlNIInit says PTL_NO_SPACE, and leaves nothing");
    if (argc > 1)
        scene(argc, argv, "refused", 2, refused, false,
              "memory that cannot be registered is PTL_NO_SPACE; ranges within one are shared");
    return scenes_over();
}
