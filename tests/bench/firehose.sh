#!/bin/bash
# firehose.sh - the cost of the registration cache of other/firehose: instructions of a look-up among 10 and among 10,000
# regions, of hits, and memory for each region.
#
# Counted by callgrind, with N and with 2N operations.  A hit finds, uses and releases a region.  Regions are of 1 to 31
# pages, in all classes of sizes.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/../tap.sh"

n=${TEST_N:-2000}
program=$TEST_BUILD/tests/bench/firehose
command -v valgrind >/dev/null || { tap_skip "instruction counts" "no valgrind" && tap_end; }

count_once() { # OPERATION REGIONS N [warm]
    valgrind -q --tool=callgrind --collect-atstart=no --toggle-collect=counted \
        --callgrind-out-file="$tap_scratch/out" "$program" "$@" >"$tap_scratch/log" 2>&1 ||
        { tap_tail "$tap_scratch/log" >&2 && return 1; }
    awk '/^(summary|totals):/ { total = $2 } END { print total }' "$tap_scratch/out"
}

per_operation() { # OPERATION REGIONS [warm]
    local once twice
    once=$(count_once "$1" "$2" "$n" ${3:+"$3"}) && twice=$(count_once "$1" "$2" $((2 * n)) ${3:+"$3"}) || return 1
    echo $(((twice - once + n / 2) / n))
}

printf '# %-48s %6s %6s %8s\n' "other/firehose, instructions" "10" "10,000" target
nothing=$(per_operation nothing 10) || { tap_ok 1 "counting works" && tap_end; }
while IFS='|' read -r operation warm name target; do
    # shellcheck disable=SC2086 # a word or none
    if ! few=$(per_operation "$operation" 10 $warm) || ! many=$(per_operation "$operation" 10000 $warm); then
        tap_ok 1 "$name: counted"
        continue
    fi
    few=$((few - nothing)) many=$((many - nothing))
    printf '# %-48s %6d %6d %8s\n' "$name" $few $many "$target"
    case $target in
    ratio) tap_ok "$([ $few -gt 0 ] && [ $((2 * many)) -le $((3 * few)) ]; echo $?)" \
        "$name: among 10,000 at most 1.5 times as many as among 10" ;;
    *) tap_ok "$([ $many -gt 0 ] && [ $many -le "$target" ]; echo $?)" "$name: $many instructions, target $target" ;;
    esac
done <<'END'
look||look-up, random|ratio
local||local hit, inline, random|ratio
local|warm|local hit, inline, the region of the last|60
remote||remote hit, inline, random|ratio
remote|warm|remote hit, inline, the region of the last|80
call|warm|local hit, public calls, the region of the last|ratio
END
bytes=$("$program" memory 10000)
printf '# %-48s %13d %8d\n' "memory per region, bytes, with a key of 16" "$bytes" 128
tap_ok "$([ "${bytes:-999}" -le 128 ]; echo $?)" "memory per cached region: $bytes bytes, at most 128"
tap_end
