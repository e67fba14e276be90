#!/bin/bash
# headers.sh - compiles clients of include/ in every language, mode and order there is, and some that
# must be refused with a message that helps.
#
# Sourced by run.sh, which gives TEST_BUILD, TEST_SOURCE, the tap_ functions and $include.
# shellcheck shell=bash
: "${include:?to be sourced by run.sh}" "${tap_scratch:?}"

warn="-Wall -Wextra -Wundef -Werror -Wno-long-long -Wno-undef"
client=$TEST_SOURCE/tools/header_client.c

# compile NAME COMPILER FLAGS...: the client must compile without a warning.
compile() {
    local name=$1
    shift
    # shellcheck disable=SC2086 # words of flags are meant to split
    if "$@" $warn $include -c -o "$tap_scratch/client.o" "$client" >"$tap_scratch/client.log" 2>&1; then
        tap_ok 0 "$name"
    else
        tap_ok 1 "$name"
        tap_tail "$tap_scratch/client.log"
    fi
}

# refuse NAME TEXT FLAGS... <SOURCE: the source on stdin must not compile, and say TEXT.
refuse() {
    local name=$1 text=$2
    shift 2
    # shellcheck disable=SC2086
    if gcc "$@" $include -x c -c -o "$tap_scratch/client.o" - >"$tap_scratch/client.log" 2>&1; then
        tap_ok 1 "$name (it compiled)"
    elif grep -q "error: #error.*$text" "$tap_scratch/client.log"; then
        tap_ok 0 "$name"
    else
        tap_ok 1 "$name"
        tap_tail "$tap_scratch/client.log"
    fi
}

# ex_compile NAME COMPILER FLAGS...: compile for a client of GASNet-EX.
ex_compile() {
    local client=$TEST_SOURCE/tools/ex_header_client.c
    compile "$1: GASNet-EX" "${@:2}" -pedantic -Wno-unused
}

debug_flags="-g -DGASNET_DEBUG" fast_flags="-O2 -DGASNET_NDEBUG"
for cc in gcc clang; do
    cxx=${cc/gcc/g++} cxx=${cxx/clang/clang++}
    if ! command -v $cc >/dev/null || ! command -v $cxx >/dev/null; then
        tap_skip "clients compiled by $cc" "not installed"
        continue
    fi
    for std in c89 gnu89 c99 gnu99 c11 gnu17 c2x; do
        for flags in "$debug_flags" "$fast_flags"; do
            # C++ initialisers and C23 differ in the handler table; pedantic C89 is for the headers
            # shellcheck disable=SC2086
            compile "$cc -std=$std ${flags##*-D}" $cc -x c -std=$std $flags -DGASNET_SEQ -Wno-overlength-strings
        done
    done
    for std in c99 gnu11 c17; do
        # shellcheck disable=SC2086
        ex_compile "$cc -std=$std" $cc -x c -std=$std $fast_flags -DGASNET_SEQ -Wno-overlength-strings
    done
    for std in c++11 c++17 c++20 c++23; do
        $cxx -std=$std -x c++ -E /dev/null >/dev/null 2>&1 || std=c++2b # the name before the standard was out
        # shellcheck disable=SC2086
        ex_compile "$cxx -std=$std" $cxx -x c++ -std=$std $fast_flags -DGASNET_PAR
    done
    # shellcheck disable=SC2086
    ex_compile "$cxx debug" $cxx -x c++ -std=c++11 $debug_flags -DGASNET_PAR
    for std in c++98 gnu++98 c++11 c++17 c++20; do
        # shellcheck disable=SC2086
        compile "$cxx -std=$std" $cxx -x c++ -std=$std $fast_flags -DGASNET_PAR
    done
    for mode in SEQ PARSYNC PAR; do
        for flags in "$debug_flags" "$fast_flags"; do
            # shellcheck disable=SC2086
            compile "$cc GASNET_$mode ${flags##*-D}" $cc -std=gnu99 $flags -DGASNET_$mode
            # shellcheck disable=SC2086
            compile "$cxx GASNET_$mode ${flags##*-D}" $cxx -x c++ $flags -DGASNET_$mode
        done
    done
    # shellcheck disable=SC2086
    compile "$cc -Wstrict-prototypes" $cc -std=gnu17 $fast_flags -DGASNET_SEQ -Wstrict-prototypes -DTEST_STRICT_WARNINGS
    # shellcheck disable=SC2086
    compile "$cc GASNET_USE_STRICT_PROTOTYPES" $cc -std=gnu17 $fast_flags -DGASNET_SEQ -Wstrict-prototypes -DGASNET_USE_STRICT_PROTOTYPES
    for segment in LARGE EVERYTHING; do
        # shellcheck disable=SC2086
        compile "$cc GASNET_SEGMENT_$segment" $cc $fast_flags -DGASNET_SEQ -DGASNET_SEGMENT_$segment
    done
    # shellcheck disable=SC2086
    compile "$cc without optional attributes" $cc $fast_flags -DGASNET_SEQ -DGASNETT_USE_GCC_ATTRIBUTE_{HOT,COLD,PURE,CONST,MALLOC,FORMAT,NOINLINE,ALWAYSINLINE}=0
