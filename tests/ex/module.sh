#!/bin/bash
# module.sh - realm.c as a shared object that a program without the library loads and unloads, as Realm may load its
# network layer.
# family: ex-module
# family: ex-module-portals TEST_CONDUIT=portals
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/../tap.sh" || exit 1
cd "$TEST_BUILD" || exit 1

# A variable of the build's Makefile.
made_with() { make -s --no-print-directory -f Makefile -f <(printf 'show-words:\n\t@echo '\''$(%s)'\''\n' "$1") show-words; }
cc=$(made_with CC) cflags="$(made_with CFLAGS) $(made_with "test_${TEST_CONDUIT}_par_cppflags")"
libraries=$TEST_BUILD/.libs
[ -e "$libraries/libgasnet-$TEST_CONDUIT-par.so" ] || { tap_skip "a loaded module" "no shared libraries" && tap_end; }

# shellcheck disable=SC2086 # flags are words
$cc $cflags -pthread -fPIC -shared -Dmain=realm_main -o "$tap_scratch/realm.so" "$TEST_SOURCE/ex/realm.c" \
    "$TEST_SOURCE/programs/test.c" "$TEST_SOURCE/programs/mpi_trap.c" \
    -L"$libraries" -Wl,-rpath,"$libraries" "-lgasnet-$TEST_CONDUIT-par" >"$TEST_LOG/ex-module-build.log" 2>&1
tap_ok $? "a shared object is linked with the library" || tap_tail "$TEST_LOG/ex-module-build.log"
# shellcheck disable=SC2086
$cc -o "$tap_scratch/host" "$TEST_SOURCE/ex/host.c" -ldl
tap_ok $? "a program is not"

for environment in GASNET_RCV_THREAD=0 GASNET_RCV_THREAD=1 GASNET_CATCH_EXIT=0; do
    export "${environment?}"
    tap_job 2 "$tap_scratch/host" "$tap_scratch/realm.so"
    [ "$status" = 0 ] && grep -q '^1\.\.7$' "$log" && ! grep -q '^not ok' "$log"
    tap_ok $? "the program loads it, runs a job, unloads it and ends, $environment" || tap_tail "$log"
    unset "${environment%=*}"
done
tap_end
