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
with "" 2 testamrdma unfinished
for depth in 1 2 16; do with GASNET_AMRDMA_DEPTH=$depth 2 testamrdma depth $depth; done
with GASNET_AMRDMA_MAX_PEERS=0 3 testamrdma off
GASNET_SUPERNODE_MAXSIZE=1 with "" 3 testamrdma off
TEST_MODES=par with "GASNET_RCV_THREAD=1 GASNET_AMRDMA_MAX_PEERS=2" 4 testamrdma first 2
TEST_MODES=par with GASNET_RCV_THREAD=1 2 testrcvthread
one_sleeper portals

nonsense 2049 "length (longer than its slot)"
nonsense 65535 "length (longer than its slot)"
nonsense 7 "length (shorter than a header)"
nonsense 0 "length (shorter than a header)"

# With little room, also for pairs of rings: two of three neighbours have one, and the third sends through Portals.
for settings in GASNET_AMRDMA_DEPTH=1 "GASNET_AMRDMA_DEPTH=2 GASNET_AMRDMA_MAX_PEERS=1" \
    "GASNET_PORTAL_SB_CHUNKS=2 GASNET_PORTAL_RPL_CHUNKS=2" "GASNET_PORTAL_CRED_PER_NODE=8 GASNET_PORTAL_BANKED_CREDITS=0"; do
    for program in testam testamflood testamsize; do with "$settings" 3 $program; done
done
TEST_MODES=par with "GASNET_RCV_THREAD=1 GASNET_AMRDMA_DEPTH=1" 3 testamflood
GASNET_SUPERNODE_MAXSIZE=2 with "" 4 testam

# tally N SETTING COUNTER...: a sum over the ranks of testam.
tally() {
    local n=$1 setting=$2 name
    shift 2
    rm -f "$tap_scratch/stats"
    env "$setting" GASNET_STATSFILE="$tap_scratch/stats" timeout -k 2 60 "$TEST_LAUNCH" -n "$n" "$TEST_BUILD/tests/testam-portals-seq" \
        >"$TEST_LOG/near_counters.log" 2>&1 </dev/null
    for name; do awk -v name="$name" '$2 == "all" && $3 == name { n += $4 } END { print n + 0 }' "$tap_scratch/stats"; done | paste -sd ' '
}
read -r by_ring banked hidden rings sent < <(tally 2 GASNET_AMRDMA_DEPTH=32 am_by_ring banked hidden_replies rings requests_short)
[ "$by_ring" -gt "$sent" ] && [ "$banked" -gt 0 ] && [ $((hidden * 4)) -lt "$banked" ] && [ "$rings" -eq 4 ]
tap_ok $? "the counters: $by_ring messages by $rings rings, $banked Requests without a Reply, $hidden empty Replies"
# Each process has rings for one neighbour, which has some for it.
read -r by_ring rings < <(tally 4 GASNET_AMRDMA_MAX_PEERS=1 am_by_ring rings)
{ [ "$rings" -eq 4 ] || [ "$rings" -eq 8 ]; } && [ "$by_ring" -gt 0 ]
tap_ok $? "GASNET_AMRDMA_MAX_PEERS=1: of four processes $((rings / 4)) pairs have rings for each other"

killed portals-seq 2 5
killed portals-par 4 5
tap_end
