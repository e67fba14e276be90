/* gasnet_platform.h - PLATFORM_* macros: the compiler, operating system and processor.
 *
 * Included by gasnet.h and gasnet_tools.h, and preprocessed by configure to identify the compiler.
 * It includes nothing and declares nothing.  Every macro is either positive or undefined, so #if
 * and #ifdef agree.
 */
#ifndef GASNETI_PLATFORM_H
#define GASNETI_PLATFORM_H

/* --- Compiler --- */

/* Open MPI's <mpi.h> defines some of these names differently, unless PLATFORM_COMPILER_FAMILYID is
 * defined.  If it was included before this header, its definitions are removed.  */
#undef PLATFORM_COMPILER_GNU
#undef PLATFORM_COMPILER_GNU_C
#undef PLATFORM_COMPILER_GNU_CXX
#undef PLATFORM_COMPILER_UNKNOWN
#undef PLATFORM_COMPILER_FAMILYNAME
#undef PLATFORM_COMPILER_FAMILYID
#undef PLATFORM_COMPILER_VERSION
#undef PLATFORM_COMPILER_VERSION_INT
#undef PLATFORM_COMPILER_VERSION_STR

/* The order matters: most compilers also claim to be GNU, and the LLVM-based ones to be Clang. */
#define PLATFORM_COMPILER_VERSION_INT(maj, min, pat) (((maj) << 16) | ((min) << 8) | (pat))

#if defined(__INTEL_COMPILER)
#define PLATFORM_COMPILER_INTEL      1
#define PLATFORM_COMPILER_FAMILYNAME INTEL
#define PLATFORM_COMPILER_FAMILYID   2
#define PLATFORM_COMPILER_VERSION                                                                  \
    PLATFORM_COMPILER_VERSION_INT(__INTEL_COMPILER / 100, __INTEL_COMPILER % 100 / 10,             \
                                  __INTEL_COMPILER % 10)
#define GASNETI_COMPILER_V __INTEL_COMPILER
#elif defined(__PGI) || defined(__NVCOMPILER)
#define PLATFORM_COMPILER_PGI        1
#define PLATFORM_COMPILER_FAMILYNAME PGI
#define PLATFORM_COMPILER_FAMILYID   3
#if defined(__NVCOMPILER)
#define GASNETI_COMPILER_V1 __NVCOMPILER_MAJOR__
#define GASNETI_COMPILER_V2 __NVCOMPILER_MINOR__
#define GASNETI_COMPILER_V3 __NVCOMPILER_PATCHLEVEL__
#else
#define GASNETI_COMPILER_V1 __PGIC__
#define GASNETI_COMPILER_V2 __PGIC_MINOR__
#define GASNETI_COMPILER_V3 __PGIC_PATCHLEVEL__
#endif
#elif defined(__xlC__) || defined(__ibmxl__)
#define PLATFORM_COMPILER_XLC        1
#define PLATFORM_COMPILER_FAMILYNAME XLC
#define PLATFORM_COMPILER_FAMILYID   4
#if defined(__ibmxl__)
#define GASNETI_COMPILER_V1 __ibmxl_version__
#define GASNETI_COMPILER_V2 __ibmxl_release__
#define GASNETI_COMPILER_V3 __ibmxl_modification__
#else
#define PLATFORM_COMPILER_VERSION PLATFORM_COMPILER_VERSION_INT(__xlC__ >> 8, __xlC__ & 0xff, 0)
#define GASNETI_COMPILER_V        __xlC__
#endif
#elif defined(__SUNPRO_C) || defined(__SUNPRO_CC)
#define PLATFORM_COMPILER_SUN        1
#define PLATFORM_COMPILER_FAMILYNAME SUN
#define PLATFORM_COMPILER_FAMILYID   5
#if defined(__SUNPRO_C)
#define GASNETI_COMPILER_V __SUNPRO_C
#else
#define GASNETI_COMPILER_V __SUNPRO_CC
#endif
#define PLATFORM_COMPILER_VERSION                                                                  \
    PLATFORM_COMPILER_VERSION_INT(GASNETI_COMPILER_V >> 8, (GASNETI_COMPILER_V >> 4) & 0xf,        \
                                  GASNETI_COMPILER_V & 0xf)
