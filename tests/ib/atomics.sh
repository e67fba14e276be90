#!/bin/bash
# atomics.sh - remote atomics by the device (GASNET_ADAPTER_ATOMICS): all operations against the model of
# tests/ex/atomics.c, with and without shared memory, over several devices, next to faults; and the ways back to
# messages.  tests/params/run.sh shows which domains use the device.  TEST_MODES, TEST_CONDUIT.
# family: atomics
# family: atomics-vapi last TEST_CONDUIT=vapi
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/../tap.sh" || exit 1

export SOFTHCA=on TEST_HANG=80 TEST_SEED=${TEST_SEED:-$((RANDOM << 15 | RANDOM))}
tap_note "TEST_SEED=$TEST_SEED repeats this run"
stats=$tap_scratch/stats
unset SOFTHCA_DEVICES SOFTHCA_FAULTS

# job SETTINGS N ARGUMENTS...: ex/atomics in $mode; sets `status` and `log`; counters in $stats.
job() {
    local settings=$1 n=$2
    shift 2
    log=$TEST_LOG/atomics-$TEST_CONDUIT-$tap_count.log
    rm -f "$stats"
    # shellcheck disable=SC2086 # settings are words
    env TEST_MARKER=atomics.$$ GASNET_STATSFILE="$stats" GASNET_ADAPTER_ATOMICS=on $settings timeout -k 5 100 \
        "$TEST_LAUNCH" -spawner=ssh -n "$n" "$TEST_BUILD/tests/ex/atomics-$TEST_CONDUIT-$mode" "$@" >"$log" 2>&1 </dev/null
    status=$?
    no_orphans atomics.$$ 5 || status="$status, processes left"
}

# The atomics that the devices of all ranks have executed.
executed() { awk '$2 == "-" && $3 == "atomics" { n += $4 } END { print n + 0 }' "$stats"; }

passes() { # TEXT yes|no: all is right, and the device has executed some operations or none
    local count
    count=$(executed)
    [ "$status" = 0 ] && ! grep -q '^not ok' "$log" && { [ "$2" = no ] || [ "$count" -gt 0 ]; } && { [ "$2" = yes ] || [ "$count" = 0 ]; }
    local wrong=$?
    tap_ok $wrong "$mode: $1 ($count by the device)"
    [ $wrong -eq 0 ] || { tap_note "status $status" && tap_tail "$log"; }
}

