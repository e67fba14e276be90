#!/bin/bash
# portals.sh - Portals beside ibv-conduit: what an operation costs on libportals and in portals-conduit, in instructions
# above the verbs calls and in time, next to what it costs ibv-conduit, and the ratio.
#
# The figures are those of portals3.sh and of count.sh (mode seq); where an operation is counted in two parts, its
# call and its completion, they are added.  A put on the fast path of libportals may cost 1.5 times ibv's: a row
# with a limit fails above it.  The other rows are for information, and so are the times: they show the
# scheduler too, and on the software device libportals' own of ordinary memory, which takes a system call each
# time where segments of conduits are mapped.  TEST_ROWS="counts" or "times" narrows.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/../tap.sh"
. "$(dirname "$0")/callgrind.sh"

[ -x "$TEST_BUILD/gasnetrun_portals" ] || { tap_skip "portals-conduit" "is not built" && tap_end; }
chosen() { [ -z "$TEST_ROWS" ] || [[ " $TEST_ROWS " == *" $1 "* ]]; }

# Of rows A;B, the sum; fails when one of them was not counted.
sum() { # FILE NAMES
    local names name figure total=0
    IFS=';' read -ra names <<<"$2"
    for name in "${names[@]}"; do
        figure=$(callgrind_figure "$1" "$name")
        [ -n "$figure" ] || return 1
        total=$((total + figure))
    done
    echo $total
}

# A line of the table; fails when the ratio is above a limit.
show() { # NAME FIGURE IBVS UNIT LIMIT
    awk -v name="$1" -v figure="$2" -v ibv="$3" -v unit="$4" -v limit="$5" 'BEGIN {
        bad = limit != "" && !(ibv > 0 && figure > 0 && figure <= limit * ibv)
        verdict = limit == "" ? "" : bad ? "MISSED" : "ok"
        ratio = ibv > 0 ? sprintf("%.2f", figure / ibv) : "-"
        printf "# %-62s %10s %10s %-4s %6s %6s %s\n", name, figure, ibv, unit, ratio, limit, verdict
        exit bad }'
}

title() { printf '# %-62s %10s %10s %-4s %6s %6s\n' "$1" portals ibv "" ratio limit; }

implicit='non-blocking implicit put, injection;implicit ops: reap, per op (16 outstanding)'
# Name, the rows of portals3.sh, the rows of ibv, limit.
libportals="put without events, call and completion|put without events, call and completion|$implicit|1.5
put, call and its ACK taken, 16 at once|put, call;put without SEND_END: ACK logged and taken|put_nb + wait|1.5
put, from the call until its ACK alone is taken|put, from the call until its ACK alone is taken|put_nb + wait|1.5
put, from the call until both its events are taken|put, from the call until its ACK is taken|put_nb + wait|
get, call and REPLY_END taken, 16 at once|get, call;get: REPLY_END logged and taken|get_nb + wait|
get, from the call until its REPLY_END is taken|get, from the call until its REPLY_END is taken|get_nb + wait|"
# Name, the rows of the two conduits.
conduit="implicit put and reap, 16 at once|$implicit
put_nb + wait|put_nb + wait
blocking put|blocking put
put_nb + wait, 4 KiB|put_nb + wait, 4 KiB
get_nb + wait|get_nb + wait
AM Short request, injection|AM Short request, injection
AM Short receive + handler|AM Short receive + handler
AM Short, automatic Reply|AM Short, automatic Reply
AM Short request + reply, all processors|AM Short request + reply, all processors
AM Medium 64 B, injection|AM Medium 64 B, injection
poll that finds nothing|poll that finds nothing"

count_row() { # WHO WHAT ROWS IBVS-ROWS LIMIT
    local figure ibv
    if figure=$(sum "$tap_scratch/$1" "$3") && ibv=$(sum "$tap_scratch/ibv" "$4"); then
        show "$1: $2" "$figure" "$ibv" "" "$5"
        tap_ok $? "$1: $2: $figure instructions, ibv $ibv${5:+, limit $5 times}"
    else
        tap_ok 1 "$1: $2: counted"
    fi
}

counts() {
    local name what rows ibv limit
    command -v valgrind >/dev/null || { tap_skip "instruction counts" "no valgrind" && return; }
    for name in ibv portals; do
        env -u TEST_LAUNCH TEST_CONDUIT=$name TEST_MODES=seq "$TEST_SOURCE/bench/count.sh" |
            sed 's/ - seq: / - /' >"$tap_scratch/$name"
    done
    "$TEST_SOURCE/../other/portals3/tests/bench.sh" | tee "$tap_scratch/libportals" | grep '^#'
    title "instructions per operation"
    while IFS='|' read -r what rows ibv limit; do count_row libportals "$what" "$rows" "$ibv" "$limit"; done <<<"$libportals"
    while IFS='|' read -r what rows; do count_row portals "$what" "$rows" "$rows" ""; done <<<"$conduit"
}

# NAME FIGURE UNIT lines of the output of a program; names have no two blanks in a row.
measured() { # LOG COMMAND...
    "${@:2}" >"$1.raw" 2>&1 </dev/null || { tap_tail "$1.raw" && return 1; }
    sed -nE 's/^(# libportals )?(.*[^ ]) +([0-9.]+) (us|MB\/s)$/\2|\3|\4/p' "$1.raw" >"$1"
}

times() {
    local name figure unit ibv who status
    title "best of several rounds"
    for who in ibv portals; do
        measured "$tap_scratch/$who.times" "$TEST_BUILD/gasnetrun_$who" -spawner=ssh -n 2 "$TEST_BUILD/tests/bench/testlat-$who-seq"
        status=$?
        tap_ok $status "latencies of $who are measured"
        [ $status -eq 0 ] || return
    done
    SOFTHCA=${SOFTHCA:-on} measured "$tap_scratch/libportals.times" "$TEST_BUILD/other/portals3/tests/bench" times
    tap_ok $? "latencies of libportals are measured"
    for who in libportals portals; do
        while IFS='|' read -r name figure unit; do
            ibv=$(sed -n "s#^$name|\\([0-9.]*\\)|$unit\$#\\1#p" "$tap_scratch/ibv.times")
            show "$who: $name" "$figure" "${ibv:--}" "$unit" ""
        done <"$tap_scratch/$who.times"
    done
}

if chosen counts; then counts; fi
if chosen times; then times; fi
tap_end
