/* tuning_text.h - the settings of a team's collectives as text, for the files of
 * gasnet_coll_dumpTuningState.  Pure.
 *
 * The first line is "gasnet-coll-settings 1"; each of the others is empty, a comment (#), or one of
 *     radix N                      N children of a node of a tree, from 2
 *     segment N                    most bytes of a message of a pipelined operation, from 1
 *     dissemination OPERATION N    of gather_all or exchange: up to N bytes by dissemination
 *     algorithm OPERATION NAME     of barrier, broadcast, scatter, gather, gather_all, exchange or
 *                                  reduce: flat, tree, scatter_first, dissemination or pairwise
 * Numbers are decimal.  Settings that the text does not mention are left to the library.
 */
#pragma once

#include "extended-ref/coll/plans/plan_choose.h"

enum { GASNETE_COLL_TUNING_BYTES = 2048 }; /* the longest text that is written */

/* Writes the settings as text; returns the length. */
size_t gasnete_coll_tuning_write(const gasnete_coll_settings_t *settings,
                                 char text[GASNETE_COLL_TUNING_BYTES]);

/* Reads a text that ends with a NUL.  Returns 0, or the number of the first line that is wrong, and
 * what is wrong in *why; *settings is undefined then.  */
unsigned gasnete_coll_tuning_read(const char *text, gasnete_coll_settings_t *settings,
                                  const char **why);
