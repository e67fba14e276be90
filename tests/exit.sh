#!/bin/bash
# exit.sh - every way a job can end: right status, bounded time, output complete, nothing left.
#
# A round is one job of testexit; its table (`testexit list`: ways, pastimes of the others, specials) says
# what must come of it, exit/round_runner.sh runs and judges it.  Lanes run side by side.  Here is which rounds there are:
#   specials  each at every size, the odd one first and, at 2 and 3, last
#   ways      each at every size and with every pastime, every pastime at every size; not every way with every
#             pastime at every size: that is soak's (TEST_FULL=1), as are all sizes in PAR and with other spawners
#   PAR       what only it has at 1, 2, 3 and 8, and the specials at 2
#   spawners  ssh over made-up hosts: specials and ways at 3; mpi (Open MPI), mpich and pmix: a choice of each at 3
#   random    TEST_ROUNDS (200) of any case, size, mode, spawner, rank and delays
# EXIT_SEED=... repeats the round that a failure tells, alone (or TEST_ROUNDS of them from there).  Narrow with
# TEST_CASES, TEST_NPROCS, TEST_MODES, TEST_SPAWNERS; TEST_LANES (3 for each processor).  `make soak` runs the
# product, and thousands of random rounds.  For portals-conduit all of this is by the SYS queue (PO-X).
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/tap.sh" || exit 1

conduit=${TEST_CONDUIT:-ibv}
nprocs=${TEST_NPROCS:-1 2 3 8 16}
modes=${TEST_MODES:-seq par}
lanes=${TEST_LANES:-$((3 * $(nproc)))}
rounds=${TEST_ROUNDS:-${EXIT_SEED:+1}}
rounds=${rounds:-200}
seed=${EXIT_SEED:-$((RANDOM << 30 | RANDOM << 15 | RANDOM))}

for mode in $modes; do
    [ -x "$TEST_BUILD/tests/testexit-$conduit-$mode" ] || { tap_ok 1 "testexit-$conduit-$mode is built" && tap_end; }
done

# --- what there is ---------------------------------------------------------------------------------

offers() { # MODULE LAUNCHER: both are here
    [ -f "$TEST_BUILD/other/spawner/gasnet-spawner-$1.so" ] && command -v "$2" >/dev/null
}
spawners=${TEST_SPAWNERS:-}
if [ -z "$spawners" ]; then
    spawners='ssh hosts'
    if offers mpi-openmpi mpirun.openmpi; then spawners+=' mpi'; else tap_skip "Open MPI" "is not here"; fi
    if offers mpi-mpich mpirun.mpich; then spawners+=' mpich'; else tap_skip "MPICH" "is not here"; fi
    if offers pmix mpirun.openmpi; then spawners+=' pmix'; else tap_skip "pmix" "is not here"; fi
fi

# The table: specials, ways and pastimes in its order, and for each case what follows its name.
declare -A facts least
specials=() ways=() pastimes=()
for mode in $modes; do
    while read -r case expect printed outside ranks tags; do
        [ -n "${facts[$case]}" ] && continue
        facts[$case]="$expect|$printed|$outside|$mode|${tags// /+}" least[$case]=$ranks
        way=${case%_others_*} pastime=${case##*_others_}
        if [ "$way" = "$case" ]; then
            specials+=("$case")
        else
            [[ " ${ways[*]} " == *" $way "* ]] || ways+=("$way")
            [[ " ${pastimes[*]} " == *" $pastime "* ]] || pastimes+=("$pastime")
        fi
    done < <("$TEST_BUILD/tests/testexit-$conduit-$mode" list)
done

# --- the rounds ------------------------------------------------------------------------------------

queue=() total=0
has() { [[ " $1 " == *" $2 "* ]]; }

# Adds a round unless it makes no sense or is not wanted.
add() { # CASE WHO N MODE SPAWNER [DELAY SEED]
    local case=$1 who=$2 n=$3 mode=$4 spawner=$5 expect printed outside first
    [ -n "${facts[$case]}" ] || case=${case}_others_poll
    [ -n "${facts[$case]}" ] || { tap_ok 1 "$1 is a case of testexit" && return; }
    IFS='|' read -r expect printed outside first _ <<<"${facts[$case]}"
    [ "$first" = par ] && [ "$mode" = seq ] && return
    [ "$n" -ge "${least[$case]}" ] || return
    case $spawner in ssh | hosts) ;; *) [ "${expect#*/}" != - ] || return ;; esac
    [ "$spawner:$outside" != hosts:STOP ] || return # it is one of several parents there
    # A stopped rank whose parent was killed is left to nobody there.
    case $case:$spawner in parent_killed_others_stopped:[mp]* | parent_killed_others_mixed:[mp]*) return ;; esac
    has "$spawners" "$spawner" && has "$modes" "$mode" || return
    queue+=("$((total++))|$case|$who|$n|$mode|$spawner|${6:-0}|${7:-1}|$expect|$printed|$outside|")
}

