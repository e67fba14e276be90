#!/bin/bash
# run.sh - libvapi's tests: its calls on the software device, its headers.  TAP on stdout.
# family: vapi
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/../../../tests/tap.sh" || exit 1
cd "$TEST_BUILD" || exit 1
export SOFTHCA=on

tap_program vapi "every call and code" other/vapi/tests/rules
tap_program vapi "calls that overlap" timeout -k 5 120 other/vapi/tests/overlap
for hcas in none maker list strangers ports small odd port cycles leave fork; do
    tap_program vapi "HCAs: $hcas" other/vapi/tests/hcas $hcas
done

# pair NAME COMMAND1 COMMAND2: two processes, which both succeed.
pair() {
    local name=$1 log=$TEST_LOG/vapi-pair.log first status=0
    timeout -k 5 120 $2 >"$log.first" 2>&1 &
    first=$!
    timeout -k 5 120 $3 >"$log" 2>&1 || status=$?
    wait $first || status=$?
    tap_ok $status "$name"
    [ $status -eq 0 ] || { tap_tail "$log.first" && tap_tail "$log"; }
}
for way in handler block; do
    pair "two processes, a ping-pong that sleeps ($way)" "other/vapi/tests/pingpong $way $tap_scratch/$way server" \
        "other/vapi/tests/pingpong $way $tap_scratch/$way client"
done
for i in 1 2 3; do
    seed=${TEST_SEED:-$RANDOM}
    mkdir "$tap_scratch/eager.$i"
    pair "two processes, eager and rendezvous messages (TEST_SEED=$seed)" "other/vapi/tests/eager $tap_scratch/eager.$i 0 $seed" \
        "other/vapi/tests/eager $tap_scratch/eager.$i 1 $seed"
done
. "$TEST_SOURCE/../other/vapi/tests/headers.sh"
tap_end
