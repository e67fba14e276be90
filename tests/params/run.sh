#!/bin/bash
# run.sh - the effect of every parameter, as the verbs device and the system see it (IB-C, IB-P, IB-R); TAP.
#
# One line for each promise: probe does something, and its lines are judged.  A row of the conduit's table that
# no line here is about fails the family, and so does one without a range, an alias or a comparison that holds.
# family: params
# family: params-vapi last TEST_CONDUIT=vapi
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/../tap.sh" || exit 1
probe=params/probe log=$TEST_LOG/params.log
shares=$(sed -n 's/^#define GASNETI_PSHM //p' "$TEST_BUILD/include/gasnet_config.h")
# shellcheck source=tests/params/rows.sh
. "$TEST_SOURCE/params/rows.sh"

export SOFTHCA=on
unset SOFTHCA_DEVICES
# What is measured here goes by messages: not by what else may carry them.
for off in GASNET_AMRDMA_MAX_PEERS GASNET_AMRDMA_LIMIT; do
    if grep -q "^$off|" "$rows"; then export "$off=0"; fi
done

# Nor are handshake messages to be counted; and queue pairs are all there from the start.
export GASNET_CONNECT_STATIC=1

# VAPI does not ask how much a queue pair is to capture, and says 128 bytes or a half of that; it takes reads by powers
# of two.  Its conduit has names (VC-3) and defaults (VC-4) of its own.
captures=1024 of_96=96 asks=0 five='begun=5 served=5' beyond='inline=1 bounced=0'
if [ "$TEST_CONDUIT" = vapi ]; then
    captures=128 of_96=64 asks=128 five='begun=4 served=8' beyond='inline=0 bounced=1'
fi

# ---- connections: IB-C

hcas=$(sed -n "s/^${TEST_CONDUIT^^}_HCAS = //p" "$TEST_BUILD/Makefile")
if [ "${hcas:-1}" -ge 2 ]; then
    sees "IB-C2 as many queue pairs, by turns over the ports" 2 attributes \
        $'qp softhca0/1 .* depth=26\nqp softhca1/1 .* depth=26' GASNET_NUM_QPS=3 SOFTHCA_DEVICES=2x1
    tap_ok "$([ "$(grep -c '^qp softhca0' "$log")$(grep -c '^qp softhca1' "$log")" = 21 ]; echo $?)" \
        "IB-C2 two of the three on the first port, one on the second"
    sees "IB-C2 one for each port" 2 attributes $'qp softhca0/1\nqp softhca1/1' GASNET_NUM_QPS=0 SOFTHCA_DEVICES=2x1
    tap_ok "$([ "$(grep -c '^qp ' "$log")" = 2 ]; echo $?)" "IB-C2 and no more"
else
    elsewhere GASNET_NUM_QPS rails.sh 'disable-.*-multirail' "there is one in this build"
fi
sees "IB-C3 the port it names" 2 attributes '^qp softhca0/2 ' "GASNET_${TEST_CONDUIT^^}_PORTS=softhca0:2" SOFTHCA_DEVICES=1x2
roce='SOFTHCA_DEVICES=1x1;link=ethernet,gids=v1-local+none+v2-ipv4+v2-ipv6'
gid=GASNET_${TEST_CONDUIT^^}_GID_INDEX class=GASNET_${TEST_CONDUIT^^}_TRAFFIC_CLASS
sees "no GID on InfiniBand" 2 attributes '^qp softhca0/1 pkey=0 gid=-1 class=-1 ' "$gid=-1" "$class=7"
sees "the GID that is preferred, of every queue pair" 3 attributes '^qp softhca0/1 pkey=0 gid=2 class=0 ' "$gid=-1" "$roce"
sees "the GID of that index" 3 attributes '^qp softhca0/1 pkey=0 gid=3 class=104 ' "$gid=3" "$class=104" "$roce"
sees "of RoCE v1 too" 2 attributes '^qp softhca0/1 pkey=0 gid=0 class=255 ' "$gid=0" "$class=255" "$roce"
sees "the P_Key of that index, of every queue pair" 3 attributes '^qp softhca0/1 pkey=2 gid=-1 ' \
    "GASNET_${TEST_CONDUIT^^}_PKEY_INDEX=2" 'SOFTHCA_DEVICES=1x1;pkeys=0xffff+0x8001+0x8002'
