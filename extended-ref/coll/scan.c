/* scan.c - the calls of scans, which are not implemented: each is a fatal error that says so.  */
#include "core/report.h"
#include "gasnet.h"

#pragma GCC diagnostic ignored "-Wunused-parameter"

#define SCAN(result, name, destination, source)                                                    \
    result name(gasnet_team_handle_t team, destination, size_t dst_blksz, size_t dst_offset,       \
                source, size_t src_blksz, size_t src_offset, size_t elem_size, size_t elem_count,  \
                gasnet_coll_fn_handle_t func, int func_arg, int flags)                             \
    {                                                                                              \
        gasneti_fatal(#name " is called: scans are not implemented; gasnet_coll_gather_all "       \
                            "followed by a loop does the same");                                   \
    }

SCAN(void, gasnet_coll_scan, void *dst, void *src)
SCAN(gasnet_coll_handle_t, gasnet_coll_scan_nb, void *dst, void *src)
SCAN(void, gasnet_coll_scanM, void *const dstlist[], void *const srclist[])
SCAN(gasnet_coll_handle_t, gasnet_coll_scanM_nb, void *const dstlist[], void *const srclist[])