hcas=$(sed -n "s/^${TEST_CONDUIT^^}_HCAS = //p" "$TEST_BUILD/Makefile")
for mode in ${TEST_MODES:-seq par}; do
    job GASNET_SUPERNODE_MAXSIZE=1 3 adapter
    passes "without shared memory" yes
    job GASNET_SUPERNODE_MAXSIZE=0 3 adapter
    passes "in shared memory" yes
    job GASNET_SUPERNODE_MAXSIZE=2 5 adapter
    passes "of ranks that share memory, and of others" yes
    job "GASNET_SUPERNODE_MAXSIZE=2 SOFTHCA_DEVICES=1x1;atomic_cap=glob" 5 adapter
    passes "a device that is atomic with respect to processors" yes
    job "GASNET_CONNECT_STATIC=1 GASNET_USE_SRQ=1" 3 adapter
    passes "peers connected at start-up, which share the receive buffers" yes
    job "GASNET_NETWORKDEPTH_PP=2 GASNET_NETWORKDEPTH_TOTAL=3 GASNET_BBUF_COUNT=2 GASNET_PIN_MAXSZ=8K" 3 adapter
    passes "few operations at once, and a segment of many regions" yes
    job "SOFTHCA_DEVICES=1x1;max_qp_rd_atom=1,max_qp_init_rd_atom=1" 2 adapter
    passes "one at once on the device" yes
    job "SOFTHCA_FAULTS=seed=$TEST_SEED;stall:op=atomic,every=7,polls=3;hold:op=atomic,every=5,polls=2" 3 adapter
    passes "completions that come late" yes
    job "" 1 adapter
    passes "a job of one process" no
    job GASNET_RCV_THREAD=1 3 adapter # without effect in SEQ
    passes "next to a receive thread" yes
    if [ "${hcas:-1}" -ge 2 ]; then
        for qps in 0 5; do
            job "SOFTHCA_DEVICES=2x2 GASNET_NUM_QPS=$qps GASNET_SUPERNODE_MAXSIZE=2" 4 adapter
            passes "two devices, GASNET_NUM_QPS=$qps" yes
        done
    fi

    # All types and operations: those domains are not the device's.
    job GASNET_SUPERNODE_MAXSIZE=2 3
    passes "domains with other operations" no

    # The ways back to messages are silent but for the log.
    job "SOFTHCA_DEVICES=1x1;atomic_cap=none GASNET_LOG=network:info" 2
    passes "a device without atomics" no
    grep -q 'GASNET_ADAPTER_ATOMICS has no effect: softhca0 port 1 has no atomic operations' "$log"
    tap_ok $? "$mode: which the log says" || tap_tail "$log"
    job "SOFTHCA_DEVICES=1x1;atomic_cap=none" 2
    ! grep -v '^#\|^ok\|^[0-9.]*$' "$log"
    tap_ok $? "$mode: and nothing else"

    # A peer that dies ends the job as any other.
    job "SOFTHCA_FAULTS=kill:process=1,op=atomic,at=500" 3 adapter
    [ "$status" != 0 ] && [[ $status != 124* && $status != *left* ]]
    tap_ok $? "$mode: a rank is killed between its atomics: the job ends (status $status)"
    job "SOFTHCA_FAULTS=lose:op=atomic,process=0,at=500,retries=all GASNET_QP_TIMEOUT=8" 2 adapter
    [ "$status" != 0 ] && grep -q 'an atomic operation on rank [01].* failed' "$log"
    tap_ok $? "$mode: an operation that fails is named" || tap_tail "$log"
done

# differing SETTINGS N ARGUMENTS...: each of N processes runs the lines of its own that the caller has written.
differing() {
    local settings=$1 n=$2
    shift 2
    log=$TEST_LOG/atomics-$TEST_CONDUIT-$tap_count.log
    rm -rf "$tap_scratch/claims" && mkdir "$tap_scratch/claims"
    # shellcheck disable=SC2086 # settings are words
    env CLAIMS="$tap_scratch/claims" GASNET_STATSFILE="$stats" GASNET_ADAPTER_ATOMICS=on $settings timeout -k 5 100 \
        "$TEST_LAUNCH" -spawner=ssh -n "$n" bash "$tap_scratch/differs" "$TEST_BUILD/tests/ex/atomics-$TEST_CONDUIT-$mode" "$@" \
        >"$log" 2>&1 </dev/null
    status=$?
}

mode=seq
cat >"$tap_scratch/differs" <<'END'
if mkdir "$CLAIMS/0" 2>/dev/null; then export SOFTHCA_DEVICES='1x1;atomic_cap=none'; fi
exec "$@"
END
differing GASNET_LOG=network:info 3
passes "devices that differ: processors execute all" no
[ "$(grep -c 'no effect: the devices of some ranks have no atomic operations' "$log")" = 2 ]
tap_ok $? "as the log of the others says" || tap_tail "$log"

if [ "${hcas:-1}" -ge 2 ]; then
    cat >"$tap_scratch/differs" <<END
n=0
until mkdir "\$CLAIMS/\$n"; do n=\$((n + 1)); done 2>/dev/null
case \$n in
0) export GASNET_NUM_QPS=5 ;;
1) export GASNET_${TEST_CONDUIT^^}_PORTS=softhca1:2 ;;
2) export GASNET_${TEST_CONDUIT^^}_PORTS=softhca0 GASNET_NUM_QPS=2 ;;
esac
exec "\$@"
END
    differing SOFTHCA_DEVICES=2x2 4 adapter
    passes "ranks with different ports and numbers of queue pairs" yes
fi
tap_end
