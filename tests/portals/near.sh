#!/bin/bash
# near.sh - Active Messages that neighbours write into rings in memory that they share, in portals-conduit: which
# messages go by them, with little room, with a receive thread, and what a peer that breaks the rules or dies does.
#
# family: near-portals TEST_CONDUIT=portals
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/../tap.sh" || exit 1

conduit=portals
# shellcheck source=tests/ib/rings.sh
. "$TEST_SOURCE/ib/rings.sh"
export GASNET_SUPERNODE_MAXSIZE=0

with "GASNET_AMRDMA_MAX_PEERS=2" 4 testamrdma first 2
with "" 2 testamrdma longest 1900
with "" 2 testamrdma unfinished
for depth in 1 2 16; do with GASNET_AMRDMA_DEPTH=$depth 2 testamrdma depth $depth; done
with GASNET_AMRDMA_MAX_PEERS=0 3 testamrdma off
GASNET_SUPERNODE_MAXSIZE=1 with "" 3 testamrdma off
TEST_MODES=par with "GASNET_RCV_THREAD=1 GASNET_AMRDMA_MAX_PEERS=2" 4 testamrdma first 2
TEST_MODES=par with GASNET_RCV_THREAD=1 2 testrcvthread

nonsense 2049 "length (longer than its slot)"
nonsense 65535 "length (longer than its slot)"
nonsense 7 "length (shorter than a header)"
nonsense 0 "length (shorter than a header)"

# Of three neighbours each has one pair of rings, and sends to others through Portals.
for settings in GASNET_AMRDMA_DEPTH=1 "GASNET_AMRDMA_DEPTH=2 GASNET_AMRDMA_MAX_PEERS=1" \
    "GASNET_PORTAL_SB_CHUNKS=2 GASNET_PORTAL_RPL_CHUNKS=2" "GASNET_PORTAL_CRED_PER_NODE=8 GASNET_PORTAL_BANKED_CREDITS=0"; do
    for program in testam testamflood testamsize; do with "$settings" 3 $program; done
done
TEST_MODES=par with "GASNET_RCV_THREAD=1 GASNET_AMRDMA_DEPTH=1" 3 testamflood

# What the counters say: all messages of a neighbour but the first go by the ring, and Requests without a Reply are counted.
tally() { # NAME...: of rank 0
    local name
    for name; do awk -v name="$name" '$1 == 0 && $2 == "all" && $3 == name { print $4 }' "$tap_scratch/stats"; done | paste -sd ' '
}
GASNET_STATSFILE=$tap_scratch/stats timeout -k 2 60 "$TEST_LAUNCH" -n 2 "$TEST_BUILD/tests/testam-portals-seq" \
    >"$TEST_LOG/near_counters.log" 2>&1 </dev/null
read -r by_ring banked hidden rings < <(tally am_by_ring banked hidden_replies rings)
[ "${by_ring:-0}" -gt 1000 ] && [ "${banked:-0}" -gt 0 ] && [ $((${hidden:-9} * 4)) -lt "$banked" ] && [ "${rings:-0}" -eq 2 ]
tap_ok $? "the counters: $by_ring messages by rings, $banked Requests without a Reply, $hidden empty Replies, $rings rings"

RANDOM=$((TEST_SEED & 32767))
killed portals-seq 2 5
killed portals-par 4 5
tap_end
