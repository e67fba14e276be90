/* gasnet_mk.h - GASNet-EX: kinds of memory.
 *
 * There is host memory alone, which is GEX_MK_HOST and need not be made.  Memory of devices needs
 * hardware and its libraries: no GASNET_HAVE_MK_CLASS_* is defined, and gex_MK_Create refuses.
 */
#ifndef _INCLUDED_GASNET_MK_H
#define _INCLUDED_GASNET_MK_H

#include "gasnetex.h"

GASNETI_EXPORTS_BEGIN

/* Whose memory a kind is. */
typedef enum {
    GEX_MK_CLASS_HOST,
    GEX_MK_CLASS_CUDA_UVA,
    GEX_MK_CLASS_HIP,
    GEX_MK_CLASS_ZE
} gex_MK_Class_t;

/* A device, for gex_MK_Create; clients zero it first. */
typedef struct {
    uint64_t gex_flags; /* 0 */
    gex_MK_Class_t gex_class;
    union {
        struct {
            int gex_CUdevice;
        } gex_class_cuda_uva;
        struct {
            int gex_hipDevice;
        } gex_class_hip;
        struct {
            void *gex_zeDevice;
            void *gex_zeContext;
            uint32_t gex_zeMemoryOrdinal;
        } gex_class_ze;
    } gex_args;
} gex_MK_Create_args_t;

/* Makes the kind of a device's memory.  Returns GASNET_ERR_BAD_ARG, and leaves *kind_p as it is:
 * the library has no such class, and host memory has a kind.  flags: 0. */
extern int gex_MK_Create(gex_MK_t *kind_p, gex_Client_t client, const gex_MK_Create_args_t *args,
                         gex_Flags_t flags);
/* Ends a kind that gex_MK_Create has made; fatal for any other.  flags: 0. */
extern void gex_MK_Destroy(gex_MK_t kind, gex_Flags_t flags);

GASNETI_EXPORTS_END
#endif
