#!/bin/bash
# trace.sh - GASNET_TRACEFILE: what each rank does, counted; TAP.
#
# family: trace
# family: trace-portals last TEST_CONDUIT=portals
# family: trace-smp TEST_CONDUIT=smp
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/../tap.sh" || exit 1
log=$TEST_LOG/trace.$TEST_CONDUIT.log files=$tap_scratch/files here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$files"
unset GASNET_TRACEFILE GASNET_TRACEMASK GASNET_TRACENODES GASNET_TRACELOCAL GASNET_QUIET GASNET_VERBOSEENV

# job RANKS MODE ENVIRONMENT... [-- ARGUMENTS]: runs testtrace in an empty folder; sets `status`.
job() {
    local ranks=$1 mode=$2 environment=()
    shift 2
    while [ $# -gt 0 ] && [ "$1" != -- ]; do
        environment+=("$1")
        shift
    done
    shift
    rm -rf "${files:?}"/*
    (cd "$files" && env "${environment[@]}" timeout -k 5 120 "$TEST_LAUNCH" -n "$ranks" \
        "$TEST_BUILD/tests/trace/testtrace-$TEST_CONDUIT-$mode" "$@") >"$log" 2>&1 </dev/null
    status=$?
}

# counts NAME ARGUMENTS...: a TAP line: the job has ended well, and counts.py finds nothing wrong.
counts() {
    local name=$1 found
    shift
    found=$(cd "$files" && python3 "$here/counts.py" "$@" 2>&1) && [ $status -eq 0 ]
    tap_ok $? "$name"
    if [ $? -ne 0 ] || [ $status -ne 0 ]; then tap_tail "$log"; fi
    echo "${found:-nothing found}" | sed 's/^/# /'
}

# says NAME STATUS PATTERN: a TAP line: the job has ended so, with one such line in its output.
says() {
    [ "$status" -eq "$2" ] && [ "$(grep -cE "$3" "$log")" -eq 1 ]
    tap_ok $? "$1"
}

for mode in seq par; do
    job 2 $mode GASNET_TRACEFILE=t.%
    counts "$mode: each event of two ranks is there" 2 t.0 t.1
done
if [ "$TEST_CONDUIT" != smp ]; then
    job 2 seq GASNET_TRACEFILE=t.% GASNET_SUPERNODE_MAXSIZE=1
    counts "without shared memory" 2 t.0 t.1
    job 3 par GASNET_TRACEFILE=t.% GASNET_RCV_THREAD=1 GASNET_SUPERNODE_MAXSIZE=1
    counts "three ranks with receive threads" 3 t.0 t.1 t.2
fi
job 1 seq GASNET_TRACEFILE=t.%
counts "one rank" 1 t.0
job 3 seq GASNET_TRACEFILE=all
counts "one file for three ranks" -shared 3 all

# Some of it.
job 2 seq GASNET_TRACEFILE=t.% GASNET_TRACENODES=1
[ $status -eq 0 ] && [ ! -e "$files/t.0" ] && [ -s "$files/t.1" ]
tap_ok $? "GASNET_TRACENODES=1: one file"
job 2 seq GASNET_TRACEFILE=t.% GASNET_TRACEMASK=B
[ $status -eq 0 ] && [ "$(grep -o '"cat":"."' "$files/t.0" | sort -u | tr -d '\n')" = '"cat":"B""cat":"U"' ]
tap_ok $? "GASNET_TRACEMASK=B: barriers alone, and what is forced"
job 2 seq GASNET_TRACEFILE=t.% GASNET_TRACELOCAL=0
[ $status -eq 0 ] && [ "$(grep -c '"bytes":40}' "$files/t.0")" = 0 ]
tap_ok $? "GASNET_TRACELOCAL=0: no transfer within a rank"

# More than a file takes: what is lost is counted, and the job goes on.
job 2 seq GASNET_TRACEFILE=t.% -- 300000
counts "300,000 puts: none waits for the file" -some 2 t.0 t.1
job 2 seq GASNET_TRACEFILE=/dev/full
[ $status -eq 0 ] && [ "$(grep -cE 'WARNING \(rank [01] .*GASNET_TRACEFILE=/dev/full: cannot write /dev/full: No space left' "$log")" = 2 ]
tap_ok $? "a full disk: a warning of each rank, and the job ends well"
job 2 seq GASNET_TRACEFILE=/nowhere/at/all.%
[ $status -eq 0 ] && [ "$(grep -cE 'WARNING \(rank ([01]) .*cannot open /nowhere/at/all\.[01]: No such file' "$log")" = 2 ]
tap_ok $? "a file that cannot be made: the same"
job 1 seq GASNET_TRACEFILE=stderr
[ $status -eq 0 ] && grep -q '"name":"put"' "$log"
tap_ok $? "standard error"
tap_end
