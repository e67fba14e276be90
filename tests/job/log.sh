#!/bin/bash
# log.sh - GASNET_LOG and GASNET_LOGFILE: what the library tells about its work; TAP.
#
# family: log
# family: log-portals last TEST_CONDUIT=portals
# family: log-smp last TEST_CONDUIT=smp
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/../tap.sh" || exit 1
log=$TEST_LOG/log.$TEST_CONDUIT.log files=$tap_scratch/files
mkdir -p "$files"
unset GASNET_LOG GASNET_LOGFILE GASNET_QUIET GASNET_VERBOSEENV

# job ENVIRONMENT...: runs collectives, which reach all components; sets `status`.
job() {
    (cd "$files" && env "$@" timeout -k 5 120 "$TEST_LAUNCH" -n 2 "$TEST_BUILD/tests/ex/collectives-$TEST_CONDUIT-seq") \
        >"$log" 2>&1 </dev/null
    status=$?
}

# The lines of a component and level in some files; "" or " debug".
line() { echo "^[0-2][0-9]:[0-5][0-9]:[0-5][0-9]\\.[0-9]{6} rank [01] of 2 on [^ ]+, ($1)$2: "; }
lines() { # COMPONENTS LEVEL FILE...
    local pattern
    pattern=$(line "$1" "$2")
    shift 2
    cat "$@" 2>/dev/null | grep -cE "$pattern"
}
any='job|network|connect|memory|shm|coll|exit'

# says NAME CONDITION...: a TAP line: the job has ended well, and the arithmetic conditions hold.
says() {
    local name=$1 condition wrong=''
    shift
    [ $status -eq 0 ] || wrong=" (status $status)"
    for condition; do (($condition)) || wrong+=" (not $condition)"; done
    [ -z "$wrong" ]
    tap_ok $? "$name$wrong"
    [ -z "$wrong" ] || tap_tail "$log"
}

job
says "nothing is told unless it is asked for" "$(lines "$any" '( debug)?' "$log") == 0"
job GASNET_LOG=info
parts=(job network memory coll exit)
if [ "$TEST_CONDUIT" = ibv ]; then parts+=(connect); fi
[ "$TEST_CONDUIT" != smp ] || parts=(job memory coll exit)
for part in "${parts[@]}"; do
    says "info: both ranks tell of $part" "$(grep -E "$(line "$part" '')" "$log" | cut -d' ' -f3 | sort -u | wc -l) == 2"
done
says "info: no steps" "$(lines "$any" ' debug' "$log") == 0"
job GASNET_LOG=debug
says "debug: steps, too" "$(lines "$any" '' "$log") > 0" "$(lines coll ' debug' "$log") > 0"
job GASNET_LOG=warn,coll:debug,exit:info
says "of two components" "$(lines coll ' debug' "$log") > 0" "$(lines exit '' "$log") > 0" \
    "$(lines 'job|network|connect|memory|shm' '( debug)?' "$log") == 0"
job GASNET_LOG=exit:debug,info,coll:error
says "what comes later counts" "$(lines job '' "$log") > 0" "$(lines coll '( debug)?' "$log") == 0"

# Warnings.
job GASNET_LOG=warn GASNET_MAX_THREADZ=5
says "warnings are printed" "$(grep -c '^\*\*\* WARNING' "$log") == 1"
job GASNET_LOG=error GASNET_MAX_THREADZ=5
says "error: no warnings" "$(grep -c '^\*\*\* WARNING' "$log") == 0"

# Files.
job GASNET_LOG=info GASNET_LOGFILE=of.%
says "a file for each rank" "$(lines "$any" '' "$log") == 0" "$(lines job '' "$files/of.0") > 0" "$(lines job '' "$files/of.1") > 0"
before=$(wc -l <"$files/of.0")
job GASNET_LOG=info GASNET_LOGFILE=of.%
says "it is written anew by the next job" "$(wc -l <"$files/of.0") == $before"
job GASNET_LOG=exit:info GASNET_LOGFILE="$files/all"
before=$(lines exit '' "$files/all")
job GASNET_LOG=exit:info GASNET_LOGFILE="$files/all"
says "a file for all ranks, to which the next job appends" "$before >= 4" "$(lines exit '' "$files/all") == 2 * $before"
job GASNET_LOG=exit:info GASNET_LOGFILE=stdout
says "standard output" "$(lines exit '' "$log") >= 4"
job GASNET_LOGFILE=unasked.%
says "no file if nothing is asked for" "$(find "$files" -name 'unasked*' | wc -l) == 0"
job GASNET_LOG=info GASNET_LOGFILE=/nowhere/at/all
says "a file that cannot be made: a line that names it, and the log on standard error" "$(lines job '' "$log") > 0" \
    "$(grep -cE 'WARNING .*GASNET_LOGFILE=/nowhere/at/all: cannot open /nowhere/at/all: No such file' "$log") >= 1"

# Values that are none.
for value in loud conect:debug exit: :info exit:loud ',,' 'debug,'; do
    job GASNET_LOG="$value"
    case $value in
    'debug,') says "a comma at the end is allowed" "$(lines job '' "$log") > 0" ;;
    *)
        [ $status -ne 0 ] && [ "$(grep -c '^\*\*\*' "$log")" -eq 1 ] &&
            grep -qE 'FATAL ERROR .*GASNET_LOG.* is neither a level .* nor COMPONENT:LEVEL; the components are job, .*exit' "$log"
        tap_ok $? "GASNET_LOG=$value: one line that names what is allowed"
        ;;
    esac
done
tap_end
