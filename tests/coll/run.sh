#!/bin/bash
# run.sh - random schedules of collectives on five ranks, and on a device that delays or divides what it carries.
#
# The programs' own rows of matrix.table are run by tests/programs/run-conduit.sh.
# family: coll
# family: coll-portals last TEST_CONDUIT=portals
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/../tap.sh" || exit 1

export TEST_HANG=100 TEST_SEED=${TEST_SEED:-$((RANDOM << 15 | RANDOM))}
tap_note "TEST_SEED=$TEST_SEED repeats this run"

mix() { # LABEL N MODE ARGUMENT...
    local label=$1 n=$2 mode=$3
    shift 3
    tap_program "coll-$TEST_CONDUIT" "$label, $n ranks, $mode" timeout -k 5 120 "$TEST_LAUNCH" -spawner=ssh -n "$n" \
        "$TEST_BUILD/tests/collmix-$TEST_CONDUIT-$mode" "$@"
}

mix "five" 5 seq 1 8

# Effects of the variables, as gasnet_coll_tune_generic_op reports them.
tells() { # SETTING OP BYTES PATTERN
    env "$1" timeout -k 5 100 "$TEST_LAUNCH" -spawner=ssh -n 4 "$TEST_BUILD/tests/testcollbasic-$TEST_CONDUIT-seq" tells "$2" "$3" \
        >"$tap_scratch/tells" 2>&1 && grep -qE "$4" "$tap_scratch/tells"
    tap_ok $? "$1: $4"
}

tells GASNET_COLL_ROOTED_GEOM=KNOMIAL_TREE,3 0 64 'tree KNOMIAL_TREE,3$'
tells GASNET_COLL_ROOTED_GEOM=FLAT_TREE 0 64 'tree FLAT_TREE,0$'
tells GASNET_COLL_PIPE_SEG_SIZE=4K 0 64 'segment 4096,'
tells GASNET_COLL_GATHER_ALL_DISSEM_LIMIT=1K 6 1000 'algorithm 4,'
tells GASNET_COLL_GATHER_ALL_DISSEM_LIMIT=1M 6 1000 'algorithm 3,'
tells GASNET_COLL_EXCHANGE_DISSEM_LIMIT=1K 8 1000 'algorithm 4,'
tells GASNET_COLL_EXCHANGE_DISSEM_LIMIT=1M 8 1000 'algorithm 3,'
tells GASNET_COLL_ENABLE_SEARCH=yes 0 64 'tree KNOMIAL_TREE,2$'
tells GASNET_SUPERNODE_MAXSIZE=2 2 64 'tree KNOMIAL_TREE,2$' # as it is carried out: of four ranks that share no memory it is flat
export SOFTHCA=on

# Habits of programs, which a machine that is busy elsewhere may break now and then: most of them must hold.
leaving() { # SHARED N init|barrier JOBS: prints "BAD ALL" of all jobs
    local job
    for ((job = 0; job < $4; job++)); do
        GASNET_SUPERNODE_MAXSIZE=$1 timeout -k 5 60 "$TEST_LAUNCH" -spawner=ssh -n "$2" \
            "$TEST_BUILD/tests/coll/leaving-$TEST_CONDUIT-seq" "$3"
    done | awk '{ bad += $2; all += $4 } END { print bad + 0, all + 0 }'
}
for n in 2 4; do
    read -r bad all < <(leaving 0 $n init 20)
    tap_ok "$([ "$all" -eq $((20 * n)) ] && [ $((bad * 3)) -lt "$all" ]; echo $?)" \
        "$n ranks that share memory: few hear of a peer inside gasnet_coll_init ($bad of $all)"
    for shared in 0 1; do
        read -r bad all < <(leaving $shared $n barrier 1)
        tap_ok "$([ "$all" -eq $((200 * n)) ] && [ $((bad * 3)) -lt "$all" ]; echo $?)" \
            "$n ranks, GASNET_SUPERNODE_MAXSIZE=$shared: a barrier handles what was sent before it (not in $bad of $all)"
    done
