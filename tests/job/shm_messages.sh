#!/bin/bash
# shm_messages.sh - Active Messages between ranks that share memory: all of them go by the rings in it, with many open
# Requests, with a receive thread, on any device, and what a peer that breaks the rules or dies does.
#
# family: shm
# family: shm-portals TEST_CONDUIT=portals
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/../tap.sh" || exit 1

conduit=$TEST_CONDUIT
# shellcheck source=tests/ib/rings.sh
. "$TEST_SOURCE/ib/rings.sh"
export GASNET_SUPERNODE_MAXSIZE=0

with "" 4 testamrdma shared
with "" 2 testamrdma longest 1900
with "" 2 testamrdma unfinished
TEST_MODES=par with GASNET_RCV_THREAD=1 4 testamrdma shared
TEST_MODES=par with GASNET_RCV_THREAD=1 2 testrcvthread
one_sleeper "$conduit"

# A Portals message has 2048 bytes at most, one of the others 4096.
if [ "$conduit" = portals ]; then most=2048; else most=4096; fi
nonsense $((most + 1)) "length (longer than its slot)"
nonsense 65535 "length (longer than its slot)"
nonsense 7 "length (shorter than a header)"
nonsense 0 "length (shorter than a header)"

log=$TEST_LOG/shm_stray.log
timeout -k 2 60 "$TEST_LAUNCH" -n 2 "$TEST_BUILD/tests/testamrdma-$conduit-seq" stray >"$log" 2>&1 </dev/null
[ $? -eq 1 ] && grep -q 'a malformed Active Message of 8 bytes from rank 1 on .*: bad Reply (to no Request)' "$log"
tap_ok $? "a Reply to no Request is a malformed message" || tap_tail "$log"

for program in testam testamsize testamflood; do with "" 3 $program; done
TEST_MODES=par with GASNET_RCV_THREAD=1 3 testamflood
# Some peers share memory and others do not; few receive buffers and credits are for the latter.
GASNET_SUPERNODE_MAXSIZE=2 with "" 4 testam
if [ "$conduit" = portals ]; then
    few="GASNET_PORTAL_SB_CHUNKS=2 GASNET_PORTAL_RPL_CHUNKS=2"
else
    few="GASNET_AM_SPARES=1 GASNET_AM_CREDITS_PP=4 GASNET_AM_CREDITS_TOTAL=9"
fi
for program in testam testamflood testamsize; do GASNET_SUPERNODE_MAXSIZE=2 with "$few" 3 $program; done

# tally N COUNTER...: a sum over the ranks of testam.
tally() {
    local n=$1 name
    shift
    rm -f "$tap_scratch/stats"
    GASNET_STATSFILE=$tap_scratch/stats timeout -k 2 60 "$TEST_LAUNCH" -n "$n" "$TEST_BUILD/tests/testam-$conduit-seq" \
        >"$TEST_LOG/shm_counters.log" 2>&1 </dev/null
    for name; do awk -v name="$name" '$2 == "all" && $3 == name { n += $4 } END { print n + 0 }' "$tap_scratch/stats"; done | paste -sd ' '
}
read -r by_ring banked hidden rings sent bounced < <(tally 2 am_by_ring banked hidden_replies rings requests_short am_bounced)
[ "$by_ring" -gt "$sent" ] && [ "$banked" -gt 0 ] && [ "$hidden" -eq 0 ] && [ "$rings" -eq 4 ] && [ "$bounced" -eq 0 ]
tap_ok $? "the counters: $by_ring messages by $rings rings, $bounced of them copied before, $banked Requests without a Reply, $hidden empty Replies"

killed "$conduit-seq" 2 5
killed "$conduit-par" 4 5
# Where no device announces a message: iWARP.
if [ "$conduit" = ibv ] && grep -q 'HAVE_RDMACM = 1' "$TEST_BUILD/Makefile"; then
    iwarp='SOFTHCA_DEVICES=1x1;transport=iwarp'
    with "$iwarp" 4 testamrdma shared
    GASNET_SUPERNODE_MAXSIZE=2 with "$iwarp GASNET_AM_SPARES=1" 3 testam
    SOFTHCA_DEVICES=${iwarp#*=} one_sleeper ibv
    SOFTHCA_DEVICES=${iwarp#*=} killed ibv-seq 3 5
fi
tap_end
