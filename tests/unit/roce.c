/* roce.c - other/connect/roce: which GIDs of a table are chosen, which of them two ports use, the
 * words for messages; and how a table is read, from the software device and from files like those
 * of sysfs.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "other/connect/roce/table.h"
#include "tests/unit/check.h"

enum { MOST = 256 };

static roce_entry_t table[MOST];
static size_t entries;

static void gid_of(const char *text, uint8_t gid[16])
{
    static const struct {
        const char *name;
        uint8_t gid[16];
    } known[] = {{"zero", {0}},
                 {"local", {0xfe, 0x80, [15] = 1}},
                 {"local2", {0xfe, 0xbf, [15] = 2}},
                 {"site", {0xfe, 0xc0, [15] = 1}},
                 {"global", {0x20, 1, 0xd, 0xb8, [15] = 1}},
                 {"ipv4", {[10] = 0xff, [11] = 0xff, 10, 0, 0, 1}},
                 {"ipv4b", {[10] = 0xff, [11] = 0xff, 10, 0, 0, 2}}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (!strcmp(known[i].name, text)) memcpy(gid, known[i].gid, sizeof known[i].gid);
}

/* "INDEX:TYPE-NAME ...", where TYPE is ib, v1 or v2. */
static void make_table(const char *text)
{
    char copy[200], *rest = copy, type[8], name[16];
    unsigned at;
    snprintf(copy, sizeof copy, "%s", text);
    entries = 0;
    for (char *word; (word = strsep(&rest, " "));) {
        if (sscanf(word, "%u:%2s-%15s", &at, type, name) != 3) continue;
        roce_entry_t *e = &table[entries++];
        *e = (roce_entry_t){.at = at,
                            .type = !strcmp(type, "ib")   ? ROCE_IB
                                    : !strcmp(type, "v1") ? ROCE_V1
                                                          : ROCE_V2,
                            .interface = "eth0"};
        gid_of(name, e->gid);
    }
}

/* The indices chosen, in the order of the classes: "3 - 1 0". */
static const char *chosen(const roce_port_t *port)
{
    static char text[64];
    text[0] = 0;
    for (int kind = 0; kind < ROCE_CLASSES; kind++) {
        const size_t used = strlen(text);
        const bool has = port->offer.classes >> kind & 1;
        snprintf(text + used, sizeof text - used, has ? "%s%u" : "%s-", used ? " " : "",
                 port->at[kind]);
    }
    return text;
}

