/* messages.c - does one thing that prints or ends the process, named by its argument; run.sh looks
 * at output and exit status.
 *
 * Defines a backtrace mechanism of its own, as clients may.
 */
#include <signal.h>

#include "gasnet_tools.h"

static int my_backtrace(int fd)
{
    return write(fd, "my own backtrace\n", 17) != 17;
}

GASNETT_BEGIN_EXTERNC
gasnett_backtrace_type_t gasnett_backtrace_user = {"MINE", my_backtrace, 1};
GASNETT_END_EXTERNC

static void report(void)
{
    gasnett_getenv_withdefault("TOOLS_TEXT", "dflt");
    gasnett_getenv_withdefault("TOOLS_TEXT", "dflt"); /* once only */
    gasnett_getenv_withdefault("TOOLS_UNSET", NULL);
    gasnett_getenv_withdefault("TOOLS_EMPTY", NULL);
    gasnett_getenv_int_withdefault("TOOLS_SIZE", 1 << 20, 1);
    gasnett_getenv_yesno_withdefault("TOOLS_YES", 0);
    gasnett_getenv_dbl_withdefault("TOOLS_DBL", 0.5);
}

static void closed(void)
{
    close(STDOUT_FILENO);
    printf("lost\n");
    gasnett_flush_streams();
    gasnett_close_streams();
    gasnett_close_streams();
    printf("lost as well\n");
    fprintf(stderr, "lost too\n");
    gasnett_flush_streams();
}

static void backtrace(void)
{
    int failed;
    gasnett_setenv("GASNET_BACKTRACE_TYPE", "NOSUCH,MINE");
    gasnett_backtrace_init("messages");
    failed = gasnett_print_backtrace(STDOUT_FILENO);
    gasnett_setenv("GASNET_BACKTRACE_TYPE", "EXECINFO");
    gasnett_backtrace_init("messages");
    failed |= gasnett_print_backtrace(STDOUT_FILENO);
    exit(failed);
}

/* By a program, whose status is lost where SIGCHLD is ignored. */
static void by_program(int ignored)
{
    if (ignored) signal(SIGCHLD, SIG_IGN);
    gasnett_setenv("GASNET_BACKTRACE_TYPE", "PSTACK,EXECINFO");
    gasnett_backtrace_init("messages");
    exit(gasnett_print_backtrace(STDOUT_FILENO));
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";
    if (!strcmp(what, "fatal")) gasnett_fatalerror("code %d, %s", 7, "text");
    if (!strcmp(what, "long")) gasnett_fatalerror("%*s end", 10000, "start");
    if (!strcmp(what, "kill")) gasnett_killmyprocess(9);
    if (!strcmp(what, "yesno")) return gasnett_getenv_yesno_withdefault("TOOLS_BAD", 0);
    if (!strcmp(what, "int")) return (int)gasnett_getenv_int_withdefault("TOOLS_BAD", 0, 0);
    if (!strcmp(what, "size")) return (int)gasnett_getenv_int_withdefault("TOOLS_BAD", 0, 1);
    if (!strcmp(what, "dbl")) return (int)gasnett_getenv_dbl_withdefault("TOOLS_BAD", 0);
    if (!strcmp(what, "report")) report();
    if (!strcmp(what, "closed")) closed();
    if (!strcmp(what, "backtrace")) backtrace();
    if (!strcmp(what, "program")) by_program(0);
    if (!strcmp(what, "ignored")) by_program(1);
    return 0;
}