#elif defined(__PATHCC__)
#define PLATFORM_COMPILER_PATHSCALE  1
#define PLATFORM_COMPILER_FAMILYNAME PATHSCALE
#define PLATFORM_COMPILER_FAMILYID   6
#define GASNETI_COMPILER_V1          __PATHCC__
#define GASNETI_COMPILER_V2          __PATHCC_MINOR__
#define GASNETI_COMPILER_V3          0
#elif defined(__OPEN64__) || defined(__OPENCC__)
#define PLATFORM_COMPILER_OPEN64     1
#define PLATFORM_COMPILER_FAMILYNAME OPEN64
#define PLATFORM_COMPILER_FAMILYID   7
#define GASNETI_COMPILER_V1          __OPENCC__
#define GASNETI_COMPILER_V2          __OPENCC_MINOR__
#define GASNETI_COMPILER_V3          0
#elif defined(_CRAYC)
#define PLATFORM_COMPILER_CRAY       1
#define PLATFORM_COMPILER_FAMILYNAME CRAY
#define PLATFORM_COMPILER_FAMILYID   8
#define GASNETI_COMPILER_V1          _RELEASE
#define GASNETI_COMPILER_V2          _RELEASE_MINOR
#define GASNETI_COMPILER_V3          0
#elif defined(__TINYC__)
#define PLATFORM_COMPILER_TINY       1
#define PLATFORM_COMPILER_FAMILYNAME TINY
#define PLATFORM_COMPILER_FAMILYID   9
#define PLATFORM_COMPILER_VERSION                                                                  \
    PLATFORM_COMPILER_VERSION_INT(__TINYC__ / 10000, __TINYC__ / 100 % 100, __TINYC__ % 100)
#define GASNETI_COMPILER_V __TINYC__
#elif defined(__clang__)
#define PLATFORM_COMPILER_CLANG      1
#define PLATFORM_COMPILER_FAMILYNAME CLANG
#define PLATFORM_COMPILER_FAMILYID   10
#define GASNETI_COMPILER_V1          __clang_major__
#define GASNETI_COMPILER_V2          __clang_minor__
#define GASNETI_COMPILER_V3          __clang_patchlevel__
#elif defined(__GNUC__)
#define PLATFORM_COMPILER_GNU        1
#define PLATFORM_COMPILER_FAMILYNAME GNU
#define PLATFORM_COMPILER_FAMILYID   1
#define GASNETI_COMPILER_V1          __GNUC__
#define GASNETI_COMPILER_V2          __GNUC_MINOR__
#if defined(__GNUC_PATCHLEVEL__)
#define GASNETI_COMPILER_V3 __GNUC_PATCHLEVEL__
#else
#define GASNETI_COMPILER_V3 0
#endif
#else
#define PLATFORM_COMPILER_UNKNOWN    1
#define PLATFORM_COMPILER_FAMILYNAME UNKNOWN
#define PLATFORM_COMPILER_FAMILYID   9999
#define GASNETI_COMPILER_V1          0
#define GASNETI_COMPILER_V2          0
#define GASNETI_COMPILER_V3          0
#endif

#define GASNETI_PLATFORM_STR_(x) #x
#define GASNETI_PLATFORM_STR(x)  GASNETI_PLATFORM_STR_(x)

#if defined(GASNETI_COMPILER_V1)
#define PLATFORM_COMPILER_VERSION                                                                  \
    PLATFORM_COMPILER_VERSION_INT(GASNETI_COMPILER_V1, GASNETI_COMPILER_V2, GASNETI_COMPILER_V3)
#define PLATFORM_COMPILER_VERSION_STR                                                              \
    GASNETI_PLATFORM_STR(GASNETI_COMPILER_V1)                                                      \
    "." GASNETI_PLATFORM_STR(GASNETI_COMPILER_V2) "." GASNETI_PLATFORM_STR(GASNETI_COMPILER_V3)
#else
#define PLATFORM_COMPILER_VERSION_STR GASNETI_PLATFORM_STR(GASNETI_COMPILER_V)
#endif

