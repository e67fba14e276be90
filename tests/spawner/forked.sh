#!/bin/bash
# forked.sh - programs that need no launcher: GASNET_PSHM_NODES, standard input, what is refused, what they are linked
# with; and gasnetrun_smp.  exit/exit.py has the ways in which their jobs end.
# family: forked TEST_CONDUIT=smp
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/../tap.sh" || exit 1

program=$TEST_BUILD/tests/spawner/forked-smp-par
log=$TEST_LOG/forked.log

# run COMMAND...: with six bytes of input; sets `status`.
run() {
    echo input | env TEST_MARKER="$tap_scratch" timeout -k 5 60 "$@" >"$log" 2>&1
    status=$?
}

# judge NAME STATUS LINE...: the last status, and all lines of output in any order; each LINE is a pattern.
judge() {
    local name=$1 want=$2 good=0 line
    shift 2
    [ "$status" = "$want" ] && [ "$(wc -l <"$log")" = $# ] || good=1
    for line; do grep -qE -- "^$line\$" "$log" || good=1; done
    tap_ok $good "$name"
    [ $good = 0 ] || { tap_note "status $status instead of $want" && tap_tail "$log"; }
}

run "$program"
judge "without a launcher: one process" 0 before 'rank 0 of 1: 6 bytes'
run env GASNET_PSHM_NODES= "$program"
judge "an empty GASNET_PSHM_NODES is none" 0 before 'rank 0 of 1: 6 bytes'
run env GASNET_PSHM_NODES=1 "$program"
judge "GASNET_PSHM_NODES=1 is the process itself" 0 before 'rank 0 of 1: 6 bytes'
run env GASNET_PSHM_NODES=3 "$program"
judge "GASNET_PSHM_NODES=3: input is rank 0's, earlier output appears once" 0 \
    before 'rank 0 of 3: 6 bytes' 'rank 1 of 3: 0 bytes' 'rank 2 of 3: 0 bytes'
run sh -c "GASNET_PSHM_NODES=2 exec $program <&-"
judge "standard input may be closed" 0 before 'rank 0 of 2: 0 bytes' 'rank 1 of 2: 0 bytes'

for value in 0 -1 65536 four 4x 99999999999999999999; do
    run env GASNET_PSHM_NODES="$value" "$program"
    judge "GASNET_PSHM_NODES=$value is refused" 3 'gasnet: no spawner can start this process:' \
        "  fork: GASNET_PSHM_NODES=$value: the number of processes, from 1 to 65535, is needed here" before
done
run env GASNET_PSHM_NODES=3 GASNET_SUPERNODE_MAXSIZE=2 "$program"
judge "ranks that share no memory are refused, in one line" 1 before \
    '.*ERROR.*: smp-conduit has no network, and ranks 0 and 2 share no memory: GASNET_SUPERNODE_MAXSIZE is 2; change that, or start one process'
run sh -c "(ulimit -f 0 && GASNET_PSHM_NODES=2 exec $program) 2>&1 | cat"
judge "so is a system without shared memory" 0 before '.*ERROR.*: cannot map the memory .*: File too large \(see ulimit -f\); start fewer processes'
run sh -c "ulimit -n 40 && GASNET_PSHM_NODES=30 exec $program"
judge "so are more ranks than open files allow" 1 before 'forked-smp-par: GASNET_PSHM_NODES=30: too many open files: .*'

run env GASNET_PSHM_NODES=2 "$program" threads
judge "threads before gasnet_init are refused" 3 'gasnet: no spawner can start this process:' before \
    '  fork: GASNET_PSHM_NODES=2: the program has 2 threads before gasnet_init, .* gasnetrun_smp -n 2 instead'
run "$TEST_LAUNCH" -n 2 "$program" threads
judge "not so under gasnetrun_smp" 0 before 'rank 0 of 2: 6 bytes' before 'rank 1 of 2: 0 bytes'

run env GASNET_PSHM_NODES=3 GASNET_SSH_SERVERS=nowhere.invalid SLURM_JOB_ID=1 "$TEST_LAUNCH" -n 2 "$program"
judge "gasnetrun_smp -n counts, and all ranks are here" 0 before 'rank 0 of 2: 6 bytes' before 'rank 1 of 2: 0 bytes'
for option in '-N 2' -spawner=mpi; do
    # shellcheck disable=SC2086 # words
    run "$TEST_LAUNCH" $option -n 2 "$program"
    judge "gasnetrun_smp refuses $option" 1 "gasnetrun_smp: ${option%%[ =]*}.* \(try gasnetrun_smp --help\)"
done
run "$TEST_LAUNCH" --doctor
judge "gasnetrun_smp refuses --doctor" 1 'gasnetrun_smp: --doctor .* \(try gasnetrun_smp --help\)'

# Each library and program, whatever is missing here.
needed=$(for file in "$program" "$TEST_BUILD"/.libs/libgasnet-smp-*.so; do
    if [ -e "$file" ]; then ldd "$file"; fi
done | grep -oE 'lib(ibverbs|rdmacm|mlx|mpi|pmix|crypto|softhca|portals|vapi)[^ ]*' | sort -u | paste -sd' ')
tap_ok "$([ -z "$needed" ]; echo $?)" "no library of a network, MPI or PMIx is needed${needed:+ ($needed)}"
tap_end
