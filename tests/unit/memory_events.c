/* memory_events.c - other/base/memory-events: each way in which a program gives memory back is
 * reported, while the memory is still there; with threads, in a child, where the kernel refuses.
 *
 * Also linked statically.  Where memory cannot be watched (valgrind, ThreadSanitizer) the program
 * works, and the reason is said.
 */
#define _GNU_SOURCE
#include "other/base/memory-events/memory_events.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <malloc.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
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
#include "other/base/memory-events/hook.h"

enum { PAGE = 4096, SIZE = 64 * PAGE };

/* --- awaited reports --- */

/* Volatile: compilers know that munmap calls nothing of this file. */
static _Thread_local volatile uintptr_t awaited; /* an address that this thread unmaps */
static _Thread_local volatile unsigned reports;  /* reports of `awaited` */
static _Thread_local volatile bool was_there;    /* the byte at `awaited` could be read, and was
                                                    as written */
static atomic_uintptr_t anywhere;                /* as `awaited`, but any thread may unmap it */
static atomic_uint reports_anywhere;
static atomic_uint calls;

static void unmapped(uintptr_t addr, size_t len)
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

/* --- the ways to unmap; each unmaps the address that it awaits --- */

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
    memory_events_begin(unmapped);
    const unsigned before = atomic_load(&calls);
    munmap(map(PAGE, MAP_PRIVATE), PAGE);
    check(atomic_load(&calls) == before + 1, "a callback that is registered twice is called once");
    memory_events_end(unmapped);
    munmap(map(PAGE, MAP_PRIVATE), PAGE);
    check(atomic_load(&calls) == before + 1, "none is called after memory_events_end");
    memory_events_begin(unmapped);
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

/* Code of a file, mapped shared or privately, that unmaps what it is given. */
static char *foreign_code(int *file, int flags)
{
    static const unsigned char bytes[] = {0xc3, 0xb8, 11, 0, 0, 0, 0x0f, 0x05, 0xc3};
    unsigned char page[PAGE];
    memset(page, 0x90, sizeof page);
    memcpy(page + PAGE / 2 - 1, bytes, sizeof bytes);
    *file = memfd_create("code", 0);
    if (*file < 0 || write(*file, page, PAGE) != PAGE) abort();
    char *code = mmap(NULL, PAGE, PROT_READ | PROT_EXEC, flags, *file, 0);
    return code == MAP_FAILED ? NULL : code;
}

/* New code is looked at, together with all other. */
static void load_code(void)
{
    const int file = open("/proc/self/exe", O_RDONLY);
    void *code = mmap(NULL, PAGE, PROT_READ | PROT_EXEC, MAP_PRIVATE, file, 0);
    if (code != MAP_FAILED) munmap(code, PAGE);
    close(file);
}

static void others_code(int flags, const char *name)
{
    int file;
    char *code = foreign_code(&file, flags);
    if (!code) {
        check_note("a memory file must not be executed");
        close(file);
        return;
    }
    check(!memory_events_watched() && strstr(memory_events_why(), "memfd:code"),
          "%s: what it unmaps cannot be seen, and the file is named", name);
    unsigned char now[PAGE];
    check(pread(file, now, PAGE, 0) == PAGE && memcmp(now, code, PAGE) == 0 &&
              now[PAGE / 2] == 0xb8,
          "%s: file and memory are unchanged", name);
    munmap(code, PAGE);
    close(file);
    load_code();
    check(memory_events_watched(),
          "%s: and all is watched again when it has gone, and new code is looked at", name);
}

/* Changes the code of munmap as a uprobe, or a debugger's breakpoint, does. */
static void breakpoint(void)
{
    const int memory = open("/proc/self/mem", O_RDWR);
    const off_t at = (off_t)(uintptr_t)dlsym(RTLD_NEXT, "munmap"); /* none in a static program */
    unsigned char was[16] = {0};
    if (memory < 0 || (at && pread(memory, was, sizeof was, at) != sizeof was)) abort();
    const unsigned char *jump = memchr(was, 0xe9, sizeof was);
    if (!jump) {
        check_note("the C library's munmap is not found, or has no hook at its beginning");
        close(memory);
        return;
    }
    const off_t there = at + (jump - was);
    const unsigned before = atomic_load(&calls);
    check(memory_events_intact() && atomic_load(&calls) == before, "all hooks are in their places");
    if (pwrite(memory, "\xcc", 1, there) != 1) abort();
    check(!memory_events_intact() && atomic_load(&calls) == before + 1,
          "a breakpoint in the place of a hook is noticed, and everything reported");
    check(!memory_events_watched() && strstr(memory_events_why(), "breakpoint"), "the reason: %s",
          memory_events_why());
    if (pwrite(memory, "\xe9", 1, there) != 1) abort();
    check(memory_events_watched() && by_munmap(), "when it is removed all is watched again");
    close(memory);
}

/* Test with another thread that loads and unloads code that unmaps memory, and puts data at its
 * address. */
static atomic_bool loading_ends;

