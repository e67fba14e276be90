#!/bin/bash
# peers.sh - peers that cannot be connected at first use, and networks that are lost while a job runs:
# the job ends in one line that says what happened, soon, and leaves nothing behind; or it goes on.
#
# The software device refuses each thing in turn (SOFTHCA_FAULTS), and limits of the system do.
# Every conduit that is built is tested.
# family: peers
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/../tap.sh" || exit 1
export SOFTHCA=on TEST_SEED=${TEST_SEED:-11} TEST_HANG=45
unset GASNET_QP_TIMEOUT GASNET_QP_RETRY_COUNT GASNET_PORT_GRACE GASNET_CONNECT_STATIC

# job N PROGRAM: `status`, `took` in ms, $log; `wrong` says what was left behind.
job() {
    local n=$1 marker=peers.$$.$tap_count start
    log=$TEST_LOG/peers-$tap_count.log wrong=''
    shift
    start=$(now_ms)
    TEST_MARKER=$marker bash -c "${prepare:-:}; exec \"\$@\"" job timeout -k 2 60 \
        "$TEST_BUILD/gasnetrun_$conduit" -spawner=ssh -n "$n" "$TEST_BUILD/$1" "${@:2}" >"$log" 2>&1 </dev/null
    status=$?
    took=$(($(now_ms) - start))
    no_orphans "$marker" 3 || wrong='; processes left behind'
}

verdict() { # NAME
    tap_ok "$([ -z "$wrong" ]; echo $?)" "$conduit: $1${wrong:+ (${wrong#; })}"
    [ -z "$wrong" ] || tap_tail "$log"
}

# What is said, but for the injector's own lines and what the program printed.
said() { grep -Ev '^(softhca: fault|ok |not ok |#|1\.\.|hello|rank|gasnet)' "$log"; }

# refused NAME MS PATTERN: in one line, with status 1, within so many ms.
refused() {
    [ "$status" = 1 ] || wrong+="; status $status"
    [ "$took" -lt "$2" ] || wrong+="; $took ms"
    [ "$(said | grep -vc '^\*\*\* counters')" = 1 ] || wrong+="; not one line"
    said | grep -qE "^\*\*\* FATAL ERROR \(ranks? ([0-9, -]|and)+ of [0-9]+ on [^ ]+\): $3" || wrong+="; says nothing of /$3/"
    verdict "$1"
}

goes_on() { # NAME
    [ "$status" = 0 ] && ! grep -q '^not ok' "$log" || wrong+="; status $status"
    verdict "$1"
}

# A handshake gets no answer for much longer than this, and a queue pair retries for 8.6 s.
bound=5000 event=4000

fault() { # NAME FAULTS PATTERN
    SOFTHCA_FAULTS=$2 job "${ranks:-4}" "tests/testputget-$conduit-seq"
    refused "$1" "${ms:-$bound}" "$3"
}

nomem='Cannot allocate memory'
view="(local QP operation error|VAPI_LOC_QP_OP_ERR).*softhca: cannot map the tables of process [0-9]+: $nomem \(see ulimit -v\)"
peer='rank [0-9]+ on the same host'
first_use_ib() {
    local device=softhca0 help='; raise ulimit -v and ulimit -l'
    fault "a peer's tables cannot be mapped" enomem:what=view "$device: cannot connect to $peer: the handshake failed: $view.*; raise the limit"
    fault "those of the second peer of one rank cannot" enomem:what=view,process=2,at=2 "$device: cannot connect to $peer: .*$view.*; raise"
    fault "an address handle is refused" enomem:what=ah,process=1 "$device: cannot connect to $peer: no address handle for LID [0-9]+: $nomem$help"
    fault "a queue pair is refused at first use" "$(no_qp 4)" "$device: cannot connect to $peer: no queue pair: $nomem$help"
    fault "a queue pair does not become ready to receive" enomem:what=rtr,process=0 "$device: cannot connect to $peer: its queue pair .* $nomem$help"
    fault "a queue pair does not become ready to send" enomem:what=rts "$device: cannot connect to $peer: its queue pair .* $nomem$help"
    GASNET_CONNECT_STATIC=1 fault "a peer's tables cannot be mapped, all being connected at start-up" enomem:what=view,process=0 \
        ".*$peer failed: $view.*; raise the limit"
    # Each of many ranks meets the same, and each in its way.
    ranks=12 ms=20000 fault "of 12 ranks none can map the tables of any" enomem:what=view "$device: cannot connect to $peer: .*$view"
}
no_qp() { # NUMBER: no queue pair from that on; VAPI tries with less and less to capture
    echo "enomem:what=qp,process=1,after=$([ "$conduit" = vapi ] && echo "$1" || echo "$(($1 - 1))")"
}
first_use_portals() {
    fault "a peer's tables cannot be mapped" enomem:what=view,process=1 "Portals cannot connect to $peer: a message failed: $view"
    fault "a queue pair is refused" enomem:what=qp,process=2 "Portals cannot connect to $peer: no queue pair: $nomem; raise ulimit -v"
    fault "a queue pair does not become ready to receive" enomem:what=rtr,process=0 "Portals cannot connect to $peer: its queue pair .*: $nomem; raise"
    fault "a queue pair does not become ready to send" enomem:what=rts,process=3 "Portals cannot connect to $peer: its queue pair .*: $nomem; raise"
    ranks=12 ms=20000 fault "of 12 ranks none has a queue pair for any" enomem:what=qp "Portals cannot connect to $peer: no queue pair: $nomem"
}

