#!/bin/bash
# neighbours.sh - Active Messages and puts between two ranks that share memory, beside two flags in it, memcpy and stores, of
# the same run; and what a put to a rank without shared memory costs more than in a build without PSHM, in instructions.
#
# The targets are for two processors with nothing else to do; a target missed is shown and fails nothing.  Instructions do
# not depend on the load, and fail.  TEST_ROWS="times" or "counts" narrows.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/../tap.sh" || exit 1
. "$(dirname "$0")/../variant.sh"
. "$(dirname "$0")/callgrind.sh"

chosen() { [ -z "$TEST_ROWS" ] || [[ " $TEST_ROWS " == *" $1 "* ]]; }

if grep -q '^#define GASNETI_PSHM 0' "$TEST_BUILD/include/gasnet_config.h" || [ "$(nproc)" -lt 2 ]; then
    tap_skip "messages between neighbours" "they need shared memory within a host, and two processors"
    tap_end
fi
row() { # NAME TIME BESIDE TARGET
    awk -v name="$1" -v time="${2:-0}" -v beside="${3:-0}" -v target="$4" 'BEGIN {
        if (beside > 0) printf "# %-64s %8.3f %8.3f %6.2f %6.2f  %s\n", name, time, beside, time / beside, target,
            time <= target * beside ? "ok" : "MISSED" }'
}

times() {
    local line flags short medium memcpy bytes puts stores
    line=$(SOFTHCA=on GASNET_SUPERNODE_MAXSIZE=0 timeout -k 2 120 "$TEST_LAUNCH" -n 2 \
        "$TEST_BUILD/tests/bench/neighbours-$TEST_CONDUIT-seq" 2>&1 </dev/null | grep '^neighbours:')
    read -r _ _ flags _ short _ medium _ memcpy _ bytes _ puts _ stores <<<"$line"
    tap_ok "$([ -n "$stores" ]; echo $?)" "messages between neighbours: measured"
    printf '# %-64s %8s %8s %6s %6s\n' "microseconds, gasnetrun_$TEST_CONDUIT" time beside ratio target
    row "Short there and back, beside two flags" "$short" "$flags" 1.5
    row "Medium of $bytes bytes and a Short back, beside that + 2 memcpy" "$medium" \
        "$(awk -v short="${short:-0}" -v memcpy="${memcpy:-0}" 'BEGIN { print short + 2 * memcpy }')" 1
    row "512 puts of 8 bytes each, beside as many stores" "$puts" "$stores" 1.5
}

# A put to a rank that is reached by the network alone, in this build and in one without PSHM.
counts() {
    local tree name with without more
    command -v valgrind >/dev/null || { tap_skip "instruction counts" "no valgrind" && return; }
    variant nopshm "the library without PSHM" --disable-pshm "gasnetrun_$TEST_CONDUIT" "tests/bench/count-$TEST_CONDUIT-seq" ||
        return
    for tree in "$TEST_BUILD" "$TEST_BUILD/nopshm"; do
        env -u TEST_LAUNCH TEST_BUILD="$tree" GASNET_SUPERNODE_MAXSIZE=1 TEST_MODES=seq TEST_OPERATIONS="put put_nb put_nbi" \
            "$TEST_SOURCE/bench/count.sh" >"$tap_scratch/${tree##*/}.count"
    done
    printf '# %-64s %8s %8s %6s %6s\n' instructions PSHM without more target
    while read -r name; do
        with=$(callgrind_figure "$tap_scratch/${TEST_BUILD##*/}.count" "seq: $name")
        without=$(callgrind_figure "$tap_scratch/nopshm.count" "seq: $name")
        more=$((${with:-9999} - ${without:-0}))
        printf '# %-64s %8s %8s %6d %6d\n' "$name, to another host" "$with" "$without" $more 3
        tap_ok "$([ -n "$without" ] && [ $more -le 3 ]; echo $?)" "$name, to another host: $more more with PSHM, target 3"
    done <<'END'
non-blocking implicit put, injection
put_nb + wait
blocking put
END
}

if chosen times; then times; fi
if chosen counts; then counts; fi
tap_end
