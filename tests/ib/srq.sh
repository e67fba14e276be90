#!/bin/bash
# srq.sh - Active Messages where all peers share the receive buffers (IB-W4): when they do, that no flood finds the
# queue empty (IB-A8), and that nothing else changes.
#
# The jobs' queue pairs have no RNR retries (rnr_once.c): a message that finds no buffer ends the job.
# Counters show the buffers shared and the messages moved.  TEST_MODES, TEST_CONDUIT as for run-conduit.sh.
# family: srq
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/../tap.sh" || exit 1

conduit=${TEST_CONDUIT:-ibv}
export SOFTHCA=on TEST_HANG=80 TEST_SEED=${TEST_SEED:-$((RANDOM << 15 | RANDOM))}
tap_note "TEST_SEED=$TEST_SEED repeats this run"
stats=$tap_scratch/stats
once=$tap_scratch/rnr_once.so
"${CC:-cc}" -shared -fPIC -o "$once" "$(dirname "$0")/rnr_once.c" || exit 1

# job SETTINGS N PROGRAM-MODE ARGUMENTS...: sets `status` and `log`; counters in $stats.
job() {
    local settings=$1 n=$2 program=$3
    shift 3
    log=$TEST_LOG/srq_$(tr -c '[:alnum:]\n' _ <<<"${settings#GASNET_USE_SRQ=1 }_${program}_${n}_$*").log
    rm -f "$stats"
    # shellcheck disable=SC2086 # settings are words
    env TEST_MARKER=srq.$$ GASNET_STATSFILE="$stats" LD_PRELOAD="$once" $settings timeout -k 5 100 "$TEST_LAUNCH" -spawner=ssh -n "$n" \
        "$TEST_BUILD/tests/$program" "$@" >"$log" 2>&1 </dev/null
    status=$?
    no_orphans srq.$$ 5 || status="$status, processes left"
}

# sum COUNTER: of all ranks.
sum() {
    awk -v name="$1" '($2 == "all" || $2 == "-") && $3 == name { n += $4 } END { print n + 0 }' "$stats"
}

ends() { # NAME
    [ "$status" = "${2:-0}" ] && ! grep -q '^not ok' "$log"
    local result=$?
    tap_ok $result "$1"
    [ $result -eq 0 ] || { tap_note "status $status" && tap_tail "$log"; }
}

# shares NAME SETTINGS N BUFFERS: what all ranks have in their queues together.
shares() {
    job "$2" "$3" "testhello-$conduit-seq"
    [ "$status" = 0 ] && [ "$(sum shared_buffers)" = "$4" ]
    tap_ok $? "IB-W4 $1: $(sum shared_buffers) buffers shared by $3 processes ($2)"
    [ "$status" = 0 ] || tap_tail "$log"
}

# ---- when it is used

shares "never" GASNET_USE_SRQ=0 3 0
shares "always" GASNET_USE_SRQ=1 3 3072
# Two peers with 32 credits each: 2 x 35 buffers for Requests and 64 for Replies, against RBUF_COUNT, 16 and 2.
shares "not where it saves nothing" "GASNET_USE_SRQ=-1 GASNET_RBUF_COUNT=116 GASNET_AM_SPARES=2" 3 0
shares "where it saves one" "GASNET_USE_SRQ=-1 GASNET_RBUF_COUNT=115 GASNET_AM_SPARES=2" 3 345
shares "by itself in a larger job" "GASNET_AM_CREDITS_PP=256 GASNET_NETWORKDEPTH_PP=256" 4 4096
shares "a device without such queues" "GASNET_RBUF_COUNT=8 SOFTHCA_DEVICES=1x1;max_srq=0" 3 0
shares "a device that refuses one" "GASNET_RBUF_COUNT=8 SOFTHCA_FAULTS=enomem:what=srq GASNET_VERBOSEENV=1" 3 0
grep -q 'limits of the device: .*a shared receive queue was refused (Cannot allocate memory)' "$log"
tap_ok $? "IB-W4 a device that refuses one: told with -v"
shares "a device that refuses the second of two processes one" "GASNET_RBUF_COUNT=100 SOFTHCA_FAULTS=enomem:what=srq,process=1" 3 200
shares "no more than the device takes" "GASNET_USE_SRQ=1 SOFTHCA_DEVICES=1x1;max_srq_wr=20" 3 60
hcas=$(sed -n 's/^IBV_HCAS = //p' "$TEST_BUILD/Makefile")
if [ "${hcas:-1}" -ge 2 ]; then
    shares "for each device" "GASNET_USE_SRQ=1 GASNET_RBUF_COUNT=10 SOFTHCA_DEVICES=2x1" 3 60
