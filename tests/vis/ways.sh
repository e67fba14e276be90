#!/bin/bash
# ways.sh - which way vector, indexed and strided transfers take, by the counters of the sender: puts, gets and
# messages of one operation, by default and as the GASNET_VIS_ variables say.
#
# What arrives is tests/vis/testvis.c; what the ways cost, tests/bench/vis.sh.
# family: vis
# family: vis-vapi last TEST_CONDUIT=vapi
# family: vis-portals TEST_CONDUIT=portals
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/../tap.sh" || exit 1
. "$(dirname "$0")/../bench/counters.sh" || exit 1

export TEST_HANG=60
conduit=${TEST_CONDUIT:-ibv}

# goes TEXT "DIRECTION PIECES BYTES LAYOUT" PUTS GETS MESSAGES ENVIRONMENT...: puts, gets and messages of one operation of a section; each
# number is a range LEAST-MOST, or one number.
goes() {
    local text=$1 operation=$2 range i wrong='' ranges=("$3" "$4" "$5") names=(puts gets messages) found
    shift 5
    # shellcheck disable=SC2086 # words
    read -ra found <<<"$(for i; do export "${i?}"; done; per_operation "$conduit" section $operation)"
    for i in 0 1 2; do
        range=${ranges[i]}
        [ "${found[i]:--1}" -ge "${range%-*}" ] && [ "${found[i]}" -le "${range#*-}" ] ||
            wrong+=", ${names[i]} ${found[i]:-not counted} instead of $range"
    done
    tap_ok "$([ -z "$wrong" ]; echo $?)" "$text: $operation${*:+ $*}${wrong:+ (${wrong#, })}"
}

# The puts or gets of lists of so many pieces.  On Portals, which has none, these go through a buffer, or
# each by itself if they count as long.
case $conduit in
ibv) most=32 ;;
vapi) most=8 ;; # 64 bytes are inlined
*) most=1 ;;
esac
lists() { # PIECES
    if [ $most -eq 1 ] && [ "$1" -lt 4096 ]; then
        echo 1-16
    else
        echo $((($1 + most - 1) / most))
    fi
}

goes "many small pieces are packed" 'put 4096 8 both' 0 0 8-20
goes "and so are they for gets" 'get 4096 8 both' 0 0 8-20
goes "from contiguous memory too" 'put 4096 8 remote' 0 0 8-20
goes "but not if the user forbids it" 'put 4096 8 both' 4096 0 0 GASNET_VIS_AMPIPE=0
goes "nor for gets" 'get 4096 8 both' 0 4096 0 GASNET_VIS_AMPIPE=0
goes "a contiguous target is put from a buffer" 'put 4096 8 local' 1-16 0 0
goes "a contiguous source is got into one" 'get 4096 8 local' 0 1-16 0
goes "but not if the user forbids it" 'put 4096 8 local' 0 0 8-20 GASNET_VIS_REMOTECONTIG=0
goes "nor for gets" 'get 4096 8 local' 0 0 8-20 GASNET_VIS_REMOTECONTIG=0
goes "both forbidden" 'put 4096 8 local' 4096 0 0 GASNET_VIS_REMOTECONTIG=0 GASNET_VIS_AMPIPE=0
goes "longer runs to contiguous memory are lists" 'put 64 1000 local' "$(lists 64)" 0 0
goes "and from it" 'get 64 1000 local' 0 "$(lists 64)" 0
goes "of as many as the network takes" "put $most 1000 local" "$(lists "$most")" 0 0
goes "and one more" "put $((most + 1)) 1000 local" "$(lists $((most + 1)))" 0 0
goes "but not if the user forbids it" 'put 64 1000 local' 64 0 0 GASNET_VIS_REMOTECONTIG=0
goes "and not from several places" 'put 64 1000 both' 64 0 0
if [ "$conduit" != portals ]; then
    goes "reads as the device allows" 'get 64 1000 local' 0 16 0 'SOFTHCA_DEVICES=1x1;max_sge_rd=4'
    goes "which is no limit for writes" 'put 64 1000 local' "$(lists 64)" 0 0 'SOFTHCA_DEVICES=1x1;max_sge_rd=4'
    goes "writes as the device allows" 'put 64 1000 local' 32 0 0 'SOFTHCA_DEVICES=1x1;max_sge=2'
    goes "or a buffer" 'put 64 1000 local' 1-16 0 0 'SOFTHCA_DEVICES=1x1;max_sge=1'
    goes "and gets from one" 'get 64 1000 local' 0 1-16 0 'SOFTHCA_DEVICES=1x1;max_sge_rd=1'
    goes "at least 8, whatever is inlined" 'put 64 1000 local' 8 0 0 GASNET_INLINESEND_LIMIT=0
fi
goes "large pieces are puts" 'put 64 4096 both' 64-512 0 0
goes "or gets" 'get 64 4096 both' 0 64-512 0
goes "unless they count as short" 'put 64 4096 both' 0 0 64-170 GASNET_VIS_MAXCHUNK=4096
goes "to contiguous memory too" 'put 64 4096 local' 1-128 0 0 GASNET_VIS_MAXCHUNK=4K
goes "pieces longer than the limit are not packed" 'put 4096 8 both' 4096 0 0 GASNET_VIS_MAXCHUNK=7
goes "nor copied" 'put 4096 8 local' "$(lists 4096)" 0 0 GASNET_VIS_MAXCHUNK=7
goes "few pieces are puts" 'put 8 8 both' 8 0 0
goes "contiguous memory is one put" 'put 1 4096 both' 1-2 0 0

# The example, which is built for one conduit.
if "$TEST_BUILD/gasnetrun_$conduit" -t -n 1 "$TEST_BUILD/examples/halo" >/dev/null 2>&1; then
    for n in 1 2 3 4; do
        log=$TEST_LOG/vis_halo_$n.log
        timeout -k 2 60 "$TEST_LAUNCH" -spawner=ssh -n $n "$TEST_BUILD/examples/halo" 50 20 >"$log" 2>&1 </dev/null &&
            [ "$(grep -c 'verified$' "$log")" = 2 ]
        status=$?
        tap_ok $status "examples/halo, $n processes"
        [ $status -eq 0 ] || tap_tail "$log"
    done
fi
tap_end
