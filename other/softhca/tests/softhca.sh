#!/bin/bash
# softhca.sh - tests of the software device: every rule, linked shared, linked static, and
# preloaded; random operations; restricted environments. TAP on stdout.
#
# BUILDDIR (or top_builddir) names the build tree, default: the present directory.
# SOAK_SECONDS (default 3) and SOAK_SEED are passed to the random tests, DEATH_STRIDE (default 40) and
# DEATH_SEED to softhca_death.
# family: softhca
# shellcheck source=tests/tap.sh

export TEST_BUILD=${TEST_BUILD:-${BUILDDIR:-${top_builddir:-$PWD}}}
. "$(dirname "${BASH_SOURCE[0]}")/../../../tests/tap.sh"
cd "$TEST_BUILD" || exit 1
export SOFTHCA=on

run() { tap_program softhca "$@"; } # LABEL COMMAND...

run "pure parts" "$TEST_SOURCE/unit/run.sh" "$TEST_SOURCE/../other/softhca/tests/unit"
run "shared library" ./softhca_rules
run "static library" ./softhca_rules_static
run "lenient events" env SOFTHCA_EVENTS=lenient ./softhca_rules queue
run "with real devices" ./softhca_device_select
run "with real devices preloaded" env LD_PRELOAD="$PWD/.libs/libsofthca.so" ./softhca_device_select_preload
# libc's memcpy for AVX-512 has two instructions more than others.
run counted env GLIBC_TUNABLES=glibc.cpu.hwcaps=-AVX512VL_Usable,-AVX512F ./softhca_cost
run death ./softhca_death "${DEATH_STRIDE:-40}" ${DEATH_SEED:+"$DEATH_SEED"}
run cycles ./softhca_cycles
run "two wake" ./softhca_wakes
run soak ./softhca_soak "${SOAK_SECONDS:-3}" ${SOAK_SEED:+"$SOAK_SEED"}
run stress ./softhca_stress "${SOAK_SECONDS:-3}" ${SOAK_SEED:+"$SOAK_SEED"}

# The device needs no file: it works with a full, read-only or missing /dev/shm.
can_unshare() { unshare --mount --map-root-user true 2>/dev/null || unshare --mount true 2>/dev/null; }
if can_unshare; then
    hidden='mount -t tmpfs -o ro none /dev/shm && exec ./softhca_rules transfer'
    run "read-only dev-shm" unshare --mount --map-root-user sh -c "$hidden"
    hidden='mount -t tmpfs -o size=4k none /dev/shm && dd if=/dev/zero of=/dev/shm/full bs=4k count=1 2>/dev/null; exec ./softhca_rules transfer'
    run "full dev-shm" unshare --mount --map-root-user sh -c "$hidden"
    hidden='mount -t tmpfs none /dev && exec ./softhca_rules transfer'
    run "empty dev" unshare --mount --map-root-user sh -c "$hidden"
else
    tap_skip "full and read-only /dev/shm" "unshare --mount is not permitted here"
fi

no_privileges() { # the rules as an ordinary user without capabilities
    setpriv --reuid=65534 --regid=65534 --clear-groups --bounding-set=-all --inh-caps=-all "$@"
}
if no_privileges ./softhca_rules none >/dev/null 2>&1 || no_privileges true 2>/dev/null; then
    copy=$tap_scratch/rules
    chmod 755 "$tap_scratch" && cp "$TEST_BUILD/softhca_rules_static" "$copy" && chmod 755 "$copy"
    run "no privileges" no_privileges "$copy"
else
    tap_skip "without privileges" "cannot become another user here"
fi

run "ulimit -l 64" bash -c 'ulimit -l 64 && exec ./softhca_rules transfer'

./softhca_mesh 24 >"$TEST_LOG/softhca-mesh.log" 2>&1
tap_ok $? "24 processes connect all to all"
tap_note "$(tail -n 1 "$TEST_LOG/softhca-mesh.log")"
# With a short backlog (somaxconn), connecting processes wait.
narrow='echo 1 >/proc/sys/net/core/somaxconn && exec ./softhca_mesh 16'
if unshare --net --map-root-user sh -c "${narrow%%&&*}" 2>/dev/null; then
    unshare --net --map-root-user sh -c "$narrow" >"$TEST_LOG/softhca-mesh-narrow.log" 2>&1
    tap_ok $? "16 processes connect all to all, one at a time"
else
    tap_skip "net.core.somaxconn of 1" "it cannot be set here"
fi

# The fake libibverbs has all names and versions of the installed one, except those that only
# providers call; it may have more.
names() { nm -D "$1" | sed -n 's/.* T \([a-z0-9_]*\)@@*\([A-Z0-9._]*\)$/\1 \2/p' | sort -u; }
verbs=$(ldconfig -p | sed -n 's/.*libibverbs\.so\.1 .*=> //p' | head -1)
providers='^ibv_cmd_|^_*verbs_|^__ioctl_|^execute_ioctl|^ibv_register_driver|^ibv_read_ibdev_sysfs_file'
missing=$(names "$verbs" | grep -vE "$providers" | sed 's/ IBVERBS_PRIVATE_.*//' |
    comm -23 - <(names other/softhca/tests/fake/libibverbs.so.1 | sed 's/ IBVERBS_PRIVATE_.*//' | sort -u))
[ -z "$missing" ]
tap_ok $? "every name of libibverbs is known to the tests${missing:+: not ${missing//$'\n'/, }}"

# The README explains every name that the help lists.
./softhca-run --help-env >"$tap_scratch/help"
silent=$(sed -n '/^Names in/,$ s/^    \([a-z][a-z_-]*\) .*/\1/p' "$tap_scratch/help" | while read -r name; do
    grep -q "\`$name\`" "$TEST_SOURCE/../other/softhca/README.md" || echo "$name"
done)
[ -z "$silent" ] && grep -q '^    max_qp ' "$tap_scratch/help"
tap_ok $? "the README explains the names in SOFTHCA_DEVICES and SOFTHCA_FAULTS${silent:+: not $silent}"

tap_end
