#!/bin/bash
# broken.sh - what a job of two guests does when a rank is killed, when the wire loses all packets of one direction, and
# when the other guest is powered off. Runs in the first of them, which powers the other one off at the end.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/common.sh" || exit 1
two_hosts

received() { cat /sys/class/infiniband/rxe0/ports/1/hw_counters/rcvd_pkts; }
# Waits until the processes of a job that was started since then exchange messages.
in_progress() { # PACKETS RECEIVED BEFORE
    until [ "$(received)" -gt $(($1 + 300)) ]; do sleep 0.2; done # between two looks
}

# broken NAME TEXT COMMAND...: while a job runs, the command breaks something. The job ends, with a message, and leaves
# nothing on this host.
broken() {
    local name=$1 text=$2 before breaker
    shift 2
    before=$(received)
    (in_progress "$before" && "$@") &
    breaker=$!
    job ibv 2 "$TEST_BUILD/examples/ring" 100000000
    kill $breaker 2>/dev/null
    wait $breaker
    [ $status -ne 0 ] && [ $status -ne 124 ] && grep -qE "$text" "$log" && nothing_left
    verdict $? "$name: $(grep -m 1 -E "$text" "$log" | cut -c 1-160)"
}

# Processes of jobs on the other host, but for the shell that looks.
left_there() { there "pgrep -f '^$TEST_BUILD/(tests|examples|gasnetrun)[^ ]*'"; }
nothing_left_there() {
    local end=$((SECONDS + bound))
    while [ -n "$(left_there)" ]; do
        [ $SECONDS -lt $end ] || return 1
        sleep 1 # between two looks
    done
}

broken "a rank of the other host is killed" 'rank 1.*(killed|signal 9|SIGKILL)' there "pkill -KILL -f '^$TEST_BUILD/examples/ring'"
nothing_left_there
tap_ok $? "nothing is left on the other host"
broken "packets to the other host are lost" '10.77.0.2|rank 1' tc qdisc add dev eth0 root netem loss 100%
tc qdisc del dev eth0 root
nothing_left_there
tap_ok $? "nothing is left on the other host, which cannot be told"
broken "the other host is powered off" '10.77.0.2|rank 1' there "/bin/busybox poweroff -f"
tap_end
