/* teststart.c - the cost of joining a job: prints how many pages of memory gasnet_init touched on
 * rank 0.
 *
 * Run by hardship.sh, which compares jobs of different sizes.  Counted, not timed.
 */
#include <sys/resource.h>

#include "tests/programs/test.h"

static long pages(void)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_minflt;
}

int main(int argc, char **argv)
{
    long before = pages();
    if (gasnet_init(&argc, &argv) != GASNET_OK) return 1;
    long touched = pages() - before;
    gasnet_attach(NULL, 0, GASNET_PAGESIZE, 0);
    if (gasnet_mynode() == 0) printf("pages %ld\n", touched);
    gasnet_exit(0);
}
