/* memory_kinds.c - kinds of memory other than the host's: none can be made.  */
#include "core/report.h"
#include "gasnet.h"
#include "gasnet_mk.h"

int gex_MK_Create(gex_MK_t *kind_p, gex_Client_t client, const gex_MK_Create_args_t *args,
                  gex_Flags_t flags)
{
    (void)kind_p, (void)client, (void)flags;
    if (args && args->gex_class == GEX_MK_CLASS_HOST)
        return gasneti_error(GASNET_ERR_BAD_ARG, __func__,
                             "host memory has a kind, GEX_MK_HOST, and needs no other");
    return gasneti_error(GASNET_ERR_BAD_ARG, __func__,
                         "this library has no memory of class %d (GEX_MK_CLASS_); programs find "
                         "the classes that it has by GASNET_HAVE_MK_CLASS_*",
                         args ? (int)args->gex_class : -1);
}

void gex_MK_Destroy(gex_MK_t kind, gex_Flags_t flags)
{
    (void)flags;
    gasneti_fatal("gex_MK_Destroy is given %p, which gex_MK_Create has not made", (void *)kind);
}
