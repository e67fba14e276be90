/* port_filter.c - fuzzes the port filter GASNET_IBV_PORTS (IB-C3): any text may be checked and
 * asked about; of one that is accepted, saying it twice changes nothing.
 *
 * The first byte is the port, the device's name is up to the first NUL.
 */
#include "core/ib/ports.h"
#include "tests/fuzz/fuzz.h"

const fuzz_seed_t fuzz_seeds[] = {
    FUZZ_SEED("\x01mlx5_0\0mlx5_0"),
    FUZZ_SEED("\x02mlx5_0\0mlx5_0:1,2"),
    FUZZ_SEED("\x01"
              "a\0a:1+b:2+a:3,4"),
    FUZZ_SEED("\x03"
              "b\0a+b:3+b"),
    FUZZ_SEED("\x01\0"),
    FUZZ_SEED("\x0c"
              "d\0d:12,0012,99999999999999999999"),
};
const size_t fuzz_seed_count = sizeof fuzz_seeds / sizeof *fuzz_seeds, fuzz_longest = 200;

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 1) return 0;
    size_t name = strnlen((const char *)data + 1, size - 1);
    size_t used = 1 + name < size ? 2 + name : size;
    char *device = fuzz_text(data + 1, name), *filter = fuzz_text(data + used, size - used);
    char why[32] = "";
    bool good = net_ib_ports_check(filter, why, sizeof why);
    enum net_ib_port_rule rule = net_ib_ports_rule(filter, device, data[0]);
    fuzz_require(good || *why, "a refusal says why");
    fuzz_require(rule <= NET_IB_PORT_FIRST_ACTIVE, "the answer is one of three");
    if (good && *filter) {
        size_t n = strlen(filter);
        char *twice = malloc(2 * n + 2);
        memcpy(twice, filter, n);
        twice[n] = '+';
        memcpy(twice + n + 1, filter, n + 1);
        fuzz_require(net_ib_ports_check(twice, why, sizeof why), "a filter twice is a filter");
        fuzz_require(net_ib_ports_rule(twice, device, data[0]) == rule, "repetition means nothing");
        free(twice);
    }
    free(device);
    free(filter);
    return 0;
}
