/* gasnet_words.h - the words for compile-time settings in the configuration strings and in the link
 * check; GASNETI_ONE_KIND.
 *
 * Private: included by gasnet_basic.h.  gasnet_linkcheck.h and gasnet_tools.h compose symbol names
 * of the words; gasnet.h and gasnet_conduit.h add those of the thread mode, the segment and the
 * conduit.
 */
#if !defined(GASNETI_IN_GASNET_H) && !defined(GASNETI_IN_GASNET_TOOLS_H)
#error "gasnet_words.h is private: include gasnet.h or gasnet_tools.h"
#endif
#ifndef GASNETI_WORDS_H
#define GASNETI_WORDS_H

/* --- Words of the configuration strings and of the link check --- */

/* A client may have macros with the names of these words: -DNDEBUG, -DSEQ, -Dnotrace.  So each word
 * is defined as a literal (..._TEXT), and as an operand of ##, which is not macro-expanded:
 * GASNETI_WORD_...(name) appends it to an identifier.  The bare tokens (..._CONFIG) are for
 * clients.  */
#define GASNETI_RELEASE_TEXT                                                                       \
    GASNETI_TEXT_OF(GASNET_RELEASE_VERSION_MAJOR)                                                  \
    "." GASNETI_TEXT_OF(GASNET_RELEASE_VERSION_MINOR) "." GASNETI_TEXT_OF(                         \
        GASNET_RELEASE_VERSION_PATCH)
#define GASNETI_TEXT_OF(x) GASNETI_STRINGIFY_(x)

#define GASNETI_WORD_RELEASE(name)                                                                 \
    GASNETI_WORD_RELEASE_(name, GASNET_RELEASE_VERSION_MAJOR, GASNET_RELEASE_VERSION_MINOR,        \
                          GASNET_RELEASE_VERSION_PATCH)
#define GASNETI_WORD_RELEASE_(name, major, minor, patch)                                           \
    GASNETI_WORD_RELEASE__(name, major, minor, patch)
#define GASNETI_WORD_RELEASE__(name, major, minor, patch) name##_##major##_##minor##_##patch

/* Expands `name`, then appends a word: GASNETI_WITH(GASNETI_WORD_PTR, name).  */
#define GASNETI_WITH(word, name) word(name)

#if PLATFORM_ARCH_64
#define GASNETI_PTR_CONFIG     64bit
#define GASNETI_PTR_TEXT       "64bit"
#define GASNETI_WORD_PTR(name) name##_64bit
#else
#define GASNETI_PTR_CONFIG     32bit
#define GASNETI_PTR_TEXT       "32bit"
#define GASNETI_WORD_PTR(name) name##_32bit
#endif
/* The bits of a rank, of which libraries with the same release number had 16.  */
#define GASNETI_WORD_RANK(name) name##_rank32
#if GASNET_DEBUG
#define GASNETI_DEBUG_CONFIG     debug
#define GASNETI_DEBUG_TEXT       "debug"
#define GASNETI_WORD_DEBUG(name) name##_DEBUG
#else
#define GASNETI_DEBUG_CONFIG     nodebug
#define GASNETI_DEBUG_TEXT       "nodebug"
#define GASNETI_WORD_DEBUG(name) name##_NDEBUG
#endif
#if GASNET_TRACE
#define GASNETI_TRACE_TEXT       "trace"
#define GASNETI_WORD_TRACE(name) name##_trace
#else
#define GASNETI_TRACE_TEXT       "notrace"
#define GASNETI_WORD_TRACE(name) name##_notrace
#endif
#if GASNET_STATS
#define GASNETI_STATS_TEXT       "stats"
#define GASNETI_WORD_STATS(name) name##_stats
#else
#define GASNETI_STATS_TEXT       "nostats"
#define GASNETI_WORD_STATS(name) name##_nostats
#endif
#if GASNET_DEBUGMALLOC
#define GASNETI_MALLOC_TEXT       "debugmalloc"
#define GASNETI_WORD_MALLOC(name) name##_debugmalloc
#else
#define GASNETI_MALLOC_TEXT       "nodebugmalloc"
#define GASNETI_WORD_MALLOC(name) name##_nodebugmalloc
#endif
#if GASNET_SRCLINES
#define GASNETI_SRCLINES_TEXT       "srclines"
#define GASNETI_WORD_SRCLINES(name) name##_srclines
#else
#define GASNETI_SRCLINES_TEXT       "nosrclines"
#define GASNETI_WORD_SRCLINES(name) name##_nosrclines
#endif

