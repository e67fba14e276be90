#!/bin/bash
# segments.sh - libraries for GASNET_SEGMENT_LARGE and GASNET_SEGMENT_EVERYTHING: they build, the client programs run
# on them, and programs of one segment mode do not link with libraries of another.
#
# Segment modes differ in what puts, gets and payloads do, and LARGE and EVERYTHING share that code: all programs run
# with EVERYTHING in SEQ; in PAR, and with LARGE, which is built for SEQ alone, those that transfer much.
#
# TEST_SEGMENTS ("large everything"), TEST_NPROCS, TEST_MODES and TEST_PROGRAMS narrow it.
# family: segments first
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/../tap.sh" || exit 1
. "$(dirname "$0")/../variant.sh" || exit 1

segments=${TEST_SEGMENTS:-large everything}
declare -A modes=([large]=${TEST_MODES:-seq} [everything]=${TEST_MODES:-seq par})
declare -A programs=(
    [everything seq]="testhello testenv testam testamsize testamflood testputget testoutside testunpinned testhandles testvalue testsync
        testpoll testbarrier testlock testvis testteams testcoll collmix ex/atomics ex/endpoints"
    [everything par]="testam testputget testoutside testhandles testthreads testrcvthread testvis testcoll"
    [large seq]="testam testputget testoutside testvis"
    [large par]="testputget testoutside testunpinned testthreads"
)
programs_of() { # SEGMENT MODE
    echo "${TEST_PROGRAMS:-${programs[$*]}}"
}
export SOFTHCA=on
# Pools so small that the memory of the tests does not fit: 2 MB for peers, 1 MB for transfers; few bounce buffers.
small="GASNET_FIREHOSE_M=2 GASNET_FIREHOSE_MAXVICTIM_M=1 GASNET_FIREHOSE_MAXREGION_SIZE=64K GASNET_BBUF_COUNT=16"

targets() { # SEGMENT: the programs of each mode
    local mode program
    echo gasnetrun_ibv
    for mode in ${modes[$1]}; do
        echo "tests/builds/segments-ibv-$mode"
        for program in $(programs_of "$1" "$mode"); do
            if [ -e "$TEST_BUILD/tests/$program-ibv-$mode" ]; then echo "tests/$program-ibv-$mode"; fi
        done
    done
}

