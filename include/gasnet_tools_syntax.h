/* gasnet_tools_syntax.h - GASNETT_ names for compiler attributes and C/C++ differences.
 *
 * Private part of gasnet_tools.h.  A client may disable or enable an attribute by defining its
 * GASNETT_USE_ macro as 0 or 1 before including the header.
 */
#ifndef GASNETI_IN_GASNET_TOOLS_H
#error "gasnet_tools_syntax.h is private: include gasnet_tools.h"
#endif
#ifndef GASNETI_TOOLS_SYNTAX_H
#define GASNETI_TOOLS_SYNTAX_H

/* --- Available attributes --- */
#if defined(__GNUC__)
#define GASNETI_HAVE_ATTRIBUTES 1
#else
#define GASNETI_HAVE_ATTRIBUTES 0
#endif
#ifndef GASNETT_USE_GCC_ATTRIBUTE_ALWAYSINLINE
#define GASNETT_USE_GCC_ATTRIBUTE_ALWAYSINLINE GASNETI_HAVE_ATTRIBUTES
#endif
#ifndef GASNETT_USE_GCC_ATTRIBUTE_NOINLINE
#define GASNETT_USE_GCC_ATTRIBUTE_NOINLINE GASNETI_HAVE_ATTRIBUTES
#endif
#ifndef GASNETT_USE_GCC_ATTRIBUTE_MALLOC
#define GASNETT_USE_GCC_ATTRIBUTE_MALLOC GASNETI_HAVE_ATTRIBUTES
#endif
#ifndef GASNETT_USE_GCC_ATTRIBUTE_WARNUNUSEDRESULT
#define GASNETT_USE_GCC_ATTRIBUTE_WARNUNUSEDRESULT GASNETI_HAVE_ATTRIBUTES
#endif
#ifndef GASNETT_USE_GCC_ATTRIBUTE_USED
#define GASNETT_USE_GCC_ATTRIBUTE_USED GASNETI_HAVE_ATTRIBUTES
#endif
#ifndef GASNETT_USE_GCC_ATTRIBUTE_UNUSED
#define GASNETT_USE_GCC_ATTRIBUTE_UNUSED GASNETI_HAVE_ATTRIBUTES
#endif
#ifndef GASNETT_USE_GCC_ATTRIBUTE_MAYALIAS
#define GASNETT_USE_GCC_ATTRIBUTE_MAYALIAS GASNETI_HAVE_ATTRIBUTES
#endif
#ifndef GASNETT_USE_GCC_ATTRIBUTE_NORETURN
#define GASNETT_USE_GCC_ATTRIBUTE_NORETURN GASNETI_HAVE_ATTRIBUTES
#endif
#ifndef GASNETT_USE_GCC_ATTRIBUTE_PURE
#define GASNETT_USE_GCC_ATTRIBUTE_PURE GASNETI_HAVE_ATTRIBUTES
#endif
#ifndef GASNETT_USE_GCC_ATTRIBUTE_CONST
#define GASNETT_USE_GCC_ATTRIBUTE_CONST GASNETI_HAVE_ATTRIBUTES
#endif
#ifndef GASNETT_USE_GCC_ATTRIBUTE_HOT
#define GASNETT_USE_GCC_ATTRIBUTE_HOT GASNETI_HAVE_ATTRIBUTES
#endif
#ifndef GASNETT_USE_GCC_ATTRIBUTE_COLD
#define GASNETT_USE_GCC_ATTRIBUTE_COLD GASNETI_HAVE_ATTRIBUTES
#endif
#ifndef GASNETT_USE_GCC_ATTRIBUTE_DEPRECATED
#define GASNETT_USE_GCC_ATTRIBUTE_DEPRECATED GASNETI_HAVE_ATTRIBUTES
#endif
#ifndef GASNETT_USE_GCC_ATTRIBUTE_FORMAT
#define GASNETT_USE_GCC_ATTRIBUTE_FORMAT GASNETI_HAVE_ATTRIBUTES
#endif
#ifndef GASNETT_USE_GCC_ATTRIBUTE_FORMAT_FUNCPTR
#define GASNETT_USE_GCC_ATTRIBUTE_FORMAT_FUNCPTR GASNETI_HAVE_ATTRIBUTES
#endif
#ifndef GASNETT_USE_GCC_ATTRIBUTE_FORMAT_FUNCPTR_ARG
#define GASNETT_USE_GCC_ATTRIBUTE_FORMAT_FUNCPTR_ARG GASNETI_HAVE_ATTRIBUTES
#endif

/* --- Functions --- */

