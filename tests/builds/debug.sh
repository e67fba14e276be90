#!/bin/bash
# debug.sh - the debug library (configure --enable-debug) of every conduit: it builds, and the client programs run on it.
#
# TEST_CONDUITS (all that are built), TEST_NPROCS (2), TEST_MODES and TEST_PROGRAMS narrow it.  The conduits share
# most of their code: vapi and smp, which add little, run few of them.  No mode is built that no family needs.
# family: debug first
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/../tap.sh" || exit 1
. "$(dirname "$0")/../variant.sh" || exit 1

conduits=${TEST_CONDUITS:-$(for name in ibv vapi portals smp; do [ ! -x "$TEST_BUILD/gasnetrun_$name" ] || echo $name; done)}
programs=${TEST_PROGRAMS:-testhello testam testputget testhandles testsync testbarrier testthreads testvis testteams testcoll testex
ex/collectives ex/atomics ex/endpoints ex/random trace/testtrace}
declare -A modes=([ibv]=${TEST_MODES:-seq par} [vapi]=${TEST_MODES:-seq} [portals]=${TEST_MODES:-seq} [smp]=${TEST_MODES:-seq})
few=${TEST_PROGRAMS:-testam testputget testvis testex}
declare -A programs_of=([ibv]=$programs [vapi]=$few [portals]=$programs [smp]=$few)

targets=()
for conduit in $conduits; do
    targets+=("gasnetrun_$conduit")
    for mode in ${modes[$conduit]}; do
        targets+=("libgasnet-$conduit-$mode.la")
        for program in ${programs_of[$conduit]}; do # not every program is built for every conduit and mode
            program=tests/$program-$conduit-$mode
            [ ! -x "$TEST_BUILD/$program" ] || targets+=("$program")
        done
    done
done
debug_build "${targets[@]}" || tap_end

mkdir -p "$TEST_LOG/debug"
for conduit in $conduits; do
    # An optimiser hides calls of functions that are nowhere; here they must all be found.
    for library in "$TEST_DEBUG_BUILD"/.libs/libgasnet-"$conduit"-*.so; do
        wanted=$(nm -u "$library" | grep -oE '\b(net|gasnet[ice]?)_[A-Za-z0-9_]+' | paste -sd' ')
        tap_ok "$([ -z "$wanted" ]; echo $?)" "${library##*/} calls nothing of ours that it lacks${wanted:+ ($wanted)}"
    done
    tap_program debug "debug $conduit" env -u TEST_LAUNCH TEST_BUILD="$TEST_DEBUG_BUILD" TEST_LOG="$TEST_LOG/debug" \
        TEST_CONDUIT="$conduit" TEST_SPAWNERS=ssh TEST_NPROCS="${TEST_NPROCS:-2}" TEST_MODES="${modes[$conduit]}" \
        TEST_PROGRAMS="${programs_of[$conduit]}" "$TEST_SOURCE/programs/run-conduit.sh"
done
tap_end
