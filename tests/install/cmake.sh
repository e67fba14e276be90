# cmake.sh - part of run.sh: find_package(GASNet) in the moved tree, by the project in cmake/, with both kinds of library,
# and in a copy whose path has a space.
# shellcheck shell=bash
# shellcheck disable=SC2154 # moved, conduits and tap_scratch are of run.sh
cmake_of() { # BUILD SOURCE TREE OPTION...
    local build=$1 source=$TEST_SOURCE/install/$2 tree=$3
    shift 3
    cmake -S "$source" -B "$build" -DCMAKE_PREFIX_PATH="$tree" "$@"
}
client_of() { # BUILD TREE MODE OPTION...
    local build=$1 tree=$2 mode=$3
    shift 3
    cmake_of "$build" cmake "$tree" -DHELLO="$tap_scratch" -DCONDUITS="$(tr ' ' ';' <<<"${conduits% }")" -DMODE="$mode" "$@" &&
        cmake --build "$build"
}
linked_with() { # PROGRAM TREE: it has the library of that tree
    ldd "$1" | grep "libgasnet-$conduit" | grep -F "$2/"
}
finds() { # TARGETS OPTION...: in this order
    local targets=$1
    shift
    cmake_of wanted cmake/wanted "$moved" "$@" >wanted.out 2>&1
    cat wanted.out
    rm -rf wanted
    grep -qxE -e "-- found: (TRUE|1) [0-9.]+ $targets" wanted.out
}
lacks() { # WORDS OPTION...: it is not found, and the words tell why
    local words=$1
    shift
    ! finds '.*' "$@" && tr -s ' \n' ' ' <wanted.out | grep -F -- "$words"
}

if command -v cmake >/dev/null; then
    try "CMake: the client is built" client_of cmake-shared "$moved" par
    try "CMake: ... with static libraries" client_of cmake-static "$moved" seq -DGASNet_USE_STATIC_LIBS=ON
    for conduit in $conduits; do
        for language in c cc; do
            for kind in shared static; do
                program=cmake-$kind/hello-$conduit-$language
                try "CMake: $conduit, $language, $kind: is linked so" linked_as $kind "$program"
                try "CMake: $conduit, $language, $kind: runs" says_hello "$moved/bin/gasnetrun_$conduit" -n 2 "$program"
                [ "$conduit" != smp ] || try "CMake: $conduit, $language, $kind: runs without a launcher" says_hello env GASNET_PSHM_NODES=2 "$program"
            done
        done
    done
    try "CMake: the tools, shared" cmake-shared/ticks
    try "CMake: the tools, static" cmake-static/ticks
    conduit=${conduits%% *}
    cp -a "$moved" "a copy"
    try "CMake: the client of a copy whose path has a space" client_of "a build" "$PWD/a copy" seq
    try "CMake: ... is linked with the copy" linked_with "a build/hello-$conduit-c" "$PWD/a copy"
    try "CMake: ... and runs" says_hello "a copy/bin/gasnetrun_$conduit" -n 2 "a build/hello-$conduit-c"
    rm -rf "a copy"

    target=GASNet::$conduit
    try "CMake: CONDUIT MODE is one target" finds "$target-par" -DCOMPONENTS="$conduit;par"
    try "CMake: so is CONDUIT-MODE; the others are not" finds "$target-seq;GASNet::tools-par" -DCOMPONENTS="$conduit-seq;tools-par"
    try "CMake: a conduit is all its modes" finds "$target-par;$target-parsync;$target-seq" -DCOMPONENTS="$conduit"
    try "CMake: no component is everything" finds "GASNet::.*$target-parsync.*GASNet::tools-seq.*" -DCOMPONENTS=
    try "CMake: a conduit that is not there is named" lacks "GASNet::none-par is not installed; $moved has:" -DCOMPONENTS="none;par"
    try "CMake: ... with what is there" lacks " $conduit-par" -DCOMPONENTS="none;par"
    try "CMake: so is a target" lacks "GASNet::tools-parsync is not installed" -DCOMPONENTS="$conduit-seq;tools-parsync"
    try "CMake: an optional one may be missing" finds "$target-par" -DCOMPONENTS="$conduit;par" -DOPTIONAL=none
    mv "$moved/lib/libgasnet-$conduit-par.a" away.a
    try "CMake: a library that is not there is named" lacks "GASNet::$conduit-par has no library $moved/lib/libgasnet-$conduit-par.a" \
        -DCOMPONENTS="$conduit-par" -DGASNet_USE_STATIC_LIBS=ON
    mv away.a "$moved/lib/libgasnet-$conduit-par.a"
    try "CMake: an older version than this will do" finds "$target-seq" -DCOMPONENTS="$conduit-seq" -DVERSION=2026.1
    try "CMake: a newer one is refused" lacks "requested version \"9999\"" -DCOMPONENTS="$conduit-seq" -DVERSION=9999
else
    tap_skip "CMake" "no cmake"
fi