done

refuse "no thread mode is refused" "define exactly one of GASNET_SEQ" -DGASNET_NDEBUG <<<'#include "gasnet.h"'
refuse "two thread modes are refused" "define exactly one of GASNET_SEQ" -DGASNET_NDEBUG -DGASNET_SEQ -DGASNET_PAR <<<'#include "gasnet.h"'
refuse "two build modes are refused" "both GASNET_DEBUG and GASNET_NDEBUG" -DGASNET_SEQ -DGASNET_DEBUG -DGASNET_NDEBUG <<<'#include "gasnet.h"'
refuse "optimised debug is refused" "GASNET_DEBUG together with optimisation" -DGASNET_SEQ -DGASNET_DEBUG -O1 <<<'#include "gasnet.h"'
refuse "debug with NDEBUG is refused" "GASNET_DEBUG together with optimisation or NDEBUG" -DGASNET_SEQ -DGASNET_DEBUG -DNDEBUG <<<'#include "gasnet.h"'
refuse "tools first is refused by the tools" "include gasnet.h first" -DGASNET_NDEBUG -DGASNET_SEQ <<<'#include "gasnet_tools.h"'
refuse "tools first is refused by gasnet.h" "include gasnet.h first" -DGASNET_NDEBUG <<<'#include "gasnet_tools.h"
#define GASNET_SEQ 1
#include "gasnet.h"'
refuse "two segment modes are refused" "more than one of GASNET_SEGMENT" -DGASNET_NDEBUG -DGASNET_SEQ -DGASNET_SEGMENT_FAST -DGASNET_SEGMENT_LARGE <<<'#include "gasnet.h"'
refuse "lite tools with gasnet.h are refused" "GASNETT_LITE_MODE is for programs without" -DGASNET_NDEBUG -DGASNET_SEQ -DGASNETT_LITE_MODE <<<'#include "gasnet.h"
#include "gasnet_tools.h"'

# Every private header says whose it is.
for header in "$TEST_SOURCE"/../include/gasnet_*.h; do
    name=${header##*/}
    case $name in
    gasnet_tools.h | gasnet_handler.h | gasnet_config.h | gasnet_platform.h | gasnet_idents.h | gasnet_vis.h | gasnet_coll.h | \
        gasnet_fwd.h | gasnet_mk.h | gasnet_ratomic.h | gasnet_portable_platform.h) continue ;;
    esac
    refuse "$name alone is refused" "include gasnet" -DGASNET_NDEBUG -DGASNET_SEQ <<<"#include \"$name\""
done

# gasnet.h must bring no network, and gasnet_am.h be what its generator prints.
# shellcheck disable=SC2086
if echo '#include "gasnet.h"' | gcc -DGASNET_NDEBUG -DGASNET_PAR $include -x c -M - 2>/dev/null | grep -qE 'infiniband|verbs|rdma'; then
    tap_ok 1 "gasnet.h includes no network header"
else
    tap_ok 0 "gasnet.h includes no network header"
fi
"$TEST_SOURCE/../include/gen-am.sh" | cmp -s - "$TEST_SOURCE/../include/gasnet_am.h"
tap_ok $? "gasnet_am.h is what gen-am.sh prints"
"$TEST_SOURCE/../include/gen-am.sh" ex | cmp -s - "$TEST_SOURCE/../include/gasnet_ex_am.h"
tap_ok $? "gasnet_ex_am.h is what gen-am.sh prints"
