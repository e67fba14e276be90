/* driver.c - runs a fuzz target without a fuzzing engine: inputs of the folder FUZZ_SEEDS, then
 * seeds, mutated from a printed seed, for a fixed number of runs; one TAP line.
 *
 *   program [SEED [RUN]]   all runs of a seed, or one of them alone; FUZZ_SEED, FUZZ_RUNS likewise
 *   program -f FILE...     inputs from files
 *
 * The target runs in a child, so that any end of it is reported with the run to replay. With
 * clang's engine (-DFUZZ_ENGINE) all that is here is LLVMFuzzerInitialize, which writes the seeds
 * to the folder FUZZ_SEEDS_TO for it, and ends the program.
 */
#include <dirent.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tests/fuzz/fuzz.h"

#ifdef FUZZ_ENGINE

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    const char *folder = getenv("FUZZ_SEEDS_TO");
    for (size_t i = 0; folder && i < fuzz_seed_count; i++) {
        char path[4096];
        snprintf(path, sizeof path, "%s/seed-%zu", folder, i);
        FILE *file = fopen(path, "wb");
        if (!file ||
            fwrite(fuzz_seeds[i].bytes, 1, fuzz_seeds[i].length, file) != fuzz_seeds[i].length ||
            fclose(file))
            return perror(path), exit(1), 1;
    }
    if (folder) exit(0);
    return 0;
}

#else

enum { RUNS = 20000, SECONDS = 600 };

static uint64_t state;

static uint64_t next_random(void)
{
    uint64_t x = state += 0x9e3779b97f4a7c15u;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

static size_t below(size_t bound)
{
    return (size_t)(next_random() % bound);
}

typedef struct input {
    uint8_t *bytes;
    size_t length;
} input_t;

static void insert(input_t *in, size_t at, const void *bytes, size_t n)
{
    if (in->length + n > fuzz_longest) n = fuzz_longest - in->length;
    memmove(in->bytes + at + n, in->bytes + at, in->length - at);
    memcpy(in->bytes + at, bytes, n);
    in->length += n;
}

static void erase(input_t *in, size_t at, size_t n)
{
    memmove(in->bytes + at, in->bytes + at + n, in->length - at - n);
    in->length -= n;
}

/* A byte that means something: at an edge, or from a seed. */
static uint8_t telling_byte(void)
{
    static const uint8_t edges[] = {0, 1, 2, 3, 4, 8, 0x7f, 0x80, 0xfe, 0xff, ' ', '\n', '0', '9'};
    const fuzz_seed_t *seed = &fuzz_seeds[below(fuzz_seed_count)];
    switch (below(3)) {
    case 0:
        return edges[below(sizeof edges)];
    case 1:
        if (seed->length) return (uint8_t)seed->bytes[below(seed->length)];
        return 0;
    default:
        return (uint8_t)next_random();
    }
}

static void mutate(input_t *in)
{
    const fuzz_seed_t *seed = &fuzz_seeds[below(fuzz_seed_count)];
    uint8_t byte = telling_byte(), piece[64];
    size_t at = below(in->length + 1), n = 1 + below(16);
    switch (below(8)) {
    case 0:
        if (at < in->length) in->bytes[at] ^= (uint8_t)(1u << below(8));
        break;
    case 1:
    case 2:
        if (at < in->length) in->bytes[at] = byte;
        break;
    case 3:
        insert(in, at, &byte, 1);
        break;
    case 4:
        if (n > in->length - at) n = in->length - at;
        erase(in, at, n);
        break;
    case 5: /* repeat a piece */
        if (n > in->length - at) n = in->length - at;
        memcpy(piece, in->bytes + at, n);
        insert(in, below(in->length + 1), piece, n);
        break;
    case 6: /* graft a piece of a seed */
        if (!seed->length) break;
        size_t from = below(seed->length);
        insert(in, at, seed->bytes + from, 1 + below(seed->length - from));
        break;
    default:
        for (size_t i = 0; i < 4 && at + i < in->length; i++) in->bytes[at + i] = telling_byte();
    }
}

static void make(input_t *in, uint64_t seed, uint64_t run)
{
    state = seed ^ (run + 1) * 0xd1342543de82ef95u;
    in->length = 0;
    if (below(16) == 0) {
        in->length = below(fuzz_longest < 100 ? fuzz_longest + 1 : 101);
        for (size_t i = 0; i < in->length; i++) in->bytes[i] = telling_byte();
        return;
    }
    const fuzz_seed_t *from = &fuzz_seeds[below(fuzz_seed_count)];
    insert(in, 0, from->bytes, from->length);
    for (size_t n = below(6); n > 0; n--) mutate(in);
}

static void run_one(input_t *in)
{
    uint8_t *copy = fuzz_copy(in->bytes, in->length);
    LLVMFuzzerTestOneInput(copy, in->length);
    free(copy);
}

static void run_file(const char *path, input_t *in)
{
    FILE *file = fopen(path, "rb");
    if (!file) perror(path), exit(1);
    in->length = fread(in->bytes, 1, fuzz_longest, file);
    fclose(file);
    run_one(in);
}

/* Inputs that were kept, if there are any for this target. */
static void run_folder(const char *path, input_t *in)
{
    char name[4096];
    DIR *folder = path ? opendir(path) : NULL;
    for (struct dirent *entry; folder && (entry = readdir(folder));) {
        snprintf(name, sizeof name, "%s/%s", path, entry->d_name);
        if (entry->d_name[0] != '.') run_file(name, in);
    }
    if (folder) closedir(folder);
}

static uint64_t number(const char *text, uint64_t otherwise)
{
    return text ? strtoull(text, NULL, 0) : otherwise;
}

int main(int argc, char **argv)
{
    input_t in = {malloc(fuzz_longest + 1), 0};
    volatile uint64_t *run =
        mmap(NULL, sizeof *run, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (!in.bytes || run == MAP_FAILED) abort();
    if (argc > 2 && !strcmp(argv[1], "-f")) {
        for (int i = 2; i < argc; i++) run_file(argv[i], &in);
        return 0;
    }
    uint64_t seed = number(argc > 1 ? argv[1] : getenv("FUZZ_SEED"),
                           (uint64_t)time(NULL) * 1000003u + (uint64_t)getpid());
    uint64_t runs = number(getenv("FUZZ_RUNS"), RUNS), first = number(argc > 2 ? argv[2] : NULL, 0);
    if (argc > 2) runs = first + 1;
    printf("# seed %llu\n", (unsigned long long)seed);
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        alarm(SECONDS);
        run_folder(getenv("FUZZ_SEEDS"), &in);
        for (*run = first; *run < runs; ++*run) {
            make(&in, seed, *run);
            run_one(&in);
        }
        free(in.bytes);
        exit(0);
    }
    int status;
    if (child < 0 || waitpid(child, &status, 0) != child) abort();
    printf("%sok 1 - %llu inputs do no harm\n", status ? "not " : "",
           (unsigned long long)(runs - first));
    if (status)
        printf("# wait status %#x; replay with: %s %llu %llu\n", (unsigned)status, argv[0],
               (unsigned long long)seed, (unsigned long long)*run);
    printf("1..1\n");
    free(in.bytes);
    return status != 0;
}

#endif
