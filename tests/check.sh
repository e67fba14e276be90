#!/bin/bash
# check.sh - every test there is; ends with exactly one line, "N passed, N failed[, N skipped]".
#
# To be run in a build tree, or with TEST_BUILD naming it.  Each family is a script that prints TAP;
# its output and logs are kept in tests/log/NAME/, failures and their context are shown.  Two families
# run at a time (TEST_JOBS): many of them wait for most of their time.  TEST_FAMILIES="arrows exit"
# narrows it, TEST_FOLDERS="other/vapi/tests" too; TEST_NO_BUILD=1 leaves out making the test programs.
# TEST_UNTIL=SECONDS (as of date +%s): families not begun by then are skipped, and named.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/tap.sh" || exit 1
cd "$TEST_BUILD" || exit 1
export top_builddir=$TEST_BUILD
root=$(dirname "$TEST_SOURCE")

reasons=$tap_scratch/reasons times=$tap_scratch/times results=$tap_scratch/results
touch "$reasons" "$times" "$results"
began=$(now_ms)

if [ -z "$TEST_NO_BUILD" ]; then
    if ! make -j"$(nproc)" check-programs >"$TEST_LOG/make.log" 2>&1; then
        echo "not ok - the test programs cannot be built"
        tail -n 20 "$TEST_LOG/make.log" | sed 's/^/#   /'
        echo "0 1 0" >>"$results"
        make -k -j"$(nproc)" check-programs >>"$TEST_LOG/make.log" 2>&1
    fi
fi

# family NAME SCRIPT [SETTING]: runs the script; counts its lines, and shows failures.
family() {
    local name=$1 script=$2 setting=$3 logs=$TEST_LOG/$1 log=$TEST_LOG/$1/output status ok bad skip planned seconds processor
    local TIMEFORMAT='%0R %0U %0S'
    mkdir -p "$logs"
    { time env ${setting:+-u TEST_LAUNCH "$setting"} TEST_LOG="$logs" timeout -k 10 "${TEST_FAMILY_BOUND:-1200}" "$script" \
        >"$log" 2>"$log.err" </dev/null; } 2>"$log.time"
    status=$?
    read -r seconds processor <"$log.time"
    skip=$(grep -cE '^ok .*# SKIP' "$log")
    ok=$(($(grep -cE '^ok ' "$log") - skip))
    bad=$(grep -cE '^not ok ' "$log")
    planned=$(sed -n 's/^1\.\.\([0-9]*\).*/\1/p' "$log" | tail -n 1)
    exec 7>>"$tap_scratch/turn"
    flock 7 # the lines of a family stay together
    grep -A 20 -E '^not ok ' "$log" | grep -E '^(not ok|#)' | head -n 200
    if [ $((ok + bad + skip)) -ne "${planned:--1}" ] || { [ $status -ne 0 ] && [ "$bad" -eq 0 ]; }; then
        echo "not ok - $name: status $status, $((ok + bad + skip)) results of ${planned:-no plan}"
        tail -n 15 "$log" "$log.err" | sed 's/^/#   /'
        bad=$((bad + 1))
    fi
    sed -n "s/^ok [0-9]* *-* *\\(.*\\) # SKIP *\\(.*\\)/$name: \\1: \\2/p" "$log" >>"$reasons"
    echo "$ok $bad $skip" >>"$results"
    echo "$seconds $name" >>"$times"
    echo "# $name: $ok passed, $bad failed, $skip skipped, $seconds s, $((${processor/ / + })) s of processor"
    exec 7>&-
}

# A family is a line `# family: NAME [WHEN] [VARIABLE=...]` in a script of a folder tests/ or one level below.  One for a
# conduit (TEST_CONDUIT) that is not in this build is left out.  WHEN: `alone`, for one that counts what depends on the
# load; `first`, for one that takes minutes; `last`, for one that repeats another's cases with a conduit that shares the code.
families() { # WHEN: prints NAME SCRIPT [SETTING], one a line
    local script name setting when
    while IFS=: read -r script _ name; do
        read -r name setting <<<"$name"
        when=
        case ${setting%% *} in alone | first | last) read -r when setting <<<"$setting" ;; esac
        [ "$when" = "$1" ] || continue
        [ -z "$TEST_FAMILIES" ] || [[ " $TEST_FAMILIES " = *" $name "* ]] || continue
        [[ $setting != TEST_CONDUIT=* ]] || [ -x "$TEST_BUILD/gasnetrun_${setting#TEST_CONDUIT=}" ] || continue
        echo "$name $root/$script $setting"
    done < <(cd "$root" && for folder in ${TEST_FOLDERS:-tests other/*/tests}; do
        grep -H '^# family: ' "$folder"/{,*/}*.{sh,py} 2>/dev/null
    done)
}

# Runs the families of stdin, one after the other; several lanes may share one pipe.
lane() {
    local name script setting
    exec 8>>"$tap_scratch/next"
    while flock 8 && read -r name script setting; do
        flock -u 8
        if [ "$(date +%s)" -lt "${TEST_UNTIL:-9999999999}" ]; then
            family "$name" "$script" "$setting"
        else
            echo "$name: not begun: the time given by TEST_UNTIL is over" >>"$reasons"
            echo "0 0 1" >>"$results"
        fi
    done
}

families alone | lane
{ families first && families "" && families last; } | {
    for ((i = 0; i < ${TEST_JOBS:-2}; i++)); do lane <&0 & done
    wait
}

sed 's/^/# skipped: /' "$reasons" | head -n 100
# The longest first; those of a few seconds together.
sort -rn "$times" | awk -v all="$((($(now_ms) - began) / 1000))" '
    $1 >= 6 { printf "# %5.1f min  %s\n", $1 / 60, $2; next }
    { rest += $1; families++ }
    END { printf "# %5.1f min  %d other families\n# %5.1f min  in all\n", rest / 60, families, all / 60 }'
read -r passed failed skipped < <(awk '{ p += $1; f += $2; s += $3 } END { print p + 0, f + 0, s + 0 }' "$results")
result="$passed passed, $failed failed"
[ "$skipped" -eq 0 ] || result="$result, $skipped skipped"
echo "$result"
[ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