run() { # TREE CONDUIT MODE N NAME=VALUE... -- ARGUMENT...: $log has what it says
    local tree=$1 conduit=$2 mode=$3 n=$4 environment=()
    shift 4
    while [ "$1" != -- ]; do environment+=("$1") && shift; done
    shift
    log=$TEST_LOG/segments_${tree##*/}_${conduit}_${mode}_$n${*:+_$*}.log log=${log// /_}
    timeout -k 5 120 env "${environment[@]}" "$tree/gasnetrun_$conduit" -n "$n" \
        "$tree/tests/builds/segments-$conduit-$mode" "$@" >"$log" 2>&1 </dev/null
}

# The rules of segments.c, with pools as they come and with small ones.
rules() { # TREE CONDUIT MODE N NAME=VALUE...
    run "$@" --
    local status=$?
    while read -r line; do tap_ok "$([[ $line == ok* ]]; echo $?)" "${1##*/} $2 $3 n=$4: ${line#* - }${5:+, small pools}"; done \
        < <(grep -E '^(not )?ok ' "$log")
    [ $status -eq 0 ] || { tap_ok 1 "${1##*/} $2 $3 n=$4${5:+, small pools} ends with status $status" && tap_tail "$log"; }
}

# Eight puts of 3000 bytes to memory that was not used before: their data rides, and no RDMA write is made.
rides() { # TREE LIMIT PUTS
    local file=$tap_scratch/stats.$2 puts
    run "$1" ibv seq 2 GASNET_PUTINMOVE_LIMIT="$2" GASNET_STATSFILE="$file" -- ride
    puts=$(awk '$1 == 0 && $2 == 1 && $3 == "puts" { print $4 }' "$file")
    tap_ok "$([ "${puts:-0}" = "$3" ]; echo $?)" "${1##*/}: IB-P6 GASNET_PUTINMOVE_LIMIT=$2: $3 of 8 puts are RDMA writes (${puts:-0})"
}

# A transfer that cannot be ends the job, in words of the rank that made it.
wrong() { # TREE CALL WORDS
    run "$1" ibv seq 2 -- wrong "$2"
    local status=$? bad=''
    [ $status -ne 0 ] || bad+=", status 0"
    [ $status -ne 124 ] || bad+=", hangs"
    ! grep -qE 'Caught|dumped' "$log" || bad+=", a signal"
    grep -qE "FATAL ERROR \(rank 0 .*$3" "$log" || bad+=", without the words /$3/"
    tap_ok "$([ -z "$bad" ]; echo $?)" "${1##*/}: IB-W5 $2${bad:+ ($bad)}"
    [ -z "$bad" ] || tap_tail "$log"
}

# An object compiled for one segment mode, and the library of another.
mixed() { # TREE OTHER-TREE
    local object=$tap_scratch/hello.o
    gcc -DGASNET_SEQ -DGASNET_NDEBUG -I"$1/include" -I"$TEST_SOURCE/../include" -I"$TEST_SOURCE/../include/ibv-conduit" \
        -I"$1" -c "$TEST_SOURCE/clients/hello.c" -o "$object" &&
        gcc "$object" -L"$1/.libs" -lgasnet-ibv-seq -Wl,-rpath,"$1/.libs" -o "$tap_scratch/hello" 2>"$tap_scratch/own"
    tap_ok $? "a client of ${1##*/} links with its library"
    [ ! -s "$tap_scratch/own" ] || tap_tail "$tap_scratch/own"
    ! gcc "$object" -L"$2/.libs" -lgasnet-ibv-seq -o "$tap_scratch/hello" 2>"$tap_scratch/other" &&
        grep -qiE "undefined reference to .gasneti_init_.*_(FAST|LARGE|EVERYTHING)_" "$tap_scratch/other"
    tap_ok $? "and not with that of ${2##*/}"
}

for segment in $segments; do
    tree=$TEST_BUILD/$segment
    mapfile -t list < <(targets "$segment")
    # -O1 and the lines alone: two thirds of the compiler's time.
    options="--enable-segment-$segment CFLAGS='-O1 -g1'"
    [ "$segment" != large ] || options+=" --with-max-segsize=192MB/H"
    variant "$segment" "the library for GASNET_SEGMENT_${segment^^}" "$options" "${list[@]}" || continue
    mkdir -p "$TEST_LOG/$segment"
    for mode in ${modes[$segment]}; do
        tap_program segments "$segment $mode" env -u TEST_LAUNCH TEST_BUILD="$tree" TEST_LOG="$TEST_LOG/$segment" TEST_CONDUIT=ibv \
            TEST_SPAWNERS=ssh TEST_NPROCS="${TEST_NPROCS:-3}" TEST_MODES="$mode" TEST_PROGRAMS="$(programs_of "$segment" "$mode")" \
            "$TEST_SOURCE/programs/run-conduit.sh"
        rules "$tree" ibv "$mode" 3
        # shellcheck disable=SC2086 # words
        for n in 2 3; do rules "$tree" ibv "$mode" "$n" $small; done
    done
    rides "$tree" 3072 0
    rides "$tree" 2999 8
    rides "$tree" 0 8
    ! run "$tree" ibv seq 2 GASNET_PUTINMOVE_LIMIT=3073 -- ride && grep -q 'GASNET_PUTINMOVE_LIMIT=3073' "$log"
    tap_ok $? "$segment: IB-P6 more than 3 KB is an error"
    mixed "$tree" "$TEST_BUILD"
    mixed "$TEST_BUILD" "$tree"
done
if [[ " $segments " == *" large "* ]]; then
    run "$TEST_BUILD/large" ibv seq 2 -- largest && grep -qx 'largest 100663296' "$log"
    tap_ok $? "large: PO-15 --with-max-segsize is the largest segment where nobody asks for another"
    run "$TEST_BUILD/large" ibv seq 2 GASNET_MAX_SEGSIZE=0.25GB/P -- largest && grep -qx 'largest 268435456' "$log"
    tap_ok $? "large: PO-15 GASNET_MAX_SEGSIZE is stronger"
    wrong "$TEST_BUILD/large" beyond 'a put of 8 bytes at 0x[0-9a-f]+ is outside the segment of rank 1'
fi
if [[ " $segments " == *" everything "* ]]; then
    tree=$TEST_BUILD/everything
    for mode in ${modes[everything]}; do
        run "$tree" ibv "$mode" 2 SOFTHCA_MEMORY=strict GASNET_PUTINMOVE_LIMIT=0 -- unmapped
        status=$?
        tap_ok $status "everything $mode: IB-W5 memory that peers hold is given back"
        [ $status -eq 0 ] || tap_tail "$log"
    done
    for call in put_code put_constant; do wrong "$tree" $call 'a put of [0-9]+ bytes at 0x[0-9a-f]+ of rank 1.*may only be read'; done
    wrong "$tree" put_none 'a put of 8 bytes at 0x[0-9a-f]+ of rank 1.*there is no memory at this address'
    wrong "$tree" get_none 'a get of 4096 bytes at 0x[0-9a-f]+ of rank 1.*there is no memory at this address'
    wrong "$tree" get_null 'a get of 8 bytes at 0x10 of rank 1.*there is no memory at this address'
    wrong "$tree" wraps 'a put of 8 bytes at 0xfffffffffffffffb is outside the segment of rank 1'
fi
tap_end
