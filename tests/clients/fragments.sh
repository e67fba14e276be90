# fragments.sh - what the build fragments say, and commands run side by side: what the scripts about clients share.
#
# To be sourced after tap.sh, in the build tree; sets here, out, log, conduits, first (of them), debug, this, other (build modes).
# shellcheck shell=bash disable=SC2034,SC2154 # to the caller and from it
here=$TEST_SOURCE/clients
out=$tap_scratch
log=$TEST_LOG/clients-$(basename "$0" .sh).log
: >"$log"

# --- commands run side by side, their results in the order they were given ---
queued=0
queue() { # WANTED-STATUS(0|1) TEXTS NAME COMMAND...: TEXTS, an extended regular expression, in the output
    queued=$((queued + 1))
    local n=$queued
    printf '%s\n' "$1" "$2" "$3" >"$out/job-$n"
    shift 3
    while [ "$(jobs -pr | wc -l)" -ge "$(nproc)" ]; do wait -n; done
    {
        printf '$ %s\n' "$*" >"$out/log-$n"
        "$@" >>"$out/log-$n" 2>&1 </dev/null
        echo $? >"$out/status-$n"
    } &
}
compiles() { queue 0 '' "$@"; }
refused() { # TEXTS NAME COMMAND...
    local texts=$1
    shift
    queue 1 "$texts" "$@"
}
results() { # a TAP line for each that was queued
    local n job status bad
    wait
    for ((n = 1; n <= queued; n++)); do
        mapfile -t job <"$out/job-$n"
        status=$(cat "$out/status-$n")
        cat "$out/log-$n" >>"$log"
        bad=0
        if [ "${job[0]}" -eq 0 ]; then [ "$status" -eq 0 ] || bad=1; else
            [ "$status" -ne 0 ] && tail -n +2 "$out/log-$n" | grep -qE -- "${job[1]}" || bad=1
        fi
        tap_ok $bad "${job[2]}"
        [ $bad -eq 0 ] || { [ -z "${job[1]}" ] || tap_note "wanted: ${job[1]}"; tap_tail "$out/log-$n"; }
    done
    queued=0
}

# --- the contents of the fragments ---
ask() { # FRAGMENT VARIABLE: its value, with the variables in it
    printf 'include %s\nask:\n\t@echo $(%s)\n' "$1" "$2" | make -s --no-print-directory -f - ask
}
conduits=$(sed -n 's/^CONDUITS = *//p' Makefile)
first=${conduits%% *}
declare -A cppflags cflags ldflags shared static
for conduit in $conduits; do
    for mode in seq parsync par; do
        fragment=packaging/$conduit-$mode.mak key=$conduit-$mode
        cppflags[$key]=$(ask $fragment GASNET_CPPFLAGS)
        cflags[$key]=$(ask $fragment GASNET_CFLAGS)
        ldflags[$key]=$(ask $fragment GASNET_LDFLAGS)
        shared[$key]=$(ask $fragment GASNET_LIBS)
        static[$key]=$(ask $fragment GASNET_LIBS_STATIC)
    done
done
for mode in seq par; do
    key=tools-$mode
    cppflags[$key]=$(ask packaging/gasnet_tools-$mode.mak GASNETTOOLS_CPPFLAGS)
    cflags[$key]=$(ask packaging/gasnet_tools-$mode.mak GASNETTOOLS_CFLAGS)
    ldflags[$key]=$(ask packaging/gasnet_tools-$mode.mak GASNETTOOLS_LDFLAGS)
    shared[$key]=$(ask packaging/gasnet_tools-$mode.mak GASNETTOOLS_LIBS)
    static[$key]="$TEST_BUILD/.libs/libgasnet_tools-$mode.a -lpthread"
done
case ${cppflags[$first-seq]} in *-DGASNET_DEBUG*) debug=1 this=DEBUG other=NDEBUG ;; *) debug=0 this=NDEBUG other=DEBUG ;; esac

# For each kind of client, cc and c++ with all flags; -Werror, since clients have it.
# shellcheck disable=SC2086 # words of flags are meant to split, here and below
cc_of() { # KEY ARGUMENT...
    local key=$1
    shift
    gcc -std=gnu17 -Wall -Wextra -Werror ${cppflags[$key]} ${cflags[$key]} "$@"
}
# shellcheck disable=SC2086
cxx_of() {
    local key=$1
    shift
    g++ -x c++ -Wall -Wextra -Werror ${cppflags[$key]} ${cflags[$key]/-std=gnu17/} "$@"
}
