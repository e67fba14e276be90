#!/bin/bash
# device_limits.sh - jobs on devices that report, and enforce, small limits: each is right, or ends with one message
# that names the limit.  What a device lacks and a job can do without is told with -v alone.
# family: device-limits
# family: device-limits-vapi last TEST_CONDUIT=vapi
# family: device-limits-portals last TEST_CONDUIT=portals
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/../tap.sh" || exit 1

export SOFTHCA=on
unset SOFTHCA_DEVICES GASNET_VERBOSEENV
program=$TEST_BUILD/tests/testlimits-$TEST_CONDUIT-seq log=$TEST_LOG/device_limits_$TEST_CONDUIT.log

traffic() { # ENVIRONMENT...: sets `status`
    env "$@" timeout -k 2 60 "$TEST_LAUNCH" -n 2 "$program" traffic >"$log" 2>&1 </dev/null
    status=$?
}

# ATTRIBUTES | ibv, vapi | portals | told with -v by ibv and vapi.  "right", or the words of the message.
table='
max_inline_data=0            | right | right | no inline sends
max_inline_data=1            | right | right |
max_sge=1                    | right | right | one piece of local memory in a put or get
max_sge_rd=1                 | right | right | one piece of local memory in a get
max_msg_sz=1024              | takes messages of 1024 bytes at most, and Active Messages have up to 4096 | takes messages of 1024 bytes at most: lower PTL_EAGER to [0-9]+ |
max_msg_sz=4096              | right | takes messages of 4096 bytes at most: lower PTL_EAGER to [0-9]+ | messages of 4 KB
max_msg_sz=20000             | right | right | messages of 19 KB
max_cqe=1                    | completion queues of 1 entries are too small for 1 queue pairs | room for 0 receive buffers |
max_cqe=262                  | right | right |
max_qp_wr=1                  | queue pairs of 1 work requests, and 6 are needed | queue pairs of 1 work requests, and 128 are needed |
max_qp_wr=6                  | right | queue pairs of 6 work requests, and 128 are needed | 2 operations of a queue pair at once
max_qp_wr=128                | right | right |
max_qp_rd_atom=0             | no RDMA reads, which gets need: a queue pair serves 0 | no RDMA reads |
max_qp_rd_atom=1             | right | right | one RDMA read at once
max_qp_init_rd_atom=0        | no RDMA reads, which gets need: .* starts 0 | no RDMA reads |
max_qp_init_rd_atom=1        | right | right | one RDMA read at once
max_mr_size=4096             | registers at most 4096 bytes at once, too few | room for 0 receive buffers |
max_mr_size=8192             | right | room for 0 receive buffers | no Active Messages by RDMA, regions of 8 KB
max_mr_size=2097152          | right | right | regions of 2048 KB
max_mr=1                     | it registers 1 regions at once: lower GASNET_MAX_SEGSIZE | cannot register [0-9]+ KiB of send buffers |
max_mr=40                    | right | right |
max_srq=0                    | right | no verbs device with an active port and shared receive queues | no shared receive queues
max_srq_wr=1                 | right | room for 1 receive buffers |
max_srq_wr=16,max_srq_sge=1  | right | right |
max_qp=1                     | cannot connect to rank [01] .*no queue pair | right |
max_qp=2                     | right | right |
max_cq=1                     | cannot create the receive completion queue | right |
max_pd=1                     | right | right |
pkeys=0x8001                 | right | right |
active_mtu=256               | right | right |
active_mtu=1024,lmc=7        | right | right |'

while IFS='|' read -r attributes ib portals told; do
    attributes=${attributes// /} expected=$ib
    if [ -z "$attributes" ]; then continue; fi
    if [ "$TEST_CONDUIT" = portals ]; then expected=$portals told=''; fi
    read -r expected <<<"$expected" # without the blanks round it
    read -r told <<<"$told"
    traffic "SOFTHCA_DEVICES=1x1;$attributes" GASNET_QUIET=1
    bad=''
    if [ "$expected" = right ]; then
        [ $status -eq 0 ] && grep -q '^ok 1' "$log" || bad+=", status $status"
        ! grep -qE 'FATAL|WARNING|limits of the device' "$log" || bad+=", words that nobody asked for"
    else
        [ $status -ne 0 ] && [ $status -ne 124 ] || bad+=", status $status"
        [ "$(grep -c 'FATAL ERROR' "$log")" = 1 ] || bad+=", not one fatal error"
        grep -qE "$expected" "$log" || bad+=", without the words"
    fi
    tap_ok "$([ -z "$bad" ]; echo $?)" "$attributes: $expected${bad:+ ($bad)}"
    [ -z "$bad" ] || tap_tail "$log"
    if [ -n "$told" ]; then
        traffic "SOFTHCA_DEVICES=1x1;$attributes" GASNET_QUIET=1 GASNET_VERBOSEENV=1
        [ "$(grep -cE "^gasnet: limits of the device: .*$told" "$log")" = 1 ]
        tap_ok $? "$attributes: told once with -v: $told"
    fi
done <<<"$table"

# A device whose file this user may not open is named as such, and not replaced by the software device.
fake=$TEST_BUILD/other/softhca/tests/fake
if [ -e "$fake/libibverbs.so.1" ]; then
    traffic SOFTHCA=auto LD_LIBRARY_PATH="$fake" FAKE_VERBS=denied
    [ $status -ne 0 ] && [ "$(grep -c 'FATAL ERROR' "$log")" = 1 ] && grep -q 'permission' "$log" && grep -q /dev/infiniband "$log" &&
        grep -q SOFTHCA=on "$log"
    tap_ok $? "a device that may not be opened: the message says permission, and SOFTHCA=on"
    [ $status -ne 0 ] || tap_tail "$log"
else
    tap_skip "a device that may not be opened" "the stand-in for libibverbs is not built"
fi
tap_end
