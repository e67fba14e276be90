#!/bin/bash
# cppcheck.sh - static analysis of the library, the tools below it, and the examples.
# family: cppcheck
. "$(dirname "$0")/tap.sh" || exit 1
cd "${TEST_SOURCE:?}/.." || exit 1

if ! command -v cppcheck >/dev/null; then
    tap_skip "cppcheck finds nothing" "no cppcheck"
    tap_end
fi

# analyse NAME CONDUIT ARGUMENTS...: as that conduit's library sees it.
analyse() {
    local name=$1 conduit=$2 log=$TEST_LOG/cppcheck-$1.log status
    shift 2
    cppcheck -q -j "$(nproc)" --std=c11 --enable=warning,performance,portability --inline-suppr \
        --error-exitcode=1 --template='{file}:{line}: {severity}: {message} [{id}]' \
        -I. -Iinclude "-Iinclude/$conduit-conduit" "-I$conduit-conduit" -Iother/vapi/include \
        -Iother/portals3/include -Iother/base/completion-queues -I"$TEST_BUILD" -I"$TEST_BUILD/include" -D__linux__ -D__x86_64__ -D__GNUC__=12 \
        -D_GNU_SOURCE -DPTHREAD_MUTEX_INITIALIZER='{0}' -DPTHREAD_RWLOCK_INITIALIZER='{0}' -DGASNET_NDEBUG \
        "-DGASNETC_PARAMS_DEF=\"$conduit-conduit/params.def\"" -DGASNETI_NO_LINKCHECK "$@" >"$log" 2>&1
    status=$?
    tap_ok $status "cppcheck finds nothing in $name"
    [ $status -eq 0 ] || tap_tail "$log"
}

# Objects that these return by a pointer to their inside look leaked to it.
given_away=(--suppress=memleak:other/softhca/src/verbs/open.c --suppress=memleak:other/softhca/src/verbs/qp.c)

analyse core ibv -DGASNET_PAR -DNET_IB_POLL_LOCK=0 core extended-ref
analyse vapi-conduit vapi -DGASNET_PAR -DNET_IB_POLL_LOCK=1 core/ib
analyse portals-conduit portals -DGASNET_PAR portals-conduit
analyse smp-conduit smp -DGASNET_PAR smp-conduit
analyse examples ibv -DGASNET_SEQ examples
analyse doctor ibv -DGASNET_SEQ other/launch/doctor
analyse other ibv "${given_away[@]}" -iother/launch/doctor -iother/softhca/tests -iother/vapi/tests -iother/portals3/tests -iother/dapl/tests other
tap_end
