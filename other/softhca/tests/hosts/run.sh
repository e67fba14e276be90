#!/bin/bash
# run.sh - the software device between hosts: the rules and random operations of one host, and
# rules that apply only between hosts. TAP on stdout.
#
# The hosts are network namespaces, joined by a router in another one. Without the right to make them,
# the hosts are addresses of this machine, and tests that cut a cable are skipped.
# SOAK_SECONDS (default 3) and SOAK_SEED are passed to the random tests.
# family: softhca-hosts
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/../../../../tests/tap.sh" || exit 1
. "$(dirname "$0")/../../../../tests/netns.sh"
cd "$TEST_BUILD" || exit 1
export SOFTHCA=on
unset SOFTHCA_DEVICES SOFTHCA_FAULTS SOFTHCA_HOST SOFTHCA_SECRET

# Three hosts by address, and the variables that describe them to the programs.
if why=$(netns_make 3 2>&1); then
    cables=1
    SOFTHCA_HOSTS=10.77.1.1,10.77.2.1,10.77.3.1
    PAIR_NETNS=$(netns_path 1),$(netns_path 2),$(netns_path 3)
    export SOFTHCA_HOSTS PAIR_NETNS
else
    cables=0
    export SOFTHCA_HOSTS=127.0.0.1,127.0.0.2,127.0.0.3 PAIR_HOSTS=127.0.0.1,127.0.0.2,127.0.0.3
    tap_note "no network namespaces (${why%%$'\n'*}): the hosts are addresses of this machine"
fi

run() { tap_program softhca-hosts "$@"; } # LABEL COMMAND...

run "between hosts" ./softhca_rules
run "random" ./softhca_soak "${SOAK_SECONDS:-3}" ${SOAK_SEED:+"$SOAK_SEED"}
export SOAK_CUTS=1
run "random, connections cut" ./softhca_soak "${SOAK_SECONDS:-3}" ${SOAK_SEED:+"$SOAK_SEED"}
unset SOAK_CUTS
SOFTHCA_SECRET='open sesame' run "with a secret" ./softhca_rules transfer

# The link of the second host is down for a second meanwhile: no message is lost or duplicated.
pull_cable() { # SECONDS
    sleep 1.5 # the moment does not matter
    netns_cable 2 down
    sleep "$1"
    netns_cable 2 up
}
if [ $cables = 1 ]; then
    pull_cable 1 &
    run "random, cable pulled and put back" ./softhca_soak 4
    wait
else
    tap_skip "a cable that is pulled" "no network namespaces"
fi

# A server on the first host and a client on the second; both must succeed.
on_host() { # N COMMAND...
    local host=$1
    shift
    if [ $cables = 1 ]; then
        netns_on "$host" "$@"
    else
        SOFTHCA_HOST=127.0.0.$host "$@"
    fi
}
library=$TEST_BUILD/.libs/libsofthca.so
address=${SOFTHCA_HOSTS%%,*}
pingpong() { # PROGRAM ARGS...
    local program=$1 log=$TEST_LOG/softhca-hosts-pingpong.log server status
    shift
    LD_PRELOAD=$library on_host 1 timeout 60 "$program" "$@" >"$log" 2>&1 &
    server=$!
    until on_host 1 grep -q ': [0-9A-F]*:4853 .* 0A ' /proc/net/tcp /proc/net/tcp6; do # port 18515
        kill -0 $server 2>/dev/null || break
        sleep 0.02 # between two looks
    done
    LD_PRELOAD=$library on_host 2 timeout 60 "$program" "$@" "$address" >"$log.client" 2>&1
    status=$?
    wait $server || status=1
    tap_ok $status "$program $* between hosts"
    if [ $status -eq 0 ]; then
        tap_note "$(sed -n 's/.* = \(.*usec.iter\)/\1/p' "$log.client")"
    else
        sed -i '/ address:/d' "$log" "$log.client" # their messages come first: stdout has a buffer
        tap_tail "$log"
        tap_tail "$log.client"
    fi
}
if command -v ibv_rc_pingpong >/dev/null; then
    pingpong ibv_rc_pingpong -c
    pingpong ibv_rc_pingpong -e -c
    pingpong ibv_rc_pingpong -c -s 1000000 -n 100
    pingpong ibv_rc_pingpong -s 64
    pingpong ibv_uc_pingpong -c
    pingpong ibv_ud_pingpong -c
    pingpong ibv_srq_pingpong -c
else
    tap_skip "stock programs" "ibv_rc_pingpong not found (Debian: apt-get install ibverbs-utils)"
fi

# Invalid lists are reported in one line, and no device can be opened.
refused() { # PATTERN VARIABLE=VALUE...
    local pattern=$1 log=$TEST_LOG/softhca-hosts-refused.log
    shift
    PAIR_NETNS='' PAIR_HOSTS='' env -u PAIR_NETNS -u PAIR_HOSTS "$@" ./softhca_rules device >"$log" 2>&1
    grep -q '^not ok' "$log" && grep -qE "^softhca: $pattern" "$log"
    tap_ok $? "it is said: $pattern"
    grep -qE "^softhca: $pattern" "$log" || tap_tail "$log"
}
printf 'a b\n' >"$tap_scratch/hosts"
refused 'SOFTHCA_HOSTS: none of its 2 hosts has an address of this host' SOFTHCA_HOSTS=240.0.0.1,240.0.0.2
refused 'SOFTHCA_HOSTS: host 1, localhost, and host 2, 127.0.0.1, are one' SOFTHCA_HOSTS=localhost,127.0.0.1
refused 'SOFTHCA_HOSTS: host 2, no-such-host.invalid, has no address' SOFTHCA_HOSTS=127.0.0.1,no-such-host.invalid
refused "SOFTHCA_HOSTS: cannot read $tap_scratch/none" "SOFTHCA_HOSTS=$tap_scratch/none"
refused "SOFTHCA_HOSTS: $tap_scratch/hosts: line 1, 'a b', is no host name" "SOFTHCA_HOSTS=$tap_scratch/hosts"
refused 'SOFTHCA_HOST=240.0.0.9 is none of the hosts' SOFTHCA_HOSTS=127.0.0.1 SOFTHCA_HOST=240.0.0.9
tap_end
