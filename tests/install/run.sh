#!/bin/bash
# run.sh - the installed tree, as a client sees it: installed through DESTDIR, moved elsewhere, and
# then used by a twenty-line program (examples/hello.c), by pkg-config, by make fragment and by CMake, as C and
# as C++, with the shared and with the static library.  Nothing of the build tree is in reach.
#
# Alone: while libtool installs a library it links it anew in the build tree, where programs then find half of it.
# family: install alone
. "$(dirname "$0")/../tap.sh" || exit 1
unset LD_LIBRARY_PATH PKG_CONFIG_PATH PKG_CONFIG_LIBDIR MAKEFLAGS MFLAGS MAKELEVEL
source_top=$(dirname "$TEST_SOURCE")
log=$TEST_LOG/install.log
: >"$log"

# try NAME COMMAND...: a TAP line for a command, its output shown when it fails.
try() {
    local name=$1 status=0
    shift
    printf '\n$ %s\n' "$*" >>"$log"
    "$@" >"$tap_scratch/output" 2>&1 </dev/null || status=$?
    cat "$tap_scratch/output" >>"$log"
    tap_ok "$status" "$name"
    [ "$status" -eq 0 ] || tap_tail "$tap_scratch/output"
    return "$status"
}

prefix=$(sed -n 's/^prefix = //p' "$TEST_BUILD/Makefile")
try "make install DESTDIR=..." make -C "$TEST_BUILD" install DESTDIR="$tap_scratch/stage" || tap_end
try "nothing is installed outside the prefix" test "$(ls -A "$tap_scratch/stage")" = "$(
    p=${prefix#/}
    echo "${p%%/*}"
)"
moved=$tap_scratch/moved
mv "$tap_scratch/stage$prefix" "$moved" || exit 1
export PKG_CONFIG_PATH=$moved/lib/pkgconfig
# shellcheck disable=SC2016 # the program's shell expands it
finds_library() { # softhca-run of the moved tree preloads the library of the moved tree
    [ "$("$moved/bin/softhca-run" sh -c 'echo "$LD_PRELOAD"')" = "$(realpath "$moved"/lib*/libsofthca.so)" ]
}
try "softhca-run finds its library where it was moved to" finds_library

