#!/bin/sh
# Writes the page of gasnetrun --trace-report as two arrays of C: what is before its data, and what is behind it.
# Usage: other/launch/report/embed.sh > page_text.c
#
# A line @NAME@ of page.html stands for the file NAME; @data@ for the data.
set -eu
cd "$(dirname "$0")"
whole() {
    while IFS= read -r line; do
        case $line in
        @data@) echo "$line" ;;
        @*@)
            name=${line#@}
            cat "${name%@}"
            ;;
        *) printf '%s\n' "$line" ;;
        esac
    done <page.html
}
array() { # NAME: the bytes of stdin
    echo "const unsigned char $1[] = {"
    od -An -v -tu1 | sed 's/  *\([0-9]\)/\1/; s/  */,/g; s/$/,/'
    echo "};"
    echo "const size_t $1_size = sizeof $1;"
}
cat <<'H'
/* The page of gasnetrun --trace-report; made by other/launch/report/embed.sh. */
#include "other/launch/report/report.h"
H
whole | sed '/^@data@$/,$d' | array page_head
whole | sed '1,/^@data@$/d' | array page_tail
