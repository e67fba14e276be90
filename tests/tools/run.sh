#!/bin/bash
# run.sh - the tools and the client headers: programs of this folder, what dying processes print, and
# clients compiled in every way.  TAP; run in a build tree, or with TEST_BUILD (or top_builddir) naming one.
# family: tools
TEST_BUILD=${TEST_BUILD:-${top_builddir:-.}}
# shellcheck source=../tap.sh
. "$(dirname "$0")/../tap.sh"
cd "$TEST_BUILD" || exit 1
include="-I$TEST_SOURCE/../include -Iinclude -I$TEST_SOURCE/../include/ibv-conduit"
programs="tests/tools/utilities tests/tools/atomics-seq tests/tools/atomics-par tests/tools/locks-seq
 tests/tools/locks-par tests/tools/messages tests/tools/inside tests/tools/lite-seq tests/tools/lite-par"
# shellcheck disable=SC2086
make -s $programs >"$tap_scratch/make.log" 2>&1 || {
    tap_ok 1 "the programs build"
    tap_tail "$tap_scratch/make.log"
    tap_end
}
case $(sed -n 's/^DEBUG_DEFINE = *//p' Makefile) in *GASNET_DEBUG*) debug=1 ;; *) debug=0 ;; esac
unset "${!GASNET_@}"

# program NAME: its TAP lines become ours.  No memory that it allocates is zero by chance.
program() {
    local line status
    MALLOC_PERTURB_=165 timeout 300 "tests/tools/$1" >"$tap_scratch/out" 2>"$tap_scratch/err"
    status=$?
    while IFS= read -r line; do
        case $line in
        "ok "*) tap_ok 0 "$1: ${line#* - }" ;;
        "not ok "*) tap_ok 1 "$1: ${line#* - }" ;;
        "#"*) echo "$line" ;;
        esac
    done <"$tap_scratch/out"
    tap_ok "$(grep -q '^1\.\.[1-9]' "$tap_scratch/out" && [ $status -le 1 ]; echo $?)" "$1 ran to its end"
    [ ! -s "$tap_scratch/err" ] || tap_note "$(head -n 5 "$tap_scratch/err")"
}
for name in utilities atomics-seq atomics-par locks-seq locks-par inside; do program $name; done

# says NAME TEXT...: the last run's output has every text.
says() {
    local name=$1 text missing=
    shift
    for text; do grep -qF -- "$text" "$tap_scratch/out" || missing="$missing \"$text\""; done
    tap_ok "$([ -z "$missing" ]; echo $?)" "$name"
    [ -z "$missing" ] || tap_note "missing$missing in: $(head -n 10 "$tap_scratch/out")"
}
# run WANTED-STATUS WHAT [VAR=VALUE...]: messages WHAT in that environment.
run() {
    local wanted=$1 what=$2 status
    shift 2
    (ulimit -c 0; exec env "$@" timeout 60 tests/tools/messages "$what") >"$tap_scratch/out" 2>&1
    status=$?
    tap_ok "$([ $status -eq "$wanted" ]; echo $?)" "messages $what: exit status $status is $wanted"
}
run 134 fatal
says "a fatal error says so" "*** FATAL ERROR: code 7, text"
run 134 long
says "a long one too" "*** FATAL ERROR: "
run 134 fatal GASNET_BACKTRACE=1 GASNET_BACKTRACE_TYPE=MINE
says "with the client's backtrace" "code 7, text" "my own backtrace"
run 134 fatal GASNET_BACKTRACE=1
says "or the first that works" "code 7, text" "backtrace"
run 9 kill
run 134 yesno TOOLS_BAD=maybe
says "a bad yes/no names the variable" "*** FATAL ERROR: TOOLS_BAD=maybe: "
run 134 int TOOLS_BAD=12monkeys
says "a bad integer names the variable" "TOOLS_BAD=12monkeys: must be an integer"
run 134 size TOOLS_BAD=x
says "a bad size names the variable" "TOOLS_BAD=x: must be a memory size"
run 134 dbl TOOLS_BAD=1/2/3
says "a bad number names the variable" "TOOLS_BAD=1/2/3: must be a number"
run 0 report
tap_ok "$([ ! -s "$tap_scratch/out" ]; echo $?)" "nothing is reported without GASNET_VERBOSEENV"
run 0 report GASNET_VERBOSEENV=1 TOOLS_EMPTY= TOOLS_SIZE=0x800 TOOLS_YES=y
says "consulted variables are reported" "ENV parameter: TOOLS_TEXT = dflt" "(default)" \
    "TOOLS_UNSET = *not set*" "TOOLS_EMPTY = *empty*" "TOOLS_SIZE = 0x800 (2 KB)" "TOOLS_YES = YES" "TOOLS_DBL = 0.5"