done

# Repeats an operation with supernodes of two nodes, and the last of one; then the counters are in stats.
operate() { # NODES HOW OP COUNT BYTES
    local n=$1
    shift
    rm -f "$tap_scratch/stats"
    GASNET_STATSFILE=$tap_scratch/stats GASNET_SUPERNODE_MAXSIZE=2 timeout -k 5 100 "$TEST_LAUNCH" -spawner=ssh -n "$n" \
        "$TEST_BUILD/tests/testcollbasic-$TEST_CONDUIT-seq" "$@" >"$tap_scratch/repeats" 2>&1
}

# Requests from one supernode to another, of three: nodes 0 and 1, 2 and 3, 4.
across() { # HOW OP COUNT BYTES
    operate 5 "$@" &&
        awk '$3 ~ /^requests_/ && $2 ~ /^[0-9]+$/ && int($1 / 2) != int($2 / 2) { sum += $4 } END { print sum + 0 }' \
            "$tap_scratch/stats"
}

# In the order of the job, or in one where no supernode is a range of ranks.
counted() { # repeats|mixed OP NAME BYTES MESSAGES
    local few many
    few=$(across "$1" "$2" 100 "$4") && many=$(across "$1" "$2" 200 "$4") && [ -n "$few" ] && [ -n "$many" ] &&
        [ $((many - few)) -eq $((100 * $5)) ]
    tap_ok $? "$1: $3, three supernodes, $4 bytes: $5 messages across the network (100 have $((many - few)))"
}
# Large messages are several Requests.  The nodes with Requests in each operation to or from another supernode, of four:
# nodes 0 and 1, 2 and 3, 4 and 5, 6.
leaders() { # repeats|mixed OP NAME BYTES NODES
    local nodes
    nodes=$(operate 7 "$1" "$2" 50 "$4" && awk '$3 ~ /^requests_/ && $2 ~ /^[0-9]+$/ && int($1 / 2) != int($2 / 2) && $4 >= 50 {
        print $1
        print $2
    }' "$tap_scratch/stats" | sort -u | xargs)
    [ "$nodes" = "$5" ]
    tap_ok $? "$1: $3, four supernodes, $4 bytes: nodes $5 have messages across the network (nodes $nodes)"
}

if grep -q '^#define GASNETI_PSHM 0' "$TEST_BUILD/include/gasnet_config.h"; then
    tap_skip "messages across the network" "this build has no shared memory within a host"
else
    for how in repeats mixed; do
        counted $how 0 broadcast 8 2
        counted $how 3 reduction 8 2
        counted $how 4 gather_all 8 6
        counted $how 5 "broadcast between two barriers" 8 14
        counted $how 1 scatter 8 2
        counted $how 2 gather 8 2
        counted $how 8 exchange 8 6
    done
    counted mixed 6 "team's barrier" 0 6
    counted repeats 7 "reduction in order" 8 2
    for rows in "0 broadcast 140000" "1 scatter 10000" "2 gather 10000" "3 reduction 140000"; do
        read -r number name bytes <<<"$rows"
        leaders repeats "$number" "$name" "$bytes" "1 2 4 6"
        leaders mixed "$number" "$name" "$bytes" "0 2 4 6"
    done
    leaders repeats 4 gather_all 20000 "0 2 4 6"
    leaders mixed 4 gather_all 20000 "0 2 4 6"
    leaders repeats 7 "reduction in order" 140000 "1 2 4 6"
    GASNET_SUPERNODE_MAXSIZE=2 mix "three supernodes" 5 seq 1 8
    GASNET_SUPERNODE_MAXSIZE=2 mix "three supernodes, uneven images" 5 par uneven 6
fi
SOFTHCA_FAULTS="stall:op=send,us=300" mix "sends wait" 3 seq 1 4
SOFTHCA_FAULTS="hold:op=write,polls=50" mix "writes wait" 3 par uneven 4
SOFTHCA_FAULTS="tear:order=random" mix "bytes come one by one" 2 seq 1 4
tap_end
