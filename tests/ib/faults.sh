#!/bin/bash
# faults.sh - client programs over a software device that injects faults (SOFTHCA_FAULTS).
#
# Completions held back, messages that wait while others overtake them, and receivers that are not
# ready must change nothing (IB-E1: a source that is reused too early, or a target that is read too
# early, shows as wrong bytes).  What cannot be repaired ends the job with one message that names
# operation, peer and cause.  FAULT_SEED repeats a run.
# family: faults
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/../tap.sh" || exit 1

conduit=${TEST_CONDUIT:-ibv}
seed=${FAULT_SEED:-$RANDOM}
tap_note "FAULT_SEED=$seed"
export SOFTHCA=on GASNET_QP_TIMEOUT=12 # of 8 tries, 17 ms each

run() { # LOG N PROGRAM FAULTS
    local marker=faults.$$.$tap_count
    TEST_MARKER=$marker SOFTHCA_FAULTS="seed=$seed;$4" timeout -k 2 "${bound:-150}" \
        "$TEST_LAUNCH" -spawner=ssh -n "$2" "$TEST_BUILD/tests/$3" >"$1" 2>&1 </dev/null
    status=$?
    no_orphans "$marker" 2 || status="$status, processes left"
}

harmless() { # NAME FAULTS PROGRAM...
    local name=$1 faults=$2 program mode log
    shift 2
    for program; do
        for mode in ${TEST_MODES:-seq par}; do
            log=$TEST_LOG/faults-${faults//[^a-z0-9]/_}-$program-$mode.log
            run "$log" 2 "$program-$conduit-$mode" "$faults"
            [ "$status" = 0 ] && ! grep -q '^not ok' "$log"
            tap_ok $? "$program $mode: $name"
            [ "$status" = 0 ] || tap_tail "$log"
        done
    done
}

harmless "IB-E1 messages that wait while others overtake them" "stall:us=300,messages=4,chance=1/20" \
    testputget testamsize testam
harmless "IB-E1 every transfer waits, then its row's promise is looked at" "stall:op=write+read,polls=50" testsync
TEST_HELD=1 harmless "IB-E1 every completion is held back, then no row is synchronised" \
    "hold:op=write+read,polls=50" testsync
harmless "IB-E1 IB-E2 completions held back" "hold:polls=50,chance=1/5" \
    testputget testhandles testvalue testamsize
harmless "IB-E2 completions of puts alone held back" "hold:op=write,us=200,chance=1/5" testputget testhandles
harmless "IB-E2 completions of gets alone held back" "hold:op=read,polls=20,chance=1/3" testputget testhandles
harmless "IB-A1 completions of messages come in threes" "hold:op=send,gather=3,us=500" testam testamflood
harmless "IB-A1 receivers that are not ready now and then" "rnr:chance=1/20,retries=3" testam testbarrier

# One of the messages says it all; others may come from ranks that met the same.
fatal() { # NAME FAULTS PATTERN...
    local name=$1 faults=$2 wrong='' pattern log
    shift 2
    log=$TEST_LOG/faults-${faults//[^a-z0-9]/_}.log
    bound=30 run "$log" 3 "testputget-$conduit-seq" "$faults"
    [ "$status" = 1 ] || wrong="; status $status"
    for pattern; do
        grep FATAL "$log" | grep -qE -- "$pattern" || wrong="$wrong; says nothing of /$pattern/"
    done
    # No rank prints two fatal errors; a failure of all ranks at start-up is one line.
    grep FATAL "$log" | sed 's/.*(rank \([0-9]*\) .*/\1/' | sort | uniq -d | grep -q . && wrong="$wrong; a rank prints two errors"
    case $faults in enomem*) [ "$(grep -c FATAL "$log")" = 1 ] || wrong="$wrong; not one line" ;; esac
    tap_ok "$([ -z "$wrong" ]; echo $?)" "$name${wrong:+ (${wrong#; })}"
    [ -z "$wrong" ] || tap_tail "$log"
}

fatal "a peer that cannot be reached any more" "cut:peer=1,process=0,after=20" \
    'rank 0' 'rank 1' 'retry counter exceeded' 'GASNET_QP_TIMEOUT'
GASNET_SSH_SERVERS=near,far GASNET_SSH_CMD=$TEST_SOURCE/spawner/fake-ssh SOFTHCA_HOSTS='' \
    fatal "a peer on another host, which is named" "cut:peer=2,process=0,after=20" 'rank 0' 'rank 2 on host far'
# Either rank may fail first: the rank with the lost port reports the port, the other that its peer does not answer.
fatal "a port that goes down" "port-down:port=softhca0/1,process=0,at=30" \
    'softhca0 port 1: port error.*check its cable and switch|(to|from) rank 0 .*no longer answers.*is the cable or switch at fault'
fatal "a device that is removed" "remove:process=1,at=30" 'rank 1' 'softhca0' 'the device was removed or reset'
if [ "$(sed -n "s/^${conduit^^}_HCAS = //p" "$TEST_BUILD/Makefile")" -gt 1 ]; then
    SOFTHCA_DEVICES=2x1 fatal "one of two devices is removed" "remove:process=1,device=softhca1,at=30" \
        'rank 1 .*softhca1: (posting an? |local catastrophic error)' 'the device was removed or reset'
fi
fatal "a completion queue that overflows" "overflow:process=0,at=30" 'CQ error' 'completion queue overflowed'
fatal "no protection domain" "enomem:what=pd" 'ranks? [0-2,-]+ of 3' 'protection domain' 'Cannot allocate memory'
# One for sends is made first; each names what it follows.
fatal "no completion queue for sends" "enomem:what=cq" \
    'send completion queue of [0-9]+ entries: .*; lower GASNET_NETWORKDEPTH_PP or GASNET_NETWORKDEPTH_TOTAL$'
fatal "no completion queue for receives" "enomem:what=cq,at=2" \
    'receive completion queue of [0-9]+ entries: .*; lower GASNET_AM_CREDITS_PP or GASNET_AM_CREDITS_TOTAL$'
fatal "no queue pair" "enomem:what=qp" 'queue pair' 'GASNET_NETWORKDEPTH_PP'
# The third is for handshakes; without them peers are connected at start-up (connect.sh).
for at in 1 2 4 5 6; do
    fatal "registration $at refused" "enomem:what=mr,at=$at" 'cannot register .* KB' 'Cannot allocate memory'
done
tap_end
