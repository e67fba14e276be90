# manual.awk - turns README.md and manual.md into the manual page softhca(7), for man(1).
#
# Knows what those two files use: headings, paragraphs, lists, tables, indented examples, `code` and
# comments. A section whose heading is in the variable `skip` is left out.  Usage:
#   awk -f manual.awk -v date=2026-11-21 -v skip='The inside, in reading order' README.md manual.md

function text(s, out, i, code, part, n) {
    gsub(/\\/, "\\e", s)
    n = split(s, part, /`/)
    out = ""
    for (i = 1; i <= n; i++) {
        code = i % 2 == 0
        if (code) {
            gsub(/-/, "\\-", part[i])
            out = out "\\fB" part[i] "\\fR"
        } else {
            gsub(/\*\*/, "", part[i])
            out = out part[i]
        }
    }
    if (out ~ /^[.']/) out = "\\&" out
    return out
}

function put(s) { print text(s) }

function end_example() {
    if (example) print ".EE\n.RE"
    example = 0
}

# A table becomes a list: the first cell is what is explained, the others follow with their heads.
function row(line, cell, n, i, body) {
    gsub(/\\\|/, "\001", line)
    sub(/^\|[ ]*/, "", line)
    sub(/[ ]*\|[ ]*$/, "", line)
    n = split(line, cell, /[ ]*\|[ ]*/)
    for (i = 1; i <= n; i++) gsub(/\001/, "|", cell[i])
    if (!table) {
        for (i = 1; i <= n; i++) head[i] = cell[i]
        table = 1
        return
    }
    print ".TP\n" text(cell[1])
    body = text(cell[2])
    if (n > 2) body = "\\fI" head[2] ":\\fR " body
    for (i = 3; i <= n; i++) body = body "\n.br\n\\fI" head[i] ":\\fR " text(cell[i])
    print body
}

BEGIN {
    print ".TH SOFTHCA 7 " date " softhca \"softhca manual\"\n.ad l\n.nh"
    print ".SH NAME\nsofthca \\- a verbs device made of software"
    print ".SH SYNOPSIS"
    print ".B softhca\\-run\n.I program\n.RI [ argument ...]\n.br\n.B cc\n.I program.c\n.B \\-lsofthca \\-libverbs"
    print ".SH DESCRIPTION"
}
/^<!--/ { next }
/^# / { hidden = 0; next }
/^## / {
    table = 0
    end_example()
    title = substr($0, 4)
    hidden = index(";" skip ";", ";" title ";") > 0
    if (!hidden) print ".SH \"" toupper(title) "\""
    item = blank = 0
    next
}
hidden { next }
/^$/ { blank = 1; next }
/^\|[-| ]*$/ { next }
/^\|/ { end_example(); row($0); blank = 0; next }
{ if (table) { table = 0; blank = 1 } }
/^    / && (blank || example) && !item {
    if (!example) print ".PP\n.RS 4\n.EX"
    else if (blank) print ""
    example = 1; blank = 0
    put(substr($0, 5))
    next
}
{ end_example() }
/^- / { print ".IP \\(bu 2"; item = 1; blank = 0; put(substr($0, 3)); next }
/^[0-9]+\. / { print ".IP " $1 " 3"; item = 1; blank = 0; sub(/^[0-9]+\. /, ""); put($0); next }
/^ / && item { sub(/^ +/, ""); put($0); next }
{
    if (blank || item) print ".PP"
    item = blank = 0
    put($0)
}
END { end_example() }
