#!/bin/bash
# connect.sh - connections at first use (IB-W4): few are made where few peers are used, a process that
# computes is connected to all the same, lost handshake messages are repeated, and a process that does
# not answer ends the job but does not delay its end.
#
# TEST_MODES, TEST_CONDUIT as for run-conduit.sh.  CONNECT_SEED repeats a run.
# family: connect
# family: connect-vapi last TEST_CONDUIT=vapi
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/../tap.sh" || exit 1

conduit=${TEST_CONDUIT:-ibv}
seed=${CONNECT_SEED:-$RANDOM}
tap_note "CONNECT_SEED=$seed"
export SOFTHCA=on

job() { # N MODE ARGUMENT...
    tap_job "$1" "$TEST_BUILD/tests/testconnect-$conduit-$2" "${@:3}"
}

passes() { # NAME
    [ "$status" = 0 ] && ! grep -q '^not ok' "$log"
    tap_verdict $? "$1"
}

# handshake MODE FAULT NAME: with the fault in every other handshake message.  The queue pair for datagrams is the
# third, after two that try limits; all others are reliable connections.
handshake() {
    SOFTHCA_FAULTS="seed=$seed;log;$2,qp=3,chance=1/2" job 5 "$1"
    [ "$status" = 0 ] && ! grep -q '^not ok' "$log" && grep -q "^softhca: fault in process .*: ${2%%:*}, " "$log"
    tap_verdict $? "$1: $3"
}

for mode in ${TEST_MODES:-seq par}; do
    for n in 2 16; do
        job "$n" "$mode" neighbours
        [ "$status" = 0 ] && [ "$(grep -c '^rank' "$log")" -eq "$n" ]
        tap_verdict $? "$mode: $n processes connect neighbours alone"
        GASNET_CONNECT_STATIC=1 job "$n" "$mode" neighbours
        passes "$mode: $n processes connect all pairs with GASNET_CONNECT_STATIC=1"
    done
    for n in 2 7; do
        job "$n" "$mode"
        passes "$mode: $n processes: one computes, all others connect at once"
    done
    handshake "$mode" lose:op=send "every other handshake message is lost"
    handshake "$mode" stall:op=send,us=30000 "handshake messages are late, and cross repetitions"
    handshake "$mode" hold:polls=3 "completions of handshake messages are held back"
    export "GASNET_${conduit^^}_PORTS=softhca0:1,2+softhca1:1,2"
    SOFTHCA_DEVICES=2x2 GASNET_NUM_QPS=3 job 3 "$mode"
    unset "GASNET_${conduit^^}_PORTS"
    [ "$status" = 0 ] || grep -q 'queue pairs with' "$log" # three for each peer
    tap_verdict $? "$mode: over several devices and queue pairs"
done

mode=${TEST_MODES:-seq}
mode=${mode%% *}
job 64 "$mode" neighbours
[ "$status" = 0 ] && [ "$(grep -c '^rank' "$log")" -eq 64 ]
tap_verdict $? "64 processes connect neighbours alone"
for n in 2 5; do
    job "$n" "$mode" end together
    passes "$n processes end together before any connection"
    job "$n" "$mode" end alone
    passes "one of $n processes ends the job before any connection"
    job "$n" "$mode" end killed
    [ "$status" -ne 0 ] && [ "$took" -lt 10000 ]
    tap_verdict $? "one of $n processes is killed before any connection"
done
# The bound is four times what a connection would wait, and 5 seconds here.
GASNET_QP_TIMEOUT=10 job 3 "$mode" end stopped "$tap_scratch/last"
[ "$status" = 1 ] && [ "$(grep -c 'FATAL ERROR' "$log")" -eq 1 ] &&
    grep -q 'FATAL ERROR (rank 0 of 3 on .*rank 2 on the same host has not answered .* is it stopped.*GASNET_CONNECT_STATIC=1' "$log"
tap_verdict $? "a process that never answers ends the job, and is named"

# Why peers are connected at start-up instead.
reason() { # NAME PATTERN
    GASNET_VERBOSEENV=1 job 2 "$mode" end together
    [ "$status" = 0 ] && [ "$(grep -c '^gasnet: peers are connected at' "$log")" -eq 1 ] && grep -qE "$2" "$log"
    tap_verdict $? "$1"
}
reason "the way peers are connected is reported" '^gasnet: peers are connected at first use$'
GASNET_CONNECT_STATIC=1 reason "GASNET_CONNECT_STATIC is reported" 'at start-up: GASNET_CONNECT_STATIC is set$'
GASNET_CONNECT_DYNAMIC=0 reason "GASNET_CONNECT_DYNAMIC is reported" 'at start-up: GASNET_CONNECT_DYNAMIC is not set$'
GASNET_NUM_QPS=64 reason "the most queue pairs fit into a handshake message" 'at first use$'
if [ "$conduit" = vapi ]; then
    GASNET_CONNECT=rdmacm job 2 "$mode" end together
    [ "$status" = 1 ] && [ "$(grep -c 'FATAL ERROR' "$log")" -eq 1 ] &&
        grep -q 'no connection manager: VAPI has none; set GASNET_CONNECT=verbs, or unset it' "$log"
    tap_verdict $? "VAPI has no connection manager, and says so"
fi
# The third queue pair of process 1 is the one for datagrams.
faults='enomem:what=qp,process=1,at=3'
# libvapi tries thrice more, with less and less to capture.
if [ "$conduit" = vapi ]; then for at in 4 5 6; do faults+=";enomem:what=qp,process=1,at=$at"; done; fi
SOFTHCA_FAULTS=$faults reason "a process without datagrams has all connect at start-up" \
    'at start-up: softhca0 refuses a queue pair for datagrams: Cannot allocate memory$'
tap_end
