#!/bin/bash
# amrdma.sh - Active Messages by RDMA, and by stores of neighbours that share memory: which peers get a ring, which
# messages go by it, and that nothing else changes (IB-R9..R12).
#
# TEST_MODES, TEST_CONDUIT as for run-conduit.sh.
# family: amrdma
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/../tap.sh" || exit 1

conduit=${TEST_CONDUIT:-ibv}
# shellcheck source=tests/ib/rings.sh
. "$(dirname "$0")/rings.sh"

always=GASNET_AMRDMA_CYCLE=1
with "$always GASNET_AMRDMA_MAX_PEERS=2" 4 testamrdma first 2
with "GASNET_AMRDMA_CYCLE=64 GASNET_AMRDMA_MAX_PEERS=1" 3 testamrdma cycle 64
with "$always GASNET_AMRDMA_LIMIT=64" 2 testamrdma limit 64
with "$always GASNET_AMRDMA_LIMIT=61" 2 testamrdma limit 61
with "$always GASNET_AMRDMA_LIMIT=1000 GASNET_INLINESEND_LIMIT=16" 2 testamrdma limit 1000
with "$always" 2 testamrdma longest 4016
for depth in 1 2 16; do
    with "$always GASNET_AMRDMA_DEPTH=$depth" 2 testamrdma depth $depth
done
for off in CYCLE LIMIT MAX_PEERS; do
    with "$always GASNET_AMRDMA_$off=0" 3 testamrdma off
done
# Two buffers for Replies of one peer's credits each: none may be left behind at a peer with a ring.
with "$always GASNET_AM_CREDITS_PP=8 GASNET_AM_CREDITS_TOTAL=8" 3 testamrdma off
TEST_MODES=par with "$always GASNET_RCV_THREAD=1" 2 testamrdma off

# Where bytes may be placed out of order no peer gets a ring, unless it is asked for.  That fault is never due.
out_of_order=SOFTHCA_FAULTS=tear:order=descending,at=4000000000
with "$always $out_of_order" 3 testamrdma off
with "$always $out_of_order GASNET_VERBOSEENV=1" 2 testamrdma off
grep -q '^gasnet: no rings for Active Messages: softhca0 is not known to place' "$TEST_LOG"/amrdma_*VERBOSEENV_1_*off_seq.log
tap_ok $? "a device that may place bytes out of order: told with -v"
with "$always $out_of_order GASNET_AMRDMA_ANY_DEVICE=1 GASNET_AMRDMA_MAX_PEERS=2" 4 testamrdma first 2

nonsense 4089 "length (longer than its slot)"
nonsense 65535 "length (longer than its slot)"
nonsense 7 "length (shorter than a header)"
nonsense 0 "length (shorter than a header)"

# Shared-memory peers have the same rings, from the first message on, with a receive thread too, and on any device.
near GASNET_AMRDMA_MAX_PEERS=2 4 testamrdma first 2
near GASNET_AMRDMA_LIMIT=64 2 testamrdma limit 64
near "GASNET_AMRDMA_LIMIT=1000 GASNET_INLINESEND_LIMIT=16" 2 testamrdma limit 1000
near "" 2 testamrdma longest 4016
near "" 2 testamrdma unfinished

# bounced MAXSIZE: messages of rank 0 that were copied into a buffer before they were sent: those
# before the ring is known, or too long for it.
bounced() {
    rm -f "$tap_scratch/stats"
    GASNET_SUPERNODE_MAXSIZE=$1 GASNET_STATSFILE=$tap_scratch/stats timeout -k 2 60 "$TEST_LAUNCH" -n 2 \
        "$TEST_BUILD/tests/testamsize-$conduit-seq" >"$TEST_LOG/amrdma_bounced.log" 2>&1 </dev/null
    awk '$1 == 0 && $2 == "all" && $3 == "am_bounced" { print $4 }' "$tap_scratch/stats"
}
[ $(($(bounced 0) * 10)) -lt "$(bounced 1)" ]
tap_ok $? "Mediums are written into memory of the neighbour without a copy before"
for depth in 1 16; do near GASNET_AMRDMA_DEPTH=$depth 2 testamrdma depth $depth; done
for off in GASNET_AMRDMA_{CYCLE,LIMIT,MAX_PEERS}=0 "$always GASNET_AM_CREDITS_PP=8 GASNET_AM_CREDITS_TOTAL=8"; do
    TEST_MODES=seq near "$off" 3 testamrdma off
done
TEST_MODES=par near "GASNET_RCV_THREAD=1 GASNET_AMRDMA_MAX_PEERS=2" 4 testamrdma first 2
TEST_MODES=par near GASNET_RCV_THREAD=1 2 testrcvthread
one_sleeper "$conduit"
TEST_MODES=seq near "$out_of_order GASNET_AMRDMA_MAX_PEERS=2" 4 testamrdma first 2
for program in testam testamsize; do near "GASNET_AMRDMA_DEPTH=2 GASNET_AM_SPARES=1" 3 $program; done
TEST_MODES=par near GASNET_AMRDMA_DEPTH=1 3 testamflood
TEST_MODES=seq near "GASNET_AM_CREDITS_PP=4 GASNET_AM_CREDITS_TOTAL=9" 3 testamflood

# On iWARP too, where only words in shared memory can announce its ring to a peer.
if [ "$conduit" = ibv ] && grep -q 'HAVE_RDMACM = 1' "$TEST_BUILD/Makefile"; then
    iwarp='SOFTHCA_DEVICES=1x1;transport=iwarp'
    near "$iwarp GASNET_AMRDMA_MAX_PEERS=2" 4 testamrdma first 2
    near "$iwarp GASNET_USE_SRQ=1 GASNET_AMRDMA_MAX_PEERS=2" 4 testamrdma first 2
    near "$iwarp GASNET_AMRDMA_DEPTH=1" 2 testamrdma depth 1
    near "$iwarp GASNET_AMRDMA_LIMIT=64" 2 testamrdma limit 64
    near "$iwarp GASNET_AMRDMA_DEPTH=2 GASNET_AMRDMA_MAX_PEERS=1 GASNET_AM_SPARES=1" 3 testam
    with "$iwarp $always GASNET_AMRDMA_ANY_DEVICE=1" 3 testamrdma off
    SOFTHCA_DEVICES=${iwarp#*=} one_sleeper ibv
    SOFTHCA_DEVICES=${iwarp#*=} killed ibv-seq 3 5
else
    tap_skip "neighbours on iWARP" "there is no connection manager in this build"
fi

killed "$conduit-seq" 2 5
killed "$conduit-par" 4 5
[ ! -x "$TEST_BUILD/tests/testamrdma-vapi-seq" ] || killed vapi-seq 3 5

# Rules of messages hold with rings, and with little room.
for settings in "$always" "$always GASNET_AMRDMA_DEPTH=1" "$always GASNET_AMRDMA_DEPTH=2 GASNET_AMRDMA_MAX_PEERS=1" \
    "$always GASNET_AMRDMA_LIMIT=64 GASNET_AM_CREDITS_SLACK=0" "$always GASNET_INLINESEND_LIMIT=0" \
    "$always GASNET_AM_SPARES=1 GASNET_AM_CREDITS_PP=2 GASNET_AMRDMA_DEPTH=1" \
    "$always GASNET_AM_CREDITS_PP=4 GASNET_AM_CREDITS_TOTAL=9"; do
    for program in testam testamflood testamsize; do
        with "$settings" 3 $program
    done
done
export SOFTHCA_DEVICES=2x2 GASNET_NUM_QPS=3
for program in testam testamflood testamsize; do
    with "$always" 3 $program
done
tap_end
