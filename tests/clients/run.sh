#!/bin/bash
# run.sh - clients as others write them: with macros of their own named like the words that the
# link check is made of, with the fewest flags, after <mpi.h>, with names outside the documented
# interface; and objects that must not be linked with each other.  TAP; run in a build tree, or with
# TEST_BUILD naming one, of the production or of the debug library.
# family: clients
. "$(dirname "$0")/../tap.sh" || exit 1
unset "${!GASNET_@}" CFLAGS CXXFLAGS CPPFLAGS MAKEFLAGS MFLAGS MAKELEVEL
cd "$TEST_BUILD" || exit 1
# shellcheck source=tests/clients/fragments.sh
. "$TEST_SOURCE/clients/fragments.sh"

# --- words ---
# A Release build of CMake sets the first; -DNDEBUG on the command line is refused where the debug
# library's own flags are used, by intent, so there it is left to words that come behind the headers.
known="DEBUG SEQ PAR FAST IBV VAPI PORTALS align notrace nopshm"
[ $debug -eq 1 ] || known="NDEBUG $known"
more="PARSYNC LARGE EVERYTHING SMP MPI UDP REFERENCE LITE noalign pshm debug nodebug trace stats nostats debugmalloc
 nodebugmalloc srclines nosrclines timers_posixrt membars_native atomics_compiler atomic32_compiler
 atomic64_compiler init linkcheck object THREAD SEGMENT CONDUIT RELEASE RELEASE_VERSION GNU LINUX X86_64"
# shellcheck disable=SC2086
together=$(printf -- ' -D%s' $known $more)
mkdir "$out/after"
# shellcheck disable=SC2086
{
    printf '#undef %s\n' NDEBUG
    printf '#define %s 1\n' NDEBUG $known $more | awk '!seen[$2]++'
} >"$out/after/words.h"
after="-DWORDS_AFTER -I$out/after"

# build COMPILER KEY SOURCE PROGRAM FLAG...: two objects, one program
# shellcheck disable=SC2086
build() {
    local compiler=$1 key=$2 source=$3 program=$4
    shift 4
    "$compiler" $key "$@" -c -o "$program-1.o" "$here/$source.c" &&
        "$compiler" $key $after -DSECOND_OBJECT -c -o "$program-2.o" "$here/$source.c" &&
        gcc ${ldflags[$key]} -o "$program" "$program-1.o" "$program-2.o" ${shared[$key]}
}
n=0
for word in $known; do
    n=$((n + 1))
    # each kind of client sees each word, and each thread mode some
    modes=(seq par parsync)
    mode=${modes[$((n % 3))]} tools=${modes[$((n % 2))]}
    compiles "-D$word links, C, $mode" build cc_of "$first-$mode" hello "$out/c-$word" "-D$word"
    compiles "-D$word links, C++, $mode" build cxx_of "$first-$mode" hello "$out/cxx-$word" "-D$word"
    compiles "-D$word links, C, tools $tools" build cc_of "tools-$tools" tools "$out/tools-c-$word" "-D$word"
    compiles "-D$word links, C++, tools $tools" build cxx_of "tools-$tools" tools "$out/tools-cxx-$word" "-D$word"
done
for conduit in $conduits; do
    # shellcheck disable=SC2086
    compiles "all such words link together, $conduit, C" build cc_of "$conduit-par" hello "$out/words-$conduit" $together
done
# shellcheck disable=SC2086
compiles "all such words link together, C++" build cxx_of "$first-seq" hello "$out/words-cxx" $together
# shellcheck disable=SC2086
compiles "words with values of other kinds link" build cc_of "$first-seq" hello "$out/words-odd" \
    '-DSEQ(x)=x' -DFAST= -DIBV= -DVAPI=0 -DPORTALS=fail '-Dalign=;' -Dnotrace=- '-Dnopshm=" "' -DDEBUG=9
results

