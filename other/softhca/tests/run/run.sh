#!/bin/bash
# run.sh - softhca-run: the environment of the program, exit statuses, messages, and files.
# family: softhca-run
# shellcheck source-path=SCRIPTDIR
# shellcheck disable=SC2016 # scripts in quotes are expanded by the shell that runs them
. "$(dirname "$0")/../../../../tests/tap.sh" || exit 1
cd "$TEST_BUILD" || exit 1

unset SOFTHCA SOFTHCA_DEVICES SOFTHCA_HOSTS SOFTHCA_FAULTS LD_PRELOAD
run=$TEST_BUILD/softhca-run
library=$TEST_BUILD/.libs/libsofthca.so
log=$TEST_LOG/softhca-run.log
scratch=$tap_scratch

# says NAME STATUS PATTERN COMMAND...: ends with STATUS and prints a line that matches.
says() {
    local name=$1 wanted=$2 pattern=$3 status
    shift 3
    timeout -k 5 60 "$@" >"$log" 2>&1 </dev/null
    status=$?
    [ $status -eq "$wanted" ] && { [ -z "$pattern" ] || grep -qE -- "$pattern" "$log"; }
    tap_verdict $? "$name"
}

# fails NAME STATUS PATTERN COMMAND...: the command fails with this status, and a line that matches is all it prints.
fails() {
    local name=$1
    says "$@"
    [ "$(wc -l <"$log")" -eq 1 ]
    tap_verdict $? "$name: in one line"
}

# --- the program gets the device and keeps its exit status ---
if command -v ibv_devices >/dev/null; then
    says "a stock program finds the device" 0 '^ *softhca0[[:space:]]' "$run" ibv_devices
    SOFTHCA=off "$run" ibv_devices >"$log" 2>&1
    ! grep -q softhca0 "$log"
    tap_verdict $? "the environment's SOFTHCA is obeyed"
else
    tap_skip "a stock program finds the device" "no ibv_devices (Debian: ibverbs-utils)"
fi
says "the program's exit status is its own" 42 '' "$run" sh -c 'exit 42'
says "so is the signal that ends it" 137 '' bash -c '"$0" sh -c "kill -KILL \$\$"; exit $?' "$run"
says "it has the process id that was started" 0 '^same$' \
    sh -c 'exec "$0" sh -c "[ \$\$ = $$ ] && echo same"' "$run"
says "arguments are passed as they are" 0 '^<--status>< a  b><>$' "$run" printf '<%s><%s><%s>\n' --status ' a  b' ''
says "-- ends the options" 0 '^through$' "$run" -- echo through
says "the library comes first in LD_PRELOAD" 0 "^$library:libm\\.so\\.6\$" \
    env LD_PRELOAD=libm.so.6 "$run" sh -c 'echo "$LD_PRELOAD"'
says "without others it is alone there" 0 "^$library\$" "$run" sh -c 'echo "$LD_PRELOAD"'
# Variables that have an option, by the name of the variable.
options=$("$run" --help | sed -n 's/^ *sets \(SOFTHCA_[A-Z_]*\)$/\1/p')
has() { grep -qxF "$1" <<<"$options"; }
if has SOFTHCA_DEVICES; then
    says "an option sets its variable" 0 '^2x2,on$' "$run" --devices=2x2 sh -c 'echo "$SOFTHCA_DEVICES,$SOFTHCA"'
    fails "and is refused when it is bad: 125" 125 '^softhca-run: SOFTHCA_DEVICES: .*2y2' "$run" --devices 2y2 true
fi

# A signal sent to the process that was started reaches the program.
"$run" sh -c 'trap "exit 7" TERM; touch "$0"; while :; do sleep 0.02; done' "$scratch/up" >"$log" 2>&1 &
until [ -e "$scratch/up" ] || ! kill -0 $! 2>/dev/null; do sleep 0.02; done
kill -TERM $!
wait $!
tap_verdict "$([ $? -eq 7 ]; echo $?)" "a signal reaches the program"

