#!/bin/bash
# amrdma.sh - Active Messages by RDMA: which peers get a ring, which messages go by it, and that nothing else changes
# (IB-R9..R12).  job/shm_messages.sh has the rings in shared memory.
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

# iWARP has no immediate data, by which a ring is announced.
if [ "$conduit" = ibv ] && grep -q 'HAVE_RDMACM = 1' "$TEST_BUILD/Makefile"; then
    with "SOFTHCA_DEVICES=1x1;transport=iwarp $always GASNET_AMRDMA_ANY_DEVICE=1" 3 testamrdma off
else
    tap_skip "no rings on iWARP" "there is no connection manager in this build"
fi

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
