#!/bin/bash
# forms.sh - each variable of the conduits' documents takes each form of value that they give (IB-C, IB-P, IB-R, PO); TAP.
#
# forms.table has a line for each form. The first form of every variable is in one job, the second in another, and so
# on; each value that is refused has a job of its own.
# family: forms
# family: forms-portals last TEST_CONDUIT=portals
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/../tap.sh" || exit 1
program=$TEST_BUILD/tests/testhello-$TEST_CONDUIT-seq log=$TEST_LOG/forms-$TEST_CONDUIT.log
[ -x "$program" ] || { tap_skip "$TEST_CONDUIT-conduit" "it is not in this build" && tap_end; }
for name in $(compgen -e); do case $name in GASNET_*) unset "$name" ;; esac done
export SOFTHCA=on GASNET_VERBOSEENV=1

job() { # RANKS SETTINGS...
    local ranks=$1
    shift
    env "$@" timeout -k 2 60 "$TEST_LAUNCH" -n "$ranks" "$program" >"$log" 2>&1 </dev/null
}

# The lines of this conduit: TURN|NAME|PARAMETER|VALUE|SHOWN|PROMISE, where TURN counts the forms of a parameter.
lines=$tap_scratch/lines
awk -F' *[|] *' -v conduit="$TEST_CONDUIT" '
    /^#/ || !(" " $1 " " ~ " " conduit " ") { next }
    {
        name = parameter = $2
        if (split($2, both, / *> */) == 2) { name = both[1]; parameter = both[2] }
        turn = $4 ~ /^!/ ? 0 : ++turns[parameter]
        sub(/ +$/, "", $5)
        print turn "|" name "|" parameter "|" $3 "|" $4 "|" $5
    }' "$TEST_SOURCE/params/forms.table" >"$lines"

while IFS='|' read -r turn name _ value shown promise; do
    [ "$turn" = 0 ] || continue
    job 1 "$name=$value"
    status=$?
    [ $status -ne 0 ] && [ $status -lt 124 ] && grep -qE -- "${shown#!}" "$log"
    status=$?
    tap_ok $status "$promise $name=$value is refused"
    [ $status -eq 0 ] || tap_tail "$log"
done <"$lines"

for ((turn = 1; turn <= $(sort -nr "$lines" | head -n 1 | cut -d'|' -f1); turn++)); do
    settings=()
    while IFS='|' read -r of name _ value _; do
        [ "$of" != "$turn" ] || settings+=("$name=$value")
    done <"$lines"
    job 2 "${settings[@]}"
    status=$?
    tap_ok $status "a job with form $turn of ${#settings[@]} variables"
    [ $status -eq 0 ] || tap_tail "$log"
    while IFS='|' read -r of name parameter value shown promise; do
        [ "$of" = "$turn" ] || continue
        seen=$(sed -nE "s/^ENV parameter: $parameter = (.*[^ ]) *\$/\1/p" "$log")
        seen=${seen#"$value ("} wanted=$shown # the job shows the value as it was written, and in brackets what that is
        [ "$seen" = "$wanted" ] || [ "$seen" = "$wanted)" ] || wanted=
        tap_ok "$([ -n "$wanted" ]; echo $?)" "$promise $name=$value"
        [ -n "$wanted" ] || tap_note "the job reports: ${seen:-nothing}"
    done <"$lines"
done

# Every default of documents.table is one of a variable that forms.table has.
grep -v '^#' "$TEST_SOURCE/params/documents.table" | awk -F' *[|] *' -v conduit="$TEST_CONDUIT" \
    '(" " $1 " ") ~ " " conduit "( |-)" { print $2 }' | sort -u >"$tap_scratch/named"
cut -d'|' -f3 "$lines" | sort -u | comm -23 "$tap_scratch/named" - >"$tap_scratch/missing"
tap_ok "$([ ! -s "$tap_scratch/missing" ]; echo $?)" "forms.table has every variable of documents.table"
sed 's/^/# missing: /' "$tap_scratch/missing"
tap_end