# --- errors, reported in one line each ---
: >"$scratch/plain"
printf '#!/no/such/interpreter\n' >"$scratch/script"
chmod 755 "$scratch/script"
mkdir "$scratch/empty" "$scratch/with blank"
cp "$run" "$scratch/empty/"
cp "$run" "$library" "$scratch/with blank/"
fails "no such program: 127" 127 '^softhca-run: nonesuch: not found along PATH$' "$run" nonesuch
fails "no such file: 127" 127 '^softhca-run: /none/such: not found$' "$run" /none/such
fails "not executable: 126" 126 'plain: cannot be executed: Permission denied$' "$run" "$scratch/plain"
fails "no such interpreter: 126" 126 'script: .* interpreter that it names does not exist$' "$run" "$scratch/script"
fails "no library: 125" 125 'cannot find libsofthca.so: not in ' "$scratch/empty/softhca-run" true
fails "a library that cannot be preloaded: 125" 125 'at blanks and colons$' "$scratch/with blank/softhca-run" true
fails "no program: 125" 125 'which program' "$run"
fails "an unknown option: 125" 125 "unrecognized option '--nonesuch'" "$run" --nonesuch true
fails "--status of what is no number: 125" 125 '^softhca-run: --status=7x: ' "$run" --status=7x
says "--help prints the usage" 0 '^usage: softhca-run ' "$run" --help
says "--help-env lists every variable" 0 '^  SOFTHCA  \[default: auto\]  \(auto\|on\|off\)$' "$run" --help-env
[ "$(grep -c "^  SOFTHCA" "$log")" -eq "$(grep -c "^PARAM(" "$TEST_SOURCE/../other/softhca/src/settings/settings.def")" ]
tap_verdict $? "all of settings.def"
if readelf -l /sbin/ldconfig 2>/dev/null | grep -q LOAD && ! readelf -l /sbin/ldconfig | grep -q INTERP; then
    says "a static program: says that it is out of reach" 0 'is linked statically' "$run" /sbin/ldconfig -V
else
    tap_skip "a static program: says that it is out of reach" "no static program known here"
fi

# --- the manual ---
manual=$TEST_BUILD/other/softhca/softhca.7
page=$TEST_SOURCE/../other/softhca/src/run/softhca-run.1
[ -e "$manual" ] || make -s other/softhca/softhca.7
if command -v groff >/dev/null; then
    for file in "$manual" "$page"; do
        groff -man -ww -z -Tutf8 "$file" >"$log" 2>&1
        [ $? -eq 0 ] && [ ! -s "$log" ]
        tap_verdict $? "$(basename "$file") is formatted without a warning"
    done
else
    tap_skip "the manual pages are formatted without a warning" "no groff"
fi
sed -n 's/^PARAM([^"]*"\([A-Z_]*\)".*/\1/p' "$TEST_SOURCE/../other/softhca/src/settings/settings.def" >"$log"
missing=$(while read -r name; do grep -qxF "\\fB$name\\fR" "$manual" || echo "$name"; done <"$log")
[ -s "$log" ] && [ -z "$missing" ]
tap_ok $? "softhca(7) explains every variable${missing:+: not $missing}"
missing=$("$run" --help | grep -B 1 -v '^ *sets' | sed -n 's/^  --\([a-z-]*\).*/\1/p' |
    while read -r name; do
        has "SOFTHCA_$(tr a-z- A-Z_ <<<"$name")" || grep -qF -- "\\-\\-${name//-/\\-}" "$page" || echo "$name"
    done)
[ -z "$missing" ]
tap_ok $? "softhca-run(1) explains every option${missing:+: not $missing}"

# --- --status ---
status() { timeout -k 5 20 "$run" --status"$1" >"$log" 2>&1; }
SOFTHCA=on ./softhca_soak 60 >"$scratch/soak" 2>&1 &
soak=$!
# Its two processes: both ends of one connection.
ends=
until [ "$(wc -w <<<"$ends")" -ge 2 ] || ! kill -0 $soak 2>/dev/null; do
    status ''
    ends=
    for pid in $(pgrep -P $soak); do
        if grep -qE "0x[0-9a-f]{6}  RC +RTS +0x[0-9a-f]{6} \\($pid\\) +[1-9]" "$log"; then ends+=" $pid"; fi
    done
    sleep 0.05
done
tap_verdict "$([ -n "$ends" ]; echo $?)" "--status shows a connection from both ends, with what was sent"
read -r one other <<<"$ends"
grep -qE "^ *$one +[0-9]+ +(running|sleeping) +20[0-9-]+ [0-9:]+ +1x1 +1 +2 +1 +1.0 MiB +.*softhca_soak 60" "$log"
tap_verdict $? "--status shows the process, its objects and its command"
awk '/^ *PID/ { at = index($0, "COMMAND") } at && /^$/ { exit } at && !/^ *PID/ && substr($0, at - 1, 1) != " " { bad = 1 } END { exit bad || !at }' "$log"
tap_verdict $? "--status aligns its columns"
status "=$one"
grep -qE "^  peers: $other\$" "$log" && grep -qE '0x[0-9a-f]+ +1.0 MiB +mapped +local-write remote-write' "$log"
tap_verdict $? "--status=PID shows peers and memory regions"
grep -qE '^ +[01] +1024 +[0-9]+ +[1-9][0-9]*' "$log"
tap_verdict $? "--status=PID shows completion queues"
grep -qE '^  softhca0: port 1 active$' "$log"
tap_verdict $? "--status=PID shows devices and ports"
kill -STOP "$one"
until [ "$(ps -o stat= -p "$one" | cut -c1)" = T ] || ! kill -0 "$one" 2>/dev/null; do sleep 0.02; done
status "=$one"
[ $? -eq 0 ] && grep -qE "^process $one, slot [0-9]+, stopped:" "$log" && grep -qE 'RC +RTS' "$log"
tap_verdict $? "--status of a stopped process says so, and does not wait"
kill -CONT "$one"
kill -KILL "$one" "$other" $soak
wait $soak 2>/dev/null
if [ "$(id -u)" = 0 ]; then
    python3 -c '
import os, signal, socket
os.setgroups([]), os.setgid(65534), os.setuid(65534)
door = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
door.bind("\0softhca.0.4000")
door.listen()
print("ready", flush=True)
signal.pause()' >"$scratch/squatter" 2>&1 &
    squatter=$!
    until [ -s "$scratch/squatter" ]; do sleep 0.02; done # between two looks
    status ''
    grep -q ready "$scratch/squatter" && ! grep -qE "^ *$squatter +4000 " "$log"
    tap_verdict $? "--status believes no other user who has taken the name of a process"
    kill $squatter
    wait $squatter 2>/dev/null
else
    tap_skip "--status believes no other user" "needs root, to be another user"
fi
says "--status of one that has ended" 1 "^softhca-run: process $one has not opened the software device, or has ended\$" \
    "$run" --status="$one"
status ''
! grep -q "^ *$one " "$log"
tap_verdict $? "--status no longer shows it"

# --- the files that UCX and Open MPI look for ---
if [ -e /dev/infiniband/softhca0 ] && [ -e /sys/class/infiniband ]; then
    tap_skip "--files" "they are here already"
    tap_end
fi
list() { find /dev /sys/class -maxdepth 1 ! -path /dev/infiniband ! -path /sys/class/infiniband 2>/dev/null | sort; }
looks='set -e; test -c /dev/infiniband/softhca0; echo hello >/dev/infiniband/softhca0;
    test -d /sys/class/infiniband/softhca0; test -w /dev/shm; test -e /dev/stdin; id -u;
    find /dev /sys/class -maxdepth 1 ! -path /dev/infiniband ! -path /sys/class/infiniband 2>/dev/null | sort >"$0"'
files() { # NAME COMMAND...: in front of softhca-run
    local name=$1
    shift
    : >"$scratch/seen"
    chmod 666 "$scratch/seen"
    says "--files: the device file and the class, $name" 0 '^[0-9]+$' "$@" "$run" --files sh -c "$looks" "$scratch/seen"
    cmp -s "$scratch/seen" <(list)
    tap_verdict $? "--files: all else stays in sight, $name"
}
chmod 755 "$scratch"
if unshare --mount true 2>/dev/null || unshare --mount --map-root-user true 2>/dev/null; then
    files "as we are"
    SOFTHCA_DEVICES=3x1 says "--files: every device has its own" 0 "softhca2\$" "$run" --files ls -x /dev/infiniband
else
    tap_skip "--files" "unshare --mount is not permitted here"
fi
other=(setpriv --reuid=65534 --regid=65534 --clear-groups)
if ! "${other[@]}" test -r "$library"; then
    tap_skip "--files without rights" "this build is in a folder that others cannot look into"
elif "${other[@]}" unshare --mount --map-root-user true 2>/dev/null; then
    files "as a user without rights" "${other[@]}"
    says "--files: the user stays the same" 0 '^65534$' "${other[@]}" "$run" --files id -u
else
    tap_skip "--files without rights" "user namespaces are not permitted here"
fi
# Forbidden by a limit of zero namespaces, in a new namespace.
if unshare --user --map-root-user true 2>/dev/null; then
    fails "--files: says when it is not permitted: 125" 125 'a private mount namespace is not permitted here' \
        unshare --user --map-root-user sh -c \
        'echo 0 >/proc/sys/user/max_mnt_namespaces && exec "$0" --files true' "$run"
else
    tap_skip "--files: not permitted" "user namespaces are not permitted here"
fi
[ ! -e /dev/infiniband/softhca0 ] && [ ! -e /sys/class/infiniband/softhca0 ]
tap_verdict $? "--files: nothing stays"
tap_end
