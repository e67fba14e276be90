#!/bin/bash
# run.sh - every unit test of the build in the present directory, or in $top_builddir; one TAP stream.
#
# Each source file here with a main must have been built: a test that is not there has failed.  Tests of
# portals-conduit are there twice, NAME for one thread and NAME_par for many; shim, for either shim.
# UNIT_SEED replays a seed in all of them; UNIT_ONLY="credits ports" narrows.  Other scripts call this for
# their own folder, tests/fuzz/run.sh with the pattern of its programs.
# family: unit
here=$(cd "${1:-$(dirname "$0")}" && pwd) || exit 1
program=${2:-^int main}
root=$(cd "$(dirname "$0")/../.." && pwd)
build=${top_builddir:-$PWD}/${here#"$root/"}
count=0 bad=0

# One line of TAP; anything after the first argument is the name.
result() { # STATUS NAME...
    local status=$1
    shift
    count=$((count + 1))
    [ "$status" -eq 0 ] || bad=$((bad + 1))
    echo "$([ "$status" -eq 0 ] || echo 'not ')ok $count - $*"
}

# Passes a program's lines on under one numbering; they must be as many as it planned.
run() { # PROGRAM
    local name=$1 line status planned=none seen=0 failed=0
    exec 3< <(FUZZ_SEEDS=$here/seeds/$name "$build/$name" 2>&1; echo "exit $?")
    while IFS= read -r line <&3; do
        case $line in
        'ok '*) seen=$((seen + 1)) && result 0 "$name: ${line#*- }" ;;
        'not ok '*) seen=$((seen + 1)) failed=1 && result 1 "$name: ${line#*- }" ;;
        1..*) planned=${line#1..} ;;
        'exit '*) status=${line#exit } ;;
        *) echo "# ${line#\# }" ;;
        esac
    done
    exec 3<&-
    if [ "$seen" != "$planned" ] || { [ "$status" -ne 0 ] && [ $failed -eq 0 ]; }; then
        result 1 "$name: ended with status $status after $seen results of $planned"
    fi
}

mapfile -t sources < <(grep -l "$program" "$here"/*.c)
for source in "${sources[@]}"; do
    name=$(basename "$source" .c)
    [ -z "$UNIT_ONLY" ] || [[ " $UNIT_ONLY " == *" $name "* ]] || continue
    variants=("$name")
    grep -q '"tests/unit/portals_job.h"' "$source" && variants+=("${name}_par")
    [ "$name" = shim ] && variants+=(shim_vapi)
    # Sanitizers cannot be linked statically.
    [ "$name" = memory_events ] && [ -x "$build/memory_events_static" ] && variants+=(memory_events_static)
    for name in "${variants[@]}"; do
        if [ -x "$build/$name" ]; then run "$name"; else result 1 "$name: is not built"; fi
    done
done
echo "1..$count"
[ $bad -eq 0 ] && [ $count -gt 0 ]
