/* mpi.h - stands for Open MPI's, which has names of gasnet_platform.h unless it finds
 * PLATFORM_COMPILER_FAMILYID, and a macro named like a conduit. */
#ifndef STANDS_FOR_MPI_H
#define STANDS_FOR_MPI_H
#define VAPI 1
#ifndef PLATFORM_COMPILER_FAMILYID
#define PLATFORM_COMPILER_GNU                        1
#define PLATFORM_COMPILER_FAMILYNAME                 GNU
#define PLATFORM_COMPILER_FAMILYID                   1
#define PLATFORM_COMPILER_VERSION                    PLATFORM_COMPILER_VERSION_INT(__GNUC__, __GNUC_MINOR__, 0)
#define PLATFORM_COMPILER_VERSION_STR                "of MPI"
#define PLATFORM_COMPILER_VERSION_INT(maj, min, pat) (((maj) << 16) | ((min) << 8) | (pat))
#ifdef __cplusplus
#define PLATFORM_COMPILER_GNU_CXX 1
#else
#define PLATFORM_COMPILER_GNU_C 1
#endif
#endif
#if PLATFORM_COMPILER_VERSION == 0
#error "the compiler has a version"
#endif
#endif
