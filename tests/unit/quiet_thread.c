/* quiet_thread.c - threads that take no signals but those of their own faults
 * (other/base/quiet_thread.h), in a program whose thread-local data leave no room on a small
 * stack.
 */
#include "other/base/quiet_thread.h"

#include <semaphore.h>

#include "tests/unit/check.h"

enum { SMALL = 256 << 10 };

static __thread volatile char much[1 << 20];
static sem_t ran;
static sigset_t mask; /* the thread's */

static void *look(void *arg)
{
    much[sizeof much - 1] = 1;
    pthread_sigmask(SIG_SETMASK, NULL, &mask);
    sem_post(&ran);
    return arg;
}

static bool takes(const sigset_t *set, int number)
{
    return sigismember(set, number) == 0;
}

static bool is_fault(int number)
{
    return number == SIGSEGV || number == SIGBUS || number == SIGFPE || number == SIGILL;
}

static void start(bool joined, size_t stack)
{
    pthread_t thread;
    void *result = NULL;
    sigset_t mine;
    sigemptyset(&mask);
    int error = gasneti_quiet_thread(joined ? &thread : NULL, stack, look, &ran);
    if (!check(error == 0, "it starts%s%s", joined ? ", to be joined" : "",
               stack ? ", with a stack too small for the thread-local data" : "")) {
        check_note("error %d", error);
        return;
    }
    sem_wait(&ran);
    if (joined) pthread_join(thread, &result);
    pthread_sigmask(SIG_SETMASK, NULL, &mine);
    check_each(result == (joined ? &ran : NULL), "its result");
    check_each(takes(&mine, SIGINT) && !takes(&mine, SIGUSR1), "the caller's signals changed");
    for (int number = 1; number < 32; number++)
        check_each(number == SIGKILL || number == SIGSTOP ||
                       takes(&mask, number) == is_fault(number),
                   "it %s signal %d", takes(&mask, number) ? "takes" : "blocks", number);
}

int main(int argc, char **argv)
{
    sigset_t one;
    check_begin(argc, argv);
    sem_init(&ran, 0, 0);
    sigemptyset(&one);
    sigaddset(&one, SIGUSR1);
    pthread_sigmask(SIG_SETMASK, &one, NULL);
    start(false, 0);
    start(false, SMALL);
    start(true, 0);
    start(true, SMALL);
    check_all("it takes no signal, and the mask of the thread that started it is unchanged");
    return check_end();
}
