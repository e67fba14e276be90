#!/bin/bash
# atomics.sh - wrong uses of remote atomics: domains that cannot be end the job in all builds, operations that cannot be in
# debug builds, and those that a peer is asked for in all.  TEST_CONDUIT (ibv), TEST_MODES (seq).
# family: wrong-atomics
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/../tap.sh" || exit 1
. "$(dirname "$0")/../variant.sh" || exit 1
. "$(dirname "$0")/cases.sh" || exit 1
# shellcheck disable=SC2034 # cases.sh reads them
modes=${TEST_MODES:-seq}
# Of one domain alone, as the others have operations that an adapter lacks.
export GASNET_ADAPTER_ATOMICS=on

# Case, in what builds, and the words of the message.
create='gex_AD_Create is given'
one='gex_AD_OpNB_I64 is called with'
# shellcheck disable=SC2034
cases="type_none|all|$create the type 0x0: it is one of GEX_DT_I32
type_user|all|$create the type 0x40
type_two|all|$create the type 0x3
ops_none|all|$create the operations 0x0; those of the type 0x1 are 0xfff8fff
ops_bits|all|$create the operations 0x20008; those of the type 0x20 are 0xffc0ff8
ops_user|all|$create the operations 0x40000000
favours|all|$create the flags 0x5
flag_8|all|$create the flags 0x8
pair|all|$create 0x[0-9a-f]+, which is no team
team_none|all|$create (\(nil\)|0x0), which is no team
destroy_twice|all|gex_AD_Destroy is given the domain .* or gex_AD_Destroy has ended
destroy_none|all|gex_AD_Destroy is given the domain .*gex_AD_Create has not made
destroyed|debug|gex_AD_OpNB_I64 is given the domain .* or gex_AD_Destroy has ended
domain_none|debug|gex_AD_OpNB_I64 is given the domain .*gex_AD_Create has not made
other_type|debug|gex_AD_OpNB_I64 is given a domain of another type, 0x10
not_in_domain|debug|$one operation 0x80000: exactly one of the domain.s operations, 0x8040400, is needed
op_none|debug|$one operation 0x0: exactly one
two_ops|debug|$one operation 0x8000400: exactly one
no_result|debug|gex_AD_OpNBI_I64 is called with operation 0x40000, which stores a result, and with NULL
rank_2|debug|rank 2 is not one of the 2 ranks of the team
rank_2|release|names rank 2, but the ranks of this job are 0 to 1
jobrank_2|debug|gex_AD_OpNB_I64 names rank 2 of the job, which is not in the domain.s team
not_my_rank|debug|$one the promise .* rank 1 .* flags 0x800
not_my_nbrhd|debug|$one the promise .* rank 1 .* flags 0x1000
misaligned|debug|$one address 0x[0-9a-f]+, which is not aligned to 8 bytes
misaligned|release|rank 0 .*asks for the atomic operation 0x52 at 0x[0-9a-f]+: there is no such operation, or the address is not aligned
outside|debug|gex_AD_OpNB_I64 of 8 bytes at 0x[0-9a-f]+ is outside the segment of rank 1
outside|release|rank 0 asks for an atomic operation of 8 bytes at 0x[0-9a-f]+, outside this rank.s segment
device_rank_2|debug|rank 2 is not one of the 2 ranks of the team
device_rank_2|release|gex_AD_Op names rank 2, but the ranks of this job are 0 to 1
device_misaligned|debug|$one address 0x[0-9a-f]+, which is not aligned to 8 bytes
device_misaligned|release|an atomic operation on rank 1.* at 0x[0-9a-f]+, which is not aligned to 8 bytes
device_outside|debug|gex_AD_OpNB_I64 of 8 bytes at 0x[0-9a-f]+ is outside the segment of rank 1
device_outside|release|an atomic operation of 8 bytes at 0x[0-9a-f]+ is outside the segment of rank 1
across|debug|gex_AD_OpNB_FLT of 4 bytes at 0x[0-9a-f]+ is outside the segment of rank 1
across|release|rank 0 asks for an atomic operation of 4 bytes"

wrong_cases atomics
tap_end
