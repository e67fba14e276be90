#!/bin/bash
# outside.sh - the registration cache for memory outside the segment, as its users see it: sizes, settings that
# contradict each other, registrations that the system refuses, counters.
# family: outside
# family: outside-portals last TEST_CONDUIT=portals
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/../tap.sh" || exit 1

conduit=$TEST_CONDUIT
log=$TEST_LOG/outside-$conduit.log
export SOFTHCA=on TEST_HANG=50
unset GASNET_USE_FIREHOSE GASNET_FIREHOSE_KEEP GASNET_STATSFILE
id=IB-R14
[ "$conduit" != portals ] || id=PO-16
[ -x "$TEST_LAUNCH" ] || { tap_skip "$conduit-conduit" "it is not in this build" && tap_end; }

run() { # MODE ARGUMENT ENVIRONMENT...: runs $program or testoutside, and sets `status`
    local mode=$1 argument=$2
    shift 2
    # shellcheck disable=SC2086 # a word or none
    env GASNET_FIREHOSE_VERBOSE=1 "$@" timeout -k 2 60 "$TEST_LAUNCH" -n 2 "$TEST_BUILD/tests/${program:-testoutside}-$conduit-$mode" \
        $argument >"$log" 2>&1 </dev/null
    status=$?
}

# says TEXT PATTERN: the job failed, and this is why.
says() {
    [ "$status" -ne 0 ] && [ "$status" -ne 124 ] && grep -qE -- "$2" "$log"
    tap_ok $? "$1" || tap_tail "$log"
}

# The size of the cache of rank 0 or 1 in the job that has run, in KB.
size_of_cache() { sed -n 's/.* registers up to \([0-9]*\) KB outside.*/\1/p' "$log" | head -n 1; }

# bounded TEXT KB: the job ended well, and each of its ranks never registered more.
bounded() {
    local most
    most=$(sed -n 's/.*registered outside its segment at most \([0-9]*\) KB.*/\1/p' "$log" | sort -n | tail -n 1)
    [ "$status" -eq 0 ] && [ "${most:-0}" -gt 0 ] && [ "$most" -le "$2" ] &&
        [ "$(grep -c ' registered outside its segment at most' "$log")" = 2 ]
    tap_ok $? "$1: ${most:-none} KB of $2" || tap_tail "$log"
}

for mode in ${TEST_MODES:-seq par}; do
    run $mode '' GASNET_FIREHOSE_MAXVICTIM_M=256K GASNET_FIREHOSE_MAXREGION_SIZE=64K TEST_ONLY='many at once'
    bounded "$mode: $id GASNET_FIREHOSE_MAXVICTIM_M bounds what is registered" 256
    grep -q 'up to 256 KB .* at most 4 regions of at most 64 KB' "$log"
    tap_ok $? "$mode: $id GASNET_FIREHOSE_MAXREGION_SIZE and GASNET_FIREHOSE_VERBOSE"
    ! grep -q ' 0 evictions' "$log" && [ "$(grep -c evictions "$log")" = 2 ]
    tap_ok $? "$mode: $id regions make room for others"
    run $mode '' GASNET_FIREHOSE_MAXVICTIM_R=2 TEST_ONLY='many at once'
    bounded "$mode: $id GASNET_FIREHOSE_MAXVICTIM_R" 256
done
mode=seq
run $mode '' GASNET_FIREHOSE_MAXVICTIM_M=3 TEST_ONLY='many at once'
bounded "$id a number without a suffix counts megabytes" 3072

run $mode '' GASNET_FIREHOSE_MAXVICTIM_M=4 GASNET_FIREHOSE_MAXREGION_SIZE=1 TEST_ONLY='many at once'
grep -q 'up to 4096 KB .* at most 4 regions of at most 1024 KB' "$log"
tap_ok $? "$id and so does that of a region"
run $mode '' GASNET_FIREHOSE_MAXVICTIM_M=4M GASNET_FIREHOSE_MAXVICTIM_R=1000000000 TEST_ONLY='many at once'
grep -q 'up to 4096 KB .* at most 32 regions' "$log" && [ "$status" -eq 0 ]
tap_ok $? "$id GASNET_FIREHOSE_MAXVICTIM_R is truncated to what fits into the memory"

# ---- what cannot be

run $mode '' GASNET_FIREHOSE_MAXVICTIM_M=64K GASNET_FIREHOSE_MAXREGION_SIZE=96K
says "$id less memory than one region: both are named" \
    'FATAL.*GASNET_FIREHOSE_MAXVICTIM_M \(64 KB\).*GASNET_FIREHOSE_MAXREGION_SIZE \(96 KB\)'