/* One macro per family and language; the identity number differs between C and C++. */
#if defined(__cplusplus)
#define PLATFORM_COMPILER_ID (20000 + PLATFORM_COMPILER_FAMILYID)
#define GASNETI_LANGUAGE_STR "C++"
#if PLATFORM_COMPILER_GNU
#define PLATFORM_COMPILER_GNU_CXX 1
#elif PLATFORM_COMPILER_CLANG
#define PLATFORM_COMPILER_CLANG_CXX 1
#elif PLATFORM_COMPILER_INTEL
#define PLATFORM_COMPILER_INTEL_CXX 1
#elif PLATFORM_COMPILER_PGI
#define PLATFORM_COMPILER_PGI_CXX 1
#elif PLATFORM_COMPILER_XLC
#define PLATFORM_COMPILER_XLC_CXX 1
#elif PLATFORM_COMPILER_SUN
#define PLATFORM_COMPILER_SUN_CXX 1
#elif PLATFORM_COMPILER_CRAY
#define PLATFORM_COMPILER_CRAY_CXX 1
#elif PLATFORM_COMPILER_PATHSCALE
#define PLATFORM_COMPILER_PATHSCALE_CXX 1
#elif PLATFORM_COMPILER_OPEN64
#define PLATFORM_COMPILER_OPEN64_CXX 1
#else
#define PLATFORM_COMPILER_UNKNOWN_CXX 1
#endif
#else
#define PLATFORM_COMPILER_ID (10000 + PLATFORM_COMPILER_FAMILYID)
#define GASNETI_LANGUAGE_STR "C"
#if PLATFORM_COMPILER_GNU
#define PLATFORM_COMPILER_GNU_C 1
#elif PLATFORM_COMPILER_CLANG
#define PLATFORM_COMPILER_CLANG_C 1
#elif PLATFORM_COMPILER_INTEL
#define PLATFORM_COMPILER_INTEL_C 1
#elif PLATFORM_COMPILER_PGI
#define PLATFORM_COMPILER_PGI_C 1
#elif PLATFORM_COMPILER_XLC
#define PLATFORM_COMPILER_XLC_C 1
#elif PLATFORM_COMPILER_SUN
#define PLATFORM_COMPILER_SUN_C 1
#elif PLATFORM_COMPILER_CRAY
#define PLATFORM_COMPILER_CRAY_C 1
#elif PLATFORM_COMPILER_PATHSCALE
#define PLATFORM_COMPILER_PATHSCALE_C 1
#elif PLATFORM_COMPILER_OPEN64
#define PLATFORM_COMPILER_OPEN64_C 1
#elif PLATFORM_COMPILER_TINY
#define PLATFORM_COMPILER_TINY_C 1
#else
#define PLATFORM_COMPILER_UNKNOWN_C 1
#endif
#endif

#define PLATFORM_COMPILER_IDSTR                                                                    \
    GASNETI_PLATFORM_STR(PLATFORM_COMPILER_FAMILYNAME)                                             \
    " " GASNETI_LANGUAGE_STR " " PLATFORM_COMPILER_VERSION_STR

#define PLATFORM_COMPILER_VERSION_GT(maj, min, pat)                                                \
    (PLATFORM_COMPILER_VERSION > PLATFORM_COMPILER_VERSION_INT(maj, min, pat))
#define PLATFORM_COMPILER_VERSION_GE(maj, min, pat)                                                \
    (PLATFORM_COMPILER_VERSION >= PLATFORM_COMPILER_VERSION_INT(maj, min, pat))
#define PLATFORM_COMPILER_VERSION_EQ(maj, min, pat)                                                \
    (PLATFORM_COMPILER_VERSION == PLATFORM_COMPILER_VERSION_INT(maj, min, pat))
#define PLATFORM_COMPILER_VERSION_LE(maj, min, pat)                                                \
    (PLATFORM_COMPILER_VERSION <= PLATFORM_COMPILER_VERSION_INT(maj, min, pat))
#define PLATFORM_COMPILER_VERSION_LT(maj, min, pat)                                                \
    (PLATFORM_COMPILER_VERSION < PLATFORM_COMPILER_VERSION_INT(maj, min, pat))

