#!/bin/bash
# env.sh - arguments and environment through the launcher, and what happens with wrong ones.
#
# A wrong parameter, a missing program or spawner must give a message that names the culprit, a
# non-zero status, no hang and no orphan.  The texts are matched loosely.
# family: env
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/../tap.sh" || exit 1

conduit=${TEST_CONDUIT:-ibv}
mode=${TEST_MODES:-seq}
mode=${mode%% *}
spawner=${TEST_SPAWNERS:-ssh}
spawner=${spawner%% *}
bound=20
hello=$TEST_BUILD/tests/testhello-$conduit-$mode
values=$TEST_BUILD/tests/testenv-$conduit-$mode
for binary in "$hello" "$values" "$TEST_LAUNCH"; do
    [ -x "$binary" ] || { tap_ok 1 "$binary is not built" && tap_end; }
done
unset GASNET_VERBOSEENV GASNET_QUIET

with=() # NAME=VALUE words for the environment of the next runs

# run LOG COMMAND...: sets `status` and `orphans`.
run() {
    local log=$1 marker="env.$$.$tap_count"
    shift
    env TEST_MARKER="$marker" "${with[@]}" timeout -k 2 $bound "$@" >"$log" 2>&1 </dev/null
    status=$?
    orphans=0
    no_orphans "$marker" 2 || orphans=1
}

launch() { # LOG N ARGS...
    local log=$1 n=$2
    shift 2
    run "$log" "$TEST_LAUNCH" -spawner="$spawner" -n "$n" "$@"
}

# refused NAME LOG PATTERN...: the last run failed, printed all patterns, left no process.
refused() {
    local name=$1 log=$2 wrong='' pattern
    shift 2
    [ "$status" -ne 0 ] || wrong="$wrong; status 0"
    [ "$status" -ne 124 ] && [ "$status" -ne 137 ] || wrong="$wrong; hangs"
    [ $orphans -eq 0 ] || wrong="$wrong; processes left"
    for pattern; do
        grep -qiE -- "$pattern" "$log" || wrong="$wrong; says nothing of /$pattern/"
    done
    # one or two messages from one rank, not a flood; echoed lines of a job are few
    [ "$(wc -l <"$log")" -le 25 ] || wrong="$wrong; $(wc -l <"$log") lines of output"
    tap_ok "$([ -z "$wrong" ]; echo $?)" "$name${wrong:+ (${wrong#; })}"
    if [ -n "$wrong" ]; then tap_tail "$log"; fi
}

# accepted NAME LOG PATTERN...: the last run succeeded and said all patterns.
accepted() {
    local name=$1 log=$2 wrong='' pattern
    shift 2
    [ "$status" -eq 0 ] || wrong="$wrong; status $status"
    for pattern; do
        grep -qE -- "$pattern" "$log" || wrong="$wrong; says nothing of /$pattern/"
    done
    tap_ok "$([ -z "$wrong" ]; echo $?)" "$name${wrong:+ (${wrong#; })}"
    if [ -n "$wrong" ]; then tap_tail "$log"; fi
}

# ---- arguments and variables that must arrive unchanged ----

# shellcheck disable=SC2016,SC1003
awkward=('two words' ' leading and trailing ' $'tab\there' "single'quote" 'double"quote' 'back\slash'
    '$HOME `id` $(id)' '* ? [a-z]' '100% %d %s' 'a;b&c|d>e<f' '' $'\xc3\xa9\xff' '-n' '--' '~' '!history'
    '\\' '%' '#comment' '{a,b}')

log=$TEST_LOG/env_arguments.log
TEST_EXPECT_RANKS=2 launch "$log" 2 "$hello" "${awkward[@]}"
accepted "B1 arguments with every awkward character: the job runs" "$log"
for word in "${awkward[@]}"; do printf 'ARG[%s]\n' "$word"; done >"$tap_scratch/want"
grep -a '^ARG\[' "$log" >"$tap_scratch/got"
cmp -s "$tap_scratch/want" "$tap_scratch/got"
tap_ok $? "B1 arguments arrive unchanged and in order"
diff -a "$tap_scratch/want" "$tap_scratch/got" | sed 's/^/#   /'

