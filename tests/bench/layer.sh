#!/bin/bash
# layer.sh - the cost of vapi-conduit above ibv-conduit, by the figures of count.sh: at most 15 instructions a post and
# 15 a poll (VC-7).  A Short Request posts twice, itself and room for its Reply; an empty poll looks into two queues.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/../tap.sh"
. "$(dirname "$0")/callgrind.sh"

command -v valgrind >/dev/null || { tap_skip "instruction counts" "no valgrind" && tap_end; }
[ -x "$TEST_BUILD/gasnetrun_vapi" ] || { tap_skip "vapi-conduit" "is not built" && tap_end; }
for conduit in ibv vapi; do
    env -u TEST_LAUNCH TEST_CONDUIT=$conduit TEST_OPERATIONS="put_nbi am_short poll" "$TEST_SOURCE/bench/count.sh" \
        >"$tap_scratch/$conduit"
done
printf '# %-46s %6s %6s %6s %8s\n' "instructions" ibv vapi more allowed
for mode in ${TEST_MODES:-seq par}; do
    while IFS='|' read -r name allowed; do
        ibv=$(callgrind_figure "$tap_scratch/ibv" "$mode: $name") vapi=$(callgrind_figure "$tap_scratch/vapi" "$mode: $name")
        more=$((${vapi:-9999} - ${ibv:-0}))
        printf '# %-46s %6s %6s %6d %8d\n' "$mode: $name" "$ibv" "$vapi" "$more" "$allowed"
        tap_ok "$([ -n "$ibv" ] && [ $more -le "$allowed" ]; echo $?)" "VC-7 $mode: $name: $more more, $allowed allowed"
    done <<'END'
non-blocking implicit put, injection|15
AM Short request, injection|30
poll that finds nothing|30
END
done
tap_end
