/* memory_events.c - other/memory-events: each way in which a program gives memory back is reported,
 * while the memory is still there; with threads, in a child, where the kernel refuses.
 *
 * Also linked statically.  Where memory cannot be watched (valgrind, ThreadSanitizer) the program
 * works, and the reason is said.
 */
#define _GNU_SOURCE
#include "other/memory-events/memory_events.h"

#include <dlfcn.h>
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <malloc.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/shm.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"
#include "other/memory-events/hook.h"

enum { PAGE = 4096, SIZE = 64 * PAGE };

/* --- what is awaited --- */

/* Volatile: compilers know that munmap calls nothing of this file. */
static _Thread_local volatile uintptr_t awaited; /* an address that this thread gives back */
static _Thread_local volatile unsigned reports;  /* of it */
static _Thread_local volatile bool was_there;    /* its byte could be read, and was as written */
static atomic_uintptr_t anywhere;                /* as `awaited`, whichever thread gives it back */
static atomic_uint reports_anywhere;
static atomic_uint calls;

static void given_back(uintptr_t addr, size_t len)
{
    atomic_fetch_add(&calls, 1);
    if (atomic_load(&anywhere) - addr < len) atomic_fetch_add(&reports_anywhere, 1);
    if (!awaited || awaited - addr >= len) return;
    if (reports++ == 0) was_there = *(volatile unsigned char *)awaited == 0xa5;
}

static void await(void *address)
{
    awaited = (uintptr_t)address;
    reports = 0;
    was_there = false;
}

static bool reported(void)
{
    awaited = 0;
    return reports > 0 && was_there;
}

static void *map(size_t size, int flags)
{
    void *block = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_ANONYMOUS | flags, -1, 0);
    if (block == MAP_FAILED) abort();
    memset(block, 0xa5, size);
    return block;
}

/* --- the ways; each gives back the address that it awaits --- */

static bool by_munmap(void)
{
    char *block = map(SIZE, MAP_PRIVATE);
    await(block + SIZE - 1);
    munmap(block, SIZE);
    return reported();
}

static bool by_syscall(void)
{
    char *block = map(SIZE, MAP_PRIVATE);
    await(block);
    const long result = syscall(SYS_munmap, block, (size_t)SIZE);
    return reported() && result == 0 && syscall(SYS_munmap, block + 1, 1) == -1 && errno == EINVAL;
}

static bool by_mremap(void)
{
    char *block = map(SIZE, MAP_PRIVATE);
    await(block);
    char *moved = mremap(block, SIZE, 4 * (size_t)SIZE, MREMAP_MAYMOVE);
    const bool seen = reported() && *(unsigned char *)moved == 0xa5;
    munmap(moved, 4 * (size_t)SIZE);
    return seen;
}

static bool by_mremap_smaller(void)
{
    char *block = map(SIZE, MAP_PRIVATE);
    await(block + SIZE - PAGE);
    mremap(block, SIZE, SIZE - PAGE, 0);
    const bool tail = reported();
    await(block);
    mremap(block, SIZE - PAGE, SIZE - 2 * PAGE, MREMAP_MAYMOVE);
    const bool kept = !reported();
    munmap(block, SIZE - 2 * PAGE);
    return tail && kept;
}

static bool by_mremap_over(void)
{
    char *block = map(SIZE, MAP_PRIVATE), *other = map(SIZE, MAP_PRIVATE);
    await(block + PAGE);
    mremap(other, SIZE, SIZE, MREMAP_MAYMOVE | MREMAP_FIXED, block);
    const bool over = reported();
    other = map(SIZE, MAP_PRIVATE);
    await(other);
    mremap(other, SIZE, SIZE, MREMAP_MAYMOVE | MREMAP_FIXED, block);
    const bool from = reported();
    munmap(block, SIZE);
    return over && from;
}

static bool by_advice(int advice, int flags)
{
    char *block = map(SIZE, flags);
    await(block + PAGE);
    const int refused = madvise(block + PAGE, PAGE, advice);
    const bool seen = reported();
    await(block);
    madvise(block + PAGE, PAGE, advice);
    const bool kept = !reported();
    munmap(block, SIZE);
    return seen && kept && !refused;
}