log=$TEST_LOG/env_values.log
for i in "${!awkward[@]}"; do with+=("TEST_VALUE_$i=${awkward[$i]}"); done
launch "$log" 3 "$values"
with=()
accepted "B2 environment values with every awkward character: the job runs" "$log"
for i in "${!awkward[@]}"; do printf 'ENV[TEST_VALUE_%s=%s]\n' "$i" "${awkward[$i]}"; done >"$tap_scratch/want"
grep -a '^ENV\[' "$log" >"$tap_scratch/got"
cmp -s "$tap_scratch/want" "$tap_scratch/got"
tap_ok $? "B2 environment values arrive unchanged"
diff -a "$tap_scratch/want" "$tap_scratch/got" | sed 's/^/#   /'

# ---- wrong parameters ----

wrong_value() { # NAME=VALUE
    local name=${1%%=*} log=$TEST_LOG/env_${1//[^A-Za-z0-9]/_}.log
    launch "$log" 2 env "$1" "$hello"
    refused "parameter $1 through a wrapper" "$log" "$name"
    with=("$1")
    launch "$log" 2 "$hello"
    with=()
    refused "parameter $1" "$log" "$name" 'rank|node|process|launcher'
}
wrong_value GASNET_AM_CREDITS_PP=-3
wrong_value GASNET_AM_CREDITS_PP=banana
wrong_value GASNET_NETWORKDEPTH_PP=0x
wrong_value GASNET_BARRIER=NONSUCH
wrong_value GASNET_BACKTRACE=perhaps

# Values that differ: a wrapper that only one process gets through first.
unequal() { # NAME FIRST OTHERS
    local log=$TEST_LOG/env_unequal_$1.log
    cat >"$tap_scratch/wrap" <<WRAP
#!/bin/sh
if mkdir "$tap_scratch/first" 2>/dev/null; then $1=$2; else $1=$3; fi
export $1
exec "\$@"
WRAP
    chmod +x "$tap_scratch/wrap"
    rm -rf "$tap_scratch/first"
    launch "$log" 2 "$tap_scratch/wrap" "$hello"
    refused "IB-P IB-R $1 differs between ranks" "$log" "$1" 'rank.*rank|ranks|node.*node' "$2" "$3"
}
unequal GASNET_AM_CREDITS_PP 16 24
unequal GASNET_PACKEDLONG_LIMIT 1000 2000

log=$TEST_LOG/env_unknown.log
with=(GASNET_AM_CREDITS_PPP=8)
launch "$log" 2 "$hello"
with=()
accepted "unknown parameter: a warning with the nearest name, and the job runs" "$log" \
    'GASNET_AM_CREDITS_PPP' '[Dd]id you mean.*GASNET_AM_CREDITS_PP'

log=$TEST_LOG/env_ports.log
with=("GASNET_${conduit^^}_PORTS=nosuch0:2+softhca9+nosuch1")
launch "$log" 4 "$hello"
with=()
refused "IB-C3 a ports filter that leaves nothing: what is here, and what is not" "$log" \
    "GASNET_${conduit^^}_PORTS="'nosuch0:2\+softhca9\+nosuch1 .*softhca0 port 1 is active' \
    'matches nosuch0:2, softhca9, nosuch1\)' 'unset it$'
tap_ok "$([ "$(wc -l <"$log")" -eq 1 ] && ! grep -q SOFTHCA= "$log"; echo $?)" "IB-C3 in one line, without wrong advice"

# SOFTHCA=on is advised where it would help, and there alone.
log=$TEST_LOG/env_soft.log
with=(SOFTHCA=on 'SOFTHCA_DEVICES=1x1;softhca0:state=down')
launch "$log" 2 "$hello"
with=()
refused "no active port although the software device is on" "$log" 'check ibv_devinfo and the SOFTHCA_ variables: the software device is on$'
tap_ok "$(grep -c 'SOFTHCA=on\|softhca-run\|soft device serves' "$log")" "... and no message advises to turn it on"
with=(SOFTHCA=off SOFTHCA_DEVICES=1x1)
if [ "$(SOFTHCA=off ibv_devinfo -l 2>/dev/null | grep -c '^[[:space:]]')" -eq 0 ]; then
    launch "$log" 2 "$hello"
    refused "no device where the software device is off" "$log" 'SOFTHCA=on runs the job on the software device$'
fi
with=()

# Of several devices and ports the first active one that the filter leaves is taken.
port_taken() { # NAME PORT ASSIGNMENT...
    local name=$1 port=$2
    shift 2
    log=$TEST_LOG/env_port_taken.log
    with=("$@" SOFTHCA=on)
    run "$log" "$TEST_LAUNCH" -spawner="$spawner" -v -n 3 "$hello"
    with=()
    accepted "$name" "$log" "over $port "
}
port_taken "IB-C3 without a filter: the first active port" "softhca1 port 1" \
    "SOFTHCA_DEVICES=2x2;softhca0:state=down"
port_taken "IB-C3 with a filter: the port it names" "softhca1 port 2" SOFTHCA_DEVICES=2x2 "GASNET_${conduit^^}_PORTS=softhca1:2"

log=$TEST_LOG/env_far.log
with=(GASNET_PLEASE_BE_FAST=1)
launch "$log" 2 "$hello"
accepted "unknown parameter without a near name: the job runs" "$log"
tap_ok "$(grep -c GASNET_PLEASE "$log")" "... and nothing is said"
run "$log" "$TEST_LAUNCH" -spawner="$spawner" -v -n 2 "$hello"
with=()
accepted "... but with -v it is named, with the command that lists those there are" "$log" \
    "WARNING .*GASNET_PLEASE_BE_FAST.*gasnetrun_$conduit --help-env"
with=(GASNET_INSTALL_DIR=/x GASNET_ROOT=/x GASNET_CONDUIT=ibv GASNET_TYPE=par GASNET_EXTRA_LIBS=-lm GASNET_DUMMY=1)
run "$log" "$TEST_LAUNCH" -spawner="$spawner" -v -n 2 "$hello"
with=()
accepted "variables of other people's makefiles: the job runs" "$log"
tap_ok "$(grep -c 'WARNING.*GASNET_\(INSTALL_DIR\|ROOT\|CONDUIT\|TYPE\|EXTRA_LIBS\|DUMMY\)' "$log")" "... and nothing is said of them, even with -v"

log=$TEST_LOG/env_signals.log
with=('GASNET_NO_CATCH_SIGNAL=FOO,SIGSEGV,int,11')
launch "$log" 2 "$hello"
accepted "GASNET_NO_CATCH_SIGNAL with a name that is none: a warning with the names there are" "$log" \
    'WARNING .*GASNET_NO_CATCH_SIGNAL=FOO,SIGSEGV,int,11: FOO is no signal.* SIGABRT, .*\*'
tap_ok "$([ "$(grep -c "WARNING.*NO_CATCH" "$log")" -eq 1 ]; echo $?)" "... about that one, once"
with=('GASNET_NO_CATCH_SIGNAL=*')
launch "$log" 2 "$hello"
with=()
tap_ok "$(grep -c "WARNING.*NO_CATCH" "$log")" "GASNET_NO_CATCH_SIGNAL=* is no reason for one"

log=$TEST_LOG/env_range.log
with=(GASNET_MAX_SEGSIZE=-1)
launch "$log" 1 "$hello"
refused "a size below its range" "$log" 'GASNET_MAX_SEGSIZE=-1: too small; the range is 0 B to any size$'
with=(GASNET_NONBULKPUT_BOUNCE_LIMIT=2GB)
launch "$log" 1 "$hello"
with=()
refused "a size above its range: the range is printed as sizes" "$log" 'too large; the range is 0 B to 1 GB$'

# Injected faults name processes by their ranks.
log=$TEST_LOG/env_faults.log
with=(SOFTHCA=on "SOFTHCA_FAULTS=kill:process=1,at=20")
launch "$log" 3 "$hello"
with=()
[ "$status" -eq 137 ] && [ $orphans -eq 0 ] && grep -q 'rank 1 .*killed by signal 9' "$log"
tap_ok $? "a fault for process 1 is rank 1's"

for name in GASNET_HCA_ID GASNET_PORT_NUM; do
    log=$TEST_LOG/env_$name.log
    with=("$name=1")
    launch "$log" 2 "$hello"
    with=()
    accepted "IB-C1 $name is obsolete: a warning that points to the ports filter" "$log" "$name" 'PORTS'
done

log=$TEST_LOG/env_alias.log
with=(GASNET_AM_OUST_PP=12 GASNET_VERBOSEENV=1)
launch "$log" 2 "$hello"
with=()
accepted "IB-R3 the older name GASNET_AM_OUST_PP is understood" "$log" \
    'GASNET_AM_(CREDITS|OUST)_PP *= *12'

log=$TEST_LOG/env_verbose.log
with=(GASNET_VERBOSEENV=1 GASNET_NETWORKDEPTH_PP=48)
launch "$log" 2 "$hello"
with=()
if [ "$spawner" = ssh ]; then
    grep -q "^gasnet: 2 processes, started by gasnetrun_$conduit, over " "$log"
    tap_ok $? "a job of one host was started by its launcher, not by ssh"
fi
accepted "7.1 VERBOSEENV: one line a parameter, defaults marked" "$log" \
    'ENV parameter: GASNET_NETWORKDEPTH_PP += +48' 'ENV parameter: GASNET_AM_CREDITS_PP += .*\(default\)'
columns=$(sed -n 's/^\(ENV parameter: .*\)(default)$/\1/p' "$log" | awk '{ print length }' | sort -u | wc -l)
tap_ok "$([ "$columns" -eq 1 ]; echo $?)" "7.1 VERBOSEENV: one column of defaults"
doubled=$(grep -oE 'ENV parameter: [A-Z_]+' "$log" | sort | uniq -d)
tap_ok "$([ -z "$doubled" ]; echo $?)" "7.1 VERBOSEENV: each parameter once${doubled:+ (twice: ${doubled//$'\n'/ })}"

# ---- wrong command lines ----

log=$TEST_LOG/env_command.log
run "$log" "$TEST_LAUNCH" -spawner=carrierpigeon -n 2 "$hello"
refused "8.5 unknown spawner" "$log" 'carrierpigeon'
with=("GASNET_${conduit^^}_SPAWNER=carrierpigeon" GASNET_SPAWNER=carrierpigeon)
run "$log" "$TEST_LAUNCH" -n 2 "$hello"
with=()
refused "IB-S2 unknown spawner in the environment" "$log" 'carrierpigeon'
run "$log" "$TEST_LAUNCH" -spawner="$spawner" -n 2 "$tap_scratch/no-such-program"
refused "8.5 missing program" "$log" 'no-such-program'
run "$log" "$TEST_LAUNCH" -spawner="$spawner" -n 0 "$hello"
refused "8.5 -n 0" "$log" '-n'
run "$log" "$TEST_LAUNCH" -spawner="$spawner" -n many "$hello"
refused "8.5 -n many" "$log" 'many|-n'
run "$log" "$TEST_LAUNCH" "$hello"
refused "8.5 no -n" "$log" '-n'
run "$log" "$TEST_LAUNCH" -n 2
refused "8.5 no program" "$log" 'program|usage'
run "$log" "$TEST_LAUNCH" -n 2 -frobnicate "$hello"
refused "8.5 unknown option" "$log" 'frobnicate'
run "$log" "$TEST_LAUNCH" -t -n 2 "$hello" "marker of a program that must not run"
accepted "8.5 -t shows what would run" "$log" 'testhello'
tap_ok "$(grep -q '^ok 1' "$log" && echo 1 || echo 0)" "8.5 -t runs nothing"

run "$log" "$TEST_LAUNCH" -v -t -spawner="$spawner" -n 1 "$hello"
tap_ok "$([ $status -eq 0 ] && ! grep -q 'no word of the command' "$log"; echo $?)" "8.5 -v: a program of this conduit is known"
run "$log" "$TEST_LAUNCH" -v -t -spawner="$spawner" -n 1 "$BASH"
accepted "8.5 -v: a command without one is a warning" "$log" \
    "warning: no word of the command is a program linked with GASNet for ${conduit^^}"

run "$log" "$hello"
refused "8.5 started without a launcher: a message, never a hang" "$log" \
    "^gasnet: this program is .* start it with  gasnetrun_$conduit -n <processes> $hello "
# the program's own words begin with #
tap_ok "$([ "$(grep -vc '^#' "$log")" -eq 1 ] && ! grep -v '^#' "$log" | grep -q 'WARNING\|GASNET_ERR'; echo $?)" \
    "8.5 ... in one line, which is no warning and holds no code name"

run "$log" "$TEST_LAUNCH" --help-env
accepted "8.5 --help-env lists the variables" "$log" 'GASNET_AM_CREDITS_PP  \[default: 32\]  \(1\.\.8192\)  older name: GASNET_AM_OUST_PP$' \
    'GASNET_QUIET  \[default: no\]  \(yes\|no\)$'
tap_ok "$(grep -c ' $' "$log")" "8.5 --help-env has no trailing blanks"
run "$log" "$TEST_LAUNCH" -spawner="$spawner" -n 1 "$TEST_BUILD/examples/latency"
refused "examples/latency alone says that it needs two" "$log" 'start it with -n 2'
tap_end
