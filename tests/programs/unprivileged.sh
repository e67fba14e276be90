#!/bin/bash
# unprivileged.sh - some client programs of every conduit as a user without rights.  Such a user's processes may not
# access each other's memory as root's may, so that the software device takes other paths.  And one with the rights of yet
# another user (set-user-ID), which must not obey the environment of the user who starts it.
# family: unprivileged
# family: unprivileged-portals last TEST_CONDUIT=portals
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/../tap.sh" || exit 1

conduit=$TEST_CONDUIT
programs="testam testputget testbarrier"
as_user=(setpriv --reuid=65534 --regid=65534 --clear-groups --bounding-set=-all --inh-caps=-all)

if ! "${as_user[@]}" true 2>/dev/null; then
    reason="setpriv cannot become another user here"
elif ! "${as_user[@]}" test -x "$TEST_BUILD/tests/testam-$conduit-seq" -a -x "$TEST_LAUNCH"; then
    reason="the build tree cannot be read by another user"
fi
for program in $programs; do
    name="$program seq n=2 as a user without rights"
    log=$TEST_LOG/unprivileged_$conduit-$program.log
    if [ -n "$reason" ]; then
        tap_skip "$name" "$reason"
        continue
    fi
    (cd / && HOME=/nonexistent TEST_EXPECT_RANKS=2 timeout -k 5 60 "${as_user[@]}" \
        "$TEST_LAUNCH" -spawner=ssh -n 2 "$TEST_BUILD/tests/$program-$conduit-seq") >"$log" 2>&1 </dev/null
    status=$?
    if ! grep -q '^1\.\.[1-9]' "$log" || grep -q '^not ok' "$log"; then status=1; fi
    tap_ok $status "$name"
    [ $status -eq 0 ] || tap_tail "$log"
done

# copy MODE NAME PROGRAM: a copy that belongs to another user than the one who starts it, in $open, where all may write.
copy() {
    cp "$3" "$open/$2" && chown 65533:65533 "$open/$2" && chmod "$1" "$open/$2"
}
# counted NAME: runs the copy of the client program, which is to leave its counters in NAME.counters.
counted() {
    log=$TEST_LOG/unprivileged_$conduit-$1.log
    (cd / && HOME=/nonexistent TEST_EXPECT_RANKS=2 GASNET_STATSFILE=$open/$1.counters timeout -k 5 60 "${as_user[@]}" \
        "$TEST_LAUNCH" -spawner=ssh -n 2 "$open/$1") >"$log" 2>&1 </dev/null
}
open=$(mktemp -d "$TEST_BUILD/tests/rights.XXXXXX") && trap 'rm -rf "$open" "$tap_scratch"' EXIT
chmod 1777 "$open"
if [ -z "$reason" ] && copy 4755 id "$(command -v id)" && [ "$("${as_user[@]}" "$open/id" -u 2>&1)" != 65533 ]; then
    reason="no set-user-ID programs here"
fi
for case in plain:755 other-rights:4755; do
    name="counters of a program by mode ${case#*:}"
    if [ -n "$reason" ]; then
        tap_skip "$name" "$reason"
        continue
    fi
    copy "${case#*:}" "${case%:*}" "$TEST_BUILD/tests/testam-$conduit-seq" && counted "${case%:*}"
    status=$?
    [ $status -eq 0 ] || tap_tail "$log"
    tap_ok $status "$name: it runs"
done
if [ -n "$reason" ]; then
    tap_skip "a program with the rights of another user ignores variables" "$reason"
else
    [ -s "$open/plain.counters" ]
    tap_ok $? "a program with the rights of its user writes to the file that GASNET_STATSFILE names"
    [ ! -e "$open/other-rights.counters" ]
    tap_ok $? "one with the rights of another user does not"
    grep -q 'GASNET_STATSFILE and all other variables have no effect: the program runs with rights' "$log"
    tap_ok $? "and says so"
fi
tap_end
