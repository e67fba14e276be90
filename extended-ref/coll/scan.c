/* scan.c - the calls of scans, which are not implemented: each is a fatal error that says so.  */
#include "core/report.h"
#include "gasnet.h"

#pragma GCC diagnostic ignored "-Wunused-parameter"

static void __attribute__((noreturn, cold)) no_scan(const char *name)
{
    gasneti_fatal("%s is called: scans are not implemented; gasnet_coll_gather_all followed by a "
                  "loop does the same",
                  name);
}

void gasnet_coll_scan(gasnet_team_handle_t team, void *dst, size_t dst_blksz, size_t dst_offset,
                      void *src, size_t src_blksz, size_t src_offset, size_t elem_size,
                      size_t elem_count, gasnet_coll_fn_handle_t func, int func_arg, int flags)
{
    no_scan("gasnet_coll_scan");
}

gasnet_coll_handle_t gasnet_coll_scan_nb(gasnet_team_handle_t team, void *dst, size_t dst_blksz,
                                         size_t dst_offset, void *src, size_t src_blksz,
                                         size_t src_offset, size_t elem_size, size_t elem_count,
                                         gasnet_coll_fn_handle_t func, int func_arg, int flags)
{
    no_scan("gasnet_coll_scan_nb");
}

void gasnet_coll_scanM(gasnet_team_handle_t team, void *const dstlist[], size_t dst_blksz,
                       size_t dst_offset, void *const srclist[], size_t src_blksz,
                       size_t src_offset, size_t elem_size, size_t elem_count,
                       gasnet_coll_fn_handle_t func, int func_arg, int flags)
{
    no_scan("gasnet_coll_scanM");
}

gasnet_coll_handle_t gasnet_coll_scanM_nb(gasnet_team_handle_t team, void *const dstlist[],
                                          size_t dst_blksz, size_t dst_offset,
                                          void *const srclist[], size_t src_blksz,
                                          size_t src_offset, size_t elem_size, size_t elem_count,
                                          gasnet_coll_fn_handle_t func, int func_arg, int flags)
{
    no_scan("gasnet_coll_scanM_nb");
}
