/* inventory.c - the language of SOFTHCA_DEVICES: what it sets, and every message of its
 * parser.
 */
#include "other/softhca/src/settings/inventory.h"

#include <infiniband/verbs.h>
#include <string.h>

#include "other/softhca/src/settings/limits.h"
#include "tests/unit/check.h"

static struct shca_inventory all;
static char why[300];

static bool parse(const char *text)
{
    memset(&all, 0x5a, sizeof all);
    strcpy(why, "");
    return shca_inventory_parse(text, &all, why, sizeof why);
}

static void is(const char *text, bool condition)
{
    check(condition && !*why, "SOFTHCA_DEVICES=%s", text);
    if (*why) check_note("%s", why);
}
#define GOOD(text, condition) is(text, parse(text) && (condition))

static void bad(const char *text, const char *wanted)
{
    bool ok = parse(text);
    check(!ok && !strcmp(why, wanted), "SOFTHCA_DEVICES=%s: %s", text, wanted);
    if (strcmp(why, wanted)) check_note("it says: %s", why);
}

static void good_texts(void)
{
    const struct shca_device_model *d = all.device;
    GOOD("", all.devices == 1 && all.ports == 1);
    check(parse(NULL) && all.devices == 1 && all.ports == 1, "not set: one device, one port");
    check(d->max_qp == SHCA_QPS && d->max_mr == SHCA_MRS && d->max_inline_data == SHCA_MAX_INLINE &&
              !strcmp(d->fw_ver, "1.0.0") && d->port[0].state == IBV_PORT_ACTIVE &&
              d->port[0].pkeys == 1 && d->port[0].pkey[0] == 0xffff && d->port[0].gids == 1,
          "the defaults are what the implementation can do");
    GOOD("3", all.devices == 3 && all.ports == 1);
    GOOD("16x8", all.devices == 16 && all.ports == 8);
    GOOD(" 2 x 3 ; ; ", all.devices == 2 && all.ports == 3);
    GOOD("max_qp=7", all.devices == 1 && d[0].max_qp == 7);
    GOOD("2;max_qp=7", d[0].max_qp == 7 && d[1].max_qp == 7);
    GOOD("2;softhca1:max_qp=0x10", d[0].max_qp == SHCA_QPS && d[1].max_qp == 16);
    GOOD("2;max_qp=7;softhca1:max_qp=8", d[0].max_qp == 7 && d[1].max_qp == 8);
    GOOD("2;softhca1:max_qp=8;max_qp=7", d[0].max_qp == 7 && d[1].max_qp == 7);
    GOOD("max_mr_size=64M,max_qp=1K", d[0].max_mr_size == 64 << 20 && d[0].max_qp == 1024);
    GOOD("fw_ver=3.5.0 beta", !strcmp(d[0].fw_ver, "3.5.0 beta"));
    GOOD("2x2;softhca0/2:state=down", d[0].port[0].state == IBV_PORT_ACTIVE &&
                                          d[0].port[1].state == IBV_PORT_DOWN &&
                                          d[1].port[1].state == IBV_PORT_ACTIVE);
    GOOD("2x2;softhca1:state=init", d[0].port[0].state == IBV_PORT_ACTIVE &&
                                        d[1].port[0].state == IBV_PORT_INIT &&
                                        d[1].port[1].state == IBV_PORT_INIT);
    GOOD("1x2;active_mtu=512 , active_speed = fdr10,active_width=12x",
         d[0].port[1].active_mtu == IBV_MTU_512 && d[0].port[1].speed == 8 &&
             d[0].port[1].width == 8);
    GOOD("pkeys=0x8001+5+0xffff",
         d[0].port[0].pkeys == 3 && d[0].port[0].pkey[0] == 0x8001 && d[0].port[0].pkey[1] == 5);
    const struct shca_port_model *p = d[0].port;
    GOOD("gids=3", p->gids == 3 && p->link == IBV_LINK_LAYER_INFINIBAND &&
                       p->gid[2].type == IBV_GID_TYPE_IB && p->gid[2].ordinal == 2);
    GOOD("link=ethernet", p->gids == 4 && p->link == IBV_LINK_LAYER_ETHERNET &&
                              p->gid[0].type == IBV_GID_TYPE_ROCE_V1 &&
                              p->gid[3].type == IBV_GID_TYPE_ROCE_V2 &&
                              p->gid[3].family == SHCA_GID_IPV4 && p->gid[3].ordinal == 0);
    GOOD("link=ethernet,gids=6", p->gids == 6 && p->gid[5].ordinal == 1);
    GOOD("gids=none+v2-ipv6+v2-ipv6-unreachable+v1-local,link=ethernet",
         p->gids == 4 && p->gid[0].family == SHCA_GID_NONE && p->gid[1].family == SHCA_GID_IPV6 &&
             !p->gid[1].unreachable && p->gid[2].unreachable && p->gid[2].ordinal == 1 &&
             p->gid[3].type == IBV_GID_TYPE_ROCE_V1 && p->gid[3].family == SHCA_GID_LOCAL);
    GOOD("1x2;softhca0/2:link=ethernet", p[0].gids == 1 && p[1].gids == 4);
    GOOD("link=ethernet,gids=v1-local;gids=2", p->gids == 2 && !p->gids_listed);
    GOOD("pkeys=1+2;pkeys=3", d[0].port[0].pkeys == 1 && d[0].port[0].pkey[0] == 3);
}

