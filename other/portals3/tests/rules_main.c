/* rules_main.c - tries the rules of Portals: rules [-n processes] [-s] [room...]. */
#include "other/portals3/tests/rules.h"

int main(int argc, char **argv)
{
    return ring_main(argc, argv, rules_all);
}
