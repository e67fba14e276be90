# perftest.sh - Debian's perftest: latency and bandwidth programs with their usual options.
#
# Sourced by stock.sh.  perftest does not check data, but the latency programs wait for the bytes that
# the other side writes.  There must be a row of results for each requested size.
# shellcheck shell=bash disable=SC2154,SC2034 # lib.sh sets and uses them

rows=1 # of results
has_rows() {
    [ "$(grep -cE '^ *[0-9]+ +[0-9]+ +[0-9]+\.[0-9]+' "$log")" -eq "$rows" ]
}

measure() { # PROGRAM ARGS...
    local also=has_rows
    pair "ib_$*" "ib_$1" "${@:2}"
}

# Cycles instead of microseconds: the clock rate is not measured, which takes longer than the test.
latency() { measure "$1_lat" -C -n 300 "${@:2}"; }

# The default calls are ibv_wr_*; the old ones are ibv_post_send.
perftest_rc() {
    local verb
    for verb in write read send atomic; do
        latency $verb
        latency $verb --use_old_post_send -m 256 -x 0
        measure ${verb}_bw
        measure ${verb}_bw -b -q 4 -n 500 --use_old_post_send
    done
    for verb in read send atomic; do
        latency $verb -e
        measure ${verb}_bw -e -t 16 -Q 4 -s 8 -n 5000
    done
    for verb in write send; do
        latency $verb -I 128 -s 128
        latency $verb -I 128 -s 128 --use_old_post_send
        measure ${verb}_bw -I 64 -s 64 -q 2 -l 8 -n 1000
    done
    measure send_bw -r 1000 -t 1000 -q 4 -b
    measure send_bw --recv_post_list 8 -l 8 --use_old_post_send
    measure send_bw --mr_per_qp -q 8
    measure read_bw -o 1
    measure read_bw -s 8388608 -n 20
    latency read -o 4
    latency atomic -A CMP_AND_SWAP
    measure atomic_bw -A CMP_AND_SWAP -q 2 -o 16
    measure send_lat -D 1 -f 0
}

# One shared receive queue for all QPs.
perftest_srq() {
    latency send --use-srq
    latency send --use-srq -e --use_old_post_send
    measure send_bw --use-srq -q 4 -r 256
    measure send_bw --use-srq -q 4 -b -n 500
}

perftest_uc() {
    local verb
    for verb in write send; do
        latency $verb -c UC
        measure ${verb}_bw -c UC
        measure ${verb}_bw -c UC -b -q 4 -n 500 --use_old_post_send
    done
    latency send -c UC -e
}

perftest_ud() {
    latency send -c UD
    latency send -c UD --use_old_post_send -s 2048
    latency send -c UD -e
    latency send -c UD -I 64 -s 64
    measure send_bw -c UD -s 2048
    measure send_bw -c UD -s 4096 -q 4 -b -n 500
    measure send_bw -c UD -s 1024 --use_old_post_send -e
}

perftest_xrc() {
    local verb
    for verb in write read send atomic; do
        latency $verb -c XRC
        measure ${verb}_bw -c XRC
        measure ${verb}_bw -c XRC -q 4 -b -n 500
    done
    latency send -c XRC -e
}

# All powers of two up to 8 MiB.
perftest_sizes() {
    local rows=23
    latency write -a -n 20
    measure send_bw -a -n 20
}

family_perftest() {
    need perftest ib_write_lat ib_read_lat ib_send_lat ib_atomic_lat || return 0
    perftest_rc
    perftest_srq
    perftest_uc
    perftest_ud
    perftest_xrc
    perftest_sizes
}
