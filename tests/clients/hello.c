/* hello.c - a client as others write them, in C and C++: it includes gasnet.h (and the tools), and
 * may have macros of its own with short names, which run.sh defines on the command line and, with
 * WORDS_AFTER, behind the headers.
 */
#include "gasnet.h"

#include "gasnet_tools.h"
#ifdef WORDS_AFTER
#include "words.h"
#endif
#include <stdio.h>

/* A second object file beside main's, if SECOND_OBJECT is set. */
#ifdef SECOND_OBJECT
int second_object(void);
int second_object(void)
{
    return gasnet_mynode() == gasnet_nodes();
}
#else

int main(int argc, char **argv)
{
    const char *config = GASNET_CONFIG_STRING;
    const char *tools = GASNETT_CONFIG_STRING;
    if (gasnet_init(&argc, &argv) != GASNET_OK) return 1;
    if (gasnet_attach(NULL, 0, GASNET_PAGESIZE, 0) != GASNET_OK) return 1;
    gasnet_barrier_notify(0, GASNET_BARRIERFLAG_ANONYMOUS);
    gasnet_barrier_wait(0, GASNET_BARRIERFLAG_ANONYMOUS);
    printf("rank %d of %d: %s %s %d\n", (int)gasnet_mynode(), (int)gasnet_nodes(), config, tools,
           gasnett_ticks_now() != 0);
    gasnet_exit(0);
    return 0;
}
#endif
