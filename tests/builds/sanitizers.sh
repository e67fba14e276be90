#!/bin/bash
# sanitizers.sh - the client suite, the unit tests and the simulations in builds with sanitizers.
#
# Makes three more builds, in $TEST_BUILD/sanitizers: AddressSanitizer with UndefinedBehaviorSanitizer for the SEQ
# library, ThreadSanitizer for the PAR libraries of ibv and portals, and for that of GASNET_SEGMENT_EVERYTHING.  Any report
# is a failure.  The fuzz targets have a build of their own (tests/fuzz/coverage.sh).  TEST_SANITIZER=address or thread:
# that alone.
# family: sanitizers-address first TEST_SANITIZER=address
# family: sanitizers-thread first TEST_SANITIZER=thread
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/../tap.sh" || exit 1

source=$(dirname "$TEST_SOURCE")
main_build=$TEST_BUILD

# Leaks are looked for at the end of every process.  Those of jobs end by _exit: with TEST_LEAKS test_finish looks
# before it.
export TEST_LEAKS=1 ASAN_OPTIONS=detect_leaks=1:abort_on_error=0 UBSAN_OPTIONS=print_stacktrace=1
# The lock tests hold more locks at once than the deadlock detector can count.  What orders a peer's puts, Longs and
# gets goes through the peer, where the thread sanitizer does not see it; and of the earlier access of a pair it may
# have forgotten the stack, so that each side must be named.
printf 'race:%s\n' gasnete_put_handler gasnetc_long_payload gasnete_get_handler >"$tap_scratch/suppressions"
export TSAN_OPTIONS="detect_deadlocks=0 suppressions=$tap_scratch/suppressions"

# folder KIND: of the build; with $segment, of that segment mode.  No comma: libtool takes paths apart at it.
segment=
folder() { echo "$main_build/sanitizers/${1%%,*}${segment:+-$segment}"; }

