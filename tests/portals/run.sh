#!/bin/bash
# run.sh - portals-conduit on libportals: the effect of every parameter, as libportals sees it, and where credits
# go under a flood (PO-3 to PO-17); TAP.
#
# One line for each promise: probe does something, and its lines are judged.  A row of the conduit's own in its
# params.def that no line here is about fails the family; rows that all conduits have are proved by family params.
# family: portals
# shellcheck source-path=SCRIPTDIR
export TEST_CONDUIT=portals
unset TEST_LAUNCH
. "$(dirname "$0")/../tap.sh" || exit 1
[ -x "$TEST_LAUNCH" ] || { tap_skip "portals-conduit" "it is not in this build" && tap_end; }
probe=portals/probe log=$TEST_LOG/portals.log
# shellcheck source=tests/params/rows.sh
. "$TEST_SOURCE/params/rows.sh"
grep -E '^GASNET_(PORTAL_|PHYSMEM_PINNABLE_|FIREHOSE_MAX)' "$rows" >"$tap_scratch/own" && mv "$tap_scratch/own" "$rows"
export SOFTHCA=on
cd "$tap_scratch" || exit 1 # files of credits are written here

# ---- descriptors: PO-3, PO-9, PO-11, PO-13

sees "PO-3 three descriptors of the segment, one for system messages" 2 'sizes 0' 'others rar=1 raram=1 rarsrc=1 sys=1'
sees "PO-13 chunks that Requests leave from" 2 'sizes 0' 'reqsb=204800 ' GASNET_PORTAL_SB_CHUNKS=100
sees "PO-13 chunks that Replies leave from" 2 'sizes 0' ' rplsb=61440 ' GASNET_PORTAL_RPL_CHUNKS=30
sees "PO-11 receive space as set" 2 'sizes 0' 'reqrb=(9[0-9]{5}|10[0-4][0-9]{4}) ' GASNET_PORTAL_AMRECV_SPACE=1M
sees "PO-11 receive space for credits in the bank" 2 'sizes 0' 'reqrb=2[5-9][0-9]{6} ' GASNET_PORTAL_BANKED_CREDITS=100000 \
    GASNET_PORTAL_CRED_PER_NODE=8
total=$(sed -n 's/^MemTotal: *\([0-9]*\) kB/\1/p' /proc/meminfo)
job 2 portals/probe-portals-seq 'sizes 0' GASNET_PHYSMEM_PINNABLE_RATIO=0.01
local_size=$(sed -n 's/^segment local=//p' "$log")
[ $status -eq 0 ] && [ "${local_size:-0}" -gt 0 ] && [ "$local_size" -le $((total * 1024 / 200)) ]
tap_ok $? "PO-15 GASNET_PHYSMEM_PINNABLE_RATIO=0.01: two processes share a hundredth of the memory: ${local_size:-none}"
proved="$proved GASNET_PHYSMEM_PINNABLE_RATIO "
# A device that takes one registration more each time, until the job runs: one of them was too few for the segment.
refused=1
for ((n = 4; n < 20; n++)); do
    job 2 portals/probe-portals-seq 'sizes 0' GASNET_PHYSMEM_NOPROBE=1 GASNET_PHYSMEM_MAX=1G "SOFTHCA_DEVICES=1x1;max_mr=$n"
    if [ $status -eq 0 ]; then break; fi
    if grep -q 'cannot register a segment of .*lower GASNET_MAX_SEGSIZE or GASNET_PHYSMEM_PINNABLE_RATIO' "$log"; then refused=0; fi
done
tap_ok $refused "PO-15 an attach that cannot pin says what to lower"

# ---- ways: PO-6, PO-7, PO-13

