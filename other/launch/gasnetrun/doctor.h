/* doctor.h - examines the hosts on which jobs would run. */
#ifndef GASNETRUN_DOCTOR_H
#define GASNETRUN_DOCTOR_H

#include "other/launch/gasnetrun/options.h"

/* Executes the program that does; returns, with the exit status, only on failure. */
int doctor_exec(const struct options *options);

#endif
