/* testlimits.c - small jobs for tests/job/memlock.sh and tests/job/device_limits.sh.
 *
 * testlimits page        attaches one page, and prints how much memory was registered and touched
 * testlimits most        attaches the largest segment, and transfers as below
 * testlimits traffic     attaches 256 KB; Active Messages, puts and gets of all sizes, verified
 * testlimits beyond      attaches the largest segment, and rank 0 puts 2 MB from outside it
 */
#include "other/softhca/include/softhca.h"
#include "tests/programs/test.h"

enum { H_MEDIUM = 130, H_LONG, H_REPLY };
enum { TRAFFIC = 256 << 10, OUTSIDE = 128 << 10, MEMORY = 2 << 20, MESSAGES = 100 };

static int replies;
static char *outside, *back;

static void on_request(gasnet_token_t token, void *data, size_t length)
{
    const char *bytes = data;
    uint32_t sum = 0;
    for (size_t i = 0; i < length; i++) sum += (unsigned char)bytes[i];
    gasnet_AMReplyShort2(token, H_REPLY, (gasnet_handlerarg_t)length, (gasnet_handlerarg_t)sum);
}

static void on_reply(gasnet_token_t token, gasnet_handlerarg_t length, gasnet_handlerarg_t sum)
{
    uint32_t expected = 0;
    (void)token;
    for (gasnet_handlerarg_t i = 0; i < length; i++) expected += (unsigned char)outside[i];
    test_check(expected == (uint32_t)sum, "a message of %d bytes arrived changed", (int)length);
    replies++;
}

static void messages(gasnet_node_t peer, char *seg)
{
    int sent = 0;
    for (int i = 0; i < MESSAGES; i++) {
        size_t length = (size_t)(i * i) % gasnet_AMMaxMedium();
        gasnet_AMRequestMedium0(peer, H_MEDIUM, outside, length);
        gasnet_AMRequestLong0(peer, H_LONG, outside, length, seg);
        sent += 2;
        GASNET_BLOCKUNTIL(replies == sent); /* all payloads have the same address */
    }
}

static void transfers(gasnet_node_t peer, char *seg, size_t most)
{
    for (size_t size = 1; size <= most; size = size * 3 + 1) {
        gasnet_put(peer, seg, outside, size);
        memset(back, 0, size);
        gasnet_get(back, peer, seg, size);
        test_check(!memcmp(back, outside, size), "put and get of %zu bytes", size);
        gasnet_wait_syncnb(gasnet_put_nb_bulk(peer, seg, outside + 1, size - 1));
        gasnet_get_bulk(back, peer, seg, size - 1);
        test_check(!memcmp(back, outside + 1, size - 1), "the same in bulk");
    }
}

static size_t status_of(const char *name)
{
    char line[256];
    size_t kb = 0, length = strlen(name);
    FILE *file = fopen("/proc/self/status", "re");
    while (file && fgets(line, sizeof line, file))
        if (!strncmp(line, name, length)) kb = strtoul(line + length, NULL, 10);
    if (file) fclose(file);
    return kb;
}

static void report_memory(void)
{
    size_t registered = 0;
    int charged = softhca_charges(&registered);
    if (test_rank == 0)
        printf("limits charged=%d registered=%zu touched=%zu\n", charged, registered / 1024,
               status_of("RssAnon:") + status_of("RssShmem:"));
}

static const char *what = "traffic";
static uintptr_t size;

static void the_job(void)
{
    const gasnet_node_t peer = (gasnet_node_t)test_next;
    char *seg = test_seg[test_next].addr;
    if (!strcmp(what, "page")) {
        report_memory();
    } else if (!strcmp(what, "beyond")) {
        if (test_rank == 0) gasnet_put_bulk(peer, seg, outside, MEMORY);
    } else {
        if (size >= 65536) messages(peer, seg);
        transfers(peer, seg, size < OUTSIDE ? size : OUTSIDE);
    }
    test_sync();
    if (test_rank == 0) printf("limits segment=%llu\n", (unsigned long long)size);
}

int main(int argc, char **argv)
{
    static const struct test_rule rules[] = {{"limits: the job is right", the_job}};
    gasnet_handlerentry_t table[] = {{H_MEDIUM, (void (*)(void))on_request},
                                     {H_LONG, (void (*)(void))on_request},
                                     {H_REPLY, (void (*)(void))on_reply}};
    test_init(&argc, &argv);
    if (argc > 1) what = argv[1];
    size = gasnet_getMaxGlobalSegmentSize();
    if (!strcmp(what, "page")) size = GASNET_PAGESIZE;
    if (!strcmp(what, "traffic") && size > TRAFFIC) size = TRAFFIC;
    test_attach(table, TEST_COUNT(table), size);
    outside = malloc(MEMORY);
    back = malloc(MEMORY);
    for (int i = 0; strcmp(what, "page") && i < MEMORY; i++) outside[i] = (char)(i * 7 + i / 251);
    test_run(rules, TEST_COUNT(rules));
    test_finish();
}