sees "IB-C5 IB-C6 IB-C7 without a word" 2 attributes 'timeout=18 retries=7 begun=128 served=128' GASNET_QP_RD_ATOM=0
sees "IB-C5 of every queue pair" 3 attributes 'timeout=11 retries=7' GASNET_QP_TIMEOUT=11
sees "IB-C6 of every queue pair" 3 attributes 'timeout=18 retries=3' GASNET_QP_RETRY_COUNT=3
sees "IB-C7 at both ends" 3 attributes "$five" GASNET_QP_RD_ATOM=5
sees "IB-C7 no more than the device has" 3 attributes 'begun=4 served=4' GASNET_QP_RD_ATOM=200 \
    'SOFTHCA_DEVICES=1x1;max_qp_rd_atom=4,max_qp_init_rd_atom=4'
sees "IB-D1 the settings for InfiniPath" 3 attributes 'begun=1 served=1 depth=12' GASNET_NETWORKDEPTH_PP=8 GASNET_QP_RD_ATOM=1
elsewhere GASNET_PORT_GRACE ib/peers.sh 'GASNET_PORT_GRACE=0\.1 job' 'a port that goes down ends the job after that time'
elsewhere GASNET_RCV_THREAD programs/matrix.table 'GASNET_RCV_THREAD=1' "IB-C8 messages are served while no rank polls"

elsewhere GASNET_CONNECT ib/rdmacm.sh 'GASNET_CONNECT=rdmacm' "peers are connected by the connection manager"
elsewhere GASNET_CONNECT_STATIC ib/connect.sh 'GASNET_CONNECT_STATIC=1' "all peers are connected at start-up"
elsewhere GASNET_CONNECT_DYNAMIC ib/connect.sh 'GASNET_CONNECT_DYNAMIC=0' "the same by its opposite"

# ---- memory: IB-P1, IB-P2, IB-R8

sees "IB-P1 the host's processes share it" 2 segment 'local=33554432 global=33554432 probed=4096 ' GASNET_PHYSMEM_MAX=64M
sees "IB-P1 no more than the device takes: 100 regions, less the library's" 2 segment \
    'local=([4-9][0-9]{7}|10[0-4][0-9]{6}) .*probed=4096 ' GASNET_PHYSMEM_MAX=1G GASNET_PIN_MAXSZ=0 'SOFTHCA_DEVICES=1x1;max_mr=100,max_mr_size=1048576'
sees "IB-P2 as it is" 2 segment 'local=33554432 .*probed=4096 ' GASNET_PHYSMEM_NOPROBE=1 GASNET_PHYSMEM_MAX=64M
sees "IB-P2 even where the device takes less" 2 segment 'local=536870912 .*probed=4096 ' GASNET_PHYSMEM_NOPROBE=1 \
    GASNET_PHYSMEM_MAX=1G 'SOFTHCA_DEVICES=1x1;max_mr=100,max_mr_size=1048576'
sees "IB-P2 of no effect alone" 2 segment 'local=([4-9][0-9]{7}|10[0-4][0-9]{6}) .*probed=4096 ' GASNET_PHYSMEM_NOPROBE=1 \
    GASNET_PIN_MAXSZ=0 'SOFTHCA_DEVICES=1x1;max_mr=100,max_mr_size=1048576'