static void choices(void)
{
    static const struct {
        const char *name, *table;
        bool ethernet;
        int wanted;
        const char *chosen; /* NULL: nothing */
    } cases[] = {
        {"a usual table", "0:v1-local 1:v2-local 2:v1-ipv4 3:v2-ipv4", true, -1, "3 - 1 0"},
        {"one with global IPv6", "0:v1-local 1:v2-local 4:v1-global 5:v2-global", true, -1,
         "- 5 1 0"},
        {"an address of a site is no link-local one", "0:v2-site", true, -1, "- 0 - -"},
        {"all of fe80::/10 is link-local", "0:v2-local2", true, -1, "- - 0 -"},
        {"the first of each class", "0:v2-ipv4 1:v2-ipv4b 7:v2-local 8:v2-local2", true, -1,
         "0 - 7 -"},
        {"in a table of any order", "9:v2-ipv4 1:v2-ipv4b 8:v2-local2 7:v2-local", true, -1,
         "1 - 7 -"},
        {"RoCE v1 alone", "0:v1-local", true, -1, "- - - 0"},
        {"RoCE v1, link-local first", "0:v1-ipv4 5:v1-local 6:v1-local2", true, -1, "- - - 5"},
        {"RoCE v1 without link-local", "3:v1-ipv4 2:v1-global", true, -1, "- - - 2"},
        {"holes", "0:v1-zero 1:v2-zero 200:v2-ipv4", true, -1, "200 - - -"},
        {"an empty table", "", true, -1, NULL},
        {"a table of zeros", "0:v1-zero 1:v2-zero", true, -1, NULL},
        {"an index that addresses cannot hold", "256:v2-ipv4", true, -1, NULL},
        {"a wanted index", "0:v1-local 1:v2-local 2:v1-ipv4 3:v2-ipv4", true, 1, "- - 1 -"},
        {"a wanted index of RoCE v1", "0:v1-local 1:v2-local 2:v1-ipv4 3:v2-ipv4", true, 2,
         "- - - 2"},
        {"a wanted index that is zero", "0:v1-local 1:v2-zero", true, 1, NULL},
        {"a wanted index that is absent", "0:v1-local 1:v2-local", true, 9, NULL},
        {"the last index", "0:v1-local 255:v2-ipv4", true, 255, "255 - - -"},
        {"InfiniBand: index 0", "0:ib-local 1:ib-local2", false, -1, "- - - 0"},
        {"InfiniBand: a wanted index", "0:ib-local 1:ib-local2", false, 1, "- - - 1"},
        {"InfiniBand: not the next when 0 is zero", "0:ib-zero 1:ib-local", false, -1, NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        roce_port_t port;
        make_table(cases[i].table);
        const bool ok = roce_choose(table, entries, cases[i].ethernet, cases[i].wanted, &port);
        const bool right = cases[i].chosen ? ok && !strcmp(chosen(&port), cases[i].chosen) : !ok;
        if (!check(right && port.offer.ethernet == cases[i].ethernet, "choice: %s", cases[i].name))
            check_note("chosen: %s", chosen(&port));
    }
    for (entries = 0; entries < MOST; entries++) {
        table[entries] = (roce_entry_t){.at = (uint32_t)entries, .type = ROCE_V1};
        gid_of(entries == 255 ? "ipv4" : "local", table[entries].gid);
    }
    table[255].type = ROCE_V2;
    roce_port_t port;
    check(roce_choose(table, MOST, true, ROCE_AUTO, &port) && !strcmp(chosen(&port), "255 - - 0"),
          "choice: of 256 entries");
}

static roce_port_t port_of(const char *text, bool ethernet)
{
    roce_port_t port;
    make_table(text);
    roce_choose(table, entries, ethernet, ROCE_AUTO, &port);
    return port;
}

static void pairs(void)
{
    static const struct {
        const char *mine, *theirs;
        int class;
    } cases[] = {{"0:v1-local 3:v2-ipv4", "5:v2-ipv4b", ROCE_V2_IPV4},
                 {"0:v1-local 1:v2-local 3:v2-ipv4", "0:v1-local2 1:v2-local2", ROCE_V2_LOCAL},
                 {"0:v1-local 1:v2-global", "0:v1-local 1:v2-global 2:v2-ipv4", ROCE_V2_IPV6},
                 {"0:v1-local 3:v2-ipv4", "0:v1-local", ROCE_V1_OR_IB},
                 {"0:v1-local", "0:v2-ipv4", -1},
                 {"0:v2-local", "0:v2-ipv4", -1},
                 {"", "0:v2-ipv4", -1}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const roce_port_t a = port_of(cases[i].mine, true), b = port_of(cases[i].theirs, true);
        check_each(roce_common(&a.offer, &b.offer) == cases[i].class &&
                       roce_common(&b.offer, &a.offer) == cases[i].class,
                   "%s and %s: %d", cases[i].mine, cases[i].theirs,
                   roce_common(&a.offer, &b.offer));
    }
    const roce_port_t ib = port_of("0:ib-local", false), v1 = port_of("0:v1-local", true);
    check_each(roce_common(&ib.offer, &ib.offer) == ROCE_V1_OR_IB, "InfiniBand");
    check_each(roce_common(&ib.offer, &v1.offer) == -1, "InfiniBand and Ethernet");
    check_all("two ports use the first class that both have, the same at both ends");
}

static void is(const char *text, const char *wanted)
{
    if (!check(!strcmp(text, wanted), "words: %s", wanted)) check_note("it is: %s", text);
}

static void words(void)
{
    char text[ROCE_TEXT];
    const roce_port_t port = port_of("0:v1-local 3:v2-ipv4", true), ib = port_of("0:ib-local", 0);
    is(roce_own_text(&port, ROCE_V2_IPV4, text, sizeof text),
       "GID 3 ::ffff:10.0.0.1 (RoCE v2, eth0)");
    is(roce_own_text(&ib, ROCE_V1_OR_IB, text, sizeof text), "GID 0 fe80::1 (InfiniBand, eth0)");
    is(roce_peer_text(&port.offer, ROCE_V1_OR_IB, text, sizeof text), "GID fe80::1 (RoCE v1)");
    is(roce_offer_text(&port.offer, text, sizeof text),
       "::ffff:10.0.0.1 (RoCE v2), fe80::1 (RoCE v1)");
    is(roce_offer_text(&(roce_offer_t){.ethernet = 1}, text, sizeof text), "none");
    is(roce_ping_text(&port, &port.offer, ROCE_V2_IPV4, text, sizeof text),
       "check that `ping -I eth0 10.0.0.1` succeeds on this host");
    make_table("0:v1-local 1:v2-zero 3:v2-ipv4");
    table[2].interface[0] = 0;
    is(roce_table_text(table, entries, true, text, sizeof text),
       "0 fe80::1 (RoCE v1, eth0), 3 ::ffff:10.0.0.1 (RoCE v2)");
    is(roce_table_text(table, 0, true, text, sizeof text), "empty");
    is(roce_table_text(table, entries, true, text, 40), "0 fe80::1 (RoCE v1, eth0), ...");
}

/* --- reading --- */

static void write_file(const char *root, const char *what, int index, const char *line)
{
    char path[300];
    FILE *f;
    snprintf(path, sizeof path, "%s/softhca0/ports/1/gid_attrs/%s/%d", root, what, index);
    if (!(f = fopen(path, "w"))) exit(1);
    fprintf(f, "%s\n", line);
    fclose(f);
}

static void make_files(const char *root)
{
    static const char *const folders[] = {"softhca0",
                                          "softhca0/ports",
                                          "softhca0/ports/1",
                                          "softhca0/ports/1/gid_attrs",
                                          "softhca0/ports/1/gid_attrs/types",
                                          "softhca0/ports/1/gid_attrs/ndevs"};
    char path[300];
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++) {
        snprintf(path, sizeof path, "%s/%s", root, folders[i]);
        mkdir(path, 0700);
    }
    static const char *const types[] = {"IB/RoCE v1", "RoCE v2", "", "RoCE v2"};
    for (int i = 0; i < 4; i++) write_file(root, "types", i, types[i]);
    write_file(root, "ndevs", 1, "eth7");
}

