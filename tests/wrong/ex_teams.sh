#!/bin/bash
# ex_teams.sh - wrong uses of teams of GASNet-EX: what cannot be made or ended ends the job in all builds, what names no
# living team or none of its ranks in debug builds.  TEST_CONDUIT (ibv), TEST_MODES (seq).
# family: wrong-ex-teams
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/../tap.sh" || exit 1
. "$(dirname "$0")/../variant.sh" || exit 1
. "$(dirname "$0")/cases.sh" || exit 1
# shellcheck disable=SC2034 # cases.sh reads them
modes=${TEST_MODES:-seq}

# Case, in what builds, and the words of the message.
none='(0x[0-9a-f]+|\(nil\)|0x0), which is no team'
equal='but passes other members, another size of scratch space or other flags'
# shellcheck disable=SC2034
cases="color|all|gex_TM_Split is called with color -1: colors are not negative
split_pair|all|gex_TM_Split is given $none
split_none|all|gex_TM_Split is given $none
split_flags|all|gex_TM_Split is given the flags 0x40, of which 0x40 is unknown
no_bytes|all|gex_TM_Split is given 0 bytes at 0x[0-9a-f]+ as scratch space, which is not memory of this rank.s segment
outside|all|gex_TM_Split is given 64 bytes at 0x[0-9a-f]+ as scratch space, which is not memory
no_form|all|gex_TM_Create is given the flags 0x0, of which exactly one
two_forms|all|gex_TM_Create is given the flags 0x28, of which exactly one
create_flags|all|gex_TM_Create is given the flags 0xa0, of which 0x80 is unknown
two_teams|all|gex_TM_Create asks for 2 teams of 2 members
no_members|all|gex_TM_Create asks for 1 teams of 0 members
three_members|all|gex_TM_Create asks for 1 teams of 3 members.* the 2 ranks of the parent
rank_2|all|gex_TM_Create names rank 2, which is not in the parent of 2 ranks
jobrank_2|all|gex_TM_Create names rank 2 of the job, which is not in the parent
endpoint_1|all|gex_TM_Create names endpoint 1 of rank 0: teams are of endpoints 0
without_caller|all|gex_TM_Create is given a list of 1 ranks without the caller, rank 0 of the parent
destroy_all|all|gex_TM_Destroy is given the team of all ranks
destroy_none|all|gex_TM_Destroy is given $none
destroy_twice|all|gex_TM_Destroy is given $none
destroy_flags|all|gex_TM_Destroy is given the flags 0x1, of which 0x1 is unknown
with_domain|all|gex_TM_Destroy is given a team that has a domain of atomics
in_flight|all|gex_TM_Destroy is called while 1 of the team.s collectives are in flight
message_after|debug|0x[0-9a-f]+ is neither a team nor a pair
put_after|debug|0x[0-9a-f]+ is neither a team nor a pair
barrier_after|debug|gex_Coll_BarrierNB is given $none
barrier_of_pair|all|gex_Coll_BarrierNB is given $none
root_1|all|gex_Coll_BroadcastNB is called with root 1: the team has 1 ranks
put_to_1|debug|rank 1 is not one of the 1 ranks of the team
translate_1|debug|rank 1 is not one of the 1 ranks of the team
sizes_differ|all|gex_TM_Split: rank . .*is to be in a new team with this rank, $equal
flags_differ|all|gex_TM_Split: rank . .*is to be in a new team with this rank, $equal
lists_differ|all|gex_TM_Create: rank . .*is to be in a new team with this rank, $equal
one_in_none|all|gex_TM_Create: rank 1 .*is to be in a new team with this rank, $equal
rank_twice|all|a team has rank 0 of the job twice"

wrong_cases ex_teams
tap_end
