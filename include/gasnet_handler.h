/* gasnet_handler.h - optional macros for handlers that work with 32- and 64-bit pointers.
 *
 * Included by clients after gasnet.h.  The client writes `fn_inner`, with pointer parameters; the
 * *_HANDLER macros define the function to register, fn_32 or fn_64, with parameters token, addr and
 * nbytes (Medium, Long), and a0, a1, ...; a pointer takes one argument or two.
 *
 *     static void set_flag_inner(gasnet_token_t token, int value, void *flag) { ... }
 *     SHORT_HANDLER(set_flag, 2, 3, (token, a0, UNPACK(a1)), (token, a0, UNPACK2(a1, a2)));
 *     enum { _hidx_set_flag = 200 };
 *     gasnet_handlerentry_t table[] = { gasneti_handler_tableentry_with_bits(set_flag) };
 *     SHORT_REQ(2, 3, (dest, gasneti_handleridx(set_flag), value, PACK(flag)));
 *
 * All are macros, because they paste tokens and build argument lists.
 */
#ifndef _INCLUDED_GASNET_HANDLER_H
#define _INCLUDED_GASNET_HANDLER_H
#include "gasnet.h"

/* Storage class of the functions that the macros define and declare. */
#ifndef GASNETI_HANDLER_SCOPE
#define GASNETI_HANDLER_SCOPE extern
#endif
#define GASNETI_HANDLER_FN GASNETI_HANDLER_SCOPE void

/* --- Pointers in arguments: high word first --- */
#define UNPACK(a) ((void *)(uintptr_t)(uint32_t)(a))
#define UNPACK2(hi, lo)                                                                            \
    ((void *)(uintptr_t)((uint64_t)(uint32_t)(hi) << 32 | (uint64_t)(uint32_t)(lo)))
#if PLATFORM_ARCH_64
#define GASNETI_FOR_BITS(for32, for64) for64
#define PACK(ptr)                                                                                  \
    ((gasnet_handlerarg_t)((uint64_t)(uintptr_t)(ptr) >> 32)),                                     \
        ((gasnet_handlerarg_t)(uintptr_t)(ptr))
#else
#define GASNETI_FOR_BITS(for32, for64) for32
#define PACK(ptr)                      ((gasnet_handlerarg_t)(uintptr_t)(ptr))
#endif

/* --- Parameter lists, each with its leading comma --- */
#define ARGS0
#define ARGS1  , gasnet_handlerarg_t a0
#define ARGS2  ARGS1, gasnet_handlerarg_t a1
#define ARGS3  ARGS2, gasnet_handlerarg_t a2
#define ARGS4  ARGS3, gasnet_handlerarg_t a3
#define ARGS5  ARGS4, gasnet_handlerarg_t a4
#define ARGS6  ARGS5, gasnet_handlerarg_t a5
#define ARGS7  ARGS6, gasnet_handlerarg_t a6
#define ARGS8  ARGS7, gasnet_handlerarg_t a7
#define ARGS9  ARGS8, gasnet_handlerarg_t a8
#define ARGS10 ARGS9, gasnet_handlerarg_t a9
#define ARGS11 ARGS10, gasnet_handlerarg_t a10
#define ARGS12 ARGS11, gasnet_handlerarg_t a11
#define ARGS13 ARGS12, gasnet_handlerarg_t a12
#define ARGS14 ARGS13, gasnet_handlerarg_t a13
#define ARGS15 ARGS14, gasnet_handlerarg_t a14
#define ARGS16 ARGS15, gasnet_handlerarg_t a15
#define ARGNAMES0
#define ARGNAMES1  , a0
#define ARGNAMES2  ARGNAMES1, a1
#define ARGNAMES3  ARGNAMES2, a2
#define ARGNAMES4  ARGNAMES3, a3
#define ARGNAMES5  ARGNAMES4, a4
#define ARGNAMES6  ARGNAMES5, a5
#define ARGNAMES7  ARGNAMES6, a6
#define ARGNAMES8  ARGNAMES7, a7
#define ARGNAMES9  ARGNAMES8, a8
#define ARGNAMES10 ARGNAMES9, a9
#define ARGNAMES11 ARGNAMES10, a10
#define ARGNAMES12 ARGNAMES11, a11
#define ARGNAMES13 ARGNAMES12, a12
#define ARGNAMES14 ARGNAMES13, a13
#define ARGNAMES15 ARGNAMES14, a14
#define ARGNAMES16 ARGNAMES15, a15

/* --- Definitions: name_32 or name_64 calls name_inner with the given arguments --- */

/* Follows a function definition, so that a `;` may follow: strict compilers reject a `;` alone.
 */
#if defined(__GNUC__)
#define GASNETI_DEFINITION_END __extension__
#else
#define GASNETI_DEFINITION_END
#endif

#if PLATFORM_ARCH_64
#define SHORT_HANDLER(name, cnt32, cnt64, inner32, inner64)                                        \
    GASNETI_HANDLER_FN name##_64(gasnet_token_t token ARGS##cnt64);                                \
    GASNETI_HANDLER_FN name##_64(gasnet_token_t token ARGS##cnt64)                                 \
    {                                                                                              \
        name##_inner inner64;                                                                      \
    }                                                                                              \
    GASNETI_DEFINITION_END
