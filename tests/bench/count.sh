#!/bin/bash
# count.sh - instructions per operation inside the library, above the verbs calls, against targets.
#
# Runs count under callgrind with N and with 2N operations and divides the difference by N; the cost
# of whatever the library calls in libibverbs or the software device, and below, is left out.
# Prints a table; ends non-zero when a row is over its target.  TEST_MODES="seq par", TEST_N=1600;
# TEST_OPERATIONS="put get_nb" for some rows.  The targets are those of networks that talk to verbs; with
# TEST_CONDUIT=portals what libportals costs is counted too, and a row over its target is only shown: portals_limits.sh has
# limits.  TEST_RUNS is how often each is run then.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/../tap.sh"
. "$(dirname "$0")/callgrind.sh"

conduit=${TEST_CONDUIT:-ibv}
n=${TEST_N:-1600}
runs=1
[ "$conduit" != portals ] || runs=${TEST_RUNS:-3}
command -v valgrind >/dev/null || { tap_skip "instruction counts" "no valgrind" && tap_end; }
export TEST_HANG=500 TEST_SEED=1
# Unmapped memory is not watched under valgrind; the programs unmap none.
export GASNET_FIREHOSE_KEEP=trust

# 0 in a build whose processes never share memory.
shares=$(sed -n 's/^#define GASNETI_PSHM //p' "$TEST_BUILD/include/gasnet_config.h")

# A Request whose handler sends no Reply is answered by the core, at once or for many Requests together.  Receiving is
# counted without these Replies: collecting is switched off while one is sent.  am_answered is receiving with them.
# Rows "near" alone have a peer that shares its memory, and those "device" atomics by the device.
count_once() { # MODE OPERATION N
    local dir=$tap_scratch/$1.$2.$3 operation=$2 callgrind_options=
    local -x GASNET_SUPERNODE_MAXSIZE=$GASNET_SUPERNODE_MAXSIZE GASNET_ADAPTER_ATOMICS=off
    case $operation in
    put_near | ex_ad_near) GASNET_SUPERNODE_MAXSIZE=0 ;;
    ex_ad_device) GASNET_ADAPTER_ATOMICS=on ;;
    am_receive) callgrind_options=--toggle-collect=gasnetc_send_hidden_reply ;;
    am_answered) operation=am_receive ;;
    esac
    callgrind_run "$dir" "$TEST_BUILD/tests/bench/count-$conduit-$1" "$operation" "$3" && callgrind_instructions "$dir"
}

# The least of some runs.  On libportals a peer's threads take part: a thread that waits for them spins, and is counted.
least() { # MODE OPERATION N
    local i count least=
    for ((i = 0; i < runs; i++)); do
        count=$(count_once "$@") || return 1
        if [ -z "$least" ] || [ "$count" -lt "$least" ]; then least=$count; fi
    done
    echo "$least"
}

per_operation() { # MODE OPERATION
    local once twice
    once=$(least "$1" "$2" "$n") && twice=$(least "$1" "$2" $((2 * n))) || return 1
    echo $(((twice - once + n / 2) / n))
}

# The instructions of an operation, without the cost of counted().
cost() { # MODE OPERATION
    local count calls=1 # of counted() per operation
    case $2 in
    am_answer)
        echo $(($(per_operation "$1" am_answered) - $(per_operation "$1" am_receive)))
        return
        ;;
    reap) calls=0 ;;
    am_round | ex_ad_round) calls=3 ;;
    esac
    count=$(per_operation "$1" "$2") && echo $((count - calls * empty))
}

