#!/bin/sh
# Writes the table of counters, from counters.def, into a README between its two markers; with --check
# only tests whether the README is current.  Usage: core/counters/counters_table.sh [--check] ibv-conduit/README.md
set -e
check=
if [ "$1" = --check ]; then check=$1 && shift; fi
here=$(dirname "$0")
# shellcheck source=other/base/def_table.sh
. "$here/../../other/base/def_table.sh"
{
    echo '| counter | of | unit | meaning |'
    echo '|---|---|---|---|'
    def_rows "$here/counters.def" 'COUNTER(name, letter, scope, source, fold, unit, help)' \
        'S(name) @ S(scope) @ unit @ help' |
        awk -F'\t' '{ printf "| `%s` | %s | %s | %s |\n", $1, $2 == "PEER" ? "each peer" : "the process", $3, $4 }'
} | put_table "$1" counters core/counters/counters_table.sh "$check"
