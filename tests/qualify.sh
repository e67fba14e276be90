#!/bin/bash
# qualify.sh - is this machine fit for jobs: testam, which sends every kind of Active Message, and
# ways of ending of testexit, by the launchers of the build tree; TAP, and a last line with the verdict.
#
# `make qualify` runs it.  GASNET_SSH_SERVERS and all other variables of jobs say where the processes
# run, as for any job.  QUALIFY_NPROCS (4), QUALIFY_CONDUITS (those that are built), QUALIFY_MODES
# (seq par), QUALIFY_SPAWNERS (ssh; also mpi, pmix), QUALIFY_SECONDS (120, for each job).
build=${TEST_BUILD:-.}
nprocs=${QUALIFY_NPROCS:-4} limit=${QUALIFY_SECONDS:-120}
conduits=${QUALIFY_CONDUITS:-$(sed -n 's/^CONDUITS = *//p' "$build/Makefile")}

# The ways to end that any launcher can be held to: together, one alone, in a handler, by a signal.
cases="all_return_0 all_return_7 all_call_exit all_exit_9 all_exit_minus_1 codes_differ operations_in_flight
handler_on_peer handler_everywhere before_attach_all before_attach_one one_exits_others_poll one_exits_others_barrier
one_returns_others_poll one_calls_exit_others_poll one_calls_underscore_exit_others_poll one_exits_others_sleep
killed_others_poll killed_others_sleep segv_others_barrier abort_others_poll sigterm_to_rank_others_poll"

count=0 bad=0 out=$(mktemp) || exit 1
trap 'rm -f "$out"' EXIT
verdict() { # STATUS NAME
    count=$((count + 1))
    if [ "$1" -eq 0 ]; then echo "ok $count - $2" && return; fi
    bad=$((bad + 1))
    echo "not ok $count - $2"
    tail -n 12 "$out" | sed 's/^/#   /'
}
job() { # PROGRAM ARGUMENT...: sets `status`
    timeout -k 5 "$limit" "$build/gasnetrun_$conduit" -spawner="$spawner" -n "$nprocs" \
        "$build/tests/$1-$conduit-$mode" "${@:2}" >"$out" 2>&1 </dev/null
    status=$?
}
# True if `status` is that of the line of `testexit list`; behind the / for launchers of others.
as_expected() { # NUMBER|max|nonzero|any[/...]
    local want=${1%%/*}
    [ "$spawner" = ssh ] || want=${1##*/}
    [ "$status" -ne 124 ] && { [ "$status" -ne 137 ] || [ "$want" = 137 ]; } || return
    case $want in
    any) true ;;
    max) [ "$status" -eq $((99 + nprocs)) ] ;;
    nonzero) [ "$status" -ne 0 ] ;;
    *) [ "$status" = "$want" ] ;;
    esac
}

for conduit in $conduits; do
    for mode in ${QUALIFY_MODES:-seq par}; do
        table=$("$build/tests/testexit-$conduit-$mode" list) || exit 1
        for spawner in ${QUALIFY_SPAWNERS:-ssh}; do
            job testam
            verdict $status "testam-$conduit-$mode, $nprocs processes by $spawner"
            for name in ${QUALIFY_CASES:-$cases}; do
                read -r _ want _ outside _ <<<"$(grep "^$name " <<<"$table")"
                # Where all end together a slow machine must not cut it short.
                if [ "$outside" = together ]; then export GASNET_EXITTIMEOUT=60; else unset GASNET_EXITTIMEOUT; fi
                job testexit "$name" last
                as_expected "${want:-no such case}"
                verdict $? "testexit-$conduit-$mode $name: status $status, wanted ${want:-no such case}"
            done
        done
    done
done
echo "1..$count"
if [ $bad -eq 0 ] && [ $count -gt 0 ]; then
    echo "# qualified: $count tests"
else
    echo "# NOT qualified: $bad of $count tests failed"
    exit 1
fi
