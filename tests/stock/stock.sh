#!/bin/bash
# stock.sh - the unmodified binaries of Debian's ibverbs-utils on the software device, preloaded.
# TAP on stdout; nothing may be left behind.
#
# BUILDDIR (or top_builddir) names the build tree, default: the present directory.
# shellcheck source=tests/tap.sh

export TEST_BUILD=${TEST_BUILD:-${BUILDDIR:-${top_builddir:-$PWD}}}
. "$(dirname "${BASH_SOURCE[0]}")/../tap.sh"

tap_private_shm "$0" "$@"
lib=$TEST_BUILD/.libs/libsofthca.so
if ! command -v ibv_rc_pingpong >/dev/null; then
    tap_skip "stock programs" "ibv_rc_pingpong not found (Debian: apt-get install ibverbs-utils)"
    tap_end
fi
[ -e "$lib" ] || { tap_ok 1 "$lib is built" && tap_end; }

log=$TEST_LOG/stock.log
marker=stock-$$
export SOFTHCA=on

bare() { TEST_MARKER=$marker LD_PRELOAD=$lib exec "$@"; } # for the background: $! is the program
soft() { TEST_MARKER=$marker LD_PRELOAD=$lib timeout 30 "$@"; }
shm_files() { find /dev/shm -mindepth 1 2>/dev/null | sort; }

says() { # NAME PATTERN: what the last program printed
    grep -qE "$2" "$log"
    tap_ok $? "$1"
}

files_before=$(shm_files)

soft ibv_devices >"$log" 2>&1
tap_ok $? "ibv_devices runs"
says "ibv_devices lists softhca0 with its GUID" '^ *softhca0[[:space:]]+[0-9a-f]{16}$'

soft ibv_devinfo -v >"$log" 2>&1
tap_ok $? "ibv_devinfo -v runs"
says "it names the device" '^hca_id:[[:space:]]+softhca0$'
says "a firmware version" 'fw_ver:[[:space:]]+[0-9]'
says "a node GUID" 'node_guid:[[:space:]]+[0-9a-f]{4}(:[0-9a-f]{4}){3}$'
says "one port" 'phys_port_cnt:[[:space:]]+1$'
says "that is active" 'state:[[:space:]]+PORT_ACTIVE'
says "with InfiniBand below" 'link_layer:[[:space:]]+InfiniBand'
says "a LID" 'port_lid:[[:space:]]+[1-9]'
says "a GID" 'GID\[ *0\]:[[:space:]]+fe80:'
says "atomics" 'atomic_cap:[[:space:]]+ATOMIC_HCA'
says "a limit of queue pairs" 'max_qp:[[:space:]]+[1-9][0-9]+$'

SOFTHCA=off soft ibv_devices >"$log" 2>&1
! grep -q softhca0 "$log"
tap_ok $? "SOFTHCA=off hides it"
SOFTHCA=maybe soft ibv_devices >"$log" 2>&1
says "a wrong SOFTHCA is named" "SOFTHCA: 'maybe' is none of auto"

# A server and a client; both must succeed and the client's bytes must be as expected.
pingpong() { # NAME ARGS...
    local name=$1 port status
    shift
    for _ in 1 2 3 4 5; do # until a port is free
        port=$((20000 + RANDOM % 20000))
        soft ibv_rc_pingpong -p $port "$@" >"$log.server" 2>&1 &
        local server=$!
        until grep -q "$(printf ':%04X 00000000.* 0A ' $port)" /proc/net/tcp /proc/net/tcp6 2>/dev/null; do
            kill -0 $server 2>/dev/null || continue 2
            sleep 0.02
        done
        soft ibv_rc_pingpong -p $port "$@" localhost >"$log" 2>&1
        status=$?
        wait $server || status=1
        tap_ok $status "ibv_rc_pingpong $name"
        if [ $status -eq 0 ]; then
            tap_note "$(sed -n 's/.* = \(.*usec.iter\)/\1/p' "$log")"
        else
            tap_tail "$log"
            tap_tail "$log.server"
        fi
        return
    done
    tap_ok 1 "ibv_rc_pingpong $name (no free port)"
    tap_tail "$log.server"
}

pingpong "polling"
pingpong "sleeping on events" -e
pingpong "with validated data" -c
pingpong "sleeping, with validated data" -e -c
for size in 1 64 256 257 4096 100000 1000000; do
    pingpong "$size bytes, validated" -c -s $size -n 200
done
pingpong "64 bytes, 20000 times" -s 64 -n 20000
pingpong "the new post-send calls" -N -s 64
pingpong "the new post-send calls, on events, validated" -N -e -c
pingpong "deep receive queue" -r 1000 -n 2000
pingpong "one receive at a time" -r 1 -n 200

# Both are killed in the midst of it: nothing may stay. (Were only one killed, the other would wait
# for its message for ever, as it would on hardware.)
killed() {
    local port server client
    for _ in 1 2 3 4 5; do
        port=$((20000 + RANDOM % 20000))
        bare ibv_rc_pingpong -p $port -n 100000000 >"$log.server" 2>&1 &
        server=$!
        until grep -q "$(printf ':%04X 00000000.* 0A ' $port)" /proc/net/tcp /proc/net/tcp6 2>/dev/null; do
            kill -0 $server 2>/dev/null || continue 2
            sleep 0.02
        done
        bare ibv_rc_pingpong -p $port -n 100000000 localhost >"$log" 2>&1 &
        client=$!
        # It has run for a second of processor time: by then it is exchanging messages.
        until [ "$(ps -o cputimes= -p $client | tr -d ' ')" -ge 1 ] 2>/dev/null; do
            kill -0 $client 2>/dev/null || return 1
            sleep 0.02
        done
        kill -KILL $client $server
        wait $client $server 2>/dev/null
        return 0
    done
    return 1
}
killed
tap_ok $? "two programs run until they are killed"

no_orphans "$marker" 5
tap_ok $? "no process is left"
if [ "$TEST_PRIVATE_SHM" = 1 ]; then
    [ "$(shm_files)" = "$files_before" ]
    tap_ok $? "no file is left in /dev/shm"
else
    tap_skip "no file is left in /dev/shm" "no mount namespace"
fi
tap_end