fi

# Registered memory is as much for five peers spoken to as for one.
registered() { # SPOKEN-TO
    job "GASNET_USE_SRQ=1 GASNET_BBUF_COUNT=64" 6 "bench/memory-$conduit-seq" "$1"
    sed -n 's/^registered //p' "$log"
}
one=$(registered 1) five=$(registered 5)
tap_ok "$([ -n "$one" ] && [ "$one" = "$five" ]; echo $?)" "IB-W4 receive memory does not follow the peers: $one bytes for one, $five for five"

# ---- one after the other

job "GASNET_USE_SRQ=1 GASNET_RBUF_COUNT=8" 2 "testflow-$conduit-seq" ping_pong 20000
ends "IB-W4 a ping-pong of 40000 messages"
tap_ok "$([ "$(sum spares_out)" = 0 ]; echo $?)" "IB-W4 IB-A4 none of them is moved: spares come back"

# ---- floods

some="GASNET_USE_SRQ=1 GASNET_RBUF_COUNT=32"
for mode in ${TEST_MODES:-seq par}; do
    for n in 2 3 8 16; do
        # Room for two sends, no inline sends: handlers wait to reply, for slots and for buffers.
        job "$some GASNET_NETWORKDEPTH_PP=2 GASNET_PACKEDLONG_LIMIT=0 GASNET_INLINESEND_LIMIT=0" $n \
            "testflow-$conduit-$mode" storm $((1600 / n))
        ends "IB-W4 IB-A1 $n processes storm each other, with few buffers ($mode)"
        waited=$(($(sum stalls_credits) + $(sum stalls_replies)))
        [ $n -lt 8 ] || tap_ok "$([ $waited -gt 0 ] && [ "$(sum stalls_slots)" -gt 0 ]; echo $?)" \
            "IB-A8 $waited Requests waited for receive buffers, and none in the device ($mode)"
    done
    job "GASNET_USE_SRQ=1 GASNET_RBUF_COUNT=1 GASNET_AM_SPARES=1 GASNET_NETWORKDEPTH_PP=2" 8 "testflow-$conduit-$mode" storm 100
    ends "IB-W4 IB-A8 8 processes with the fewest buffers there may be ($mode)"
    job "$some GASNET_AM_CREDITS_TOTAL=3 GASNET_AMRDMA_CYCLE=8" 4 "testflow-$conduit-$mode" storm 300
    ends "IB-W4 IB-R4 three Requests in flight at most, and peers that qualify for rings ($mode)"
    tap_ok "$([ "$(sum stalls_replies)" -gt 0 ]; echo $?)" "IB-W4 IB-R4 more were not sent ($mode)"
    for n in 2 3 8; do
        job "$some" $n "testamflood-$conduit-$mode"
        ends "IB-W4 $n processes: floods of Shorts, Mediums and Longs, to themselves too ($mode)"
    done
    for program in testam testamsize testconnect; do
        job "$some" 3 "$program-$conduit-$mode"
        ends "IB-W4 $program ($mode)"
    done
    for who in 0 1; do
        job "$some GASNET_EXITTIMEOUT=2" 3 "testflow-$conduit-$mode" wedge $who
        ends "IB-W4 IB-A6 a handler of rank $who never returns, and another rank ends the job ($mode)" 21
    done
    job "$some" 4 "testflow-$conduit-$mode" leave 100
    ends "IB-W4 IB-X2 all flood a process that ends the job ($mode)" 23
    job "GASNET_USE_SRQ=1 GASNET_AMRDMA_CYCLE=1 GASNET_AMRDMA_MAX_PEERS=2" 4 "testamrdma-$conduit-$mode" first 2
    ends "IB-W4 IB-R11 rings beside it ($mode)"
    job "$some GASNET_INLINESEND_LIMIT=0" 8 "testhello-$conduit-$mode"
    ends "IB-W4 IB-A5 no inline sends: system messages find a buffer ($mode)"
