/* roce.c - the choice of GIDs, and the words of roce.h. */
#include "other/connect/roce/roce.h"

#include <arpa/inet.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static const uint8_t mapped[12] = {[10] = 0xff, [11] = 0xff}; /* ::ffff:0:0/96 */

static bool is_zero(const uint8_t gid[16])
{
    static const uint8_t zero[16];
    return !memcmp(gid, zero, sizeof zero);
}

/* fe80::/10 */
static bool is_local(const uint8_t gid[16])
{
    return gid[0] == 0xfe && (gid[1] & 0xc0) == 0x80;
}

static enum roce_class class_of(const roce_entry_t *entry)
{
    if (entry->type != ROCE_V2) return ROCE_V1_OR_IB;
    if (!memcmp(entry->gid, mapped, sizeof mapped)) return ROCE_V2_IPV4;
    return is_local(entry->gid) ? ROCE_V2_LOCAL : ROCE_V2_IPV6;
}

static bool has_class(const roce_offer_t *offer, int kind)
{
    return offer->classes >> kind & 1;
}

/* True if `entry` is better than the one chosen so far. Of RoCE v1 a link-local GID comes first: it
 * contains the Ethernet address, so no address resolution is needed. Otherwise the lowest index
 * comes first. */
static bool precedes(const roce_entry_t *entry, const roce_port_t *port, int kind)
{
    const bool local = is_local(entry->gid), taken = is_local(port->offer.gid[kind]);
    if (kind == ROCE_V1_OR_IB && local != taken) return local;
    return entry->at < port->at[kind];
}

static void roce_take(const roce_entry_t *entry, roce_port_t *port)
{
    const enum roce_class kind = class_of(entry);
    if (is_zero(entry->gid) || entry->at > ROCE_MOST_INDEX) return;
    if (has_class(&port->offer, kind) && !precedes(entry, port, kind)) return;
    port->offer.classes |= (uint8_t)(1u << kind);
    memcpy(port->offer.gid[kind], entry->gid, sizeof entry->gid);
    port->at[kind] = (uint8_t)entry->at;
    memcpy(port->interface[kind], entry->interface, sizeof entry->interface);
}

bool roce_choose(const roce_entry_t *table, size_t count, bool ethernet, int wanted,
                 roce_port_t *port)
{
    if (wanted == ROCE_AUTO && !ethernet) wanted = 0;
    memset(port, 0, sizeof *port);
    port->offer.ethernet = ethernet;
    for (size_t i = 0; i < count; i++)
        if (wanted == ROCE_AUTO || table[i].at == (uint32_t)wanted) roce_take(&table[i], port);
    return port->offer.classes != 0;
}

int roce_common(const roce_offer_t *mine, const roce_offer_t *theirs)
{
    if (!mine->ethernet != !theirs->ethernet) return -1;
    for (int kind = 0; kind < ROCE_CLASSES; kind++)
        if (has_class(mine, kind) && has_class(theirs, kind)) return kind;
    return -1;
}

/* The upper bit of a P_Key distinguishes full members of the partition from limited ones. */
enum { PARTITION = 0x7fff, FULL_MEMBER = 0x8000 };

bool roce_one_partition(const roce_offer_t *mine, const roce_offer_t *theirs)
{
    if (!mine->pkey || !theirs->pkey) return true;
    return (mine->pkey & PARTITION) == (theirs->pkey & PARTITION) &&
           (mine->pkey | theirs->pkey) & FULL_MEMBER;
}

/* --- words --- */

static const char *type_text(bool ethernet, bool v2)
{
    return !ethernet ? "InfiniBand" : v2 ? "RoCE v2" : "RoCE v1";
}

static const char *class_text(const roce_offer_t *offer, int kind)
{
    return type_text(offer->ethernet, kind != ROCE_V1_OR_IB);
}

