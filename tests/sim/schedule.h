/* schedule.h - the calls between sim.c and schedule.c. */
#ifndef SIM_SCHEDULE_H
#define SIM_SCHEDULE_H

#include <stdbool.h>

/* A failed schedule ends: from a script by way of the scheduler, which then abandons it. */
bool schedule_has_failed(void);
void schedule_abandon(void) __attribute__((noreturn));
void sim_in_script_give_up(void) __attribute__((noreturn));

#endif
