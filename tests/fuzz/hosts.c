/* hosts.c - fuzzes host lists in their three formats: the names are fit for a command line, and
 * each rank is assigned to one host.
 *
 * The first byte chooses the format, the second the number of ranks.
 */
#include "other/launch/hosts.h"

#include "tests/fuzz/fuzz.h"

const fuzz_seed_t fuzz_seeds[] = {
    FUZZ_SEED("\0\x04"
              "alpha\nbeta # comment\n\n  gamma 2\n# all\ndelta"),
    FUZZ_SEED("\x01\x09"
              "alpha,beta gamma\tdelta,,alpha"),
    FUZZ_SEED("\x01\x08"
              "rack1,node[07-12,14],x[1-3]"),
    FUZZ_SEED("\x01\x01"
              "n[0-0]-ib r[0-1]b[0-1]"),
    FUZZ_SEED("\0\x03"
              "\xef\xbb\xbf[2001:db8::1]:4\r\n::1\r\na:4 slots=2\r\nal@n[1-2]"),
    FUZZ_SEED("\x02\x04"
              "hostA 2 hostB 2 "),
    FUZZ_SEED("\x01\x03"
              "10.0.0.1 node.example.org node"),
};
const size_t fuzz_seed_count = sizeof fuzz_seeds / sizeof *fuzz_seeds, fuzz_longest = 120;

static void place(uint32_t ranks, uint32_t hosts)
{
    struct hosts_block *blocks = malloc(hosts * sizeof *blocks);
    uint32_t next = 0;
    hosts_place(ranks, hosts, blocks);
    for (uint32_t h = 0; h < hosts; h++) {
        fuzz_require(blocks[h].first == next && blocks[h].count > 0 &&
                         blocks[h].count + 1 >= blocks[0].count,
                     "blocks follow each other and are even");
        next += blocks[h].count;
    }
    fuzz_require(next == ranks, "every rank has its place");
    free(blocks);
}

static void look(struct shell_words *hosts)
{
    for (size_t i = 0; i < hosts->count; i++) {
        const char *name = hosts->word[i];
        fuzz_require(*name && *name != '-', "a name is not empty and no option");
        for (const char *p = name; *p; p++)
            fuzz_require((unsigned char)*p > ' ' && *p != 127, "a name holds no blank");
        if (i > 500) continue;
        fuzz_require(hosts_same(name, name), "a host is itself");
        fuzz_require(hosts_same(name, hosts->word[0]) == hosts_same(hosts->word[0], name),
                     "being the same goes both ways");
    }
    fuzz_require(!hosts->count || !hosts->word[hosts->count], "the list is ended");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 2) return 0;
    struct shell_words hosts = {0};
    char *text = fuzz_text(data + 2, size - 2), why[48] = "";
    bool good = hosts_parse(&hosts, (enum hosts_format)(data[0] % 3), text, why, sizeof why);
    fuzz_require(good || *why, "a refusal says why");
    fuzz_require(memchr(why, 0, sizeof why) != NULL, "within its room");
    look(&hosts);
    size_t before = hosts.count;
    hosts_merge(&hosts);
    fuzz_require(hosts.count <= before && !hosts.count == !before, "merging only shortens");
    for (size_t i = 1; i < hosts.count; i++)
        fuzz_require(strcmp(hosts.word[i - 1], hosts.word[i]) != 0, "neighbours differ");
    look(&hosts);
    uint32_t ranks = data[1] * 3u + 1;
    if (hosts.count) place(ranks, hosts.count < ranks ? (uint32_t)hosts.count : ranks);
    shell_free(&hosts);
    free(text);
    return 0;
}