run $mode '' GASNET_FIREHOSE_MAXREGION_SIZE=5000B
says "$id half pages" 'FATAL.*GASNET_FIREHOSE_MAXREGION_SIZE \(5000 bytes\) is no multiple of the page size'
if [ "$conduit" = portals ]; then
    for name in M R; do
        run $mode '' GASNET_FIREHOSE_$name=1 GASNET_QUIET=0 TEST_ONLY='free on return'
        [ $status -eq 0 ] && grep -q "WARNING.*GASNET_FIREHOSE_$name has no effect" "$log"
        tap_ok $? "PO-16 GASNET_FIREHOSE_$name is unused, and warned about"
    done
    run $mode '' GASNET_FIREHOSE_MAXVICTIM_M=256M TEST_ONLY='free on return'
    grep -q 'up to 262144 KB .* at most 2048 regions' "$log"
    tap_ok $? "PO-16 GASNET_FIREHOSE_MAXVICTIM_M alone: as many regions as it holds"
    run $mode '' TEST_ONLY='free on return'
    all=$(size_of_cache)
    run $mode '' GASNET_PHYSMEM_PINNABLE_RATIO=0.075 TEST_ONLY='free on return'
    less=$(size_of_cache)
    [ "${less:-0}" -gt 0 ] && [ $((less * 9)) -lt "${all:-0}" ]
    tap_ok $? "PO-15 GASNET_PHYSMEM_PINNABLE_RATIO bounds the cache: a tenth has $less KB instead of $all"
else
    run $mode '' GASNET_PHYSMEM_MAX=64M GASNET_FIREHOSE_M=20 GASNET_FIREHOSE_MAXVICTIM_M=20
    says "IB-R14 GASNET_FIREHOSE_M and GASNET_FIREHOSE_MAXVICTIM_M: more than may be registered" \
        'FATAL.*GASNET_FIREHOSE_M \(20 MB\) and GASNET_FIREHOSE_MAXVICTIM_M \(20 MB\) are together more'
    run $mode '' GASNET_FIREHOSE_M=1M GASNET_FIREHOSE_MAXVICTIM_M=1M GASNET_FIREHOSE_R=3 TEST_ONLY='many at once'
    grep -q 'up to 1024 KB .* at most 8 regions' "$log"
    tap_ok $? "IB-R14 GASNET_FIREHOSE_M and GASNET_FIREHOSE_R: what no peer needs is not added to the other pool"
    run $mode '' GASNET_PHYSMEM_MAX=128M GASNET_PHYSMEM_NOPROBE=1 TEST_ONLY='many at once'
    all=$(size_of_cache)
    run $mode '' GASNET_PHYSMEM_MAX=128M GASNET_PHYSMEM_NOPROBE=1 GASNET_FIREHOSE_M=20 TEST_ONLY='many at once'
    less=$(size_of_cache)
    [ "${less:-0}" -gt 0 ] && [ $((${all:-0} - less)) -eq 20480 ]
    tap_ok $? "IB-R14 GASNET_FIREHOSE_M leaves the rest to the other pool: $less of ${all:-0} KB"
    # More than any machine has.
    run $mode '' GASNET_PHYSMEM_MAX=64T GASNET_PHYSMEM_NOPROBE=1 TEST_ONLY='many at once'
    all=$(size_of_cache)
    [ "${all:-0}" -gt $((30 << 30)) ]
    tap_ok $? "IB-P2 GASNET_PHYSMEM_NOPROBE: the cache is not compared with what the machine has ($all KB)"
fi
run $mode '' GASNET_USE_FIREHOSE=0 TEST_ONLY='free on return'
if grep -q '^DEBUG_DEFINE = -DGASNET_DEBUG' "$TEST_BUILD/Makefile"; then
    [ $status -eq 0 ] && ! grep -q 'outside its segment' "$log"
    tap_ok $? "IB-R13 PO-16 a debug build can do without the cache" || tap_tail "$log"
elif [ "$conduit" = portals ]; then
    [ $status -eq 0 ] && ! grep -q 'outside its segment' "$log"
    tap_ok $? "PO-16 GASNET_USE_FIREHOSE=0: a job does without the cache"
    [ $status -eq 0 ] || tap_tail "$log"
    run $mode '' GASNET_USE_FIREHOSE=0
    tap_ok $status "PO-16 all transfers without the cache"
    [ $status -eq 0 ] || tap_tail "$log"
else
    says "IB-R13 GASNET_USE_FIREHOSE=0 is refused" 'FATAL.*GASNET_USE_FIREHOSE=no: only libraries built with --enable-debug'
fi

# ---- what is kept, and whether the code of the process is changed for it

kept() { # NAME: of a counter of rank 0
    awk -v name="$1" '$1 == 0 && $3 == name { print $4 }' "$tap_scratch/kept"
}
# The program ends where its code is to become writable: the first row proves that the others can fail.
run $mode same-code TEST_ONLY='free on return'
if grep -q 'cannot filter' "$log"; then
    tap_skip "GASNET_FIREHOSE_KEEP" "no seccomp here"
elif grep -q 'registered for each transfer' "$log"; then
    tap_skip "GASNET_FIREHOSE_KEEP" "memory given back cannot be watched here"
