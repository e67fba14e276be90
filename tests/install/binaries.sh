# binaries.sh - libraries and programs of the installed tree: which names they have, and how they are linked.
#
# To be sourced by run.sh, whose `try`, `says_hello`, `moved` and `tap_scratch` it uses.  Every global of a library has
# a prefix of that library, so that a client's own functions may have any other name.
# shellcheck shell=bash disable=SC2154 # variables of run.sh

# LIBRARY NAMES [WEAK-NAMES], extended regular expressions.  Weak names are definitions that a client's own replaces; a
# name of the C library that libgasnet defines, for GASNET_FIREHOSE_KEEP=interpose, is one of these.  Names of other interfaces: libsofthca stands in front of
# libibverbs; libportals, libvapi and libmosal implement theirs; libmpga and libmtl_common are further names of libmosal.
name_rules='
libgasnet-[a-z]+-[a-z]+   gasnet[ceit]?_\w+|gasnett_\w+|gex_\w+   gasnet_max_segsize|gasnett_backtrace_user|munmap|mmap(64)?|mremap|madvise|mprotect|shmat|s?brk|malloc_trim
libgasnet_tools-[a-z]+    gasneti_\w+|gasnett_\w+|gasnet_frozen   gasnett_backtrace_user
libsofthca                softhca_\w+|ibv_\w+|_ibv_query_gid_(ex|table)|(IBVERBS|SOFTHCA)_1\.[0-9]+
libportals                Ptl\w+|ptl_(err|event)_str
libvapi                   E?VAPI_\w+|vapi_\w+
lib(mosal|mpga|mtl_common) mosal_\w+
libdapl_events            dapl_\w+
libdapl_provider          dat_provider_(init|fini)|dapl_\w+
gasnet-spawner-[a-z-]+    gasnet_spawner_ops
'
globals() { # FILE: its globals as "LETTER NAME", without versions
    local table=-g
    [[ $1 != *.so ]] || table=-D
    nm $table --defined-only "$1" | awk 'NF == 3 { sub(/@.*/, "", $3); print $2, $3 }'
}
rule_of() { # FILE: the row of its library
    local library row
    library=${1##*/} library=${library%.*}
    while read -r row; do
        [[ ! $library =~ ^(${row%% *})$ ]] || echo "$row"
    done <<<"$name_rules"
}
strangers() { # FILE: its globals that the rule does not allow
    local names weak letter name
    read -r _ names weak <<<"$(rule_of "$1")"
    while read -r letter name; do
        if [[ -n $weak && $name =~ ^($weak)$ ]]; then
            [[ $letter == [VWu] ]] || echo "$name, which is not weak"
        elif [[ ! $name =~ ^($names)$ ]] || [[ $letter == [VWu] ]]; then
            echo "$letter $name"
        fi
    done < <(globals "$1")
}
has_own_names() { # FILE
    local found
    found=$(strangers "$1")
    [ -n "$(globals "$1")" ] || found="no names at all"
    [ -z "$found" ] || { echo "$found" && return 1; }
}
same_names() { # ARCHIVE SHARED-OBJECT; that of a module, which libdat2 loads, exports a part
    [[ $2 == */libdapl_provider.so ]] || diff <(globals "$1" | cut -d' ' -f2 | sort -u) <(globals "$2" | grep -v '^A ' | cut -d' ' -f2 | sort -u)
}
libraries=("$moved"/lib/*.so "$moved"/lib/*.a "$moved"/lib/gasnet/*.so)
for library in "${libraries[@]}"; do
    [ -e "$library" ] || continue
    try "${library##*/} has names of its own alone" has_own_names "$library"
    [[ $library != *.a || ! -e ${library%.a}.so ]] ||
        try "${library##*/} has the names of the shared library" same_names "$library" "${library%.a}.so"
done

# A client whose functions have all names of the inside, those of static functions too.
inside_names() { # ARCHIVE...
    nm --defined-only "$@" | awk 'NF == 3 && $3 ~ /^[a-z][A-Za-z0-9_]*$/ { print $3 }' | sort -u |
        grep -vE '^(gasnet|gex_|softhca_|ibv_|vapi_|mosal_|ptl_(err|event)_str$|main$)' |
        comm -23 - <(nm -D --defined-only "$(cc -print-file-name=libc.so.6)" "$(cc -print-file-name=libm.so.6)" |
            awk 'NF == 3 { sub(/@.*/, "", $3); print $3 }' | sort -u)
}
client_with_names() { # CONDUIT: into ./prog
    local package=gasnet-$1-seq archives libs
    libs=$(pkg-config --variable=GASNET_LIBS_STATIC "$package") || return
    mapfile -t archives < <(grep -oE -- '-l:[^ ]+' <<<"$libs" | sed "s|^-l:|$moved/lib/|")
    inside_names "${archives[@]}" >"$tap_scratch/inside"
    [ "$(wc -l <"$tap_scratch/inside")" -gt 300 ] || { echo "few names" && return 1; }
    { echo '#include <stdlib.h>' && sed 's/.*/void &(void) { abort(); }/' "$tap_scratch/inside"; } >inside.c
    # shellcheck disable=SC2046,SC2086 # words are meant to be split
    cc -w -fno-builtin -c inside.c && cc -o prog hello.c inside.o $(pkg-config --cflags "$package") $libs
}
for conduit in $conduits; do
    try "$conduit, static library: links with functions of every name inside" client_with_names "$conduit" &&
        try "... and runs" says_hello "$moved/bin/gasnetrun_$conduit" -n 2 ./prog
done

# Who else defines a function that libgasnet brings as a weak name, in a library behind it, is called all the same.
later_is_called() {
    local package=gasnet-${conduits%% *}-seq
    cat >later.c <<'END'
#define _GNU_SOURCE
#include <sys/syscall.h>
#include <unistd.h>
int later_calls;
int munmap(void *at, unsigned long size) { later_calls++; return (int)syscall(SYS_munmap, at, size); }
END
    cat >unmaps.c <<'END'
#include <gasnet.h>
#include <sys/mman.h>
extern int later_calls;
int main(int argc, char **argv)
{
    void *page = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (argc > 99) return gasnet_init(&argc, &argv);
    const int before = later_calls;
    return munmap(page, 4096) != 0 || later_calls != before + 1;
}
END
    # shellcheck disable=SC2046 # words are meant to be split
    cc -shared -fPIC -o liblater.so later.c &&
        cc -o unmaps unmaps.c $(pkg-config --cflags --libs "$package") -L. -llater -Wl,-rpath,"$PWD" && ./unmaps
}
try "a library behind it defines munmap too, and is called" later_is_called

# --- hardening ---
linked_safely() { # FILE: with what configure found that the linker takes; every symbol is found at the start
    local flag headers
    headers=$(readelf -dlW "$1") || return
    for flag in "${asked_linker[@]}"; do
        case $flag in
        -Wl,-z,now) grep -qE 'BIND_NOW|Flags:.* NOW' <<<"$headers" ;;
        -Wl,-z,relro) grep -q GNU_RELRO <<<"$headers" ;;
        -Wl,-z,noexecstack) grep -qE 'GNU_STACK .* RW +0x' <<<"$headers" ;;
        esac || { echo "not linked with $flag" && return 1; }
    done
    ! ldd -r "$1" 2>&1 | grep -E 'undefined symbol|not found'
}
read -ra asked_linker <<<"$(sed -n 's/^LDFLAGS = //p' "$TEST_BUILD/Makefile")"
read -ra asked_compiler <<<"$(sed -n 's/^\(CPPFLAGS\|CFLAGS\|HARD_CPPFLAGS\|HARD_CFLAGS\) = //p' "$TEST_BUILD/Makefile" | paste -sd' ')"
compiled_safely() { # FILE: with what configure found that the compiler takes
    local flag used
    used=$(nm -D -u "$1")
    for flag in "${asked_compiler[@]}"; do
        case $flag in
        -fstack-protector-strong) grep -q __stack_chk_fail <<<"$used" ;;
        -D_FORTIFY_SOURCE=[23]) grep -q '_chk@' <<<"$used" ;;
        esac || { echo "not compiled with $flag" && return 1; }
    done
}
for file in "$moved"/lib/*.so "$moved"/lib/gasnet/* "$moved"/bin/*; do
    [ "$(head -c 4 "$file")" = $'\x7fELF' ] || continue
    try "${file##*/} is linked safely" linked_safely "$file"
    case ${file##*/} in
    # libsofthca is not: other/softhca/local.mk tells why.
    libgasnet-*.so | libportals.so | gasnetrun_*) try "${file##*/} is compiled safely" compiled_safely "$file" ;;
    esac
done
