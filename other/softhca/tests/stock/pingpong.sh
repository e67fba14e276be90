# pingpong.sh - Debian's ibv_*_pingpong: polling and sleeping, new calls, sizes, depths, MTUs.
#
# Sourced by stock.sh.  With -c the server validates the first byte of every page it received.
# shellcheck shell=bash disable=SC2154,SC2034 # lib.sh sets and uses them

exchange() { # PROGRAM ARGS...
    pair "ibv_${1}_pingpong ${*:2}" "ibv_${1}_pingpong" "${@:2}"
}

pingpong_rc() {
    local size mtu
    exchange rc
    exchange rc -e
    exchange rc -c
    exchange rc -e -c
    exchange rc -N -s 64
    exchange rc -N -e -c
    for size in 1 64 256 257 4096 100000 1000000; do exchange rc -c -s $size -n 200; done
    for mtu in 256 512 2048 4096; do exchange rc -c -m $mtu -s 10000 -n 200; done
    exchange rc -s 64 -n 20000
    exchange rc -r 1000 -n 2000
    exchange rc -r 1 -n 200
    exchange rc -g 0 -l 3
    exchange rc -d softhca0 -i 1
}

# Many QPs of each process on one shared receive queue.
pingpong_srq() {
    exchange srq
    exchange srq -e
    exchange srq -c -q 4
    exchange srq -e -c -s 100000 -n 50
    exchange srq -q 64 -n 100 -m 256
    exchange srq -q 3 -r 20 -n 500
}

pingpong_uc() {
    exchange uc
    exchange uc -e
    exchange uc -c
    exchange uc -e -c -s 100000 -n 200
    exchange uc -c -m 256 -s 1
}

# One message is one packet: no more than the port's MTU.
pingpong_ud() {
    exchange ud
    exchange ud -e
    exchange ud -c
    exchange ud -e -c -s 64
    exchange ud -c -s 4000 -n 2000
}

# Every process has one receive queue for all others, over XRC; a server may have several clients.
pingpong_xsrq() {
    local port client status
    exchange xsrq
    exchange xsrq -e
    exchange xsrq -s 100000 -n 20
    free_port
    if ! serve $port ibv_xsrq_pingpong -p $port -c 2; then
        tap_ok 1 "ibv_xsrq_pingpong with two clients (no server)" && tap_tail "$log.server"
        return
    fi
    soft ibv_xsrq_pingpong -p $port localhost >"$log.other" 2>&1 &
    client=$!
    served "ibv_xsrq_pingpong with two clients" ibv_xsrq_pingpong -p $port localhost
    wait $client
    status=$?
    tap_ok $status "both of them end well"
    [ $status -eq 0 ] || tap_tail "$log.other"
}

# The two processes are killed while they exchange messages: nothing may remain.  (If only one were killed, the
# other would wait for a message indefinitely, as on hardware.)
pingpong_killed() {
    local port client alive=1
    free_port
    bare ibv_rc_pingpong -p $port -n 100000000 >"$log.server" 2>&1 &
    server=$!
    until listening $port || ! kill -0 $server 2>/dev/null; do sleep 0.01; done
    bare ibv_rc_pingpong -p $port -n 100000000 localhost >"$log" 2>&1 &
    client=$!
    # The process has run for a second of processor time: by then it is exchanging messages.
    until [ "$(ps -o cputimes= -p $client | tr -d ' ')" -ge 1 ] 2>/dev/null; do
        kill -0 $client 2>/dev/null || break
        sleep 0.02
    done
    kill -0 $client $server 2>/dev/null && alive=0
    kill -KILL $client $server 2>/dev/null
    wait $client $server 2>/dev/null
    tap_ok $alive "two programs run until they are killed"
}

family_pingpong() {
    need ibverbs-utils ibv_rc_pingpong || return 0
    pingpong_rc
    pingpong_srq
    pingpong_uc
    pingpong_ud
    pingpong_xsrq
    pingpong_killed
}
