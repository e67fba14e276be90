/* rank_file.h - files that the user names for what each rank reports: GASNET_STATSFILE,
 * GASNET_LOGFILE. */
#pragma once

/* The descriptor of "stdout", "stderr" or "-", which is standard error; -1: the name is of a file.
 */
int gasneti_standard_stream(const char *name);

/* The name with each % replaced by this rank's number, absolute, because a program may change its
 * directory.  The caller frees it; NULL when out of memory. */
char *gasneti_rank_file_name(const char *pattern);
