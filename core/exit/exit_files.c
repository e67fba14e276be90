/* exit_files.c - writes what the buffers of the program hold; see exit.h.
 *
 * fflush(NULL) would wait for the lock of each file, also of those that threads read from.  glibc
 * has calls that list the files; with another C library fflush(NULL) is used.  All names of other
 * libraries are weak: they are NULL unless the program has them.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <poll.h>
#include <stddef.h>
#include <stdio.h>
#include <stdio_ext.h>
#include <time.h>

#include "core/exit/exit.h"

#define IF_THERE __attribute__((weak, visibility("default")))

/* glibc, since 2.2. */
extern void list_lock(void) __asm__("_IO_list_lock") IF_THERE;
extern void list_unlock(void) __asm__("_IO_list_unlock") IF_THERE;
extern void *first_file(void) __asm__("_IO_iter_begin") IF_THERE;
extern void *no_file(void) __asm__("_IO_iter_end") IF_THERE;
extern void *next_file(void *at) __asm__("_IO_iter_next") IF_THERE;
extern FILE *file_at(void *at) __asm__("_IO_iter_file") IF_THERE;

/* libstdc++: std::cout, clog, wcout, wclog, and flush() of both kinds. */
typedef void *std_stream[]; /* the first word is the address of a table */
extern std_stream std_cout __asm__("_ZSt4cout") IF_THERE, std_clog __asm__("_ZSt4clog") IF_THERE;
extern std_stream std_wcout __asm__("_ZSt5wcout") IF_THERE, std_wclog
    __asm__("_ZSt5wclog") IF_THERE;
extern void *flush_narrow(void *stream) __asm__("_ZNSo5flushEv") IF_THERE;
extern void *
flush_wide(void *stream) __asm__("_ZNSt13basic_ostreamIwSt11char_traitsIwEE5flushEv") IF_THERE;

/* libgfortran: with NULL, all units. */
extern void flush_units(const int *unit) __asm__("_gfortran_flush_i4") IF_THERE;

/* gcov, in programs linked with -Wl,-u,__gcov_dump; gprof, where crt1.o is that of -pg. */
extern void gcov_dump(void) __asm__("__gcov_dump") IF_THERE;
extern void profile_start(void) __asm__("__gmon_start__") IF_THERE;
extern void profile_write(void) __asm__("_mcleanup") IF_THERE;

/* True if one buffer can be written without waiting for a reader; regular files always take it.  A
 * file without descriptor is one of fopencookie or in memory. */
static bool takes_more(FILE *file)
{
    struct pollfd ready = {.fd = fileno_unlocked(file), .events = POLLOUT};
    return ready.fd < 0 || poll(&ready, 1, 0) != 0;
}

/* Tries to write the buffer of a file.  True if no further try is needed: written, or failed. */
static bool try_file(FILE *file, int *error)
{
    if (ftrylockfile(file)) return false;
    const bool done = takes_more(file);
    if (done && fflush_unlocked(file)) *error = errno;
    funlockfile(file);
    return done;
}

static void write_file(FILE *file, bool (*time_is_up)(void), int *error)
{
    const struct timespec turn = {.tv_nsec = 1000000};
    while (__fpending(file) && !try_file(file, error)) {
        if (time_is_up()) {
            *error = ETIMEDOUT;
            return;
        }
        nanosleep(&turn, NULL);
    }
}

int gasnetc_exit_write_files(bool (*time_is_up)(void))
{
    int error = 0;
    if (!list_lock || !list_unlock || !first_file || !no_file || !next_file || !file_at)
        return fflush(NULL) ? errno : 0;
    list_lock();
    for (void *at = first_file(); at != no_file(); at = next_file(at)) {
        FILE *file = file_at(at);
        if (file != stdout && file != stderr) write_file(file, time_is_up, &error);
    }
    list_unlock();
    return error;
}

/* False for a stream that is zero: libstdc++ is loaded, but no part of the program includes
 * <iostream>. */
static bool is_constructed(void *const *stream)
{
    return stream && *stream;
}

void gasnetc_exit_write_streams(void)
{
    if (flush_units) flush_units(NULL);
    if (flush_narrow && is_constructed(std_cout)) flush_narrow(std_cout);
    if (flush_narrow && is_constructed(std_clog)) flush_narrow(std_clog);
    if (flush_wide && is_constructed(std_wcout)) flush_wide(std_wcout);
    if (flush_wide && is_constructed(std_wclog)) flush_wide(std_wclog);
}

void gasnetc_exit_write_profile(void)
{
    if (gcov_dump) gcov_dump();
    if (profile_start && profile_write) profile_write();
}