sees "PO-6 PO-13 a chunk holds 2 KB, less an address for gets" 2 'ways 2040 ways 2041 ways 2048 ways 2049' \
    $'put-outside 2040 from=chunk\nget-outside 2040 from=chunk\nget-outside 2041 from=temporary\nput-outside 2048 from=chunk\nput-outside 2049 from=temporary\nput-segment 2049 from=segment\nget-segment 2049 from=segment' \
    GASNET_PORTAL_PUTGET_BOUNCE_LIMIT=2048
sees "PO-6 PO-13 PO-16 with the registration cache no bulk transfer is copied" 2 'ways 8 ways 65 ways 2049' \
    $'put-outside 8 from=temporary\nget-outside 65 from=temporary\nput-outside 2049 from=temporary'
sees "PO-6 PO-13 but a get of up to 64 bytes, which lands beside its ticket" 2 'ways 1 ways 8 ways 64' \
    $'get-outside 1 from=ticket\nget-outside 8 from=ticket\nget-outside 64 from=ticket\nget-segment 8 from=segment'
sees "PO-13 nor that, if so it is said" 2 'ways 8' 'get-outside 8 from=temporary' GASNET_PORTAL_GET_BOUNCE_LIMIT=0
sees "PO-13 puts up to the limit" 2 'ways 100 ways 101' \
    $'put-outside 100 from=chunk\nput-outside 101 from=temporary\nget-outside 101 from=temporary' GASNET_PORTAL_PUT_BOUNCE_LIMIT=100
sees "PO-13 gets up to the limit" 2 'ways 100 ways 101' \
    $'get-outside 100 from=chunk\nget-outside 101 from=temporary\nput-outside 101 from=temporary' GASNET_PORTAL_GET_BOUNCE_LIMIT=100
sees "PO-13 both by the older name" 2 'ways 100 ways 101' \
    $'put-outside 100 from=chunk\nget-outside 100 from=chunk\nput-outside 101 from=temporary\nget-outside 101 from=temporary' \
    GASNET_PORTAL_PUTGET_BOUNCE_LIMIT=100
sees "PO-7 a Long that fits is one message" 2 'ways 1900 ways 2048' $'long 1900 messages=1\nlong 2048 messages=2' GASNET_PORTAL_PACKED_LONG=1
sees "PO-7 or never" 2 'ways 8' 'long 8 messages=2' GASNET_PORTAL_PACKED_LONG=0

# Every chunk is held by a Request to rank 1, which polls when the transfers have arrived.
for mode in seq par; do
    for chunks in 2 5; do
        GASNET_PORTAL_PUTGET_BOUNCE_LIMIT=2048 GASNET_PORTAL_SB_CHUNKS=$chunks timeout -k 2 60 "$TEST_LAUNCH" -n 2 "$TEST_BUILD/tests/testflow-portals-$mode" \
            beside_requests $chunks >"$log" 2>&1 </dev/null
        tap_ok $? "PO-18 without a free chunk a small transfer has a temporary descriptor, and waits for no Reply ($mode, $chunks chunks)"
    done
done

for name in GASNET_FIREHOSE_MAXVICTIM_M GASNET_FIREHOSE_MAXVICTIM_R GASNET_FIREHOSE_MAXREGION_SIZE; do
    elsewhere $name ib/outside.sh "$name" "PO-16 the registration cache is bounded"
done

# ---- the sockets of libportals, which everybody may send to: the key is that of the job, and no file is read

PTL_KEYFILE=$tap_scratch timeout -k 2 60 "$TEST_LAUNCH" -n 3 "$TEST_BUILD/tests/job/teststrangers-portals-seq" >"$log" 2>&1 </dev/null
status=$?
[ $status -eq 0 ] && grep -q '^# attacked 3 UDP' "$log" && [ "$(grep -c '^libportals: ' "$log")" -le 3 ]
tap_ok $? "datagrams of other users change nothing, and cost a line for each rank"

# ---- how much is in flight: PO-5, PO-9, PO-12

