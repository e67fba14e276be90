/* calls.c - functions of the C library that programs call after gasnet.h alone. */
#include "gasnet.h"

int main(int argc, char **argv)
{
    printf("%ld\n", argc > 1 ? atol(argv[1]) : 0);
    pthread_setconcurrency(2);
    pthread_yield();
    return 0;
}
