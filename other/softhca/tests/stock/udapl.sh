# udapl.sh - Debian's uDAPL programs, over libdaploscm, which connects through TCP, and libdaploucm,
# which does so through datagrams.
#
# Sourced by stock.sh.  dtest compares data of writes, reads and messages, dtestx the results of
# atomics and immediate data, dapltest -V all data of a transaction.
# shellcheck shell=bash disable=SC2154,SC2034 # lib.sh sets and uses them

control=15828 # the port where dtest's servers send a client their address
provider=soft-scm
direct=46248  # where dtestsrq's do: libdaploscm's port of its service

dat_conf() {
    printf 'soft-%s u2.0 nonthreadsafe default libdaplo%s.so.2 dapl.2.0 "softhca0 1" ""\n' scm scm ucm ucm \
        >"$tap_scratch/dat.conf"
    export DAT_OVERRIDE=$tap_scratch/dat.conf
}

passed_both() { grep -q PASSED "$log" && grep -q PASSED "$log.server"; }
completed() { grep -q 'Test Complete' "$log" && grep -qE 'ALL [0-9]+ CONNECTED' "$log.server"; }
connected() { grep -qE 'Connections: .* Num=[1-9]' "$log"; }
validated() { grep -qE '^Total WQE +: +[1-9]' "$log"; }
timed() { grep -qE '^raw: ' "$log"; }

dtest() { # CHECK PORT PROGRAM ARGS...
    local also=$1 at=$2 program=$3
    local -x PATIENT=$tap_scratch/listens LD_PRELOAD=$tap_scratch/patient.so
    shift 3
    rm -f "$PATIENT"
    serve "$at" "$program" -P "$provider" "$@" || tap_tail "$log.server"
    served "$program -P $provider $*" "$program" -P "$provider" "$@" -h localhost
}

# A server whose client was the first to disconnect may find an endpoint without a connection; then
# it says "Error disconnect_eps" and ends, having exchanged everything, with status 0.
dtest_many() { # CHECK PORT PROGRAM ARGS...
    local complaint='ERR|softhca:'
    dtest "$@"
}

# One server for several clients, the last of which ends it.
dapltest_client() { # -T TEST ARGS...
    local wrong
    soft dapltest "$1" "$2" -s localhost -D soft-scm "${@:3}" >"$log" 2>&1 &&
        ! grep -qE "$complaint" "$log" && { [ -z "$also" ] || $also; }
    wrong=$?
    tap_ok $wrong "dapltest $*"
    [ $wrong -eq 0 ] || { tap_tail "$log" && tap_tail "$log.server"; }
}

dapltest_all() {
    local also
    serve 63000 dapltest -T S -D soft-scm
    also=validated
    dapltest_client -T T -i 100 -V client SR 4096 2 server SR 4096 2
    dapltest_client -T T -i 100 -V client RR 65536 2 server RR 4096 2 client SR 1024 4 server SR 4096 2
    dapltest_client -T T -i 50 -V -t 2 -w 4 client RW 4096 1 server RW 2048 4 client SR 1024 4 \
        server SR 4096 2 client SR 1024 3 -f server SR 2048 1 -f
    dapltest_client -T T -i 100 -V -P client RW 100000 1 server RW 256 3 client SR 64 1 server SR 257 1
    also=timed
    dapltest_client -T P -i 200 RW 4096 2
    dapltest_client -T P -i 200 -m p RR 4096 2
    also=
    served "dapltest -T Q: the server goes" dapltest -T Q -s localhost -D soft-scm
}

# Creates objects of each kind, up to a number, in one process.
dapltest_limits() {
    local wrong
    soft dapltest -T L -D soft-scm -m 100 >"$log" 2>&1
    wrong=$?
    tap_ok $wrong "dapltest -T L -m 100"
    [ $wrong -eq 0 ] || tap_tail "$log"
}

family_udapl() {
    need dapl2-utils dtest dtestx dtestcm dtestsrq dapltest || return 0
    if [ "$STOCK_PRIVATE_NETWORK" != 1 ]; then
        tap_skip "uDAPL" "no network namespace, and these programs' ports cannot be chosen"
        return 0
    fi
    if [ ! -e /usr/include/dat2/udat.h ]; then
        tap_skip "uDAPL" "no dat2/udat.h for patient.c (Debian: apt-get install libdapl-dev)"
        return 0
    fi
    "${CC:-cc}" -O2 -shared -fPIC -o "$tap_scratch/patient.so" "$here/patient.c" -ldl
    dat_conf
    export DAPL_SCM_NETDEV=lo
    dtest passed_both $control dtest
    dtest passed_both $control dtest -c -b 10000
    dtest passed_both $control dtest -p -b 100000
    dtest passed_both $control dtest -D -W -b 1000
    dtest passed_both $control dtest -b 1000000 -B 5
    dtest passed_both $control dtestx
    dtest_many connected $control dtestcm -c 100
    dtest_many connected $control dtestcm -w -c 20
    dtest_many completed $direct dtestsrq
    dtest_many completed $direct dtestsrq -c 4 -B 8 -t 5
    dtest_many completed $direct dtestsrq -u
    dapltest_all
    dapltest_limits
    provider=soft-ucm
    dtest passed_both $control dtest -b 10000
    dtest passed_both $control dtestx
}