#define MEDIUM_HANDLER(name, cnt32, cnt64, inner32, inner64)                                       \
    GASNETI_HANDLER_FN name##_64(gasnet_token_t token, void *addr, size_t nbytes ARGS##cnt64);     \
    GASNETI_HANDLER_FN name##_64(gasnet_token_t token, void *addr, size_t nbytes ARGS##cnt64)      \
    {                                                                                              \
        name##_inner inner64;                                                                      \
    }                                                                                              \
    GASNETI_DEFINITION_END
#define SHORT_HANDLER_DECL(name, cnt32, cnt64)                                                     \
    GASNETI_HANDLER_FN name##_64(gasnet_token_t token ARGS##cnt64)
#define MEDIUM_HANDLER_DECL(name, cnt32, cnt64)                                                    \
    GASNETI_HANDLER_FN name##_64(gasnet_token_t token, void *addr, size_t nbytes ARGS##cnt64)
#else
#define SHORT_HANDLER(name, cnt32, cnt64, inner32, inner64)                                        \
    GASNETI_HANDLER_FN name##_32(gasnet_token_t token ARGS##cnt32);                                \
    GASNETI_HANDLER_FN name##_32(gasnet_token_t token ARGS##cnt32)                                 \
    {                                                                                              \
        name##_inner inner32;                                                                      \
    }                                                                                              \
    GASNETI_DEFINITION_END
#define MEDIUM_HANDLER(name, cnt32, cnt64, inner32, inner64)                                       \
    GASNETI_HANDLER_FN name##_32(gasnet_token_t token, void *addr, size_t nbytes ARGS##cnt32);     \
    GASNETI_HANDLER_FN name##_32(gasnet_token_t token, void *addr, size_t nbytes ARGS##cnt32)      \
    {                                                                                              \
        name##_inner inner32;                                                                      \
    }                                                                                              \
    GASNETI_DEFINITION_END
#define SHORT_HANDLER_DECL(name, cnt32, cnt64)                                                     \
    GASNETI_HANDLER_FN name##_32(gasnet_token_t token ARGS##cnt32)
#define MEDIUM_HANDLER_DECL(name, cnt32, cnt64)                                                    \
    GASNETI_HANDLER_FN name##_32(gasnet_token_t token, void *addr, size_t nbytes ARGS##cnt32)
#endif
#define LONG_HANDLER      MEDIUM_HANDLER
#define LONG_HANDLER_DECL MEDIUM_HANDLER_DECL

/* Handlers without pointers are registered under their own name.  */
#define SHORT_HANDLER_NOBITS_DECL(name, cnt) GASNETI_HANDLER_FN name(gasnet_token_t token ARGS##cnt)
#define MEDIUM_HANDLER_NOBITS_DECL(name, cnt)                                                      \
    GASNETI_HANDLER_FN name(gasnet_token_t token, void *addr, size_t nbytes ARGS##cnt)
#define LONG_HANDLER_NOBITS_DECL MEDIUM_HANDLER_NOBITS_DECL

/* --- Calls: the numbered form for the pointer size; args in parentheses --- */
#define SHORT_REQ(cnt32, cnt64, args)                                                              \
    GASNETI_FOR_BITS(gasnet_AMRequestShort##cnt32, gasnet_AMRequestShort##cnt64) args
#define SHORT_REP(cnt32, cnt64, args)                                                              \
    GASNETI_FOR_BITS(gasnet_AMReplyShort##cnt32, gasnet_AMReplyShort##cnt64) args
#define MEDIUM_REQ(cnt32, cnt64, args)                                                             \
    GASNETI_FOR_BITS(gasnet_AMRequestMedium##cnt32, gasnet_AMRequestMedium##cnt64) args
#define MEDIUM_REP(cnt32, cnt64, args)                                                             \
    GASNETI_FOR_BITS(gasnet_AMReplyMedium##cnt32, gasnet_AMReplyMedium##cnt64) args
#define LONG_REQ(cnt32, cnt64, args)                                                               \
    GASNETI_FOR_BITS(gasnet_AMRequestLong##cnt32, gasnet_AMRequestLong##cnt64) args
#define LONG_REP(cnt32, cnt64, args)                                                               \
    GASNETI_FOR_BITS(gasnet_AMReplyLong##cnt32, gasnet_AMReplyLong##cnt64) args
#define LONGASYNC_REQ(cnt32, cnt64, args)                                                          \
    GASNETI_FOR_BITS(gasnet_AMRequestLongAsync##cnt32, gasnet_AMRequestLongAsync##cnt64) args

/* --- Table entries: handler fn has index _hidx_fn --- */
#define gasneti_handleridx(fn) _hidx_##fn
#define gasneti_handler_tableentry_no_bits(fn)                                                     \
    {                                                                                              \
        gasneti_handleridx(fn), (gasneti_handlerfn_t)fn                                            \
    }
#if PLATFORM_ARCH_64
#define gasneti_handler_tableentry_with_bits(fn)                                                   \
    {                                                                                              \
        gasneti_handleridx(fn), (gasneti_handlerfn_t)fn##_64                                       \
    }
#else
#define gasneti_handler_tableentry_with_bits(fn)                                                   \
    {                                                                                              \
        gasneti_handleridx(fn), (gasneti_handlerfn_t)fn##_32                                       \
    }
#endif

#endif
