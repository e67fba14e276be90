#!/bin/bash
# projects.sh - the projects in other/ without GASNet: a tree from which core, include, extended-ref and the conduits were
# removed is configured, built, tested and installed, and a program of each project's user runs from there.
# family: projects
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/../tap.sh" || exit 1
unset LD_LIBRARY_PATH MAKEFLAGS MFLAGS MAKELEVEL top_builddir BUILDDIR

tree=$tap_scratch/tree there=$tap_scratch/there
stage() { # NAME COMMAND...: one step; the rest makes no sense without it
    local name=$1 log=$TEST_LOG/projects-$((tap_count + 1)).log status
    shift
    "$@" >"$log" 2>&1 </dev/null
    status=$?
    tap_ok $status "$name"
    [ $status -eq 0 ] || { tap_tail "$log" && tap_end; }
}

copy() {
    mkdir -p "$tree/build" && tar -C "$TEST_SOURCE/.." -c --exclude='./build*' --exclude=./.git --exclude=./core --exclude=./include \
        --exclude=./extended-ref --exclude='./*-conduit' . | tar -C "$tree" -x &&
        [ ! -e "$tree/core" ] && [ ! -e "$tree/include" ] && [ -e "$tree/other/vapi/include" ]
}
configure() { cd "$tree/build" && ../configure --prefix="$there" --enable-werror --disable-static CFLAGS='-O1 -g'; }
build() { make -C "$tree/build" "-j$(nproc)" "$@"; }
tests_of() { # PROJECT: its tests, by its target; SOFTHCA... as users have it
    (unset TEST_LOG TEST_SOURCE TEST_LAUNCH TEST_BUILD TEST_NO_BUILD TEST_FAMILIES && build "check-$1") && [ -e "$tree/build/tests/log/$1/output" ]
}
verbs() { # what the software device is for: a program that knows it not
    printf '%s\n' '#include <infiniband/verbs.h>' 'int main(void) { int n = 0; return !ibv_get_device_list(&n) || n < 1; }' \
        >"$tap_scratch/verbs.c" && cc -o "$tap_scratch/verbs" "$tap_scratch/verbs.c" -libverbs && "$there/bin/softhca-run" "$tap_scratch/verbs"
}
packaged() { # PACKAGE LINE...: a program that pkg-config helps to compile
    local package=$1 flags
    shift
    read -ra flags < <(PKG_CONFIG_PATH=$there/lib/pkgconfig pkg-config --cflags --libs "$package")
    printf '%s\n' "$@" >"$tap_scratch/$package.c" && cc -o "$tap_scratch/$package" "$tap_scratch/$package.c" "${flags[@]}" &&
        LD_LIBRARY_PATH=$there/lib "$there/bin/softhca-run" "$tap_scratch/$package"
}
dapl() {
    cc -I"$there/include" -o "$tap_scratch/example" "$tree/other/dapl/example.c" -L"$there/lib" -ldapl_events -libverbs -lpthread &&
        LD_LIBRARY_PATH=$there/lib "$there/bin/softhca-run" "$tap_scratch/example"
}
strange() { # what is installed of GASNet, or names it
    find "$there" \( -name '*gasnet*' -o -name '*spawner*' \) ! -path '*/share/doc/*' | grep . && return 1
    ! grep -rl 'gasnet' "$there/include" "$there/lib/pkgconfig"
}

stage "the tree is copied without GASNet" copy
stage "Bootstrap" "$tree/Bootstrap"
stage "configure finds that GASNet is not there" configure
stage "make softhca" build softhca
stage "make vapi portals3 dapl" build vapi portals3 dapl
stage "make check-vapi" tests_of vapi
stage "make install" build install
stage "nothing of GASNet is installed" strange
stage "a verbs program runs by softhca-run" verbs
stage "a VAPI program runs" packaged vapi '#include <vapi.h>' \
    'int main(void) { VAPI_hca_id_t id; u_int32_t n = 0; VAPI_ret_t r = EVAPI_list_hcas(1, &n, &id); return !n || (r != VAPI_OK && r != VAPI_EAGAIN); }'
stage "a Portals program runs" packaged libportals '#include <portals3.h>' \
    'int main(void) { int n; return PtlInit(&n) != PTL_OK; }'
if [ -e "$there/include/dapl_events.h" ]; then
    stage "a program with DAPL events runs" dapl
else
    tap_skip "a program with DAPL events runs" "dat2/udat.h was not found"
fi
asked() { cd "$tree/build" && ! ../configure --enable-gasnet >"$tap_scratch/asked" 2>&1 && grep -q 'no folder core/' "$tap_scratch/asked"; }
stage "configure --enable-gasnet says what is missing" asked
whole() { mkdir "$tap_scratch/whole" && cd "$tap_scratch/whole" && "$TEST_SOURCE/../configure" --disable-gasnet && make -n | grep -q libvapi && ! make -n | grep -q libgasnet; }
if [ -x "$TEST_SOURCE/../configure" ]; then
    stage "configure --disable-gasnet in the whole tree builds the same" whole
fi
tap_end
