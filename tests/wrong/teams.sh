#!/bin/bash
# teams.sh - wrong uses of teams, of their barriers and of their settings: each ends the job with one line that says so,
# in release and in debug builds.  TEST_CONDUIT (ibv), TEST_MODES (seq par).
# family: wrong-teams
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/../tap.sh" || exit 1
. "$(dirname "$0")/../variant.sh" || exit 1
. "$(dirname "$0")/cases.sh" || exit 1
# shellcheck disable=SC2034 # cases.sh reads them
modes=${TEST_MODES:-seq par}

# Case, in what builds (all, par: with two images on a node, debug), and the words of the message.
# shellcheck disable=SC2034
cases='notify_twice|all|while this rank has not left the team.s barrier: without GASNET_BARRIERFLAG_IMAGES one thread of a rank
wait_first|all|_wait or _try on a team of 2 ranks without a gasnet_coll_barrier_notify
try_first|all|_wait or _try on a team of 2 ranks without a gasnet_coll_barrier_notify
wait_twice|all|_wait or _try on a team of 2 ranks without a gasnet_coll_barrier_notify
no_team|all|gasnet_coll_barrier_notify is called with a NULL team
flag_16|debug|gasnet_coll_barrier_notify is given the flags 0x10, of which 0x10 is unknown
in_handler|all|gasnet_coll_barrier_notify (is )?called in a handler
image_notifies_twice|par|is called twice by an image without gasnet_coll_barrier_wait
image_waits_first|par|by an image without a gasnet_coll_barrier_notify
split_null|all|gasnet_coll_team_split is called with a NULL team
images_differ|par|the images of rank 0 .*pass different colors or ranks
rank_2|all|names rank 2 of a team of 2 ranks
rank_minus_1|all|names rank -1 of a team of 2 ranks
free_all|all|for GASNET_TEAM_ALL, which lives as long as
free_in_barrier|all|while this rank has not left the team.s barrier
free_in_flight|all|gasnet_coll_team_free is called while 1 of the team.s collectives
tree_of_exchange|all|tree 0 of exchange, which has 0
tree_2|all|tree 2 of gather, which has 2
dissemination_of_gather|all|set_dissem_limit is given gather: only gather_all and exchange
operation_99|all|names operation 99
no_file|all|loadTuningState cannot open /nowhere/settings.[0-9]*: No such file
wrong_line|all|line 3 of wrong_settings.[0-9]* is wrong: a number is missing
other_file|all|line 1 of wrong_settings.[0-9]* is wrong: the file does not begin with
no_place|all|dumpTuningState cannot write /nowhere/settings: No such file'

wrong_cases teams
tap_end