# Operation, name, target (a number, or so many more than another row of SEQ), and what others need for it, counted in the
# same way: GASNet-1 1.28 ibv, GASNet-EX 2025.8 ibv, UCX UCT rc_verbs.
# The round trip is the Request, the poll that runs its handler, which replies, and the poll that takes the Reply; none of
# these polls is empty where messages are in rings, and one in sixteen looks at the queues too.  Most completions of the
# sends are reaped elsewhere.  A barrier looks before each poll, and at its end polls until nothing comes: programs rely on
# it to serve what peers sent before they notified.
rows='put_nbi|non-blocking implicit put, injection|110|161 228 79
put_near|8-byte put to a neighbour, in the client|12|- - -
put_nb|put_nb + wait|260|395 463 454
put|blocking put|240|374 405 -
get_nb|get_nb + wait|280|468 482 -
put_nb_4k|put_nb + wait, 4 KiB|300|497 534 -
put_nb_8k|put_nb + wait, 8 KiB|300|- - -
put_hit|the same from outside the segment, registered|put_nb_8k+60|- - -
reap|implicit ops: reap, per op (16 outstanding)|40|53 58 70
am_short|AM Short request, injection|160|370 321 106
am_receive|AM Short receive + handler|150|294 283 113
am_answer|AM Short, automatic Reply|40|- - -
am_round|AM Short request + reply, all processors|480|973 898 312
am_medium|AM Medium 64 B, injection|200|385 384 -
ex_put|gex_RMA_PutNB + gex_Event_Wait|put_nb+8|- 463 -
ex_short|gex_AM_RequestShort, injection|am_short+8|- 321 -
ex_negotiated|negotiated Medium 64 B, Prepare to Commit|200|- - -
ex_refused|gex_AM_RequestShort, refused|60|- - -
ex_pending|gex_Event_Test, pending|6|- - -
ex_finished|gex_Event_Test, finished|25|- - -
ex_token|gex_Token_Info of the source|10|- - -
ex_ad_near|gex_AD_OpNB_I64 to a neighbour, with its call|40|- - -
ex_ad_round|gex_AD_OpNB_I64 request + reply, all processors|730|- - -
ex_ad_device|gex_AD_OpNB_I64 by the device + gex_Event_Wait|360|- - -
poll|poll that finds nothing|70|150 122 74
barrier|barrier of two: notify + wait, the message at hand|590|- - -
barrier_try|barrier of two: try, no message|220|- - -
coll_poll|empty poll after gasnet_coll_init|70|- - -
coll_pending|empty poll with a collective pending|75|- - -
coll_send|broadcast of 8 bytes, at the root|900|- - -
coll_receive|broadcast of 8 bytes that is at hand|1280|- - -'

declare -A sequential
for mode in ${TEST_MODES:-seq par}; do
    printf '# %-46s %10s %8s   %8s %9s %5s\n' "mode $mode" instructions target GASNet-1 GASNet-EX UCX
    empty=$(per_operation "$mode" nothing) || { tap_ok 1 "$mode: counting works" && continue; }
    while IFS='|' read -r operation name target others; do
        [ -n "$TEST_OPERATIONS" ] && [[ " $TEST_OPERATIONS " != *" $operation "* ]] && continue
        [[ $operation = *_near ]] && [ "$shares" = 0 ] && continue
        [[ $operation = *_device && $conduit != ibv && $conduit != vapi ]] && continue
        case $target in
        *+*) target=$((${sequential[${target%+*}]:-300} + ${target#*+})) ;;
        esac
        [ "$mode" = par ] && [ -n "${sequential[$operation]}" ] && target=$((sequential[$operation] * 115 / 100))
        count=$(cost "$mode" "$operation") || { tap_ok 1 "$mode $name: counted" && continue; }
        # The few Replies of a network that answers many Requests at once are too cheap for a bound in per cent.
        [ "$mode" = seq ] && [ "$operation" != am_answer ] && sequential[$operation]=$count
        # shellcheck disable=SC2086 # three words
        printf '# %-46s %10d %8d   %8s %9s %5s\n' "$name" "$count" "$target" $others
        { [ "$count" -le "$target" ] && [ "$count" -gt 0 ]; } || [ "$conduit" = portals ]
        tap_ok $? "$mode: $name: $count, target $target"
    done <<<"$rows"
done
tap_end
