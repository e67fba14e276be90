/* findings.c - the lines of the report. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "other/base/printed.h"
#include "other/launch/doctor/doctor.h"

static const char good[] = "  ok       ", note[] = "  note     ", problem[] = "  PROBLEM  ";
static unsigned problems;

static void print_line(const char *mark, const char *format, va_list list)
{
    fputs(mark, stdout);
    vprintf(format, list);
    putchar('\n');
}

void doctor_good(const char *format, ...)
{
    va_list list;
    va_start(list, format);
    print_line(good, format, list);
    va_end(list);
}

void doctor_note(const char *format, ...)
{
    va_list list;
    va_start(list, format);
    print_line(note, format, list);
    va_end(list);
}

void doctor_problem(const char *format, ...)
{
    va_list list;
    problems++;
    va_start(list, format);
    print_line(problem, format, list);
    va_end(list);
}

bool doctor_pass(const char *line)
{
    const bool is_problem = !strncmp(line, problem, sizeof problem - 1);
    problems += is_problem;
    if (!is_problem && strncmp(line, good, sizeof good - 1) && strncmp(line, note, sizeof note - 1))
        return false;
    fputs(line, stdout);
    return true;
}

unsigned doctor_problems(void)
{
    return problems;
}

int doctor_end_print(void)
{
    int error = gasneti_printed();
    if (error)
        fprintf(stderr, "the report is lost: cannot write to standard output: %s\n",
                strerror(error));
    return error ? 1 : 0;
}