/* Appends to the text, if there is room for all of it; else false. */
static bool roce_append(char *text, size_t size, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
static bool roce_append(char *text, size_t size, const char *format, ...)
{
    const size_t used = strlen(text);
    va_list list;
    va_start(list, format);
    const int n = vsnprintf(text + used, size - used, format, list);
    va_end(list);
    if (n >= 0 && (size_t)n < size - used) return true;
    text[used] = 0;
    return false;
}

char *roce_gid_text(const uint8_t gid[16], char text[ROCE_GID_TEXT])
{
    if (!inet_ntop(AF_INET6, gid, text, ROCE_GID_TEXT)) text[0] = 0;
    return text;
}

char *roce_own_text(const roce_port_t *port, int kind, char *text, size_t size)
{
    char gid[ROCE_GID_TEXT];
    const char *interface = port->interface[kind];
    snprintf(text, size, "GID %u %s (%s%s%.15s)", port->at[kind],
             roce_gid_text(port->offer.gid[kind], gid), class_text(&port->offer, kind),
             *interface ? ", " : "", interface);
    return text;
}

char *roce_peer_text(const roce_offer_t *offer, int kind, char *text, size_t size)
{
    char gid[ROCE_GID_TEXT];
    snprintf(text, size, "GID %s (%s)", roce_gid_text(offer->gid[kind], gid),
             class_text(offer, kind));
    return text;
}

char *roce_offer_text(const roce_offer_t *offer, char *text, size_t size)
{
    char gid[ROCE_GID_TEXT];
    text[0] = 0;
    for (int kind = 0; kind < ROCE_CLASSES; kind++)
        if (has_class(offer, kind))
            roce_append(text, size, "%s%s (%s)", *text ? ", " : "",
                        roce_gid_text(offer->gid[kind], gid), class_text(offer, kind));
    if (!*text) roce_append(text, size, "none");
    return text;
}

char *roce_table_text(const roce_entry_t *table, size_t count, bool ethernet, char *text,
                      size_t size)
{
    static const char more[] = ", ...";
    char gid[ROCE_GID_TEXT];
    text[0] = 0;
    for (size_t i = 0; i < count; i++) {
        const roce_entry_t *entry = &table[i];
        if (is_zero(entry->gid)) continue;
        if (roce_append(text, size - sizeof more, "%s%u %s (%s%s%.15s)", *text ? ", " : "",
                        entry->at, roce_gid_text(entry->gid, gid),
                        type_text(ethernet, entry->type == ROCE_V2), *entry->interface ? ", " : "",
                        entry->interface))
            continue;
        roce_append(text, size, "%s", more);
        break;
    }
    if (!*text) roce_append(text, size, "empty");
    return text;
}

const roce_fault_t *roce_port_fault(bool active, bool ethernet, bool addressed)
{
    static const roce_fault_t
        inactive = {"is not active",
                    "check its cable, its switch and, on InfiniBand, the subnet manager"},
        no_gid = {"has no GID: has its interface an address?",
                  "assign an address to the network interface of the port (rdma link, ip address)"},
        no_address = {"has neither LID nor GID: is a subnet manager running?",
                      "start a subnet manager in the fabric"};
    if (!active) return &inactive;
    if (addressed) return NULL;
    return ethernet ? &no_gid : &no_address;
}

uint16_t roce_pkey(const uint16_t *table, size_t count, uint32_t wanted, char *text, size_t size)
{
    text[0] = 0;
    if (wanted < count && table[wanted] & PARTITION) return table[wanted];
    for (size_t i = 0; i < count; i++)
        if (table[i] & PARTITION &&
            !roce_append(text, size, "%s%zu %#06x", *text ? ", " : "", i, (unsigned)table[i]))
            break;
    if (!*text) roce_append(text, size, "none");
    return 0;
}

char *roce_partition_text(const roce_offer_t *mine, const roce_offer_t *theirs, char *text,
                          size_t size)
{
    const bool limited = (mine->pkey & PARTITION) == (theirs->pkey & PARTITION);
    snprintf(text, size, "its P_Key is %#06x, the one here %#06x%s", (unsigned)theirs->pkey,
             (unsigned)mine->pkey, limited ? ", and limited members do not reach each other" : "");
    return text;
}

char *roce_ping_text(const roce_port_t *port, const roce_offer_t *peer, int kind, char *text,
                     size_t size)
{
    char gid[ROCE_GID_TEXT];
    const char *interface = port->interface[kind];
    const char *address = roce_gid_text(peer->gid[kind], gid);
    if (!memcmp(peer->gid[kind], mapped, sizeof mapped)) address += strlen("::ffff:");
    snprintf(text, size, "check that `ping %s%.15s%s%s` succeeds on this host",
             *interface ? "-I " : "", interface, *interface ? " " : "", address);
    return text;
}