# build KIND TARGET...: configures and makes, without MPI (IB-B6, and IB-B2: all jobs here start over ssh); false,
# after saying so, when that fails.  -O1 and the lines alone: half of the compiler's time, and better stacks.
build() {
    local kind=$1 folder log
    folder=$(folder "$kind")
    log=$TEST_LOG/sanitizer_${folder##*/}.log
    shift
    mkdir -p "$folder"
    if (cd "$folder" && { [ -e config.status ] || "$source/configure" -q --disable-static --without-mpi-cc CFLAGS="-O1 -g1" \
        ${segment:+--enable-segment-$segment} --enable-sanitizer="$kind"; } && make -j"$(nproc)" "$@") >"$log" 2>&1; then
        tap_ok 0 "$kind${segment:+, $segment}: builds"
        return 0
    fi
    tap_ok 1 "$kind${segment:+, $segment}: builds"
    tap_tail "$log"
    return 1
}

# job KIND N PROGRAM [ARGUMENT...]: ends with status 0, or `ends`, and without any report; `with` says what is special.
job() {
    local kind=$1 n=$2 program=$3 folder conduit=${3%-*} log status
    folder=$(folder "$kind")
    shift 3
    log=$TEST_LOG/sanitizer_${folder##*/}_${program##*/}${with:+_${with// /_}}.log
    (cd "$folder" && timeout -k 5 240 "./gasnetrun_${conduit##*-}" -n "$n" "tests/$program" "$@") >"$log" 2>&1 </dev/null
    status=$(($? - ${ends:-0}))
    if grep -qE 'runtime error:|ERROR: (Address|Leak)Sanitizer|WARNING: ThreadSanitizer' "$log"; then status=99; fi
    tap_ok $status "$kind${segment:+, $segment}: $program, $n processes${*:+ ($*)}${with:+ ($with)}"
    [ $status -eq 0 ] || tap_tail "$log"
}

# reference KIND N PROGRAM: a job with the portable reference of the Extended API.
reference() {
    local folder
    folder=$(folder "$1")
    with="by reference" LD_LIBRARY_PATH=$folder/tests/reference/.libs:$folder/.libs job "$@"
}

# sharing KIND N PROGRAM [ARGUMENT...]: a job with few receive buffers, shared by all peers (IB-W4).
sharing() {
    with="few shared buffers" GASNET_USE_SRQ=1 GASNET_RBUF_COUNT=8 GASNET_NETWORKDEPTH_PP=2 job "$@"
}

# near KIND N PROGRAM [ARGUMENT...]: a job with memory shared within the host.
near() {
    with="shared memory" GASNET_SUPERNODE_MAXSIZE=0 job "$@"
}

# device KIND PROGRAM [ARGUMENT...]: a program without a job, on the software device, which prints TAP.
device() {
    local kind=$1 program=$2 folder log status
    folder=$(folder "$kind")
    shift 2
    log=$TEST_LOG/sanitizer_${kind%%,*}_${program##*/}${with:+_${with// /_}}.log
    (cd "$folder" && SOFTHCA=on timeout -k 5 240 "./$program" "$@") >"$log" 2>&1 </dev/null
    status=$?
    if grep -qE 'runtime error:|ERROR: (Address|Leak)Sanitizer|WARNING: ThreadSanitizer' "$log"; then status=99; fi
    tap_ok $status "$kind: $program${with:+ ($with)}"
    [ $status -eq 0 ] || tap_tail "$log"
}

# suite KIND FOLDER: a folder of tests with its own run.sh, in that build.
suite() {
    local kind=$1 log=$TEST_LOG/sanitizer_${1%%,*}_$2.log
    top_builddir=$(folder "$1") "$TEST_SOURCE/$2/run.sh" >"$log" 2>&1 </dev/null
    tap_ok $? "$kind: tests/$2"
    grep -E '^not ok' "$log" | sed 's/^/# /'
}

# provider KIND: the uDAPL provider, but for the tests that need programs of others.
provider() {
    local log=$TEST_LOG/sanitizer_${1%%,*}_provider.log
    [ ${#events[@]} -gt 0 ] || return 0
    TEST_BUILD=$(folder "$1") "$TEST_SOURCE/../other/dapl/tests/provider.sh" >"$log" 2>&1 </dev/null
    tap_ok $? "$1: other/dapl/tests/provider.sh"
    grep -E '^not ok' "$log" | sed 's/^/# /'
}

# wanted SANITIZER
wanted() { [ "${TEST_SANITIZER:-$1}" = "$1" ]; }

asan=address,undefined
programs="testhello testenv testam testamsize testamflood testputget testhandles testvalue testpoll testbarrier testlock testteams
testvis testex ex/vectors ex/collectives ex/atomics ex/teams ex/endpoints ex/rpc ex/coarrays ex/random"
targets=(gasnetrun_ibv)
for program in $programs; do targets+=("tests/$program-ibv-seq"); done
targets+=(tests/testpshm-ibv-seq tests/testflow-ibv-seq tests/testcoll-ibv-seq tests/collmix-ibv-seq softhca_soak softhca_stress softhca_cycles)
targets+=(other/vapi/tests/{rules,overlap,hcas} other/portals3/tests/{model,hostile,refusals,rules,messages})
# The event core and its provider, where the DAT headers are: libdat2 loads the provider into a program with the sanitizer.
events=()
if [ -e "$main_build/libdapl_events.la" ]; then events=(other/dapl/tests/{machine,calls,rules_events,rules_waits,rules_cno,order,races,races_life,once,verbs,rails}); fi
targets+=(other/dapl/tests/channels "${events[@]}")
[ ${#events[@]} -eq 0 ] || targets+=(other/dapl/tests/provider_rules libdapl_provider.la)
mapfile -t units < <(cd "$main_build/tests" && find unit sim -maxdepth 1 -type f -perm -u+x ! -name '*.*' ! -name '*_static' | sed 's|^|tests/|')
if wanted address && build $asan "${targets[@]}" "${units[@]}"; then
    for program in $programs; do job $asan 2 "$program-ibv-seq"; done
    with="connected at start-up" GASNET_CONNECT_DYNAMIC=0 job $asan 2 testhello-ibv-seq
    job $asan 3 testcoll-ibv-seq 1 quick
    job $asan 2 collmix-ibv-seq 1 4
    sharing $asan 4 testamflood-ibv-seq
    sharing $asan 4 testflow-ibv-seq storm 200
    for program in testpshm testam testamflood testputget testex ex/endpoints; do near $asan 3 "$program-ibv-seq"; done
    near $asan 3 collmix-ibv-seq 1 4
    device $asan softhca_soak 1
    with="a list of one host" SOFTHCA_HOSTS=127.0.0.1 device $asan softhca_soak 1
    device $asan softhca_stress 2
    device $asan softhca_cycles
    # A thread that is cancelled leaves marks on its stack, where the sanitizer's own exit then stumbles.
    ASAN_OPTIONS=$ASAN_OPTIONS:use_sigaltstack=0 device $asan other/vapi/tests/rules
    device $asan other/vapi/tests/overlap
    for case in strangers cycles leave; do device $asan other/vapi/tests/hcas $case; done
    for program in other/dapl/tests/channels "${events[@]}"; do device $asan "$program"; done
    provider $asan
    for program in model hostile refusals; do device $asan other/portals3/tests/$program; done
    device $asan other/portals3/tests/rules -n 2
    device $asan other/portals3/tests/messages -n 2
    suite $asan unit
    TEST_ROUNDS=/10 suite $asan sim
fi

programs="testthreads testam testamflood testlock testhandles testvis testex ex/atomics ex/teams ex/realm ex/random"
targets=(gasnetrun_ibv tests/testoutside-ibv-par tests/testpshm-ibv-par)
for program in $programs; do targets+=("tests/$program-ibv-par"); done
targets+=(softhca_soak softhca_stress softhca_rules other/vapi/tests/{rules,overlap} tests/reference/libgasnet-ibv-par.la)
targets+=(other/dapl/tests/channels "${events[@]}")
[ ${#events[@]} -eq 0 ] || targets+=(other/dapl/tests/provider_rules libdapl_provider.la)
targets+=(other/portals3/tests/{mirrored,locks} tests/unit/{exit_engine,firehose_threads,srq_policy} tests/testexit-ibv-par tests/testcoll-ibv-par tests/collmix-ibv-par tests/testteams-ibv-par)
portals_programs="testthreads testbarrier testamflood"
targets+=(gasnetrun_portals)
for program in $portals_programs; do targets+=("tests/$program-portals-par"); done
if wanted thread && build thread "${targets[@]}"; then
    for program in $programs; do job thread 2 "$program-ibv-par"; done
    for program in $portals_programs; do job thread 2 "$program-portals-par"; done
    for program in testthreads testamflood; do sharing thread 3 "$program-ibv-par"; done
    for program in testpshm testthreads testamflood; do near thread 3 "$program-ibv-par"; done
    near thread 3 collmix-ibv-par uneven 4
    for program in testthreads testamflood; do near thread 3 "$program-portals-par"; done
    reference thread 2 testthreads-ibv-par
    # Unmapped memory cannot be watched here; this rule unmaps none while it transfers.
    with="the registration cache" GASNET_FIREHOSE_KEEP=trust TEST_ONLY=threads job thread 3 testoutside-ibv-par
    job thread 2 testcoll-ibv-par uneven quick
    job thread 3 collmix-ibv-par 2 4
    job thread 3 testteams-ibv-par
    with="receive thread" GASNET_RCV_THREAD=1 job thread 2 collmix-ibv-par uneven 4
    # Ends with several threads inside; a rank that ends alone waits half of the timeout for the others.
    for case in thread_exits_in_storm_others_transfer threads_all_exit main_returns_meanwhile; do
        ends=19 GASNET_EXITTIMEOUT=16 job thread 2 testexit-ibv-par $case
    done
    with="receive thread" ends=11 GASNET_RCV_THREAD=1 GASNET_EXITTIMEOUT=16 job thread 2 testexit-ibv-par quit_told
    # Each of its many processes would sleep for a second at its end.
    TSAN_OPTIONS="$TSAN_OPTIONS atexit_sleep_ms=0" device thread softhca_rules queue
    device thread softhca_soak 1
    device thread softhca_stress 2
    device thread other/vapi/tests/rules
    device thread other/vapi/tests/overlap
    for program in other/dapl/tests/channels "${events[@]}"; do device thread "$program"; done
    provider thread
    device thread tests/unit/exit_engine
    device thread tests/unit/firehose_threads
    device thread tests/unit/srq_policy
    # In one process: the thread sanitizer does not see how two processes that share memory by RDMA are ordered.
    MIRROR_WAYS=tp device thread other/portals3/tests/mirrored
    device thread other/portals3/tests/locks queues handling users self
fi

segment=everything
if wanted thread && build thread gasnetrun_ibv tests/testputget-ibv-par tests/builds/segments-ibv-par; then
    job thread 2 testputget-ibv-par
    with="receive thread" GASNET_RCV_THREAD=1 job thread 2 builds/segments-ibv-par
    with="small pools" GASNET_FIREHOSE_M=2 GASNET_FIREHOSE_MAXVICTIM_M=1 GASNET_FIREHOSE_MAXREGION_SIZE=64K \
        job thread 3 builds/segments-ibv-par
fi
tap_end
