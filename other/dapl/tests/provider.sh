#!/bin/bash
# provider.sh - the uDAPL provider of other/dapl, loaded by Debian's libdat2 over the software device: the rules of
# provider_rules.c, lines of the registry file that are wrong, and the tests of dapltest that need no connection.
#
# dapltest prints PASS, and ends with status 0, also where a call has failed: its complaints are what counts.
# family: dapl-provider
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/../../../tests/tap.sh" || exit 1

program=$TEST_BUILD/other/dapl/tests/provider_rules
library=$TEST_BUILD/.libs/libdapl_provider.so
bound=60
[ -x "$program" ] || { tap_skip "dapl-provider" "not built: dat2/udat.h was not found (Debian: apt-get install libdapl-dev)" && tap_end; }
export SOFTHCA=on DAT_OVERRIDE=$tap_scratch/dat.conf

# line NAME [VERSION [SAFETY [PARAMETERS]]]: one of the registry file.
line() {
    printf '%s %s %s default %s events.1.0 "%s" ""\n' "$1" "${2:-u2.0}" "${3:-nonthreadsafe}" "$library" "${4:-softhca0 1}"
}
{
    line events
    line no-device u2.0 nonthreadsafe 'nothing9 1'
    line no-port u2.0 nonthreadsafe 'softhca0 7'
    line no-number u2.0 nonthreadsafe softhca0
    line threads u2.0 threadsafe
} >"$DAT_OVERRIDE"

# Programs of others get the device by preloading; that of this build is linked with it.
soft() { timeout -k 5 $bound env LD_PRELOAD="$TEST_BUILD/.libs/libsofthca.so${LD_PRELOAD:+:$LD_PRELOAD}" "$@"; }

tap_program dapl-provider rules timeout -k 5 $bound "$program" events

# ---- lines that are wrong: a message that names the IA and the remedy, and a code

refuses() { # IA TEXT TYPE PATTERN
    local log=$TEST_LOG/dapl-provider-$1.log result
    # libdat2 leaks the parsed content of a line whose library does not register.
    ASAN_OPTIONS=detect_leaks=0 timeout -k 5 $bound "$program" wrong "$1" >"$log" 2>&1
    [ $? -eq 0 ] && grep -qx "$3" "$log" && grep -qE "^dapl: interface adapter $1: $4" "$log"
    result=$?
    tap_ok $result "$2"
    [ $result -eq 0 ] || tap_tail "$log"
}
refuses no-device "a device that is not there is named" 0xa0000 'there is no device nothing9,.*ibv_devices lists them'
refuses no-port "a port that is not there is named" 0x30000 'port 7 of device softhca0 .* has 1 port'
refuses threads "a line for threads is refused, with the word that must be there" 0xa0000 'its line in dat.conf must say nonthreadsafe'
refuses no-number "parameters of another form are refused with an example" 0xa0000 'its parameters in dat.conf must be .*mlx5_0 1'

# ---- dapltest

if [ "$(sed -n 's/^HOUSE_CFLAGS = .*-fsanitize.*/yes/p' "$TEST_BUILD/Makefile")" = yes ]; then
    tap_skip "dapltest" "this build has a sanitizer, and its libraries need a program that has it too"
    tap_end
fi
command -v dapltest >/dev/null || { tap_skip "dapltest" "not found (Debian: apt-get install dapl2-utils)" && tap_end; }

# feature NAME CASES [CASE...]: all of its tests, or those cases.
feature() {
    local name=$1 cases=$2 log=$TEST_LOG/dapl-provider-$1.log result
    shift 2
    soft dapltest -T F -D events -f "$name" "$@" >"$log" 2>&1
    [ $? -eq 0 ] && [ "$(grep -cE '^Result: (PASS|UNSUPP)' "$log")" -eq "$cases" ] &&
        ! grep -qE 'failed in file|Warning|FAIL' "$log"
    result=$?
    tap_ok $result "dapltest -T F -f $name: $cases cases"
    [ $result -eq 0 ] || tap_tail "$log"
}
feature hwconn 4
feature endpoint 3
feature pz 3
feature mem 5
feature connmgt 2
# Case 12 crashes in libdat2 with every provider.
feature queryinfo 12 case{0,1,2,3,4,5,6,7,8,9,10,11}

# limit NAME SETTING COUNT PATTERN: creates 100 of them, and with the device's limit COUNT, where the next one fails.
limit() {
    local log=$TEST_LOG/dapl-provider-limit_$1.log result complaint='fail|error|can not'
    soft dapltest -T L -D events -m 100 "limit_$1" >"$log" 2>&1 && ! grep -qE "$complaint" "$log" && grep -qE "$4" "$log"
    result=$?
    tap_ok $result "dapltest -T L limit_$1"
    [ $result -eq 0 ] || tap_tail "$log"
    [ -n "$2" ] || return
    SOFTHCA_DEVICES="1x1;$2=$3" soft dapltest -T L -D events -m 100 "limit_$1" >"$log" 2>&1 &&
        [ "$(grep -cE "$complaint" "$log")" -eq 1 ] &&
        grep -qE "_create (#$(($3 + 1)) fails:|failed) DAT_INSUFFICIENT_RESOURCES" "$log"
    result=$?
    tap_ok $result "dapltest -T L limit_$1 on a device with $2=$3"
    [ $result -eq 0 ] || tap_tail "$log"
}
while read -r name setting count pattern; do
    [ "$setting" != - ] || setting=
    limit "$name" "$setting" "$count" "$pattern"
done <<'END'
ia - 0 IAs opened: +100
pz max_pd 20 PZs created: +100
cno - 0 CNOs created: +100
evd max_cq 20 EVDs created: +100
ep max_qp 20 EPs created: +100
rsp - 0 RSPs created: +100
psp - 0 PSPs created: +100
lmr max_mr 20 LMRs created: +100
size_lmr - 0 LMR of 0x[0-9a-f]+ bytes OK
END

# Posts until an endpoint takes no more.
soft dapltest -T L -D events limit_rpost >"$TEST_LOG/dapl-provider-limit_rpost.log" 2>&1 &&
    [ "$(grep -cE 'fails|error' "$TEST_LOG/dapl-provider-limit_rpost.log")" -eq 1 ] &&
    grep -qE 'dat_ep_post_recv fails: DAT_INSUFFICIENT_RESOURCES' "$TEST_LOG/dapl-provider-limit_rpost.log"
tap_ok $? "dapltest -T L limit_rpost, until the queue of receives is full"
tap_end
