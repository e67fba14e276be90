/* rules.c - runs the groups of rules. With a name, only that group. */
#include "rules.h"

#include <string.h>

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*run)(void);
    } groups[] = {{"transfer", transfer_rules},
                  {"fault", fault_rules},
                  {"queue", queue_rules},
                  {"short", short_rules},
                  {"life", life_rules},
                  {"shared", shared_rules},
                  {"unreliable", unreliable_rules},
                  {"datagram", datagram_rules},
                  {"extended", extended_rules},
                  {"fork", fork_rules},
                  {"peer", peer_rules},
                  {"setting", setting_rules},
                  {"device", device_rules},
                  {"memlock", memlock_rules},
                  {"host", host_rules},
                  {"inject", inject_rules},
                  {"tear", tear_rules},
                  {"resize", resize_rules},
                  {"region", region_rules},
                  {"window", window_rules},
                  {"state", state_rules},
                  {"roce", roce_rules},
                  {"manager", manager_rules}};
    for (size_t i = 0; i < sizeof groups / sizeof *groups; i++)
        if (argc < 2 || !strcmp(argv[1], groups[i].name)) groups[i].run();
    return check_end();
}