static void bad_texts(void)
{
    const char *count = "'%s' is not a number of devices (1..16), or devices x ports (1..8) such "
                        "as 2x2";
    static const char *const counts[] = {"0", "17", "2x", "x2", "2x9", "2x0", "2y2", "-1", "2x2x2"};
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        char wanted[200];
        snprintf(wanted, sizeof wanted, count, counts[i]);
        bad(counts[i], wanted);
    }
    bad("max_qp=1;2x2", "'2x2' is not NAME=VALUE");
    bad("max_qp", "'max_qp' is not a number of devices (1..16), or devices x ports (1..8) such as "
                  "2x2");
    bad("2;softhca2:max_qp=1", "'softhca2' is none of the devices softhca0 to softhca1");
    bad("softhca:max_qp=1", "'softhca' is none of the devices softhca0 to softhca0");
    bad("mlx5_0:max_qp=1", "'mlx5_0' is none of the devices softhca0 to softhca0");
    bad(":max_qp=1", "'' is none of the devices softhca0 to softhca0");
    bad("1x2;softhca0/3:state=down", "'softhca0/3' is no port: they are 1 to 2");
    bad("softhca0/0:state=down", "'softhca0/0' is no port: they are 1 to 1");
    bad("softhca0/:state=down", "'softhca0/' is no port: they are 1 to 1");
    bad("softhca0:", "'' is not NAME=VALUE");
    bad("max_qp=1,,max_cq=1", "'' is not NAME=VALUE");
    bad("max_qp=1,", "'' is not NAME=VALUE");
    bad("pkeys=1+", "pkeys=1+ is not 1 to 16 numbers in 1..0xffff joined by +");
    bad("max_qq=1", "'max_qq' is no attribute of a device or port (is it max_qp?)");
    bad("speed=fdr", "'speed' is no attribute of a device or port");
    bad("=1", "'' is no attribute of a device or port");
    bad("softhca0/1:max_qp=1", "max_qp is an attribute of a device, not of a port");
    bad("max_qp=x", "max_qp=x is not a whole number in 1..4096");
    bad("max_qp=0", "max_qp=0 is not a whole number in 1..4096");
    bad("max_qp=4097", "max_qp=4097 is not a whole number in 1..4096");
    bad("max_qp=", "max_qp= is not a whole number in 1..4096");
    bad("max_qp=-1", "max_qp=-1 is not a whole number in 1..4096");
    bad("max_qp=0x", "max_qp=0x is not a whole number in 1..4096");
    bad("max_mr_size=99999999T", "max_mr_size=99999999T is not a whole number in "
                                 "4096..70368744177664");
    bad("max_qp=18446744073709551617", "max_qp=18446744073709551617 is not a whole number in "
                                       "1..4096");
    bad("lmc=8", "lmc=8 is not a whole number in 0..7");
    bad("state=up", "state=up is none of down, init, armed, active");
    bad("active_mtu=1500", "active_mtu=1500 is none of 256, 512, 1024, 2048, 4096");
    bad("active_width=3x", "active_width=3x is none of 1x, 2x, 4x, 8x, 12x");
    bad("active_speed=5", "active_speed=5 is none of sdr, ddr, qdr, fdr10, fdr, edr, hdr, ndr");
    bad("fw_ver=", "fw_ver= has not 1 to 63 characters");
    bad("fw_ver=0123456789012345678901234567890123456789012345678901234567890123",
        "fw_ver=0123456789012345678901234567890123456789 has not 1 to 63 characters");
    bad("pkeys=", "pkeys= is not 1 to 16 numbers in 1..0xffff joined by +");
    bad("pkeys=0", "pkeys=0 is not 1 to 16 numbers in 1..0xffff joined by +");
    bad("pkeys=1+0x10000", "pkeys=1+0x10000 is not 1 to 16 numbers in 1..0xffff joined by +");
    static const char gid_words[] =
        "is not 1 to 16 of these, joined by +: v1-local, v1-ipv6, v1-ipv4, v2-local, v2-ipv6, "
        "v2-ipv4, v2-local-unreachable, v2-ipv6-unreachable, v2-ipv4-unreachable, none";
    static const char *const gids[] = {"v3-local", "v2-ipv4+", "none+1", "v2-ipv4++v1-local"};
    for (size_t i = 0; i < sizeof gids / sizeof *gids; i++) {
        char text[60], wanted[300];
        snprintf(text, sizeof text, "link=ethernet,gids=%s", gids[i]);
        snprintf(wanted, sizeof wanted, "gids=%s %s", gids[i], gid_words);
        bad(text, wanted);
    }
    bad("gids=0", "gids=0 is not a whole number in 1..16");
    bad("gids=17", "gids=17 is not a whole number in 1..16");
    bad("gids=", "gids= is not a whole number in 1..16");
    bad("link=roce", "link=roce is none of infiniband, ethernet");
    bad("2;gids=v2-ipv4;softhca0:link=ethernet", "gids is a list of GIDs of RoCE, but the link "
                                                 "layer of softhca1 port 1 is not ethernet");
    bad("pkeys=1+2+3+4+5+6+7+8+9+1+2+3+4+5+6+7+8",
        "pkeys=1+2+3+4+5+6+7+8+9+1+2+3+4+5+6+7+8 is not 1 to 16 numbers in 1..0xffff joined by +");
}

int main(int argc, char **argv)
{
    check_begin(argc, argv);
    good_texts();
    bad_texts();
    return check_end();
}
