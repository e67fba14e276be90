#!/bin/bash
# hardship.sh - jobs in poor surroundings: little lockable memory, little or no /dev/shm, no right
# to look into other processes, few file descriptors, odd standard streams.
#
# Each must either work, or end soon with a message that names the limit and the remedy, non-zero
# status and no process left behind.  All changes are made inside private namespaces and subshells.
# family: hardship
# shellcheck disable=SC2016 # the scripts in quotes are expanded by the shells that run them
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/../tap.sh" || exit 1

conduit=${TEST_CONDUIT:-ibv}
mode=${TEST_MODES:-seq}
mode=${mode%% *}
spawner=${TEST_SPAWNERS:-ssh}
spawner=${spawner%% *}
bound=60
export TEST_HANG=45 TEST_SEED=${TEST_SEED:-11}

# Jobs of two unless `prepare` sets procs: one of puts and gets with a large segment, one of messages.
run='timeout -k 2 $bound "$TEST_LAUNCH" -spawner="$spawner" -n ${procs:-2} "$TEST_BUILD/tests/$program-$conduit-$mode"'
export conduit mode spawner bound

for needed in "$TEST_LAUNCH" "$TEST_BUILD/tests/"{testputget,testam}"-$conduit-$mode" "$TEST_BUILD/tests/noptrace"; do
    [ -x "$needed" ] || { tap_ok 1 "$needed is not built" && tap_end; }
done