names_build_tree() { # any text or library that names the build tree would break when that is gone
    ! grep -rlF -e "$TEST_BUILD" -e "$source_top/" "$moved"/include "$moved"/lib/pkgconfig "$moved"/lib/*.la
}
try "installed texts do not name the source or build tree" names_build_tree

manual_pages() { # are there and clean; a page that is a mere .so has the text of another
    local page clean=0 roff="groff -man -ww -z -Tutf8"
    if command -v mandoc >/dev/null; then roff="mandoc -Tlint -Wwarning"; fi
    for page in man7/gasnet.7 man1/gasnetrun_ibv.1; do
        [ -s "$moved/share/man/$page" ] || { echo "there is no $page" && return 1; }
        if command -v "${roff%% *}" >/dev/null; then $roff "$moved/share/man/$page" 2>&1 | grep . && clean=1; fi
    done
    for page in "$moved"/bin/gasnetrun_*; do
        page=$moved/share/man/man1/${page##*/}.1
        [ -s "$page" ] || { echo "there is no $page" && return 1; }
        [ "$(wc -l <"$page")" -gt 1 ] || [ -s "$moved/share/man/$(sed -n 's/^\.so //p' "$page")" ] || return
    done
    return $clean
}
try "the manual pages are installed, and formatted without a warning" manual_pages
manual_agrees() { # with what the launcher prints
    local option missing=0
    while read -r option; do
        grep -qF -- "${option//-/\\-}" "$moved/share/man/man1/gasnetrun_ibv.1" || { echo "not $option" && missing=1; }
    done < <("$moved/bin/gasnetrun_ibv" --help | sed -n 's/^  \(-[-a-zA-Z]*\).*/\1/p')
    return $missing
}
try "gasnetrun_ibv(1) explains every option" manual_agrees
bill_of_materials() { # names what the installed files need, with versions, in records that have every field
    local file=$moved/share/doc/gasnet/gasnet.spdx library count
    count=$(grep -c '^PackageName: ' "$file") || return
    for library in SPDXID: PackageDownloadLocation: FilesAnalyzed: Relationship:; do
        [ "$(grep -v '^SPDXID: SPDXRef-DOCUMENT' "$file" | grep -c "^$library ")" -eq "$count" ] || { echo "$library" && return 1; }
    done
    for library in $(readelf -d "$moved"/lib/*.so "$moved"/bin/* 2>/dev/null | sed -n 's/.*(NEEDED).*\[\(lib[a-z0-9]*\)[^]]*\.so.*/\1/p' | sort -u); do
        case $library in
        libgasnet | libsofthca | libvapi | libportals | libmosal | libmtl | libmpga | libdapl | libgcc) continue ;;
        libm | libpthread | libdl | librt) library=libc ;;
        esac
        awk -v RS= -v name="PackageName: $library\n" 'index($0, name) && /\nPackageVersion: [0-9]/ { found = 1 } END { exit !found }' "$file" ||
            { echo "$library or its version is missing" && return 1; }
    done
}
try "gasnet.spdx names each package that the libraries and programs need, with its version" bill_of_materials
links_lead_somewhere() { # of the documents, to files beside them
    local doc link found=0
    cd "$moved/share/doc/gasnet" || return
    while read -r doc; do
        while read -r link; do
            found=$((found + 1))
            [ -e "$(dirname "$doc")/$link" ] || { echo "$doc: there is no $link" && return 1; }
        done < <(grep -o '](\([^)#:]*\))' "$doc" | sed 's/^](//; s/)$//')
    done < <(find . -name '*.md')
    [ $found -gt 3 ]
}
try "the installed documents' links lead somewhere" links_lead_somewhere
files_are_there() { # that the documents name, or they say that those are of the source tree
    local doc at word base found=0 wrong=0
    cd "$moved/share/doc/gasnet" || return
    while read -r doc; do
        at=$(dirname "$doc")
        while IFS= read -r word; do
            case $word in PREFIX/*)
                found=$((found + 1))
                [ -e "$moved/${word#PREFIX/}" ] || { echo "$doc: there is no $word" && wrong=1; }
                continue
                ;;
            esac
            for base in "$source_top" "$source_top/$at"; do
                [ -e "$base/$word" ] && [ ! -e "$at/$word" ] && [ ! -e "$word" ] || continue
                found=$((found + 1))
                tr '\n' ' ' <"$doc" | grep -qE 'in this text.* source tree|relative to the source tree' ||
                    { echo "$doc: $word is not installed, and the text does not say that it is of the source tree" && wrong=1; }
                break
            done
        done < <(grep -oE '`[^`[:space:]]+`' "$doc" | tr -d '\`' | grep -E '/|\.[a-z]+$' | grep -v '^/\|\*' | sort -u)
    done < <(find . -name '*.md' | sed 's|^\./||')
    [ $found -gt 20 ] && [ $wrong -eq 0 ]
}
try "files that the installed documents name are there, or said to be of the source tree" files_are_there
try "flags of pkg-config leave optimisation to the client" bash -c '
    ! { pkg-config --cflags gasnet-ibv-seq && pkg-config --cflags gasnet_tools-par; } | grep -E " -(g|O)"'
mistyped() { # prints the error before anything else, and does nothing
    "$source_top/quickstart" chek
    [ $? -eq 1 ] && [ "$("$source_top/quickstart" chek 2>&1)" = \
        "quickstart: unknown word 'chek' (./quickstart --help tells the known ones)" ]
}
try "quickstart with a word that is mistyped" mistyped

for header in "$moved"/include/*-conduit; do
    try "${header##*/}/gasnet_core.h is installed" test -e "$header/gasnet_core.h"
done

# Requests of quickstart on a machine that lacks packages: this one, with few commands on its PATH.
lacks_mpi() { # WORD...: quickstart's answer, in `answer`
    local tool bare=$tap_scratch/bare
    rm -rf "$bare" && mkdir -p "$bare/bin" "$bare/tree/core" && cp "$source_top/quickstart" "$bare/tree" &&
        touch "$bare/tree/core/network.h" || return
    for tool in bash env dirname mkdir rm flock id cat grep sed sort tail wc sleep nproc cc make autoreconf automake libtoolize; do
        ln -s "$(command -v $tool)" "$bare/bin" || return
    done
    answer=$(PATH=$bare/bin "$bare/tree/quickstart" "$@" 2>&1)
    echo "$answer"
}
asks_for_mpi() {
    lacks_mpi
    [[ $answer == *'what Debian calls:'*' libopenmpi-dev openmpi-bin'* ]] || return
    lacks_mpi install "$tap_scratch/there"
    [[ $answer == *'what Debian calls:'*' libopenmpi-dev openmpi-bin'* ]] || return
    lacks_mpi --without-mpi-cc --without-pmix
    [[ $answer != *openmpi* && $answer != *pmix* ]]
}
try "quickstart and quickstart install bring what the spawners mpi and pmix need, unless they are left out" asks_for_mpi

