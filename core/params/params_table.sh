#!/bin/sh
# Writes the table of parameters, from the params.def beside it, into a README between its two markers; with
# --check only tells whether the README is current.  Usage: core/params/params_table.sh [--check] ibv-conduit/README.md
set -e
check=
if [ "$1" = --check ]; then check=$1 && shift; fi
here=$(dirname "$0")
# shellcheck source=other/tools/def_table.sh
. "$here/../../other/tools/def_table.sh"
{
    echo '| name (older name) | default | same on all ranks | meaning |'
    echo '|---|---|---|---|'
    def_rows "$(dirname "$1")/params.def" 'PARAM(field, type, name, alias, initial, least, most, same, help)' \
        'name @ alias @ S(type) @ S(initial) @ S(same) @ help' '#define GASNETC_DEFAULT_SPARES 2 (4 in PAR)' '#define FIXED(...)' |
        awk -F'\t' '{
            value = $3 == "TEXT" ? "not set" : $3 == "BOOLEAN" ? ($4 ? "yes" : "no") : $4
            printf "| `%s`%s | %s | %s | %s |\n", $1, $2 == "" ? "" : " (`" $2 "`)", value, $5 == "true" ? "yes" : "no", $6
        }'
} | put_table "$1" parameters core/params/params_table.sh "$check"
