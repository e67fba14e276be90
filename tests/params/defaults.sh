#!/bin/bash
# defaults.sh - the defaults that the conduits' documents promise, as a job reports them (IB-C, IB-P, IB-R, PO-5 to PO-15); TAP.
#
# documents.table is written from the documents, not from params.def: a default that changes there fails here.
# family: defaults
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/../tap.sh" || exit 1
table=$TEST_SOURCE/params/documents.table
for name in $(compgen -e); do case $name in GASNET_*) unset "$name" ;; esac done
export SOFTHCA=on GASNET_VERBOSEENV=1

# default_of LOG PARAMETER: what the job's report says of the parameter, "(default)" included.
default_of() { sed -nE "s/^ENV parameter: $2 = (.*[^ ]) +(\(default\))$/\1 \2/p" "$1"; }

for conduit in ibv vapi portals; do
    for mode in seq par; do
        program=$TEST_BUILD/tests/testhello-$conduit-$mode log=$TEST_LOG/defaults-$conduit-$mode.log
        [ -x "$program" ] || { tap_skip "$conduit, $mode" "this build has no such library" && continue; }
        timeout -k 2 60 "$TEST_BUILD/gasnetrun_$conduit" -n 2 "$program" >"$log" 2>&1 </dev/null
        tap_ok $? "$conduit, $mode: a job with nothing set"
        while IFS='|' read -r libraries parameter value promise; do
            read -r parameter <<<"$parameter"
            case " $libraries " in *" $conduit "* | *" $conduit-$mode "*) ;; *) continue ;; esac
            read -r value <<<"$value"
            read -r promise <<<"$promise"
            seen=$(default_of "$log" "$parameter")
            [ "$seen" = "$value (default)" ]
            tap_ok $? "$promise $parameter is $value ($conduit, $mode)"
            [ "$seen" = "$value (default)" ] || tap_note "the job reports: ${seen:-nothing}"
        done < <(grep -v '^#' "$table")
    done
done
tap_end
