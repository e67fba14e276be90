#!/bin/bash
# check.sh - every test there is; ends with exactly one line, "N passed, N failed[, N skipped]".
#
# To be run in a build tree, or with TEST_BUILD naming it.  Each family is a script that prints TAP;
# its output is kept in tests/log/, failures and their context are shown.  TEST_FAMILIES="arrows exit"
# narrows it; TEST_NO_BUILD=1 leaves out making the test programs.
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

# A family is a line `# family: NAME [TEST_CONDUIT=...]` in a script of tests/ or of a folder there; one for a conduit
# that is not in this build is left out.
while IFS=: read -r script _ name; do
    read -r name setting <<<"$name"
    if [ -z "$setting" ]; then
        family "$name" "$script"
    elif [ -x "$TEST_BUILD/gasnetrun_${setting#TEST_CONDUIT=}" ]; then
        family "$name" env -u TEST_LAUNCH "$setting" "$script"
    fi
done < <(grep -H '^# family: ' "$TEST_SOURCE"/*.sh "$TEST_SOURCE"/*/*.{sh,py})

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