/* Prefixes of a function definition; each implies static.  Debug builds do not force inlining.  */
#if GASNET_DEBUG
#define GASNETT_INLINE(fn)        static GASNETT_UNUSED
#define GASNETT_ALWAYS_INLINE(fn) static GASNETT_UNUSED
#define GASNETI_PLEASE_INLINE(fn) static GASNETT_UNUSED
#else
#define GASNETT_INLINE(fn) static GASNETI_INLINE_KEYWORD GASNETT_UNUSED
#if GASNETT_USE_GCC_ATTRIBUTE_ALWAYSINLINE
#define GASNETT_ALWAYS_INLINE(fn)                                                                  \
    static GASNETI_INLINE_KEYWORD __attribute__((__always_inline__, __unused__))
#else
#define GASNETT_ALWAYS_INLINE(fn) static GASNETI_INLINE_KEYWORD GASNETT_UNUSED
#endif
#define GASNETI_PLEASE_INLINE(fn) static GASNETI_INLINE_KEYWORD GASNETT_UNUSED
#endif
#ifdef GASNETT_USE_PLEASE_INLINE
#define GASNETT_PLEASE_INLINE(fn) GASNETT_USE_PLEASE_INLINE(fn)
#else
#define GASNETT_PLEASE_INLINE(fn) GASNETI_PLEASE_INLINE(fn)
#endif

/* Encloses a definition's declarator: GASNETT_NEVER_INLINE(f, static void f(int x)) { ... } */
#if GASNETT_USE_GCC_ATTRIBUTE_NOINLINE
#define GASNETT_NEVER_INLINE(fn, declarator) __attribute__((__noinline__)) declarator
#else
#define GASNETT_NEVER_INLINE(fn, declarator) declarator
#endif

/* Encloses a declarator: the compiler checks calls of fn like those of printf.  */
#if GASNETT_USE_GCC_ATTRIBUTE_FORMAT
#define GASNETT_FORMAT_PRINTF(fn, fmtarg, firstvararg, declarator)                                 \
    __attribute__((__format__(__printf__, fmtarg, firstvararg))) declarator
#else
#define GASNETT_FORMAT_PRINTF(fn, fmtarg, firstvararg, declarator) declarator
#endif
#if GASNETT_USE_GCC_ATTRIBUTE_FORMAT_FUNCPTR
#define GASNETT_FORMAT_PRINTF_FUNCPTR(fn, fmtarg, firstvararg, declarator)                         \
    declarator __attribute__((__format__(__printf__, fmtarg, firstvararg)))
#else
#define GASNETT_FORMAT_PRINTF_FUNCPTR(fn, fmtarg, firstvararg, declarator) declarator
#endif
#if GASNETT_USE_GCC_ATTRIBUTE_FORMAT_FUNCPTR_ARG
#define GASNETT_FORMAT_PRINTF_FUNCPTR_ARG(fn, fmtarg, firstvararg, declarator)                     \
    declarator __attribute__((__format__(__printf__, fmtarg, firstvararg)))
#else
#define GASNETT_FORMAT_PRINTF_FUNCPTR_ARG(fn, fmtarg, firstvararg, declarator) declarator
#endif

/* Prefixes, and their equivalents after the declaration for compilers that use a pragma.  */
#if GASNETT_USE_GCC_ATTRIBUTE_NORETURN
#define GASNETT_NORETURN __attribute__((__noreturn__))
#else
#define GASNETT_NORETURN
#endif
#define GASNETT_NORETURNP(fn)
#if GASNETT_USE_GCC_ATTRIBUTE_MALLOC
#define GASNETT_MALLOC __attribute__((__malloc__))
#else
#define GASNETT_MALLOC
#endif
#define GASNETT_MALLOCP(fn)
#if GASNETT_USE_GCC_ATTRIBUTE_PURE
#define GASNETT_PURE __attribute__((__pure__))
#else
#define GASNETT_PURE
#endif
#define GASNETT_PUREP(fn)
#if GASNETT_USE_GCC_ATTRIBUTE_CONST
#define GASNETT_CONST __attribute__((__const__))
#else
#define GASNETT_CONST
#endif
#define GASNETT_CONSTP(fn)
#if GASNETT_USE_GCC_ATTRIBUTE_USED
#define GASNETT_USED __attribute__((__used__))
#else
#define GASNETT_USED
#endif
#if GASNETT_USE_GCC_ATTRIBUTE_UNUSED
#define GASNETT_UNUSED __attribute__((__unused__))
#else
#define GASNETT_UNUSED
#endif
#if GASNETT_USE_GCC_ATTRIBUTE_HOT
#define GASNETT_HOT __attribute__((__hot__))
#else
#define GASNETT_HOT
#endif
#if GASNETT_USE_GCC_ATTRIBUTE_COLD
#define GASNETT_COLD __attribute__((__cold__))
#else
#define GASNETT_COLD
#endif
#if GASNETT_USE_GCC_ATTRIBUTE_DEPRECATED
#define GASNETT_DEPRECATED __attribute__((__deprecated__))
#else
#define GASNETT_DEPRECATED
#endif
#if GASNETT_USE_GCC_ATTRIBUTE_WARNUNUSEDRESULT
#define GASNETT_WARN_UNUSED_RESULT __attribute__((__warn_unused_result__))
#else
#define GASNETT_WARN_UNUSED_RESULT
#endif
#if GASNETT_USE_GCC_ATTRIBUTE_MAYALIAS
#define GASNETI_MAYALIAS __attribute__((__may_alias__))
#else
#define GASNETI_MAYALIAS
#endif

