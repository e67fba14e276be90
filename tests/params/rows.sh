# rows.sh - what the scripts share that prove what parameters do: a probe's lines are judged, and then every
# row of a conduit's table is held against ranges, older names and processes that differ.
#
# To be sourced after tap.sh; `probe` names a program of tests/, `log` a file.
# shellcheck shell=bash disable=SC2154
# shellcheck source=other/base/def_table.sh
. "$TEST_SOURCE/../other/base/def_table.sh"

export TEST_HANG=40
unset GASNET_VERBOSEENV
rows=$tap_scratch/rows proved=' '

env_rows "$TEST_SOURCE/../$TEST_CONDUIT-conduit/params.def" | awk -F'\t' -v OFS='|' '{ gsub(/\|/, " ", $8); $1 = $1; print }' >"$rows"

mode=seq
job() { # N PROGRAM ARGUMENTS ENVIRONMENT...: sets `status`
    local n=$1 program=$2 arguments=$3
    shift 3
    # shellcheck disable=SC2086 # arguments are words
    env "$@" timeout -k 2 60 "$TEST_LAUNCH" -n "$n" ${under:+"$under"} "$TEST_BUILD/tests/$program" $arguments \
        >"$log" 2>&1 </dev/null
    status=$?
}
under=

# sees TEXT N ARGUMENTS PATTERNS ENVIRONMENT...: probe ends well and each line of PATTERNS matches one of its own.
sees() {
    local text=$1 n=$2 arguments=$3 patterns=$4 pattern word wrong=''
    shift 4
    for word; do case $word in GASNET_*) proved="$proved${word%%=*} " ;; esac done
    job "$n" "$probe-$TEST_CONDUIT-$mode" "$arguments" "$@"
    [ $status -eq 0 ] || wrong=" (status $status)"
    while IFS= read -r pattern; do
        grep -qE -- "$pattern" "$log" || wrong="$wrong (no /$pattern/)"
    done <<<"$patterns"
    [ -z "$wrong" ]
    tap_ok $? "$text: $*$wrong"
    [ -z "$wrong" ] || tap_tail "$log"
}

# elsewhere NAME FILE PATTERN TEXT: another family proves the promise, by lines that match.
elsewhere() {
    proved="$proved$1 "
    grep -qE -- "$3" "$TEST_SOURCE/$2"
    tap_ok $? "$1: tests/$2: $4"
}

# ---- every row

# Processes may differ in all parameters that need not be equal, and in no others.
cat >"$tap_scratch/differ" <<'END'
#!/bin/bash
# DIFFER=NAME:FIRST:OTHERS; the first process gets the first value
IFS=: read -r name first others <<<"$DIFFER"
if mkdir "$DIFFER_CLAIM" 2>/dev/null; then others=$first; fi
export "$name=$others"
exec "$@"
END
chmod +x "$tap_scratch/differ"
differ() { # NAME FIRST OTHERS
    rm -rf "$tap_scratch/claim"
    under=$tap_scratch/differ
    # A value of the console, such as that of tap.sh, would be every process's.
    job 2 "testhello-$TEST_CONDUIT-seq" "" -u "$1" "DIFFER=$1:$2:$3" "DIFFER_CLAIM=$tap_scratch/claim"
    under=
}

# says NAME PATTERN...: the job ended with an error of one line, which matches all patterns.
says() {
    local name=$1 wrong='' pattern
    shift
    [ $status -ne 0 ] && [ $status -lt 124 ] || wrong=" (status $status)"
    [ "$(grep -vc '^#\|^ok' "$log")" -eq 1 ] || wrong="$wrong ($(grep -vc '^#\|^ok' "$log") lines)"
    for pattern; do grep -qE -- "$pattern" "$log" || wrong="$wrong (no /$pattern/)"; done
    [ -z "$wrong" ]
    tap_ok $? "$name$wrong"
    [ -z "$wrong" ] || tap_tail "$log"
}

number() { # an expression of params.def, as a number
    case $1 in
    INT64_MAX) echo 9223372036854775807 ;;
    *.*) echo 0 ;;
    *) echo $((${1//INT64_C/})) ;;
    esac
}

# All that are in the table.
every_row() {
    local name alias type least most power words same low high above first others bad unit
    while IFS='|' read -r name alias type _ least most power words same _; do
        [[ $proved == *" $name "* || ( -n $alias && $proved == *" $alias "* ) ]]
        tap_ok $? "$name: a line above is about what it does"
        low=$(number "$least") high=$(number "$most")
        if [ "$most" = INT64_MAX ]; then above=99999999999999999999; else above=$((high + 1)); fi
        # two good values: beyond zero, which often is "computed", and powers of two
        first=$((low > 0 ? 2 * low : 2)) others=$((low > 0 ? 4 * low : 4))
        case $name in
        GASNET_USE_SRQ) first=0 others=1 ;;
        GASNET_PHYSMEM_PINNABLE_RATIO) first=0.5 others=0.25 ;;
        GASNET_PIN_MAXSZ) first=1048576 others=2097152 ;;
        esac
        case $type in
        BOOLEAN) first=0 others=1 ;;
        WORD*) read -r first others _ < <(sed 's/=[^ ]*//g' <<<"$words") ;;
        esac
        if [ "$same" = true ]; then
            differ "$name" $first $others
            says "IB-P IB-R $name: ranks that differ are named" "$name" 'rank 0 .*rank 1'
        fi
        case $type in
        NUMBER | SIZE | MEGABYTES | MEMORY | SECONDS)
            unit=''
            [ "$type" != MEGABYTES ] || unit=B # the table has bytes; without a suffix they are megabytes
            for bad in banana $((low - 1))$unit $above$unit; do
                job 1 "testhello-$TEST_CONDUIT-seq" "" "$name=$bad"
                says "$name=$bad: one line with name, value and range" "$name=$bad: .*(is|range is) [-0-9.]+( [A-Z]*B?)? to (any size|[0-9.]+( [KMGT]?B)?)\$"
            done
            ;;
        BOOLEAN)
            job 1 "testhello-$TEST_CONDUIT-seq" "" "$name=maybe"
            says "$name=maybe: one line with name, value and what there is" "$name=maybe: not yes or no"
            ;;
        WORD*)
            job 1 "testhello-$TEST_CONDUIT-seq" "" "$name=maybe"
            says "$name=maybe: one line with name, value and all words" "$name=maybe: not one of ${words// /.}\$"
            ;;
        esac
        if [ -n "$power" ]; then
            job 1 "testhello-$TEST_CONDUIT-seq" "" "$name=24"
            says "$name=24: one line with name, value and range" "$name=24: not a power of two; the range is "
        fi
        if [ -n "$alias" ]; then
            job 1 "testhello-$TEST_CONDUIT-seq" "" "$alias=$first" GASNET_VERBOSEENV=1
            [ $status -eq 0 ] && grep -qE "ENV parameter: $name += +$first( |$)" "$log"
            tap_ok $? "$alias is $name"
            job 1 "testhello-$TEST_CONDUIT-seq" "" "$alias=banana"
            says "$alias=banana: with both names" "$name=banana: .*$alias"
        fi
    done <"$rows"
    "$TEST_LAUNCH" --help-env >"$log" 2>&1
    while IFS='|' read -r name _; do
        grep -qE "^ *$name  \[default: " "$log" || echo "$name"
    done <"$rows" >"$tap_scratch/missing"
    tap_ok "$([ ! -s "$tap_scratch/missing" ]; echo $?)" "--help-env lists every row of the table"
    sed 's/^/# missing: /' "$tap_scratch/missing"
}
