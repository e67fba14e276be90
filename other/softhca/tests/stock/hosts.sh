# hosts.sh - the stock programs between two hosts, which are two connected network namespaces.
#
# Sourced by stock.sh.  The client runs here, the server in a namespace that a sleeping process holds
# open.  SOFTHCA_HOSTS lists both; nothing but TCP connects them.
# shellcheck shell=bash disable=SC2154,SC2034 # lib.sh sets and uses them

here_address=10.77.0.1 there_address=10.77.0.2
holder='' # the process that keeps the namespace of the other host open

other_host() {
    TEST_MARKER=$marker unshare -n -u sleep infinity &
    holder=$!
    until [ "$(cat /proc/$holder/comm 2>/dev/null)" = sleep ]; do
        kill -0 $holder 2>/dev/null || return 1
    done
    there=(nsenter -t "$holder" -n -u)
    ip link add name stock0 type veth peer name stock1 netns $holder &&
        ip address add $here_address/24 dev stock0 && ip link set stock0 up &&
        "${there[@]}" hostname stock-there && "${there[@]}" ip link set lo up &&
        "${there[@]}" ip address add $there_address/24 dev stock1 && "${there[@]}" ip link set stock1 up
}

no_other_host() {
    kill $holder
    wait $holder 2>/dev/null
    there=() server_name=localhost
    unset SOFTHCA_HOSTS
}

between() { # PROGRAM ARGS...
    local also=$also
    pair "between hosts: $*" "$@"
}

hosts_rc() {
    between ibv_rc_pingpong
    between ibv_rc_pingpong -e -c
    between ibv_rc_pingpong -c -s 1000000 -n 100
    between ibv_rc_pingpong -N -c -s 1
}

hosts_perftest() {
    local also=has_rows rows=1 verb
    for verb in write read send atomic; do
        between ib_${verb}_lat -C -n 300
        between ib_${verb}_bw -q 4 -n 500
    done
    between ib_send_bw -b -n 500 --use_old_post_send
    between ib_write_bw -b -n 500
}

# The device's connection is made through the program's own, between the two networks' interfaces.
hosts_udapl() {
    local also=passed_both
    . "$here/udapl.sh"
    dat_conf
    DAPL_SCM_NETDEV=stock1 serve $control dtest -P soft-scm -b 100000
    DAPL_SCM_NETDEV=stock0 served "between hosts: dtest" dtest -P soft-scm -b 100000 -h "$server_name"
}

# Datagrams, unreliable connections, and receives shared by queue pairs of both hosts.
hosts_other_types() {
    between ibv_ud_pingpong -c
    between ibv_ud_pingpong -e -s 1500
    between ibv_uc_pingpong -c -s 100000 -n 200
    between ibv_srq_pingpong -c -e
    local also=has_rows rows=1
    between ib_send_lat -c UD -C -n 300
    between ib_send_bw -c UD -s 2048 -n 500
    between ib_write_bw -c UC -n 500
    between ib_send_bw --use-srq -q 4 -n 500
}

# mpirun starts remote processes by a command that enters the other namespace.
hosts_mpi() {
    . "$here/mpi.sh"
    exchange_compiles || return 0
    printf '#!/bin/sh\nshift; exec %s sh -c "$*"\n' "${there[*]}" >"$tap_scratch/enter"
    chmod +x "$tap_scratch/enter"
    mpi_hosts=(-H "$here_address,$there_address" --mca plm_rsh_agent "$tap_scratch/enter"
        --mca oob_tcp_if_include "${here_address%.*}.0/24")
    ucx_job rc_v 2
    ucx_job ud_v 2
    openib_job 2
    mpi_hosts=()
}

family_hosts() {
    need ibverbs-utils ibv_rc_pingpong || return 0
    need perftest ib_write_lat || return 0
    need dapl2-utils dtest || return 0
    if [ "$STOCK_PRIVATE_NETWORK" != 1 ] || ! other_host; then
        tap_skip "between hosts" "no network namespaces joined by a wire"
        return 0
    fi
    export SOFTHCA_HOSTS=$here_address,$there_address
    server_name=$there_address
    . "$here/perftest.sh"
    hosts_rc
    hosts_perftest
    hosts_udapl
    hosts_other_types
    hosts_mpi
    no_other_host
}