# Some tickets may be held for the next Request's answer, or be with an answer that has just left.
sees "PO-4 PO-5 send tickets" 2 'depth 400' 'depth most=2(4[4-9]|50)$'
sees "PO-4 PO-5 as many as set" 2 'depth 100' 'depth most=(4[4-9]|50)$' GASNET_PORTAL_MSG_LIMIT=50
sees "PO-5 PO-16 descriptors that the registration cache keeps" 2 'temporaries 100' 'temporaries most=[4-9] left=[4-9]$' \
    GASNET_FIREHOSE_MAXVICTIM_R=6
elsewhere GASNET_PORTAL_NUM_TMPMD unit/portals_transfers.c 'PO-5 GASNET_PORTAL_NUM_TMPMD bounds' "PO-5 temporary descriptors"
sees "PO-9 Requests to a peer that does not look: each has a credit" 2 'credits 300' 'credits stalled=20$' GASNET_PORTAL_CRED_PER_NODE=20
sees "PO-9 the default for two nodes" 2 'credits 600' 'credits stalled=192$'
sees "PO-7 and a chunk" 2 'credits 300' 'credits stalled=1[2-6]$' GASNET_PORTAL_SB_CHUNKS=16
sees "PO-12 Requests that one poll serves" 2 'limits 64' $'requests there=1 taken=3$\ncompletions there=1 taken=12$' GASNET_PORTAL_AM_LIMIT=3
sees "PO-12 events that one poll takes" 2 'limits 64' $'requests there=1 taken=8$\ncompletions there=1 taken=5$' GASNET_PORTAL_SAFE_LIMIT=5
sees "PO-12 all of them" 2 'limits 64' $'requests there=1 taken=64$\ncompletions there=1 taken=(6[4-9]|[7-9][0-9]|1[0-9][0-9])$' \
    GASNET_PORTAL_SAFE_LIMIT=0 GASNET_PORTAL_AM_LIMIT=0
sees "PO-12 Requests that one poll holds, whatever the limit" 2 'limits 64' $'requests there=1 taken=64$' GASNET_PORTAL_AM_LIMIT=1000
elsewhere GASNET_SUPERNODE_MAXSIZE job/pshm.sh 'GASNET_SUPERNODE_MAXSIZE="\$3"' "the processes of a host that share memory"
elsewhere GASNET_PORTAL_SYS_LIMIT unit/portals_queues.c 'GASNET_PORTAL_SYS_LIMIT=' "PO-12 system messages that one poll acts upon"

# ---- credits: PO-9, PO-10, PO-14

# column RANK PEER FIELD: of the file that RANK has written about credits; 2 lent to it, 3 lent by it, 4 in use
column() { awk -v peer="$2" -v field="$3" '$1 == peer { print $field }' "gasnet_credits.$1"; }

# conserved TEXT N FLOOR: in N files: what a rank has lent is what the others own; banks and loans add up to the same
# everywhere; no rank has less than FLOOR; nothing is in use.
conserved() {
    local text=$1 n=$2 floor=$3 a b sum bank total='' wrong='' lent
    for ((a = 0; a < n; a++)); do
        bank=$(sed -n 's/^# rank .*: \([0-9]*\) credits in the bank.*/\1/p' "gasnet_credits.$a")
        sum=${bank:-0}
        [ -n "$bank" ] || wrong="$wrong (no file of rank $a)"
        for ((b = 0; b < n; b++)); do
            [ $a -ne $b ] || continue
            lent=$(column $a $b 2)
            [ "${lent:--1}" = "$(column $b $a 3)" ] || wrong="$wrong (of $a with $b: $lent lent, $(column $b $a 3) owned)"
            [ "${lent:-0}" -ge "$floor" ] || wrong="$wrong ($lent lent by $a to $b)"
            [ "$(column $a $b 4)" = 0 ] || wrong="$wrong ($a: $(column $a $b 4) in use with $b)"
            sum=$((sum + ${lent:-0}))
        done
        [ "${total:=$sum}" = $sum ] || wrong="$wrong ($sum at $a, $total at 0)"
    done
    [ -z "$wrong" ]
    tap_ok $? "$text: ${total:-no} credits at each$wrong"
}