static bool by_dontneed(void)
{
    return by_advice(MADV_DONTNEED, MAP_PRIVATE);
}

static bool by_madv_free(void)
{
    return by_advice(MADV_FREE, MAP_PRIVATE);
}

static bool by_remove(void)
{
    return by_advice(MADV_REMOVE, MAP_SHARED);
}

static bool by_map_fixed(void)
{
    char *block = map(SIZE, MAP_PRIVATE);
    await(block + PAGE);
    char *again =
        mmap(block, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
    const bool seen = reported() && again == block && again[PAGE] == 0;
    munmap(block, SIZE);
    return seen;
}

static bool by_mprotect(void)
{
    char *block = map(SIZE, MAP_PRIVATE);
    await(block);
    mprotect(block, SIZE, PROT_READ);
    const bool seen = reported();
    await(block);
    mprotect(block, SIZE, PROT_READ | PROT_WRITE);
    const bool seen_again = reported();
    munmap(block, SIZE);
    return seen && seen_again;
}

static bool by_sbrk(void)
{
    char *block = sbrk(SIZE);
    if (block == (void *)-1) return false;
    memset(block, 0xa5, SIZE);
    await(block + SIZE - 1);
    const bool done = sbrk(-SIZE) == block + SIZE;
    return reported() && done;
}

static bool by_shm(bool replaced)
{
    const int id = shmget(IPC_PRIVATE, SIZE, 0600);
    char *block = shmat(id, NULL, 0);
    if (block == (void *)-1) return false;
    memset(block, 0xa5, SIZE);
    await(block + PAGE);
    const int failed = replaced ? shmat(id, block, SHM_REMAP) != block : shmdt(block);
    const bool seen = reported();
    if (replaced) shmdt(block);
    shmctl(id, IPC_RMID, NULL);
    return seen && !failed;
}

static bool by_shmdt(void)
{
    return by_shm(false);
}

static bool by_shmat(void)
{
    return by_shm(true);
}

/* AddressSanitizer's allocator keeps memory that was freed. */
extern void __asan_init(void) __attribute__((weak));

/* glibc always maps a block of more than 32 MB. */
static bool by_free(void)
{
    if (__asan_init) return true;
    const size_t size = (size_t)34 << 20;
    char *volatile block = malloc(size);
    block[size / 2] = (char)0xa5;
    await(block + size / 2);
    free(block);
    return reported();
}

static bool by_realloc(void)
{
    if (__asan_init) return true;
    const size_t size = (size_t)34 << 20;
    char *volatile block = malloc(size);
    block[size / 2] = (char)0xa5;
    await(block + size / 2);
    block = realloc(block, size / 4);
    const bool seen = reported();
    free(block);
    return seen;
}

/* The top of the heap, and a page within it. */
static bool by_trim(void)
{
    enum { BLOCKS = 64, BYTES = 64 * 1024 };
    char *block[BLOCKS], *volatile last = NULL;
    if (__asan_init) return true;
    for (int i = 0; i < BLOCKS; i++) memset(block[i] = malloc(BYTES), 0xa5, BYTES);
    last = malloc(BYTES);
    for (int i = 0; i < BLOCKS; i++) {
        if (i == BLOCKS / 2) await(block[i] + BYTES / 2);
        free(block[i]);
    }
    malloc_trim(0);
    free(last);
    malloc_trim(0);
    return reported();
}

static void *end_of_thread(void *where)
{
    volatile char on_stack = (char)0xa5;
    atomic_store((atomic_uintptr_t *)where, (uintptr_t)&on_stack);
    atomic_store(&anywhere, (uintptr_t)&on_stack);
    return NULL;
}

/* More than glibc keeps for other threads. */
static bool by_stack(void)
{
    atomic_uintptr_t where = 0;
    pthread_t thread;
    pthread_attr_t attr;
    pthread_attr_init(&attr);
    pthread_attr_setstacksize(&attr, (size_t)128 << 20);
    atomic_store(&reports_anywhere, 0);
    if (pthread_create(&thread, &attr, end_of_thread, &where)) return false;
    pthread_join(thread, NULL);
    pthread_attr_destroy(&attr);
    return atomic_load(&reports_anywhere) > 0;
}

#ifdef IS_STATIC
static bool by_dlclose(void)
{
    return true;
}
#else
static bool by_dlclose(void)
{
    static const char *const names[] = {"libcrypt.so.1", "libresolv.so.2", "libutil.so.1", NULL};
    for (const char *const *name = names; *name; name++) {
        if (dlopen(*name, RTLD_NOW | RTLD_NOLOAD)) continue;
        void *library = dlopen(*name, RTLD_NOW);
        if (!library) continue;
        const unsigned before = atomic_load(&calls);
        if (!memory_events_watched()) return false;
        uintptr_t *base = *(uintptr_t **)library; /* l_addr, the first of a link_map */
        atomic_store(&anywhere, (uintptr_t)base);
        atomic_store(&reports_anywhere, 0);
        dlclose(library);
        return before && atomic_load(&reports_anywhere) > 0;
    }
    check_note("no library to load");
    return true;
}
#endif

static const struct way {
    const char *name;
    bool (*gives_back)(void);
    bool any_thread; /* does nothing that other threads notice */
} ways[] = {
    {"munmap", by_munmap, true},
    {"syscall(SYS_munmap)", by_syscall, true},
    {"mremap that moves", by_mremap, true},
    {"mremap that shrinks", by_mremap_smaller, true},
    {"mremap over another mapping", by_mremap_over, true},
    {"madvise(MADV_DONTNEED)", by_dontneed, true},
    {"madvise(MADV_FREE)", by_madv_free, true},
    {"madvise(MADV_REMOVE)", by_remove, true},
    {"mmap(MAP_FIXED) over a mapping", by_map_fixed, true},
    {"mprotect to read-only, and back", by_mprotect, true},
    {"sbrk", by_sbrk, false},
    {"shmdt", by_shmdt, true},
    {"shmat(SHM_REMAP)", by_shmat, true},
    {"free of a large block", by_free, true},
    {"realloc of a large block", by_realloc, true},
    {"malloc_trim", by_trim, false},
    {"the end of a thread's stack", by_stack, false},
    {"dlclose", by_dlclose, false},
};
enum { WAYS = sizeof ways / sizeof *ways };

static void each_way(void)
{
    for (int i = 0; i < WAYS; i++) check(ways[i].gives_back(), "reported: %s", ways[i].name);
}

/* --- threads --- */

enum { THREADS = 4, ROUNDS = 200 };
static atomic_uint unseen;

static void *many_ways(void *seed)
{
    unsigned state = (unsigned)(uintptr_t)seed;
    for (int i = 0; i < ROUNDS; i++) {
        const struct way *way = &ways[(unsigned)rand_r(&state) % WAYS];
        if (way->any_thread && !way->gives_back()) atomic_fetch_add(&unseen, 1);
    }
    return NULL;
}

static void threads(void)
{
    pthread_t thread[THREADS];
    for (int i = 0; i < THREADS; i++)
        pthread_create(&thread[i], NULL, many_ways, (void *)(uintptr_t)check_random());
    for (int i = 0; i < THREADS; i++) pthread_join(thread[i], NULL);
    check(atomic_load(&unseen) == 0, "each thread's calls are reported, in that thread");
}

/* --- children --- */

/* Exit status of a child: 0 if nothing was reported in it. */
static int in_child(void)
{
    char *block = map(SIZE, MAP_PRIVATE);
    const unsigned before = atomic_load(&calls);
    if (munmap(block, SIZE)) return 1;
    free(malloc((size_t)34 << 20));
    if (atomic_load(&calls) != before) return 2;
    return memory_events_watched() ? 3 : 0;
}

static bool child_is_quiet(pid_t pid)
{
    if (pid == 0) _exit(in_child());
    int status = -1;
    waitpid(pid, &status, 0);
    return status == 0;
}

static void children(void)
{
    char *block = map(SIZE, MAP_PRIVATE);
    await(block);
    const pid_t pid = fork();
    if (pid) check(reported(), "reported: fork, after which pages may be the child's");
    check(child_is_quiet(pid), "nothing is reported in a child");
    check(child_is_quiet((pid_t)syscall(SYS_fork)), "nor in one that the C library did not make");
    munmap(block, SIZE);
    check(by_munmap(), "the parent's calls are reported as before");
}

/* --- nesting: a callback of another library may unmap, though it is asked not to --- */

static void unmaps_itself(uintptr_t addr, size_t len)
{
    static _Thread_local volatile bool inside;
    (void)addr, (void)len;
    if (inside) return;
    inside = true;
    munmap(map(PAGE, MAP_PRIVATE), PAGE);
    inside = false;
}

static void nesting(void)
{
    memory_events_begin(unmaps_itself);
    check(by_munmap() && by_free(), "a callback that unmaps memory itself does no harm");
    memory_events_end(unmaps_itself);
    memory_events_begin(given_back);
    const unsigned before = atomic_load(&calls);
    munmap(map(PAGE, MAP_PRIVATE), PAGE);
    check(atomic_load(&calls) == before + 1, "a callback that is registered twice is called once");
    memory_events_end(given_back);
    munmap(map(PAGE, MAP_PRIVATE), PAGE);
    check(atomic_load(&calls) == before + 1, "none is called after memory_events_end");
    memory_events_begin(given_back);
}

/* --- values in registers --- */

#ifdef __x86_64__
/* Values in vector registers survive a call of the kernel, and so must survive a callback. */
static void spoils_registers(uintptr_t addr, size_t len)
{
    (void)addr, (void)len;
    __asm__ volatile("pxor %%xmm5, %%xmm5; pxor %%xmm15, %%xmm15" ::: "xmm5", "xmm15");
}

static void registers(void)
{
    memory_events_begin(spoils_registers);
    char *block = map(PAGE, MAP_PRIVATE);
    uint64_t low = 0, high = 0;
    __asm__ volatile("mov $0x1234567, %%r8; movq %%r8, %%xmm5; movq %%r8, %%xmm15\n\t"
                     "call *%[munmap]\n\t"
                     "movq %%xmm5, %[low]; movq %%xmm15, %[high]"
                     : [low] "=&r"(low), [high] "=&r"(high), "+D"(block)
                     : "S"((size_t)PAGE), [munmap] "b"(munmap)
                     : "rax", "rcx", "rdx", "r8", "r9", "r10", "r11", "xmm5", "xmm15", "memory");
    check(low == 0x1234567 && high == 0x1234567, "vector registers are as before the call");
    check(me_hook_state_size >= 576 && me_hook_state_size <= 4096,
          "they are saved in %lu bytes, without those that callbacks do not use",
          me_hook_state_size);
    memory_events_end(spoils_registers);
}

/* A file's code that the program may write, and that unmaps what it is given. */
static void writable_code(void)
{
    static const unsigned char bytes[] = {0xb8, 11, 0, 0, 0, 0x0f, 0x05, 0xc3};
    unsigned char page[PAGE];
    memset(page, 0x90, sizeof page);
    memcpy(page + PAGE / 2, bytes, sizeof bytes);
    const int file = memfd_create("code", 0);
    if (file < 0 || write(file, page, PAGE) != PAGE) abort();
    char *code = mmap(NULL, PAGE, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE, file, 0);
    if (code == MAP_FAILED) {
        check_note("memory must not be writable and executable");
        close(file);
        return;
    }
    check(memory_events_watched(), "code that the program may write is watched");
    char *block = map(PAGE, MAP_PRIVATE);
    int (*unmap)(void *, size_t);
    char *const function = code + PAGE / 2;
    memcpy(&unmap, &function, sizeof unmap);
    await(block);
    check(unmap(block, PAGE) == 0 && reported(), "and reported");
    check(pread(file, code, 1, 0) == 1, "and the program may still write it");
    munmap(code, PAGE);
    close(file);
}
#else
static void registers(void) {}
static void writable_code(void) {}
#endif

/* --- the same program again, with fewer rights --- */

static void filter(const struct sock_filter *code, size_t size)
{
    struct sock_fprog program = {(unsigned short)(size / sizeof *code),
                                 (struct sock_filter *)(uintptr_t)code};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, 2, &program)) _exit(77);
}

