/* options.h - parses the launcher's command line.  Pure. */
#ifndef OPTIONS_H
#define OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum options_action {
    OPTIONS_RUN,
    OPTIONS_HELP,
    OPTIONS_HELP_ENV,
    OPTIONS_VERSION,
    OPTIONS_STATS,
    OPTIONS_WHY,
    OPTIONS_TRACE_REPORT,
    OPTIONS_TOP,
    OPTIONS_DOCTOR
};

struct options {
    enum options_action action;
    uint32_t ranks;      /* -n */
    uint32_t hosts;      /* -N; 0: not given */
    uint32_t cpus;       /* -c; 0: not given */
    uint32_t job;        /* --stats, --why, --top */
    const char *export_; /* -E; NULL: not given */
    const char *spawner; /* NULL: not given */
    const char *output;  /* -o; NULL: not given */
    bool verbose, dry_run, keep;
    char **program; /* the program and its arguments, NULL-terminated; --trace-report: the files */
};

/* Returns false with one line in `why` that names the word and the remedy. */
bool options_parse(struct options *options, char **argv, char *why, size_t why_size);

#endif
