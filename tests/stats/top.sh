#!/bin/bash
# top.sh - gasnetrun --top on a pseudo terminal: what it shows, its keys, and that the terminal is as it was on every way out.
#
# family: top
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/../tap.sh" || exit 1

here=$tap_scratch/job out=$tap_scratch/out log=$TEST_LOG/top.log
export SOFTHCA=on GASNET_QUIET=0
unset GASNET_STATSFILE GASNET_SSH_SERVERS GASNET_SSH_NODEFILE

# shellcheck source=tests/stats/running.sh
. "$TEST_SOURCE/stats/running.sh"

begin() { # WHAT: a job of three ranks
    begin_job 3 "$launcher" -v -spawner=ssh -n 3 "$TEST_BUILD/tests/testwhy-$conduit-seq" "$1" "$here"
}

# on_terminal SIZE ACTION...: --top of the job; see terminal.py.
on_terminal() {
    local size=$1
    shift
    "$TEST_SOURCE/stats/terminal.py" "$size" "$@" -- "$launcher" --top "$number" >"$out" 2>&1
}

# has PATTERN...: the output has a line that matches each.
has() {
    local pattern
    for pattern; do grep -qE -- "$pattern" "$out" || return 1; done
}

# shows NAME STATUS PATTERN...: a TAP line: the command ended so, the terminal is as before, and the output has the lines.
shows() {
    local name=$1 status=$2
    shift 2
    has "^status: $status\$" '^settings: restored$' "$@" && ! has '^missing: |^does not end|^settings: changed'
    tap_ok $? "$name"
    has "^status: $status\$" '^settings: restored$' "$@" && ! has '^missing: |^does not end|^settings: changed' || tap_tail "$out"
}

left='\^\[\[\?25h\^\[\[\?1049l'

for conduit in ${TEST_CONDUITS:-ibv smp}; do
    launcher=$TEST_BUILD/gasnetrun_$conduit
    [ -x "$launcher" ] || continue
    GASNET_SUPERNODE_MAXSIZE=1
    [ "$conduit" = smp ] && GASNET_SUPERNODE_MAXSIZE=0
    begin moves
    "$launcher" --top "$number" >"$out" 2>&1 </dev/null
    [ $? = 0 ] && has "^job $number: 3 ranks, 3 poll, " '^ RANK HOST ' && [ "$(grep -cE '^ +[0-2] .* +polls .*%' "$out")" = 3 ] &&
        [ "$(wc -l <"$out")" = 5 ] && ! grep -qE '.{81}' "$out"
    tap_ok $? "$conduit: without a terminal one frame of all ranks is printed"
    [ "$(wc -l <"$out")" = 5 ] || tap_tail "$out"

    if ! command -v python3 >/dev/null; then
        tap_skip "$conduit: on a terminal" "no python3"
        : >"$here/go"
        continue
    fi
    on_terminal 5x80 'await=by traffic' 'await=[0-9]%' type=r 'await=by rank' type=w 'await=by waiting' type=m 'await=by memory' type=q
    shows "$conduit: keys sort and quit" 0 '^\^\[\[K1 rank not shown; by traffic \(t traffic, w waiting, m memory, r rank\); q quits' "$left"
    on_terminal 24x80 'await=q quits' size=24x30 'await=polls' 'await=\x1b\[J' type=q
    shows "$conduit: a new size of the terminal is taken" 0 '^\^\[\[K +0 vm? ?.*' "$left"
    on_terminal 24x80 'await=q quits' $'type=\x03'
    shows "$conduit: Control-C" -2 "$left"
    on_terminal 24x80 'await=q quits' signal=TERM
    shows "$conduit: SIGTERM" -15 "$left"
    on_terminal 24x80 'await=q quits' signal=TSTP stopped settings signal=CONT 'await=\x1b\[\?1049h' 'await=q quits' type=q
    shows "$conduit: stopped by Control-Z, the terminal is as it was; then the view goes on" 0 "$left"
    kill -STOP "$(cat "$here/ready.1")"
    on_terminal 24x80 'await=1 silent' 'await= 1 .* silent ' type=q
    shows "$conduit: a stopped rank is named, and keys are taken" 0 "$left"
    kill -CONT "$(cat "$here/ready.1")"
    on_terminal 24x80 'await=q quits' "run=touch $here/go"
    shows "$conduit: the job ends" 0 "$left" "^(.*1049l)?job $number has ended\$"
    finish
    tap_ok $status "  and it ends well"
    on_terminal 24x80
    shows "$conduit: a job that is over" 1 "--top $number: there is no such job"
done
tap_end
