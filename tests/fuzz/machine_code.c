/* machine_code.c - fuzzes what other/base/memory-events reads of a process: instructions, of any
 * bytes, and the list of mappings.
 *
 * The first byte chooses: 0 the list, otherwise code.
 */
#define _GNU_SOURCE
#include <sys/mman.h>
#include <unistd.h>

#include "other/base/memory-events/lengths.h"
#include "other/base/memory-events/mappings.h"
#include "tests/fuzz/fuzz.h"

const fuzz_seed_t fuzz_seeds[] = {
    FUZZ_SEED("\0007f0000001000-7f0000003000 r-xp 00001000 fe:00 1234    /usr/lib/libc.so.6\n"
              "7ffc000-7ffd000 rw-p 00000000 00:00 0     [stack]\n"),
    FUZZ_SEED("\0"
              "1000-2000 ---s 0 0:0 0\n"),
    FUZZ_SEED("\1\xb8\x0b\0\0\0\x0f\x05\xc3"), /* mov $11,%eax; syscall; ret */
    FUZZ_SEED("\1\x4c\x8b\x4c\x24\x08\x0f\x05"),
    FUZZ_SEED("\1\xc5\xfd\x6f\x06\x62\xf1\xfe\x48\x6f\x06\xf3\x0f\x1e\xfa\xe8\0\0\0\0\x90"),
};
const size_t fuzz_seed_count = sizeof fuzz_seeds / sizeof *fuzz_seeds, fuzz_longest = 300;

static void code(const uint8_t *bytes, size_t size)
{
    for (size_t at = 0; at < size;) {
        const size_t length = me_length(bytes + at, size - at);
        fuzz_require(length <= 15 && length <= size - at, "an instruction lies in its code");
        at += length ? length : 1;
    }
    if (size > 0)
        fuzz_require(me_vote(bytes, size, bytes[0] % size) <= ME_INSTRUCTION, "one vote of three");
}

static void mappings(const uint8_t *bytes, size_t size)
{
    me_mapping_t one;
    me_mappings_t *list = calloc(1, sizeof *list);
    if (!list) abort();
    list->fd = memfd_create("mappings", MFD_CLOEXEC);
    if (list->fd < 0 || write(list->fd, bytes, size) != (ssize_t)size) abort();
    lseek(list->fd, 0, SEEK_SET);
    for (size_t n = 0; me_mappings_next(list, &one); n++) {
        fuzz_require(n <= size, "the list ends");
        fuzz_require(memchr(one.name, 0, sizeof one.name) != NULL, "a name ends in its room");
    }
    me_mappings_close(list);
    free(list);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 1) return 0;
    uint8_t *copy = fuzz_copy(data + 1, size - 1);
    (data[0] ? code : mappings)(copy, size - 1);
    free(copy);
    return 0;
}
