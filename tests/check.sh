#!/bin/bash
# check.sh - every test there is; ends with exactly one line, "N passed, N failed[, N skipped]".
#
# To be run in a build tree, or with TEST_BUILD naming it.  Each family is a script that prints TAP;
# its output is kept in tests/log/, failures and their context are shown.  TEST_FAMILIES="arrows exit"
# narrows it; TEST_NO_BUILD=1 leaves out making the test programs.
# shellcheck disable=SC2016 # the script in quotes is expanded by the shell that runs it
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/tap.sh" || exit 1
cd "$TEST_BUILD" || exit 1
export top_builddir=$TEST_BUILD

passed=0 failed=0 skipped=0
reasons=$tap_scratch/reasons times=$tap_scratch/times
: >"$reasons"
: >"$times"
began=$(now_ms)

if [ -z "$TEST_NO_BUILD" ]; then
    if ! make -j"$(nproc)" check-programs >"$TEST_LOG/make.log" 2>&1; then
        echo "not ok - the test programs cannot be built"
        tail -n 20 "$TEST_LOG/make.log" | sed 's/^/#   /'
        failed=$((failed + 1))
        make -k -j"$(nproc)" check-programs >>"$TEST_LOG/make.log" 2>&1
    fi
fi

# family NAME COMMAND...: runs it, counts its lines, shows what is not ok.
family() {
    local name=$1 log=$TEST_LOG/family_$1.log status start ok bad skip planned seconds
    shift
    if [ -n "$TEST_FAMILIES" ] && [[ " $TEST_FAMILIES " != *" $name "* ]]; then return; fi
    start=$(now_ms)
    timeout -k 10 "${TEST_FAMILY_BOUND:-1200}" "$@" >"$log" 2>"$log.err" </dev/null
    status=$?
    skip=$(grep -cE '^ok .*# SKIP' "$log")
    ok=$(($(grep -cE '^ok ' "$log") - skip))
    bad=$(grep -cE '^not ok ' "$log")
    planned=$(sed -n 's/^1\.\.\([0-9]*\).*/\1/p' "$log" | tail -n 1)
    grep -A 20 -E '^not ok ' "$log" | grep -E '^(not ok|#)' | head -n 200
    if [ $((ok + bad + skip)) -ne "${planned:--1}" ] || { [ $status -ne 0 ] && [ "$bad" -eq 0 ]; }; then
        echo "not ok - $name: status $status, $((ok + bad + skip)) results of ${planned:-no plan}"
        tail -n 15 "$log" "$log.err" | sed 's/^/#   /'
        bad=$((bad + 1))
    fi
    sed -n "s/^ok [0-9]* *-* *\\(.*\\) # SKIP *\\(.*\\)/$name: \\1: \\2/p" "$log" >>"$reasons"
    passed=$((passed + ok)) failed=$((failed + bad)) skipped=$((skipped + skip))
    seconds=$((($(now_ms) - start) / 1000))
    echo "$seconds $name" >>"$times"
    echo "# $name: $ok passed, $bad failed, $skip skipped, $seconds s"
}

# single FILE: a program that is one test, or prints TAP of its own.
single() {
    local name
    name=$(basename "$1")
    family "$2-$name" bash -c '
        "$1" >"$2" 2>&1; status=$?
        if grep -qE "^1\.\.[0-9]+" "$2"; then cat "$2"; exit $status; fi
        sed "s/^/# /" "$2"
        if [ $status -eq 77 ]; then echo "ok 1 - $3 # SKIP says so"; status=0
        elif [ $status -eq 0 ]; then echo "ok 1 - $3"; else echo "not ok 1 - $3"; fi
        echo 1..1; exit $status' single "$1" "$tap_scratch/single" "$name"
}

for script in arrows headers format cppcheck promises; do
    if [ -x "$TEST_SOURCE/$script.sh" ]; then family $script "$TEST_SOURCE/$script.sh"; fi
done
# A folder is run by its run.sh or by the script of its own name; in folders without, every program
# built there is a test.
for folder in "$TEST_SOURCE"/*/; do
    name=$(basename "$folder")
    if [ -x "$folder/run.sh" ]; then
        family "$name" "$folder/run.sh"
    elif [ -x "$folder/$name.sh" ]; then
        family "$name" "$folder/$name.sh"
    else
        case $name in bench | log) continue ;; esac
        for program in "tests/$name"/*; do
            # source files and left-overs of the compiler are no programs
            if [ -f "$program" ] && [ -x "$program" ] && [[ $program != *.* ]]; then single "$program" "$name"; fi
        done
    fi
done
if [ -x "$TEST_SOURCE/install/dist.sh" ]; then family dist "$TEST_SOURCE/install/dist.sh"; fi
family conduit "$TEST_SOURCE/run-conduit.sh"
for conduit in vapi portals; do
    if [ -x "$TEST_BUILD/gasnetrun_$conduit" ]; then
        family conduit-$conduit env -u TEST_LAUNCH TEST_CONDUIT=$conduit "$TEST_SOURCE/run-conduit.sh"
        family exit-$conduit env -u TEST_LAUNCH TEST_CONDUIT=$conduit "$TEST_SOURCE/exit/exit.py"
    fi
done
family env "$TEST_SOURCE/env.sh"
family exit "$TEST_SOURCE/exit/exit.py"
family crowd "$TEST_SOURCE/crowd.sh"
family hardship "$TEST_SOURCE/hardship.sh"
family rails "$TEST_SOURCE/rails.sh"
if [ -x "$TEST_BUILD/gasnetrun_vapi" ]; then
    family firmware "$TEST_SOURCE/firmware.sh"
    for name in params/run rails connect; do
        family "${name%/run}-vapi" env -u TEST_LAUNCH TEST_CONDUIT=vapi "$TEST_SOURCE/$name.sh"
    done
fi
family amrdma "$TEST_SOURCE/amrdma.sh"
family srq "$TEST_SOURCE/srq.sh"
family rcvthread "$TEST_SOURCE/rcvthread.sh"
family faults "$TEST_SOURCE/faults.sh"
family stats "$TEST_SOURCE/stats.sh"
family connect "$TEST_SOURCE/connect.sh"

sed 's/^/# skipped: /' "$reasons" | head -n 100
# The longest first; those of a few seconds together.
sort -rn "$times" | awk -v all="$((($(now_ms) - began) / 1000))" '
    $1 >= 6 { printf "# %5.1f min  %s\n", $1 / 60, $2; next }
    { rest += $1; families++ }
    END { printf "# %5.1f min  %d other families\n# %5.1f min  in all\n", rest / 60, families, all / 60 }'
result="$passed passed, $failed failed"
[ $skipped -eq 0 ] || result="$result, $skipped skipped"
echo "$result"
[ $failed -eq 0 ] && [ $passed -gt 0 ]
