/* inventory.c - parses SOFTHCA_DEVICES; see inventory.h.
 *
 * Each name is a row of one table: the field that it sets, of a device or of a port, and the values
 * that it takes. The defaults are the bounds of the implementation (shm.h).
 */
#include "other/softhca/src/settings/inventory.h"

#include <infiniband/verbs.h>
#include <stdarg.h>
#include <string.h>

#include "other/softhca/src/settings/limits.h"

static const struct shca_word states[] = {{"down", IBV_PORT_DOWN},
                                          {"init", IBV_PORT_INIT},
                                          {"armed", IBV_PORT_ARMED},
                                          {"active", IBV_PORT_ACTIVE},
                                          {NULL, 0}};
static const struct shca_word mtus[] = {{"256", IBV_MTU_256},   {"512", IBV_MTU_512},
                                        {"1024", IBV_MTU_1024}, {"2048", IBV_MTU_2048},
                                        {"4096", IBV_MTU_4096}, {NULL, 0}};
static const struct shca_word widths[] = {{"1x", 1}, {"2x", 16}, {"4x", 2},
                                          {"8x", 4}, {"12x", 8}, {NULL, 0}};
static const struct shca_word speeds[] = {{"sdr", 1},   {"ddr", 2},   {"qdr", 4},
                                          {"fdr10", 8}, {"fdr", 16},  {"edr", 32},
                                          {"hdr", 64},  {"ndr", 128}, {NULL, 0}};

static const struct shca_word transports[] = {
    {"infiniband", IBV_TRANSPORT_IB}, {"iwarp", IBV_TRANSPORT_IWARP}, {NULL, 0}};

static const struct shca_word atomics[] = {
    {"none", IBV_ATOMIC_NONE}, {"hca", IBV_ATOMIC_HCA}, {"glob", IBV_ATOMIC_GLOB}, {NULL, 0}};

static const struct shca_word links[] = {
    {"infiniband", IBV_LINK_LAYER_INFINIBAND}, {"ethernet", IBV_LINK_LAYER_ETHERNET}, {NULL, 0}};

enum kind { NUMBER, WORD, FIRMWARE, PKEYS, GIDS };
struct attribute {
    const char *name;
    bool of_port;
    enum kind kind;
    size_t offset; /* in the model of a device, or of a port */
    uint64_t initial, least, most;
    const struct shca_word *words;
};
#define DEVICE(field) #field, false, NUMBER, offsetof(struct shca_device_model, field)
#define PORT(field)   true, WORD, offsetof(struct shca_port_model, field)
static const struct attribute attributes[] = {
    {DEVICE(max_qp), SHCA_QPS, 1, SHCA_QPS, NULL},
    {DEVICE(max_cq), SHCA_CQS, 1, SHCA_CQS, NULL},
    {DEVICE(max_mr), SHCA_MRS, 1, SHCA_MRS, NULL},
    {DEVICE(max_pd), 1 << 20, 1, 1 << 20, NULL},
    {DEVICE(max_cqe), SHCA_MAX_CQE, 1, SHCA_MAX_CQE, NULL},
    {DEVICE(max_qp_wr), SHCA_MAX_WR, 1, SHCA_MAX_WR, NULL},
    {DEVICE(max_sge), SHCA_MAX_SGE, 1, SHCA_MAX_SGE, NULL},
    {DEVICE(max_sge_rd), SHCA_MAX_SGE, 1, SHCA_MAX_SGE, NULL},
    {DEVICE(max_srq), SHCA_SRQS / 2, 0, SHCA_SRQS / 2, NULL},
    {DEVICE(max_srq_wr), SHCA_MAX_WR, 1, SHCA_MAX_WR, NULL},
    {DEVICE(max_srq_sge), SHCA_MAX_SGE, 1, SHCA_MAX_SGE, NULL},
    {DEVICE(max_mr_size), 1ull << 46, 4096, 1ull << 46, NULL},
    {DEVICE(max_inline_data), SHCA_MAX_INLINE, 0, SHCA_MAX_INLINE, NULL},
    {DEVICE(max_qp_rd_atom), 128, 0, 255, NULL},
    {DEVICE(max_qp_init_rd_atom), 128, 0, 255, NULL},
    {DEVICE(vendor_id), 0, 0, 0xffffff, NULL},
    {DEVICE(vendor_part_id), 1, 0, UINT32_MAX, NULL},
    {DEVICE(hw_ver), 0, 0, UINT32_MAX, NULL},
    {"fw_ver", false, FIRMWARE, offsetof(struct shca_device_model, fw_ver), 0, 0, 0, NULL},
    {"transport", false, WORD, offsetof(struct shca_device_model, transport), IBV_TRANSPORT_IB, 0,
     0, transports},
    {"atomic_cap", false, WORD, offsetof(struct shca_device_model, atomic_cap), IBV_ATOMIC_HCA, 0,
     0, atomics},
    {"state", PORT(state), IBV_PORT_ACTIVE, 0, 0, states},
    {"active_mtu", PORT(active_mtu), IBV_MTU_4096, 0, 0, mtus},
    {"active_width", PORT(width), 2, 0, 0, widths},
    {"active_speed", PORT(speed), 64, 0, 0, speeds},
    {"lmc", true, NUMBER, offsetof(struct shca_port_model, lmc), 0, 0, 7, NULL},
    {"link", PORT(link), IBV_LINK_LAYER_INFINIBAND, 0, 0, links},
    {"gids", true, GIDS, offsetof(struct shca_port_model, gids), 1, 1, SHCA_GIDS, NULL},
    {"max_msg_sz", true, NUMBER, offsetof(struct shca_port_model, max_msg_sz), SHCA_MAX_MESSAGE,
     1024, SHCA_MAX_MESSAGE, NULL},
    {"pkeys", true, PKEYS, 0, 0, 0, 0, NULL},
};
enum { ATTRIBUTES = sizeof attributes / sizeof *attributes };

