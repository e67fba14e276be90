/*
 * names.c - return codes, kinds of events, failures and handles as text.
 *
 * Called by programs and for the library's own messages.  The tables have an element for each
 * constant of their enums.
 */
#include <portals3_ext.h>
#include <stdio.h>

#include "other/portals3/src/engine/pool.h"

const char *ptl_err_str[] = {
    [PTL_OK] = "PTL_OK",
    [PTL_AC_INDEX_INVALID] = "PTL_AC_INDEX_INVALID",
    [PTL_EQ_DROPPED] = "PTL_EQ_DROPPED",
    [PTL_EQ_EMPTY] = "PTL_EQ_EMPTY",
    [PTL_EQ_INVALID] = "PTL_EQ_INVALID",
    [PTL_FAIL] = "PTL_FAIL",
    [PTL_HANDLE_INVALID] = "PTL_HANDLE_INVALID",
    [PTL_IFACE_INVALID] = "PTL_IFACE_INVALID",
    [PTL_MD_ILLEGAL] = "PTL_MD_ILLEGAL",
    [PTL_MD_INVALID] = "PTL_MD_INVALID",
    [PTL_MD_IN_USE] = "PTL_MD_IN_USE",
    [PTL_MD_NO_UPDATE] = "PTL_MD_NO_UPDATE",
    [PTL_ME_INVALID] = "PTL_ME_INVALID",
    [PTL_ME_IN_USE] = "PTL_ME_IN_USE",
    [PTL_ME_LIST_TOO_LONG] = "PTL_ME_LIST_TOO_LONG",
    [PTL_NI_INVALID] = "PTL_NI_INVALID",
    [PTL_NO_INIT] = "PTL_NO_INIT",
    [PTL_NO_SPACE] = "PTL_NO_SPACE",
    [PTL_PID_INVALID] = "PTL_PID_INVALID",
    [PTL_PROCESS_INVALID] = "PTL_PROCESS_INVALID",
    [PTL_PT_FULL] = "PTL_PT_FULL",
    [PTL_PT_INDEX_INVALID] = "PTL_PT_INDEX_INVALID",
    [PTL_SEGV] = "PTL_SEGV",
    [PTL_SR_INDEX_INVALID] = "PTL_SR_INDEX_INVALID",
    [PTL_UNKNOWN_ERROR] = "PTL_UNKNOWN_ERROR",
    [PTL_IFACE_DUP] = "PTL_IFACE_DUP",
    [PTL_VAL_FAILED] = "PTL_VAL_FAILED",
    [PTL_EQ_IN_USE] = "PTL_EQ_IN_USE",
    [PTL_NAL_FAILED] = "PTL_NAL_FAILED",
    [PTL_IOV_INVALID] = "PTL_IOV_INVALID",
};
_Static_assert(sizeof ptl_err_str / sizeof *ptl_err_str == PTL_MAX_ERRNO, "a name for each code");

const char *ptl_event_str[] = {
    [PTL_EVENT_GET_START] = "PTL_EVENT_GET_START",
    [PTL_EVENT_GET_END] = "PTL_EVENT_GET_END",
    [PTL_EVENT_PUT_START] = "PTL_EVENT_PUT_START",
    [PTL_EVENT_PUT_END] = "PTL_EVENT_PUT_END",
    [PTL_EVENT_GETPUT_START] = "PTL_EVENT_GETPUT_START",
    [PTL_EVENT_GETPUT_END] = "PTL_EVENT_GETPUT_END",
    [PTL_EVENT_REPLY_START] = "PTL_EVENT_REPLY_START",
    [PTL_EVENT_REPLY_END] = "PTL_EVENT_REPLY_END",
    [PTL_EVENT_SEND_START] = "PTL_EVENT_SEND_START",
    [PTL_EVENT_SEND_END] = "PTL_EVENT_SEND_END",
    [PTL_EVENT_ACK] = "PTL_EVENT_ACK",
    [PTL_EVENT_UNLINK] = "PTL_EVENT_UNLINK",
};
_Static_assert(sizeof ptl_event_str / sizeof *ptl_event_str == PTL_EVENT_UNLINK + 1,
               "a name for each kind");

const char *PtlErrorStr(unsigned int code)
{
    return code < PTL_MAX_ERRNO ? ptl_err_str[code] : "unknown return code";
}

const char *PtlEventKindStr(ptl_event_kind_t kind)
{
    return (unsigned int)kind <= PTL_EVENT_UNLINK ? ptl_event_str[kind] : "unknown kind of event";
}

int PtlSnprintHandle(char *text, int size, ptl_handle_any_t handle)
{
    static const char *const kinds[] = {"NI", "ME", "MD", "EQ"};
    size_t room = size > 0 ? (size_t)size : 0;
    if (handle == PTL_INVALID_HANDLE) return snprintf(text, room, "invalid");
    if (handle == PTL_EQ_NONE) return snprintf(text, room, "EQ none");
    if (handle == PTL_HANDLE_NONE) return snprintf(text, room, "none");
    return snprintf(text, room, "%s %u.%u of interface %u", kinds[ptli_kind_of(handle)],
                    (unsigned int)ptli_index_of(handle),
                    (unsigned int)(handle >> 16) % PTLI_GENERATIONS,
                    (unsigned int)ptli_interface_of(handle));
}

const char *PtlNIFailStr(ptl_handle_ni_t ni, ptl_ni_fail_t fail)
{
    (void)ni;
    return fail == PTL_NI_OK     ? "PTL_NI_OK"
           : fail == PTL_NI_FAIL ? "PTL_NI_FAIL: the other process is gone or cannot be reached"
                                 : "unknown failure";
}
