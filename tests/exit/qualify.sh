#!/bin/bash
# qualify.sh - `make qualify`: qualifies this machine, and not one whose launcher is wrong; TAP.
# family: qualify
. "$(dirname "$0")/../tap.sh" || exit 1
unset "${!QUALIFY_@}"
log=$TEST_LOG/qualify.log
export QUALIFY_CONDUITS=$TEST_CONDUIT QUALIFY_MODES=seq QUALIFY_NPROCS=2

QUALIFY_CASES="all_return_7 codes_differ segv_others_barrier before_attach_one" \
    make -C "$TEST_BUILD" qualify >"$log" 2>&1
status=$?
[ $status -eq 0 ] && [ "$(grep -c '^ok' "$log")" -eq 5 ] && grep -q '^# qualified: 5 tests$' "$log"
tap_verdict $? "make qualify, by testam and four ways to end"

# A tree whose launcher loses the code of the job, and one whose processes cannot be started.
refuses() { # LAUNCHER-LINE PATTERN NAME
    mkdir -p "$tap_scratch/tree"
    ln -sfn "$TEST_BUILD/tests" "$tap_scratch/tree/tests"
    printf '#!/bin/bash\n%s\n' "$1" >"$tap_scratch/tree/gasnetrun_$TEST_CONDUIT"
    chmod +x "$tap_scratch/tree/gasnetrun_$TEST_CONDUIT"
    TEST_BUILD=$tap_scratch/tree QUALIFY_CASES="all_return_0 all_return_7" "$TEST_SOURCE/qualify.sh" >"$log" 2>&1
    status=$?
    [ $status -eq 1 ] && grep -q "$2" "$log"
    tap_verdict $? "$3"
}
refuses "$TEST_LAUNCH \"\$@\"; exit 0" '^# NOT qualified: 1 of 3 ' "not if the launcher loses the code of the job"
refuses 'exit 1' '^# NOT qualified: 3 of 3 ' "nor if no job starts"
QUALIFY_SECONDS=1 refuses 'exec sleep 100' '^# NOT qualified: 3 of 3 ' "nor if none ends"
tap_end
