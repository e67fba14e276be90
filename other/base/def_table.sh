# def_table.sh - tables in READMEs that are made from a .def file, for the scripts that make them.
#
# To be sourced.
# shellcheck shell=sh

# def_rows FILE MACRO-AND-PARAMETERS FIELDS [DEFINE...]: the rows of FILE, one a line, tabs between the
# fields, which are string constants joined by @.  The preprocessor reads the file.
def_rows() {
    def_file=$1 def_head=$2 def_fields=$3
    shift 3
    printf '%s\n' "$@" '#define S_(x) #x' '#define S(x) S_(x)' "#define $def_head ROW $def_fields" \
        "#include \"$(basename "$def_file")\"" |
        "${CC:-cc}" -E -P -I"$(dirname "$def_file")" -x c - | tr '\n' ' ' | sed 's/ROW /\n/g' |
        sed -n 's/" @ "/\t/g; s/^"\(.*\)" *$/\1/p'
}

# env_rows FILE: the rows of a table of environment variables (env_table.h), FIXED ones left out: name, older name, kind,
# default, least, most, "power" if only powers of two are allowed, words or form, equal on all ranks, help.
env_rows() {
    def_rows "$1" 'PARAM(field, kind, name, alias, initial, allowed, same, help)' \
        'name @ alias @ S(kind) @ S(initial) @ allowed @ S(same) @ help' '#define FIXED(...)' \
        '#define GASNETC_DEFAULT_SPARES 2 (4 in PAR)' '#define RANGE(least, most) S(least) @ S(most) @ "" @ ""' \
        '#define POWERS(least, most) S(least) @ S(most) @ "power" @ ""' '#define WORDS(words) "" @ "" @ "" @ words' \
        '#define FORM(form, check) WORDS(form)' '#define ANY WORDS("")'
}

# put_table README MARKER MAKER [--check]: standard input replaces the lines between
# "<!-- MARKER: " and "<!-- MARKER end -->"; with --check the README is only compared.
put_table() (
    new=$(mktemp) && trap 'rm -f "$new" "$new.table"' EXIT && cat >"$new.table" &&
        awk -v table="$new.table" -v marker="$2" '
            $0 ~ "^<!-- " marker " end -->" { inside = 0 }
            !inside { print }
            $0 ~ "^<!-- " marker ": " { inside = 1; while ((getline line < table) > 0) print line }' "$1" >"$new" || exit 1
    if [ "$4" = --check ]; then
        cmp -s "$new" "$1" || { echo "$1: its table is not current; run $3 $1"; exit 1; }
    else
        cat "$new" >"$1"
    fi
)
