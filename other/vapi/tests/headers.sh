# headers.sh - the headers as programs of every age include them: each alone, then names.c, in all
# the languages; and the link line of old.
#
# To be sourced by run.sh.  No warning is allowed, but for what names.c itself does to see a call's address.
# shellcheck shell=bash disable=SC2154 # tap_scratch is of tap.sh

headers=$TEST_SOURCE/../other/vapi/include
strict=(-Wall -Wextra -Werror -pedantic -I"$headers")

# clean NAME COMPILER...: each header alone, with and without optimisation, and names.c.
clean() {
    local name=$1 header level bad=0 log=$tap_scratch/headers.log
    shift
    : >"$log"
    for level in -O0 -O2; do
        for header in "$headers"/*.h; do
            printf '#include <%s>\nint nothing;\n' "$(basename "$header")" |
                "$@" "${strict[@]}" $level -fsyntax-only - >>"$log" 2>&1 || bad=1
        done
        "$@" "${strict[@]}" -Wno-cast-function-type $level -fsyntax-only "$TEST_SOURCE/../other/vapi/tests/names.c" >>"$log" 2>&1 || bad=1
    done
    tap_ok $bad "headers and names, $name"
    [ $bad -eq 0 ] || TEST_TAIL=30 tap_tail "$log"
}

for compiler in gcc clang; do
    command -v $compiler >/dev/null || { tap_skip "headers with $compiler" "no $compiler" && continue; }
    for std in c89 gnu89 c99 c11 gnu17; do clean "$compiler $std" $compiler -x c -std=$std; done
done
for std in c++98 gnu++98 c++11 c++17; do
    command -v g++ >/dev/null || { tap_skip "headers in C++" "no g++" && break; }
    clean "g++ $std" g++ -x c++ -std=$std
done

# links NAME COMPILER...: with the libraries that programs named; and every constant has its value.
links() {
    local name=$1 log=$tap_scratch/links.log status=0
    shift
    "$@" -I"$headers" -o "$tap_scratch/names" "$TEST_SOURCE/../other/vapi/tests/names.c" -L"$TEST_BUILD/.libs" -Wl,-rpath,"$TEST_BUILD/.libs" \
        -lvapi -lmtl_common -lmosal -lmpga >"$log" 2>&1 && "$tap_scratch/names" >>"$log" 2>&1 || status=1
    tap_ok $status "-lvapi -lmtl_common -lmosal -lmpga, $name"
    [ $status -eq 0 ] || TEST_TAIL=30 tap_tail "$log"
}
links "C, plain" gcc -x c -std=gnu89 -O0
links "C, inlined" gcc -x c -std=gnu89 -O2
command -v g++ >/dev/null && links "C++" g++ -x c++ -std=c++98 -O2
