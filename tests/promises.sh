#!/bin/bash
# promises.sh - every numbered promise of a conduit's PROMISES.md is cited by the test that proves it, or is
# listed there as open, with the reason, and a test that the page names cites it.  `promises.sh --write` names
# the tests anew.
# family: promises
. "$(dirname "$0")/tap.sh" || exit 1
cd "${TEST_SOURCE:?}/.." || exit 1
pages='ibv-conduit/PROMISES.md vapi-conduit/PROMISES.md portals-conduit/PROMISES.md'
kinds=(--include='*.sh' --include='*.py' --include='*.c' --include='*.h' --include='*.table')

cited() { # ID: the files of tests that cite it
    grep -rlE "$1([^0-9]|\$)" tests other/*/tests "${kinds[@]}" | grep -v '^tests/promises.sh$' |
        sed 's|^tests/||' | sort | head -n 6 | tr '\n' ' ' | sed 's/ $//; s/ /, /g'
}

# The rows of a page with the third column made anew; one that is open keeps its reason.
current() { # PAGE
    local line id
    while IFS= read -r line; do
        if [[ $line =~ ^\|\ ((IB-[A-Z]+|PO-|VC-)[0-9X]+)\ \|\ ([^|]*)\ \|\ ([^|]*)\ \|$ ]]; then
            id=${BASH_REMATCH[1]}
            case ${BASH_REMATCH[4]} in
            open:*) echo "$line" ;;
            *) echo "| $id | ${BASH_REMATCH[3]} | $(cited "$id") |" ;;
            esac
        else
            echo "$line"
        fi
    done <"$1"
}

if [ "$1" = --write ]; then
    for page in $pages; do
        current "$page" >"$tap_scratch/page" && cat "$tap_scratch/page" >"$page" || exit 1
    done
    exit
fi

while IFS='|' read -r _ id _ proof _; do
    id=${id// /}
    [[ $id == IB-* || $id == PO-* || $id == VC-* ]] || continue
    if [[ $proof == ' open:'* ]]; then
        [ -n "${proof#* open: }" ]
        tap_ok $? "$id is open, and the page says why"
    else
        [ -n "$(cited "$id")" ]
        tap_ok $? "$id is cited by a test"
        for file in ${proof//,/ }; do
            [[ $file = other/* ]] || file=tests/$file
            grep -qE "$id([^0-9]|\$)" "$file" || echo "$id: $file"
        done >>"$tap_scratch/stale"
    fi
done < <(cat $pages)
tap_ok "$([ ! -s "$tap_scratch/stale" ]; echo $?)" "the tests that the page names cite what they prove (tests/promises.sh --write)"
sed 's/^/# not so: /' "$tap_scratch/stale"
unknown=$(grep -rohE '(IB-[ABCDEPRSWX][0-9]+|PO-([0-9]+|X)|VC-[0-9]+)' tests other/*/tests "${kinds[@]}" | sort -u |
    while read -r id; do grep -q "^| $id |" $pages || echo "$id"; done)
[ -z "$unknown" ]
tap_ok $? "no test cites a promise that is not there${unknown:+: ${unknown//$'\n'/ }}"
tap_end
