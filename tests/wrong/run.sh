#!/bin/bash
# run.sh - calls with arguments that cannot be, or at a time when they cannot be made: each ends the job with one line
# that says so, in every conduit, in release and in debug builds; none succeeds, and none is a bare SIGSEGV.
#
# TEST_CONDUITS (all that are built), TEST_MODES (seq) narrow it.
# family: wrong
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/../tap.sh" || exit 1
. "$(dirname "$0")/../variant.sh" || exit 1

conduits=${TEST_CONDUITS:-$(for name in ibv vapi portals; do [ ! -x "$TEST_BUILD/gasnetrun_$name" ] || echo $name; done)}
modes=${TEST_MODES:-seq}

# wrong TREE CONDUIT-MODE WORDS WHEN CALL [NUMBER]: a job of two, or before gasnet_init the program alone, ends with one
# FATAL ERROR that matches WORDS.  Other lines are at most the counters, or are debug builds' own.
wrong() {
    local tree=$1 program=$1/tests/wrong/calls-$2 launch=("$1/gasnetrun_${2%-*}" -n 2) words=$3 status log said failed bad=''
    local name="${tree##*/} $2: ${*:4}"
    shift 3
    log=$TEST_LOG/wrong_${name//[^A-Za-z0-9]/_}.log
    if [ "$1" = before_init ]; then launch=(); fi
    timeout -k 2 60 "${launch[@]}" "$program" "$@" >"$log" 2>&1 </dev/null
    status=$?
    said=$(grep -c 'FATAL ERROR' "$log")
    [ $status -ne 0 ] || bad+=", status 0"
    [ $status -ne 124 ] || bad+=", hangs"
    [ "$said" -eq 1 ] || bad+=", $said fatal errors"
    # On a busy machine the launcher ends another rank than the one that failed by SIGTERM, before it has heard of the end.
    failed=$(sed -n 's/.*FATAL ERROR (rank \([0-9]*\) .*/\1/p' "$log" | head -n 1)
    ! grep -E 'Caught|dumped|fault' "$log" | grep -qvE "SIGTERM\(15\) on node [^${failed:-0-9}]/" || bad+=", a signal"
    grep -qE "FATAL ERROR.*$words" "$log" || bad+=", without the words /$words/"
    tap_ok "$([ -z "$bad" ]; echo $?)" "$name${bad:+ ($bad)}"
    [ -z "$bad" ] || tap_tail "$log"
}

with_rank="put put_bulk put_nb put_nb_bulk put_nbi put_nbi_bulk get get_nb get_nbi set set_nb set_nbi put_val put_nb_val
put_nbi_val get_val get_nb_val am_short am_medium am_long am_longasync putv putv_nbi getv_nb puti_nb geti puts_nb gets_nbi"

# Vector, indexed and strided transfers.  A release build names all of the remote memory, a debug build one piece.
pieces() { # TREE CONDUIT-MODE
    local offset
    for offset in 1048569 1048576 -8; do
        wrong "$@" 'gasnet_putv_bulk of [0-9]+ bytes at 0x[0-9a-f]+ is outside the segment of rank 1' attached putv_at $offset
        wrong "$@" 'gasnet_geti_bulk of [0-9]+ bytes at 0x[0-9a-f]+ is outside the segment of rank 1' attached geti_at $offset
        wrong "$@" 'gasnet_puts_nb_bulk of [0-9]+ bytes at 0x[0-9a-f]+ is outside the segment of rank 1' attached puts_at $offset
    done
    wrong "$@" 'gasnet_putv_bulk: the destination has 16 bytes and the source 15;' attached putv_total 15
    wrong "$@" 'gasnet_putv_bulk: the destination has 16 bytes and the source 0;' attached putv_total 0
    wrong "$@" 'gasnet_geti_bulk: the destination has 18 bytes and the source 16;' attached geti_total 9
}

# All of it with the full list, or with what the builds have of their own.
calls() { # TREE CONDUIT-MODE
    local call bytes rank
    # The debug library looks first, with words of its own.
    local first='(not possible|called) before gasnet_init' attach='(not possible|called) before gasnet_attach'
    for call in poll barrier barrier_wait barrier_try try_all put get_nbi am_short; do
        wrong "$@" "$first" before_init $call 0
    done
    for call in barrier barrier_wait barrier_try; do wrong "$@" "$attach" before_attach $call; done
    wrong "$@" "$attach" before_attach put_nbi 1
    wrong "$@" "$attach" before_attach get 1
    for call in value_put value_put_nb value_put_nbi value_get value_get_nb; do
        for bytes in 0 9 -1; do wrong "$@" 'of [0-9]+ bytes: a value has 1 to 8' before_init $call $bytes; done
    done
    for call in $with_rank; do
        wrong "$@" 'rank 0 of 2.* names rank 2, but the ranks of this job are 0 to 1' attached "$call" 2
    done
    for rank in 3 40000 65536 65537 -1; do
        for call in put_nbi get am_short; do
            wrong "$@" "names rank $((rank & 0xffffffff)), but the ranks of this job are 0 to 1" attached $call $rank
        done
    done
    # A rank that shares memory is found by the low bits.
    for call in $with_rank; do
        GASNET_SUPERNODE_MAXSIZE=0 wrong "$@" "names rank 65537, but the ranks of this job are 0 to 1" attached "$call" 65537
    done
    for call in put get; do
        GASNET_SUPERNODE_MAXSIZE=0 wrong "$@" "names rank 65536, but the ranks of this job are 0 to 1" attached $call 65536
    done
    for call in null_get null_get_nb null_get_nbi; do
        for bytes in 1 8 64 4000; do wrong "$@" "(a get of|cannot register) $bytes bytes (to address|at) " attached $call $bytes; done
    done
    wrong "$@" 'cannot register 100000 bytes' attached null_get 100000
    pieces "$@"
}

# A put from NULL: the processor finds it where the bytes are captured, the network where they are registered; it must
# not send zeros.
put_from_null() { # TREE CONDUIT-MODE
    local bytes log status
    for bytes in 8 5000 100000; do
        log=$TEST_LOG/wrong_put_from_null_$2_$bytes.log
        timeout -k 2 60 "$1/gasnetrun_${2%-*}" -n 2 "$1/tests/wrong/calls-$2" attached null_put_nb $bytes >"$log" 2>&1 </dev/null
        status=$?
        [ $status -ne 0 ] && [ $status -ne 124 ] && grep -qE 'Caught a fatal signal|FATAL ERROR' "$log"
        tap_ok $? "${1##*/} $2: a put of $bytes bytes from NULL does not succeed"
    done
}

for conduit in $conduits; do
    for mode in $modes; do
        calls "$TEST_BUILD" "$conduit-$mode"
        put_from_null "$TEST_BUILD" "$conduit-$mode"
        targets+=("gasnetrun_$conduit" "tests/wrong/calls-$conduit-$mode")
    done
done
if debug_build "${targets[@]}"; then
    for conduit in $conduits; do
        for mode in $modes; do
            calls "$TEST_DEBUG_BUILD" "$conduit-$mode"
            wrong "$TEST_DEBUG_BUILD" "$conduit-$mode" \
                'gasnet_puti_bulk: the destination has a length of 0 and a count that is not 0' attached puti_empty 0
            wrong "$TEST_DEBUG_BUILD" "$conduit-$mode" \
                'gasnet_gets_bulk: the source has a stride smaller than the section that it repeats' attached gets_stride 7
        done
    done
fi
tap_end