sees "IB-P1 the largest segment" 2 segment 'local=8388608 global=8388608' GASNET_MAX_SEGSIZE=8M
sees "IB-P1 of each process" 2 segment 'local=67108864 ' GASNET_PHYSMEM_MAX=64M/P GASNET_PHYSMEM_NOPROBE=1
sees "IB-P1 of the host" 2 segment 'local=33554432 ' GASNET_PHYSMEM_MAX=64M/H GASNET_PHYSMEM_NOPROBE=1
sees "the largest segments of a host together" 2 segment 'local=8388608 ' GASNET_MAX_SEGSIZE=16M/H
sees "or of each of its processes" 2 segment 'local=16777216 ' GASNET_MAX_SEGSIZE=16MB/P
# A part of the memory, however it is written, is as much as that part; and less than a page is none.
segment_of() { # SETTING
    job 2 "$probe-$TEST_CONDUIT-seq" segment "$1"
    sed -n 's/^segment local=\([0-9]*\) .*/\1/p' "$log"
}
part=$(segment_of GASNET_MAX_SEGSIZE=0.001)
[ "${part:-0}" -gt 65536 ]
tap_ok $? "GASNET_MAX_SEGSIZE=0.001 is a part of the memory: ${part:-none}"
for setting in GASNET_MAX_SEGSIZE=1/1000 GASNET_MAX_SEGSIZE=0.002/H GASNET_MAX_SEGSIZE=1/1000/P GASNET_PHYSMEM_MAX=0.002 \
    GASNET_PHYSMEM_MAX=2/1000/H GASNET_PHYSMEM_MAX=0.001/P; do
    same=$(segment_of $setting)
    [ "${same:-0}" -eq "${part:-1}" ]
    tap_ok $? "$setting is the same: ${same:-none}"
done
sees "IB-R8 a segment in pieces, and transfers across" 2 'segment pins 1048576' \
    $'pieces=4 largest=1048576\nacross puts=2 gets=2 intact=1' GASNET_PIN_MAXSZ=1M
sees "IB-R8 the device's limit" 2 'segment pins 2097152' $'pieces=2 largest=2097152\nacross puts=2 gets=2 intact=1' \
    GASNET_PIN_MAXSZ=0 'SOFTHCA_DEVICES=1x1;max_mr_size=2097152'
sees "IB-R8 one piece" 2 'segment pins 1048576' $'pieces=1 largest=4194304\nacross puts=1 gets=1 intact=1' GASNET_PIN_MAXSZ=8M

# ---- remote atomics by the device

none='own=0 peer=0 by=none$' all='own=3 peer=3 by=softhca0$'
sees "no atomics by the device unless they are asked for" 2 atomics "atomics plain $none"$'\n'"atomics remote $none" \
    GASNET_ADAPTER_ATOMICS=off
sees "those of domains that favour remote memory, and that it can do" 2 atomics \
    "atomics plain $none"$'\n'"atomics remote $all"$'\n'"atomics near $none"$'\n'"atomics set $none"$'\n'"atomics short $none" \
    GASNET_ADAPTER_ATOMICS=favored
for shared in 1 0; do
    sees "those of all domains that it can do and that do not favour neighbours" 2 atomics \
        "atomics plain $all"$'\n'"atomics remote $all"$'\n'"atomics near $none"$'\n'"atomics set $none"$'\n'"atomics short $none" \
        GASNET_ADAPTER_ATOMICS=on GASNET_SUPERNODE_MAXSIZE=$shared
    far='own=0 peer=3 by=softhca0$'
    if [ $shared = 0 ] && [ "$shares" != 0 ]; then far=$none; fi
    sees "none on memory that a processor maps, where the device is atomic with respect to it" 2 atomics "atomics plain $far" \
        GASNET_ADAPTER_ATOMICS=on GASNET_SUPERNODE_MAXSIZE=$shared 'SOFTHCA_DEVICES=1x1;atomic_cap=glob'
