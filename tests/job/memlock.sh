#!/bin/bash
# memlock.sh - the limit on locked memory (ulimit -l) of an ordinary user, on a device that registrations are charged
# for: every conduit starts at 8 MB, the largest segment can be attached and used, and what is refused names the limit.
# Start-up registers and touches little, and nothing as a trial.
# family: memlock
# family: memlock-portals last TEST_CONDUIT=portals
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/../tap.sh" || exit 1

export SOFTHCA=on SOFTHCA_MEMLOCK=1
unset SOFTHCA_DEVICES
program=$TEST_BUILD/tests/testlimits-$TEST_CONDUIT log=$TEST_LOG/memlock_$TEST_CONDUIT.log
# The limit does not hold for a process with CAP_IPC_LOCK.
as_user=(setpriv --bounding-set=-ipc_lock --inh-caps=-ipc_lock)
"${as_user[@]}" true 2>/dev/null || as_user=()

limited() { # KB|- MODE N WHAT [ENVIRONMENT...]: sets `status`
    local kb=$1 mode=$2 n=$3 what=$4
    shift 4
    ([ "$kb" = - ] || ulimit -l "$kb"
        [ "$kb" != - ] || as_user=()
        exec env "$@" timeout -k 2 60 "${as_user[@]}" "$TEST_LAUNCH" -n "$n" "$program-$mode" "$what") >"$log" 2>&1 </dev/null
    status=$?
}

right() { # TEXT
    [ $status -eq 0 ] && grep -q '^ok 1' "$log"
    tap_ok $? "$1"
    [ $status -eq 0 ] || tap_tail "$log"
}

one_message() { # TEXT PATTERN
    local bad=''
    [ $status -ne 0 ] && [ $status -ne 124 ] || bad+=", status $status"
    [ "$(grep -c 'FATAL ERROR' "$log")" = 1 ] || bad+=", not one fatal error"
    grep -qE "FATAL ERROR.*$2" "$log" || bad+=", without /$2/"
    tap_ok "$([ -z "$bad" ]; echo $?)" "$1${bad:+ ($bad)}"
    [ -z "$bad" ] || tap_tail "$log"
}

# value NAME: of the line that testlimits prints
value() {
    local number
    number=$(sed -n "s/^limits.* $1=\([0-9]*\).*/\1/p" "$log")
    echo "${number:-0}"
}

# ---- what start-up takes, in KB, with the buffers of queues, and a connection to each peer: more than this was not asked for

for n in 1 2 16; do
    limited - seq "$n" page
    case $TEST_CONDUIT-$n in portals-1) most=832 ;; portals-*) most=10880 ;; *-1) most=64 ;; *-2) most=896 ;; *) most=11264 ;; esac
    [ $status -eq 0 ] && [ "$(value charged)" = 1 ] && [ "$(value registered)" -gt 0 ] && [ "$(value registered)" -le $most ]
    tap_ok $? "n=$n, a segment of one page: $(value registered) KB registered, at most $most"
    [ "$(value touched)" -gt 0 ] && [ "$(value touched)" -le 4096 ]
    tap_ok $? "n=$n, a segment of one page: $(value touched) KB touched, at most 4096"
done

# ---- 8 MB: a common default

for mode in seq par; do
    for n in 1 2 16; do
        limited 8192 $mode $n most GASNET_QUIET=1
        right "8192 KB, n=$n, $mode: the largest segment, $(($(value segment) / 1024)) KB, is attached and used"
    done
done
limited 8192 seq 2 page
[ "$(grep -c 'WARNING.*the largest segment is [0-9]* KB: the limit on locked memory is 8192 KB.*ulimit -l' "$log")" = 1 ]
tap_ok $? "8192 KB: one warning says what the largest segment is, and why"
limited 8192 seq 2 page GASNET_MAX_SEGSIZE=1M
[ $status -eq 0 ] && ! grep -q WARNING "$log"
tap_ok $? "8192 KB: no warning to a user who asks for no more"
limited 8192 seq 2 beyond GASNET_QUIET=1
[ $status -eq 0 ] && grep -q '^ok ' "$log"
tap_ok $? "8192 KB: a transfer of more than is left goes by regions one after the other"
limited 8192 seq 2 most GASNET_PHYSMEM_NOPROBE=1 GASNET_PHYSMEM_MAX=64M
one_message "8192 KB, and a segment that the user vouches for" \
    "cannot register a segment of .*the limit on locked memory is 8192 KB.*ulimit -l"

# ---- 64 KB: too little for any peer; none of the registrations alone exceeds it

for n in 2 16; do
    limited 64 seq $n page
    one_message "64 KB, n=$n: the message names ulimit -l" "ulimit -l"
done
tap_end