same_texts() { # the configuration in the program is the plain one
    local output
    for program in "words-$first" words-cxx; do
        output=$("$TEST_LAUNCH" -n 2 "$out/$program" 2>&1)
        echo "$output"
        [ "$(grep -c "^rank [01] of 2: RELEASE=.*,THREADMODEL=\(SEQ\|PAR\),SEGMENT=FAST,PTR=..bit,noalign,\(no\)\?pshm,\(no\)\?debug,notrace,nostats,nodebugmalloc,nosrclines,timers_posixrt,membars_native,atomics_compiler,atomic32_compiler,atomic64_compiler RELEASE=[0-9.]*,SPEC=1.20,PTR=..bit,\(no\)\?debug,\(SEQ\|PAR\),timers_posixrt,membars_native,atomics_compiler,atomic32_compiler,atomic64_compiler 1\$" <<<"$output")" -eq 2 ] || return
    done
}
TEST_LAUNCH=$TEST_BUILD/gasnetrun_$first
compiles "they run, and the configuration strings are the plain ones" same_texts

# Objects of the build mode that this tree does not have: they must refer to the same names.
same_names() { # COMPILER SOURCE KEY: with the words as without them
    local mode flags
    flags=${cppflags[$3]//-DGASNET_$this/-DGASNET_$other}
    # shellcheck disable=SC2086
    for mode in "" "${together// -DNDEBUG/}" "$after"; do
        "$1" $flags -g $mode -c -o "$out/$1-$2-$3.o" "$here/$2.c" || return
        nm "$out/$1-$2-$3.o" | sed 's/^[0-9a-f]*//' | grep -E 'gasne[ti]' | sort >"$out/$1-$2-$3.names-${mode:0:4}"
    done
    cat "$out/$1-$2-$3.names-"
    cmp "$out/$1-$2-$3.names-" "$out/$1-$2-$3.names- -DD" && cmp "$out/$1-$2-$3.names-" "$out/$1-$2-$3.names--DWO" &&
        grep "_${other}_20[0-9]*_" "$out/$1-$2-$3.names-"
}
compiles "words do not change the names of the other build mode, C" same_names gcc hello "$first-par"
compiles "words do not change the names of the other build mode, C++" same_names "g++" hello "$first-seq"
compiles "words do not change the names of the other build mode, tools" same_names gcc tools tools-par

# --- languages ---
# shellcheck disable=SC2086
for standard in "gcc -std=c99" "gcc -std=c11" "gcc -std=gnu17" "g++ -x c++ -std=c++98" "g++ -x c++ -std=c++17" \
    "clang -std=c99" "clang++ -x c++ -std=c++98" "clang++ -x c++ -std=c++17"; do
    command -v ${standard%% *} >/dev/null || continue
    strict="$standard -pedantic -Wall -Wextra -Werror -Wno-long-long -Wno-variadic-macros -Wno-overlength-strings"
    compiles "$standard -pedantic: with all words" $strict ${cppflags[$first-seq]} $together -c -o /dev/null "$here/hello.c"
    compiles "$standard -pedantic: with all words behind" $strict ${cppflags[$first-par]} $after -c -o /dev/null "$here/hello.c"
    compiles "$standard -pedantic: the tools with all words" $strict ${cppflags[tools-par]} $together -c -o /dev/null "$here/tools.c"
    compiles "$standard -pedantic: names that programs use" $strict -Wshadow \
        ${cppflags[$first-par]} -c -o /dev/null "$here/names.c"
    compiles "$standard -pedantic: a ; behind handlers" $strict ${cppflags[$first-seq]} -c -o /dev/null "$here/handlers.c"
    compiles "$standard -pedantic: none" $strict -DWITHOUT_SEMICOLON ${cppflags[$first-seq]} -c -o /dev/null "$here/handlers.c"
    # --- <mpi.h> ---
    compiles "$standard: after <mpi.h>" $strict -DMPI_FIRST -I"$here/mpi" ${cppflags[$first-seq]} -c -o /dev/null "$here/with_mpi.c"
    compiles "$standard: before <mpi.h>" $strict -I"$here/mpi" ${cppflags[$first-seq]} -c -o /dev/null "$here/with_mpi.c"
done
for mpicc in mpicc.openmpi mpicc.mpich; do
    dirs=$({ $mpicc -showme:incdirs || $mpicc -show | tr ' ' '\n' | sed -n 's/^-I//p'; } 2>/dev/null)
    if [ -z "$dirs" ]; then tap_skip "with the <mpi.h> of $mpicc" "not installed"; continue; fi
    for first_one in -DMPI_FIRST ""; do
        # shellcheck disable=SC2086,SC2046
        compiles "with the <mpi.h> of $mpicc, ${first_one:-second}" gcc -Werror $first_one $(printf -- '-I%s ' $dirs) \
            ${cppflags[$first-seq]} -c -o /dev/null "$here/with_mpi.c"
    done
done
results

# --- names and handlers, linked and run ---
one_node() { # COMPILER KEY SOURCE FLAG...
    local compiler=$1 key=$2 source=$3
    shift 3
    # shellcheck disable=SC2086
    "$compiler" "$key" "$@" ${ldflags[$key]} -o "$out/$source-$key" "$here/$source.c" -x none ${shared[$key]} &&
        timeout -k 5 60 "$TEST_LAUNCH" -n 1 "$out/$source-$key"
}
for mode in seq par; do
    compiles "names that programs use do their work, $mode" one_node cc_of "$first-$mode" names
    compiles "handlers call name_inner, $mode" one_node cxx_of "$first-$mode" handlers
done
compiles "a client's own GASNET_NEEDS_MAX_SEGSIZE and GASNET_CONDUIT_..." one_node cc_of "$first-parsync" names \
    -DGASNET_NEEDS_MAX_SEGSIZE -DCLIENT_NEEDS_MAX_SEGSIZE "-DGASNET_CONDUIT_${first^^}="
for mode in seq parsync par; do
    # shellcheck disable=SC2086
    compiles "calls after gasnet.h alone are declared, $mode" gcc -Werror=implicit-function-declaration \
        ${cppflags[$first-$mode]} ${cflags[$first-$mode]} -c -o /dev/null "$here/calls.c"
done

# --- the fewest flags: the mode and two -I, as of an installed tree ---
include=$(dirname "$TEST_SOURCE")/include
mkdir "$out/installed" "$out/of-the-other"
cp "$include"/*.h include/gasnet_config.h "$out/installed"
cp -r "$include"/*-conduit "$out/installed"
cp -r "$out/installed/." "$out/of-the-other"
sed -i "s/^#define GASNET_$this /#define GASNET_$other /" "$out/of-the-other/gasnet_config.h"
fewest() { # WHERE BUILD-MODE FLAG...
    local where=$1 mode=$2
    shift 2
    gcc -DGASNET_PAR -I"$out/$where" -I"$out/$where/$first-conduit" "$@" -Wall -Werror -c -o "$out/fewest-$where.o" "$here/hello.c" &&
        nm "$out/fewest-$where.o" | grep "U gasneti_init_PAR_FAST_${mode}_"
}
compiles "the mode and two -I are enough; the library's build mode counts" fewest installed "$this"
compiles "also of the other library, whatever the flags" fewest of-the-other "$other" -O2 -DNDEBUG
compiles "and a build mode that is given" fewest installed "$other" "-DGASNET_$other" -O0
fewest_links() {
    # shellcheck disable=SC2086
    fewest installed "$this" && gcc ${ldflags[$first-par]} -o "$out/fewest" "$out/fewest-installed.o" ${shared[$first-par]}
}
results
compiles "and the program links" fewest_links
refused "GASNET_DEBUG together with optimisation or NDEBUG" "a debug client's NDEBUG is refused, if GASNET_DEBUG is given" \
    gcc -DGASNET_SEQ -DGASNET_DEBUG -DNDEBUG -I"$out/installed" -I"$out/installed/$first-conduit" -c -o /dev/null "$here/hello.c"

# --- texts that build systems read ---
release() { # by awk, out of gasnet_config.h
    local part
    for part in MAJOR MINOR PATCH; do
        awk -v "name=GASNET_RELEASE_VERSION_$part" '$1 == "#define" && $2 == name { print $3 }' include/gasnet_config.h
    done | paste -sd.
}
same_release() { [ "$(release)" = "$(sed -n 's/^PACKAGE_VERSION = //p' Makefile)" ]; }
compiles "the release is in gasnet_config.h, for awk" same_release
has_core() { # one of the -I of the fragment has it, under the conduit's folder
    local dir
    for dir in ${cppflags[$1-seq]}; do
        case $dir in -I*/"$1-conduit") [ -e "${dir#-I}/gasnet_core.h" ] && return ;; esac
    done
    return 1
}
for conduit in $conduits; do
    compiles "$conduit-conduit/gasnet_core.h is there" has_core "$conduit"