done
sees "none of a device that has none" 2 atomics "atomics plain $none" GASNET_ADAPTER_ATOMICS=on 'SOFTHCA_DEVICES=1x1;atomic_cap=none'
sees "by one of several devices" 2 atomics "atomics plain $all" GASNET_ADAPTER_ATOMICS=on SOFTHCA_DEVICES=2x2

# ---- ways: IB-P3, IB-P4, IB-P5

sees "IB-P3 none is inline" 2 'put 1 attributes' $'put-outside 1 inline=0 bounced=1\nput-segment 1 inline=0\ninline='"$asks\$" \
    GASNET_INLINESEND_LIMIT=0
sees "IB-P3 one byte is, two are not" 2 'put 1 put 2' $'put-outside 1 inline=1\nput-outside 2 inline=0' GASNET_INLINESEND_LIMIT=1
for limit in -1 1024 65536; do
    sees "IB-P3 at most what the device captures" 2 "put $captures put $((captures + 1))" \
        "put-outside $captures inline=1"$'\n'"put-outside $((captures + 1)) inline=0" \
        GASNET_INLINESEND_LIMIT=$limit
done
sees "IB-P3 the device's maximum" 2 "put $of_96 put $((of_96 + 1)) attributes" \
    "put-segment $of_96 inline=1"$'\n'"put-segment $((of_96 + 1)) inline=0"$'\n'"inline=$of_96\$" \
    GASNET_INLINESEND_LIMIT=-1 'SOFTHCA_DEVICES=1x1;max_inline_data=96'
packed='inline=0 bounced=0 direct=0 sends=1'
sees "IB-P4 behind the header up to a buffer's end" 2 'long 4016 long 4017' \
    "long 4016 $packed"$'\n'"longasync 4016 $packed"$'\nlong 4017 inline=0 bounced=1 direct=0 sends=1\nlongasync 4017 inline=0 bounced=0 direct=1 sends=1' \
    GASNET_PACKEDLONG_LIMIT=4016
sees "IB-P4 up to the limit" 2 'long 100 long 101' "long 100 $packed"$'\n'"long 101 $beyond direct=0 sends=1" \
    GASNET_PACKEDLONG_LIMIT=100
sees "IB-P4 never" 2 'long 1' 'long 1 inline=1 bounced=0 direct=0 sends=1' GASNET_PACKEDLONG_LIMIT=0
sees "IB-P5 bounced, or waited for" 2 'put 65536 put 65537' $'put-segment 65536 inline=0 bounced=16 direct=0 sends=0 blocked=0\nput-segment 65537 inline=0 bounced=0 direct=1 sends=0 blocked=1\nbulk-segment 65536 inline=0 bounced=0 direct=1 sends=0 blocked=0' \
    GASNET_NONBULKPUT_BOUNCE_LIMIT=64K
sees "IB-P5 up to the limit" 2 'put 3000 put 3001' $'put-outside 3000 inline=0 bounced=1 direct=0 sends=0 blocked=0\nput-outside 3001 inline=0 bounced=0 direct=1 sends=0 blocked=1' \
    GASNET_NONBULKPUT_BOUNCE_LIMIT=3000
sees "IB-P5 never" 2 'put 2000 long 5000' $'put-segment 2000 inline=0 bounced=0 direct=1 sends=0 blocked=1\nlong 5000 inline=0 bounced=0 direct=1 sends=1' \
    GASNET_NONBULKPUT_BOUNCE_LIMIT=0
elsewhere GASNET_SUPERNODE_MAXSIZE job/pshm.sh 'GASNET_SUPERNODE_MAXSIZE="\$3"' "the processes of a host that share memory"
elsewhere GASNET_PUTINMOVE_LIMIT builds/segments.sh 'GASNET_PUTINMOVE_LIMIT="\$2"' "IB-P6 data of short puts rides on requests for memory"

