/* gid_list.c - the GIDs of a port: the attribute `gids` of SOFTHCA_DEVICES, which is their number
 * or a list of words.  Pure.
 */
#include <infiniband/verbs.h>

#include "other/softhca/src/settings/inventory.h"

enum { UNREACHABLE = 1 << 8 };
#define GID(type, family) ((uint64_t)IBV_GID_TYPE_##type << 4 | SHCA_GID_##family)

static const struct shca_word words[] = {
    {"v1-local", GID(ROCE_V1, LOCAL)},
    {"v1-ipv6", GID(ROCE_V1, IPV6)},
    {"v1-ipv4", GID(ROCE_V1, IPV4)},
    {"v2-local", GID(ROCE_V2, LOCAL)},
    {"v2-ipv6", GID(ROCE_V2, IPV6)},
    {"v2-ipv4", GID(ROCE_V2, IPV4)},
    {"v2-local-unreachable", GID(ROCE_V2, LOCAL) | UNREACHABLE},
    {"v2-ipv6-unreachable", GID(ROCE_V2, IPV6) | UNREACHABLE},
    {"v2-ipv4-unreachable", GID(ROCE_V2, IPV4) | UNREACHABLE},
    {"none", SHCA_GID_NONE},
    {NULL, 0}};

/* The table of an Ethernet port for which none is given: that of a port with one IPv4 address. */
static const uint64_t usual[] = {GID(ROCE_V1, LOCAL), GID(ROCE_V2, LOCAL), GID(ROCE_V1, IPV4),
                                 GID(ROCE_V2, IPV4)};
enum { USUAL = sizeof usual / sizeof *usual };

static struct shca_gid_model model_of(uint64_t word)
{
    return (struct shca_gid_model){
        .type = word >> 4 & 0xf, .family = word & 0xf, .unreachable = (word & UNREACHABLE) != 0};
}

bool shca_gid_list_parse(struct shca_span value, struct shca_port_model *m)
{
    struct shca_span rest = value, item;
    uint64_t word, n = 0;
    while (shca_span_next(&rest, '+', &item)) {
        if (n == SHCA_GIDS || !shca_span_word(item, words, &word)) return false;
        m->gid[n++] = model_of(word);
    }
    m->gids = n;
    m->gids_listed = true;
    return n > 0;
}

void shca_gid_list_words(char *list, size_t room)
{
    shca_list_words(list, room, words);
}

bool shca_gid_list_finish(struct shca_port_model *m)
{
    const bool ethernet = m->link == IBV_LINK_LAYER_ETHERNET;
    if (m->gids_listed && !ethernet) return false;
    if (!m->gids) m->gids = ethernet ? USUAL : 1;
    for (uint64_t i = 0; i < m->gids; i++) {
        struct shca_gid_model *g = &m->gid[i];
        if (!m->gids_listed) *g = model_of(ethernet ? usual[i % USUAL] : GID(IB, LOCAL));
        g->ordinal = 0;
        for (uint64_t j = 0; j < i; j++)
            g->ordinal += m->gid[j].type == g->type && m->gid[j].family == g->family;
    }
    return true;
}
