# variant.sh - another build, next to the one under test: its configuration and some options more.
#
# To be sourced after tap.sh.
# shellcheck shell=bash

# variant FOLDER NAME "OPTION..." TARGET...: makes the targets in $TEST_BUILD/FOLDER, as test NAME; false if that
# fails.  Shared libraries alone, and without MPI.
variant() {
    local folder=$TEST_BUILD/$1 name=$2 options=$3 log=$TEST_LOG/$1_build.log
    shift 3
    (
        mkdir -p "$folder" && cd "$folder" && flock 6 && { # another family may want the same build now
            [ -e config.status ] || eval "\"$(dirname "$TEST_SOURCE")/configure\" -q \
                $("$TEST_BUILD/config.status" --config) --disable-static --without-mpi-cc $options"
        } && make -j"$(nproc)" "$@"
    ) >"$log" 2>&1 6>>"$folder.lock"
    local result=$?
    tap_ok $result "$name: configure $options, and make"
    [ $result -eq 0 ] || tap_tail "$log"
    return $result
}

# debug_build TARGET...: makes the targets in the debug build (--enable-debug), which all families of a run share,
# and sets TEST_DEBUG_BUILD to its tree; false if that fails.  To run a program there, set TEST_BUILD to that tree and
# unset TEST_LAUNCH, or call the tree's gasnetrun_*.
# shellcheck disable=SC2034 # for the caller
debug_build() {
    TEST_DEBUG_BUILD=$TEST_BUILD/debug
    variant debug "the debug library" --enable-debug "$@"
}