if [ "$TEST_CONDUIT" = vapi ]; then
    sees "VC-4 IB-P3 72 bytes without a word" 2 'put 72 put 73' $'put-outside 72 inline=1\nput-outside 73 inline=0' GASNET_QUIET=0
    sees "VC-4 IB-R8 256 KB without a word" 2 'segment pins 1048576' 'pieces=16 largest=262144' GASNET_QUIET=0
fi

# ---- how much is in flight: IB-R1 to IB-R7

sees "IB-R1 reached, and never exceeded" 2 'depth 200' 'depth stalled=[1-9][0-9]* most=10 one=10' GASNET_NETWORKDEPTH_PP=10
sees "IB-R1 by its older name" 2 'depth 200' 'depth stalled=[1-9][0-9]* most=7 one=7' GASNET_OP_OUST_PP=7
sees "IB-R1 of each peer" 3 'depth 200' 'most=16 one=8' GASNET_NETWORKDEPTH_PP=8
sees "IB-R2 of all peers together" 3 'depth 200' 'depth stalled=[1-9][0-9]* most=9 one=[45]' GASNET_NETWORKDEPTH_TOTAL=9
sees "IB-R2 by its older name" 3 'depth 200' 'depth stalled=[1-9][0-9]* most=5' GASNET_OP_OUST_LIMIT=5
sees "IB-R2 no more than all peers' depths" 3 'depth 200' 'most=16 one=8' GASNET_NETWORKDEPTH_TOTAL=100 GASNET_NETWORKDEPTH_PP=8
sees "IB-R2 computed" 3 'depth 200' 'most=12 one=6' GASNET_NETWORKDEPTH_TOTAL=0 GASNET_NETWORKDEPTH_PP=6
# Beside the operations, a completion queue has room for 4 system messages of each queue pair and 256 threads.
sees "IB-R2 the send completion queue: the depths of all peers" 3 attributes '^cq depth=392$' GASNET_NETWORKDEPTH_TOTAL=0
sees "IB-R2 no more than those" 3 attributes '^cq depth=284$' GASNET_NETWORKDEPTH_TOTAL=100 GASNET_NETWORKDEPTH_PP=10
sees "IB-R2 or the total" 3 attributes '^cq depth=273$' GASNET_NETWORKDEPTH_TOTAL=9
for shared in 0 1; do
    sees "IB-A4 another receive buffer is posted before the handler of a Request runs" 2 'refill 20' \
        'refill requests=20 late=0 own=0' GASNET_USE_SRQ=$shared
done
sees "IB-R3 Requests in flight to a peer that does not look" 2 'credits 100' 'credits stalled=5$' GASNET_AM_CREDITS_SLACK=0 GASNET_AM_CREDITS_PP=5
sees "IB-R3 by its older name" 2 'credits 100' 'credits stalled=4$' GASNET_AM_CREDITS_SLACK=0 GASNET_AM_OUST_PP=4
sees "IB-R3 the default" 2 'credits 100' 'credits stalled=32$' GASNET_AM_CREDITS_SLACK=0 GASNET_AM_CREDITS_PP=32
sees "IB-R3 trimmed to IB-R1" 2 'credits 100' 'credits stalled=6$' GASNET_AM_CREDITS_SLACK=0 GASNET_AM_CREDITS_PP=32 GASNET_NETWORKDEPTH_PP=6
tap_ok "$([ "$(grep -c 'WARNING.*GASNET_AM_CREDITS_PP=32 is lowered to 6: .*GASNET_NETWORKDEPTH_PP' "$log")" = 1 ]; echo $?)" \
    "IB-R3 and who has asked for more is told so, once"
sees "IB-R3 trimmed to a queue pair's part" 2 'credits 100' 'credits stalled=16$' GASNET_AM_CREDITS_SLACK=0 GASNET_AM_CREDITS_PP=32 \
    GASNET_NUM_QPS=4
tap_ok "$([ "$(grep -c "WARNING.*GASNET_AM_CREDITS_PP=32 is lowered to 16: a peer's queue pairs share GASNET_NETWORKDEPTH_PP" "$log")" = 1 ]; echo $?)" \
    "IB-R3 and the reason is that one"
