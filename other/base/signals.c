/* signals.c - signals by name, their handlers, and the two signals that make a running process
 * freeze or print a backtrace.
 *
 * Used by the core for its own signals, and by clients; the callers decide which signals to handle.
 */
#include "config.h"

#include <ctype.h>
#include <signal.h>
#include <strings.h>

#include "tools.h"

static const struct {
    int number;
    const char *name;
} signals[] = {
    {SIGABRT, "SIGABRT"},     {SIGALRM, "SIGALRM"},     {SIGBUS, "SIGBUS"},
    {SIGCHLD, "SIGCHLD"},     {SIGCONT, "SIGCONT"},     {SIGFPE, "SIGFPE"},
    {SIGHUP, "SIGHUP"},       {SIGILL, "SIGILL"},       {SIGINT, "SIGINT"},
    {SIGIO, "SIGIO"},         {SIGKILL, "SIGKILL"},     {SIGPIPE, "SIGPIPE"},
    {SIGPROF, "SIGPROF"},     {SIGQUIT, "SIGQUIT"},     {SIGSEGV, "SIGSEGV"},
    {SIGSTOP, "SIGSTOP"},     {SIGSYS, "SIGSYS"},       {SIGTERM, "SIGTERM"},
    {SIGTRAP, "SIGTRAP"},     {SIGTSTP, "SIGTSTP"},     {SIGTTIN, "SIGTTIN"},
    {SIGTTOU, "SIGTTOU"},     {SIGURG, "SIGURG"},       {SIGUSR1, "SIGUSR1"},
    {SIGUSR2, "SIGUSR2"},     {SIGVTALRM, "SIGVTALRM"}, {SIGWINCH, "SIGWINCH"},
    {SIGXCPU, "SIGXCPU"},     {SIGXFSZ, "SIGXFSZ"},
#ifdef SIGPWR
    {SIGPWR, "SIGPWR"},
#endif
#ifdef SIGSTKFLT
    {SIGSTKFLT, "SIGSTKFLT"},
#endif
    {SIGIO, "SIGPOLL"},       {SIGABRT, "SIGIOT"},      {SIGCHLD, "SIGCLD"},
};
enum { N_SIGNALS = sizeof signals / sizeof *signals };

const char *gasnett_signame_fromval(int sig)
{
    for (int i = 0; i < N_SIGNALS; i++)
        if (signals[i].number == sig) return signals[i].name;
    return NULL;
}

int gasneti_signal_from_name(const char *name)
{
    int64_t number;
    if (isdigit((unsigned char)*name))
        return gasneti_parse_int(name, 0, &number) && number > 0 && number < NSIG ? (int)number : 0;
    for (int i = 0; i < N_SIGNALS; i++)
        if (!strcasecmp(name, signals[i].name) || !strcasecmp(name, signals[i].name + 3))
            return signals[i].number;
    return 0;
}

gasnett_sighandlerfn_t gasnett_reghandler(int sig, gasnett_sighandlerfn_t handler)
{
    struct sigaction now, before;
    memset(&now, 0, sizeof now);
    now.sa_handler = handler;
    now.sa_flags = SA_RESTART;
    (void)sigemptyset(&now.sa_mask);
    return sigaction(sig, &now, &before) ? SIG_ERR : before.sa_handler;
}

/* --- Freezing, or a backtrace, when a signal arrives --- */

static void freeze_handler(int sig)
{
    (void)sig;
    gasnet_frozen = 0; /* each signal freezes the process again */
    gasnett_freezeForDebuggerNow(&gasnet_frozen, "gasnet_frozen");
}

static void backtrace_handler(int sig)
{
    int saved = errno;
    (void)sig;
    (void)gasnett_print_backtrace(STDERR_FILENO);
    errno = saved;
}

static void install_named(const char *key, gasnett_sighandlerfn_t handler)
{
    const char *name = gasnett_getenv_withdefault(key, NULL);
    int sig;

    if (!name || !*name) return;
    sig = gasneti_signal_from_name(name);
    if (!sig) gasnett_fatalerror("%s=%s: not a signal; name one such as SIGUSR1", key, name);
    if (gasnett_reghandler(sig, handler) == SIG_ERR)
        gasnett_fatalerror("%s=%s: this signal cannot be caught", key, name);
}

void gasneti_ondemand_init(void)
{
    install_named("GASNET_FREEZE_SIGNAL", freeze_handler);
    install_named("GASNET_BACKTRACE_SIGNAL", backtrace_handler);
}
