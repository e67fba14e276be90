#!/bin/bash
# count.sh - instructions per operation inside the library, above the verbs calls, against targets.
#
# Runs count under callgrind with N and with 2N operations and divides the difference by N; the cost
# of whatever the library calls in libibverbs or the software device, and below, is left out.
# Prints a table; ends non-zero when a row is over its target.  TEST_MODES="seq par", TEST_N=1600.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/../tap.sh"

conduit=${TEST_CONDUIT:-ibv}
n=${TEST_N:-1600}
command -v valgrind >/dev/null || { tap_skip "instruction counts" "no valgrind" && tap_end; }
export TEST_HANG=500 TEST_SEED=1

# Sum of both ranks' instructions, less what lies below calls into the verbs layer.
below='libibverbs|libsofthca|librdmacm|other/softhca/'
count_once() { # MODE OPERATION N
    local dir=$tap_scratch/$1.$2.$3
    mkdir -p "$dir"
    "$TEST_LAUNCH" -spawner=ssh -n 2 valgrind -q --tool=callgrind --collect-atstart=no --trace-children=yes \
        --toggle-collect=counted --compress-strings=no --compress-pos=no \
        --callgrind-out-file="$dir/%p" "$TEST_BUILD/tests/bench/count-$conduit-$1" "$2" "$3" \
        >"$dir/log" 2>&1 </dev/null || { tap_tail "$dir/log" >&2 && return 1; }
    awk -v below="$below" '
        # An arc from above into the verbs layer takes its inclusive cost out of the sum.
        function layer(object, file) { return object ~ below || file ~ below }
        /^ob=/ { object = substr($0, 4); next }
        /^fl=/ { file = substr($0, 4); next }
        /^f[ie]=/ { next }
        /^fn=/ { next }
        /^cob=/ { called_object = substr($0, 5); next }
        /^cf[il]=/ { called_file = substr($0, 5); next }
        /^cfn=/ { next }
        /^calls=/ {
            getline
            if (!layer(object, file) && layer(called_object ? called_object : object, called_file ? called_file : file))
                out += $2
            called_object = called_file = ""
            next
        }
        /^totals:/ { total += $2 }
        END { print total - out }' "$dir"/[0-9]*
}

per_operation() { # MODE OPERATION
    local once twice
    once=$(count_once "$1" "$2" "$n") && twice=$(count_once "$1" "$2" $((2 * n))) || return 1
    echo $(((twice - once + n / 2) / n))
}

rows='put_nbi|non-blocking implicit put, injection|110
put_nb|put_nb + wait|260
put|blocking put|240
get_nb|get_nb + wait|280
put_nb_4k|put_nb + wait, 4 KiB|300
reap|implicit ops: reap, per op (16 outstanding)|40
am_short|AM Short request, injection|160
am_receive|AM Short receive + handler|150
am_round|AM Short request + reply, all processors|450
am_medium|AM Medium 64 B, injection|200
poll|poll that finds nothing|70'

declare -A sequential
for mode in ${TEST_MODES:-seq par}; do
    printf '# %-46s %10s %8s\n' "mode $mode" instructions target
    empty=$(per_operation "$mode" nothing) || { tap_ok 1 "$mode: counting works" && continue; }
    while IFS='|' read -r operation name target; do
        [ -n "$TEST_OPERATIONS" ] && [[ " $TEST_OPERATIONS " != *" $operation "* ]] && continue
        [ "$mode" = par ] && [ -n "${sequential[$operation]}" ] && target=$((sequential[$operation] * 115 / 100))
        count=$(per_operation "$mode" "$operation") || { tap_ok 1 "$mode $name: counted" && continue; }
        calls=1 # of counted() per operation; its own cost is taken off
        [ "$operation" = reap ] && calls=0
        [ "$operation" = am_round ] && calls=3
        count=$((count - calls * empty))
        [ "$mode" = seq ] && sequential[$operation]=$count
        printf '# %-46s %10d %8d\n' "$name" "$count" "$target"
        tap_ok "$([ "$count" -le "$target" ] && [ "$count" -gt 0 ]; echo $?)" "$mode: $name: $count, target $target"
    done <<<"$rows"
done
tap_end
