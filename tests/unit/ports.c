/* ports.c - the port filter GASNET_IBV_PORTS against the rules of IB-C3 and
 * IB-C9.
 */
#include "core/ib/ports.h"

#include <stdio.h>
#include <string.h>

#include "tests/unit/check.h"

static const enum net_ib_port_rule NO = NET_IB_PORT_NO, YES = NET_IB_PORT_YES,
                                   FIRST = NET_IB_PORT_FIRST_ACTIVE;

static void rule(const char *filter, const char *device, unsigned port, enum net_ib_port_rule want)
{
    static const char *const words[] = {"passed over", "taken", "taken if first active"};
    enum net_ib_port_rule got = net_ib_ports_rule(filter, device, port);
    check(got == want, "IB-C3 filter %s: %s port %u is %s", filter ? filter : "(none)", device,
          port, words[want]);
    if (got != want) check_note("it is %s", words[got]);
}

static void rules(void)
{
    rule(NULL, "mlx5_0", 1, FIRST);
    rule("", "mlx5_0", 2, FIRST);
    rule("mlx5_0", "mlx5_0", 2, FIRST);
    rule("mlx5_0", "mlx5_1", 1, NO);
    rule("mlx5_0:1", "mlx5_0", 1, YES);
    rule("mlx5_0:1", "mlx5_0", 2, NO);
    rule("mlx5_0:1,3", "mlx5_0", 3, YES);
    rule("mlx5_0:1,3", "mlx5_0", 2, NO);
    rule("mlx5_0:12", "mlx5_0", 1, NO);
    rule("mlx5_0:12", "mlx5_0", 2, NO);
    rule("mlx5_0:12", "mlx5_0", 12, YES);
    rule("mlx5_0:1", "mlx5_0", 11, NO);
    rule("mlx5_0:01", "mlx5_0", 1, YES);
    rule("mlx5_0+mlx5_1", "mlx5_1", 1, FIRST);
    rule("mlx5_0:2+mlx5_1:1", "mlx5_0", 1, NO);
    rule("mlx5_0:2+mlx5_1:1", "mlx5_1", 1, YES);
    rule("mlx5_1:1+mlx5_0:2", "mlx5_0", 2, YES);
    rule("absent:1+mlx5_0:2", "mlx5_0", 2, YES);
    rule("mlx5_0:2+mlx5_0:2", "mlx5_0", 2, YES);
    rule("mlx5_0:1+mlx5_0:2", "mlx5_0", 1, YES);
    rule("mlx5_0:1+mlx5_0:2", "mlx5_0", 2, YES);
    rule("mlx5_0+mlx5_0:2", "mlx5_0", 2, YES);
    rule("mlx5_0:2+mlx5_0", "mlx5_0", 2, YES);
    rule("mlx5_0:2+mlx5_0", "mlx5_0", 1, FIRST);
    /* Names are compared whole. */
    rule("mlx5_0", "mlx5_01", 1, NO);
    rule("mlx5_01", "mlx5_0", 1, NO);
    rule("mlx5_0:1", "mlx5", 1, NO);
    rule("mlx5_0:4294967297", "mlx5_0", 1, NO);
}

static void unmatched(const char *filter, const char *want)
{
    static const struct net_ib_port_name ports[] = {{"mlx5_0", 1}, {"mlx5_0", 2}, {"mlx5_1", 1}};
    char text[64];
    net_ib_ports_unmatched(filter, ports, 3, text, sizeof text);
    if (!check(!strcmp(text, want), "IB-C3 filter %s: '%s' matches nothing", filter, want))
        check_note("it is '%s'", text);
}

static void absences(void)
{
    unmatched("mlx5_0", "");
    unmatched("mlx5_0:2+mlx5_1", "");
    unmatched("mlx5_0:3", "mlx5_0:3");
    unmatched("mlx5+mlx5_1:1+mlx5_1:2,3+mthca0", "mlx5, mlx5_1:2,3, mthca0");
    /* Longer than the room for it: cut, not overrun. */
    unmatched("0123456789012345678901234567890+0123456789012345678901234567890+x",
              "0123456789012345678901234567890, 012345678901234567890123456789");
}

static void good(const char *filter)
{
    char why[64] = "";
    check(net_ib_ports_check(filter, why, sizeof why), "IB-C3 %s is a filter",
          filter ? filter : "(none)");
    if (*why) check_note("%s", why);
}

static void bad(const char *filter, const char *named)
{
    char why[128] = "";
    bool taken = net_ib_ports_check(filter, why, sizeof why), ok;
    ok = check(!taken && strstr(why, named) && !strchr(why, '\n'),
               "IB-C3 '%s' is no filter, and the message quotes '%s'", filter, named);
    if (!ok) check_note("%s", taken ? "taken" : why);
}

static void forms(void)
{
    good(NULL);
    good("");
    good("mlx5_0");
    good("mlx5_0:1");
    good("mlx5_0:1,2,1");
    good("mlx5_0:1+mthca0:2,1+x");
    bad("+", "''");
    bad("mlx5_0+", "''");
    bad("+mlx5_0", "''");
    bad("a++b", "''");
    bad(":1", "':1'");
    bad("mlx5_0:", "'mlx5_0:'");
    bad("a+mlx5_0:x+b", "'mlx5_0:x'");
    bad("mlx5_0:1,", "'mlx5_0:1,'");
    bad("mlx5_0:,1", "'mlx5_0:,1'");
    bad("mlx5_0:1;2", "'mlx5_0:1;2'");
    bad("mlx5_0:-1", "'mlx5_0:-1'");
    bad("mlx5_0:1:2", "'mlx5_0:1:2'");
}

/* A filter is a set: the answers for a shuffled, doubled one are the same (IB-C3). */
static void order_means_nothing(void)
{
    static const char *const parts[] = {"a", "b:1", "b:3", "c:2,4", "d:1", "c"};
    enum { PARTS = 6 };
    char plain[64] = "";
    for (int i = 0; i < PARTS; i++) sprintf(plain + strlen(plain), "%s%s", i ? "+" : "", parts[i]);
    for (int round = 0; round < 200; round++) {
        char mixed[256] = "";
        unsigned seen = 0;
        while (seen != (1u << PARTS) - 1 || check_below(2)) {
            unsigned i = check_below(PARTS);
            if (strlen(mixed) > 200) break;
            seen |= 1u << i;
            sprintf(mixed + strlen(mixed), "%s%s", *mixed ? "+" : "", parts[i]);
        }
        if (seen != (1u << PARTS) - 1) continue;
        for (char device[2] = "a"; *device <= 'f'; ++*device)
            for (unsigned port = 1; port < 6; port++)
                check_each(net_ib_ports_rule(mixed, device, port) ==
                               net_ib_ports_rule(plain, device, port),
                           "%s: %s port %u", mixed, device, port);
    }
    check_all("IB-C3 order and repetition mean nothing");
}

static void most(int64_t qps, uint32_t limit, uint32_t want)
{
    uint32_t got = net_ib_ports_most(qps, limit);
    if (!check(got == want, "IB-C9 GASNET_NUM_QPS=%d: %u of at most %u ports", (int)qps, want,
               limit))
        check_note("it is %u", got);
}

static void bounds(void)
{
    most(0, 8, 8);
    most(1, 8, 1);
    most(7, 8, 7);
    most(8, 8, 8);
    most(64, 8, 8);
    most(3, 1, 1);
}

int main(int argc, char **argv)
{
    check_begin(argc, argv);
    rules();
    forms();
    absences();
    bounds();
    order_means_nothing();
    return check_end();
}
