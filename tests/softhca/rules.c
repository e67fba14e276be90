/* rules.c - runs the groups of rules and reports in TAP. With a name, only that group. */
#include "rules.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static int count, bad;

void report(bool ok, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    printf("%sok %d - ", ok ? "" : "not ", ++count);
    vprintf(format, args);
    printf("\n");
    va_end(args);
    fflush(stdout);
    if (!ok) bad++;
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*run)(void);
    } groups[] = {{"transfer", transfer_rules}, {"fault", fault_rules},
                  {"queue", queue_rules},       {"life", life_rules},
                  {"setting", setting_rules},   {"device", device_rules}};
    for (size_t i = 0; i < sizeof groups / sizeof *groups; i++)
        if (argc < 2 || !strcmp(argv[1], groups[i].name)) groups[i].run();
    printf("1..%d\n", count);
    return bad || !count;
}
