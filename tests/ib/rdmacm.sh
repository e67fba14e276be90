#!/bin/bash
# rdmacm.sh - jobs whose peers are connected by the RDMA connection manager (GASNET_CONNECT), that of the software
# device: on InfiniBand, on RoCE, and on iWARP, whose rules the device enforces.
#
# TEST_MODES as for run-conduit.sh.
# family: rdmacm
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/../tap.sh" || exit 1

export SOFTHCA=on
grep -q 'HAVE_RDMACM = 1' "$TEST_BUILD/Makefile" || { tap_skip "rdmacm" "it is not in this build" && tap_end; }

job() { # N PROGRAM-MODE ARGUMENT...
    tap_job "$1" "$TEST_BUILD/tests/${2/-/-ibv-}" "${@:3}"
}

passes() { # NAME
    [ "$status" = 0 ] && ! grep -q '^not ok' "$log" && grep -q '^1\.\.' "$log"
    tap_verdict $? "$1"
}

# The job ended at once with one line.
says() { # NAME PATTERN
    [ "$status" = 1 ] && [ "$(grep -c 'FATAL ERROR' "$log")" -eq 1 ] && grep -qE "$2" "$log"
    tap_verdict $? "$1"
}

for mode in ${TEST_MODES:-seq par}; do
    for devices in '1x1' '1x1;link=ethernet' '1x1;transport=iwarp'; do
        export SOFTHCA_DEVICES=$devices GASNET_CONNECT=rdmacm
        for n in 2 7; do
            job $n "testconnect-$mode"
            passes "$mode: $devices: $n processes: one computes, all others connect at once"
        done
        job 16 "testconnect-$mode" neighbours
        [ "$status" = 0 ] && [ "$(grep -c '^rank' "$log")" -eq 16 ]
        tap_verdict $? "$mode: $devices: 16 processes connect neighbours alone"
        job 4 "testam-$mode"
        passes "$mode: $devices: Active Messages"
    done
done

mode=${TEST_MODES:-seq}
mode=${mode%% *}
for devices in '1x1' '1x1;transport=iwarp'; do
    SOFTHCA_DEVICES=$devices GASNET_CONNECT=rdmacm job 64 "testconnect-$mode"
    passes "$devices: 64 processes: all connect to all at once"
done

# What iWARP lacks: immediate data, reads into several pieces, memory that may be read into without being written by
# peers. The device refuses each.
unset GASNET_CONNECT
export SOFTHCA_DEVICES='1x1;transport=iwarp'
for program in testputget testoutside testvis testbarrier testexit; do
    case $program in testexit) set -- 3 2 ;; *) set -- 3 ;; esac
    job "$1" "$program-$mode" "${@:2}"
    if [ $program = testexit ]; then
        [ "$status" != 124 ] && ! grep -q 'FATAL ERROR' "$log"
        tap_verdict $? "iWARP: $program"
    else
        passes "iWARP: $program"
    fi
done
GASNET_USE_SRQ=1 job 4 "testam-$mode"
passes "iWARP: a shared receive queue"
GASNET_INLINESEND_LIMIT=0 job 3 "testam-$mode"
passes "iWARP: nothing inlined"
GASNET_IBV_PKEY_INDEX=1 job 2 "testhello-$mode"
[ "$(grep -c 'WARNING .*GASNET_IBV_PKEY_INDEX has no effect' "$log")" = 1 ]
tap_verdict $? "iWARP: a P_Key that the connection manager does not ask for: one warning"
SOFTHCA_DEVICES='1x1;transport=iwarp,max_inline_data=64' job 3 "testam-$mode"
passes "iWARP: as little inlined as by the kernel's siw"
GASNET_VERBOSEENV=1 job 2 "testconnect-$mode" end together
[ "$status" = 0 ] && grep -q 'connected by the RDMA connection manager' "$log"
tap_verdict $? "iWARP is connected by the manager unasked, and -v says so"

# Settings of GASNET_CONNECT that must be refused.
GASNET_CONNECT=verbs job 2 "testconnect-$mode"
says "iWARP, but by verbs" 'softhca0 port 1 is iWARP, which needs a connection manager'
GASNET_CONNECT=both job 2 "testconnect-$mode"
says "another way" 'GASNET_CONNECT=both: not one of auto.verbs.rdmacm'
for n in 2 5; do
    job $n "testconnect-$mode" end together
    [ "$status" = 0 ]
    tap_verdict $? "$n processes end together before any connection"
    job $n "testconnect-$mode" end killed
    [ "$status" -ne 0 ] && [ "$took" -lt 10000 ]
    tap_verdict $? "one of $n processes is killed before any connection"
done
GASNET_QP_TIMEOUT=10 job 3 "testconnect-$mode" end stopped "$tap_scratch/last"
says "a process that never answers ends the job, and is named" \
    'softhca0: cannot connect to rank 2 .* at [0-9.]* port [0-9]* in .*does not answer the connection manager.*stopped'
tap_end