# --- every variable that clients read ---
every_variable() { # CONDUIT MODE
    local conduit=$1 mode=$2 name missing=''
    for name in PREFIX CC CXX LD CFLAGS OPT_CFLAGS MISC_CFLAGS CPPFLAGS MISC_CPPFLAGS CXXFLAGS \
        OPT_CXXFLAGS MISC_CXXFLAGS CXXCPPFLAGS MISC_CXXCPPFLAGS DEFINES INCLUDES LIBDIRS LDFLAGS LIBS \
        LD_OVERRIDE LDFLAGS_OVERRIDE LD_REQUIRES_MPI SPAWNER_DEFAULT SPAWNER_SSH SPAWNER_MPI \
        SPAWNER_PMI "EXTRADEFINES_${mode^^}" "EXTRALIBS_${mode^^}"; do
        grep -q "^GASNET_$name =" "$moved/include/$conduit-conduit/$conduit-$mode.mak" || missing+=" mak:$name"
        pkg-config --print-variables "gasnet-$conduit-$mode" | grep -qx "GASNET_$name" || missing+=" pc:$name"
    done
    try "$conduit-$mode.mak and gasnet-$conduit-$mode.pc have every variable" test -z "$missing" || tap_note "missing:$missing"
}
conduits=$(cd "$moved/include" && printf '%s ' *-conduit | sed 's/-conduit//g')
for conduit in $conduits; do
    for mode in seq parsync par; do every_variable "$conduit" $mode; done
done

# --- the program ---
readme_program() { # the README shows it without the file's opening comment
    sed -n '/^```c$/,/^```$/p' "$source_top/README.md" | sed '1d;$d' | diff - <(tail -n +2 "$source_top/examples/hello.c")
}
try "the README shows examples/hello.c" readme_program
cp "$source_top/examples/hello.c" "$tap_scratch/hello.c"
cp "$source_top/examples/hello.c" "$tap_scratch/hello.cc"
cd "$tap_scratch" || exit 1

