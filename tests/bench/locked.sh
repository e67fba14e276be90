#!/bin/bash
# locked.sh - locked instructions of the library on the paths of put, get and poll (IB-E2); TAP.
#
# Counted under callgrind as by threads.sh: the difference of a run of N and one of 2N operations, which is exact.  A
# message that arrives in a run adds to its count; so a count that differs is taken again, twice.  SEQ has none.  PAR
# acquires the peer's lock to post and the poll lock to reap; completion counters and handles add none.
# family: locked alone
# family: locked-vapi alone TEST_CONDUIT=vapi
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/../tap.sh" || exit 1
. "$(dirname "$0")/callgrind.sh"

n=32
for tool in valgrind objdump; do
    command -v $tool >/dev/null || { tap_skip "locked instructions" "no $tool" && tap_end; }
done
[ "$(uname -m)" = x86_64 ] || { tap_skip "locked instructions" "which instructions lock is known of x86-64 alone" && tap_end; }
export TEST_HANG=500 TEST_SEED=1
# Unmapped memory is not watched under valgrind; the programs unmap none.
export GASNET_FIREHOSE_KEEP=trust
# shellcheck disable=SC2034 # for callgrind.sh
callgrind_options="--dump-instr=yes"

executed() { # MODE OPERATION N: locked instructions of one run
    local dir=$tap_scratch/$1.$2.$3
    rm -rf "$dir"
    callgrind_run "$dir" "$TEST_BUILD/tests/bench/count-$TEST_CONDUIT-$1" "$2" "$3" &&
        callgrind_locked "$dir" "$TEST_BUILD/.libs/libgasnet-$TEST_CONDUIT-$1.so"
}

# exact NAME MODE OPERATION EXPECTED: that many locked instructions for each operation.
exact() {
    local once twice tries
    for tries in 1 2 3; do
        once=$(executed "$2" "$3" $n) && twice=$(executed "$2" "$3" $((2 * n))) && [ $((twice - once)) -eq $(($4 * n)) ] && break
    done
    [ $((twice - once)) -eq $(($4 * n)) ]
    tap_ok $? "IB-E2 $2: $1: $4 locked instructions"
    tap_note "$n operations: $once, $((2 * n)): $twice, tries: $tries"
}

# Operation, name, locked instructions of each in PAR.  The destination of the get is not registered: a bounce buffer is
# acquired and released.
rows='put|a blocking put|2
put_nb|put_nb and its wait|2
get_nb|get_nb and its wait|4
put_hit|put_nb from a region of the cache and its wait|2
put_nbi|an implicit put, posted|1
poll|a poll that finds nothing|1'
for mode in seq par; do
    [ -e "$TEST_BUILD/.libs/libgasnet-$TEST_CONDUIT-$mode.so" ] || { tap_skip "$mode" "no shared library" && continue; }
    while IFS='|' read -r operation name par; do
        [ $mode = par ] || par=0
        exact "$name" $mode "$operation" "$par"
    done <<<"$rows"
done
tap_end
