#!/bin/bash
# crowd.sh - more processes than processors: all leave by themselves, and not one may be cut off for being late (IB-X8).
#
# A job is right if each rank's line is there, nothing else, and the status is 0.  On one processor, where each rank
# computes for as long as its number says before it ends, the first have ended 2.5 s before the last.
# family: crowd
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/../tap.sh" || exit 1

rounds=${TEST_ROUNDS:-2}

crowd() { # CONDUIT N [WORK [COMMAND...]]
    local conduit=$1 n=$2 work=${3:-0} log=$TEST_LOG/crowd_$1_$2_${3:-0} status
    shift 3
    timeout 120 "$@" "$TEST_BUILD/gasnetrun_$conduit" -n "$n" "$TEST_BUILD/tests/testcrowd-$conduit-seq" "$work" \
        >"$log" 2>&1 </dev/null
    status=$?
    [ $status = 0 ] && [ "$(grep -c '^LAST [0-9]*$' "$log")" = "$n" ] && [ "$(sort -u "$log" | wc -l)" = "$n" ] &&
        [ "$(wc -l <"$log")" = "$n" ]
    tap_ok $? "IB-X8 $n processes, ${work} us of work, $conduit: status $status, $(grep -c LAST "$log") lines of $n"
    [ "$tap_bad" = 0 ] || grep -v LAST "$log" | sed 's/^/# /' | head
}

for ((round = 0; round < rounds; round++)); do
    for n in ${TEST_NPROCS:-64 128}; do crowd ibv "$n" 0 env; done
done
crowd ibv 128 300 taskset -c "$(taskset -cp $$ | sed 's/.*: \([0-9]*\).*/\1/')"
for conduit in vapi portals; do
    if [ -x "$TEST_BUILD/gasnetrun_$conduit" ]; then crowd $conduit 64 0 env; fi
done
tap_end