tap_ok "$([ "$(grep -c TOOLS_TEXT "$tap_scratch/out")" -eq 1 ]; echo $?)" "once each"
run 0 closed
tap_ok "$([ ! -s "$tap_scratch/out" ]; echo $?)" "closed streams swallow everything"
run 0 backtrace
says "backtraces of the client's and the library's kind" "my own backtrace" "main"
# shellcheck disable=SC2016 # the script's own
printf '#!/bin/sh\necho stack of $1\n' >"$tap_scratch/pstack"
chmod +x "$tap_scratch/pstack"
run 0 program PATH="$tap_scratch:$PATH"
says "a backtrace by a program" "Backtrace by PSTACK" "stack of "
tap_ok "$(! grep -q EXECINFO "$tap_scratch/out"; echo $?)" "and no other, if that says that it has worked"
run 0 ignored PATH="$tap_scratch:$PATH"
says "and another, if that cannot be known" "stack of " "Backtrace by EXECINFO" "main"

# A frozen process waits, and prints how to continue it.
GASNET_FREEZE_ON_ERROR=1 timeout 60 tests/tools/messages fatal >"$tap_scratch/out" 2>&1 &
frozen=$!
for _ in $(seq 200); do
    grep -q "gasnet_frozen" "$tap_scratch/out" && break
    sleep 0.05 # between two looks
done
kill -0 $frozen 2>/dev/null
tap_ok $? "GASNET_FREEZE_ON_ERROR keeps the process"
says "and says what to do" "pid " "set gasnet_frozen=1"
kill $frozen 2>/dev/null
wait $frozen 2>/dev/null

# Locks used wrongly end a debug build, with a reason.
for mode in seq par; do
    for what in recursive free elsewhere assert rwlock; do
        if [ $debug -eq 0 ]; then
            tap_ok "$(tests/tools/locks-$mode $what; [ $? -eq 77 ]; echo $?)" "locks-$mode $what: production does not check"
            continue
        fi
        (ulimit -c 0; exec timeout 60 tests/tools/locks-$mode $what) >"$tap_scratch/out" 2>&1
        tap_ok "$([ $? -eq 134 ]; echo $?)" "locks-$mode $what ends the program"
        says "and says why" "*** FATAL ERROR: gasnett_"
    done
done

tap_ok "$(grep -qa 'TestToolsIdent: RELEASE=20' tests/tools/utilities ||
    grep -qa 'TestToolsIdent: RELEASE=20' tests/tools/.libs/utilities; echo $?)" "a client's ident is in its executable"

# mismatch NAME TEXT FLAGS...: a tools program must not link with libgasnet_tools-seq.
mismatch() {
    local name=$1 text=$2
    shift 2
    # shellcheck disable=SC2086
    echo '#include "gasnet_tools.h"
int main(void) { return (int)gasnett_ticks_now(); }' |
        gcc -x c "$@" $include -o "$tap_scratch/program" - -x none .libs/libgasnet_tools-seq.so >"$tap_scratch/out" 2>&1
    tap_ok "$([ $? -ne 0 ] && grep -q "undefined reference to .$text" "$tap_scratch/out"; echo $?)" "$name"
}
if [ -e .libs/libgasnet_tools-seq.so ]; then
    this=$([ $debug -eq 1 ] && echo DEBUG || echo NDEBUG) other=$([ $debug -eq 1 ] && echo NDEBUG || echo DEBUG)
    mismatch "thread-safe objects do not link with the SEQ tools" "gasnett_linkcheck_PAR_${this}_20" -DGASNET_$this -DGASNETT_THREAD_SAFE
    mismatch "objects of the other build do not link" "gasnett_linkcheck_SEQ_${other}_20" -DGASNET_$other
fi
for mode in seq par; do
    tests/tools/lite-$mode | grep -qx "RELEASE=.*,LITE,timers_posixrt,membars_native"
    tap_ok $? "lite tools work with the $mode library"
done

. "$TEST_SOURCE/tools/headers.sh"
. "$TEST_SOURCE/tools/names.sh"
tap_end
