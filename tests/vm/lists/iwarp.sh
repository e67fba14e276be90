#!/bin/bash
# iwarp.sh - a guest with soft iWARP, which ibv-conduit uses by the connection manager and the others pass over. Then
# soft RoCE beside it.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/common.sh" || exit 1

verbs=$(ibv_devices | awk 'NR > 2 { print $1 }' | paste -sd' ')
tap_ok "$([ "$verbs" = siw0 ]; echo $?)" "the guest has siw0 and no other device: $verbs"

SOFTHCA=off job ibv 2 -v "$TEST_BUILD/tests/testhello-ibv-seq"
[ $status -eq 0 ] && grep -q 'over siw0' "$log"
verdict $? "ibv: iWARP alone"
GASNET_SUPERNODE_MAXSIZE=0 GASNET_AMRDMA_MAX_PEERS=2 job ibv 4 "$TEST_BUILD/tests/testamrdma-ibv-seq" first 2
[ $status -eq 0 ] && [ "$(grep -c '^ok' "$log")" -eq 4 ] && ! grep -q '^not ok' "$log"
verdict $? "ibv: neighbours write Active Messages into rings in memory that they share"
for conduit in vapi portals; do
    job $conduit 1 "$TEST_BUILD/tests/testhello-$conduit-seq"
    [ $status -ne 0 ] && [ "$(grep -c 'FATAL ERROR' "$log")" = 1 ] && grep -q iWARP "$log"
    verdict $? "$conduit: iWARP alone: $(grep -m 1 -h iWARP "$log")"
done
for conduit in ibv vapi portals; do
    for setting in on auto; do
        SOFTHCA=$setting job $conduit 2 -v "$TEST_BUILD/tests/testhello-$conduit-seq"
        [ $status -eq 0 ] && grep -q 'over .*softhca0' "$log"
        verdict $? "$conduit: SOFTHCA=$setting beside iWARP: the software device"
    done
done

ip link add dummy1 type dummy
ip addr add 10.78.0.1/24 dev dummy1
ip link set dummy1 up
rdma link add rxe0 type rxe netdev dummy1
for conduit in ibv vapi portals; do
    SOFTHCA=auto job $conduit 2 -v "$TEST_BUILD/tests/testhello-$conduit-seq"
    [ $status -eq 0 ] && ! grep -q softhca0 "$log" && { [ $conduit = portals ] || grep -q 'over rxe0' "$log"; }
    verdict $? "$conduit: RoCE beside iWARP: RoCE"
done
tap_end
