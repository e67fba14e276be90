#!/bin/bash
# collectives.sh - times of collectives, beside Open MPI's on the same machine, and what a pending one costs a poll.
#
# Both libraries are run by turns, TEST_RUNS (3) times, and the best of each figure counts.  The targets are for two and four
# ranks; what more ranks take on two processors is only shown.  Rows "ex_" are of GASNet-EX (ReduceToAll beside MPI_Allreduce).
# TEST_COLLECTIVES="ex_reduce_all ..." narrows the rows.  A target missed is shown and fails nothing.  Instructions are
# counted by count.sh and do fail.  TEST_NPROCS (2 4 8), TEST_ROWS ("times" or "counts") narrow it.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/../tap.sh" || exit 1
. "$(dirname "$0")/callgrind.sh"

conduit=${TEST_CONDUIT:-ibv}
export TEST_HANG=300 OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1

chosen() { [ -z "$TEST_ROWS" ] || [[ " $TEST_ROWS " == *" $1 "* ]]; }

# least FILE...: of each name and size the least figure, in the order of the first file.
least() {
    awk '{ key = $1 " " $2 } !(key in best) { order[++rows] = key; best[key] = $3 } $3 < best[key] { best[key] = $3 }
        END { for (i = 1; i <= rows; i++) print order[i], best[order[i]] }' "$@"
}

with_mpi() {
    command -v mpicc >/dev/null && command -v mpirun >/dev/null &&
        mpicc -O2 -o "$tap_scratch/mpi" "$TEST_SOURCE/bench/coll_times_mpi.c" >"$TEST_LOG/collectives_mpicc.log" 2>&1
}

times() { # N
    local n=$1 i status=0
    for ((i = 0; i < ${TEST_RUNS:-3}; i++)); do
        "$TEST_LAUNCH" -spawner=ssh -n "$n" "$TEST_BUILD/tests/bench/coll_times-$conduit-seq" >"$tap_scratch/ours.$n.$i" \
            2>"$TEST_LOG/collectives.log" || status=1
        grep -v '^#' "$tap_scratch/ours.$n.$i" >"$tap_scratch/ours" && mv "$tap_scratch/ours" "$tap_scratch/ours.$n.$i"
        [ -z "$mpi" ] || env ${TEST_COLLECTIVES:+"TEST_COLLECTIVES=${TEST_COLLECTIVES//ex_/}"} mpirun --oversubscribe --bind-to none --mca mpi_yield_when_idle "$((n > 2))" -n "$n" "$tap_scratch/mpi" >"$tap_scratch/mpi.$n.$i" \
            2>"$TEST_LOG/collectives_mpi.log" || status=1
    done
    tap_ok $status "collectives on $n ranks are timed"
    least "$tap_scratch/ours.$n".* >"$tap_scratch/ours"
    : >"$tap_scratch/theirs"
    [ -z "$mpi" ] || least "$tap_scratch/mpi.$n".* >"$tap_scratch/theirs"
    printf '# %-28s %12s %12s %8s %8s\n' "collectives, $n ranks, SEQ" "$conduit us" "Open MPI us" ratio target
    awk -v n="$n" 'NR == FNR { theirs[$1 " " $2] = $3; next }
        {
            name = $1
            sub(/^ex_/, "", name)
            key = name " " $2
            ratio = theirs[key] > 0 ? $3 / theirs[key] : 0
            printf "# %-18s %7d B %12.2f %12.2f %8.2f %8s  %s\n", $1, $2, $3, theirs[key], ratio, n <= 4 ? "1.00" : "-",
                (n > 4 || !ratio ? "" : (ratio <= 1 ? "ok" : "MISSED"))
        }' "$tap_scratch/theirs" "$tap_scratch/ours"
    [ "$n" -ne 2 ] || awk '$2 == 8 { took[$1] = $3 }
        END {
            ratio = took["ex_barrier"] > 0 ? took["ex_reduce_all"] / took["ex_barrier"] : 0
            printf "# %-46s %21.2f %8s  %s\n", "ReduceToAll of 8 B, in times of a barrier", ratio, "1.20", (ratio <= 1.2 ? "ok" : "MISSED")
        }' "$tap_scratch/ours"
}

counts() {
    local mode
    command -v valgrind >/dev/null || { tap_skip "instruction counts" "no valgrind" && return; }
    env TEST_OPERATIONS="poll coll_poll coll_pending coll_send coll_receive" "$TEST_SOURCE/bench/count.sh" \
        >"$tap_scratch/counts"
    printf '# %-46s %12s %8s\n' "collectives, instructions" "$conduit" target
    for mode in ${TEST_MODES:-seq par}; do
        figure() { callgrind_figure "$tap_scratch/counts" "$mode: $1"; }
        poll=$(figure "poll that finds nothing")
        more "$mode: a poll more, after gasnet_coll_init" "$(figure "empty poll after gasnet_coll_init")" 0
        more "$mode: a poll more, with a collective pending" "$(figure "empty poll with a collective pending")" 5
        printf '# %-46s %12s\n' "$mode: broadcast of 8 bytes, at the root" "$(figure "broadcast of 8 bytes, at the root")" \
            "$mode: broadcast of 8 bytes that is at hand" "$(figure "broadcast of 8 bytes that is at hand")"
    done
}

more() { # NAME FIGURE ALLOWED
    local more=$((${2:-9999} - ${poll:-0}))
    printf '# %-46s %12d %8d\n' "$1" $more "$3"
    tap_ok "$([ -n "$2" ] && [ $more -le "$3" ]; echo $?)" "$1: $more, $3 allowed"
}

if chosen times; then
    mpi=
    if with_mpi; then mpi=1; else tap_skip "beside Open MPI" "no mpicc, or no mpirun"; fi
    for n in ${TEST_NPROCS:-2 4 8}; do times "$n"; done
fi
if chosen counts; then counts; fi
tap_end