else
    tap_ok "$([ $status -ne 0 ] && [ $status -ne 124 ]; echo $?)" "by default code is changed"
    for keep in each NEVER interpose trust always; do
        run $mode same-code GASNET_FIREHOSE_KEEP=$keep GASNET_STATSFILE="$tap_scratch/kept" TEST_ONLY='free on return'
        [ $status -eq 0 ]
        tap_ok $? "IB-R13 PO-16 GASNET_FIREHOSE_KEEP=$keep: no code is changed" || tap_tail "$log"
        case $keep in
        each | NEVER) [ "$(kept cache_hits)" = 0 ] ;;
        *) [ "$(kept cache_hits)" -gt 0 ] ;;
        esac
        tap_ok $? "IB-R13 PO-16 GASNET_FIREHOSE_KEEP=$keep: $(kept cache_hits) hits"
    done
fi
run $mode '' GASNET_FIREHOSE_KEEP=sometimes
says "GASNET_FIREHOSE_KEEP is one of its words" 'FATAL.*GASNET_FIREHOSE_KEEP=sometimes: not one of watch=WATCHED\|interpose\|each=NEVER\|trust=ALWAYS'

# ---- what the system refuses

run $mode read-only-get
says "IB-R13 PO-16 a get into memory that must not be written" \
    'FATAL.*cannot register 65536 bytes at .*: part of the range is not mapped, or not writable'
# ---- what cannot be pinned

# The rules that a log of testunpinned proves.
unpinned() { # MODE TEXT ENVIRONMENT...
    local text="$1: IB-R13 PO-16 memory that cannot be pinned$2"
    program=testunpinned run "$1" '' "${@:3}"
    if grep -q '^ok .* # SKIP' "$log"; then tap_note "$text: $(sed -n 's/^ok .* # SKIP //p' "$log" | sort -u | tr '\n' ' ')"; fi
    [ "$status" -eq 0 ] && ! grep -q '^not ok' "$log"
    tap_ok $? "$text" || tap_tail "$log"
    [ "$status" -eq 0 ] || tap_tail "$log"
}
for mode in ${TEST_MODES:-seq par}; do
    unpinned "$mode" "" SOFTHCA_MEMORY=lenient
    unpinned "$mode" ", not registered" SOFTHCA_MEMORY=strict
    unpinned "$mode" ", not registered, with shared memory" SOFTHCA_MEMORY=strict GASNET_SUPERNODE_MAXSIZE=0
    unpinned "$mode" ", not registered, with a small cache" SOFTHCA_MEMORY=strict GASNET_FIREHOSE_MAXVICTIM_R=2
    if [ "$conduit" = portals ]; then
        unpinned "$mode" ", not registered, without a cache" SOFTHCA_MEMORY=strict GASNET_USE_FIREHOSE=0
        unpinned "$mode" ", not registered, where nothing is bounced" SOFTHCA_MEMORY=strict GASNET_PORTAL_PUTGET_BOUNCE_LIMIT=0
    else
        unpinned "$mode" ", not registered, with few buffers" SOFTHCA_MEMORY=strict GASNET_BBUF_COUNT=4
    fi
done
mode=seq
for memory in lenient strict; do
    for what in read-only unmapped; do
        program=testunpinned run $mode $what-get SOFTHCA_MEMORY=$memory
        if grep -q 'no secret memory' "$log"; then
            tap_skip "$memory: a get into secret memory that is $what" "$(sed -n 's/.*testunpinned: //p' "$log" | head -n 1)"
            continue
        fi
        says "$memory: IB-R13 PO-16 a get into secret memory that is $what" \
            'FATAL.*cannot register 65536 bytes at .*: part of the range is not mapped, or not writable'
    done
done

if [ "$conduit" != portals ]; then
    for mode in ${TEST_MODES:-seq par}; do
        run $mode '' 'SOFTHCA_FAULTS=enomem:what=mr,after=30,every=3'
        [ $status -eq 0 ] && ! grep -q ' 0 refusals' "$log" && [ "$(grep -c refusals "$log")" = 2 ]
        tap_ok $? "$mode: IB-R14 a refused registration evicts others, and is tried again" || tap_tail "$log"
    done
    mode=seq
    run $mode '' 'SOFTHCA_FAULTS=enomem:what=mr,after=30'
    says "IB-R14 until nothing is left" 'FATAL.*cannot register [0-9]+ bytes at .* for a transfer: .*refuse'
fi

# ---- counters

run $mode '' GASNET_FIREHOSE_MAXVICTIM_M=256K GASNET_STATSFILE="$tap_scratch/stats"
counter() { awk -v name="$1" '$1 == 0 && $3 == name { print $4 }' "$tap_scratch/stats"; }
for name in hits misses evictions bytes time; do
    [ "$(counter cache_$name)" -gt 0 ] 2>/dev/null
    tap_ok $? "cache_$name is counted: $(counter cache_$name)"
done
[ "$(counter cache_bytes)" -le "$(counter cache_bytes_most)" ] && [ "$(counter cache_bytes_most)" -le 262144 ]
tap_ok $? "cache_bytes_most: $(counter cache_bytes_most)"
tap_end
