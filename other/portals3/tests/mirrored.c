/*
 * mirrored.c - tries the rules of Portals against a peer in the mirror: mirrored [room...].
 *
 * MIRROR_WAYS holds letters: t, a thread makes progress; p, lists are published.  TEST_SEED replays
 * a schedule.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "other/portals3/tests/rules.h"
#include "other/portals3/tests/scripted_peer.h"

int main(int argc, char **argv)
{
    const char *letters = getenv("MIRROR_WAYS"), *seed = getenv("TEST_SEED");
    struct mirror_ways ways = {.seed = seed ? strtoull(seed, NULL, 0) : (uint64_t)time(NULL)};
    ways.thread = letters && strchr(letters, 't');
    ways.publish = letters && strchr(letters, 'p');
    printf("# TEST_SEED=%llu\n", (unsigned long long)ways.seed);
    mirror_set(ways);
    ring.mirrored = true;
    return ring_main(argc, argv, rules_all);
}
