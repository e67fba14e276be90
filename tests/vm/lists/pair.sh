#!/bin/bash
# pair.sh - two guests with soft RoCE and a wire between them, which then loses packets. Runs in the first of them.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/common.sh" || exit 1

two_hosts
job ibv 2 -v "$TEST_BUILD/examples/hello"
[ $status -eq 0 ] && grep -q 'over rxe0 port 1' "$log"
verdict $? "a job of two hosts uses rxe0"

suite ibv par 2 "testam testputget testbarrier" "two hosts"
if [ "$list" = full ]; then
    for conduit in vapi portals; do suite $conduit seq 2 "testam testputget testbarrier" "two hosts, $conduit"; done
fi

# Packets lost in both directions; a lost packet that no later one follows costs a time-out of the device, here 67 ms.
# All messages fit into a packet, because rxe may number those of longer ones anew: README.md.
wire() { tc qdisc "$@" && there "tc qdisc $*"; }
export GASNET_QP_TIMEOUT=14
wire add dev eth0 root netem loss 2%
suite ibv par 2 testam "two hosts, 2 % of packets lost"
TEST_ONLY='every form' TEST_LONGEST=4096 suite ibv par 2 testputget "two hosts, 2 % of packets lost"
[ "$list" != full ] || suite ibv seq 2 "testbarrier testlock" "two hosts, 2 % of packets lost"
dropped=$(tc -s qdisc show dev eth0 | sed -n 's/.*dropped \([0-9]*\),.*/\1/p')
wire del dev eth0 root
tap_ok "$([ "${dropped:-0}" -gt 0 ]; echo $?)" "packets were lost in these runs: ${dropped:-0} of this host"

tap_end
