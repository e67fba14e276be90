#!/bin/bash
# examples.sh - the programs of examples/ that verify themselves, on 1 to 5 ranks.
# family: examples
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/../tap.sh" || exit 1

first=$(sed -n 's/^FIRST_CONDUIT = //p' "$TEST_BUILD/Makefile") # the one they are linked for
launch=${TEST_BUILD}/gasnetrun_$first

verifies() { # N PROGRAM [ARGUMENT...]
    local n=$1 program=$2 log=$TEST_LOG/examples_$2_$1.log
    shift 2
    timeout -k 5 60 "$launch" -n "$n" "$TEST_BUILD/examples/$program" "$@" >"$log" 2>&1 </dev/null &&
        [ "$(grep -c "^$program: .* verified" "$log")" = 1 ] && ! grep -q FAILED "$log"
    local status=$?
    tap_ok $status "$program${*:+ $*} on $n ranks verifies itself"
    [ $status -eq 0 ] || tap_tail "$log"
}

for n in 1 2 5; do
    verifies $n heat 32 200
    verifies $n samplesort 20000
    verifies $n samplesort 1
    verifies $n cg 40
    verifies $n ex
done
tap_end
