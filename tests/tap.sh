# tap.sh - functions of the test scripts: TAP lines, looking for left-over processes, the launcher.
#
# To be sourced by a bash script in tests/.  TEST_BUILD names the build tree (default: the present
# directory).  Nothing here starts or ends anything by itself.
# shellcheck shell=bash

TEST_BUILD=$(cd "${TEST_BUILD:-.}" && pwd) || exit 1
TEST_SOURCE=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd) || exit 1
# Whose programs and launcher are tested.
TEST_CONDUIT=${TEST_CONDUIT:-ibv}
TEST_LAUNCH=${TEST_LAUNCH:-$TEST_BUILD/gasnetrun_$TEST_CONDUIT}

# A private directory for temporary files; gone when the script ends.
tap_scratch=$(mktemp -d "${TMPDIR:-/tmp}/gasnet-test.XXXXXX") || exit 1
trap 'rm -rf "$tap_scratch"' EXIT

# Logs stay in a build tree; called from elsewhere a script leaves nothing.
if [ -e "$TEST_BUILD/config.status" ]; then
    TEST_LOG=${TEST_LOG:-$TEST_BUILD/tests/log}
else
    TEST_LOG=${TEST_LOG:-$tap_scratch}
fi
mkdir -p "$TEST_LOG" || exit 1
export TEST_BUILD TEST_SOURCE TEST_CONDUIT TEST_LAUNCH TEST_LOG

# The families are about the network, unless they say otherwise: the processes of a host share no memory.  Those of smp must.
export GASNET_SUPERNODE_MAXSIZE=${GASNET_SUPERNODE_MAXSIZE:-1}
if [ "$TEST_CONDUIT" = smp ]; then GASNET_SUPERNODE_MAXSIZE=0; fi

# The library must not need more of completion events than the standard promises.
export SOFTHCA_EVENTS=${SOFTHCA_EVENTS:-strict}

# Builds of the tests: configure and libtool take two thirds of bash's time where sh is dash.
export CONFIG_SHELL=${CONFIG_SHELL:-/bin/sh}

# Portals programs of the tests have a key of their own; that of the user is left alone.
export PTL_KEYFILE=${PTL_KEYFILE:-$tap_scratch/portals.key}

tap_count=0 tap_bad=0

# tap_ok STATUS NAME...: one TAP line.
tap_ok() {
    local status=$1
    shift
    tap_count=$((tap_count + 1))
    if [ "$status" -eq 0 ]; then
        echo "ok $tap_count - $*"
    else
        tap_bad=$((tap_bad + 1))
        echo "not ok $tap_count - $*"
    fi
    return 0
}

tap_skip() { # NAME REASON
    tap_count=$((tap_count + 1))
    echo "ok $tap_count - $1 # SKIP $2"
}

tap_note() { echo "# ${*//$'\n'/$'\n# '}"; }

# Shows the end of a log of a failed test.
tap_tail() { # FILE
    tap_note "log: $1"
    tail -n "${TEST_TAIL:-15}" "$1" | sed 's/^/#   /'
}

# Passes on the lines of a TAP program under one numbering.
tap_program() { # FAMILY LABEL COMMAND...
    local family=$1 label=$2 log line status
    shift 2
    log=$TEST_LOG/$family-${label// /-}.log
    "$@" >"$log" 2>&1
    status=$?
    while read -r line; do
        case $line in
        "ok "*) tap_ok 0 "${line#* - } ($label)" ;;
        "not ok "*) tap_ok 1 "${line#* - } ($label)" ;;
        "#"*) echo "$line" ;;
        esac
    done <"$log"
    grep -q '^1\.\.' "$log" || { tap_ok 1 "$label ended with status $status" && tap_tail "$log"; }
}

# tap_private_shm "$0" "$@": runs the calling script again with a /dev/shm of its own, where that is
# possible: files that stay there are then surely ours.  TEST_PRIVATE_SHM says whether it was.
tap_private_shm() {
    [ -z "$TEST_PRIVATE_SHM" ] || return 0
    local mount='mount -t tmpfs -o size=1g none /dev/shm'
    if unshare -m sh -c "$mount" 2>/dev/null; then
        export TEST_PRIVATE_SHM=1
        rm -rf "$tap_scratch"
        exec unshare -m sh -c "$mount && exec \"\$0\" \"\$@\"" "$@"
    fi
    export TEST_PRIVATE_SHM=0
    tap_note "no mount namespace: /dev/shm is not looked at"
}

# The plan, and the script's exit status: failures, or nothing tested, are errors.
tap_end() {
    echo "1..$tap_count"
    [ "$tap_bad" -eq 0 ] && [ "$tap_count" -gt 0 ]
    exit
}

# Processes whose environment holds TEST_MARKER=$1, other than this script and its shells.
marked_processes() { # MARKER
    grep -lsazE "^TEST_MARKER=$1\$" /proc/[0-9]*/environ 2>/dev/null | sed 's|/proc/||; s|/environ||' |
        while read -r pid; do
            # zombies have an empty environment and do not count here
            [ "$pid" != "$$" ] && [ "$pid" != "$BASHPID" ] && echo "$pid"
        done
}

# Waits until no marked process is left; after SECONDS reports and kills those that are.
no_orphans() { # MARKER SECONDS
    local end=$((SECONDS + $2)) left
    while left=$(marked_processes "$1"); [ -n "$left" ]; do
        if [ $SECONDS -ge "$end" ]; then
            for pid in $left; do
                tap_note "left behind: $(ps -o pid=,stat=,args= -p "$pid")"
                kill -KILL "$pid" 2>/dev/null
            done
            return 1
        fi
        sleep 0.02 # between two looks
    done
    return 0
}

now_ms() { echo $(($(date +%s%N) / 1000000)); }

# tap_job N PROGRAM ARGUMENT...: a job of N processes, and none of them is left; sets `status`, `took` in ms, and `log`.
# shellcheck disable=SC2034
tap_job() {
    local n=$1 script start marker
    script=$(basename "$0" .sh)-$TEST_CONDUIT
    marker=$script.$$.$tap_count
    shift
    log=$TEST_LOG/$script-$tap_count.log
    start=$(now_ms)
    TEST_MARKER=$marker timeout -k 2 120 "$TEST_LAUNCH" -spawner=ssh -n "$n" "$@" >"$log" 2>&1 </dev/null
    status=$?
    took=$(($(now_ms) - start))
    no_orphans "$marker" 3 || status="$status, processes left"
}

# The result of a job, with the end of `log` where it is wrong.
tap_verdict() { # STATUS NAME
    tap_ok "$@"
    [ "$1" -eq 0 ] || tap_tail "$log"
}