/* --- Expressions --- */

/* The value of e (an integer or pointer), with a branch-prediction hint.  */
#if defined(__GNUC__)
#define GASNETT_PREDICT_TRUE(e)  __builtin_expect((uintptr_t)(e), 1)
#define GASNETT_PREDICT_FALSE(e) __builtin_expect((uintptr_t)(e), 0)
#define gasnett_constant_p(e)    __builtin_constant_p(e)
#else
#define GASNETT_PREDICT_TRUE(e)  (e)
#define GASNETT_PREDICT_FALSE(e) (e)
#define gasnett_constant_p(e)    0
#endif

#if defined(__GNUC__)
#define GASNETT_CURRENT_FUNCTION (__extension__ __func__)
#elif defined(__cplusplus) || (defined(__STDC_VERSION__) && __STDC_VERSION__ >= 199901L)
#define GASNETT_CURRENT_FUNCTION __func__
#else
#define GASNETT_CURRENT_FUNCTION ""
#endif

/* --- Declarations --- */

#if defined(GASNETT_USE_RESTRICT)
#define GASNETT_RESTRICT GASNETT_USE_RESTRICT
#elif defined(__GNUC__)
#define GASNETT_RESTRICT __restrict__
#elif !defined(__cplusplus) && defined(__STDC_VERSION__) && __STDC_VERSION__ >= 199901L
#define GASNETT_RESTRICT restrict
#else
#define GASNETT_RESTRICT
#endif

#ifdef __cplusplus
#define GASNETT_BEGIN_EXTERNC    extern "C" {
#define GASNETT_END_EXTERNC      }
#define GASNETT_EXTERNC          extern "C"
#define GASNETT_TENTATIVE_EXTERN extern "C"
#else
#define GASNETT_BEGIN_EXTERNC
#define GASNETT_END_EXTERNC
#define GASNETT_EXTERNC
#define GASNETT_TENTATIVE_EXTERN
#endif

/* At file scope, followed by ';': embeds a string literal that strings(1) finds in the executable.
 */
#if defined(__GNUC__)
#define GASNETT_IDENT(id, text) static const char id[] __attribute__((__used__)) = text
#else
#define GASNETT_IDENT(id, text) const char id[] = text
#endif

/* --- System properties --- */

#define GASNETT_PAGESIZE         GASNETI_PAGESIZE
#define GASNETT_PAGESHIFT        GASNETI_PAGESHIFT
#define GASNETT_CACHE_LINE_BYTES GASNETI_CACHE_LINE_BYTES
#define GASNETT_SYSTEM_TUPLE     GASNETI_SYSTEM_TUPLE
#define GASNETT_CONFIGURE_ARGS   GASNETI_CONFIGURE_ARGS

/* The compiler that built the library, and whether the one in use differs. */
#define GASNETT_PLATFORM_COMPILER_IDSTR    GASNETI_CC_IDSTR
#define GASNETT_PLATFORM_COMPILER_FAMILYID GASNETI_CC_FAMILYID
#define GASNETT_PLATFORM_COMPILER_ID       GASNETI_CC_ID
#define GASNETT_PLATFORM_COMPILER_VERSION  GASNETI_CC_VERSION
#if PLATFORM_COMPILER_FAMILYID == GASNETI_CC_FAMILYID &&                                           \
    PLATFORM_COMPILER_VERSION == GASNETI_CC_VERSION
#define GASNETT_CONFIGURE_MISMATCH 0
#else
#define GASNETT_CONFIGURE_MISMATCH 1
#endif

#endif
