/* rank_file.c - the names of rank_file.h. */
#include "core/job/rank_file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/job/job.h"

int gasneti_standard_stream(const char *name)
{
    if (!strcmp(name, "-") || !strcmp(name, "stderr")) return STDERR_FILENO;
    return strcmp(name, "stdout") ? -1 : STDOUT_FILENO;
}

char *gasneti_rank_file_name(const char *pattern)
{
    char *name = NULL, *directory = *pattern == '/' ? NULL : getcwd(NULL, 0);
    size_t length;
    FILE *out = open_memstream(&name, &length);
    if (!out) return NULL;
    if (directory) fprintf(out, "%s/", directory);
    free(directory);
    for (; *pattern; pattern++)
        if (*pattern == '%')
            fprintf(out, "%u", gasnetc_job.rank);
        else
            fputc(*pattern, out);
    return fclose(out) ? NULL : name;
}
