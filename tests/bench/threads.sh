#!/bin/bash
# threads.sh - the cost of an operation when 1, 2 and 4 threads of a process work at once (PAR), in
# instructions inside the library above the verbs calls, and in locked ones among them.
#
# Counted as by count.sh, from the difference of two runs.  Valgrind runs one thread at a time and takes the
# processor away from one now and then, so that what a preempted holder of a lock makes others spend is
# counted too.  Ends non-zero when an operation costs more than 1.3 times what it costs one thread alone.
# TEST_N=4000 operations of each thread.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/../tap.sh"
. "$(dirname "$0")/callgrind.sh"

conduit=${TEST_CONDUIT:-ibv}
n=${TEST_N:-4000}
library=$TEST_BUILD/.libs/libgasnet-$conduit-par.so
for tool in valgrind objdump; do
    command -v $tool >/dev/null || { tap_skip "cost by threads" "no $tool" && tap_end; }
done
[ -e "$library" ] || { tap_skip "cost by threads" "no shared library" && tap_end; }
[ "$(uname -m)" = x86_64 ] || { tap_skip "cost by threads" "which instructions lock is known of x86-64 alone" && tap_end; }
export TEST_HANG=500 TEST_SEED=1
# shellcheck disable=SC2034 # for callgrind.sh
callgrind_options="--dump-instr=yes"

# Per operation, in hundredths: instructions, locked ones.
cost() { # OPERATION THREADS
    local dir=$tap_scratch/$1.$2 times instructions=() locked=()
    for times in 1 2; do
        callgrind_run "$dir.$times" "$TEST_BUILD/tests/bench/threads-$conduit-par" "$1" "$2" $((times * n)) || return 1
        instructions+=("$(callgrind_instructions "$dir.$times")")
        locked+=("$(callgrind_locked "$dir.$times" "$library")")
    done
    echo $(((instructions[1] - instructions[0]) * 100 / (n * $2))) $(((locked[1] - locked[0]) * 100 / (n * $2)))
}

hundredths() { awk -v n="$1" 'BEGIN { printf "%.2f", n / 100 }'; }

rows='put|blocking put
put_nb|put_nb + wait
put_nbi|put_nbi, 16 outstanding, and wait
get|blocking get
poll|poll that finds nothing'
printf '# %-36s %8s %14s %10s\n' "mode par" threads instructions locked
while IFS='|' read -r operation name; do
    [ -n "$TEST_OPERATIONS" ] && [[ " $TEST_OPERATIONS " != *" $operation "* ]] && continue
    alone=
    for threads in 1 2 4; do
        counts=$(cost "$operation" $threads) || { tap_ok 1 "$name: counted" && continue; }
        read -r instructions locked <<<"$counts"
        [ -n "$alone" ] || alone=$instructions alone_locked=$locked
        printf '# %-36s %8d %14s %10s\n' "$name" $threads "$(hundredths "$instructions")" "$(hundredths "$locked")"
        [ $threads = 1 ] && continue
        [ "$instructions" -gt 0 ] && [ "$instructions" -le $((alone * 13 / 10)) ]
        tap_ok $? "$name: instructions of one among $threads threads, at most 1.3 times those of one alone"
        [ "$locked" -le $((alone_locked * 13 / 10)) ]
        tap_ok $? "$name: locked instructions likewise"
    done
done <<<"$rows"
tap_end
