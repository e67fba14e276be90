#!/bin/bash
# run.sh - random schedules of collectives on five ranks, and on a device that delays or divides what it carries.
#
# The programs' own rows of matrix.table are run by tests/programs/run-conduit.sh.
# family: coll
# family: coll-vapi TEST_CONDUIT=vapi
# family: coll-portals TEST_CONDUIT=portals
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
export SOFTHCA=on
SOFTHCA_FAULTS="stall:op=send,us=300" mix "sends wait" 3 seq 1 4
SOFTHCA_FAULTS="hold:op=write,polls=50" mix "writes wait" 3 par uneven 4
SOFTHCA_FAULTS="tear:order=random" mix "bytes come one by one" 2 seq 1 4
tap_end
