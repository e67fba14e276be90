#!/bin/bash
# arrows.sh - the layers of the tree: includes may only point down.  Reads source files alone.
# family: arrows
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/tap.sh" || exit 1
cd "${1:-$TEST_SOURCE/..}" || exit 1

# All quoted and angled includes below some folders, as file:line:#include "name".
includes() {
    grep -rnE --include='*.[ch]' --include='*.in' --include='*.def' '^[[:space:]]*#[[:space:]]*include' "$@"
}

has_sources() { [ -d "$1" ] && [ -n "$(find "$1" -name '*.[ch]' -print -quit)" ]; }

# forbid NAME PATTERN FOLDER...: no include below the folders may match.  Folders without sources
# prove nothing and are passed over.
forbid() {
    local name=$1 pattern=$2 found
    shift 2
    local there=()
    for folder; do if has_sources "$folder"; then there+=("$folder"); fi; done
    [ ${#there[@]} -gt 0 ] || return
    found=$(includes "${there[@]}" | grep -E "include[[:space:]]*[<\"]($pattern)[>\"]")
    tap_ok "$([ -z "$found" ]; echo $?)" "$name"
    if [ -n "$found" ]; then tap_note "$found"; fi
}

# Names of headers that live in a folder, as a pattern; for quoted includes by bare name.
headers_of() {
    find "$@" -name '*.h' 2>/dev/null | sed 's|.*/||' | sort -u | paste -sd'|' | sed 's/\./\\./g'
}

tap_ok "$([ "$(includes core include extended-ref other | wc -l)" -gt 100 ]; echo $?)" "includes are found at all"

networks='infiniband/.*|rdma/.*|.*verbs\.h|vapi.*\.h|evapi.*\.h|.*/vapi.*\.h|portals.*\.h|.*/portals.*\.h|dat/.*'

core_only=$(mktemp -d "$tap_scratch/core.XXXX")
cp -r core/. "$core_only" && rm -rf "$core_only/ib"
forbid "core/ includes no network's header" "$networks" "$core_only"
forbid "core/ includes nothing of the Extended API" '(.*/)?extended-ref/.*|.*gasnet_(vis|coll|extended)\.h' "$core_only"

# functions FILE...: the functions that C files declare or define in the outermost block, as "declares NAME FILE" and
# "defines NAME FILE".
functions() {
    awk 'FNR == 1 { text = ""; depth = 0; comment = 0 }
        { gsub(/"(\\.|[^"\\])*"|\047\\?.\047/, "") }
        /^[[:space:]]*#/ || continued { continued = /\\$/; next }
        {
            gsub(/\/\*([^*]|\*+[^*\/])*\*+\//, "")
            if (comment) { if (!sub(/.*\*\//, "")) next; comment = 0 }
            if (sub(/\/\*.*/, "")) comment = 1
            gsub(/__attribute__\(\([^)]*(\([^)]*\))?\)\)/, "")
            if (/^}/) depth = 1 # whatever the branches of an #if opened
            for (i = 1; i <= length($0); i++) {
                c = substr($0, i, 1)
                if (depth == 0 && (c == ";" || c == "{")) {
                    is_function = text !~ /(^|[[:space:]])(static|typedef|HOT)[[:space:]]|=/ &&
                        match(text, /[[:alnum:]_]+[[:space:]]*\(/)
                    name = substr(text, RSTART, RLENGTH)
                    sub(/[[:space:]]*\($/, "", name)
                    if (is_function) print (c == ";" ? "declares" : "defines"), name, FILENAME
                    text = ""
                } else if (depth == 0 && c != "}") text = text c
                if (c == "{") depth++
                if (c == "}") depth--
            }
            text = text " "
        }' "$@"
}

# in_order FOLDER UPWARD PART...: the parts of FOLDER, which are its folders, from the bottom up: each may include itself and
# those before it.  A part may declare a function of a higher one in the headers UPWARD alone ("": nowhere).  What lies in FOLDER
# itself stands above the folders; its headers, which folders may include, include none of them.
in_order() {
    local folder=$1 upward=$2 higher='' found part unknown i
    shift 2
    local parts=("$@")
    for ((i = ${#parts[@]} - 1; i >= 0; i--)); do
        part=${parts[i]}
        if [ -n "$higher" ]; then
            found=$(includes "$folder/$part" | grep -E "\"$folder/($higher)/")
            tap_ok "$([ -z "$found" ]; echo $?)" "$folder/$part includes no part above it"
            if [ -n "$found" ]; then tap_note "$found"; fi
        fi
        higher=$part${higher:+|$higher}
    done
    found=$(find "$folder" -maxdepth 1 -name '*.h' -exec grep -nE "include \"$folder/($higher)/" {} +)
    tap_ok "$([ -z "$found" ]; echo $?)" "the headers in $folder itself include no part"
    if [ -n "$found" ]; then tap_note "$found"; fi
    # Other forms of a name would slip through the patterns; the bare name of a file beside it is one of the same part.
    found=$(includes "$folder" | sed -n 's/^\([^:]*\):[0-9]*:.*include[[:space:]]*"\([^"\/]*\|[^"]*\.\/[^"]*\)".*/\1 \2/p' |
        while read -r file name; do [ "${name##*/}" = "$name" ] && [ -e "${file%/*}/$name" ] || echo "$file: $name"; done)
    tap_ok "$([ -z "$found" ]; echo $?)" "$folder names the files of other folders by their whole path"
    if [ -n "$found" ]; then tap_note "$found"; fi
    unknown=$(find "$folder" -mindepth 1 -maxdepth 1 -type d -printf '%f\n' | grep -vxE "$higher")
    tap_ok "$([ -z "$unknown" ]; echo $?)" "every folder of $folder has its place among the folders${unknown:+ ($unknown)}"
    local files
    mapfile -t files < <(find "$folder" -mindepth 2 -name '*.[ch]')
    found=$(functions "${files[@]}" | awk -v folder="$folder/" -v upward="$upward" -v parts="$*" '
        BEGIN { n = split(upward, header); for (i = 1; i <= n; i++) may[header[i]] = 1; n = split(parts, layer); for (i = 1; i <= n; i++) height[layer[i]] = i }
        { part = $3; sub(folder, "", part); sub(/\/.*/, "", part) }
        $1 == "defines" { defined[$2] = height[part] }
        $1 == "declares" && !($3 in may) { n_declared++; name[n_declared] = $2; file[n_declared] = $3; at[n_declared] = height[part] }
        $1 == "declares" && $3 in may { called[$2] = height[part] }
        END {
            for (i = 1; i <= n_declared; i++)
                if (name[i] in defined && defined[name[i]] > at[i]) print file[i] ": " name[i]
            for (f in called) if (split(upward, header) == 1 && (!(f in defined) || defined[f] <= called[f])) print upward ": " f " is of no higher part"
        }')
    tap_ok "$([ -z "$found" ]; echo $?)" "the folders of $folder declare functions of higher ones in ${upward:-no header}${upward:+ alone}"
    if [ -n "$found" ]; then tap_note "$found"; fi
}

# The folders of core/ from the bottom up: each may include itself and those before it.  The headers in
# core/ itself are the contract with the networks; core/init.c stands above all.
parts=(counters params job trace shm rdma am progress stats exit)
higher=
for ((i = ${#parts[@]} - 1; i >= 0; i--)); do
    part=${parts[i]}
    if [ -n "$higher" ]; then
        # The record of a peer in job.h holds the state of its credits, a pure state machine.
        found=$(includes "core/$part" | grep -E "\"core/($higher)/" | grep -v '^core/job/job\.h:.*"core/am/credits\.h"')
        tap_ok "$([ -z "$found" ]; echo $?)" "core/$part includes no part above it"
        if [ -n "$found" ]; then tap_note "$found"; fi
    fi
    higher=$part${higher:+|$higher}
done
found=$(includes core/*.h | grep -E "\"core/($higher)/")
tap_ok "$([ -z "$found" ]; echo $?)" "the contract with the networks includes no part of core/"
if [ -n "$found" ]; then tap_note "$found"; fi
# Of the core a network may use the contract alone: these headers, and its own.
contract='core/(network|network_defaults|completion|lock|log|report)\.h|core/params/params\.h|core/job/(rank|secret|host_addresses)\.h'
found=$(includes core/ib core/rings portals-conduit ibv-conduit vapi-conduit smp-conduit | grep -E '"core/' | grep -vE "\"($contract|core/(ib|rings)/[^\"]*)\"")
tap_ok "$([ -z "$found" ]; echo $?)" "the networks use the headers of the contract, and no others of core/"
if [ -n "$found" ]; then tap_note "$found"; fi
found=$(includes portals-conduit core/rings | grep -E '"core/ib/')
tap_ok "$([ -z "$found" ]; echo $?)" "portals-conduit and core/rings include nothing of core/ib"
if [ -n "$found" ]; then tap_note "$found"; fi
# A user may have asked for the software device, so messages and manuals name it, and so does what the headers tell the thread
# sanitizer; code does so in one place.
found=$(grep -rniE --include='*.[ch]' --include='*.def' 'softhca' core include extended-ref ibv-conduit vapi-conduit | grep -vE '^core/ib/software_device\.|called_from_lib:')
tap_ok "$([ -z "$found" ]; echo $?)" "core/ib/software_device.c alone knows the software verbs device"
if [ -n "$found" ]; then tap_note "$found"; fi
unknown=$(find core -mindepth 1 -maxdepth 1 -type d ! -name ib ! -name rings -printf '%f\n' | grep -vxE "$higher")
tap_ok "$([ -z "$unknown" ]; echo $?)" "every folder of core/ has its place among the folders${unknown:+ ($unknown)}"

in_order other/softhca/src other/softhca/src/segment/upward.h \
    settings segment device objects datapath tcp faults verbs manager interpose run

forbid "core/ib includes nothing of the Extended API" '(.*/)?extended-ref/.*|.*gasnet_(vis|coll|extended)\.h' core/ib
forbid "core/ib includes verbs only through the shim" 'infiniband/.*|.*vapi.*\.h' core/ib
found=$(grep -nE '\bgasnet_(AM(Request|Reply|Poll)|put|get_?(bulk|nb|nbi|val)|barrier|exit|init|attach|hsl_)[A-Za-z0-9_]*[[:space:]]*\(' \
    core/ib/*.[ch] 2>/dev/null | grep -vE ':[0-9]+:[[:space:]]*(/?\*|//)')
tap_ok "$([ -z "$found" ]; echo $?)" "core/ib calls nothing of the client API"
if [ -n "$found" ]; then tap_note "$found"; fi

gasnet_headers='(.*/)?gasnet(_(am|core|extended|hsl|vis|coll|types|handler|linkcheck|conduit))?\.h'
# other/launch/doctor is a client program.
for part in connect softhca vapi portals3 dapl firehose base launch/ssh launch/modules launch/gasnetrun launch/report; do
    forbid "other/$part knows nothing of the core" '(.*/)?(core|extended-ref)/.*' other/$part
    forbid "other/$part knows nothing of the client API" "$gasnet_headers" other/$part
done
# Who may include whom in other/: a part includes itself, those that the line names, and their public headers.
while read -r part below; do
    others=$(find other -mindepth 1 -maxdepth 1 -type d -printf '%f\n' | grep -vxE "${below:+${below// /|}|}$part" | paste -sd'|')
    inside=("other/$part")
    [ ! -d "other/$part/src" ] || inside=("other/$part/src" "other/$part/include") # its tests may use the software device
    forbid "other/$part includes no part of other/ but for: ${below:-none}" "other/($others)/.*" "${inside[@]}"
done <<'PARTS'
base
connect base
firehose base
softhca base
vapi base connect
portals3 base connect
dapl base
launch base connect
PARTS
forbid "other/launch/doctor knows nothing of the core" '(.*/)?(core|extended-ref)/.*' other/launch/doctor
forbid "other/connect/handshake is pure: of other/base it includes what has no state, and no network's header and none of I/O or time" \
    "other/base/[^smf].*|$networks|sys/.*|pthread\.h|stdio\.h|time\.h|unistd\.h" other/connect/handshake
machines=$(mktemp -d "$tap_scratch/machines.XXXX")
cp other/firehose/{table,local,remote,target,wire,pools}.[ch] "$machines" 2>/dev/null
forbid "the state machines of other/firehose are pure: they include nothing of the engine, I/O or time" \
    "other/firehose/engine\.h|$networks|sys/.*|pthread\.h|stdlib\.h|time\.h|unistd\.h" "$machines"
forbid "other/firehose knows no network" "$networks" other/firehose
forbid "other/base/hostmem knows no network" "$networks" other/base/hostmem
forbid "other/base/memory-events knows no network" "$networks" other/base/memory-events
# The folders of other/launch share what lies in other/launch itself.
found=$(includes other/launch/*.[ch] | grep -E '"other/launch/[a-z]+/')
tap_ok "$([ -z "$found" ]; echo $?)" "what the folders of other/launch share includes nothing of theirs"
if [ -n "$found" ]; then tap_note "$found"; fi
forbid "the ssh spawner knows nothing of the modules" 'other/launch/modules/.*' other/launch/ssh
forbid "the modules know nothing of the ssh spawner" 'other/launch/ssh/.*' other/launch/modules
forbid "of the spawner the library sees its interface alone" \
    'other/launch/([a-z]+/|[^b]).*' core ibv-conduit vapi-conduit portals-conduit smp-conduit extended-ref
forbid "include/ pulls in no network header" "$networks" include
forbid "include/ includes nothing of the inside" '(.*/)?(core|extended-ref|other|[a-z]*-conduit)/.*' include
forbid "extended-ref includes no network's header" "$networks" extended-ref
forbid "conduit shims include nothing above the core" '(.*/)?extended-ref/.*' ibv-conduit vapi-conduit portals-conduit smp-conduit

found=$(grep -nE '\b(ibv|rdma)_[a-z_]+[[:space:]]*\(|infiniband/|rdma/' portals-conduit/*.[ch])
tap_ok "$([ -z "$found" ]; echo $?)" "PO-1 portals-conduit knows Portals alone, and no verbs"
if [ -n "$found" ]; then tap_note "$found"; fi

# A bare #include "am.h" would slip through the patterns above where -I reaches core/.
core_names=$(headers_of core)
own=$(mktemp "$tap_scratch/own.XXXX")
for part in base connect softhca launch vapi portals3 dapl firehose; do
    has_sources other/$part || continue
    headers_of other/$part | tr '|' '\n' | sed 's/\\//g' >"$own"
    strange=$(includes other/$part | sed -n 's/.*include[[:space:]]*"\([^"/]*\)".*/\1/p' | sort -u |
        grep -vxFf "$own" | grep -xE "${core_names:-none}")
    tap_ok "$([ -z "$strange" ]; echo $?)" "other/$part includes no core header by its bare name${strange:+ ($strange)}"
done

# What the libraries read of the environment, a program with more rights than its user must not obey.  Programs that start
# jobs are not among them, nor are the modules of MPI and PMIx, which such a program does not load.
found=$(grep -rnE --include='*.[ch]' '(^|[^_[:alnum:]])getenv\(' core extended-ref ./*-conduit include other |
    grep -vE '^(\./)?other/(launch/(doctor|gasnetrun|modules)/|launch/ssh/ssh_(control|master|placement|remote)\.c|softhca/src/run/|base/environment\.h|[a-z0-9]*/tests/)' |
    grep -vE 'getenv\(SPAWNER_CONTROL\)')
tap_ok "$([ -z "$found" ]; echo $?)" "the libraries read the environment by other/base/environment.h alone"
if [ -n "$found" ]; then tap_note "$found"; fi

in_order other/portals3/src 'other/portals3/src/transport/transport.h other/portals3/src/transport/verbs.h other/portals3/src/engine/engine.h' base transport engine fastpath
in_order other/dapl/src '' machine engine provider
found=$(includes other/portals3/src/engine | grep '"other/portals3/src/transport/' | grep -v '/transport/transport\.h"')
tap_ok "$([ -z "$found" ]; echo $?)" "of the transport the engine of other/portals3 uses its interface alone"
if [ -n "$found" ]; then tap_note "$found"; fi
tap_end
