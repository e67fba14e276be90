#!/bin/bash
# stops.sh - coarrays.c ends as co-array programs do: `stop` on all images, or `error stop` of one while the others wait
# in a barrier, for an event, or in a loop that only polls.  The code of the job is that of the program.
# family: ex-stops
# family: ex-stops-portals TEST_CONDUIT=portals
# family: ex-stops-smp TEST_CONDUIT=smp
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/../tap.sh" || exit 1

ends() { # MODE N stop|error CODE
    local mode=$1 n=$2
    shift 2
    tap_job "$n" "$TEST_BUILD/tests/ex/coarrays-$TEST_CONDUIT-$mode" "$@"
    # shellcheck disable=SC2154 # set by tap_job
    [ "$status" = "$2" ]
    tap_ok $? "$* of $n images ends with $2 ($mode)" || tap_tail "$log"
}

for mode in seq par; do
    for n in 1 4; do
        ends $mode $n stop 0
        ends $mode $n stop 3
        ends $mode $n error 7
    done
done
tap_end
