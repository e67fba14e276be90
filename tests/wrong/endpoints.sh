#!/bin/bash
# endpoints.sh - wrong uses of endpoints and their segments: addresses outside the segments that peers have published, and
# objects that do not exist, end the job in all builds; what names another endpoint than the address's in debug builds.
# TEST_CONDUIT (ibv), TEST_MODES (seq).
# family: wrong-endpoints
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/../tap.sh" || exit 1
. "$(dirname "$0")/../variant.sh" || exit 1
. "$(dirname "$0")/cases.sh" || exit 1
# shellcheck disable=SC2034 # cases.sh reads them
modes=${TEST_MODES:-seq}

# Case, in what builds, and the words of the message.  A put to a segment that was destroyed is refused by the device.
# shellcheck disable=SC2034
cases="outside|all|of 8 bytes at 0x[0-9a-f]+ is outside the segment of
before|all|of 8 bytes at 0x[0-9a-f]+ is outside the segment of
get_outside|all|of 8 bytes at 0x[0-9a-f]+ is outside the segment of
get_nb|all|of 8 bytes at 0x[0-9a-f]+ is outside the segment of
put_nbi|all|of 8 bytes at 0x[0-9a-f]+ is outside the segment of
value|all|of 8 bytes at 0x[0-9a-f]+ is outside the segment of
vector_outside|all|gex_VIS_VectorPutBlocking of 8 bytes at 0x[0-9a-f]+ is outside the segment of
attached_by_1|debug|gex_RMA_PutBlocking of 8 bytes at 0x[0-9a-f]+ is outside the segment of endpoint 1 of rank 1 .*, which is 4096 bytes at
created_by_0|debug|gex_RMA_PutBlocking of 8 bytes at 0x[0-9a-f]+ is outside the segment of rank 1
vector_by_1|debug|gex_VIS_VectorPutBlocking of 8 bytes at 0x[0-9a-f]+ is outside the segment of endpoint 1
not_published|debug|gex_RMA_PutBlocking names endpoint 2 of rank 1 .*, of which this rank knows no segment
no_endpoint|debug|gex_RMA_PutBlocking names endpoint 7 of rank 1 .*, of which this rank knows no segment
rank_2|debug|rank 2 is not one of the 2 ranks of the team
atomic_by_0|debug|gex_AD_OpNB_I32 of 4 bytes at 0x[0-9a-f]+ is outside the segment of rank 1
message|debug|an Active Message is sent to endpoint 1, which has GEX_EP_CAPABILITY_RMA alone
message_long|debug|an Active Message is sent to endpoint 1, which has GEX_EP_CAPABILITY_RMA alone
long_by_0|all|an AMLong of 8 bytes at 0x[0-9a-f]+ is outside the segment of
pair_33|all|gex_TM_Pair names endpoint 33: the most is 32
pair_65535|all|gex_TM_Pair names endpoint 65535: the most is 32
destroy_attached|all|gex_Segment_Destroy is given 0x[0-9a-f]+, which is the attached segment
destroy_none|all|gex_Segment_Destroy is given .*, which is no segment that gex_Segment_Create has made
destroy_twice|all|gex_Segment_Destroy is given .*, which is no segment that gex_Segment_Create has made
publish_pair|all|gex_EP_PublishBoundSegment is given 0x[0-9a-f]+, which is no team
split_pair|all|gex_TM_Split is given 0x[0-9a-f]+, which is no team
destroyed|all|asks for a put of 8 bytes|does it use a segment after gex_Segment_Destroy|refused the address"

wrong_cases endpoints
tap_end