/* There is one implementation of each for all platforms, so these words are constant within a
 * release, and the release number in the link check covers them.  */
#define GASNETI_TIMER_CONFIG    timers_posixrt
#define GASNETI_MEMBAR_CONFIG   membars_native
#define GASNETI_ATOMIC_CONFIG   atomics_compiler
#define GASNETI_ATOMIC32_CONFIG atomic32_compiler
#define GASNETI_ATOMIC64_CONFIG atomic64_compiler
#define GASNETI_TIMING_TEXT     "timers_posixrt,membars_native"
#define GASNETI_ATOMICS_TEXT    "atomics_compiler,atomic32_compiler,atomic64_compiler"

/* --- Objects of two kinds in one program --- */

/* At file scope, followed by ';', in every object of one kind: `symbol` identifies the kind;
 * `group`, an identifier, is common to the kinds that exclude each other.  Each object defines its
 * symbol in a section group with the signature `group`, of which the linker keeps the first.
 * Objects of the same kind share it.  The symbol of an object of another kind is discarded with its
 * group, so the link fails with an error that contains the symbol's name.  This works with any
 * library.  With -flto the assembler gets all objects as one file, without groups for the linker to
 * choose from; there .ifndef has the same effect.  */
/* clang-format off */
#if defined(__GNUC__) && defined(__ELF__) && !defined(__CUDACC__) && !defined(GASNETI_NO_LINKCHECK)
#define GASNETI_ONE_KIND(group, symbol) \
    __asm__(".ifndef .L" GASNETI_TEXT_OF(group) "\n" \
            ".set .L" GASNETI_TEXT_OF(group) ", 1\n" \
            ".pushsection .rodata." GASNETI_TEXT_OF(group) \
                          ", \"aG\", %progbits, " GASNETI_TEXT_OF(group) ", comdat\n" \
            ".globl " GASNETI_TEXT_OF(symbol) "\n" \
            ".hidden " GASNETI_TEXT_OF(symbol) "\n" \
            GASNETI_TEXT_OF(symbol) ": .byte 0\n" \
            ".popsection\n" \
            ".endif\n"); \
    extern const char symbol GASNETI_ATTRIBUTE((__visibility__("hidden"))); \
    static const char *const GASNETI_WITH(GASNETI_WORD_REF, symbol) GASNETI_KEPT = &symbol
#else
#define GASNETI_ONE_KIND(group, symbol) struct gasneti_nothing
#endif
/* clang-format on */

/* Attribute of a variable that the compiler and the linker (--gc-sections) must keep.  */
#if defined(__has_attribute)
#if __has_attribute(__retain__)
#define GASNETI_KEPT GASNETI_ATTRIBUTE((__used__, __retain__))
#endif
#endif
#if !defined(GASNETI_KEPT)
#define GASNETI_KEPT GASNETI_ATTRIBUTE((__used__))
#endif
#define GASNETI_WORD_REF(name) name##_ref

GASNETI_EXPORTS_BEGIN
#if GASNET_DEBUG
GASNETI_ONE_KIND(gasneti_DEBUG_or_NDEBUG, gasneti_GASNET_DEBUG_object_among_GASNET_NDEBUG_objects);
#else
GASNETI_ONE_KIND(gasneti_DEBUG_or_NDEBUG, gasneti_GASNET_NDEBUG_object_among_GASNET_DEBUG_objects);
#endif
GASNETI_EXPORTS_END

#endif