static struct ibv_context *device(int i)
{
    struct ibv_device **list = ibv_get_device_list(NULL);
    struct ibv_context *context = list && list[i] ? ibv_open_device(list[i]) : NULL;
    if (!context) exit(1);
    ibv_free_device_list(list);
    return context;
}

static bool is_entry(const roce_entry_t *e, uint32_t at, uint32_t type, uint8_t first,
                     const char *interface)
{
    return e->at == at && e->type == type && e->gid[0] == first && !strcmp(e->interface, interface);
}

static void reading(void)
{
    char root[] = "/tmp/unit-roce.XXXXXX", command[64];
    struct ibv_context *roce = device(0), *ib = device(1);
    size_t n = roce_read_table(roce, 1, table, MOST);
    check(n == 3 && is_entry(&table[0], 0, ROCE_V1, 0xfe, "lo") &&
              is_entry(&table[1], 1, ROCE_V2, 0xfe, "lo") &&
              is_entry(&table[2], 3, ROCE_V2, 0, "lo"),
          "the verbs have types and interfaces, and empty entries are left out");
    check(roce_read_table(roce, 1, table, 2) == 2 && roce_read_table(roce, 9, table, 2) == 0,
          "no more than there is room for, and none of a port that is not there");
    check(roce_read_table(device(2), 1, table, MOST) == 1 && is_entry(table, 0, ROCE_V2, 0, "lo"),
          "a table of one entry");
    if (!mkdtemp(root)) exit(1);
    n = roce_read_sysfs(roce, root, 1, table, MOST);
    check(n == 3 && table[0].type == ROCE_V1 && table[2].type == ROCE_V1 && !*table[2].interface,
          "where nothing has types, as in old kernels, all are of RoCE v1");
    make_files(root);
    n = roce_read_sysfs(roce, root, 1, table, MOST);
    check(n == 3 && is_entry(&table[0], 0, ROCE_V1, 0xfe, "") &&
              is_entry(&table[1], 1, ROCE_V2, 0xfe, "eth7") &&
              is_entry(&table[2], 3, ROCE_V2, 0, ""),
          "the files of sysfs have them too");
    check(roce_read_sysfs(roce, root, 1, table, 1) == 1 &&
              roce_read_sysfs(roce, root, 9, table, MOST) == 0,
          "from files too no more than there is room for");
    n = roce_read_sysfs(ib, root, 1, table, MOST);
    check(n == 2 && is_entry(&table[0], 0, ROCE_IB, 0xfe, "") && table[1].type == ROCE_IB &&
              roce_read_table(ib, 1, table, MOST) == 2 && is_entry(&table[1], 1, ROCE_IB, 0xfe, ""),
          "InfiniBand has one type");
    snprintf(command, sizeof command, "rm -r %s", root);
    if (system(command)) exit(1);
}

