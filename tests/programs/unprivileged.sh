#!/bin/bash
# unprivileged.sh - some client programs of every conduit as a user without rights.  Such a user's processes may not
# access each other's memory as root's may, so that the software device takes other paths.
# family: unprivileged
# family: unprivileged-vapi TEST_CONDUIT=vapi
# family: unprivileged-portals TEST_CONDUIT=portals
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
tap_end