/* Refuses memory that is writable and executable (1), and writing to /proc/self/mem as well (2). */
static void refuse(int how)
{
    const struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_mprotect, 0, 2),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[2])),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, PROT_READ | PROT_WRITE | PROT_EXEC, 2, 1),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, how == 2 ? SYS_pwrite64 : 0xffff, 1, 0),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EACCES),
    };
    filter(code, sizeof code);
}

/* Ends the process at brk(1), which must not be called beside other threads. */
static void forbid_brk(void)
{
    const struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_brk, 0, 2),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[0])),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 1, 1, 0),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRAP),
    };
    filter(code, sizeof code);
}

static int again(const char *how)
{
    const pid_t pid = fork();
    if (pid == 0) {
        if (strcmp(how, "user") == 0 && (setgid(65534) || setuid(65534))) _exit(77);
        if (strcmp(how, "refuse") == 0) refuse(1);
        if (strcmp(how, "refuse-all") == 0) refuse(2);
        if (strcmp(how, "thread") == 0) forbid_brk();
        execl("/proc/self/exe", "memory_events", "again", how, (char *)NULL);
        _exit(77);
    }
    int status = -1;
    waitpid(pid, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 99;
}

/* Executable memory of no file: pages of stubs, and what a sanitizer maps. */
static unsigned pages_of_stubs(void)
{
    char line[512];
    unsigned found = 0;
    FILE *maps = fopen("/proc/self/maps", "r");
    if (!maps) abort();
    while (fgets(line, sizeof line, maps))
        found += strstr(line, " r-xp 00000000 00:00 0 ") && !strchr(line, '[');
    fclose(maps);
    return found;
}

static void *waits(void *unused)
{
    pause();
    return unused;
}

static int again_main(const char *how)
{
    pthread_t thread;
    const unsigned stubs_before = pages_of_stubs();
    if (strcmp(how, "thread") == 0 && pthread_create(&thread, NULL, waits, NULL)) abort();
    const bool watched = memory_events_begin(given_back);
    if (strcmp(how, "refuse-all") == 0) {
        munmap(map(PAGE, MAP_PRIVATE), PAGE);
        if (pages_of_stubs() != stubs_before) return 2;
        return watched || !strstr(memory_events_why(), "may not be changed");
    }
    if (watched && pages_of_stubs() == stubs_before) return 2;
    if (!watched) {
        printf("# %s: %s\n", how, memory_events_why());
        return 1;
    }
    int missed = 0;
    for (int i = 0; i < WAYS; i++) {
        if (ways[i].gives_back()) continue;
        printf("# %s: not reported: %s\n", how, ways[i].name);
        missed = 1;
    }
    return missed;
}

static void fewer_rights(void)
{
    if (geteuid() == 0) {
        const int status = again("user");
        check(status == 0 || status == 77, "each way is reported for an ordinary user");
        if (status == 77) check_note("this program cannot be executed by one");
    }
    check(again("refuse") == 0, "each way is reported where code must not be made writable");
    check(again("refuse-all") == 0,
          "where code cannot be changed at all, the program works, and no stub remains");
    check(again("thread") == 0, "each way is reported beside a thread, and the heap's end is kept");
}

int main(int argc, char **argv)
{
    if (argc == 3 && strcmp(argv[1], "again") == 0) return again_main(argv[2]);
    check_begin(argc, argv);
    check(!memory_events_watched(), "nothing is watched before somebody asks for it");
    const bool watched = memory_events_begin(given_back);
    if (!watched) {
        check(strlen(memory_events_why()) > 10, "memory cannot be watched, and the reason is said");
        check_note("%s", memory_events_why());
        munmap(map(SIZE, MAP_PRIVATE), SIZE);
        return check_end();
    }
    each_way();
    threads();
    children();
    nesting();
    registers();
    writable_code();
    fewer_rights();
    check(memory_events_watched(), "all is still watched");
    return check_end();
}