export GASNET_PORTAL_CREDIT_STATS=1
few='GASNET_PORTAL_CRED_PER_NODE=10 GASNET_PORTAL_BANKED_CREDITS=1000'
# shellcheck disable=SC2086 # words
for mode in seq par; do
    sees "PO-10 a peer that has to wait is lent more, up to the limit" 2 'flood 2000' 'flood handled=2000' $few GASNET_PORTAL_MAX_CRED_PER_NODE=30
    tap_ok "$([ "$(column 0 1 2)" = 30 ]; echo $?)" "PO-10 GASNET_PORTAL_MAX_CRED_PER_NODE=30: $(column 0 1 2) in the end"
    sees "PO-10 without, no peer is lent more" 2 'flood 500' 'flood handled=500' $few GASNET_PORTAL_DYNAMIC_CREDITS=0
    tap_ok "$([ "$(column 0 1 2)" = 10 ]; echo $?)" "PO-10 GASNET_PORTAL_DYNAMIC_CREDITS=0: $(column 0 1 2) in the end"
done
mode=seq
epochs() { sed -n 's/.*; epoch \([0-9]*\)$/\1/p' gasnet_credits.0; }
for duration in 100 500; do
    rm -f gasnet_credits.*
    sees "PO-10 an epoch is so many Requests long" 2 'requests 1000' '' GASNET_PORTAL_EPOCH_DURATION=$duration
    tap_ok "$([ "$(epochs)" = $((1000 / duration)) ]; echo $?)" "PO-10 of 1000 Requests: $(epochs) epochs"
done

# No rank polls until none can send: a message beyond the receive space would be in the catch-basin, and fatal.
for how in DYNAMIC_CREDITS=1 DYNAMIC_CREDITS=0 AMRECV_SPACE=400K; do
    rm -f gasnet_credits.*
    sees "PO-3 PO-8 PO-9 a flood of seven to one that polls only when no peer can send: all arrive" 8 'flood 300' 'flood handled=2100' \
        GASNET_PORTAL_$how GASNET_PORTAL_CRED_PER_NODE=16
    conserved "PO-10 PO-14 PO-17 GASNET_PORTAL_$how: after the flood credits are conserved" 8 8
done
rm -f gasnet_credits.*
job 2 portals/probe-portals-seq 'requests 1' GASNET_PORTAL_CREDIT_STATS=0
[ $status -eq 0 ] && ! ls gasnet_credits.* >/dev/null 2>&1
tap_ok $? "PO-14 GASNET_PORTAL_CREDIT_STATS=0: no files"
unset GASNET_PORTAL_CREDIT_STATS

job 2 portals/probe-portals-seq 'basin 100' GASNET_PORTAL_FLOW_CONTROL=0 GASNET_PORTAL_AMRECV_SPACE=64K
[ $status -ne 0 ] && grep -q 'the catch-basin holds a Request.*set GASNET_PORTAL_FLOW_CONTROL=1' "$log"
tap_ok $? "PO-3 PO-11 GASNET_PORTAL_FLOW_CONTROL=0: a node that receives too much fails, and prints the remedy"
[ $status -ne 0 ] || tap_tail "$log"
proved="$proved GASNET_PORTAL_FLOW_CONTROL GASNET_PORTAL_CREDIT_STATS "

# A device that refuses a registration when all is set up: receive buffers that are used anew want none.
job 2 portals/probe-portals-seq 'flood 2000' 'SOFTHCA_FAULTS=enomem:what=mr,at=40'
tap_ok $status "PO-8 a receive buffer is attached anew without registering its memory"

