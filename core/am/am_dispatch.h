/* am_dispatch.h - runs a handler with exactly the arguments it was sent. */
#pragma once

#include <stddef.h>
#include <stdint.h>

typedef void (*gasnetc_handler_fn)(void);

/* The types of n arguments, the arguments a[0] to a[n-1], and CASE for each n. */
/* clang-format off */
#define GASNETC_TYPES_0
#define GASNETC_TYPES_1 GASNETC_TYPES_0, int32_t
#define GASNETC_TYPES_2 GASNETC_TYPES_1, int32_t
#define GASNETC_TYPES_3 GASNETC_TYPES_2, int32_t
#define GASNETC_TYPES_4 GASNETC_TYPES_3, int32_t
#define GASNETC_TYPES_5 GASNETC_TYPES_4, int32_t
#define GASNETC_TYPES_6 GASNETC_TYPES_5, int32_t
#define GASNETC_TYPES_7 GASNETC_TYPES_6, int32_t
#define GASNETC_TYPES_8 GASNETC_TYPES_7, int32_t
#define GASNETC_TYPES_9 GASNETC_TYPES_8, int32_t
#define GASNETC_TYPES_10 GASNETC_TYPES_9, int32_t
#define GASNETC_TYPES_11 GASNETC_TYPES_10, int32_t
#define GASNETC_TYPES_12 GASNETC_TYPES_11, int32_t
#define GASNETC_TYPES_13 GASNETC_TYPES_12, int32_t
#define GASNETC_TYPES_14 GASNETC_TYPES_13, int32_t
#define GASNETC_TYPES_15 GASNETC_TYPES_14, int32_t
#define GASNETC_TYPES_16 GASNETC_TYPES_15, int32_t
#define GASNETC_ARGS_0
#define GASNETC_ARGS_1 GASNETC_ARGS_0, a[0]
#define GASNETC_ARGS_2 GASNETC_ARGS_1, a[1]
#define GASNETC_ARGS_3 GASNETC_ARGS_2, a[2]
#define GASNETC_ARGS_4 GASNETC_ARGS_3, a[3]
#define GASNETC_ARGS_5 GASNETC_ARGS_4, a[4]
#define GASNETC_ARGS_6 GASNETC_ARGS_5, a[5]
#define GASNETC_ARGS_7 GASNETC_ARGS_6, a[6]
#define GASNETC_ARGS_8 GASNETC_ARGS_7, a[7]
#define GASNETC_ARGS_9 GASNETC_ARGS_8, a[8]
#define GASNETC_ARGS_10 GASNETC_ARGS_9, a[9]
#define GASNETC_ARGS_11 GASNETC_ARGS_10, a[10]
#define GASNETC_ARGS_12 GASNETC_ARGS_11, a[11]
#define GASNETC_ARGS_13 GASNETC_ARGS_12, a[12]
#define GASNETC_ARGS_14 GASNETC_ARGS_13, a[13]
#define GASNETC_ARGS_15 GASNETC_ARGS_14, a[14]
#define GASNETC_ARGS_16 GASNETC_ARGS_15, a[15]
#define GASNETC_EACH_COUNT(CASE) \
    CASE(0) CASE(1) CASE(2) CASE(3) CASE(4) CASE(5) CASE(6) CASE(7) CASE(8) \
    CASE(9) CASE(10) CASE(11) CASE(12) CASE(13) CASE(14) CASE(15) CASE(16)

static inline void gasnetc_run_short(gasnetc_handler_fn f, void *token, unsigned n,
                                     const int32_t *a)
{
#define CASE(m) case m: ((void (*)(void * GASNETC_TYPES_##m))f)(token GASNETC_ARGS_##m); break;
    switch (n) { GASNETC_EACH_COUNT(CASE) }
#undef CASE
}

static inline void gasnetc_run_payload(gasnetc_handler_fn f, void *token, void *buf, size_t nbytes,
                                       unsigned n, const int32_t *a)
{
#define CASE(m) \
    case m: \
        ((void (*)(void *, void *, size_t GASNETC_TYPES_##m))f)(token, buf, nbytes GASNETC_ARGS_##m); \
        break;
    switch (n) { GASNETC_EACH_COUNT(CASE) }
#undef CASE
}
/* clang-format on */
