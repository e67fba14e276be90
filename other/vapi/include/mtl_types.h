/* mtl_types.h - the base types under all VAPI headers: fixed widths, truth values, pointer-size
 * integers.  Usable alone, in C89 and in C++.
 *
 * `bool` is left alone, unlike in the original, which broke <stdbool.h>.
 */
#ifndef H_MTL_TYPES_H
#define H_MTL_TYPES_H

#include <sys/types.h>

#ifdef __cplusplus
extern "C" {
#endif

#ifndef IN
#define IN
#endif
#ifndef OUT
#define OUT
#endif
#ifndef EMPTY
#define EMPTY
#endif
#ifndef MT_API
#define MT_API
#endif

#ifndef FALSE
#define FALSE 0
#endif
#ifndef TRUE
#define TRUE (!FALSE)
#endif
#define IS_FALSE(b) ((b) == FALSE)
#define IS_TRUE(b)  ((b) != FALSE)

/* Any value but 0 is true. */
typedef unsigned char MT_bool;

/* Integers as wide as a pointer. */
typedef unsigned long MT_size_t;
typedef unsigned long MT_virt_addr_t;
typedef unsigned long MT_phys_addr_t;
typedef unsigned long MT_ulong_ptr_t;
typedef long MT_long_ptr_t;

#define MT_BYTE_ALIGN(n) __attribute__((aligned(n)))

#define MT_MELLANOX_IEEE_VENDOR_ID 0x02c9
#define MT_MELLANOX_PCI_VENDOR_ID  0x15B3
#define MT_TOPSPIN_PCI_VENDOR_ID   0x1867

/* For printf; 64-bit values must be cast to unsigned long. */
#define U64_FMT_SPEC      "l"
#define U64_FMT           "0x%016lx"
#define U64_FMT_WIDTH     "%*lu"
#define SIZE_T_FMT        "%lu"
#define SIZE_T_DFMT       "%lu"
#define SIZE_T_XFMT       "0x%lx"
#define VIRT_ADDR_FMT     "0x%016lx"
#define PHYS_ADDR_FMT     "0x%016lx"
#define ULONG_PTR_FMT     "%lu"
#define MT_ULONG_PTR_FMT  "0x%lx"
#define MT_ULONG_PTR_DFMT "%lu"

#ifdef __cplusplus
}
#endif

#endif
