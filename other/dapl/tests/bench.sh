#!/bin/bash
# bench.sh - the event objects of other/dapl beside those of stock uDAPL (libdaploscm) and the bare verbs, on the software
# device, in one run: wake-ups, instructions, memory. bench.c describes each figure.
#
# Wakes are measured in TEST_ROUNDS (5) rounds of TEST_WAKES (1000) that alternate; the median of the medians counts. Times
# are shown, and judge nothing. Instructions are shown twice: from the call of the program on, with libdat2 and without the
# verbs; and those of the library itself, from the function that the provider's table names, without ibv_poll_cq, which are
# what a target is for. libdaploscm has no names of its functions, so of stock uDAPL there is the first figure alone.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/../../../tests/tap.sh"
. "$(dirname "$0")/../../../tests/bench/callgrind.sh"

# Not the script that libtool puts in front of it: it would be traced and counted too.
program=$TEST_BUILD/other/dapl/tests/.libs/bench
export LD_LIBRARY_PATH=$TEST_BUILD/.libs${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
wakes=${TEST_WAKES:-1000} rounds=${TEST_ROUNDS:-5} n=${TEST_N:-400} traced=200 evds=200
[ -x "$program" ] || { tap_skip "other/dapl" "not built: dat2/udat.h was not found (Debian: apt-get install libdapl-dev)" && tap_end; }
export SOFTHCA=on DAPL_SCM_NETDEV=lo DAT_OVERRIDE=$tap_scratch/dat.conf
{
    printf 'own u2.0 nonthreadsafe default %s events.1.0 "softhca0 1" ""\n' "$TEST_BUILD/.libs/libdapl_provider.so"
    printf 'stock u2.0 nonthreadsafe default libdaploscm.so.2 dapl.2.0 "softhca0 1" ""\n'
} >"$DAT_OVERRIDE"
kinds='own stock bare'
"$program" wake stock evd 10 >"$tap_scratch/log" 2>&1 || {
    tap_note "stock uDAPL does not run here, and is left out (Debian: apt-get install libdapl2): $(tail -n 1 "$tap_scratch/log")"
    kinds='own bare'
}

median() { sort -n | awk '{ all[NR] = $1 } END { print all[int((NR + 1) / 2)] }'; }
ratio() { # A B
    if [ -n "$1" ] && [ -n "$2" ]; then awk -v a="$1" -v b="$2" 'BEGIN { if (b > 0) printf "%.2f", a / b; else print "-" }'; else echo -; fi
}
at_most() { awk -v a="${1:-999999}" -v b="$2" 'BEGIN { exit !(a > 0 && a <= b) }'; }
row() { # NAME OWN STOCK BARE
    printf '# %-44s %9s %9s %9s %9s %9s\n' "$1" "${2:--}" "${3:--}" "${4:--}" "$(ratio "$2" "$3")" "$(ratio "$2" "$4")"
}
heading() { printf '# %-44s %9s %9s %9s %9s %9s\n' "$1" own stock bare own/stock own/bare; }
declare -A got

# ---- Waking

for path in evd cno; do
    for ((round = 0; round < rounds; round++)); do
        for kind in $kinds; do
            "$program" wake $kind $path "$wakes" >>"$tap_scratch/wake.$kind.$path" 2>>"$tap_scratch/log" ||
                tap_tail "$tap_scratch/log"
        done
    done
    for kind in $kinds; do
        got[time.$kind.$path]=$(awk '{ print $1 / 1000 }' "$tap_scratch/wake.$kind.$path" | median)
        got[switches.$kind.$path]=$(awk '{ print $2 }' "$tap_scratch/wake.$kind.$path" | median)
    done
done

# System calls of all threads but the producer, between the marks.
calls() { # KIND PATH
    strace -f -qq -o "$tap_scratch/trace" "$program" trace "$1" "$2" $traced >/dev/null 2>"$tap_scratch/producer" || return 1
    awk -v producer="$(awk '/^producer/ { print $2 }' "$tap_scratch/producer")" -v wakes=$traced '
        /getsid\(/ { counting = !counting; next }
        counting && $1 != producer && !/resumed>/ { calls++ }
        END { printf "%.2f\n", calls / wakes }' "$tap_scratch/trace"
}

heading "waking a thread"
for path in evd cno; do
    name="dat_${path}_wait"
    row "$name: median, us" "${got[time.own.$path]}" "${got[time.stock.$path]}" "${got[time.bare.$path]}"
    row "$name: context switches a wake" "${got[switches.own.$path]}" "${got[switches.stock.$path]}" "${got[switches.bare.$path]}"
    tap_ok "$(at_most "${got[switches.own.$path]}" 1.1; echo $?)" "$name: ${got[switches.own.$path]} context switches a wake, target 1"
    if command -v strace >/dev/null; then
        for kind in $kinds; do got[calls.$kind.$path]=$(calls $kind $path); done
        row "$name: system calls a wake" "${got[calls.own.$path]}" "${got[calls.stock.$path]}" "${got[calls.bare.$path]}"
        tap_ok "$(at_most "${got[calls.own.$path]}" 2.1; echo $?)" "$name: ${got[calls.own.$path]} system calls a wake, target 2"
    else
        tap_skip "$name: system calls" "no strace"
    fi
done

# ---- Instructions

callgrind_launch=(env)
callgrind_below+='|infiniband/verbs\.h' # ibv_poll_cq is inlined in a function that consists of it
library=libdapl_provider
# each [OBJECT]: instructions of one operation, between the two runs.
each() { echo $((($(callgrind_instructions "$dir.2" "$1") - $(callgrind_instructions "$dir.1" "$1") + n / 2) / n)); }
caller=0
# counts KIND OPERATION: sets got[all.OPERATION.KIND], and of our own provider got[library.OPERATION].
counts() {
    local at dir=$tap_scratch/$1.$2
    for at in 1 2; do callgrind_run "$dir.$at" "$program" count "$1" "$2" $((at * n)) || return 1; done
    got[all.$2.$1]=$(($(each) - caller))
    [ "$1" != own ] || got[library.$2]=$(each $library)
}

if command -v valgrind >/dev/null; then
    heading "instructions"
    counts own nothing || tap_ok 1 "counting works"
    caller=${got[all.nothing.own]}
    while IFS='|' read -r operation name target; do
        for kind in ${kinds% bare}; do counts $kind "$operation"; done
        row "$name" "${got[all.$operation.own]}" "${got[all.$operation.stock]}"
        tap_ok "$(at_most "${got[library.$operation]}" "$target"; echo $?)" \
            "$name: ${got[library.$operation]} instructions of the library, target $target"
    done <<'END'
empty|dat_evd_dequeue, empty|40
send|dat_evd_dequeue, a send|80
write|dat_evd_dequeue, an RDMA write|80
receive|dat_evd_dequeue, a receive|80
burst|dat_evd_dequeue, receives, 16 at hand|80
software|dat_evd_dequeue, a software event|60
post|dat_evd_post_se|60
END
else
    tap_skip "instructions" "no valgrind"
fi

# ---- Memory

heading "an EVD of 256 events"
for kind in $kinds; do
    read -r "got[bytes.$kind]" "got[fds.$kind]" "got[threads.$kind]" < <("$program" memory $kind $evds)
done
row "heap, bytes" "${got[bytes.own]}" "${got[bytes.stock]}" "${got[bytes.bare]}"
tap_ok "$(at_most "${got[bytes.own]}" 20480; echo $?)" "heap of an EVD: ${got[bytes.own]} bytes, target 20480"
row "descriptors" "${got[fds.own]}" "${got[fds.stock]}" "${got[fds.bare]}"
tap_ok "$(at_most "${got[fds.own]}" 1; echo $?)" "descriptors of an EVD: ${got[fds.own]}, target 1"
tap_ok "$([ "${got[threads.own]}" = 0 ]; echo $?)" "threads of $evds EVDs: ${got[threads.own]}, target 0"
tap_end
