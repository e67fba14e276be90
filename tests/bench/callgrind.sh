# callgrind.sh - the cost of a run under callgrind inside the library, above the verbs calls.
#
# To be sourced by the scripts of this folder; callgrind_options may hold more of them.
# shellcheck shell=bash

callgrind_options=
# Names of objects and files that belong to the verbs layer.
callgrind_below='libibverbs|libsofthca|librdmacm|other/softhca/'
# The command that starts the program, which is a job of two ranks.
callgrind_launch=("$TEST_LAUNCH" -spawner=ssh -n 2)

# callgrind_run DIR PROGRAM ARGS...: collects the instructions inside counted(), and no others, in DIR.  Threads take turns: a
# library's own must not starve while another one looks.
callgrind_run() {
    local dir=$1
    shift
    mkdir -p "$dir" && rm -f "$dir"/[0-9]*
    # shellcheck disable=SC2086 # several words
    "${callgrind_launch[@]}" valgrind -q --tool=callgrind --fair-sched=try --collect-atstart=no --trace-children=yes \
        --toggle-collect=counted --compress-strings=no --compress-pos=no $callgrind_options \
        --callgrind-out-file="$dir/%p" "$@" \
        >"$dir/log" 2>&1 </dev/null || { tap_tail "$dir/log" >&2 && return 1; }
}

# Sum of both ranks' instructions, less what lies below calls into the verbs layer; with OBJECT only what lies below calls
# into this library.
callgrind_instructions() { # DIR [OBJECT]
    awk -v below="$callgrind_below" -v only="$2" '
        # An arc from above into the verbs layer takes its inclusive cost out of the sum.
        function layer(object, file) { return object ~ below || file ~ below }
        function inside(object) { return only == "" || index(object, only) }
        /^ob=/ { object = substr($0, 4); next }
        /^fl=/ { file = substr($0, 4); next }
        /^f[ie]=/ { next }
        /^fn=/ { next }
        /^cob=/ { called_object = substr($0, 5); next }
        /^cf[il]=/ { called_file = substr($0, 5); next }
        /^cfn=/ { next }
        /^calls=/ {
            getline
            if (called_object == "") called_object = object
            if (called_file == "") called_file = file
            if (inside(object) && !layer(object, file) && layer(called_object, called_file)) out += $NF
            if (!inside(object) && inside(called_object)) into += $NF
            called_object = called_file = ""
            next
        }
        /^totals:/ { total += $2 }
        END { print (only == "" ? total : into) - out }' "$1"/[0-9]*
}

# The figure of a row, from what a script of this folder has printed.
callgrind_figure() { # FILE NAME
    awk -v name="$2" '{
        sub(/^(not )?ok [0-9]+ - /, "") || sub(/.*/, "")
        if (index($0, name ": ") == 1) print substr($0, length(name) + 3) + 0
    }' "$1"
}

# How many times an instruction of OBJECT that locks the bus was executed; callgrind_options must
# hold --dump-instr=yes.
callgrind_locked() { # DIR OBJECT
    objdump -d --no-show-raw-insn "$2" | awk -v object="$(basename "$2")" '
        FILENAME == "-" {
            if (/\tlock/ || /\txchg .*\(/) locked["0x" substr($1, 1, length($1) - 1)]
            next
        }
        /^ob=/ { ours = index($0, object); next }
        /^calls=/ { getline; next }
        ours && ($1 in locked) { sum += $NF }
        END { print sum + 0 }' - "$1"/[0-9]*
}
