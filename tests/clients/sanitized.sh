#!/bin/bash
# sanitized.sh - a client compiled with -fsanitize=thread, or run by valgrind, with the libraries as they are installed: it
# links, and nothing false is reported; TAP.
# family: clients-sanitized
. "$(dirname "$0")/../tap.sh" || exit 1
unset "${!GASNET_@}" CFLAGS CXXFLAGS CPPFLAGS MAKEFLAGS MFLAGS MAKELEVEL
cd "$TEST_BUILD" || exit 1
# shellcheck source=tests/clients/fragments.sh
. "$TEST_SOURCE/clients/fragments.sh"
if [ -n "$(sed -n '/^CFLAGS = .*-fsanitize/p' Makefile)" ]; then
    tap_skip "clients with sanitizers" "this build has one of its own"
    tap_end
fi

# runs N COMMAND...: both ranks are right, and no report
runs() {
    log=$TEST_LOG/clients-sanitized-$tap_count.log
    timeout -k 5 120 "$TEST_BUILD/gasnetrun_$conduit" -spawner=ssh -n 2 "$@" >"$log" 2>&1 </dev/null
    status=$?
    [ $status -eq 0 ] && [ "$(grep -c '^right$' "$log")" -eq 2 ] &&
        ! grep -qE 'WARNING: ThreadSanitizer|==[0-9]+==' "$log"
}

# With clang the runtime's own definition comes ahead of that of gasnet_linkcheck.h: doc/troubles.md says what to do.
printf 'called_from_lib:%s\n' libgasnet- libsofthca.so libportals.so libvapi.so >"$out/suppressions"
declare -A options=([gcc]='' [clang]=suppressions=$out/suppressions)
# shellcheck disable=SC2086 # words of flags are meant to be split
for conduit in $conduits; do
    key=$conduit-par sizes="1 0"
    if [ "$conduit" = smp ]; then sizes=0; fi # its ranks share memory
    for compiler in gcc clang; do
        command -v $compiler >/dev/null || { tap_skip "$conduit, $compiler -fsanitize=thread" "no $compiler" && continue; }
        log=$TEST_LOG/clients-sanitized.log
        $compiler -O1 -g -fsanitize=thread ${cppflags[$key]} -o "$out/client" "$here/threads.c" ${ldflags[$key]} \
            ${shared[$key]} >"$log" 2>&1
        tap_verdict $? "$conduit, $compiler -fsanitize=thread: links"
        for most in $sizes; do
            export GASNET_SUPERNODE_MAXSIZE=$most TSAN_OPTIONS="exitcode=67 ${options[$compiler]}"
            runs "$out/client"
            tap_verdict $? "$conduit, $compiler -fsanitize=thread, GASNET_SUPERNODE_MAXSIZE=$most: no report"
        done
    done
    log=$TEST_LOG/clients-sanitized.log
    gcc -O1 -g ${cppflags[$key]} -o "$out/client" "$here/threads.c" ${ldflags[$key]} ${shared[$key]} >"$log" 2>&1
    tap_verdict $? "$conduit, for valgrind: links"
    for most in $sizes; do
        export GASNET_SUPERNODE_MAXSIZE=$most
        runs valgrind -q --error-exitcode=67 "$out/client"
        tap_verdict $? "$conduit, valgrind, GASNET_SUPERNODE_MAXSIZE=$most: no report"
    done
done
tap_end