all_of_it() { # PRINTED: nobody is the odd one
    [[ ${facts[$1]} == *'|all|'* ]]
}

specials_at() { # N MODE SPAWNER WHO
    local case
    for case in "${specials[@]}"; do
        if [ "$4" = last ] && { all_of_it "$case" || [ "$1" = 1 ]; }; then continue; fi
        add "$case" "$4" "$1" "$2" "$3"
    done
}

# Ways and pastimes as a table: its diagonals numbered $5 and more meet each way and each pastime.
ways_at() { # N MODE SPAWNER WHO DIAGONAL...
    local n=$1 mode=$2 spawner=$3 who=$4 w p
    shift 4
    for ((w = 0; w < ${#ways[@]}; w++)); do
        for ((p = 0; p < ${#pastimes[@]}; p++)); do
            if [ "$1" != every ] && ! has "$*" $(((w + p) % ${#pastimes[@]})); then continue; fi
            add "${ways[w]}_others_${pastimes[p]}" "$who" "$n" "$mode" "$spawner"
        done
    done
}
only_par() {
    local n w p
    for n in 1 2 3 8; do
        has "$nprocs" $n || continue
        for ((w = 0; w < ${#ways[@]}; w++)); do
            [[ ${facts[${ways[w]}_others_poll]} == *'|par|'* ]] || continue
            for ((p = 0; p < ${#pastimes[@]}; p++)); do
                [ $(((w + p + n) % 3)) = 0 ] && add "${ways[w]}_others_${pastimes[p]}" first $n par ssh
            done
        done
        [ $n = 2 ] || for case in "${specials[@]}"; do
            [[ ${facts[$case]} == *'|par|'* ]] && add "$case" last $n par ssh
        done
    done
    specials_at 2 par ssh last
    specials_at 2 par ssh first
}

# What other launchers make of it; each round takes them a second.
others_choice="all_return_0 all_return_7 all_exit_9 codes_differ all_exit_minus_1 before_attach_one
quit_told handler_on_peer one_exits_others_poll one_exits_others_sleep one_exits_with_0_others_spin one_returns_others_barrier
one_calls_underscore_exit_others_poll one_calls_underscore_exit_0_others_sleep killed_others_poll killed_others_sleep
segv_others_barrier sigterm_to_rank_others_poll sighup_to_spinning_rank_others_barrier out_of_files_others_poll launcher_TERM_others_poll launcher_KILL_others_sleep
one_exits_others_stopped"

matrix() {
    local n spawner case
    for n in $nprocs; do
        specials_at "$n" seq ssh first
        case $n in
        1) ways_at 1 seq ssh first 0 ;;
        2) specials_at 2 seq ssh last && ways_at 2 seq ssh first 0 3 6 9 ;;
        3) specials_at 3 seq ssh last && ways_at 3 seq ssh last 1 4 7 10 ;;
        8) ways_at 8 seq ssh first 2 8 ;;
        *) ways_at "$n" seq ssh last 5 ;;
        esac
    done
    only_par
    if has "$nprocs" 3; then
        specials_at 3 seq hosts last
        ways_at 3 seq hosts first 0
        for spawner in mpi mpich pmix; do
            for case in $others_choice; do add "$case" last 3 seq $spawner; done
        done
    fi
}

# Everything, everywhere; with TEST_CASES these alone.
product() {
    local n mode spawner who case
    for spawner in $spawners; do
        for mode in $modes; do
            for n in $nprocs; do
                for who in first last; do
                    if [ -n "$TEST_CASES" ]; then
                        for case in $TEST_CASES; do add "$case" $who "$n" "$mode" "$spawner"; done
                        continue
                    fi
                    specials_at "$n" "$mode" "$spawner" $who
                    if [ "$n:$who" = 1:last ]; then continue; fi
                    ways_at "$n" "$mode" "$spawner" $who every
                done
            done
        done
    done
}

# --- random rounds: all of a round follows from its seed ---

draw() { # BELOW: into $drawn
    state=$(((state * 6364136223846793005 + 1442695040888963407) & 0x7fffffffffffffff))
    drawn=$(((state >> 31) % $1))
}
one_of() { # WORD...: into $drawn
    draw $#
    shift "$drawn"
    drawn=$1
}
random_round() { # SEED
    local state=$1 before=$total case who n mode spawner delay
    draw 8
    while [ "$total" = "$before" ]; do
        draw 3
        if [ "$drawn" = 0 ]; then one_of "${specials[@]}"; else
            one_of "${ways[@]}"
            case=$drawn
            one_of "${pastimes[@]}"
            drawn=${case}_others_$drawn
        fi
        case=$drawn
        one_of 1 2 2 2 2 2 3 3 3 3 4 5 6 8 16
        n=$drawn
        draw "$n"
        who=$drawn
        one_of seq seq par
        mode=$drawn
        one_of ssh ssh ssh ssh ssh ssh ssh ssh ssh ssh hosts hosts mpi mpich pmix
        spawner=$drawn
        # What another's launcher makes of a signal is its own affair: MPICH's waits for a stopped rank for ever, Open
        # MPI's, whose ranks have all ended, may crash or wait for ever in PMIx_server_finalize (see round_runner.sh).
        case $case:$spawner in launcher_*:[mp]*) spawner=ssh ;; esac
        one_of 0 100 1000 10000 50000
        draw $((drawn + 1))
        delay=$drawn
        case $case in launcher_told* | launcher_interrupted | launcher_quit) delay=0 ;; esac # not before they handle it
        add "$case" "$who" "$n" "$mode" "$spawner" "$delay" "$1"
    done
}
random_rounds() {
    local i
    tap_note "EXIT_SEED=$seed TEST_ROUNDS=$rounds repeats the random rounds of this run"
    for ((i = 0; i < rounds; i++)); do random_round $((seed + i)); done
}

if [ -n "$TEST_FULL$TEST_CASES" ]; then product; elif [ -z "$EXIT_SEED" ]; then matrix; fi
planned=$total
[ -n "$TEST_CASES" ] || random_rounds

# --- lanes -----------------------------------------------------------------------------------------

# Where it can be had a lane has its own /dev/shm and network, so that what stays there is surely ours.
# shellcheck disable=SC2016 # for the shell inside
private='mount -t tmpfs -o size=1g none /dev/shm && ip link set lo up && exec "$0" "$@"'
lane() {
    flock "$tap_scratch/lock" true
    if unshare -m -n sh -c "${private% && exec*}" 2>/dev/null; then
        TEST_PRIVATE=1 exec unshare -m -n sh -c "$private" "$TEST_SOURCE/exit/round_runner.sh"
    fi
    TEST_PRIVATE=0 exec "$TEST_SOURCE/exit/round_runner.sh"
}
unshare -m -n sh -c "${private% && exec*}" 2>/dev/null ||
    tap_note "no namespaces of our own: /dev/shm and sockets are not looked at"

began=$(now_ms)
printf '%s\n' "${queue[@]}" >"$tap_scratch/queue"
exec 8<"$tap_scratch/queue"
slowest=$tap_scratch/slowest
: >"$slowest"
while IFS='|' read -r number verdict took status log wrong; do
    IFS='|' read -r _ case who n mode spawner delay seed _ _ _ _ <<<"${queue[number]}"
    facts_of=${facts[$case]}
    name="$case ${facts_of##*|}: n=$n who=$who $mode $spawner, status $status, $took ms"
    if [ "$number" -ge "$planned" ]; then name="random $seed: $name, delay $delay"; fi
    case $verdict in
    skip) tap_skip "$name" "$wrong" && continue ;;
    *) tap_ok "$([ "$verdict" = ok ]; echo $?)" "$name${wrong:+ ($wrong)}" ;;
    esac
    [ "$verdict" = ok ] || tap_tail "$log"
    if [ "$verdict" != ok ] && [ "$number" -ge "$planned" ]; then tap_note "EXIT_SEED=$seed tests/exit.sh repeats it"; fi
    echo "$took $case $n $who $mode $spawner" >>"$slowest"
done < <(
    for ((i = 0; i < lanes; i++)); do lane 9>"$tap_scratch/lock" & done
    wait
)
[ "$tap_count" -ge "$total" ] || tap_ok 1 "all $total rounds were run"
tap_note "$total rounds in $((($(now_ms) - began) / 1000)) s; those of gasnetrun's own that took longest (ms, of 2000):"
tap_note "$(grep -E ' (ssh|hosts)$' "$slowest" | sort -rn | head -n 10)"
tap_end
