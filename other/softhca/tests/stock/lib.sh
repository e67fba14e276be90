# lib.sh - how the tests with stock programs start them: preloaded, alone or as server and client.
#
# Sourced by stock.sh before the families.  A run's output goes to $log (the client's, or the only
# one) and $log.server; an error message there fails a test even when the exit status is 0.
# shellcheck shell=bash disable=SC2154 # tap.sh sets them

lib=$TEST_BUILD/.libs/libsofthca.so
marker=stock-$$
log=$TEST_LOG/stock.log
bound=60 # seconds that one program may take
there=()               # in front of the server's command when it runs on another host
server_name=localhost  # and that host's name for the client
export SOFTHCA=on

# Error messages of the programs, whatever their exit status.
complaint='invalid data|[Ff]ail(ed|ure)|[Ee]rror|[Cc]ouldn|[Uu]nable|mismatch|softhca:'

# private_network "$0" "$@": runs the calling script again in a network namespace that has only a
# loopback, where that is possible: every port is free there, and no other process has the device.
private_network() {
    [ -z "$STOCK_PRIVATE_NETWORK" ] || return 0
    export STOCK_PRIVATE_NETWORK=0
    unshare -n ip link set lo up 2>/dev/null || return 0
    STOCK_PRIVATE_NETWORK=1
    rm -rf "$tap_scratch"
    # shellcheck disable=SC2016 # the inner shell expands it
    exec unshare -n sh -c 'ip link set lo up && exec "$0" "$@"' "$@"
}

need() { # PACKAGE PROGRAM...: 1, and one skipped line, when a program is missing
    local package=$1 program
    shift
    for program; do
        command -v "$program" >/dev/null && continue
        tap_skip "$package" "$program not found (Debian: apt-get install $package)"
        return 1
    done
}

soft() { TEST_MARKER=$marker timeout -k 5 "$bound" env LD_PRELOAD="$lib${LD_PRELOAD:+:$LD_PRELOAD}" "$@"; }
# For the background: $! is the program itself; the caller must stop it.
bare() { TEST_MARKER=$marker LD_PRELOAD=${LD_PRELOAD:-$lib} exec "$@"; }

await() { # COMMAND...: until it succeeds; 1 after a timeout
    local end=$((SECONDS + bound))
    until "$@"; do
        [ $SECONDS -lt $end ] || return 1
        sleep 0.01 # between two looks
    done
}

says() { # NAME PATTERN: what the last program printed
    local found
    grep -qE "$2" "$log"
    found=$?
    tap_ok $found "$1"
    [ $found -eq 0 ] || tap_tail "$log"
}

listening() { # PORT
    "${there[@]}" grep -qi "$(printf ':%04X 0*:0000 0A ' "$1")" /proc/net/tcp /proc/net/tcp6 2>/dev/null
}

free_port() { # sets $port, below the ephemeral ports
    while port=$((20000 + RANDOM % 10000)) && listening $port; do :; done
}

# serve PORT PROGRAM...: starts a server, sets $server; 1 when it ended before it listened.
serve() {
    local at=$1
    shift
    TEST_MARKER=$marker "${there[@]}" timeout -k 5 "$bound" \
        env LD_PRELOAD="$lib${LD_PRELOAD:+:$LD_PRELOAD}" "$@" >"$log.server" 2>&1 &
    server=$!
    until listening "$at"; do
        kill -0 $server 2>/dev/null || return 1
        sleep 0.01 # between two looks
    done
}

# served NAME PROGRAM...: runs the client and checks it and the server.  The function named by $also
# checks their output.
served() {
    local name=${1% } wrong='' status
    shift
    soft "$@" >"$log" 2>&1
    status=$?
    if [ $status -ne 0 ]; then
        wrong="; the client's status is $status"
        kill $server 2>/dev/null # it may wait indefinitely
    fi
    wait $server
    status=$?
    [ $status -eq 0 ] || wrong="$wrong; the server's status is $status"
    ! grep -qE "$complaint" "$log" "$log.server" || wrong="$wrong; there are complaints"
    [ -n "$wrong" ] || [ -z "$also" ] || $also || wrong="; $also does not hold"
    [ -z "$wrong" ]
    tap_ok $? "$name${wrong:+ (${wrong#; })}"
    [ -z "$wrong" ] || { tap_tail "$log" && tap_tail "$log.server"; }
}

# pair NAME PROGRAM ARGS...: for programs that take -p PORT, and in the client the server's name.
pair() {
    local name=$1 port
    shift
    free_port
    if serve $port "$1" -p $port "${@:2}"; then
        served "$name" "$1" -p $port "${@:2}" "$server_name"
    else
        wait $server
        tap_ok 1 "$name (the server ended with status $? before it listened)"
        tap_tail "$log.server"
    fi
}