done
say_so() { # every fragment and pkg-config file
    local file
    for file in packaging/*.mak other/packaging/*.mak other/packaging/gasnet*.pc; do
        grep -qE '^GASNET(TOOLS_CPPFLAGS|_DEFINES) *=.*-D_GNU_SOURCE=1 ' "$file" &&
            ! grep -E '^GASNET(TOOLS)?_LIBS(_STATIC)? *=' "$file" | grep -qv -- ' -lm$' || { echo "$file" && return 1; }
    done
}
compiles "fragments and pkg-config files have -D_GNU_SOURCE=1, and -lm at the end" say_so
results

# --- addresses that are right in the sender alone ---
hint="linked as PIE, so addresses of its functions and static variables differ between ranks; link with -no-pie"
wild_program() { # pie|no-pie
    # shellcheck disable=SC2086
    gcc ${cppflags[$first-seq]} ${cflags[$first-seq]} -fPIE -$1 ${ldflags[$first-seq]} -o "$out/wild-$1" "$here/wild.c" ${shared[$first-seq]}
}
wild() { # STATUS TEXT hinted|plain pie|no-pie WHAT: how the job ends, what the line says, whether with the hint
    local status
    (ulimit -c 0 && exec timeout -k 5 60 "$TEST_LAUNCH" -n 2 "$out/wild-$4" "$5") >"$out/wild.$4.$5" 2>&1
    status=$?
    cat "$out/wild.$4.$5"
    [ $status -eq "$1" ] && grep -qF "$2" "$out/wild.$4.$5" || return
    if [ "$3" = hinted ]; then grep -F "$2" "$out/wild.$4.$5" | grep -qF "$hint"; else ! grep -F PIE "$out/wild.$4.$5"; fi
}
compiles "a program linked as PIE" wild_program pie
compiles "a program linked with -no-pie" wild_program no-pie
results
segv="*** Caught a fatal signal: SIGSEGV(11) on node 1/2" index="names handler 233, which is not registered here"
compiles "a handler calls a function of another rank: the line says PIE" wild 139 "$segv: it called an address without code" hinted pie call
compiles "a handler reads a variable of another rank: so it does" wild 139 "$segv: a handler used a wrong address" hinted pie read
compiles "a function of another rank is called later: so it does" wild 139 "$segv: it called" hinted pie later
compiles "another wrong access outside of handlers: it does not" wild 139 "$segv" plain pie crash
compiles "NULL in a handler: it does not" wild 139 "$segv" plain pie null
compiles "nor where the program is not PIE" wild 139 "$segv" plain no-pie call
compiles "a wrong handler index: the line says PIE" wild 1 "$index" hinted pie index
compiles "a wrong handler index, not PIE: it does not" wild 1 "$index" plain no-pie index

# --- objects that do not belong together ---
object() { # KEY NAME SOURCE FLAG...
    local key=$1 name=$2 source=$3
    shift 3
    cc_of "$key" "$@" -c -o "$out/$name" "$here/$source.c"
}
for mode in seq parsync par; do
    compiles "$mode: main object" object "$first-$mode" $mode-1.o hello
    compiles "$mode: second object" object "$first-$mode" $mode-2.o hello -DSECOND_OBJECT
    compiles "$mode: sections of its own" object "$first-$mode" $mode-3.o hello -DSECOND_OBJECT -fdata-sections -ffunction-sections
    compiles "$mode: both for -flto" eval "object $first-$mode lto-$mode-1.o hello -flto && object $first-$mode lto-$mode-2.o hello -flto -DSECOND_OBJECT"
done
for conduit in $conduits; do compiles "$conduit: second object" object "$conduit-seq" $conduit-2.o hello -DSECOND_OBJECT; done
# shellcheck disable=SC2086
compiles "$other: second object" gcc ${cppflags[$first-seq]//-DGASNET_$this/-DGASNET_$other} -g -DSECOND_OBJECT -c -o "$out/other-2.o" "$here/hello.c"
for mode in seq par; do
    compiles "tools $mode: main object" object tools-$mode tools-$mode-1.o tools
    compiles "tools $mode: second object" object tools-$mode tools-$mode-2.o tools -DSECOND_OBJECT
done
results
link() { gcc -o "$out/mixed-$BASHPID" "$@"; }
among() { echo "gasne(ti|tt)_(GASNET_)?($1|$2)_object_among_(GASNET_)?($2|$1)_objects"; }
cd "$out" || exit 1
linkers=$(for linker in bfd gold lld; do if command -v ld.$linker >/dev/null; then echo $linker; fi; done)
# shellcheck disable=SC2086
for pair in "seq par" "seq parsync" "parsync par"; do
    read -r one two <<<"$pair"
    names=$(among ${one^^} ${two^^})
    for order in "$one $two" "$two $one"; do
        read -r a b <<<"$order"
        A=$first-$a B=$first-$b
        refused "$names" "${a^^} main, ${b^^} object, $A before $B" link $a-1.o $b-2.o ${shared[$A]} ${shared[$B]}
        refused "$names" "${b^^} object first, ${a^^} main, $A before $B" link $b-2.o $a-1.o ${shared[$A]} ${shared[$B]}
        refused "$names" "${a^^} main, ${b^^} object, static $A before $B" link $a-1.o $b-2.o ${static[$A]} ${static[$B]}
        refused "$names" "${a^^} main, ${b^^} object, static $B before $A" link $a-1.o $b-2.o ${static[$B]} ${static[$A]}
    done
done
# shellcheck disable=SC2086
{
    names=$(among SEQ PAR) both="${shared[$first-seq]} ${shared[$first-par]}"
    refused "$names" "SEQ and PAR, --gc-sections" link -Wl,--gc-sections seq-1.o par-3.o $both
    refused "$names" "SEQ and PAR, -flto" link -flto lto-seq-1.o lto-par-2.o $both
    for linker in $linkers; do
        refused "$names" "SEQ and PAR, linked by $linker" link -fuse-ld=$linker seq-1.o par-2.o $both
        compiles "SEQ alone, linked by $linker" link -fuse-ld=$linker seq-1.o seq-2.o ${shared[$first-seq]}
    done
    for conduit in $conduits; do
        [ "$conduit" != "$first" ] || continue
        refused "gasneti_object_among_those_of_another_conduit_${conduit^^}" "objects of $first and $conduit" \
            link seq-1.o $conduit-2.o ${shared[$first-seq]} ${shared[$conduit-seq]}
        refused "gasneti_object_among_those_of_another_conduit_" "objects of $first and $conduit, static" \
            link seq-1.o $conduit-2.o ${static[$conduit-seq]} ${static[$first-seq]}
    done
    refused "$(among DEBUG NDEBUG)" "objects of $this and $other" link seq-1.o other-2.o ${shared[$first-seq]}
    for order in "seq par" "par seq"; do
        read -r a b <<<"$order"
        refused "gasnett_(SEQ|thread_safe)_object_among_(SEQ|thread_safe)_objects" "tools: $a main, $b object" \
            link tools-$a-1.o tools-$b-2.o ${shared[tools-$a]} ${shared[tools-$b]}
        refused "gasnett_(SEQ|thread_safe)_object_among_(SEQ|thread_safe)_objects" "tools: $a main, $b object, static" \
            link tools-$a-1.o tools-$b-2.o ${static[tools-$b]} ${static[tools-$a]}
    done
    # objects and libraries of one mode do link
    for mode in seq parsync par; do
        compiles "${mode^^} objects link" link $mode-1.o $mode-2.o ${shared[$first-$mode]}
        compiles "${mode^^} objects link, static" link $mode-1.o $mode-3.o ${static[$first-$mode]} -Wl,--gc-sections
        compiles "${mode^^} objects link, -flto" link -flto lto-$mode-1.o lto-$mode-2.o ${static[$first-$mode]}
        compiles "${mode^^} objects link, with ld -r" eval "ld -r -o r-$mode.o $mode-1.o $mode-2.o && link r-$mode.o ${shared[$first-$mode]}"
    done
    for mode in seq par; do
        compiles "tools $mode objects link" link tools-$mode-1.o tools-$mode-2.o ${shared[tools-$mode]}
        compiles "tools $mode objects link, static" link tools-$mode-1.o tools-$mode-2.o ${static[tools-$mode]}
    done
}
results
tap_end
