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

table=settings def=$(find "$folder" -name settings.def)
if [ -e "$folder/params.def" ]; then table=parameters def=$folder/params.def; fi

env_rows "$def" | awk -F'\t' -v parameters="${table%settings}" '
    # An expression as a number, of bytes with its unit.
    function number(text,  part, unit) {
        gsub(/INT64_C|[() ]/, "", text)
        if (text == "INT64_MAX") return ""
        if (split(text, part, "<<") == 2) text = part[1] * 2 ^ part[2]
        if ($3 !~ /SIZE|MEGABYTES|MEMORY/ || text < 1024) return text
        for (unit = 0; text % 1024 == 0; unit++) text /= 1024
        return text substr("KMGT", unit, unit > 0)
    }
    BEGIN {
        same = parameters ? " same on all ranks |" : ""
        printf "| variable%s | values | default |%s meaning |\n", parameters ? " (older name)" : "", same
        print "|---|---|---|---|" (parameters ? "---|" : "")
    }
    {
        values = $3 == "BOOLEAN" ? "yes|no" : $5 == "" ? $8 : number($5) ".." number($6)
        gsub(/\|/, "\\|", values)
        value = $3 ~ /TEXT|MAP/ ? "not set" : $3 == "BOOLEAN" ? ($4 ? "yes" : "no") : $4 ~ /^[0-9]+$/ ? number($4) : $4
        same = !parameters ? "" : $9 == "true" ? " yes |" : " no |"
        printf "| `%s`%s | %s%s | %s |%s %s |\n", $1, $2 == "" ? "" : " (`" $2 "`)",
            "`" values "`", $7 == "" ? "" : ", a power of two", value, same, $10
    }' | put_table "$readme" $table other/base/env_table.sh "$check"
