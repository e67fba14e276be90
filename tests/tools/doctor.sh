#!/bin/bash
# doctor.sh - gasnetrun --doctor: on a host that has all that jobs need the report ends without a problem and with status
# 0; where something is missing it names that and the remedy, and its status is 1.
# family: doctor
# family: doctor-vapi last TEST_CONDUIT=vapi
# family: doctor-portals last TEST_CONDUIT=portals
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/../tap.sh" || exit 1
unset GASNET_SSH_NODEFILE GASNET_SSH_SERVERS GASNET_NODEFILE GASNET_IBV_SPAWNER
export SOFTHCA=on
export GASNET_SSH_CMD=$TEST_SOURCE/spawner/fake-ssh
as_user=(setpriv --reuid=65534 --regid=65534 --clear-groups --bounding-set=-all --inh-caps=-all)

# report STATUS NAME COMMAND...: a run of the doctor that ends with that status.
report() {
    local want=$1 name=$2 status
    shift 2
    log=$TEST_LOG/doctor_$TEST_CONDUIT-${name//[^A-Za-z0-9]/_}.log
    (cd / && timeout -k 5 240 "$@") >"$log" 2>&1 </dev/null
    status=$?
    tap_ok "$([ $status -eq "$want" ]; echo $?)" "$name: status $want"
    [ $status -eq "$want" ] || { tap_note "status $status" && TEST_TAIL=50 tap_tail "$log"; }
}

says() { # PATTERN: in the last report
    local status=0
    grep -qE -- "$1" "$log" || status=1
    tap_ok $status "  says $1"
    [ $status -eq 0 ] || TEST_TAIL=50 tap_tail "$log"
}

report 0 "this host" "$TEST_LAUNCH" --doctor
says '^host '
says '^  ok .*softhca0 port 1: active'
says '^  ok .*spawner ssh starts jobs'
says '^  ok .*rank 0 and rank 1: message and reply'
says '^problems: 0$'

report 0 "a port of Ethernet, and one that is not active" \
    env 'SOFTHCA_DEVICES=1x2;link=ethernet,gids=v1-local+v2-ipv4;softhca0/2:state=down' "$TEST_LAUNCH" --doctor
says '^  ok .*softhca0 port 1: active, Ethernet, GID 1 ::ffff:[0-9.]+ \(RoCE v2, lo\)'
says '^  ok .*softhca0 port 1: its GIDs: 0 fe80::.* \(RoCE v1, lo\), 1 ::ffff:'
says '^  note .*softhca0 port 2 .*is not active .*check its cable'
report 1 "a port without a GID" env 'SOFTHCA_DEVICES=1x1;link=ethernet,gids=none' "$TEST_LAUNCH" --doctor
says '^  PROBLEM .*softhca0 port 1 .Ethernet. has no GID: has its interface an address\?; assign an address'

report 0 "two hosts" env GASNET_SSH_SERVERS="nodeA nodeB" "$TEST_LAUNCH" --doctor
says '^host nodeA$'
says '^host nodeB$'
says '^a job of 2 processes, on the hosts'

report 1 "a host that cannot be reached" env GASNET_SSH_SERVERS="nodeA badhost" "$TEST_LAUNCH" --doctor
says '^  PROBLEM .*host badhost could not be examined'
says 'Could not resolve hostname badhost'
says '^problems: [1-9]'

report 1 "no device" env SOFTHCA=off "$TEST_LAUNCH" --doctor
says '^  PROBLEM .*no device .*SOFTHCA=on'
says '^  PROBLEM .*the job failed'

report 1 "a list of hosts that is wrong" env GASNET_SSH_NODEFILE=/nonexistent "$TEST_LAUNCH" --doctor
says 'GASNET_SSH_NODEFILE=/nonexistent'

if "${as_user[@]}" test -x "$TEST_LAUNCH" 2>/dev/null; then
    # shellcheck disable=SC2016 # the shell of the user expands it
    report 0 "a low limit on locked memory" "${as_user[@]}" bash -c 'ulimit -l 64 && HOME=/nonexistent exec "$@"' - "$TEST_LAUNCH" --doctor
    says '^  note .*locked memory \(ulimit -l\): 0.062 MB'
else
    tap_skip "a low limit on locked memory" "setpriv cannot become another user here, or that user cannot read the build tree"
fi

if unshare -m true 2>/dev/null; then
    # shellcheck disable=SC2016
    report 0 "a small /dev/shm" unshare -m bash -c 'mount -t tmpfs -o size=1m none /dev/shm && exec "$@"' - "$TEST_LAUNCH" --doctor
    says '^  note .*/dev/shm: 1 MB are free.*--shm-size'
else
    tap_skip "a small /dev/shm" "no mount namespaces here"
fi
tap_end
