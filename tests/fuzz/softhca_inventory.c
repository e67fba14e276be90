/* softhca_inventory.c - fuzzes the language of SOFTHCA_DEVICES: what is accepted describes devices
 * that there can be, and what is refused says why.
 *
 * The first byte is the room for the message.
 */
#include <infiniband/verbs.h>

#include "other/softhca/src/settings/inventory.h"
#include "other/softhca/src/settings/limits.h"
#include "tests/fuzz/fuzz.h"

const fuzz_seed_t fuzz_seeds[] = {
    FUZZ_SEED("\xff"
              "2x2;softhca1:max_qp=8,fw_ver=3.5.0;softhca0/2:state=down"),
    FUZZ_SEED("\xff"
              "16x8;active_mtu=1024,active_speed=fdr10,active_width=12x,lmc=7,gids=16"),
    FUZZ_SEED("\xff"
              "2;link=ethernet,gids=v1-local+v2-ipv4-unreachable;softhca1:gids=none+v2-ipv6"),
    FUZZ_SEED("\xff"
              "max_mr_size=64M,max_inline_data=0,max_qp_rd_atom=0x10,vendor_id=0x2c9"),
    FUZZ_SEED("\x10"
              "3;softhca2/1:pkeys=0xffff+1+2+3+4+5+6+7+8+9+1+2+3+4+5+6"),
    FUZZ_SEED("\x01;;:,=+/x"),
};
const size_t fuzz_seed_count = sizeof fuzz_seeds / sizeof *fuzz_seeds, fuzz_longest = 300;

static void plausible(const struct shca_inventory *all)
{
    fuzz_require(all->devices >= 1 && all->devices <= SHCA_DEVICES, "devices");
    fuzz_require(all->ports >= 1 && all->ports <= SHCA_PORTS, "ports");
    for (uint32_t i = 0; i < all->devices; i++) {
        const struct shca_device_model *d = &all->device[i];
        fuzz_require(d->max_qp >= 1 && d->max_qp <= SHCA_QPS, "max_qp");
        fuzz_require(d->max_mr >= 1 && d->max_mr <= SHCA_MRS, "max_mr");
        fuzz_require(d->max_sge >= 1 && d->max_sge <= SHCA_MAX_SGE, "max_sge");
        fuzz_require(d->max_cqe >= 1 && d->max_cqe <= SHCA_MAX_CQE, "max_cqe");
        fuzz_require(d->max_inline_data <= SHCA_MAX_INLINE, "max_inline_data");
        fuzz_require(*d->fw_ver && memchr(d->fw_ver, 0, sizeof d->fw_ver), "fw_ver");
        for (uint32_t n = 0; n < all->ports; n++) {
            const struct shca_port_model *p = &d->port[n];
            fuzz_require(p->state >= IBV_PORT_DOWN && p->state <= IBV_PORT_ACTIVE, "state");
            fuzz_require(p->active_mtu >= IBV_MTU_256 && p->active_mtu <= IBV_MTU_4096, "mtu");
            fuzz_require(p->gids >= 1 && p->gids <= SHCA_GIDS && p->lmc <= 7, "gids and lmc");
            fuzz_require(p->pkeys >= 1 && p->pkeys <= SHCA_PKEYS, "pkeys");
        }
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 1) return 0;
    size_t room = 1 + data[0];
    char *text = fuzz_text(data + 1, size - 1), *why = malloc(room);
    struct shca_inventory *all = malloc(sizeof *all);
    if (!why || !all) abort();
    memset(why, 'x', room);
    if (shca_inventory_parse(text, all, why, room))
        plausible(all);
    else
        fuzz_require(memchr(why, 0, room) && (*why || room == 1), "a refusal says why");
    free(all);
    free(why);
    free(text);
    return 0;
}
