#!/bin/bash
# starting.sh - a start that takes long, on a pseudo terminal: a line tells how far it is, and is erased when it is done.
#
# family: starting
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/../tap.sh" || exit 1

here=$tap_scratch/job out=$tap_scratch/out
export SOFTHCA=on
unset GASNET_STATSFILE GASNET_SSH_SERVERS GASNET_SSH_NODEFILE GASNET_VERBOSEENV
mkdir -p "$here"

# has PATTERN...: the output has a line that matches each.
has() {
    local pattern
    for pattern; do grep -qE -- "$pattern" "$out" || return 1; done
}

# shows NAME PATTERN...: a TAP line: the job ended well, and the output has the lines.
shows() {
    local name=$1
    shift
    has '^status: 0$' "$@" && ! has '^missing: '
    tap_ok $? "$name"
    has '^status: 0$' "$@" && ! has '^missing: ' || tap_tail "$out"
}

for conduit in ${TEST_CONDUITS:-ibv smp}; do
    launcher=$TEST_BUILD/gasnetrun_$conduit
    [ -x "$launcher" ] || continue
    GASNET_SUPERNODE_MAXSIZE=1
    [ "$conduit" = smp ] && GASNET_SUPERNODE_MAXSIZE=0
    run() { "$launcher" -n 3 "$TEST_BUILD/tests/testwhy-$conduit-seq" "$1" "$here"; }
    if command -v python3 >/dev/null; then
        on_terminal() { # WHAT ACTION...
            local what=$1
            shift
            "$TEST_SOURCE/stats/terminal.py" 24x80 "$@" -- "$launcher" -n 3 "$TEST_BUILD/tests/testwhy-$conduit-seq" "$what" "$here" >"$out" 2>&1
        }
        on_terminal slow-init "await=0 of 3 ranks have called gasnet_init"
        shows "$conduit: ranks that have not called gasnet_init are counted" "gasnetrun_$conduit: 0 of 3 ranks have called gasnet_init\^\[\[K.*\^\[\[K\$"
        on_terminal slow-attach 'await=attaching the segment, after [23] s: waits for other ranks'
        shows "$conduit: rank 0 tells what its attach waits for" 'waits for other ranks\^\[\[K.*\^\[\[K$'
        on_terminal slow-nothing
        shows "$conduit: a start that is soon done shows nothing" && [ "$(grep -c . "$out")" = 2 ]
    else
        tap_skip "$conduit: on a terminal" "no python3"
    fi
    run slow-init >"$out" 2>&1 </dev/null && ! [ -s "$out" ]
    tap_ok $? "$conduit: without a terminal nothing is shown"
    GASNET_LOG=job:info run slow-attach >"$out" 2>&1 </dev/null && [ "$(grep -c 'attaching the segment, after 2 s: waits for other ranks$' "$out")" = 1 ] && ! grep -q $'\x1b' "$out"
    tap_ok $? "$conduit: but the log has a line"
done
tap_end