static void *loads_and_unloads(void *unused)
{
    static const unsigned char bytes[] = {0xc3, 0xb8, 11, 0, 0, 0, 0x0f, 0x05, 0xc3};
    for (int i = 0; i < 3000; i++) {
        int file;
        char *code = foreign_code(&file, MAP_PRIVATE);
        close(file);
        if (!code) break;
        munmap(code, PAGE);
        char *data = mmap(code, PAGE, PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
        if (data != code) { /* another thread was faster, or the kernel is old */
            if (data != MAP_FAILED) munmap(data, PAGE);
            continue;
        }
        memcpy(data + PAGE / 2 - 1, bytes, sizeof bytes); /* looks like code */
        for (int k = 0; k < 20; k++) ((volatile char *)data)[k] = (char)k;
        if (memcmp(data + PAGE / 2 - 1, bytes, sizeof bytes) != 0) atomic_fetch_add(&unseen, 1);
        munmap(data, PAGE);
    }
    atomic_store(&loading_ends, true);
    return unused;
}

static void unloading(void)
{
    pthread_t thread;
    unsigned looked = 0;
    atomic_store(&unseen, 0);
    if (pthread_create(&thread, NULL, loads_and_unloads, NULL)) abort();
    for (; !atomic_load(&loading_ends); looked++) memory_events_watched();
    pthread_join(thread, NULL);
    check(atomic_load(&unseen) == 0 && looked > 0,
          "code that is unloaded while it is looked at: data in its place stay as they are");
}

/* A handler that interrupts a callback, and does not return to it. */
static sigjmp_buf out;

static void leaves(int signal)
{
    (void)signal;
    siglongjmp(out, 1);
}

static void is_interrupted(uintptr_t addr, size_t len)
{
    if (awaited - addr < len) raise(SIGUSR1);
}

static void longjmp_out(void)
{
    signal(SIGUSR1, leaves);
    memory_events_begin(is_interrupted);
    char *block = map(PAGE, MAP_PRIVATE);
    await(block);
    if (!sigsetjmp(out, 1)) munmap(block, PAGE);
    awaited = 0;
    memory_events_end(is_interrupted);
    check(*block == (char)0xa5, "a callback that is left by siglongjmp: the call is not made");
    munmap(block, PAGE);
    check(by_munmap(), "and memory_events_end does not wait for it");
}
#else
static void registers(void) {}
static void others_code(int flags, const char *name)
{
    (void)flags, (void)name;
}
static void breakpoint(void) {}
static void unloading(void) {}
static void longjmp_out(void) {}
#endif

/* --- this program again, with fewer rights --- */

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

static int interposed(void);

static int again_main(const char *how)
{
    pthread_t thread;
    const unsigned stubs_before = pages_of_stubs();
    if (strcmp(how, "interposed") == 0) return interposed();
    if (strcmp(how, "thread") == 0 && pthread_create(&thread, NULL, waits, NULL)) abort();
    const bool watched = memory_events_begin(unmapped);
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

/* --- the means that changes no code --- */

static char in_data[8 * PAGE];

/* In a process of its own, before any other means has begun. */
static int interposed(void)
{
    const unsigned stubs_before = pages_of_stubs();
    if (!memory_events_interpose(unmapped)) {
        printf("# interposition: %s\n", memory_events_why());
        return memory_events_covers((uintptr_t)in_data, sizeof in_data) ? 1 : 77;
    }
    char *heap = malloc(SIZE * 4), *block = map(SIZE, MAP_PRIVATE);
    char *page = (char *)(((uintptr_t)heap + 2 * PAGE) & ~(uintptr_t)(PAGE - 1));
    const bool covered = memory_events_covers((uintptr_t)heap, SIZE * 4) &&
                         memory_events_covers((uintptr_t)in_data, sizeof in_data) &&
                         !memory_events_covers((uintptr_t)block, SIZE) &&
                         !memory_events_covers((uintptr_t)&covered, 1);
    memset(heap, 0xa5, SIZE * 4);
    await(page);
    const bool told = madvise(page, PAGE, MADV_DONTNEED) == 0 && reported() && *page == 0;
    *page = (char)0xa5;
    await(page);
    const bool again = mmap(page, PAGE, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == page &&
                       reported();
    const char *end = sbrk(0);
    free(heap);
    const bool kept = malloc_trim(0) == 0 && (char *)sbrk(0) >= end;
    *(volatile char *)page = 1; /* is still there */
    printf("# interposition: covered %d, madvise %d, mmap %d, kept %d\n", covered, told, again,
           kept);
    return covered && told && again && kept && by_munmap() && pages_of_stubs() == stubs_before ? 0
                                                                                               : 1;
}

static void interposition(void)
{
    const int status = again("interposed");
    check(status == 0 || status == 77, "static data and the heap are covered without changed code");
    if (status == 77) check_note("calls do not come to this library: nothing is covered");
#ifndef IS_STATIC
    if (!__asan_init) check(status == 0, "a program's calls come to this library");
#endif
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
    const bool watched = memory_events_begin(unmapped);
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
    others_code(MAP_SHARED, "shared code");
    others_code(MAP_PRIVATE, "private code");
    breakpoint();
    unloading();
    longjmp_out();
    fewer_rights();
    interposition();
    check(memory_events_watched(), "all is still watched");
    return check_end();
}
