/* combine.c - the functions of combine.h, which check how the library calls them.
 *
 * Three are not commutative: they tell a wrong order of images from the right one.  Those that are
 * not AMSAFE must run on a client's thread, which here means on an image.
 */
#include "tests/coll/combine.h"

#include "tests/coll/images.h"

typedef void operator_t(void *result, const void *left, const void *right, size_t elem_size);

static void sum(void *result, const void *left, const void *right, size_t elem_size)
{
    if (elem_size == 4) {
        *(uint32_t *)result = *(const uint32_t *)left + *(const uint32_t *)right;
    } else {
        *(uint64_t *)result = *(const uint64_t *)left + *(const uint64_t *)right;
    }
}

/* The product of two matrices of 2 x 2.  */
static void product(void *result, const void *left, const void *right, size_t elem_size)
{
    const uint32_t *a = left, *b = right;
    uint32_t c[4] = {a[0] * b[0] + a[1] * b[2], a[0] * b[1] + a[1] * b[3],
                     a[2] * b[0] + a[3] * b[2], a[2] * b[1] + a[3] * b[3]};
    memcpy(result, c, elem_size);
}

/* A string's hash and a power for its length; the hash of two strings joined.  */
static void join(void *result, const void *left, const void *right, size_t elem_size)
{
    const uint64_t *a = left, *b = right;
    uint64_t c[2] = {a[0] * b[1] + b[0], a[1] * b[1]};
    memcpy(result, c, elem_size);
}

/* Elements of 3 bytes: the left one.  */
static void leftmost(void *result, const void *left, const void *right, size_t elem_size)
{
    (void)right;
    memmove(result, left, elem_size);
}

static const struct {
    operator_t *apply;
    size_t sizes[2], alignment;
} functions[COMBINE_FUNCTIONS] = {
    {sum, {4, 8}, 4},       {sum, {4, 8}, 4},    {product, {16, 16}, 4},
    {product, {16, 16}, 4}, {join, {16, 16}, 8}, {leftmost, {3, 3}, 1},
};

static void called(int function, void *result, size_t result_count, const void *left,
                   size_t left_count, const void *right, size_t elem_size, int flags, int arg)
{
    const size_t alignment =
        functions[function].alignment == 4 && elem_size == 8 ? 8 : functions[function].alignment;
    test_check(result_count == left_count, "%zu results of %zu", result_count, left_count);
    test_check(elem_size == functions[function].sizes[0] ||
                   elem_size == functions[function].sizes[1],
               "function %d: elements of %zu bytes", function, elem_size);
    test_check(arg == combine_arg(function, elem_size), "function %d: argument %d", function, arg);
    test_check((unsigned)flags == combine_table[function].flags, "function %d: flags %d", function,
               flags);
    test_check((((uintptr_t)result | (uintptr_t)left | (uintptr_t)right) & (alignment - 1)) == 0,
               "function %d: operands at %p, %p, %p", function, result, left, right);
    test_check((combine_table[function].flags & GASNET_COLL_AMSAFE) || image_me >= 0,
               "function %d runs on a thread of the library", function);
    for (size_t i = 0; i < result_count; i++)
        functions[function].apply((char *)result + i * elem_size,
                                  (const char *)left + i * elem_size,
                                  (const char *)right + i * elem_size, elem_size);
}

#define FUNCTION(number)                                                                           \
    static void function##number(void *result, size_t result_count, const void *left,              \
                                 size_t left_count, const void *right, size_t elem_size,           \
                                 int flags, int arg)                                               \
    {                                                                                              \
        called(number, result, result_count, left, left_count, right, elem_size, flags, arg);      \
    }
FUNCTION(0)
FUNCTION(1)
FUNCTION(2)
FUNCTION(3)
FUNCTION(4)
FUNCTION(5)

gasnet_coll_fn_entry_t combine_table[COMBINE_FUNCTIONS] = {
    {function0, 0},
    {function1, GASNET_COLL_AMSAFE},
    {function2, GASNET_COLL_NONCOMM},
    {function3, GASNET_COLL_NONCOMM | GASNET_COLL_AMSAFE},
    {function4, GASNET_COLL_NONCOMM},
    {function5, GASNET_COLL_NONCOMM | GASNET_COLL_AMSAFE},
};

size_t combine_elem_size(int function, uint64_t choice)
{
    return functions[function].sizes[choice % 2];
}

int combine_arg(int function, size_t elem_size)
{
    return function == 0 ? 0 : function << 16 | (int)elem_size;
}

void combine_into(int function, void *result, const void *right, size_t count, size_t elem_size)
{
    for (size_t i = 0; i < count; i++) {
        char *r = (char *)result + i * elem_size;
        functions[function].apply(r, r, (const char *)right + i * elem_size, elem_size);
    }
}
