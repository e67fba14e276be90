/*
 * p30.h - the header name of Portals 3.0 to 3.2: the 3.3 interface, and the names that 3.3
 * changed.  Changed member names (eventq, mem_desc, portal) must be edited in the program.
 */
#ifndef P30_H
#define P30_H

#include <portals3.h>
#include <portals3_ext.h>

#define PTL_NOINIT       PTL_NO_INIT
#define PTL_NOSPACE      PTL_NO_SPACE
#define PTL_INUSE        PTL_ME_IN_USE
#define PTL_MD_INUSE     PTL_MD_IN_USE
#define PTL_ILL_MD       PTL_MD_ILLEGAL
#define PTL_INV_MD       PTL_MD_INVALID
#define PTL_INV_ME       PTL_ME_INVALID
#define PTL_INV_EQ       PTL_EQ_INVALID
#define PTL_INV_NI       PTL_NI_INVALID
#define PTL_INV_HANDLE   PTL_HANDLE_INVALID
#define PTL_INV_PROC     PTL_PROCESS_INVALID
#define PTL_INV_PTINDEX  PTL_PT_INDEX_INVALID
#define PTL_PT_INV_INDEX PTL_PT_INDEX_INVALID
#define PTL_AC_INV_INDEX PTL_AC_INDEX_INVALID
#define PTL_INV_SR_INDX  PTL_SR_INDEX_INVALID
#define PTL_NOUPDATE     PTL_MD_NO_UPDATE
#define PTL_ML_TOOLONG   PTL_ME_LIST_TOO_LONG
#define PTL_INIT_DUP     PTL_IFACE_DUP
#define PTL_INIT_INV     PTL_IFACE_INVALID

#endif