sees "IB-R3 trimmed by default" 2 'credits 100' 'credits stalled=6$' GASNET_AM_CREDITS_SLACK=0 GASNET_NETWORKDEPTH_PP=6
tap_ok "$(grep -c WARNING "$log")" "IB-R3 in silence"
sees "IB-W4 peers share a receive queue" 3 attributes $'receives=0 shares=1 \nsrq depth=1024' GASNET_USE_SRQ=1
sees "IB-W4 or each has its own" 3 attributes 'receives=67 shares=0 ' GASNET_USE_SRQ=0
tap_ok "$(grep -c '^srq' "$log")" "IB-W4 and none is made for all"
sees "IB-W4 where it takes fewer buffers" 3 attributes 'shares=1 ' GASNET_USE_SRQ=-1 GASNET_RBUF_COUNT=100
sees "IB-W4 and not elsewhere" 3 attributes 'shares=0 ' GASNET_USE_SRQ=-1 GASNET_RBUF_COUNT=200
sees "IB-W4 so many, and no receive completes beyond them" 3 attributes $'srq depth=50\ncq depth=50$' GASNET_RBUF_COUNT=50 GASNET_USE_SRQ=1
sees "IB-R4 IB-W4 to all peers together, sharing" 3 'credits 100' 'credits stalled=3$' GASNET_AM_CREDITS_TOTAL=3 GASNET_USE_SRQ=1
# A spare receive buffer serves a Reply too.
sees "IB-R4 to all peers together" 3 'credits 100' 'credits stalled=[34]$' GASNET_AM_CREDITS_TOTAL=3 GASNET_AM_SPARES=1
sees "IB-R4 by its older name" 3 'credits 100' 'credits stalled=[78]$' GASNET_AM_OUST_LIMIT=7 GASNET_AM_SPARES=1
sees "IB-R4 computed" 3 'credits 100' 'credits stalled=8$' GASNET_AM_CREDITS_SLACK=0 GASNET_AM_CREDITS_TOTAL=0 GASNET_AM_CREDITS_PP=4
sees "IB-R4 trimmed to IB-R2" 3 'credits 100' 'credits stalled=[67]$' GASNET_AM_CREDITS_TOTAL=50 GASNET_AM_SPARES=1 GASNET_NETWORKDEPTH_TOTAL=6
sees "IB-R5 none is banked" 2 'slack 60' 'hidden=(59|60)$' GASNET_AM_CREDITS_SLACK=0
sees "IB-R5 one is" 2 'slack 60' 'hidden=(29|30)$' GASNET_AM_CREDITS_SLACK=1
sees "IB-R5 five are" 2 'slack 60' 'hidden=(9|10)$' GASNET_AM_CREDITS_SLACK=5
sees "IB-R5 in silence reduced, or the sender would wait for ever" 2 'slack 60' 'hidden=(14|15)$' GASNET_AM_CREDITS_SLACK=254 \
    GASNET_AM_CREDITS_PP=4
tap_ok "$(grep -c WARNING "$log")" "IB-R5 in silence"
sees "IB-R5 none where the buffers for Replies are few" 3 'slack 60' 'hidden=(59|60)$' GASNET_AM_CREDITS_SLACK=3 \
    GASNET_AM_CREDITS_PP=4 GASNET_AM_CREDITS_TOTAL=4