# endure NAME REMEDY MUST PREPARE [UNDER]: runs `PREPARE; UNDER job` and judges it.  REMEDY is a
# pattern that a refusal must contain; MUST is `work` where a refusal is not good enough.
endure() {
    local name=$1 remedy=$2 must=$3 prepare=$4 under=${5:-} log status wrong marker
    for program in testputget testam; do
        export program
        log=$TEST_LOG/hardship_${name//[^A-Za-z0-9]/_}_$program.log
        marker="hardship.$$.$tap_count" wrong=''
        TEST_MARKER=$marker bash -c "$prepare"$'\n'"exec $under $run" >"$log" 2>&1 </dev/null
        status=$?
        no_orphans "$marker" 3 || wrong="; processes left behind"
        if [ $status -eq 77 ]; then
            tap_skip "$name, $program" "$(tail -n 1 "$log")"
            continue
        elif [ $status -eq 124 ] || [ $status -eq 137 ]; then
            wrong="$wrong; hangs"
        elif [ $status -ne 0 ]; then
            if grep -q '^not ok' "$log"; then wrong="$wrong; runs, with wrong results"; fi
            if [ "$must" = work ]; then wrong="$wrong; status $status, where it should work"; fi
            grep -qiE -- "$remedy" "$log" || wrong="$wrong; refuses without naming /$remedy/"
            [ "$(grep -vc '^$' "$log")" -le 20 ] || wrong="$wrong; a flood of messages"
        elif ! grep -q '^1\.\.[1-9]' "$log"; then
            wrong="$wrong; status 0 without results"
        fi
        if [ $status -eq 0 ]; then tap_note "works"; else tap_note "refused: $(grep -m 1 -iE -- "$remedy" "$log")"; fi
        tap_ok "$([ -z "$wrong" ]; echo $?)" "$name, $program${wrong:+ (${wrong#; })}"
        if [ -n "$wrong" ]; then tap_tail "$log"; fi
    done
}

unprivileged='setpriv --reuid=65534 --regid=65534 --clear-groups --bounding-set=-all --inh-caps=-all'
nolock='setpriv --bounding-set=-ipc_lock --inh-caps=-ipc_lock'
# Programs run in a private mount namespace after `mounts`.
namespace='unshare -m true || { echo "no mount namespaces here"; exit 77; }'
inside='unshare -m bash -c "$mounts && exec \"\$@\"" inside'

endure "memlock 64 KB" 'ulimit -l|memlock' either 'ulimit -l 64'
endure "memlock 64 KB without CAP_IPC_LOCK" 'ulimit -l|memlock' either \
    "ulimit -l 64; $nolock true || { echo 'no setpriv'; exit 77; }" "$nolock"
endure "another user, without any rights" 'permission|denied' either "
    $unprivileged test -x \"\$TEST_BUILD/tests/testam-\$conduit-\$mode\" ||
        { echo 'the build tree cannot be read by another user, or no setpriv'; exit 77; }
    export HOME=/nonexistent" "$unprivileged"

shm() { # NAME MUST MOUNTS
    endure "$1" 'shm' "$2" "$namespace; export mounts='$3'" "$inside"
}
shm "container /dev/shm of 64 MB" work 'mount -t tmpfs -o size=64m none /dev/shm'
shm "/dev/shm of 256 KB" either 'mount -t tmpfs -o size=256k none /dev/shm'
shm "full /dev/shm" either \
    'mount -t tmpfs -o size=1m none /dev/shm && { head -c 2m /dev/zero >/dev/shm/full || true; } 2>/dev/null'
shm "read-only /dev/shm" either 'mount -t tmpfs -o ro none /dev/shm'
shm "no /dev/shm" either 'd=$(mktemp -d) && mount -t tmpfs none $d &&
    for f in null zero full random urandom tty; do touch $d/$f && mount --bind /dev/$f $d/$f; done &&
    mkdir $d/pts && ln -s /proc/self/fd $d/fd && mount --bind $d /dev && test ! -e /dev/shm'

noptrace=$TEST_BUILD/tests/noptrace
endure "no right to read other processes (container seccomp)" 'ptrace|process_vm|permi' either \
    "$noptrace true || { echo 'no seccomp filters here'; exit 77; }" "$noptrace"
endure "64 file descriptors" 'ulimit -n|descriptor|open files' either 'ulimit -n 64'
endure "12 file descriptors" 'ulimit -n|descriptor|open files' either 'ulimit -n 12'
endure "16 processes under a soft limit of 4 descriptors" 'none' work 'procs=16; ulimit -Sn 4'
endure "16 processes under a hard limit of 53 descriptors" 'ulimit -Hn' either 'procs=16; ulimit -n 53'
# A limit that all ranks meet is reported by one of them.
log=$TEST_LOG/hardship_one_line.log marker=hardship.$$.one
TEST_MARKER=$marker bash -c 'ulimit -n 53; exec "$@"' limit timeout -k 2 $bound "$TEST_LAUNCH" -spawner="$spawner" \
    -n 16 "$TEST_BUILD/tests/testam-$conduit-$mode" >"$log" 2>&1 </dev/null
[ $? -eq 1 ] && [ "$(wc -l <"$log")" -eq 1 ] && grep -q '16 processes take up to [0-9]* open files' "$log" &&
    no_orphans "$marker" 3
tap_ok $? "16 processes under a hard limit of 53 descriptors: one line states the number needed"
# The memory that a connection takes in each of its processes, and that a process takes without any; on the software device.
pages() { # N: touched by gasnet_init on rank 0 of N
    SOFTHCA=on timeout -k 2 $bound "$TEST_LAUNCH" -n "$1" "$TEST_BUILD/tests/teststart-$conduit-seq" </dev/null |
        sed -n 's/^pages //p'
}
few=$(pages 4) more=$(pages 20)
tap_note "pages touched at start-up: $few with 3 peers, $more with 19"
tap_ok "$([ "${few:-9999}" -lt 400 ]; echo $?)" "start-up touches few pages of memory"
tap_ok "$([ -n "$more" ] && [ $((more - few)) -lt $((16 * 16)) ]; echo $?)" "and fewer than 16 for each connection"

endure "TMPDIR that does not exist" 'TMPDIR' either 'export TMPDIR=/nonexistent/dir'
endure "almost empty environment" 'PATH|environ' work '' \
    "env -i PATH=/usr/bin:/bin TEST_HANG=45 TEST_MARKER=\$TEST_MARKER"
endure "standard input closed" 'stdin|descriptor' work 'exec <&-'
for conduit in ibv vapi portals; do
    [ -x "$TEST_BUILD/gasnetrun_$conduit" ] || continue
    TEST_LAUNCH=$TEST_BUILD/gasnetrun_$conduit
    endure "$conduit without a network interface, not even the loopback" 'none' work \
        'unshare -n true || { echo "no network namespaces"; exit 77; }' 'unshare -n'
done
conduit=${TEST_CONDUIT:-ibv} TEST_LAUNCH=$TEST_BUILD/gasnetrun_$conduit
endure "one CPU" 'cpu' work 'command -v taskset >/dev/null || { echo "no taskset"; exit 77; }' 'taskset -c 0'
tap_end
