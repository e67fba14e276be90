/* wc_status.h - conversion of verbs' completion status to VAPI's; pure.  */
#ifndef VAPI_WC_STATUS_H
#define VAPI_WC_STATUS_H

#include <infiniband/verbs.h>

#include "public.h"

_Static_assert((int)IBV_WC_SUCCESS == VAPI_SUCCESS &&
                   (int)IBV_WC_INV_EEC_STATE_ERR == VAPI_INV_EEC_STATE_ERR,
               "the same numbers up to there");

static inline VAPI_wc_status_t vapi_wc_status(VAPI_wc_status_t verbs)
{
    if (verbs <= VAPI_INV_EEC_STATE_ERR) return verbs;
    return verbs == IBV_WC_FATAL_ERR ? VAPI_COMP_FATAL_ERR : VAPI_COMP_GENERAL_ERR;
}

#endif
