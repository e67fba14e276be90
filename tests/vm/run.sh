#!/bin/bash
# run.sh - the library on the kernel's own verbs devices, soft RoCE and soft iWARP, in guests of QEMU.
#
# VM_LIST=full runs all lists, as `make check-vm` does; the default is the short list of one guest, the family of
# check.sh. VM_LIMIT: seconds after which a guest is ended, by default less than check.sh gives a family. Fails where
# QEMU or the kernel's package cannot be had.
# family: vm first
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/../tap.sh" || exit 1
here=$TEST_SOURCE/vm
list=${VM_LIST:-short}
limit=${VM_LIMIT:-$([ "$list" = full ] && echo 3600 || echo 1000)}
cd "$TEST_BUILD" || exit 1

began=$SECONDS
why=$("$here/build.sh" 2>"$TEST_LOG/vm-build.log")
case $? in
0) tap_ok 0 "the guest is built: kernel $(<vm/release)" ;;
77)
    tap_ok 1 "a guest can be built: $why"
    tap_end
    ;;
*)
    tap_ok 1 "the guest is built"
    tap_tail "$TEST_LOG/vm-build.log"
    tap_end
    ;;
esac
tap_note "$((SECONDS - began)) s"

# guest LABEL "LIST..." COMMAND...: the results of the lists, each of which has a plan.
guest() {
    local label=$1 lists=$2 name log command='' planned
    shift 2
    log=$TEST_LOG/vm-${label// /-}.log
    for name in $lists; do command+="TEST_BUILD='$TEST_BUILD' VM_LIST=$list '$here/lists/$name.sh'; "; done
    tap_program vm "$label" "$@" -l "$limit" -k "$TEST_LOG/vm-${label// /-}" "$command"
    planned=$(sed -n 's/^1\.\.//p' "$log" | awk '{ n += $1 } END { print NR, n + 0 }')
    [ "$planned" = "$(wc -w <<<"$lists") $(grep -cE '^(not )?ok ' "$log")" ]
    tap_ok $? "all results came out of the guest ($label)"
}

guest "soft RoCE" one "$here/guest.sh"
if [ "$list" = full ]; then
    guest "soft RoCE, without ERMS" one "$here/guest.sh" -c max,-erms
    why=$("$here/build.sh" siw 2>"$TEST_LOG/vm-siw.log")
    case $? in
    0) guest "soft iWARP" iwarp "$here/guest.sh" -d siw ;;
    77) tap_skip "soft iWARP" "$why" ;;
    *) tap_ok 1 "soft iWARP can be built: see $TEST_LOG/vm-siw.log" ;;
    esac
    guest "two guests" "pair broken" "$here/pair.sh"
fi
tap_end
