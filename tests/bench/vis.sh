#!/bin/bash
# vis.sh - strided puts and gets beside the loops of implicit operations, closed by one sync, that they replace.
#
# For each shape: microseconds of the loop and of the call (the best of many, taken in turns) and their ratio, with its
# target; what the call sends, with the bytes of addresses; and the initiator's instructions above the verbs calls, in
# thousands, for the loop and for the start of the call (the _nb form).  Ends non-zero when a ratio misses its target.  Then, for information, the call by each
# way, from which the limits in extended-ref/vis/choose.h are taken.  TEST_ROWS="shapes" or "ways" narrows.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/../tap.sh"
. "$(dirname "$0")/callgrind.sh"
. "$(dirname "$0")/counters.sh"

conduit=${TEST_CONDUIT:-ibv}
program=$TEST_BUILD/tests/bench/vis-$conduit-seq
export TEST_HANG=500 TEST_SEED=1
chosen() { [ -z "$TEST_ROWS" ] || [[ " $TEST_ROWS " == *" $1 "* ]]; }

# Microseconds: put loop, put, get loop, get.
times() { # PIECES BYTES LAYOUT
    timeout -k 2 60 "$TEST_LAUNCH" -spawner=ssh -n 2 "$program" time "$@" 2>>"$TEST_LOG/bench_vis.log" </dev/null |
        grep -E '^[0-9. ]+$'
}

thousands() { # DIRECTION WAY PIECES BYTES LAYOUT: instructions of one operation
    local n counts=()
    command -v valgrind >/dev/null || { echo - && return; }
    for n in 2 6; do
        callgrind_run "$tap_scratch/$1$2$3$4$5$n" "$program" "$@" $n || return 1
        counts+=("$(callgrind_instructions "$tap_scratch/$1$2$3$4$5$n")")
    done
    awk -v n=$((counts[1] - counts[0])) 'BEGIN { printf "%.1f", n / 4000 }'
}

# shape PIECES BYTES LAYOUT TARGET...: the least ratios, of puts and of gets, or - for none.
shape() {
    local layout=("$1" "$2" "$3") targets=("$4" "$5") directions=(put get) took i direction sent data=$(($1 * $2))
    read -ra took <<<"$(times "${layout[@]}")"
    for i in 0 1; do
        direction=${directions[i]}
        read -ra sent <<<"$(per_operation "$conduit" section "$direction" "${layout[@]}")"
        awk -v name="$direction ${layout[*]}" -v loop="${took[2 * i]}" -v call="${took[2 * i + 1]}" -v target="${targets[i]}" \
            -v messages="$((sent[0] + sent[1] + sent[2]))" -v more="$((sent[3] - data))" \
            -v loops="$(thousands "$direction" loop "${layout[@]}")" -v calls="$(thousands "$direction" nb "${layout[@]}")" 'BEGIN {
                bad = target != "-" && !(call > 0 && loop / call >= target)
                printf "# %-22s %9.1f %9.1f %7.2f %7s %-7s %8d %8d %9s %9s\n", name, loop, call, (call > 0 ? loop / call : 0), target,
                    (target == "-" ? "" : bad ? "MISSED" : "ok"), messages, more, loops, calls
                exit bad }'
        tap_ok $? "$direction of ${layout[*]}: $([ "${targets[i]}" = - ] && echo "shown beside" || echo "at least ${targets[i]} times as fast as") the loop"
    done
}

shapes() {
    printf '# %-22s %9s %9s %7s %7s %-7s %8s %8s %9s %9s\n' "pieces bytes apart" "loop us" "call us" ratio target "" messages \
        "+ bytes" "loop k" "start k"
    shape 4096 8 both 10 10
    shape 4096 8 local 10 10
    shape 4096 8 remote 10 10
    shape 4096 8 list - -
    shape 512 64 both - -
    # Equal but for noise: the call takes the same puts and gets.
    shape 64 4096 both 0.9 0.9
    # Lists of local pieces, or a loop: the same bytes.
    shape 64 4096 local 0.9 0.9
    shape 64 512 local - -
}

ways() {
    local bytes each packed copied listed
    printf '# %-22s %18s %18s %18s %18s\n' "256 pieces, put get us" "each by itself" "in messages" "local: by buffer" "local: in lists"
    for bytes in 8 32 64 128 256 512 1024 2048; do
        each=$(times 256 $bytes both | awk '{ print $1, $3 }')
        packed=$(GASNET_VIS_MAXCHUNK=1G times 256 $bytes both | awk '{ print $2, $4 }')
        copied=$(GASNET_VIS_MAXCHUNK=1G times 256 $bytes local | awk '{ print $2, $4 }')
        listed=$(GASNET_VIS_MAXCHUNK=1 times 256 $bytes local | awk '{ print $2, $4 }')
        printf '# %-22s %18s %18s %18s %18s\n' "$bytes bytes" "$each" "$packed" "$copied" "$listed"
    done
}

if chosen shapes; then shapes; fi
if chosen ways; then ways; fi
tap_end
