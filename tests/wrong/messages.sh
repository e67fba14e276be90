#!/bin/bash
# messages.sh - wrong uses of GASNet-EX messages and of what is legal while a payload is prepared.
# TEST_CONDUIT (ibv), TEST_MODES (seq).
# family: wrong-messages
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/../tap.sh" || exit 1
. "$(dirname "$0")/../variant.sh" || exit 1
. "$(dirname "$0")/cases.sh" || exit 1
# shellcheck disable=SC2034 # cases.sh reads them
modes=${TEST_MODES:-seq}

# Case, in what builds, and the words of the message.
between='between gex_AM_PrepareRe[a-z]* and its Commit or Cancel'
unknown='committed or cancelled that this thread has not prepared, or for another kind of message'
# shellcheck disable=SC2034
cases="twice|debug|gex_AM_PrepareRequest is called $between
twice|release|prepared while another has not been committed or cancelled
put|debug|gex_RMA_Put.* is called $between
get|debug|gex_RMA_Get.* is called $between
request|debug|an Active Message Request is called $between
poll|debug|gasnet_AMPoll is called $between
wait|debug|gex_NBI_Wait is called $between
barrier|debug|gex_Coll_BarrierNB is called $between
after_cancel|all|$unknown
committed|all|$unknown
as_long|all|$unknown
never|all|$unknown
too_many_bytes|all|101 bytes with 1 arguments are committed of a payload that was prepared for 100 with 1
arguments|all|100 bytes with 2 arguments are committed of a payload that was prepared for 100 with 1
too_large|all|a payload of [0-9]* to [0-9]* bytes with 1 arguments is prepared: [0-9]* bytes and 16 arguments are possible
most_below_least|all|a payload of 100 to 99 bytes
handler_127|all|handler 127
lc_null|debug|gex_AM_RequestMedium is given the lc_opt NULL
lc_defer|debug|gex_AM_RequestLong is given the lc_opt GEX_EVENT_DEFER
lc_prepare|debug|gex_AM_PrepareRequest is given the lc_opt NULL
reply_put|debug|gex_RMA_Put.* is called inside an Active Message handler
reply_twice|debug|an Active Message Reply is called $between
classic_request|debug|gasnet_AMRequest is a call of GASNet-1, and gex_Client_Init was called without GEX_FLAG_USES_GASNET1
classic_put|debug|gasnet_put is a call of GASNet-1
classic_value|debug|gasnet_put_val is a call of GASNet-1
classic_vector|debug|gasnet_putv_bulk is a call of GASNet-1
at_peer_index|all|handler index 127 is not one of 128 to 255
at_peer_size|all|a payload of 129 bytes, over GEX_VIS_MAX_PEERCOMPLETION
rank_2|debug|rank 2 is not one of the 2 ranks
rank_2|release|names rank 2"

wrong_cases messages
tap_end
