/* vapi_features.h - which parts of VAPI exist, for tests by the preprocessor.
 *
 * Only what works is defined.  Absent are the names for special queue pairs, management datagrams,
 * device memory and administration, which return VAPI_ENOSYS, and for fork: libibverbs has a switch
 * of its own for that, the environment variable IBV_FORK_SAFE.
 */
#ifndef H_VAPI_FEATURES_H
#define H_VAPI_FEATURES_H

#define VAPI_FEATURE_APM                  1
#define VAPI_FEATURE_ETIMEOUT             1
#define VAPI_FEATURE_RESIZE_CQ            1
#define VAPI_FEATURE_RESOURCE_TRACKING    1
#define VAPI_FEATURE_SMR_VALIDATION       1
#define VAPI_FEATURE_ALT_RETRY_OBSOLETE   1
#define VAPI_FEATURE_DESTR_QP_FAIL_IF_MCG 1
#define VAPI_FEATURE_SRQ                  1
#define VAPI_FEATURE_MODIFY_SRQ           1
#define VAPI_FEATURE_CQE_WITH_QP          1

#define EVAPI_FEATURE_DP_HNDL_CHK         1
#define EVAPI_FEATURE_FMR                 1
#define EVAPI_FEATURE_INLINE_SR           1
#define EVAPI_FEATURE_CQBLK               1
#define EVAPI_FEATURE_PEEK_CQ             1
#define EVAPI_FEATURE_REQ_NCOMP_NOTIF     1
#define EVAPI_FEATURE_ALLOC_PD_AV         1
#define EVAPI_FEATURE_APM                 1
#define EVAPI_FEATURE_ASYNC_EVENTH        1
#define EVAPI_FEATURE_VENDOR_ERR_SYNDROME 1

#endif
