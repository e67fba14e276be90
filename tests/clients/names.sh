#!/bin/bash
# names.sh - every public name of names.table is there: programs made of the table take the address of each function, and
# use each constant, type and macro, in C and C++, in each conduit and mode, with the tools alone, and in the other build
# mode.  They are linked, not run; names.c and the other families see what the names do.
# family: names
. "$(dirname "$0")/../tap.sh" || exit 1
unset "${!GASNET_@}" CFLAGS CXXFLAGS CPPFLAGS MAKEFLAGS MFLAGS MAKELEVEL
cd "$TEST_BUILD" || exit 1
# shellcheck source=tests/clients/fragments.sh
. "$TEST_SOURCE/clients/fragments.sh"
table=$here/names.table

head='
typedef void (*any_function_t)(void);
extern any_function_t volatile a_function; any_function_t volatile a_function;
extern const void *volatile an_address; const void *volatile an_address;
extern volatile double a_value; volatile double a_value;
extern int one, two; int one = 1, two = 2;
'
# The line for one name.
line() { # KIND NAME
    case $1 in
        function) body+="    a_function = (any_function_t)$2;"$'\n' ;;
        object) body+="    an_address = (const void *)&$2;"$'\n' ;;
        type) body+="    a_value = (double)sizeof($2);"$'\n' ;;
        value) body+="    a_value = (double)($2);"$'\n' ;;
        pointer) body+="    an_address = (const void *)($2);"$'\n' ;;
        text) body+="    an_address = \"\" $2 \"\";"$'\n' ;;
        token) body+="    an_address = _STRINGIFY($2) + 1 / (sizeof(_STRINGIFY($2)) != sizeof(\"$2\") && sizeof(_STRINGIFY($2)) > 1);"$'\n' ;;
        number) file+="#ifndef $2"$'\n'"#error \"$2 is not defined\""$'\n'"#elif $2 == 12321"$'\n'"#endif"$'\n' && line value "$2" ;;
        defined) file+="#ifndef $2"$'\n'"#error \"$2 is not defined\""$'\n'"#endif"$'\n' ;;
        undefined) file+="#ifdef $2"$'\n'"#error \"$2 is defined\""$'\n'"#endif"$'\n' ;;
        *) echo "names.table: no such kind: $1" >&2 && exit 1 ;;
    esac
}
# The program of the rows with these words in their first column.
program() { # NAME INCLUDE... -- WHERE...
    local file='' body='' where kind content names name includes=()
    local target=$out/$1.c
    shift
    while [ "$1" != -- ]; do includes+=("#include \"$1\"") && shift; done
    while IFS='|' read -r where kind content; do
        where=${where// /} kind=${kind// /} content=${content# }
        case $where in '' | '#'*) continue ;; esac
        case " $* " in *" $where "*) ;; *) continue ;; esac
        case $kind in
            file) file+=$content$'\n' ;;
            one)
                eval "names=($content)"
                file+="#if $(printf ' + defined(%s)' "${names[@]}") != 1"$'\n'"#error \"one of ${names[*]}\""$'\n'"#endif"$'\n'
                ;;
            statement) body+="    if (one) { $content }"$'\n' ;;
            *)
                # Braces alone: the names hold no other character that the shell expands.
                eval "names=($(sed 's/[()]/\\&/g' <<<"$content"))"
                for name in "${names[@]}"; do line "$kind" "$name"; done
                ;;
        esac
    done <"$table"
    {
        printf '%s\n' "${includes[@]}" "$head" "$file" 'void uses(void);' 'void uses(void)' '{' "$body" '}'
        printf 'int main(int argc, char **argv)\n{\n    (void)argv;\n    if (argc > 1000) uses();\n    return 0;\n}\n'
    } >"$target"
}
program gasnet gasnet.h gasnet.h -- gasnet
program all gasnet_vis.h gasnet_coll.h gasnet_handler.h gasnet_tools.h gasnet.h gasnet_tools.h gasnet_coll.h gasnet_vis.h -- \
    gasnet handler vis coll tools lite lib
program tools gasnet_tools.h -- tools lite
program lite gasnet_tools.h -- lite

languages=("gcc -std=c99" "gcc -std=gnu17" "g++ -x c++ -std=c++98" "g++ -x c++ -std=c++17")
warnings="-Wall -Wextra -Werror -Wno-long-long -Wno-variadic-macros -Wno-overlength-strings -Wno-unused-function"
linked() { # KEY SOURCE LANGUAGE FLAG...
    local key=$1 source=$2 language=$3 program=$out/$BASHPID
    shift 3
    # shellcheck disable=SC2086
    $language $warnings ${cppflags[$key]} "$@" -c -o "$program.o" "$out/$source.c" &&
        gcc ${ldflags[$key]} -o "$program" "$program.o" ${shared[$key]}
}
compiled() { # KEY SOURCE LANGUAGE: in the build mode that this tree does not have
    # shellcheck disable=SC2086
    $3 $warnings ${cppflags[$1]//-DGASNET_$this/-DGASNET_$other} -c -o /dev/null "$out/$2.c"
}
# Every conduit and mode in the oldest C and the newest C++; the other two languages for the first conduit.
for language in "${languages[@]}"; do
    for conduit in $conduits; do
        case $language:$conduit in *=c99:* | *=c++17:* | *:"$first") ;; *) continue ;; esac
        for mode in seq parsync par; do
            compiles "$language: all names, $conduit $mode" linked "$conduit-$mode" all "$language"
        done
        compiles "$language: all names, $conduit par, $other" compiled "$conduit-par" all "$language"
    done
    compiles "$language: gasnet.h alone, $first seq" linked "$first-seq" gasnet "$language"
    for mode in seq par; do
        compiles "$language: the tools alone, $mode" linked "tools-$mode" tools "$language"
        compiles "$language: the tools in lite mode, $mode" linked "tools-$mode" lite "$language" -DGASNETT_LITE_MODE
    done
done
results
tap_end