sees "IB-R6 the pool runs out, and is waited for" 2 'bounce 100' 'bounce stalled=[1-9][0-9]* most=20' GASNET_BBUF_COUNT=20
sees "IB-R6 by its older name" 2 'bounce 100' 'bounce stalled=[1-9][0-9]* most=18' GASNET_BBUF_LIMIT=18
sees "IB-R6 as many as IB-R2" 2 'bounce 100' 'bounce stalled=[1-9][0-9]* most=12' GASNET_BBUF_COUNT=0 GASNET_NETWORKDEPTH_PP=12
for count in 1 2; do
    sees "IB-R6 one for a Request that waits, one for a Reply" 2 'bounce 100 put 65536 long 65536' 'bounce stalled=[1-9][0-9]* most=2' GASNET_BBUF_COUNT=$count
    for mode in seq par; do
        job 3 "testamflood-$TEST_CONDUIT-$mode" "" GASNET_BBUF_COUNT=$count GASNET_INLINESEND_LIMIT=0 GASNET_MAX_THREADS=8
        tap_ok $status "IB-R6 no deadlock: testamflood $mode with GASNET_BBUF_COUNT=$count"
        [ $status -eq 0 ] || tap_tail "$log"
    done
    mode=seq
done
elsewhere GASNET_AM_SPARES am/flow.sh 'GASNET_AM_SPARES=1' "IB-R7 none is left, and messages are moved"

elsewhere GASNET_AMRDMA_LIMIT ib/amrdma.sh 'GASNET_AMRDMA_LIMIT=64' "IB-R9 what is larger goes another way"
elsewhere GASNET_AMRDMA_DEPTH ib/amrdma.sh 'GASNET_AMRDMA_DEPTH=' "IB-R10 so many are written and not yet handled"
elsewhere GASNET_AMRDMA_MAX_PEERS ib/amrdma.sh 'GASNET_AMRDMA_MAX_PEERS=' "IB-R11 no more peers have a ring"
elsewhere GASNET_AMRDMA_ANY_DEVICE ib/amrdma.sh 'GASNET_AMRDMA_ANY_DEVICE=1' "IB-R11 rings in spite of a device that may place bytes out of order"
elsewhere GASNET_AMRDMA_CYCLE ib/amrdma.sh 'GASNET_AMRDMA_CYCLE=64' "IB-R12 peers are chosen when it is over"

# ---- the rest

