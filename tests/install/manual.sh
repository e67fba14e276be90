# manual.sh - part of run.sh: the manual pages of the calls (doc/call_pages.awk), in the moved tree.
# shellcheck shell=bash
# shellcheck disable=SC2154 # moved, conduits and tap_scratch are of run.sh
pages=$moved/share/man/man3
# The calls as the compiler sees them, with those that macros declare or are.
calls() {
    local flags
    printf '#include <%s>\n' gasnet.h gasnet_mk.h gasnet_ratomic.h >calls.c
    flags=$(pkg-config --cflags "gasnet-${conduits%% *}-par") || return
    # shellcheck disable=SC2086 # words are meant to be split
    {
        cc -E -P $flags calls.c | grep -oE '\b(gasnet|gex)_[A-Za-z][A-Za-z0-9_]* *\(' | tr -d '( '
        cc -dM -E $flags calls.c | sed -nE 's/^#define ((gasnet|gex)_[A-Za-z][A-Za-z0-9_]*)[ (].*/\1/p'
    } | sort -u
}
own_pages() { grep -L '^\.so ' "$pages"/*.3; } # without those that are another name of one
each_call_has_a_page() {
    calls >calls.found && [ "$(wc -l <calls.found)" -gt 600 ] || return
    (cd "$pages" && ls) | sed 's/\.3$//' | sort >calls.pages
    comm -23 calls.found calls.pages | grep . && return 1
    comm -13 calls.found calls.pages | grep -E '^(gasnet|gex)_' && return 1
    return 0
}
try "manual: each public call has a page, and no other name" each_call_has_a_page
well_formed() { ! own_pages | xargs groff -man -ww -z -Tutf8 2>&1 | grep .; }
if command -v groff >/dev/null; then
    try "manual: groff has no warning" well_formed
else
    tap_skip "manual: groff has no warning" "no groff"
fi
# The names of NAME, and a description; a name leads to the page that has it.
names_agree() {
    own_pages | xargs awk '
        FNR == 1 { on = 0; file = FILENAME; sub(/.*\//, "", file) }
        /^\.SH/ { if (on && !described) print file ": no description"; on = /NAME/; described = 0; next }
        on { if (sub(/ \\- +[^ ].*/, "")) described = 1; sub(/,$/, ""); print $0, file }' >names.own
    grep 'no description' names.own && return 1
    sort -o names.own names.own
    (cd "$pages" && awk '{ f = FILENAME; sub(/\.3$/, "", f) }
        FNR == 1 { sub(/^\.so man3\//, ""); print f, (/^\.TH/ ? FILENAME : $0) }' ./*.3) | sed 's|\./||g' | sort | diff - names.own
}
try "manual: every page has its names and a description in NAME" names_agree
by_man() { # the pages of the moved tree alone
    local names
    mapfile -t names < <(cd "$pages" && ls | sed 's/\.3$//')
    man -M "$moved/share/man" -w "${names[@]}" >man.found && [ "$(wc -l <man.found)" -eq ${#names[@]} ] &&
        man -M "$moved/share/man" gasnet_put_nb_bulk | grep -q 'src must not change until'
}
by_apropos() { # what it would put in its database
    own_pages | xargs lexgrog | sed -n 's/.*: "\([^ ]*\) - .*/\1/p' | sort -u | diff - <(cd "$pages" && ls | sed 's/\.3$//' | sort)
}
if man -w man >/dev/null 2>&1 && command -v lexgrog >/dev/null; then
    try "manual: man finds every call" by_man
    try "manual: apropos knows every call" by_apropos
else
    tap_skip "manual: man finds every call" "no man-db"
fi