says_hello() { # COMMAND...: both ranks must report, each with the right neighbour
    local output most=$GASNET_SUPERNODE_MAXSIZE
    if [ "$conduit" = smp ]; then most=0; fi
    output=$(GASNET_SUPERNODE_MAXSIZE=$most timeout -k 5 60 "$@" 2>&1) || { echo "exit status $?: $output" && return 1; }
    echo "$output"
    [ "$(grep '^rank' <<<"$output" | sort)" = "rank 0 of 2: my left neighbour is 1
rank 1 of 2: my left neighbour is 0" ]
}

linked_as() { # shared|static PROGRAM: does it need the shared library?
    if [ "$1" = shared ]; then
        ldd "$2" | grep "libgasnet-$conduit" | grep -F "$moved/"
    else
        ! ldd "$2" | grep -E 'libgasnet|libsofthca|libportals|libvapi'
    fi
}

by_pkgconfig() { # c|cc shared|static MODE
    local package=gasnet-$conduit-$3 compiler=cc libs
    [ "$1" = c ] || compiler=c++
    libs=$(pkg-config --libs "$package") || return
    [ "$2" = shared ] || libs=$(pkg-config --variable=GASNET_LIBS_STATIC "$package")
    # shellcheck disable=SC2046,SC2086 # words are meant to be split
    "$compiler" -Wall -Wextra -Werror -o prog "hello.$1" $(pkg-config --cflags "$package") $libs
}

cat >client.mk <<'END'
include $(FRAGMENT)
prog-c: hello.c
	$(GASNET_CC) $(GASNET_CPPFLAGS) $(GASNET_CFLAGS) -c -o hello.o hello.c
	$(GASNET_LD) $(GASNET_LDFLAGS) -o prog hello.o $(GASNET_LIBS)
prog-c-static: hello.c
	$(GASNET_CC) $(GASNET_CPPFLAGS) $(GASNET_CFLAGS) -c -o hello.o hello.c
	$(GASNET_LD) $(GASNET_LDFLAGS) -o prog hello.o $(GASNET_LIBS_STATIC)
prog-cc: hello.cc
	$(GASNET_CXX) $(GASNET_CXXCPPFLAGS) $(GASNET_CXXFLAGS) -c -o hello.o hello.cc
	$(GASNET_CXX) $(GASNET_LDFLAGS) -o prog hello.o $(GASNET_LIBS)
prog-cc-static: hello.cc
	$(GASNET_CXX) $(GASNET_CXXCPPFLAGS) $(GASNET_CXXFLAGS) -c -o hello.o hello.cc
	$(GASNET_CXX) $(GASNET_LDFLAGS) -o prog hello.o $(GASNET_LIBS_STATIC)
END
by_fragment() { # c|cc shared|static MODE
    local target=prog-$1
    [ "$2" = shared ] || target+=-static
    make -f client.mk "$target" FRAGMENT="$moved/include/$conduit-conduit/$conduit-$3.mak" \
        GASNET_PREFIX="$moved" MANUAL_CFLAGS="-Wall -Werror"
}

use() { # HOW c|cc shared|static MODE
    rm -f prog hello.o
    local name="$conduit-$4, $2, $3 library, $1"
    try "$name: compiles" "$1" "$2" "$3" "$4" || return
    try "$name: is linked so" linked_as "$3" ./prog
    try "$name: runs" says_hello "$moved/bin/gasnetrun_$conduit" -n 2 ./prog
    [ "$conduit" != smp ] || try "$name: runs without a launcher" says_hello env GASNET_PSHM_NODES=2 ./prog
}
# The other conduits: the same fragments, made from the same pattern (PO-2: all modes).
for conduit in $conduits; do
    [ "$conduit" != ibv ] || continue
    use by_pkgconfig c shared parsync
    use by_pkgconfig c static seq
    use by_fragment c shared par
    use by_fragment c static seq
done
conduit=ibv
for how in by_pkgconfig by_fragment; do
    for language in c cc; do
        for kind in shared static; do use $how $language $kind seq; done
    done
done
use by_pkgconfig c shared parsync
use by_fragment c static par

fully_static() { # CONDUIT FLAG
    local package=gasnet-$1-seq
    # shellcheck disable=SC2046 # words are meant to be split
    cc "$2" -o prog hello.c $(pkg-config --cflags "$package") $(pkg-config --variable=GASNET_LDFLAGS "$package") \
        $(pkg-config --variable=GASNET_LIBS_STATIC "$package") &&
        ! readelf -lW prog | grep INTERP && says_hello "$moved/bin/gasnetrun_$1" -n 2 ./prog
}
if [ -e "$(cc -print-file-name=libibverbs.a)" ]; then
    for conduit in $conduits; do
        for flag in -static -static-pie; do
            try "linked with $flag, $conduit: runs" fully_static "$conduit" $flag
        done
    done
    conduit=ibv
else
    tap_skip "linked with -static" "no libibverbs.a"
fi

if command -v mpirun >/dev/null; then
    export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
    by_fragment c static seq >>"$log" 2>&1
    ln -s "$moved/lib/gasnet" gasnet # for a static library whose modules are not below the prefix any more
    try "started by mpirun directly" says_hello mpirun --oversubscribe --bind-to none -n 2 ./prog
    by_pkgconfig c shared seq >>"$log" 2>&1
    try "started by mpirun directly, shared library" says_hello mpirun --oversubscribe --bind-to none -n 2 ./prog
else
    tap_skip "started by mpirun directly" "no mpirun"
fi

# Modules are code: they come from the installed tree alone, and from nobody else's files.
modules=$moved/lib/gasnet
by_pkgconfig c shared seq >>"$log" 2>&1
refused() { # WORDS: a process that Open MPI seems to have started says why it loads no module
    ! OMPI_COMM_WORLD_SIZE=1 ./prog >out 2>&1 && cat out && grep -qF "$1" out
}
if [ -e "$modules/gasnet-spawner-mpi-openmpi.so" ]; then
    mv "$modules" "$modules.away"
    try "without installed modules none of the build tree is loaded" refused "no gasnet-spawner-mpi-openmpi.so"
    mv "$modules.away" "$modules"
    chmod o+w "$modules"
    try "none from a folder where all may write" refused "is not loaded: other users own it"
    chmod o-w "$modules"
    if [ "$(id -u)" = 0 ]; then
        chown 65533 "$modules/gasnet-spawner-mpi-openmpi.so"
        try "none that another user owns" refused "is not loaded: other users own it"
        chown 0 "$modules/gasnet-spawner-mpi-openmpi.so"
    fi
fi
paths_of_objects() {
    ! readelf -d "$moved"/lib/*.so "$moved"/bin/* "$modules"/* 2>/dev/null |
        grep -E 'R(UN)?PATH' | grep -F -e "$TEST_BUILD" -e "$source_top/"
}
try "the dynamic linker is sent to no folder of the build tree" paths_of_objects
# A copy must not use the first tree, which may be there still, in another version.
paths_of_prefix() {
    readelf -d "$moved"/lib/*.so | grep -qE 'R(UN)?PATH.*\[\$ORIGIN\]' || { echo "no library names its own folder" && return 1; }
    ! readelf -d "$moved"/lib/*.so "$moved"/bin/* "$modules"/* 2>/dev/null | grep -E 'R(UN)?PATH' | grep -F "$prefix"
}
try "... nor to where the tree was installed first" paths_of_prefix
copied() { # PACKAGE: a program for it, by the copy's own file
    local libs
    # shellcheck disable=SC2046,SC2086 # words are meant to be split
    libs=$(PKG_CONFIG_PATH=$tap_scratch/copy/lib/pkgconfig pkg-config --cflags --libs "$1") &&
        echo 'int main(void) { return 0; }' >empty.c &&
        cc -o copied empty.c -Wl,--no-as-needed $libs && ./copied || return
    ldd copied
    ldd copied | grep -qE "$tap_scratch/copy/lib/(pkgconfig/\.\./\.\./lib/)?lib" && ! ldd copied | grep -F -e "$moved/" -e "$prefix/lib/lib"
}
cp -a "$moved" "$tap_scratch/copy"
for package in $(printf 'gasnet-%s-seq ' $conduits) gasnet_tools-par libportals vapi; do
    [ -e "$moved/lib/pkgconfig/$package.pc" ] || continue
    try "a program for a copied tree uses the copy: $package" copied $package
done
rm -rf "$tap_scratch/copy"

# shellcheck source=tests/install/binaries.sh
. "$TEST_SOURCE/install/binaries.sh"
# shellcheck source=tests/install/upcxx.sh
. "$TEST_SOURCE/install/upcxx.sh"
# shellcheck source=tests/install/manual.sh
. "$TEST_SOURCE/install/manual.sh"
# shellcheck source=tests/install/cmake.sh
. "$TEST_SOURCE/install/cmake.sh"
conduit=ibv

# --- without fragment or pkg-config: the mode, two -I, and what it takes to link ---
fewest_flags() {
    cc -DGASNET_PAR -I"$moved/include" -I"$moved/include/ibv-conduit" -Wall -Werror -o prog hello.c \
        -L"$moved/lib" -Wl,-rpath,"$moved/lib" -lgasnet-ibv-par
}
try "the mode and two -I compile a program" fewest_flags
try "... which runs" says_hello "$moved/bin/gasnetrun_ibv" -n 2 ./prog

# --- objects of one mode, library of another ---
for pair in "seq par" "par seq" "parsync par"; do
    read -r object library <<<"$pair"
    # shellcheck disable=SC2046 # words are meant to be split
    cc -c -o hello.o hello.c $(pkg-config --cflags "gasnet-ibv-$object") >>"$log" 2>&1
    # shellcheck disable=SC2046
    cc -o prog hello.o $(pkg-config --libs "gasnet-ibv-$library") >mismatch 2>&1
    linked=$?
    cat mismatch >>"$log"
    try "a ${object^^} object does not link with the ${library^^} library" test $linked -ne 0
    try "... and the linker names ${object^^}" grep -E "undefined reference.*_${object^^}_" mismatch
done

# --- headers ---
for header in "$moved"/include/gasnet.h "$moved"/include/gasnet_tools.h "$moved"/include/gasnet_vis.h \
    "$moved"/include/gasnet_coll.h; do
    [ -e "$header" ] || continue
    name=$(basename "$header")
    echo "#include <$name>" | tee alone.c >alone.cc
    flags=$(pkg-config --cflags gasnet-ibv-seq)
    case $name in gasnet_tools.h) flags=$(pkg-config --cflags gasnet_tools-seq) ;; esac
    # shellcheck disable=SC2086 # words are meant to be split
    try "$name compiles alone as C99" cc -std=c99 -Wall -Wextra -Werror $flags -c alone.c
    # shellcheck disable=SC2086
    try "$name compiles alone as C++98" c++ -std=c++98 -Wall -Wextra -Werror $flags -c alone.cc
done
tap_end
