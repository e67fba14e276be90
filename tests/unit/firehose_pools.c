/* firehose_pools.c - the sizes of the pools of other/firehose, from limits and settings (pools.c).
 */
#include <string.h>

#include "other/firehose/include/firehose.h"
#include "tests/unit/check.h"

enum { PAGE = 4096, MB = 1 << 20 };

static firehose_limits_t limits(uint32_t nodes)
{
    return (firehose_limits_t){.page = PAGE,
                               .memlock = FIREHOSE_UNSET,
                               .host_memory = 4096ull * MB,
                               .device_memory = FIREHOSE_UNSET,
                               .device_regions = FIREHOSE_UNSET,
                               .device_region = FIREHOSE_UNSET,
                               .processes = 1,
                               .nodes = nodes,
                               .main_pool = FIREHOSE_UNSET,
                               .m = FIREHOSE_UNSET,
                               .maxvictim_m = FIREHOSE_UNSET,
                               .r = FIREHOSE_UNSET,
                               .maxvictim_r = FIREHOSE_UNSET,
                               .max_region = FIREHOSE_UNSET,
                               .prefix = "GASNET_FIREHOSE_"};
}

static void sizes(const char *name, firehose_limits_t in, uint64_t m, uint64_t victims, uint64_t r,
                  uint64_t victims_r, uint64_t region)
{
    firehose_sizes_t out = {0};
    char text[512] = "";
    const int failed = firehose_compute_sizes(&in, &out, text, sizeof text);
    if (!check(!failed && out.m == m && out.maxvictim_m == victims && out.r == r &&
                   out.maxvictim_r == victims_r && out.max_region == region,
               "%s", name))
        check_note("%d %s m %ju v %ju r %ju vr %ju region %ju", failed, text, (uintmax_t)out.m,
                   (uintmax_t)out.maxvictim_m, (uintmax_t)out.r, (uintmax_t)out.maxvictim_r,
                   (uintmax_t)out.max_region);
}

static void contradicts(firehose_limits_t in, const char *one, const char *two)
{
    firehose_sizes_t out;
    char text[512] = "";
    const int failed = firehose_compute_sizes(&in, &out, text, sizeof text);
    if (!check(failed && strstr(text, one) && strstr(text, two), "%s against %s", one, two))
        check_note("%d %s", failed, text);
}

static void pool_sizes(void)
{
    const uint64_t region = 128 << 10;
    firehose_limits_t in = limits(4);
    sizes("three quarters of the host's memory, in quarters", in, 2304ull * MB, 768 * MB, 18432,
          6144, region);
    in.processes = 2;
    sizes("the host's memory is shared by its processes", in, 1152 * MB, 384 * MB, 9216, 3072,
          region);
    in.memlock = 64 * MB;
    in.present = 16 * MB;
    sizes("RLIMIT_MEMLOCK, less what is registered already", in, 36 * MB, 12 * MB, 288, 96, region);
    in.main_pool = 4 * MB;
    sizes("a small main pool, the rest for this process", in, 4 * MB, 44 * MB, 32, 352, region);
    in.main_pool = FIREHOSE_UNSET;
    in.maxvictim_m = 8 * MB;
    sizes("MAXVICTIM_M leaves the rest", in, 40 * MB, 8 * MB, 320, 64, region);
    in.m = 8 * MB;
    in.r = 10;
    in.maxvictim_r = 1000;
    sizes("both are set; R only less than it would be", in, 8 * MB, 8 * MB, 10, 64, region);
    in = limits(1);
    sizes("alone in the job: no firehoses", in, 0, 3072ull * MB, 0, 24576, region);
    in.m = 3 * MB;
    in.r = 10;
    sizes("R14: M that no peer needs leaves the rest to this process", in, 0, 3069ull * MB, 0,
          24552, region);
    in.maxvictim_m = 2 * MB;
    sizes("R14: MAXVICTIM_M is not more for it", in, 0, 2 * MB, 0, 16, region);
    in.maxvictim_r = INT64_MAX;
    sizes("R14: MAXVICTIM_R is truncated to what fits", in, 0, 2 * MB, 0, 16, region);
    in.device_regions = 10;
    sizes("R14: and to the regions of the device", in, 0, 2 * MB, 0, 10, region);
    in.device_regions = FIREHOSE_UNSET;
    in.memlock = 4 * MB;
    contradicts(in, "GASNET_FIREHOSE_M (3 MB)", "GASNET_FIREHOSE_MAXVICTIM_M (2 MB)");
    in = limits(1001);
    in.memlock = 32 * MB;
    sizes("many peers: regions become smaller", in, 24 * MB, 8 * MB, 1024, 341, 6 * PAGE);
    in = limits(4);
    in.device_regions = 1000;
    sizes("few regions are shared like memory", in, 2304ull * MB, 768 * MB, 750, 250, region);

    in = limits(4);
    in.memlock = 64 * MB;
    in.m = in.maxvictim_m = 40 * MB;
    contradicts(in, "GASNET_FIREHOSE_M (40 MB)", "GASNET_FIREHOSE_MAXVICTIM_M (40 MB)");
    in.m = 80 * MB;
    contradicts(in, "GASNET_FIREHOSE_M (80 MB)", "RLIMIT_MEMLOCK");
    in = limits(1000);
    in.m = MB;
    in.max_region = 128 << 10;
    contradicts(in, "GASNET_FIREHOSE_M (1 MB)", "GASNET_FIREHOSE_MAXREGION_SIZE (128 KB)");
    in = limits(4);
    in.max_region = PAGE + 1;
    contradicts(in, "GASNET_FIREHOSE_MAXREGION_SIZE (4097 bytes)", "page size (4 KB)");
    in.max_region = 4 * MB;
    in.device_region = MB;
    contradicts(in, "GASNET_FIREHOSE_MAXREGION_SIZE (4 MB)", "in one region (1 MB)");
    in.maxvictim_m = 2 * MB;
    in.device_region = FIREHOSE_UNSET;
    contradicts(in, "GASNET_FIREHOSE_MAXVICTIM_M (2 MB)", "GASNET_FIREHOSE_MAXREGION_SIZE (4 MB)");
    in = limits(4);
    in.device_regions = 20;
    in.r = in.maxvictim_r = 15;
    sizes("R14: both are truncated where the device has fewer regions", in, 2304ull * MB, 768 * MB,
          10, 10, region);
    in.r = INT64_MAX;
    in.maxvictim_r = FIREHOSE_UNSET;
    sizes("R14: R alone gets what there is", in, 2304ull * MB, 768 * MB, 19, 1, region);
    in.r = 2;
    contradicts(in, "GASNET_FIREHOSE_R (2)", "3 peers");
    in = limits(4);
    in.memlock = 4 * MB;
    in.present = 4 * MB;
    contradicts(in, "RLIMIT_MEMLOCK", "4 MB are registered already");
}

int main(int argc, char **argv)
{
    check_begin(argc, argv);
    pool_sizes();
    return check_end();
}
