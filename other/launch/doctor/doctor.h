/* doctor.h - the parts of gasnetrun --doctor, which examines the hosts on which jobs would run.
 *
 * gasnetrun executes this program with the hosts of its list.  The program starts itself by
 * gasnetrun once on each host to examine it (doctor_host, doctor_devices), and once as a job on all
 * of them (doctor_job).
 */
#ifndef DOCTOR_H
#define DOCTOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* --- findings (findings.c) --- */

/* Each prints one line of the report.  A problem keeps jobs from running, or makes them slow; its
 * text ends with the remedy. */
void doctor_good(const char *format, ...) __attribute__((format(printf, 1, 2)));
void doctor_note(const char *format, ...) __attribute__((format(printf, 1, 2)));
void doctor_problem(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Prints a line that another process printed by these, and counts it; false for any other line. */
bool doctor_pass(const char *line);

/* The number of problems so far. */
unsigned doctor_problems(void);

/* At the end: 0, or 1 with a message if the report was not written. */
int doctor_end_print(void);

/* --- this host --- */

void doctor_host(void);    /* the system: limits, memory, names */
void doctor_devices(void); /* the verbs devices, their files and ports */

/* The number of RDMA devices that the kernel of this host has. */
unsigned doctor_kernel_devices(void);

/* --- a job --- */

/* Initialises GASNet, and exchanges messages with each other rank for a second in all; rank 0
 * prints.  Does not return. */
void doctor_job(int argc, char **argv);

/* --- the whole report --- */

/* Each host by itself, the spawners, then a job; `launcher` is the path of gasnetrun.  Without
 * hosts, this one alone.  Returns the exit status. */
int doctor_report(const char *self, const char *launcher, char **hosts, size_t count);

#endif
