#!/bin/bash
# one.sh - one guest with soft RoCE: parts of the conduit suite in all conduits, ways to end, a rank that is killed.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/common.sh" || exit 1

verbs=$(ibv_devices | awk 'NR > 2 { print $1 }' | paste -sd' ')
tap_ok "$([ "$verbs" = rxe0 ]; echo $?)" "the guest has rxe0 and no other device: $verbs"
for conduit in ibv vapi portals; do
    job $conduit 2 -v "$TEST_BUILD/tests/testhello-$conduit-seq"
    [ $status -eq 0 ] && grep -q "over .*rxe0 port 1" "$log"
    verdict $? "$conduit: a job uses rxe0"
done

# The memory of a job on a device of the kernel is shared by files of its own.
GASNET_SUPERNODE_MAXSIZE=0 job ibv 3 "$TEST_BUILD/tests/testpshm-ibv-seq"
[ $status -eq 0 ] && grep -q '^# supernodes: 1$' "$log" && ! grep -q '^not ok' "$log"
verdict $? "ibv: the processes of the host share memory"

# Memory that cannot be pinned is not registered with these devices.
for conduit in ibv vapi portals; do
    TEST_ONLY='at once' job $conduit 2 "$TEST_BUILD/tests/testunpinned-$conduit-seq"
    [ $status -eq 0 ] && grep -q '^ok' "$log" && ! grep -qE '^not ok| # SKIP ' "$log"
    verdict $? "$conduit: transfers of memory that the kernel pins for no device"
done

basic="testam testputget testbarrier"
suite ibv par 2 "$basic" "ibv"
for conduit in vapi portals; do suite $conduit seq 2 "$basic" $conduit; done
if [ "$list" = full ]; then
    suite ibv par 2 "testamsize testamflood testhandles testvalue testlock testsync testpoll testthreads" "ibv"
    suite ibv seq 3 "testam testputget" "ibv"
fi

# ends CONDUIT CASE STATUS: a row of testexit.
ends() {
    job "$1" 2 "$TEST_BUILD/tests/testexit-$1-seq" "$2" last
    [ "$status" -eq "$3" ] && nothing_left
    verdict $? "$1: $2 ends with status $3, and leaves nothing"
}
for conduit in ibv vapi portals; do
    ends $conduit all_exit_9 9
    ends $conduit killed_others_poll 137 # by SIGKILL
done
if [ "$list" = full ]; then
    for case in one_exits_others_spin:11 segv_others_barrier:139; do ends ibv "${case%:*}" "${case#*:}"; done
fi

# Without IPv6 the GID of index 0 is still there, but is no address of the interface, and reaches nobody.
rdma link del rxe0
sysctl -q -w net.ipv6.conf.all.disable_ipv6=1
rdma link add rxe0 type rxe netdev dummy0
tap_ok "$([ -z "$(ip -6 -o addr show dev dummy0)" ]; echo $?)" "the interface of the port has no IPv6 address"
for conduit in ibv vapi portals; do
    job $conduit 2 "$TEST_BUILD/tests/testam-$conduit-seq"
    verdict $status "$conduit: a job uses another GID"
done
tap_end
