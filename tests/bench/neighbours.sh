#!/bin/bash
# neighbours.sh - Active Messages between two ranks that share memory, beside two flags in it and memcpy, of the same run.
#
# The targets are for two processors with nothing else to do; a target missed is shown and fails nothing.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/../tap.sh" || exit 1

export SOFTHCA=on GASNET_SUPERNODE_MAXSIZE=0
if grep -q '^#define GASNETI_PSHM 0' "$TEST_BUILD/include/gasnet_config.h" || [ "$(nproc)" -lt 2 ]; then
    tap_skip "messages between neighbours" "they need shared memory within a host, and two processors"
    tap_end
fi
line=$(timeout -k 2 120 "$TEST_LAUNCH" -n 2 "$TEST_BUILD/tests/bench/neighbours-$TEST_CONDUIT-seq" 2>&1 </dev/null | grep '^neighbours:')
read -r _ _ flags _ short _ medium _ memcpy _ bytes <<<"$line"
tap_ok "$([ -n "$memcpy" ]; echo $?)" "messages between neighbours: measured"
printf '# %-64s %8s %8s %6s %6s\n' "microseconds, gasnetrun_$TEST_CONDUIT" time beside ratio target
row() { # NAME TIME BESIDE TARGET
    awk -v name="$1" -v time="${2:-0}" -v beside="${3:-0}" -v target="$4" 'BEGIN {
        if (beside > 0) printf "# %-64s %8.3f %8.3f %6.2f %6.2f  %s\n", name, time, beside, time / beside, target,
            time <= target * beside ? "ok" : "MISSED" }'
}
row "Short there and back, beside two flags" "$short" "$flags" 1.5
row "Medium of $bytes bytes and a Short back, beside that + 2 memcpy" "$medium" \
    "$(awk -v short="${short:-0}" -v memcpy="${memcpy:-0}" 'BEGIN { print short + 2 * memcpy }')" 1
tap_end
