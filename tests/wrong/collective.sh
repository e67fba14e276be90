#!/bin/bash
# collective.sh - wrong uses of collectives: each ends the job with a line that says so; what all ranks must agree on
# and what must not come between the halves of a barrier, in debug builds.  TEST_CONDUIT (ibv), TEST_MODES (seq).
# family: wrong-collective
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/../tap.sh" || exit 1
. "$(dirname "$0")/../variant.sh" || exit 1
. "$(dirname "$0")/cases.sh" || exit 1
# shellcheck disable=SC2034 # cases.sh reads them
modes=${TEST_MODES:-seq}

# Case, in what builds (all, debug; serial: in all, but not in PAR), and the words of the message.
# shellcheck disable=SC2034
cases='before_init|all|gasnet_coll_broadcast is called with a NULL team: gasnet_coll_init must be called first
initialised_twice|all|gasnet_coll_init is called more than once
no_team|all|gasnet_coll_broadcast is called with a NULL team
root_2|all|gasnet_coll_broadcast is called with root 2: the team has 2 images
no_in_flag|all|gasnet_coll_broadcast is called with flags 0x90: .*exactly one of GASNET_COLL_IN_
two_out_flags|all|gasnet_coll_broadcast is called with flags 0xb2: .*one of GASNET_COLL_OUT_
single_and_local|all|gasnet_coll_broadcast is called with flags 0xd2: .*one of GASNET_COLL_SINGLE and GASNET_COLL_LOCAL
function_2|all|gasnet_coll_reduce is given function 2: gasnet_coll_init was given 2
block_size|all|gasnet_coll_reduce is called with src_blksz 16
too_many|all|gasnet_coll_reduce is called with 4 elements of [0-9]+ bytes, which are larger than memory
two_images|serial|gasnet_coll_init is given 2 images for this rank, .*compile for PAR
scan|all|gasnet_coll_scan is called: scans are not implemented
in_handler|all|gasnet_coll_broadcast is called in a handler
root|debug|collective 1 of team 1 differs between ranks: .*with root 0.*with root 1|collective 1 of team 1 differs between ranks: .*with root 1.*with root 0
bytes|debug|rank 0 calls broadcast of 16 bytes.*rank 1 calls broadcast of 8|rank 1 calls broadcast of 8 bytes.*rank 0 calls broadcast of 16
many_bytes|debug|rank 0 calls broadcast of 4000 bytes.*rank 1 calls broadcast of 4096|rank 1 calls broadcast of 4096 bytes.*rank 0 calls broadcast of 4000
sync_flags|debug|if these are equal, the flags
elements|debug|calls reduce of 16 bytes.*calls reduce of 32|calls reduce of 32 bytes.*calls reduce of 16
functions|debug|if these are equal, .*the function
operation|debug|calls gather of 8.*calls broadcast of 8|calls broadcast of 8.*calls gather of 8
in_split_barrier|debug|gasnet_coll_broadcast is called between gasnet_barrier_notify and gasnet_barrier_wait
across_barrier|debug|gasnet_barrier_notify is called while 1 collectives of this rank are in flight'

wrong_cases collective
tap_end
