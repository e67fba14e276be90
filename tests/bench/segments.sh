#!/bin/bash
# segments.sh - the cost of a put and a get in SEGMENT_LARGE above SEGMENT_FAST if the memory is registered at both ends, by
# the figures of count.sh.
#
# Makes a build for SEGMENT_LARGE.  In FAST the 8 KiB come from the segment; in LARGE
# both ends are hits, so that the row has the targets of a hit at a peer (80) and of one here (60).
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/../tap.sh"
. "$(dirname "$0")/../variant.sh"
. "$(dirname "$0")/callgrind.sh"

modes=${TEST_MODES:-seq par}
command -v valgrind >/dev/null || { tap_skip "instruction counts" "no valgrind" && tap_end; }
targets=(gasnetrun_ibv)
for mode in $modes; do targets+=("tests/bench/count-ibv-$mode"); done
variant large-counted "the library for GASNET_SEGMENT_LARGE" --enable-segment-large "${targets[@]}" || tap_end
for tree in "$TEST_BUILD" "$TEST_BUILD/large-counted"; do
    env -u TEST_LAUNCH TEST_BUILD="$tree" TEST_CONDUIT=ibv TEST_OPERATIONS="put_nb get_nb put_nb_8k" \
        "$TEST_SOURCE/bench/count.sh" >"$tap_scratch/${tree##*/}.count"
done
printf '# %-46s %6s %6s %6s %8s\n' "instructions" FAST LARGE more target
for mode in $modes; do
    while IFS='|' read -r name target; do
        fast=$(callgrind_figure "$tap_scratch/${TEST_BUILD##*/}.count" "$mode: $name")
        large=$(callgrind_figure "$tap_scratch/large-counted.count" "$mode: $name")
        more=$((${large:-9999} - ${fast:-0}))
        # In PAR the lock of the cache comes to it.
        [ "$mode" = seq ] || target=$((target * 115 / 100))
        printf '# %-46s %6s %6s %6d %8d\n' "$mode: $name" "$fast" "$large" "$more" "$target"
        tap_ok "$([ -n "$fast" ] && [ $more -le "$target" ]; echo $?)" "$mode: $name: $more more, target $target"
    done <<'END'
put_nb + wait|80
get_nb + wait|80
put_nb + wait, 8 KiB|140
END
done
tap_end
