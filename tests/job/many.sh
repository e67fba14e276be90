#!/bin/bash
# many.sh - more processes than processors: a rank that waits sleeps, and any arrival wakes it; a rank that dies leaves no
# sleeper behind.  unit/sleepers.c has the word itself.
# family: many
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/../tap.sh" || exit 1

export SOFTHCA=on GASNET_SUPERNODE_MAXSIZE=0 TEST_HANG=60
conduits=$(for name in ibv vapi portals; do [ ! -x "$TEST_BUILD/gasnetrun_$name" ] || echo $name; done)
n=$(($(getconf _NPROCESSORS_ONLN) + 4))
if grep -q '^#define GASNETI_PSHM 0' "$TEST_BUILD/include/gasnet_config.h"; then
    tap_skip "more processes than processors" "this build shares no memory within a host"
    tap_end
fi

# runs NAME PROGRAM-CONDUIT-MODE LAUNCHER-ARGUMENT...: the program ends with status 0.
runs() {
    local conduit=${2#*-} log=$TEST_LOG/many_$2.log status
    MANY_BRIEF_US=$(brief_us) timeout -k 2 90 "$TEST_BUILD/gasnetrun_${conduit%-*}" -n "$n" "${@:3}" "$TEST_BUILD/tests/$2" >"$log" 2>&1 </dev/null
    status=$?
    tap_ok $status "$1: $2, $n ranks, status $status"
    [ $status -eq 0 ] || tap_tail "$log"
}

# Sleeps have limits, so a wake-up that nobody sends would not be noticed.  Here they have none, but for the first of a
# wait, which may miss a wake-up (core/progress/backoff.h): a quarter of the longest, which is 1 ms for each process that a
# processor has; the next one is half of it.  A process that sleeps so leaves a file in $MANY_SLEPT.  Without MANY_FOREVER
# the limits stay.
brief_us() {
    local longest=$((1000 * n / $(getconf _NPROCESSORS_ONLN)))
    echo $((375 * (longest > 1000 ? longest : 1000) / 1000))
}
cat >"$tap_scratch/forever.c" <<'END'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
static void slept(void)
{
    char name[4096];
    if (!getenv("MANY_SLEPT")) return;
    snprintf(name, sizeof name, "%s/%d", getenv("MANY_SLEPT"), (int)getpid());
    close(open(name, O_CREAT | O_WRONLY, 0600));
}
static long brief_us(void)
{
    const char *text = getenv("MANY_BRIEF_US");
    return text ? atol(text) : 0;
}
static int is_brief(const struct timespec *until)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (until->tv_sec - now.tv_sec) * 1000000 + (until->tv_nsec - now.tv_nsec) / 1000 < brief_us();
}
long syscall(long number, ...)
{
    static long (*next)(long, ...);
    long a[6];
    va_list list;
    va_start(list, number);
    for (int i = 0; i < 6; i++) a[i] = va_arg(list, long);
    va_end(list);
    if (!next) next = (long (*)(long, ...))dlsym(RTLD_NEXT, "syscall");
    if (number == SYS_futex && (a[1] & FUTEX_CMD_MASK) == FUTEX_WAIT_BITSET && !is_brief((const void *)a[3])) {
        slept();
        if (getenv("MANY_FOREVER")) a[3] = 0;
    }
    return next(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}
/* So sleeps a process that nobody wakes. */
int clock_nanosleep(clockid_t clock, int flags, const struct timespec *time, struct timespec *rest)
{
    static int (*next)(clockid_t, int, const struct timespec *, struct timespec *);
    if (!next) next = (int (*)(clockid_t, int, const struct timespec *, struct timespec *))dlsym(RTLD_NEXT, "clock_nanosleep");
    if (time->tv_nsec > brief_us() * 1000) slept();
    return next(clock, flags, time, rest);
}
END
if ${CC:-cc} -shared -fPIC -o "$tap_scratch/forever.so" "$tap_scratch/forever.c" -ldl 2>/dev/null && [ -e "$TEST_BUILD/.libs/libsofthca.so" ]; then
    # waiters NAME CONDUIT NUMBER LAUNCHER-ARGUMENT...: while one rank computes for a second, at least so many ranks sleep; 0:
    # none does.
    waiters() {
        local log=$TEST_LOG/many_waiters_$2.log slept
        rm -rf "$tap_scratch/slept" && mkdir "$tap_scratch/slept"
        MANY_BRIEF_US=$(brief_us) timeout -k 2 90 "$TEST_BUILD/gasnetrun_$2" -n "$n" "${@:4}" "$TEST_BUILD/tests/bench/crowd-$2-seq" wait 1 >"$log" 2>&1 </dev/null
        local status=$?
        slept=$(find "$tap_scratch/slept" -type f | wc -l)
        [ $status -eq 0 ] && [ "$slept" -ge "$3" ] && { [ "$3" -gt 0 ] || [ "$slept" -eq 0 ]; }
        status=$?
        tap_ok $status "$1: $2, $slept of $n ranks have slept"
        [ $status -eq 0 ] || tap_tail "$log"
    }
    forever=(env "LD_PRELOAD=$tap_scratch/forever.so" "MANY_SLEPT=$tap_scratch/slept" MANY_FOREVER=1)
    for conduit in $conduits; do
        for mode in seq par; do
            [ -x "$TEST_BUILD/tests/testbarrier-$conduit-$mode" ] || continue
            runs "barriers wake sleepers" "testbarrier-$conduit-$mode" "${forever[@]}"
            runs "messages wake sleepers" "testam-$conduit-$mode" "${forever[@]}"
        done
        waiters "processes that wait sleep" "$conduit" $((n - 1)) "${forever[@]}"
        n=2 waiters "none of as many as processors" "$conduit" 0 "${forever[@]}"
        [ -x "$TEST_BUILD/tests/testsleepers-$conduit-par" ] || continue
        n=2 runs "threads of a process wake each other" "testsleepers-$conduit-par" "${forever[@]}"
    done
    GASNET_RCV_THREAD=1 runs "with the receive thread" testam-ibv-par "${forever[@]}"
    GASNET_BARRIER=AMDISSEM runs "barriers by Active Messages" testbarrier-ibv-seq "${forever[@]}"
    # As on a real device, which wakes nobody: there the first messages of two neighbours need the limits of sleeps.
    cat >"$tap_scratch/real.c" <<'END'
unsigned *softhca_sleeper(void (*wake)(unsigned number));
unsigned *softhca_sleeper(void (*wake)(unsigned number)) { (void)wake; return 0; }
END
    ${CC:-cc} -shared -fPIC -o "$tap_scratch/real.so" "$tap_scratch/real.c"
    real=(env "LD_PRELOAD=$tap_scratch/forever.so $tap_scratch/real.so" "MANY_SLEPT=$tap_scratch/slept")
    for conduit in $conduits; do
        runs "the device wakes nobody" "testbarrier-$conduit-seq" "${real[@]}"
        runs "the device wakes nobody" "testam-$conduit-seq" "${real[@]}"
        waiters "the device wakes nobody, but neighbours do" "$conduit" $((n - 1)) "${real[@]}"
    done
    for conduit in $conduits; do
        GASNET_SUPERNODE_MAXSIZE=1 waiters "nobody shares memory" "$conduit" $((n - 1)) "${real[@]}"
        GASNET_SUPERNODE_MAXSIZE=1 runs "nobody shares memory" "testam-$conduit-par" "${real[@]}"
    done
    for also in "$tap_scratch/forever.so" "$tap_scratch/forever.so $tap_scratch/real.so"; do
        real=(env "LD_PRELOAD=$also" "MANY_SLEPT=$tap_scratch/slept")
        GASNET_SUPERNODE_MAXSIZE=3 waiters "nor one of another supernode" ibv $((n - 1)) "${real[@]}"
        for program in testbarrier-ibv-seq testam-ibv-seq testam-ibv-par; do
            GASNET_SUPERNODE_MAXSIZE=3 runs "nor one of another supernode" $program "${real[@]}"
        done
    done
else
    tap_skip "sleeps without limits" "nothing can be preloaded here"
fi

# ---- the end

# ends CASE STATUS: one acts while the others wait in a barrier, and nothing is left.
ends() {
    local log=$TEST_LOG/many_$1.log status
    TEST_MARKER=many.$$ timeout -k 2 60 "$TEST_LAUNCH" -n "$n" "$TEST_BUILD/tests/testexit-ibv-seq" "$1" >"$log" 2>&1 </dev/null
    status=$?
    [ $status = "$2" ] && no_orphans "many.$$" 5
    tap_ok $? "$1, $n ranks: status $status, and no process is left"
    [ "$tap_bad" -eq 0 ] || tap_tail "$log"
}
ends killed_others_barrier 137
ends one_exits_others_barrier 11
ends sigterm_to_rank_others_barrier 1
ends one_calls_underscore_exit_others_barrier 14
tap_end
