/* check.h - functions of every unit test: TAP lines, seeded randomness, and the proof that
 * something ends the process with a message.
 *
 * A test program calls check_begin, any number of checks, and returns check_end().  A program that
 * hangs is ended by an alarm, which counts as a failure.
 */
#ifndef UNIT_CHECK_H
#define UNIT_CHECK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Settles the seed: the program's first argument, else UNIT_SEED, else the clock; prints it. */
void check_begin(int argc, char **argv);

/* Prints a TAP line; returns `ok`. */
bool check(bool ok, const char *name, ...) __attribute__((format(printf, 2, 3)));

/* A comment line, for what a failed check found. */
void check_note(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* For properties checked many times: remembers whether one failed, and says where it first did.
 * check_all makes a TAP line of it and begins anew. */
bool check_each(bool ok, const char *format, ...) __attribute__((format(printf, 2, 3)));
void check_all(const char *name, ...) __attribute__((format(printf, 1, 2)));

/* Prints a TAP line: run(arg), in a process of its own, ends it with status 1 after one line on
 * standard error that holds each of the words that follow. */
#define check_fatal(name, run, arg, ...)                                                           \
    check_fatal_words(name, run, arg, (const char *const[]){__VA_ARGS__, NULL})
void check_fatal_words(const char *name, void (*run)(const void *), const void *arg,
                       const char *const *words);

/* The text that run(arg) writes to standard error, in a process of its own whose wait status is
 * *status. The text lives until the next call. */
const char *check_stderr(void (*run)(const void *), const void *arg, int *status);

/* Prints the plan; returns the program's exit status. */
int check_end(void);

/* Randomness that a seed replays; bound >= 1. */
uint64_t check_seed(void);
uint64_t check_random(void);
uint32_t check_below(uint32_t bound);
void check_fill(void *bytes, uint64_t length);

#endif
