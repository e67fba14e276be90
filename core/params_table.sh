#!/bin/sh
# Writes the table of parameters, from params.def, into a README between its two markers; with --check
# only tells whether the README is current.  Usage: core/params_table.sh [--check] ibv-conduit/README.md
set -e
check=
if [ "$1" = --check ]; then check=1 && shift; fi
readme=$1
here=$(dirname "$0")
new=$(mktemp)
trap 'rm -f "$new" "$new.table"' EXIT
{
    echo '| name (older name) | default | same on all ranks | meaning |'
    echo '|---|---|---|---|'
    # Each row comes out of the preprocessor as five strings.
    printf '%s\n' \
        '#define GASNETC_DEFAULT_SPARES 2 (4 in PAR)' \
        '#define S_(x) #x' \
        '#define S(x) S_(x)' \
        '#define PARAM(f, type, name, alias, initial, least, most, same, help) ROW name @ alias @ #type @ S(initial) @ #same @ help' \
        '#include "params.def"' | sed 's/#type/S(type)/; s/#same/S(same)/' |
        "${CC:-cc}" -E -P -I"$here" -x c - | tr '\n' ' ' | sed 's/ROW /\n/g' | sed -n 's/" @ "/\t/g; s/^"\(.*\)" *$/\1/p' |
        awk -F'\t' '{
            value = $3 == "TEXT" ? "not set" : $3 == "BOOLEAN" ? ($4 ? "yes" : "no") : $4
            printf "| `%s`%s | %s | %s | %s |\n", $1, $2 == "" ? "" : " (`" $2 "`)", value, $5 == "true" ? "yes" : "no", $6
        }'
} >"$new.table"
awk -v table="$new.table" '
    /^<!-- parameters end -->/ { inside = 0 }
    !inside { print }
    /^<!-- parameters: / { inside = 1; while ((getline line < table) > 0) print line }' "$readme" >"$new"
if [ -n "$check" ]; then
    cmp -s "$new" "$readme" || { echo "$readme: its table of parameters is not that of core/params.def; run core/params_table.sh $readme"; exit 1; }
else
    cat "$new" >"$readme"
fi