sees "IB-X8 the bound of an exit" 2 signals 'exit bound 7(\.25)?$' GASNET_EXITTIMEOUT=7
sees "IB-X8 MIN and a FACTOR for each node" 2 signals 'exit bound 7(\.25)?$' GASNET_EXITTIMEOUT_MIN=3 GASNET_EXITTIMEOUT_FACTOR=2
sees "IB-X8 and MAX" 2 signals 'exit bound 5(\.25)?$' GASNET_EXITTIMEOUT_MAX=5 GASNET_EXITTIMEOUT_MIN=30
sees "signals are caught" 2 signals $'signal 11 caught\nsignal 15 caught' GASNET_NO_CATCH_SIGNAL=
sees "but not this one" 2 signals $'signal 11 default\nsignal 15 caught' GASNET_NO_CATCH_SIGNAL=SIGSEGV
sees "nor any" 2 signals $'signal 11 default\nsignal 15 default' 'GASNET_NO_CATCH_SIGNAL=*'
sees "IB-W2 by puts" 2 barrier 'barrier puts=1 sends=0' GASNET_BARRIER=RDMADISSEM
sees "by messages" 2 barrier 'barrier puts=0 sends=1' GASNET_BARRIER=AMDISSEM
mode=par
sees "as many threads as allowed" 2 'threads 2' 'threads 2' GASNET_MAX_THREADS=3
sees "more threads than by default" 2 'threads 320' 'threads 320' GASNET_MAX_THREADS=321
tap_ok "$(grep -c WARNING "$log")" "GASNET_MAX_THREADS: without a warning"
job 2 "params/probe-$TEST_CONDUIT-par" 'threads 3' GASNET_MAX_THREADS=3
[ $status -ne 0 ] && grep -q 'more than 3 client threads at once: the limit is GASNET_MAX_THREADS' "$log"
tap_ok $? "GASNET_MAX_THREADS: one more ends the job, with its name"
mode=seq
sees "warnings" 1 signals 'WARNING.*GASNET_AM_CREDITS_PPP' GASNET_QUIET=no GASNET_AM_CREDITS_PPP=1
sees "none" 1 signals '^signal' GASNET_QUIET=yes GASNET_AM_CREDITS_PPP=1
tap_ok "$(grep -c WARNING "$log")" "GASNET_QUIET: none"
elsewhere GASNET_LOG job/log.sh 'GASNET_LOG=info' "what the library tells of its work"
elsewhere GASNET_LOGFILE job/log.sh 'GASNET_LOGFILE=of' "a file for each rank, or for all"
elsewhere GASNET_TRACEFILE trace/trace.sh 'GASNET_TRACEFILE=t' "a file for each rank, or for all"
elsewhere GASNET_TRACELOCAL trace/trace.sh 'GASNET_TRACELOCAL=0' "transfers within a rank"
elsewhere GASNET_TRACEMASK trace/trace.sh 'GASNET_TRACEMASK=B' "what is written"
elsewhere GASNET_TRACENODES trace/trace.sh 'GASNET_TRACENODES=1' "who writes"
elsewhere GASNET_VIS_AMPIPE vis/ways.sh '4096 0 0 GASNET_VIS_AMPIPE=0' "short pieces are puts"
elsewhere GASNET_VIS_REMOTECONTIG vis/ways.sh '0 0 8-20 GASNET_VIS_REMOTECONTIG=0' "no buffer is put"
elsewhere GASNET_VIS_MAXCHUNK vis/ways.sh 'GASNET_VIS_MAXCHUNK=7' "longer pieces are puts"
elsewhere GASNET_COLL_ROOTED_GEOM coll/run.sh 'GASNET_COLL_ROOTED_GEOM=FLAT' "the tree of rooted collectives"
elsewhere GASNET_COLL_PIPE_SEG_SIZE coll/run.sh 'GASNET_COLL_PIPE_SEG_SIZE=4K' "the pieces of large collectives"
elsewhere GASNET_COLL_GATHER_ALL_DISSEM_LIMIT coll/run.sh 'GASNET_COLL_GATHER_ALL_DISSEM_LIMIT=1K' "dissemination up to a size"
elsewhere GASNET_COLL_EXCHANGE_DISSEM_LIMIT coll/run.sh 'GASNET_COLL_EXCHANGE_DISSEM_LIMIT=1K' "the same of exchanges"
elsewhere GASNET_USE_FIREHOSE ib/outside.sh 'GASNET_USE_FIREHOSE=0' "IB-R13 the registration cache"
elsewhere GASNET_FIREHOSE_KEEP ib/outside.sh 'GASNET_FIREHOSE_KEEP=\$keep' "IB-R13 by each but watch no code is changed"
for name in M MAXVICTIM_M R MAXVICTIM_R MAXREGION_SIZE VERBOSE; do
    elsewhere GASNET_FIREHOSE_$name ib/outside.sh "GASNET_FIREHOSE_$name=" "IB-R14 it is bounded, and reported"
done
elsewhere GASNET_FREEZE tools/run.sh 'GASNET_FREEZE' "a job that waits for a debugger"
elsewhere GASNET_WATCHDOG stats/why.sh 'GASNET_WATCHDOG=1' "the report of a job that stands still"
elsewhere GASNET_STATSFILE am/flow.sh 'GASNET_STATSFILE=' "counters of a job in a file"
elsewhere GASNET_STATSMASK stats/stats.sh 'GASNET_STATSMASK=GH' "which counters"
elsewhere GASNET_STATSNODES stats/stats.sh 'GASNET_STATSNODES=1' "who writes"

# ---- every row of the table

unset GASNET_AMRDMA_MAX_PEERS GASNET_AMRDMA_LIMIT GASNET_CONNECT_STATIC # what a process sets itself gives way to the job's
every_row
tap_end
