# call_pages.awk - writes a manual page of section 3 for each public call of the headers that it is given, and prints the
# names of the pages.
#
#   awk -v out=DIRECTORY -v version=VERSION -f call_pages.awk HEADER ...
#
# A page has the calls that one comment describes; further names are pages of one line, `.so`.  In a header, at the start
# of a line:
# - The first comment has the rules of all its calls.  Where it says that another header describes the calls, that
#   header's rules are added; those of gasnet.h and gasnetex.h, of which one is that of the client, hold for all pages.
# - `/* --- Title --- */` begins a section, `/* --- Title: text. */` one whose calls this text describes.
# - A comment above a blank line is about all of its section, any other about the calls that follow it up to a blank
#   line or a comment.  It may begin with the prototype of a call that is a macro.
# - A macro that pastes names is expanded where it is used.

function public(name) { return name ~ /^(gasnet|gex)_[A-Za-z]/ || name ~ /^GASNET_(BLOCKUNTIL|BEGIN_FUNCTION|GET_THREADINFO|POST_THREADINFO)$/ }

# Text for roff: a backslash or a control character at the start of a line is no request.
function roff(text) {
    gsub(/\\/, "\\e", text)
    if (text ~ /^[.']/) text = "\\&" text
    return text
}
function bold(text) {
    gsub(/(gasnet|gex)_[A-Za-z0-9_]*[A-Za-z0-9]/, "\\fB&\\fP", text)
    gsub(/\\fP[.]h/, ".h\\fP", text)
    return text
}

# The lines of a comment, joined by newlines, as paragraphs; indented lines as they are.
function paragraphs(text,   n, i, lines, line, result, gap, literal) {
    n = split(text, lines, "\n")
    gap = 1
    for (i = 1; i <= n; i++) {
        line = lines[i]
        if (literal && line !~ /^   /) { result = result ".fi\n"; literal = 0; gap = 1 }
        if (line ~ /^ *$/) { gap = 1; continue }
        if (line ~ /^   /) {
            if (!literal) { result = result ".PP\n.nf\n"; literal = 1 }
            result = result roff(line) "\n"
            continue
        }
        if (line ~ /^- /) { result = result ".IP \\(bu 2\n"; line = substr(line, 3); gap = 0 }
        if (gap) result = result ".PP\n"
        gap = 0
        sub(/^ */, "", line)
        sub(/ *$/, "", line)
        result = result bold(roff(line)) "\n"
    }
    return result (literal ? ".fi\n" : "")
}

# The first sentence, for the line NAME.
function summary(text,   at) {
    sub(/^[ \n]*/, "", text)
    if ((at = index(text, "\n\n"))) text = substr(text, 1, at - 1)
    gsub(/\n *(- )?/, " ", text)
    if (match(text, /[^ .][.] +[^ .]/)) text = substr(text, 1, RSTART)
    sub(/[.:;, ]*$/, "", text)
    gsub(/  +/, " ", text)
    return roff(text)
}

# A prototype, broken at commas so that lines stay within 78 columns.
function wrapped(text,   n, i, words, line, result) {
    n = split(text, words, ", ")
    line = words[1]
    for (i = 2; i <= n; i++) {
        if (length(line) + length(words[i]) > 75) { result = result roff(line ",") "\n"; line = "    " words[i] }
        else line = line ", " words[i]
    }
    return result roff(line) "\n"
}

# A call of the page that is open, or of a new one.
function call(name, prototype,   page, stem) {
    if (!public(name) || name in page_of) return
    stem = name
    sub(/_v2$/, "", stem)
    # A macro that counts the arguments belongs to the calls whose names have the number.
    if (prototype ~ /\(\.\.\.\)/ && (stem "0" substr(name, length(stem) + 1)) in page_of) page = page_of[stem "0" substr(name, length(stem) + 1)]
    else if (comment != "") page = comment_page
    else page = section_page
    if (!page) {
        page = ++pages
        if (comment != "") comment_page = page
        else section_page = page
        text_of[page] = comment != "" ? comment : section_text
        title_of[page] = title
        from[page] = section
        include_of[page] = client ? client : base
        rules_of[page] = base
    }
    page_of[name] = page
    names[page] = names[page] (names[page] == "" ? "" : " ") name
    # Of calls with 0 to 16 arguments the first two show the pattern.
    if (stem ~ /[A-Za-z]([2-9]|1[0-6])$/) { more[page] = 1; return }
    gsub(/[ \t\n]+/, " ", prototype)
    synopsis[page] = synopsis[page] wrapped(prototype)
}

# The call that a declaration declares: all up to `{` or `;`.
function declared(text,   name) {
    gsub(/GASNETI_INLINE|extern|GASNETI_MUST_SYNC|GASNETI_ATTRIBUTE *\(\([^)]*\)\)|GASNETI_PURE/, "", text)
    sub(/[{;].*/, "", text)
    sub(/^[ \n]*/, "", text)
    sub(/[ \n]*$/, "", text)
    if (!index(text, "(")) return
    name = text
    sub(/[ \n]*\(.*/, "", name)
    sub(/.*[ \n*]/, "", name)
    sub(/ +\(/, "(", text)
    call(name, text ";")
}

# Splits text at the commas that stand in no parentheses.
function arguments(text, list,   n, i, c, level) {
    n = 1
    list[1] = ""
    for (i = 1; i <= length(text); i++) {
        c = substr(text, i, 1)
        level += (c == "(") - (c == ")")
        if (c == "," && !level) {
            list[++n] = ""
        } else if (c != " " && c != "\n" || list[n] != "") list[n] = list[n] c
    }
    return n
}
function balanced(text) { return gsub(/\(/, "(", text) == gsub(/\)/, ")", text) }
function replaced(text, word, by,   result) {
    while (match(text, /[A-Za-z_][A-Za-z_0-9]*/)) {
        result = result substr(text, 1, RSTART - 1) (substr(text, RSTART, RLENGTH) == word ? by : substr(text, RSTART, RLENGTH))
        text = substr(text, RSTART + RLENGTH)
    }
    return result text
}
# What a use of a macro declares.
function expand(use, depth,   name, text, n, i, given, wanted, part) {
    name = use
    sub(/\(.*/, "", name)
    if (!(name in body) || depth > 3) return
    sub(/^[^(]*\(/, "", use)
    sub(/\)[^)]*$/, "", use)
    n = arguments(use, given)
    split(parameters[name], wanted, / *, */)
    text = body[name]
    for (i = 1; i <= n; i++) text = replaced(text, wanted[i], given[i])
    gsub(/ *## */, "", text)
    while (match(text, /(GASNETI_INLINE|extern) [^{;]*[{;]|GASNETI_[A-Z_]+\([^()]*\)/)) {
        part = substr(text, RSTART, RLENGTH)
        text = substr(text, RSTART + RLENGTH)
        if (part ~ /[{;]$/) declared(part)
        else expand(part, depth + 1)
    }
}

# With a capital letter, unless it begins with a name.
function capital(text) { return text ~ /^[a-z]+ / ? toupper(substr(text, 1, 1)) substr(text, 2) : text }

function begin_section(text) {
    sub(/^--- /, "", text)
    sub(/ ---[ \n]*$/, "", text)
    section++
    title = text
    sub(/:.*/, "", title)
    gsub(/\n/, " ", title)
    hidden = text ~ /not for clients/
    section_text = comment = ""
    section_page = 0
    if (text ~ /[.][ \n]*$/ && index(text, ":")) section_text = capital(substr(text, index(text, ":") + 2))
    else note[section] = index(text, ":") ? capital(substr(text, index(text, ":") + 2)) "." : ""
}

# A comment of a header, whole.
function remark(text, above_blank,   prototype) {
    if (!have_rules) {
        have_rules = 1
        sub(/^[^\n]* - [^\n]*\n( *[^ \n][^\n]*\n)*/, "", text)
        if (match(text, /Private part of [a-z_]*[.]h[.;]? */)) {
            client = substr(text, RSTART + 16, RLENGTH - 16)
            sub(/[.]h.*/, ".h", client)
            text = substr(text, 1, RSTART - 1) substr(text, RSTART + RLENGTH)
        }
        if (match(text, /[a-z_]*[.]h describes the calls[.] */)) {
            also[base] = substr(text, RSTART, index(substr(text, RSTART), " ") - 1)
            text = substr(text, 1, RSTART - 1) substr(text, RSTART + RLENGTH)
        }
        gsub(/this header/, base, text)
        gsub(/comment says/, "page says", text)
        rules[base] = text
    } else if (text ~ /^clang-format/) return
    else if (text ~ /^---/) begin_section(text)
    else if (above_blank) {
        if (!hidden) note[section] = note[section] "\n\n" text
        comment = ""
    } else {
        comment = text
        comment_page = 0
        if (text ~ /^[a-z][A-Za-z_ ]*[ *]+(gasnet|gex)_[A-Za-z_]*\(/ && match(text, /\)\n/)) {
            prototype = substr(text, 1, RSTART)
            comment = substr(text, RSTART + 2)
            declared(prototype)
        }
    }
}

FNR == 1 {
    base = FILENAME
    sub(/.*\//, "", base)
    have_rules = hidden = in_comment = 0
    client = title = comment = section_text = pending = in_define = held = ""
    section++
    section_page = 0
}
{ sub(/\r$/, "") }

# A comment is judged when the line below it is known.
have_comment {
    have_comment = 0
    remark(held, $0 ~ /^$/)
}
in_comment || /^\/\*/ {
    line = $0
    if (!in_comment) { sub(/^\/\* ?/, "", line); held = "" }
    else { sub(/^ \*\/.*/, "", line); sub(/^ \* ?/, "", line) }
    in_comment = line !~ /\*\// && $0 !~ /\*\/ *$/
    sub(/ *\*\/.*/, "", line)
    held = held (held == "" ? "" : "\n") line
    have_comment = !in_comment
    next
}
pending != "" {
    pending = pending "\n" $0
    if (pending ~ /^GASNETI_[A-Z_]+\(/) {
        if (balanced(pending)) { expand(pending, 0); pending = "" }
    } else if ($0 ~ /[{;]/) { declared(pending); pending = "" }
    next
}
in_define != "" || /^#define GASNETI_[A-Z_]+\([a-zA-Z_]/ {
    in_define = in_define $0
    if (sub(/\\$/, " ", in_define)) next
    if (in_define ~ /##|integer\(/) {
        name = in_define
        sub(/^#define /, "", name)
        list = name
        sub(/\(.*/, "", name)
        sub(/^[^(]*\(/, "", list)
        sub(/\).*/, "", list)
        parameters[name] = list
        sub(/^[^)]*\)/, "", in_define)
        body[name] = in_define
    }
    in_define = ""
    next
}
/^$/ { comment = ""; next }
hidden { next }
/^GASNETI_[A-Z_]+\(/ {
    if (balanced($0)) expand($0, 0)
    else pending = $0
    next
}
/^#define (gasnet|gex|GASNET)_[A-Za-z_0-9]*\(/ {
    text = substr($0, 9)
    name = text
    sub(/\(.*/, "", name)
    sub(/\).*/, ")", text)
    call(name, text)
    next
}
# Another name of a call.
/^#define (gasnet|gex)_[A-Za-z_]* +gasnet_[A-Za-z_]*$/ {
    if ($3 in page_of && !($2 in page_of)) { page_of[$2] = page_of[$3]; names[page_of[$3]] = names[page_of[$3]] " " $2 }
    next
}
/^(GASNETI_INLINE|extern) / {
    if ($0 ~ /[{;]/) declared($0)
    else pending = $0
}

END {
    split(version, v, ".")
    date = sprintf("%04d-%02d-01", v[1], v[2])
    for (page = 1; page <= pages; page++) {
        n = split(names[page], each, " ")
        file = out "/" each[1] ".3"
        printf ".TH %s 3 %s \"GASNet %s\" \"GASNet manual\"\n.SH NAME\n", each[1], date, version >file
        line = each[1]
        for (i = 2; i <= n; i++) {
            print (line ",") >file
            line = each[i]
        }
        about = summary(text_of[page] != "" ? text_of[page] : title_of[page])
        if (about == "") { print "call_pages.awk: " each[1] " has no description" >"/dev/stderr"; bad = 1 }
        print line " \\- " about >file
        printf ".SH SYNOPSIS\n.nf\n.B #include <%s>\n.PP\n%s.fi\n", include_of[page], synopsis[page] >file
        if (more[page]) print ".PP\nand so on, up to 16 arguments." >file
        text = paragraphs(text_of[page]) paragraphs(note[from[page]])
        if (text == "") text = paragraphs(title_of[page] ".")
        sub(/^\.PP\n/, "", text)
        printf ".SH DESCRIPTION\n%s", text >file
        text = rules[rules_of[page]]
        if (rules_of[page] in also) text = text "\n\n" rules[also[rules_of[page]]]
        main = each[1] ~ /^gex_/ ? "gasnetex.h" : "gasnet.h"
        if (rules_of[page] != main) text = text "\n\n" rules[main]
        text = paragraphs(text)
        sub(/^\.PP\n/, "", text)
        printf ".SH NOTES\n%s.SH SEE ALSO\n.BR gasnet (7)\n", text >file
        close(file)
        print each[1] ".3"
        for (i = 2; i <= n; i++) {
            file = out "/" each[i] ".3"
            print ".so man3/" each[1] ".3" >file
            close(file)
            print each[i] ".3"
        }
    }
    exit bad
}
