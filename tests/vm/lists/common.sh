# common.sh - what the lists share; each runs in a guest, in the build tree, and prints TAP.
#
# Sourced by the lists. Logs are kept in /run/log, which guest.sh brings out of the guest. VM_LIST: short or full.
# shellcheck shell=bash disable=SC2034
# GASNET_EXITTIMEOUT: a rank cannot see that the whole guest was stopped.
# TEST_THIN: of many like cases one in so many, because each costs hundreds of times as much as elsewhere.
export TEST_LOG=/run/log SOFTHCA=off GASNET_MAX_SEGSIZE=16M TEST_THIN=16 GASNET_EXITTIMEOUT=10
mkdir -p $TEST_LOG
# shellcheck source-path=SCRIPTDIR
. "$(dirname "${BASH_SOURCE[0]}")/../../tap.sh" || exit 1
list=${VM_LIST:-short}
bound=600 # seconds, to end what hangs: a job takes two on a quiet machine, and a hundred on a busy one
jobs=0

# job CONDUIT N PROGRAM...: sets `status` and `log`.
job() {
    jobs=$((jobs + 1))
    log=$TEST_LOG/job$jobs.log
    local began=$SECONDS
    timeout -k 5 "$bound" "$TEST_BUILD/gasnetrun_$1" -n "$2" "${@:3}" >"$log" 2>&1 </dev/null
    status=$?
    took=$((SECONDS - began))
}

# verdict RESULT NAME: one TAP line for the last job.
verdict() {
    tap_ok "$1" "$2"
    if [ "$1" = 0 ]; then tap_note "$took s"; else tap_note "status $status after $took s" && tap_tail "$log"; fi
}

# The library's own programs: matrix.table's rows of them.
suite() { # CONDUIT MODES SIZES PROGRAMS NAME
    local out=$TEST_LOG/suite-$1.log began=$SECONDS
    TEST_CONDUIT=$1 TEST_LAUNCH=$TEST_BUILD/gasnetrun_$1 TEST_MODES=$2 TEST_NPROCS=$3 TEST_PROGRAMS=$4 TEST_SPAWNERS=ssh \
        TEST_TIMEOUT=$bound "$TEST_SOURCE/programs/run-conduit.sh" >"$out" 2>&1
    tap_ok $? "$5: $4 ($2, $3 processes): $(grep -c '^ok ' "$out") rules"
    tap_note "$((SECONDS - began)) s; $(grep TEST_SEED "$out")"
    grep -E -A 16 '^not ok' "$out" | sed 's/^/# /'
    grep -q '^1\.\.' "$out" || tap_tail "$out"
}

# Processes of jobs, but for the scripts that are their parents.
left() { pgrep -f "^$TEST_BUILD/(tests|examples|gasnetrun)[^ ]*" -a; }

# Waits until no process of a job is left here.
nothing_left() {
    local end=$((SECONDS + bound)) those
    while those=$(left); do
        if [ $SECONDS -ge $end ]; then
            tap_note "left: $those"
            return 1
        fi
        sleep 0.2 # between two looks
    done
}

# Jobs run on both guests, and `there` runs words on the other one, which may still be starting.
two_hosts() {
    local end=$((SECONDS + bound))
    remote=$TEST_BUILD/vm/remote
    export GASNET_SSH_CMD=$remote GASNET_SSH_SERVERS="10.77.0.1 10.77.0.2"
    until there true 2>/dev/null; do
        [ $SECONDS -lt $end ] || { echo "Bail out! The other guest does not answer" && exit 1; }
    done
}
there() { timeout "$bound" "$remote" 10.77.0.2 "$@" </dev/null; }
