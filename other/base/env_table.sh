#!/bin/sh
# Writes the table of environment variables into a README between its two markers, from the params.def in its folder or
# the settings.def below it; with --check only reports whether the README is current.
# Usage: other/base/env_table.sh [--check] ibv-conduit/README.md
set -e
check=
if [ "$1" = --check ]; then check=$1 && shift; fi
readme=$1
folder=$(dirname "$readme")
here=$(dirname "$0")
# shellcheck source=other/base/def_table.sh
. "$here/def_table.sh"

parameters() {
    echo '| name (older name) | default | same on all ranks | meaning |'
    echo '|---|---|---|---|'
    def_rows "$folder/params.def" 'PARAM(field, type, name, alias, initial, least, most, same, help)' \
        'name @ alias @ S(type) @ S(initial) @ S(same) @ help' '#define GASNETC_DEFAULT_SPARES 2 (4 in PAR)' '#define FIXED(...)' |
        awk -F'\t' '{
            value = $3 == "TEXT" ? "not set" : $3 == "BOOLEAN" ? ($4 ? "yes" : "no") : $4
            if ($3 == "MEGABYTES" && $4 > 0) value = $4 / 1024 "K" # a number alone counts megabytes
            printf "| `%s`%s | %s | %s | %s |\n", $1, $2 == "" ? "" : " (`" $2 "`)", value, $5 == "true" ? "yes" : "no", $6
        }'
}

settings() {
    echo '| variable | values | default | meaning |'
    echo '|---|---|---|---|'
    def_rows "$(find "$folder" -name settings.def)" 'SETTING(field, kind, name, initial, least, most, values, check, help)' \
        'name @ S(kind) @ S(least) @ S(most) @ values @ initial @ help' '#define NULL ""' |
        awk -F'\t' '{
            if ($2 == "NUMBER") $5 = $3 ".." $4
            if ($2 == "BOOLEAN") $5 = "yes|no"
            gsub(/\|/, "\\|", $5)
            printf "| `%s` | `%s` | %s | %s |\n", $1, $5, $6 == "" ? "not set" : $6, $7
        }'
}

table=settings
if [ -e "$folder/params.def" ]; then table=parameters; fi
$table | put_table "$readme" $table other/base/env_table.sh "$check"