# Address space from far too little to plenty: each job works, or ends soon, in words.
address_space() {
    local limit
    for limit in ${PEERS_LIMITS:-40000 60000 90000 150000 230000 400000}; do
        prepare="ulimit -v $limit" job 3 "tests/testhello-$conduit-seq"
        [ "$took" -lt 15000 ] || wrong+="; $took ms"
        if [ "$status" = 0 ]; then
            ! grep -q '^not ok' "$log" && grep -q '^1\.\.' "$log" || wrong+='; status 0 without results'
        else
            [ "$status" = 1 ] || wrong+="; status $status"
            said | grep -qE 'Cannot allocate memory|ulimit -v|out of memory|cannot allocate' || wrong+='; names no cause'
            [ "$(said | grep -c '^\*\*\* FATAL')" -le 1 ] || wrong+='; not one FATAL line'
        fi
        verdict "address space of $limit KB: status $status"
    done
}

# Where an event reports the loss, no rank waits for the retries.
lost_network() {
    local port='softhca0 port 1: (port error|VAPI_PORT_ERROR)(, and was not active again within 1 s.*)?; .*check its cable and switch'
    ranks=3 ms=$event
    fault "a port goes down" port-down:port=softhca0/1,process=0,at=30 "$port"
    fault "the ports of all ranks go down" port-down:port=softhca0/1,at=30 "$port"
    fault "a device is removed while ranks connect" remove:process=1,at=5 '.*the device was removed or reset'
    fault "a device is removed" remove:process=1,at=30 '.*the device was removed or reset'
    ranks='' ms=''
    SOFTHCA_FAULTS='port-down:port=softhca0/1,process=0,at=30,us=200000' job 3 "tests/testputget-$conduit-seq"
    goes_on "a port that is down for a fifth of a second ends nothing"
}

for conduit in ${PEERS_CONDUITS:-ibv vapi portals}; do
    [ -x "$TEST_BUILD/gasnetrun_$conduit" ] || continue
    case $conduit in portals) first_use_portals ;; *) first_use_ib ;; esac
    address_space
    lost_network
done

conduit=ibv
SOFTHCA_FAULTS=overflow:process=0,at=30 job 3 tests/testputget-ibv-seq
refused "a completion queue overflows" $event 'softhca0: CQ error; a completion queue overflowed'
# Rank 1 computes all the time and does not look.
SOFTHCA_FAULTS=port-down:port=softhca0/1,process=1,at=1 GASNET_PORT_GRACE=0.1 job 2 tests/testconnect-ibv-seq
refused "a port goes down for good, where GASNET_PORT_GRACE is shorter" $event \
    'softhca0 port 1: port error, and was not active again within 0.1 s \(GASNET_PORT_GRACE\)'
SOFTHCA_DEVICES=1x2 SOFTHCA_FAULTS=port-down:port=softhca0/2,process=0,at=30 job 2 tests/testputget-ibv-seq
goes_on "a port that is not used may go down"
tap_end
