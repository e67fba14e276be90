#!/bin/bash
# outside.sh - puts from memory outside the segment: time beside those from inside, and how often memory is registered
# where puts use four times what may be registered, beside the misses of LRU and the cache of UCX.
#
# Ends non-zero when a row misses its target.  The time is the best of three runs, each of which takes both kinds in
# turns.  TEST_SEED repeats a trace.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/../tap.sh"

program=$TEST_BUILD/tests/bench/outside-$TEST_CONDUIT-seq
n=${TEST_N:-4000} seed=${TEST_SEED:-$RANDOM}
export TEST_HANG=100
run() { timeout -k 2 120 "$TEST_LAUNCH" -spawner=ssh -n 2 "$program" "$@" 2>>"$TEST_LOG/bench_outside.log" </dev/null | grep -E '^[0-9. ]+$'; }

for _ in 1 2 3; do run time; done >"$tap_scratch/times"
awk '{
        if (!inside || $1 < inside) inside = $1
        if (!outside || $2 < outside) outside = $2
    }
    END { if (NR == 3) printf "%.2f %.2f %.2f\n", inside, outside, outside / inside }' "$tap_scratch/times" >"$tap_scratch/best"
read -r inside outside ratio <"$tap_scratch/best"
printf '# %-48s %10s %10s %8s %8s\n' "put of 64 KiB, microseconds" inside outside ratio target
printf '# %-48s %10s %10s %8s %8s\n' "from memory that is registered" "$inside" "$outside" "$ratio" 1.05
tap_ok "$(awk -v ratio="${ratio:-9}" 'BEGIN { print (ratio > 1.05) }')" "put of 64 KiB from outside the segment: $ratio times that from inside"

misses=$(GASNET_STATSFILE=$tap_scratch/stats GASNET_FIREHOSE_MAXVICTIM_M=4M GASNET_FIREHOSE_MAXREGION_SIZE=64K run trace "$seed" "$n")
registrations=$(awk '$1 == 0 && ($3 == "cache_misses" || $3 == "transient_registrations") { sum += $4 } END { print sum + 0 }' "$tap_scratch/stats")
printf '# %-48s %10s %10s %10s\n' "$n puts over 4 times 4 MB (seed $seed)" registered "LRU misses" "UCX"
ucx=- most=
read -ra flags < <(pkg-config --cflags --libs ucx-ucs 2>/dev/null)
if [ ${#flags[@]} -gt 0 ] && ${CC:-cc} -O2 -I"$TEST_SOURCE/.." -o "$tap_scratch/ucx" "$TEST_SOURCE/bench/trace_ucx.c" "${flags[@]}" \
    >"$TEST_LOG/bench_trace_ucx.log" 2>&1; then
    read -r ucx most < <("$tap_scratch/ucx" "$seed" "$n")
else
    tap_skip "beside the cache of UCX" "it is not installed with its headers"
fi
printf '# %-48s %10d %10d %10s\n' "registrations" "$registrations" "$misses" "$ucx"
[ -z "$most" ] || tap_note "UCX registered $most KB at one time, of 4096 that it was told"
[ "${misses:-0}" -gt 0 ] && [ "$registrations" -gt 0 ] && [ "$registrations" -le "$misses" ]
tap_ok $? "registrations: $registrations in $n puts, at most the ${misses:-no} misses of LRU"
tap_end
