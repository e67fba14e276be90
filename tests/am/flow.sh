#!/bin/bash
# flow.sh - flow control at its limits, by the counters a job leaves behind (IB-A1..A6); TAP.
#
# Runs the scenes of testflow under settings of their own.  TEST_TURNS (500000): messages each way of
# the ping-pong.  TEST_MODES ("seq par") narrows.
# family: flow
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/../tap.sh" || exit 1

turns=${TEST_TURNS:-500000}
stats=$tap_scratch/stats

# scene NAME N STATUS MODE SCENE NUMBER [VARIABLE=VALUE...]: the job ends with that status, in time.
scene() {
    local name=$1 n=$2 expect=$3 mode=$4 scene=$5 number=$6 log=$TEST_LOG/flow_${5}_$4.log status
    shift 6
    rm -f "$stats"
    (export TEST_MARKER=flow.$$; env "$@" GASNET_STATSFILE="$stats" timeout -k 5 300 "$TEST_LAUNCH" -n "$n" \
        "$TEST_BUILD/tests/testflow-$TEST_CONDUIT-$mode" "$scene" "$number") >"$log" 2>&1 </dev/null
    status=$?
    [ $status -eq "$expect" ] && no_orphans flow.$$ 5
    tap_ok $? "$name ($mode)"
    [ $status -eq "$expect" ] || { tap_note "status $status"; tap_tail "$log"; }
}

# counted NAME EXPRESSION: holds for the counters; c(rank, counter) in it is the number that a rank counted for all
# its peers, or for itself.
counted() {
    awk '$2 == "all" || $2 == "-" { value[$1 " " $3] = $4 }
        function c(rank, counter) { return value[rank " " counter] + 0 }
        END { exit !('"$2"') }' "$stats" 2>/dev/null
    local status=$?
    tap_ok $status "$1"
    [ $status -eq 0 ] || grep -E ' (all|-) (requests|replies|hidden|got_hidden|credits|banked|stalls|spares)' "$stats" 2>/dev/null |
        sed 's/^/#   /'
}

for mode in ${TEST_MODES:-seq par}; do
    [ "$mode" = seq ] && messages=$turns || messages=$((turns / 10))
    scene "IB-A3 a Request/Request ping-pong of $((2 * messages)) messages" 2 0 "$mode" ping_pong "$messages"
    counted "IB-A3 it costs no hidden Replies ($mode)" \
        "c(0, \"requests_short\") + c(0, \"requests_medium\") == $messages && c(1, \"banked\") == $messages &&
         c(0, \"hidden_replies\") + c(1, \"hidden_replies\") + c(0, \"got_hidden\") + c(1, \"got_hidden\") == 0"

    scene "IB-A1 IB-R3 one credit: 4000 Requests without a Reply" 2 0 "$mode" one_way 4000 GASNET_AM_CREDITS_PP=1
    counted "IB-A2 each is followed by a hidden Reply ($mode)" \
        'c(0, "credits") == 1 && c(0, "credits_lowest") == 0 && c(0, "stalls_credits") > 0 && c(1, "hidden_replies") == 4000'

    scene "IB-R5 slack 3 of 8 credits" 2 0 "$mode" one_way 4000 GASNET_AM_CREDITS_PP=8 GASNET_AM_CREDITS_SLACK=3
    counted "IB-R5 a hidden Reply returns more than the slack ($mode)" \
        'c(1, "hidden_replies") > 0 && c(1, "hidden_replies") <= 1000 && c(1, "banked") == 4000'

    scene "IB-A1 IB-A2 all to all with one credit and room for two sends" 3 0 "$mode" storm 600 GASNET_AM_CREDITS_PP=1 \
        GASNET_NETWORKDEPTH_PP=2 GASNET_PACKEDLONG_LIMIT=0 GASNET_INLINESEND_LIMIT=0
    counted "IB-R1 IB-R3 credits and queues ran out ($mode)" \
        'c(0, "credits_lowest") == 0 && c(0, "stalls_credits") > 0 && c(0, "stalls_slots") > 0 && c(0, "replies_long") == 400'

    scene "IB-A4 Requests arrive when no receive buffer is left" 3 0 "$mode" no_spare 0 GASNET_AM_CREDITS_TOTAL=1 GASNET_AM_SPARES=1
    counted "IB-A4 IB-R7 they are moved before they are handled ($mode)" 'c(0, "spares_out") == 2'

    if [ "$mode" = par ]; then
        scene "IB-A4 the same for the receive thread" 3 0 par own_spare 0 \
            GASNET_RCV_THREAD=1 GASNET_AM_CREDITS_TOTAL=1 GASNET_AM_SPARES=1
        counted "IB-A4 the receive thread has a spare buffer of its own" 'c(0, "spares_out") == 0 && c(0, "wakes") > 0'
    fi

    scene "IB-R4 IB-R11 fewer buffers for Replies than credits, and peers that qualify for rings" 4 0 "$mode" storm 600 \
        GASNET_AM_CREDITS_PP=8 GASNET_AM_CREDITS_TOTAL=3 GASNET_AM_SPARES=1 GASNET_AMRDMA_CYCLE=8
    counted "IB-R4 buffers for Replies ran out ($mode)" 'c(0, "stalls_replies") > 0'

    for who in 0 1; do
        scene "IB-A6 IB-X3 a handler of rank $who never returns, and another rank ends the job" 3 21 "$mode" wedge $who \
            GASNET_EXITTIMEOUT=2
    done
done
tap_end
