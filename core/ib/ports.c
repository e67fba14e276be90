/* ports.c - the port filter: parsed again at each call, since start-up makes only a few.
 *
 * Called by rails.c.  A filter is a set: order and repetition mean nothing, and entries for devices
 * or ports that do not exist match nothing.
 */
#include "core/ib/ports.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

/* Length of the specification at `s`, up to '+' or the end. */
static size_t spec_length(const char *s)
{
    return strcspn(s, "+");
}

static bool spec_ok(const char *spec, size_t length)
{
    const char *end = spec + length;
    const char *colon = memchr(spec, ':', length);
    if ((colon ? colon : end) == spec) return false;
    if (!colon) return true;
    const char *p = colon + 1;
    for (;;) {
        if (p == end || !isdigit((unsigned char)*p)) return false;
        while (p < end && isdigit((unsigned char)*p)) p++;
        if (p == end) return true;
        if (*p++ != ',') return false;
    }
}

bool net_ib_ports_check(const char *filter, char *why, size_t why_size)
{
    if (!filter || !*filter) return true;
    for (const char *s = filter;; s++) {
        size_t length = spec_length(s);
        if (!spec_ok(s, length)) {
            snprintf(why, why_size, "'%.*s' is not of the form HCA or HCA:port,port", (int)length,
                     s);
            return false;
        }
        s += length;
        if (!*s) return true;
    }
}

static enum net_ib_port_rule spec_rule(const char *spec, size_t length, const char *device,
                                       unsigned port)
{
    const char *colon = memchr(spec, ':', length);
    size_t name = colon ? (size_t)(colon - spec) : length;
    if (strlen(device) != name || memcmp(device, spec, name)) return NET_IB_PORT_NO;
    if (!colon) return NET_IB_PORT_FIRST_ACTIVE;
    for (const char *p = colon + 1; p < spec + length; p += strspn(p, "0123456789") + 1) {
        unsigned n = 0;
        for (const char *d = p; isdigit((unsigned char)*d) && n < 1000; d++)
            n = n * 10 + (unsigned)(*d - '0');
        if (n == port) return NET_IB_PORT_YES;
    }
    return NET_IB_PORT_NO;
}

enum net_ib_port_rule net_ib_ports_rule(const char *filter, const char *device, unsigned port)
{
    if (!filter || !*filter) return NET_IB_PORT_FIRST_ACTIVE;
    enum net_ib_port_rule best = NET_IB_PORT_NO;
    for (const char *s = filter;; s++) {
        size_t length = spec_length(s);
        enum net_ib_port_rule rule = spec_rule(s, length, device, port);
        if (rule == NET_IB_PORT_YES) return rule;
        if (rule != NET_IB_PORT_NO) best = rule;
        s += length;
        if (!*s) return best;
    }
}

uint32_t net_ib_ports_most(int64_t qps, uint32_t limit)
{
    return qps > 0 && qps < limit ? (uint32_t)qps : limit;
}

static bool matches_any(const char *spec, size_t length, const struct net_ib_port_name *ports,
                        size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (spec_rule(spec, length, ports[i].device, ports[i].port) != NET_IB_PORT_NO) return true;
    return false;
}

void net_ib_ports_unmatched(const char *filter, const struct net_ib_port_name *ports, size_t count,
                            char *text, size_t size)
{
    size_t used = 0;
    text[0] = 0;
    for (const char *s = filter; s && *s; s += *s == '+') {
        size_t length = spec_length(s);
        if (!matches_any(s, length, ports, count) && used < size) {
            int n = snprintf(text + used, size - used, "%s%.*s", used ? ", " : "", (int)length, s);
            used += n > 0 ? (size_t)n : 0;
        }
        s += length;
    }
}