static void partitions(void)
{
    static const struct {
        uint16_t mine, theirs;
        bool one;
        const char *text;
    } cases[] = {
        {0xffff, 0xffff, true, NULL},
        {0x8001, 0x0001, true, NULL},
        {0, 0x8001, true, NULL},
        {0x8001, 0x8002, false, "its P_Key is 0x8002, the one here 0x8001"},
        {0x0001, 0x8002, false, "its P_Key is 0x8002, the one here 0x0001"},
        {0x0001, 0x0001, false,
         "its P_Key is 0x0001, the one here 0x0001, and limited members do not reach each other"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const roce_offer_t mine = {.pkey = cases[i].mine}, theirs = {.pkey = cases[i].theirs};
        char text[ROCE_TEXT];
        check(roce_one_partition(&mine, &theirs) == cases[i].one &&
                  roce_one_partition(&theirs, &mine) == cases[i].one &&
                  (cases[i].one ||
                   !strcmp(roce_partition_text(&mine, &theirs, text, sizeof text), cases[i].text)),
              "P_Keys %#06x and %#06x", (unsigned)cases[i].mine, (unsigned)cases[i].theirs);
    }
}

static void pkeys(void)
{
    static const uint16_t some[] = {0xffff, 0, 0x8000, 0x8001}, none[] = {0x8000};
    uint16_t read[4];
    char text[64];
    check(roce_pkey(some, 4, 0, text, sizeof text) == 0xffff &&
              roce_pkey(some, 4, 3, text, sizeof text) == 0x8001,
          "indices that have a P_Key");
    check(!roce_pkey(some, 4, 4, text, sizeof text) && !strcmp(text, "0 0xffff, 3 0x8001"),
          "one after the end; those that have a P_Key");
    check(!roce_pkey(some, 4, 1, text, sizeof text) && !roce_pkey(some, 4, 2, text, sizeof text),
          "empty entries");
    check(!roce_pkey(none, 1, 0, text, sizeof text) && !strcmp(text, "none"), "no P_Key");
    struct ibv_context *ib = device(1);
    check(roce_read_pkeys(ib, 1, read, 4) == 2 && read[0] == 0xffff && read[1] == 0x8001 &&
              roce_read_pkeys(ib, 1, read, 1) == 1 && roce_read_pkeys(ib, 9, read, 4) == 0,
          "the table of a port");
}

int main(int argc, char **argv)
{
    setenv("SOFTHCA", "on", 1);
    setenv(
        "SOFTHCA_DEVICES",
        "3;gids=2,pkeys=0xffff+0x8001;softhca0:link=ethernet,gids=v1-local+v2-local+none+v2-ipv4;"
        "softhca2:link=ethernet,gids=v2-ipv4",
        1);
    check_begin(argc, argv);
    choices();
    pairs();
    words();
    reading();
    partitions();
    pkeys();
    return check_end();
}
