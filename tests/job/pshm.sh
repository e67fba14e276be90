#!/bin/bash
# pshm.sh - shared memory within a host: which processes form a supernode, what they see of each other, what a job
# leaves behind.  The client programs run with it in the rows of matrix.table that set GASNET_SUPERNODE_MAXSIZE=0.
# family: pshm
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/../tap.sh" || exit 1

export SOFTHCA=on
log=$TEST_LOG/pshm.log
conduits=$(for name in ibv vapi portals; do [ ! -x "$TEST_BUILD/gasnetrun_$name" ] || echo $name; done)
if grep -q '^#define GASNETI_PSHM 0' "$TEST_BUILD/include/gasnet_config.h"; then
    tap_skip "shared memory within a host" "this build has none"
    tap_end
fi

job() { # PROGRAM N GASNET_SUPERNODE_MAXSIZE LAUNCHER-ARGUMENT...: sets `status`
    local conduit=${1#testpshm-}
    timeout -k 2 90 env GASNET_SUPERNODE_MAXSIZE="$3" "$TEST_BUILD/gasnetrun_${conduit%-*}" -n "$2" "${@:4}" \
        "$TEST_BUILD/tests/$1" ${size:+"$size"} >"$log" 2>&1 </dev/null
    status=$?
}
size=

# forms NAME PROGRAM N MAXSIZE SUPERNODES SKIPPED LAUNCHER-ARGUMENT...: all rules hold, and so many are skipped.
forms() {
    local name=$1 wrong=''
    job "$2" "$3" "$4" "${@:7}"
    [ $status -eq 0 ] || wrong=", status $status"
    grep -q "^# supernodes: $5\$" "$log" || wrong+=", not $5 supernodes"
    [ "$(grep -c '# SKIP' "$log")" = "$6" ] || wrong+=", not $6 rules skipped"
    ! grep -q '^not ok' "$log" && grep -q '^1\.\.[1-9]' "$log" || wrong+=", rules broken"
    tap_ok "$([ -z "$wrong" ]; echo $?)" "$name${wrong:+ (${wrong#, })}"
    [ -z "$wrong" ] || tap_tail "$log"
}

for conduit in $conduits; do
    for mode in seq par; do
        [ -x "$TEST_BUILD/tests/testpshm-$conduit-$mode" ] || continue
        forms "$conduit $mode: the processes of a host share memory" "testpshm-$conduit-$mode" 3 0 1 0
    done
    forms "$conduit: GASNET_SUPERNODE_MAXSIZE=2" "testpshm-$conduit-seq" 4 2 2 0
    forms "$conduit: GASNET_SUPERNODE_MAXSIZE=1" "testpshm-$conduit-seq" 2 1 2 10
done

# puts RANK: of it, to all peers.
puts() {
    awk -v rank="$1" '$1 == rank && ($2 == "all" || $2 == "-") && $3 == "puts" { print $4 }' "$tap_scratch/stats"
}
for conduit in $conduits; do
    rm -f "$tap_scratch/stats"
    GASNET_STATSFILE=$tap_scratch/stats GASNET_SUPERNODE_MAXSIZE=2 timeout -k 2 90 "$TEST_BUILD/gasnetrun_$conduit" -n 4 \
        "$TEST_BUILD/tests/bench/crowd-$conduit-seq" barrier 100 >"$log" 2>&1 </dev/null
    [ $? -eq 0 ] && [ "$(puts 1)$(puts 3)" = 00 ] && [ "$(puts 0)" -gt 0 ] && [ "$(puts 2)" -gt 0 ]
    result=$?
    tap_ok $result "$conduit: of each supernode one process has the barrier's messages ($(puts 0) $(puts 1) $(puts 2) $(puts 3))"
    [ $result -eq 0 ] || tap_tail "$log"
done
forms "two of three, and one by itself" testpshm-ibv-seq 3 2 2 10
forms "one process" testpshm-ibv-seq 1 0 1 10

# Ranks that see no other's processes.
if unshare --fork --pid --mount-proc true 2>/dev/null; then
    forms "ranks in PID namespaces of their own: no supernode, and no failure" testpshm-ibv-seq 2 0 2 10 \
        unshare --fork --kill-child --pid --mount-proc
    # shellcheck disable=SC2016 # for the wrapper's shell
    forms "one of three is in such a namespace" testpshm-ibv-seq 3 0 2 10 bash -c \
        'mkdir '"$tap_scratch"'/first 2>/dev/null && exec unshare --fork --kill-child --pid --mount-proc "$@"; exec "$@"' wrapper
    forms "IPC namespaces are of no importance" testpshm-ibv-seq 2 0 1 0 unshare --ipc
else
    tap_skip "ranks in namespaces of their own" "unshare cannot make them here"
fi

as_user=(setpriv --reuid=65534 --regid=65534 --clear-groups --bounding-set=-all --inh-caps=-all)
if "${as_user[@]}" test -x "$TEST_BUILD/tests/testpshm-ibv-seq" 2>/dev/null; then
    log=$tap_scratch/user.log
    (cd / && HOME=/nonexistent GASNET_SUPERNODE_MAXSIZE=0 timeout -k 2 60 "${as_user[@]}" "$TEST_BUILD/gasnetrun_ibv" -n 2 \
        "$TEST_BUILD/tests/testpshm-ibv-seq") >"$log" 2>&1 </dev/null
    grep -q '^# supernodes: 1$' "$log" && ! grep -qE '^not ok|SKIP' "$log" && grep -q '^1\.\.' "$log"
    tap_ok $? "the processes of a user without rights share memory"
    log=$TEST_LOG/pshm.log
else
    tap_skip "a user without rights" "setpriv cannot become another user here, or it cannot read the build tree"
fi

# ---- limits

# fails NAME WORDS N LAUNCHER-ARGUMENT...: the job ends with one error, which has the words.
fails() {
    local wrong=''
    job testpshm-ibv-seq "$3" 0 "${@:4}"
    [ $status -ne 0 ] && [ $status -lt 124 ] || wrong=", status $status"
    [ "$(grep -c 'FATAL ERROR' "$log")" = 1 ] || wrong+=", $(grep -c 'FATAL ERROR' "$log") errors"
    grep -qE "FATAL ERROR \(ranks? .*$2" "$log" || wrong+=", without the words"
    tap_ok "$([ -z "$wrong" ]; echo $?)" "$1${wrong:+ (${wrong#, })}"
    [ -z "$wrong" ] || tap_tail "$log"
}
# The device itself takes more than a gigabyte of address space.  Segments of 1 GB: there is room for one.
size=1024
export GASNET_PHYSMEM_MAX=64G GASNET_PHYSMEM_NOPROBE=1
# shellcheck disable=SC2016 # for the wrapper's shell
fails "no room for the neighbours' segments is an error in words" \
    'cannot map the segments of the 3 processes that share memory here, 31[0-9]* KB: .*ulimit -v.*GASNET_SUPERNODE_MAXSIZE=1' 3 \
    bash -c 'ulimit -v 2600000; exec "$@"' wrapper
unset GASNET_PHYSMEM_MAX GASNET_PHYSMEM_NOPROBE

# ---- the end

# Processes that map or hold a memory file of the library.
holders() { grep -ls '/memfd:gasnet' /proc/[0-9]*/maps 2>/dev/null | wc -l; }
marked() { grep -lsz "^PSHM_MARK=$tap_scratch\$" /proc/[0-9]*/environ | sed 's|/proc/||; s|/environ||'; }
shm_before=$(find /dev/shm -mindepth 1 2>/dev/null | sort)
size=hold
PSHM_MARK=$tap_scratch job testpshm-ibv-seq 3 0 2>/dev/null &
waiter=$!
# The log is new with each job; the watchdog of the program ends one that never comes so far.
while kill -0 $waiter 2>/dev/null && [ "$(grep -cs '^# holding' "$log")" != 3 ]; do sleep 0.05; done
tap_ok "$([ "$(grep -c '^# holding' "$log")" = 3 ]; echo $?)" "a job that stays"
tap_ok "$([ "$(holders)" -ge 3 ]; echo $?)" "its segments are in a memory file"
if "${as_user[@]}" test -x "$TEST_BUILD/tests/testpshm-ibv-seq" 2>/dev/null; then
    visitor=$tap_scratch/visitor.log
    (cd / && HOME=/nonexistent GASNET_SUPERNODE_MAXSIZE=0 timeout -k 2 60 "${as_user[@]}" "$TEST_BUILD/gasnetrun_ibv" -n 2 \
        "$TEST_BUILD/tests/testpshm-ibv-seq") >"$visitor" 2>&1 </dev/null
    tap_ok "$(grep -q '^# supernodes: 1$' "$visitor" && ! grep -qE '^not ok|SKIP' "$visitor"; echo $?)" \
        "meanwhile another user has a job of its own"
    # shellcheck disable=SC2016,SC2046 # for that user's shell; words
    seen=$("${as_user[@]}" bash -c 'for pid; do
        ls "/proc/$pid/fd" "/proc/$pid/map_files"; head -c 1 "/proc/$pid/maps"; : <"/proc/$pid/mem" && echo "$pid"
    done 2>/dev/null' - $(marked))
    tap_ok "$([ -z "$seen" ]; echo $?)" "and can open no memory of the first${seen:+ ($seen)}"
else
    tap_skip "a job of another user" "setpriv cannot become another user here, or it cannot read the build tree"
fi
open=$(for pid in $(marked); do find "/proc/$pid/fd" -lname '/memfd:gasnet*' 2>/dev/null; done)
tap_ok "$([ -z "$open" ]; echo $?)" "which is open in no process${open:+ ($open)}"
# shellcheck disable=SC2046 # words
kill -KILL $(marked) 2>/dev/null
wait $waiter
# Among the killed is the one that the shell waits for; the others may still be ending.
for ((tries = 0; tries < 200; tries++)); do [ -n "$(marked)" ] || break; sleep 0.05; done
tap_ok "$([ -z "$(marked)" ]; echo $?)" "all processes killed at once are gone"
shm_after=$(find /dev/shm -mindepth 1 2>/dev/null | sort)
tap_ok "$([ "$shm_before" = "$shm_after" ]; echo $?)" "and nothing is left in /dev/shm"
tap_end