struct parse {
    struct shca_inventory *out;
    char *why;
    size_t room;
};

static bool inventory_refuse(struct parse *p, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
static bool inventory_refuse(struct parse *p, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(p->why, p->room, format, args);
    va_end(args);
    return false;
}

static void inventory_set_defaults(struct shca_inventory *out)
{
    memset(out, 0, sizeof *out);
    out->devices = out->ports = 1;
    for (int d = 0; d < SHCA_DEVICES; d++) {
        struct shca_device_model *m = &out->device[d];
        strcpy(m->fw_ver, "1.0.0");
        for (int p = 0; p < SHCA_PORTS; p++) m->port[p].pkeys = 1, m->port[p].pkey[0] = 0xffff;
        for (int i = 0; i < ATTRIBUTES; i++) {
            const struct attribute *a = &attributes[i];
            if (a->kind != NUMBER && a->kind != WORD) continue;
            for (int p = 0; p < (a->of_port ? SHCA_PORTS : 1); p++) {
                char *model = a->of_port ? (char *)&m->port[p] : (char *)m;
                memcpy(model + a->offset, &a->initial, sizeof a->initial);
            }
        }
    }
}

static bool inventory_parse_count(struct parse *p, struct shca_span count)
{
    struct shca_span rest = count, devices = shca_span_cut(&rest, 'x');
    uint64_t d, ports = 1;
    if (!shca_span_number(devices, 1, SHCA_DEVICES, &d) ||
        (shca_span_has(count, 'x') && !shca_span_number(rest, 1, SHCA_PORTS, &ports)))
        return inventory_refuse(
            p, "'%.*s' is not a number of devices (1..%d), or devices x ports (1..%d) such as 2x2",
            SHCA_SPAN(count), SHCA_DEVICES, SHCA_PORTS);
    p->out->devices = d;
    p->out->ports = ports;
    return true;
}

/* The devices and ports of a clause: from the first to the second number, exclusive. */
struct scope {
    bool one_port;
    uint64_t device, devices, port, ports;
};

static bool inventory_parse_scope(struct parse *p, struct shca_span text, struct scope *s)
{
    struct shca_span port = text, device = shca_span_cut(&port, '/');
    s->one_port = shca_span_has(text, '/');
    if (!shca_span_device(device, p->out->devices - 1, &s->device))
        return inventory_refuse(p, "'%.*s' is none of the devices softhca0 to softhca%u",
                                SHCA_SPAN(text), p->out->devices - 1);
    s->devices = s->device + 1;
    if (!s->one_port) return true;
    if (!shca_span_number(port, 1, p->out->ports, &s->port))
        return inventory_refuse(p, "'%.*s' is no port: they are 1 to %u", SHCA_SPAN(text),
                                p->out->ports);
    s->ports = s->port--;
    return true;
}

static const struct attribute *inventory_find_attribute(struct parse *p, struct shca_span name)
{
    struct shca_near near = {0};
    for (int i = 0; i < ATTRIBUTES; i++) {
        if (shca_span_is(name, attributes[i].name)) return &attributes[i];
        shca_span_near(name, attributes[i].name, &near);
    }
    inventory_refuse(p, "'%.*s' is no attribute of a device or port%s%s%s", SHCA_SPAN(name),
                     near.name ? " (is it " : "", near.name ? near.name : "",
                     near.name ? "?)" : "");
    return NULL;
}

static bool inventory_parse_word(struct parse *p, const struct attribute *a, struct shca_span value,
                                 uint64_t *number)
{
    char all[80] = "";
    if (shca_span_word(value, a->words, number)) return true;
    shca_list_words(all, sizeof all, a->words);
    return inventory_refuse(p, "%s=%.*s is none of %s", a->name, SHCA_SPAN(value), all);
}

static bool inventory_parse_pkeys(struct parse *p, struct shca_span value,
                                  struct shca_port_model *m)
{
    struct shca_span rest = value, item;
    m->pkeys = 0;
    while (shca_span_next(&rest, '+', &item)) {
        uint64_t key;
        if (m->pkeys == SHCA_PKEYS || !shca_span_number(item, 1, 0xffff, &key))
            return inventory_refuse(p, "pkeys=%.*s is not 1 to %d numbers in 1..0xffff joined by +",
                                    SHCA_SPAN(value), SHCA_PKEYS);
        m->pkey[m->pkeys++] = key;
    }
    return true;
}

static bool inventory_parse_number(struct parse *p, const struct attribute *a,
                                   struct shca_span value, void *field)
{
    uint64_t number;
    if (!shca_span_number(value, a->least, a->most, &number))
        return inventory_refuse(p, "%s=%.*s is not a whole number in %llu..%llu", a->name,
                                SHCA_SPAN(value), (unsigned long long)a->least,
                                (unsigned long long)a->most);
    memcpy(field, &number, sizeof number);
    return true;
}

/* A number, or a list of words. */
static bool inventory_parse_gids(struct parse *p, const struct attribute *a, struct shca_span value,
                                 struct shca_port_model *m)
{
    char all[200] = "";
    m->gids_listed = false;
    if (value.n == 0 || (value.at[0] != 'v' && value.at[0] != 'n'))
        return inventory_parse_number(p, a, value, &m->gids);
    if (shca_gid_list_parse(value, m)) return true;
    shca_gid_list_words(all, sizeof all);
    return inventory_refuse(p, "gids=%.*s is not 1 to %d of these, joined by +: %s",
                            SHCA_SPAN(value), SHCA_GIDS, all);
}

/* Stores one attribute in one model. */
static bool inventory_set(struct parse *p, const struct attribute *a, struct shca_span value,
                          void *model)
{
    uint64_t number;
    char *field = (char *)model + a->offset;
    switch (a->kind) {
    case NUMBER:
        return inventory_parse_number(p, a, value, field);
    case GIDS:
        return inventory_parse_gids(p, a, value, model);
    case WORD:
        if (!inventory_parse_word(p, a, value, &number)) return false;
        memcpy(field, &number, sizeof number);
        return true;
    case FIRMWARE:
        if (value.n == 0 || value.n >= SHCA_FW_VER)
            return inventory_refuse(p, "fw_ver=%.*s has not 1 to %d characters", SHCA_SPAN(value),
                                    SHCA_FW_VER - 1);
        memset(field, 0, SHCA_FW_VER);
        memcpy(field, value.at, value.n);
        return true;
    default:
        return inventory_parse_pkeys(p, value, model);
    }
}

static bool inventory_parse_attribute(struct parse *p, struct shca_span text, const struct scope *s)
{
    struct shca_span value = text, name = shca_span_cut(&value, '=');
    if (!shca_span_has(text, '='))
        return inventory_refuse(p, "'%.*s' is not NAME=VALUE", SHCA_SPAN(text));
    const struct attribute *a = inventory_find_attribute(p, name);
    if (!a) return false;
    if (s->one_port && !a->of_port)
        return inventory_refuse(p, "%s is an attribute of a device, not of a port", a->name);
    for (uint64_t d = s->device; d < s->devices; d++) {
        struct shca_device_model *m = &p->out->device[d];
        if (!a->of_port && !inventory_set(p, a, value, m)) return false;
        for (uint64_t i = s->port; a->of_port && i < s->ports; i++)
            if (!inventory_set(p, a, value, &m->port[i])) return false;
    }
    return true;
}

static bool inventory_parse_clause(struct parse *p, struct shca_span clause)
{
    struct scope s = {.devices = p->out->devices, .ports = p->out->ports};
    if (shca_span_has(clause, ':') && !inventory_parse_scope(p, shca_span_cut(&clause, ':'), &s))
        return false;
    struct shca_span item;
    while (shca_span_next(&clause, ',', &item))
        if (!inventory_parse_attribute(p, item, &s)) return false;
    return true;
}

static bool inventory_finish(struct parse *p)
{
    for (uint32_t d = 0; d < p->out->devices; d++)
        for (uint32_t i = 0; i < p->out->ports; i++)
            if (!shca_gid_list_finish(&p->out->device[d].port[i]))
                return inventory_refuse(p,
                                        "gids is a list of GIDs of RoCE, but the link layer of "
                                        "softhca%u port %u is not ethernet",
                                        d, i + 1);
    return true;
}

bool shca_inventory_parse(const char *text, struct shca_inventory *inventory, char *why,
                          size_t room)
{
    struct parse p = {inventory, why, room};
    struct shca_span rest = shca_span(text ? text : "");
    inventory_set_defaults(inventory);
    for (bool first = true; rest.n > 0; first = false) {
        struct shca_span clause = shca_span_cut(&rest, ';');
        if (clause.n == 0) continue;
        bool count = first && !shca_span_has(clause, '=') && !shca_span_has(clause, ':');
        if (!(count ? inventory_parse_count(&p, clause) : inventory_parse_clause(&p, clause)))
            return false;
    }
    return inventory_finish(&p);
}

bool shca_inventory_check(const char *text, char *why, size_t room)
{
    struct shca_inventory scratch = {0};
    return shca_inventory_parse(text, &scratch, why, room);
}

void shca_inventory_print(FILE *to)
{
    for (int i = 0; i < ATTRIBUTES; i++) {
        const struct attribute *a = &attributes[i];
        fprintf(to, "    %-20s %s  ", a->name, a->of_port ? "port  " : "device");
        switch (a->kind) {
        case NUMBER:
            fprintf(to, "%llu..%llu (%llu)", (unsigned long long)a->least,
                    (unsigned long long)a->most, (unsigned long long)a->initial);
            break;
        case WORD:
            for (const struct shca_word *w = a->words; w->name; w++)
                fprintf(to, a->initial == w->value ? "(%s) " : "%s ", w->name);
            break;
        case GIDS:
            fprintf(to, "%llu..%llu (%llu), or a list such as v1-local+v2-ipv4",
                    (unsigned long long)a->least, (unsigned long long)a->most,
                    (unsigned long long)a->initial);
            break;
        case FIRMWARE:
            fprintf(to, "a text (1.0.0)");
            break;
        case PKEYS:
            fprintf(to, "numbers joined by + (0xffff)");
            break;
        }
        fprintf(to, "\n");
    }
}
