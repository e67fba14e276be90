/* report.h - gasnetrun --trace-report: one HTML page about the traces of a job. */
#ifndef REPORT_REPORT_H
#define REPORT_REPORT_H

#include <stdbool.h>
#include <stdio.h>

#include "other/launch/report/trace.h"

/* Reads the traces in `files`, which ends with NULL, and writes the page `output` (NULL:
 * gasnet-trace.html).  Returns the exit status: 0, or 2 after a message. */
int report_main(char **files, const char *output);

/* page.c: writes the page.  Returns false if something could not be written. */
bool page_write(const struct trace *trace, FILE *to);

/* The page before and behind its data; made by embed.sh. */
extern const unsigned char page_head[], page_tail[];
extern const size_t page_head_size, page_tail_size;

#endif