# Nothing waits for the acknowledgement of an Active Message: the one that is lost has no event.
job 2 testam-portals-seq '' 'SOFTHCA_FAULTS=lose:process=0,peer=1,at=1996' TEST_HANG=30 PTL_QP_TIMEOUT=14
[ $status -ne 0 ] && grep -q 'FATAL.*\(a connection broke: messages may be lost\|an Active Message to rank 1 .*failed\)' "$log"
tap_ok $? "a connection that breaks ends the job, and the reason is printed"

job 2 testam-portals-seq '' 'SOFTHCA_FAULTS=log;lose:process=0,peer=1,at=1996' TEST_HANG=8 PTL_QP_TIMEOUT=31
[ $status -ne 0 ] && grep -q '^softhca: fault in process .*: lose' "$log" && grep -q '^# HUNG: rank' "$log" && ! grep -q FATAL "$log"
tap_ok $? "PTL_QP_TIMEOUT: not before eight of these times, here twenty hours"

# As ibv-conduit: four times what a connection would wait, and 5 seconds here.
job 3 testconnect-portals-seq "end stopped $tap_scratch/last" PTL_QP_TIMEOUT=10
[ "$status" = 1 ] && [ "$(grep -c 'FATAL ERROR' "$log")" = 1 ] &&
    grep -q 'FATAL ERROR (rank 0 of 3 on .*rank 2 on the same host: it has not answered for 5 s: .*PTL_QP_TIMEOUT' "$log"
tap_ok $? "PTL_QP_TIMEOUT: how long a peer may leave the first handshake unanswered"

# ---- variables that libportals reads

"$TEST_LAUNCH" --help-env >"$log" 2>&1
ours=$(sed -n 's/^  PTL_QP_TIMEOUT  \[default: \([0-9]*\)\]*.*/\1/p' "$log")
theirs=$(sed -n 's/.*"GASNET_QP_TIMEOUT", *"", *\([0-9]*\),.*/\1/p' "$TEST_SOURCE/../core/ib/params.def")
[ -n "$ours" ] && [ "$ours" = "$theirs" ]
tap_ok $? "a link counts as broken after the same time as in ibv-conduit: PTL_QP_TIMEOUT is $ours, GASNET_QP_TIMEOUT $theirs"
missing=$(sed -n 's/^PARAM([^"]*"\(PTL_[A-Z_]*\)".*/\1/p' "$TEST_SOURCE/../other/portals3/src/base/settings.def" |
    while read -r name; do grep -q "^  $name  \[default: " "$log" || echo "$name"; done)
[ -z "$missing" ] && [ "$(grep -c '^  PTL_' "$log")" -gt 9 ]
tap_ok $? "--help-env lists what libportals reads${missing:+; not ${missing//$'\n'/ }}"
job 1 testhello-portals-seq '' PTL_SPIN=many PTL_PROGRESS=threads PTL_FASTPATH=Yes PTL_EAGR=4096
[ $status -eq 0 ] && grep -qx 'libportals: PTL_SPIN=many: not a whole number; the range is 0 to 1000000; 50 is used' "$log" &&
    grep -qx 'libportals: PTL_PROGRESS=threads: not one of thread|hybrid|none; thread is used' "$log" &&
    grep -qx 'libportals: PTL_EAGR is not a variable of this library; did you mean PTL_EAGER?' "$log" &&
    ! grep -q PTL_FASTPATH "$log"
tap_ok $? "a bad value is named with what is allowed and what is used, and a misspelt name with the right one"
job 1 testhello-portals-seq '' GASNET_PORTALS_SPAWNER=ssh GASNET_IBV_SPAWNER=ssh GASNET_VERBOSEENV=1
[ $status -eq 0 ] && ! grep -q 'WARNING.*GASNET_PORTALS_SPAWNER' "$log" && grep -q 'WARNING.*GASNET_IBV_SPAWNER' "$log"
tap_ok $? "GASNET_PORTALS_SPAWNER is known, and another conduit's is not"

every_row
tap_end