done
if [[ " ${TEST_MODES:-seq par} " == *" par "* ]]; then
    for n in 2 4 8; do
        job "GASNET_USE_SRQ=1 GASNET_RBUF_COUNT=64" $n "testflow-$conduit-par" beside_flood 500
        ends "IB-A8 puts to a process that does not poll pass the Requests that flood it ($n processes)"
    done
    job "$some" 3 "testthreads-$conduit-par"
    ends "IB-W4 threads"
    job "$some GASNET_RCV_THREAD=1" 3 "testthreads-$conduit-par"
    ends "IB-W4 IB-C8 threads, and the receive thread"
    job "$some GASNET_RCV_THREAD=1" 2 "testrcvthread-$conduit-par"
    ends "IB-W4 IB-C8 the receive thread alone"
fi
if [ "${hcas:-1}" -ge 2 ]; then
    job "$some SOFTHCA_DEVICES=2x2 GASNET_NUM_QPS=4" 3 "testamflood-$conduit-par"
    ends "IB-W4 IB-B5 over two devices with two ports each"
fi

# ---- errors

job "GASNET_USE_SRQ=1 SOFTHCA_DEVICES=1x1;max_srq=0" 2 "testhello-$conduit-seq"
[ "$status" = 1 ] && grep -q 'GASNET_USE_SRQ=1: .* has no shared receive queues; unset it' "$log" && [ "$(grep -c FATAL "$log")" = 1 ]
tap_ok $? "IB-W4 GASNET_USE_SRQ=1 on a device without such queues: one line with the remedy"
job "GASNET_USE_SRQ=1 SOFTHCA_DEVICES=1x1;max_srq_wr=8" 3 "testhello-$conduit-seq"
[ "$status" = 1 ] && grep -q 'GASNET_USE_SRQ=1: a shared receive queue of .* holds 8 buffers, too few for 2 peers; unset it' "$log" && [ "$(grep -c FATAL "$log")" = 1 ]
tap_ok $? "IB-A8 nor on one whose queues are too small for the peers"
job "GASNET_USE_SRQ=1 SOFTHCA_FAULTS=enomem:what=srq" 2 "testhello-$conduit-seq"
[ "$status" = 1 ] && grep -q 'cannot create a shared receive queue of 1024 buffers: .*GASNET_RBUF_COUNT.*GASNET_USE_SRQ=0' "$log"
tap_ok $? "IB-W4 a queue that cannot be made ends the job, with the remedy"
job "GASNET_USE_SRQ=1 SOFTHCA_FAULTS=enomem:what=cq,at=2" 2 "testhello-$conduit-seq"
[ "$status" = 1 ] && grep -q 'receive completion queue of 1024 entries: .*; lower GASNET_RBUF_COUNT$' "$log"
tap_ok $? "IB-W4 a completion queue for it that cannot be made: likewise"

# Rank 2 dies while it and others flood rank 0, which has few buffers left.
job "$some SOFTHCA_FAULTS=kill:process=2,at=300" 4 "testflow-$conduit-seq" one_way 100000
[ "$status" = 1 ] || [ "$status" = 137 ]
tap_ok $? "IB-W4 a peer is killed while others flood one: the job ends (status $status)"
tap_end
