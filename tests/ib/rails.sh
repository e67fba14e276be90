#!/bin/bash
# rails.sh - several devices and ports: which are taken, and that everything works over all of them
# (IB-B5, IB-C2, IB-C3, IB-C4, IB-C9), on software devices.
#
# TEST_MODES, TEST_CONDUIT as for run-conduit.sh.
# family: rails
# family: rails-vapi last TEST_CONDUIT=vapi
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/../tap.sh" || exit 1

conduit=${TEST_CONDUIT:-ibv}
log=$TEST_LOG/rails.log
ports=GASNET_${conduit^^}_PORTS
export SOFTHCA=on GASNET_VERBOSEENV=1 ports

hcas=$(sed -n "s/^${conduit^^}_HCAS = //p" "$TEST_BUILD/Makefile")
if [ "${hcas:-1}" -lt 2 ]; then
    tap_skip "several devices" "this build is configured for one (--disable-$conduit-multirail)"
    tap_end
fi

job() { # N PROGRAM ARGUMENT...
    timeout -k 2 120 "$TEST_LAUNCH" -spawner=ssh -n "$1" "$TEST_BUILD/tests/$2" "${@:3}" >"$log" 2>&1 </dev/null
}

# over NAME DEVICES PORTS QPS EXPECTED: a small job says which ports it took.
over() {
    local -x "$ports=$3"
    SOFTHCA_DEVICES=$2 GASNET_NUM_QPS=$4 job 2 "testhello-$conduit-seq"
    local status=$? took
    took=$(sed -n 's/.*processes, started by .*, over \(.*\) (software.*/\1/p' "$log")
    took=${took% at *} # an IP address, if by the connection manager
    [ $status -eq 0 ] && [ "$took" = "$5" ]
    tap_ok $? "$1: $2 $ports=$3 uses ${took:-nothing}"
    [ "$took" = "$5" ] || tap_tail "$log"
}

over "IB-C4 one active port of each device" 2x2 "" 0 "softhca0 port 1 + softhca1 port 1"
over "IB-B5 no more devices than configured" 4x1 "" 0 "softhca0 port 1 + softhca1 port 1"
over "IB-C3 a device without ports" 2x2 softhca1 0 "softhca1 port 1"
over "IB-C3 ports by number, order and repetition mean nothing" 2x2 softhca1:2,1,2+softhca0:2 0 \
    "softhca0 port 2 + softhca1 port 1 + softhca1 port 2"
over "IB-C3 absent devices and ports are passed over" 2x2 softhca9+softhca1:2,7 0 "softhca1 port 2"
over "IB-C3 inactive ports are passed over" "2x2;softhca0/1:state=down" "" 0 \
    "softhca0 port 2 + softhca1 port 1"
over "IB-C3 an inactive device gives way to the next" "3x1;softhca0/1:state=down" "" 0 \
    "softhca1 port 1 + softhca2 port 1"

over "IB-C3 an iWARP device gives way to the next" "3x1;softhca0:transport=iwarp" "" 0 \
    "softhca1 port 1 + softhca2 port 1"

# refused NAME DEVICES PORTS TEXT: no process starts; one message says why.
refused() {
    local -x "$ports=$3"
    SOFTHCA_DEVICES=$2 job 1 "testhello-$conduit-seq"
    [ $? -ne 0 ] && [ "$(grep -c 'FATAL ERROR' "$log")" = 1 ] && grep -q "FATAL ERROR.*$4" "$log"
    local status=$?
    tap_ok $status "$1: $2 $ports=$3 is refused"
    [ $status -eq 0 ] || tap_tail "$log"
}
# VAPI does not list iWARP, and an ibv-conduit may be without a connection manager.
if [ "$conduit" = ibv ] && grep -q 'HAVE_RDMACM = 1' "$TEST_BUILD/Makefile"; then
    over "IB-C3 iWARP alone" "1x1;transport=iwarp" "" 0 "softhca0 port 1"
    over "IB-C3 iWARP by name" "2x1;softhca0:transport=iwarp" softhca0 0 "softhca0 port 1"
    export GASNET_CONNECT=verbs
fi
refused "IB-C3 iWARP alone" "1x1;transport=iwarp" "" "no usable InfiniBand port (.*iWARP"
refused "IB-C3 iWARP by name" "2x1;softhca0:transport=iwarp" softhca0 \
    "$ports=softhca0 leaves no usable InfiniBand port (.*iWARP"
unset GASNET_CONNECT

# IB-C9: the first so many.
over "IB-C9 as many devices as queue pairs" 2x2 "" 1 "softhca0 port 1"
over "IB-C9 a device without an active port does not count" "2x1;softhca0/1:state=down" "" 1 "softhca1 port 1"
over "IB-C9 no more than there are" 2x2 "" 5 "softhca0 port 1 + softhca1 port 1"
over "IB-C9 as many of the ports of the filter, in the order found" 2x2 softhca1:1,2+softhca0:2 2 \
    "softhca0 port 2 + softhca1 port 1"
opened() { # QPS: the devices that each rank opens; those of rank 0, which prints them
    SOFTHCA_DEVICES=2x2 GASNET_NUM_QPS=$1 GASNET_CONNECT_STATIC=1 job 2 "params/probe-$conduit-seq" attributes
    sed -n 's/^open //p' "$log" | sort -u | paste -sd' '
}
names=$(opened 2)
tap_ok "$([ "$names" = "softhca0 softhca1" ]; echo $?)" "IB-C9 two queue pairs: ${names:-no device} opened"
names=$(opened 1)
tap_ok "$([ "$names" = softhca0 ]; echo $?)" "IB-C9 one queue pair: ${names:-no device} opened, and no other to register or poll"

four_ports() { # PROGRAM
    local -x "$ports=softhca0:1,2+softhca1:1,2" SOFTHCA_DEVICES=2x2
    job 3 "$1"
}

# Everything over several queue pairs: one for each port, and more (by turns).
for mode in ${TEST_MODES:-seq par}; do
    for qps in 0 6; do
        for program in testputget testam testamsize testhandles; do
            GASNET_NUM_QPS=$qps four_ports "$program-$conduit-$mode"
            status=$?
            [ $status -eq 0 ] && ! grep -q '^not ok' "$log"
            tap_ok $? "IB-C2 $program $mode over four ports, GASNET_NUM_QPS=$qps"
            [ $status -eq 0 ] || tap_tail "$log"
        done
    done
done

# IB-C: processes may differ in ports and queue pairs.
differs=$tap_scratch/differs
cat >"$differs" <<'END'
#!/bin/bash
n=0
until mkdir "$CLAIMS/$n"; do n=$((n + 1)); done 2>/dev/null
case $n in
0) export GASNET_NUM_QPS=5 ;;
1) export "$ports=softhca1:2" ;;
2) export "$ports=softhca0" GASNET_NUM_QPS=2 ;;
esac
exec "$@"
END
chmod +x "$differs"
for program in testputget testamsize; do
    export CLAIMS=$tap_scratch/$program
    mkdir "$CLAIMS"
    SOFTHCA_DEVICES=2x2 timeout -k 2 120 "$TEST_LAUNCH" -spawner=ssh -n 4 "$differs" \
        "$TEST_BUILD/tests/$program-$conduit-seq" >"$log" 2>&1 </dev/null
    tap_ok $? "IB-C $program among processes with different ports and numbers of queue pairs"
done
tap_end
