/* fuzz.h - the interface of a fuzz target and its driver, and the report of a property that does
 * not hold.
 *
 * A target is a program: one file with LLVMFuzzerTestOneInput and some seeds, linked with driver.c,
 * or (clang -fsanitize=fuzzer) without it.
 */
#ifndef FUZZ_H
#define FUZZ_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Inputs from which mutation begins; `longest` bounds what it makes. */
typedef struct fuzz_seed {
    const char *bytes;
    size_t length;
} fuzz_seed_t;
extern const fuzz_seed_t fuzz_seeds[];
extern const size_t fuzz_seed_count, fuzz_longest;

/* For string literals, which may hold zero bytes. */
#define FUZZ_SEED(literal)                                                                         \
    {                                                                                              \
        literal, sizeof(literal) - 1                                                               \
    }

/* Ends the run when a property does not hold. */
static inline void fuzz_require(int holds, const char *property)
{
    if (holds) return;
    fprintf(stderr, "does not hold: %s\n", property);
    abort();
}

/* A copy in a block of exactly its size, so that a sanitizer sees a read past it. */
static inline uint8_t *fuzz_copy(const uint8_t *data, size_t size)
{
    uint8_t *copy = malloc(size ? size : 1);
    if (!copy) abort();
    if (size) memcpy(copy, data, size);
    return copy;
}

/* A copy of the data in a block of its own, with a NUL behind it. */
static inline char *fuzz_text(const uint8_t *data, size_t size)
{
    char *copy = malloc(size + 1);
    if (!copy) abort();
    if (size) memcpy(copy, data, size);
    copy[size] = 0;
    return copy;
}

/* Reads all of it, for the sanitizer's sake. */
static inline unsigned fuzz_touch(const void *bytes, size_t size)
{
    const volatile uint8_t *p = bytes;
    unsigned sum = 0;
    for (size_t i = 0; i < size; i++) sum += p[i];
    return sum;
}

#endif
