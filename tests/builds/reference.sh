#!/bin/bash
# reference.sh - the portable reference: the same client programs, with a library whose Extended API is made of
# Active Messages alone in place of the one they were linked with.
#
# TEST_NPROCS, TEST_MODES and TEST_PROGRAMS narrow it as they do run-conduit.sh, which it runs.
# family: reference
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/../tap.sh" || exit 1

conduit=${TEST_CONDUIT:-ibv}
folder=$TEST_BUILD/tests/reference/.libs
export LD_LIBRARY_PATH=$folder:$TEST_BUILD/.libs${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
if [ ! -e "$folder/libgasnet-$conduit-seq.so" ]; then
    tap_skip "the portable reference" "no shared libraries in this build"
    tap_end
fi

# Calls of the reference to the library below: no transfer but Active Messages.
strangers=$(nm -u "$TEST_BUILD"/extended-ref/.libs/tests_reference_*.o | grep -oE '\b(net|gasnetc_(rdma|notice|destination|put|get))_[a-z_]*' | sort -u | paste -sd' ')
tap_ok "$([ -z "$strangers" ]; echo $?)" "IB-E the reference uses nothing but Active Messages${strangers:+ ($strangers)}"
for mode in ${TEST_MODES:-seq par}; do
    ldd "$TEST_BUILD/tests/testputget-$conduit-$mode" | grep -q "=> $folder/libgasnet-$conduit-$mode"
    tap_ok $? "programs run with the $mode reference"
done

# as_ours NAME COMMAND...: its TAP lines, with ours around.
as_ours() {
    local name=$1 line
    shift
    "$@" >"$tap_scratch/log"
    while IFS= read -r line; do
        case $line in
        'ok '*' # SKIP '*) line=${line#* - } && tap_skip "$name: ${line% # SKIP *}" "${line##* # SKIP }" ;;
        'ok '*) tap_ok 0 "$name: ${line#* - }" ;;
        'not ok '*) tap_ok 1 "$name: ${line#* - }" ;;
        '#'*) tap_note "${line#\# }" ;;
        esac
    done <"$tap_scratch/log"
}

export TEST_SPAWNERS=ssh TEST_MODES=${TEST_MODES:-seq par} TEST_NPROCS=${TEST_NPROCS:-2}
programs="testputget testhandles testvalue testsync testthreads testrcvthread testvis testteams testcoll collmix testex ex/vectors ex/collectives ex/atomics ex/teams ex/endpoints"
TEST_PROGRAMS=${TEST_PROGRAMS:-$programs} as_ours reference "$TEST_SOURCE/programs/run-conduit.sh"
TEST_PROGRAMS=testbarrier TEST_NPROCS=3 as_ours reference "$TEST_SOURCE/programs/run-conduit.sh"
export SOFTHCA=on SOFTHCA_FAULTS="stall:op=send,us=300"
TEST_PROGRAMS=testsync as_ours "reference, messages wait" "$TEST_SOURCE/programs/run-conduit.sh"
tap_end
