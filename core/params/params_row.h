/* params_row.h - a PARAM row of params.def as a row of a table of environment variables.
 *
 * The library's table (params.c) has the offsets of the fields, the launcher's (params_help.c) has
 * none.
 */
#ifndef GASNETC_PARAMS_ROW_H
#define GASNETC_PARAMS_ROW_H

#include "other/base/env_table.h"

#define PARAM_TEXT_(x) #x
#define PARAM_TEXT(x)  PARAM_TEXT_(x)

#define PARAM_INITIAL_NUMBER(x)    PARAM_TEXT(x)
#define PARAM_INITIAL_SIZE(x)      PARAM_TEXT(x)
#define PARAM_INITIAL_MEGABYTES(x) PARAM_TEXT(x) "B" /* the table has bytes */
#define PARAM_INITIAL_MEMORY(x)    PARAM_TEXT(x)
#define PARAM_INITIAL_SECONDS(x)   PARAM_TEXT(x)
#define PARAM_INITIAL_FRACTION(x)  PARAM_TEXT(x)
#define PARAM_INITIAL_BOOLEAN(x)   (x) ? "yes" : "no"
#define PARAM_INITIAL_TEXT(x)      ""

#define PARAM_ROW(field_, kind_, name_, alias_, initial_, least_, most_, same_, help_)             \
    {.name = name_,                                                                                \
     .alias = alias_,                                                                              \
     .kind = GASNETI_ENV_##kind_,                                                                  \
     .initial = PARAM_INITIAL_##kind_(initial_),                                                   \
     .least = least_,                                                                              \
     .most = (double)(most_),                                                                      \
     .same = same_,                                                                                \
     .help = help_,                                                                                \
     .offset = PARAM_OFFSET(field_)},

#endif
