/* params.h - run-time parameters: read from the job's environment by one table, checked, compared.
 *
 * params.def holds one row per parameter; FIXED rows are fields that no variable sets.  Every rank
 * parses every row during gasnet_init; a value that does not parse or lies outside its range is a
 * fatal error naming the variable and the range; rows marked "same" are compared across ranks and a
 * difference is fatal, naming the variable, two ranks and their values.  GASNET_VERBOSEENV prints
 * each.  An unknown GASNET_* name is a warning with the nearest known name.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "other/base/env_table.h"

#ifdef GASNET_PAR
#define GASNETC_DEFAULT_SPARES 4
#else
#define GASNETC_DEFAULT_SPARES 2
#endif

typedef struct gasnetc_params {
#define PARAM(field, kind, ...) gasneti_env_type_##kind field;
#define FIXED                   PARAM
#include GASNETC_PARAMS_DEF
#undef FIXED
#undef PARAM
} gasnetc_params_t;

#pragma GCC visibility push(hidden)
extern gasnetc_params_t gasnetc_params;
#pragma GCC visibility pop

typedef struct gasneti_env_row gasnetc_param_t;

extern const gasnetc_param_t gasnetc_param_table[];
extern const size_t gasnetc_param_count;

/* The words of rows, in the order in which params.def has them. */
enum { GASNETC_BARRIER_PUTS, GASNETC_BARRIER_AM };
enum { GASNETC_ATOMICS_OFF, GASNETC_ATOMICS_FAVORED, GASNETC_ATOMICS_ON };
enum gasnetc_keep {
    GASNETC_KEEP_WATCH,
    GASNETC_KEEP_INTERPOSE,
    GASNETC_KEEP_EACH,
    GASNETC_KEEP_TRUST
};
enum { GASNETC_TREE_AUTO, GASNETC_TREE_FLAT, GASNETC_TREE_KNOMIAL };

struct bootstrap_job;

/* The names of this table and of variables that other parts of the library read; NULL beyond the
 * last. */
const char *gasnetc_param_name(size_t index);

/* Pure: true if `name` is a parameter, or a variable that another part of the library reads. */
bool gasnetc_param_known(const char *name);

/* True if the user has set the parameter of that name, or by its older name. */
bool gasnetc_param_given(const char *name);

/* Pure: true if `name` is a known variable that has no effect in this release. */
bool gasnetc_param_idle(const char *name);

/* Pure: true if `name` is a variable of other releases of GASNet, but not of this one. */
bool gasnetc_param_of_original(const char *name);

/* Reads all parameters from the job's environment, compares those that must be equal, warns of
 * unknown names.  Collective.  Fatal after an error. */
void gasnetc_params_init(const struct bootstrap_job *job);
