/* unit.c - the main program around unit.f90. */
#include <gasnet.h>
#include <stdio.h>

extern void write_unit(const char *name, const int *length);

int main(int argc, char **argv)
{
    char name[1000];
    gasnet_init(&argc, &argv);
    gasnet_attach(NULL, 0, GASNET_PAGESIZE, 0);
    const int length = snprintf(name, sizeof name, "%s.%d", argv[argc - 1], (int)gasnet_mynode());
    write_unit(name, &length);
    gasnet_barrier_notify(0, GASNET_BARRIERFLAG_ANONYMOUS);
    gasnet_barrier_wait(0, GASNET_BARRIERFLAG_ANONYMOUS);
    gasnet_exit(0);
}