/* --- Operating system --- */
#if defined(__LIBCATAMOUNT__)
#define PLATFORM_OS_CATAMOUNT  1
#define PLATFORM_OS_FAMILYNAME CATAMOUNT
#elif defined(__CRAYXT_COMPUTE_LINUX_TARGET)
#define PLATFORM_OS_CNL        1
#define PLATFORM_OS_FAMILYNAME CNL
#elif defined(__bgq__)
#define PLATFORM_OS_BGQ        1
#define PLATFORM_OS_FAMILYNAME BGQ
#elif defined(__linux__) || defined(__linux)
#define PLATFORM_OS_LINUX      1
#define PLATFORM_OS_FAMILYNAME LINUX
#elif defined(__APPLE__) && defined(__MACH__)
#define PLATFORM_OS_DARWIN     1
#define PLATFORM_OS_FAMILYNAME DARWIN
#elif defined(__FreeBSD__)
#define PLATFORM_OS_FREEBSD    1
#define PLATFORM_OS_FAMILYNAME FREEBSD
#elif defined(__NetBSD__)
#define PLATFORM_OS_NETBSD     1
#define PLATFORM_OS_FAMILYNAME NETBSD
#elif defined(__OpenBSD__)
#define PLATFORM_OS_OPENBSD    1
#define PLATFORM_OS_FAMILYNAME OPENBSD
#elif defined(__sun)
#define PLATFORM_OS_SOLARIS    1
#define PLATFORM_OS_FAMILYNAME SOLARIS
#elif defined(_AIX)
#define PLATFORM_OS_AIX        1
#define PLATFORM_OS_FAMILYNAME AIX
#elif defined(__CYGWIN__)
#define PLATFORM_OS_CYGWIN     1
#define PLATFORM_OS_FAMILYNAME CYGWIN
#else
#define PLATFORM_OS_UNKNOWN    1
#define PLATFORM_OS_FAMILYNAME UNKNOWN
#endif

/* --- Processor --- */
#if defined(__MIC__)
#define PLATFORM_ARCH_MIC        1
#define PLATFORM_ARCH_FAMILYNAME MIC
#elif defined(__x86_64__) || defined(__amd64__)
#define PLATFORM_ARCH_X86_64     1
#define PLATFORM_ARCH_FAMILYNAME X86_64
#elif defined(__i386__) || defined(__i386)
#define PLATFORM_ARCH_X86        1
#define PLATFORM_ARCH_FAMILYNAME X86
#elif defined(__ia64__)
#define PLATFORM_ARCH_IA64       1
#define PLATFORM_ARCH_FAMILYNAME IA64
#elif defined(__aarch64__)
#define PLATFORM_ARCH_AARCH64    1
#define PLATFORM_ARCH_FAMILYNAME AARCH64
#elif defined(__arm__)
#define PLATFORM_ARCH_ARM        1
#define PLATFORM_ARCH_FAMILYNAME ARM
#elif defined(__powerpc__) || defined(__powerpc64__) || defined(_ARCH_PPC)
#define PLATFORM_ARCH_POWERPC    1
#define PLATFORM_ARCH_FAMILYNAME POWERPC
#elif defined(__sparc__) || defined(__sparc)
#define PLATFORM_ARCH_SPARC      1
#define PLATFORM_ARCH_FAMILYNAME SPARC
#elif defined(__mips__)
#define PLATFORM_ARCH_MIPS       1
#define PLATFORM_ARCH_FAMILYNAME MIPS
#elif defined(__alpha__)
#define PLATFORM_ARCH_ALPHA      1
#define PLATFORM_ARCH_FAMILYNAME ALPHA
#elif defined(__riscv)
#define PLATFORM_ARCH_RISCV      1
#define PLATFORM_ARCH_FAMILYNAME RISCV
#elif defined(__s390__)
#define PLATFORM_ARCH_S390       1
#define PLATFORM_ARCH_FAMILYNAME S390
#else
#define PLATFORM_ARCH_UNKNOWN    1
#define PLATFORM_ARCH_FAMILYNAME UNKNOWN
#endif

#if defined(__LP64__) || defined(_LP64) || (defined(__SIZEOF_POINTER__) && __SIZEOF_POINTER__ == 8)
#define PLATFORM_ARCH_64 1
#else
#define PLATFORM_ARCH_32 1
#endif

#if defined(__BYTE_ORDER__) && defined(__ORDER_BIG_ENDIAN__)
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
#define PLATFORM_ARCH_BIG_ENDIAN 1
#endif
#elif defined(__BIG_ENDIAN__) || defined(_BIG_ENDIAN)
#define PLATFORM_ARCH_BIG_ENDIAN 1
#endif
#if !defined(PLATFORM_ARCH_BIG_ENDIAN)
#define PLATFORM_ARCH_LITTLE_ENDIAN 1
#endif

#endif
