#!/bin/sh
# Writes the table of variables, from the settings.def below the folder of a README, into that between its two markers; with --check
# only tells whether the README is current.  Usage: other/softhca/device/settings_table.sh [--check] other/softhca/README.md
set -e
check=
if [ "$1" = --check ]; then check=$1 && shift; fi
here=$(dirname "$0")
# shellcheck source=other/tools/def_table.sh
. "$here/../../tools/def_table.sh"
{
    echo '| variable | values | default | meaning |'
    echo '|---|---|---|---|'
    def_rows "$(find "$(dirname "$1")" -name settings.def)" 'SETTING(field, kind, name, initial, values, check, help)' \
        'name @ values @ initial @ help' |
        awk -F'\t' '{
            gsub(/\|/, "\\|", $2)
            printf "| `%s` | `%s` | %s | %s |\n", $1, $2, $3 == "" ? "not set" : $3, $4
        }'
} | put_table "$1" settings other/softhca/device/settings_table.sh "$check"
