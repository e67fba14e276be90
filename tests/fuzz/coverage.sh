#!/bin/bash
# coverage.sh - every fuzz target with clang's engine, which follows what code an input reaches; TAP.
#
# Each runs for FUZZ_SECONDS (5), two at once, with AddressSanitizer and UndefinedBehaviorSanitizer, from the seeds in
# its source and in seeds/NAME/. An input that fails is kept in the folder of logs: when the fault is mended it goes to
# seeds/NAME/, which run.sh runs too. UNIT_ONLY="hosts quoting" narrows; FUZZ_SEED repeats the choice of inputs.
# family: fuzz-coverage
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/../tap.sh" || exit 1
. "$(dirname "$0")/../variant.sh"

seconds=${FUZZ_SECONDS:-5} seed=${FUZZ_SEED:-$((RANDOM << 15 | RANDOM | 1))}
if ! why=$(echo 'int LLVMFuzzerTestOneInput(const char *p, long n) { return p && n < 0; }' |
    clang -fsanitize=fuzzer,address,undefined -x c -o "$tap_scratch/probe" - 2>&1); then
    tap_skip "fuzzing with coverage" "no clang with its fuzzer: ${why%%$'\n'*}"
    tap_end
fi
tap_note "FUZZ_SEED=$seed"

# Every object is instrumented, but only the targets have the engine.
variant fuzz-coverage "the targets with the engine" "CC='${FUZZ_CC:-clang}'" \
    CFLAGS="-O1 -g1 -fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=all" CPPFLAGS=-DFUZZ_ENGINE \
    FUZZ_LDFLAGS=-fsanitize=fuzzer fuzz-programs || tap_end
build=$TEST_BUILD/fuzz-coverage/tests/fuzz

# explore NAME: its status is in NAME.status.
explore() {
    local corpus=$tap_scratch/$1 kept=()
    mkdir "$corpus"
    [ ! -d "$TEST_SOURCE/fuzz/seeds/$1" ] || kept=("$TEST_SOURCE/fuzz/seeds/$1")
    {
        FUZZ_SEEDS_TO=$corpus "$build/$1" &&
            "$build/$1" -seed="$seed" -max_total_time="$seconds" -timeout=20 -rss_limit_mb=1024 -max_len=1000 -print_final_stats=1 \
                -artifact_prefix="$TEST_LOG/$1-" "$corpus" "${kept[@]}"
    } >"$TEST_LOG/$1.log" 2>&1 </dev/null
    echo $? >"$corpus.status"
}

mapfile -t names < <(grep -l '^int LLVMFuzzerTestOneInput.*)$' "$TEST_SOURCE"/fuzz/*.c | xargs -n 1 basename -s .c)
[ -z "$UNIT_ONLY" ] || read -ra names <<<"$UNIT_ONLY"
for name in "${names[@]}"; do
    explore "$name" &
    while [ "$(jobs -rp | wc -l)" -ge 2 ]; do wait -n; done
done
wait
for name in "${names[@]}"; do
    status=$(cat "$tap_scratch/$name.status")
    reached=$(grep -oE 'cov: [0-9]+' "$TEST_LOG/$name.log" | tail -n 1)
    runs=$(sed -n 's/^stat::number_of_executed_units: *//p' "$TEST_LOG/$name.log")
    tap_ok "$status" "$name: ${runs:-no} inputs, ${reached:-nothing reached}"
    [ "$status" -eq 0 ] || TEST_TAIL=30 tap_tail "$TEST_LOG/$name.log"
done
tap_end
