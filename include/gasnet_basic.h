/* gasnet_basic.h - the common base of gasnet.h and gasnet_tools.h: configuration, system headers,
 * build mode, compiler attributes, and a few unprefixed names that clients use.
 *
 * Private: included by the two public headers only.  Must compile without warnings in C89 .. C23
 * and C++98 .. C++20, and must not include a network's header.
 */
#if !defined(GASNETI_IN_GASNET_H) && !defined(GASNETI_IN_GASNET_TOOLS_H)
#error "gasnet_basic.h is private: include gasnet.h or gasnet_tools.h"
#endif
#ifndef GASNETI_BASIC_H
#define GASNETI_BASIC_H

/* A client compiled with -std=cXX that selects no POSIX level gets the default level, which
 * pthread.h needs.  Effective because clients include the public headers first.  */
#if defined(__STRICT_ANSI__) && !defined(_DEFAULT_SOURCE) && !defined(_GNU_SOURCE) &&              \
    !defined(_POSIX_C_SOURCE) && !defined(_POSIX_SOURCE) && !defined(_XOPEN_SOURCE)
#define _DEFAULT_SOURCE 1
#endif

#include "gasnet_config.h"
#include "gasnet_platform.h"

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <errno.h>
#include <limits.h>
#include <unistd.h>

/* --- Build mode: set by the build fragment; the default is that of the library --- */
#if defined(GASNET_DEBUG) && defined(GASNET_NDEBUG)
#error "both GASNET_DEBUG and GASNET_NDEBUG: compile with the flags of one build fragment"
#elif defined(GASNET_DEBUG)
#undef GASNET_DEBUG
#define GASNET_DEBUG 1
#if !defined(GASNETI_BUILD_MODE_UNSAID) && (defined(__OPTIMIZE__) || defined(NDEBUG))
#error "GASNET_DEBUG together with optimisation or NDEBUG: compile with -g, without -O"
#endif
#else
#undef GASNET_NDEBUG
#define GASNET_NDEBUG 1
#endif

#ifdef GASNET_TRACE
#undef GASNET_TRACE
#define GASNET_TRACE 1
#ifndef GASNET_SRCLINES
#define GASNET_SRCLINES 1
#endif
#endif
#ifdef GASNET_STATS
#undef GASNET_STATS
#define GASNET_STATS 1
#endif
#ifdef GASNET_DEBUGMALLOC
#undef GASNET_DEBUGMALLOC
#define GASNET_DEBUGMALLOC 1
#endif
#ifdef GASNET_SRCLINES
#undef GASNET_SRCLINES
#define GASNET_SRCLINES 1
#endif

/* --- Unprefixed names that clients use --- */
#define GASNETI_STRINGIFY_(x) #x
#define GASNETI_CONCAT_(a, b) a##b
#ifndef _STRINGIFY
#define _STRINGIFY(x) GASNETI_STRINGIFY_(x)
#endif
#ifndef _CONCAT
#define _CONCAT(a, b) GASNETI_CONCAT_(a, b)
#endif

/* MIN and MAX have the same tokens as in <sys/param.h>, so that including that header later
 * redefines nothing.  */
/* clang-format off */
#ifndef MIN
#define MIN(a,b) (((a)<(b))?(a):(b))
#endif
#ifndef MAX
#define MAX(a,b) (((a)>(b))?(a):(b))
#endif
/* clang-format on */

#ifndef PATH_MAX
#define PATH_MAX 4096
#endif
#ifndef STDIN_FILENO
#define STDIN_FILENO 0
#endif
#ifndef STDOUT_FILENO
#define STDOUT_FILENO 1
#endif
#ifndef STDERR_FILENO
#define STDERR_FILENO 2
#endif

/* --- Compiler facilities --- */
#if defined(__GNUC__)
#define GASNETI_ATTRIBUTE(list) __attribute__(list)
#define GASNETI_EXPECT(e, v)    __builtin_expect((e), (v))
#define GASNETI_INLINE_KEYWORD  __inline__
#else
#define GASNETI_ATTRIBUTE(list)
#define GASNETI_EXPECT(e, v)   (e)
#define GASNETI_INLINE_KEYWORD inline
#endif

/* Prefix of each inline function of these headers: one copy per object, no warning if unused.  */
#define GASNETI_INLINE static GASNETI_INLINE_KEYWORD GASNETI_ATTRIBUTE((__unused__))
#define GASNETI_UNUSED GASNETI_ATTRIBUTE((__unused__)) /* some clients use it too */

#define if_pf(cond) if (GASNETI_EXPECT(!!(cond), 0))
#define if_pt(cond) if (GASNETI_EXPECT(!!(cond), 1))

#ifdef __cplusplus
#define GASNETI_EXTERN_C_BEGIN extern "C" {
#define GASNETI_EXTERN_C_END   }
#else
#define GASNETI_EXTERN_C_BEGIN
#define GASNETI_EXTERN_C_END
#endif

/* Enclose the declarations of every header: C linkage and default visibility; the library is
 * otherwise built with hidden visibility.  */
#if defined(__GNUC__)
#define GASNETI_EXPORTS_BEGIN GASNETI_EXTERN_C_BEGIN _Pragma("GCC visibility push(default)")
#define GASNETI_EXPORTS_END   _Pragma("GCC visibility pop") GASNETI_EXTERN_C_END
#else
#define GASNETI_EXPORTS_BEGIN GASNETI_EXTERN_C_BEGIN
#define GASNETI_EXPORTS_END   GASNETI_EXTERN_C_END
#endif

#if PLATFORM_ARCH_POWERPC || PLATFORM_ARCH_S390
#define GASNETI_CACHE_LINE_BYTES 128
#else
#define GASNETI_CACHE_LINE_BYTES 64
#endif

#include "gasnet_words.h"
#include "gasnet_more.h"

#endif
