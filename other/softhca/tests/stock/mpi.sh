# mpi.sh - Debian's Open MPI, over its own verbs transport and over UCX, running exchange.c.
#
# Sourced by stock.sh.  Both may use no other transport between processes, so a job that succeeds
# used the device; exchange.c checks every byte and prints one line for each of its parts.
# shellcheck shell=bash disable=SC2154,SC2034 # lib.sh sets and uses them

mpi_hosts=(--oversubscribe --mca oob_tcp_if_include lo) # hosts of the ranks, and the network of the launcher

# softhca-run --files creates the files that UCX and Open MPI look for in /dev and /sys.
mpi_job() { # NAME RANKS MPIRUN-WORDS...
    local name=$1${SOFTHCA_HOSTS:+ between hosts} ranks=$2 status line parts=0
    shift 2
    TEST_MARKER=$marker timeout -k 5 $((2 * bound)) "$TEST_BUILD/softhca-run" --files \
        mpirun "${mpi_hosts[@]}" -n "$ranks" --mca mpi_yield_when_idle 1 "$@" "$tap_scratch/exchange" >"$log" 2>&1
    status=$?
    while read -r line; do
        parts=$((parts + 1))
        [ "${line%% *}" = ok ]
        tap_ok $? "$name, $ranks ranks: ${line#*ok }"
    done < <(grep -E '^(not )?ok ' "$log")
    [ $status -eq 0 ] && [ $parts -eq 7 ]
    tap_ok $? "$name, $ranks ranks: the job ends well (status $status, $parts of 7 parts)"
    [ $status -eq 0 ] || tap_tail "$log"
}

ucx_job() { # TRANSPORT RANKS MPIRUN-WORDS...
    mpi_job "UCX $1${SOFTHCA_DEVICES:+, $SOFTHCA_DEVICES}${3:+, ${*:3}}" "$2" --mca pml ucx --mca osc ucx \
        --mca btl ^openib -x UCX_TLS="$1",self "${@:3}"
}

# Open MPI 4.1 counts the ports of a device in a field that it does not initialize: openib's
# mca_btl_openib_device_t.allowed_btls.  Where malloc() returns memory that is not zero, openib does
# not close the device, and MPI_Finalize() calls openib after it was unloaded.  These tunables let
# malloc() return zeros.  The parameters silence warnings about an unknown device.
openib_job() { # RANKS MPIRUN-WORDS...
    GLIBC_TUNABLES=glibc.malloc.tcache_count=0:glibc.malloc.perturb=255 \
        mpi_job "openib${SOFTHCA_DEVICES:+, $SOFTHCA_DEVICES}${2:+, ${*:2}}" "$1" --mca pml ob1 --mca btl openib,self --mca btl_openib_allow_ib true \
        -x GLIBC_TUNABLES --mca btl_openib_warn_no_device_params_found 0 --mca btl_openib_warn_default_gid_prefix 0 "${@:2}"
}

exchange_compiles() {
    export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
    mpicc -O2 -o "$tap_scratch/exchange" "$here/exchange.c" >"$log" 2>&1 && return 0
    tap_ok 1 "exchange.c compiles"
    tap_tail "$log"
    return 1
}

family_mpi() {
    need openmpi-bin mpirun || return 0
    need libopenmpi-dev mpicc || return 0
    exchange_compiles || return 0
    ucx_job rc_v 2
    ucx_job ud_v 2
    ucx_job rc_v 3
    openib_job 3
    openib_job 2 --mca btl_openib_receive_queues P,65536,64,32,32
    # Several rails.
    export SOFTHCA_DEVICES=2x2
    ucx_job rc_v 2 -x UCX_MAX_RNDV_RAILS=4
    openib_job 2
    SOFTHCA_DEVICES=1x2
    openib_job 2
    unset SOFTHCA_DEVICES
}
