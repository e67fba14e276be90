/* softhca_faults.c - fuzzes the language of SOFTHCA_FAULTS: what is accepted makes rules within
 * their bounds, which can be asked; what is refused says why.
 *
 * The first byte is the room for the message.
 */
#include "other/softhca/src/settings/faults.h"
#include "other/softhca/src/settings/inventory.h"
#include "tests/fuzz/fuzz.h"

const fuzz_seed_t fuzz_seeds[] = {
    FUZZ_SEED("\xff"
              "seed=7;hold:op=write,process=1,polls=100;kill:process=0,at=1000"),
    FUZZ_SEED("\xff"
              "log;rnr:every=3,retries=2;lose:peer=1+2,after=5,times=1;stall:qp=2,messages=4"),
    FUZZ_SEED("\xff"
              "hold:op=recv+read,cq=1,gather=4,us=100,chance=1/7;overflow:cq=3,at=9"),
    FUZZ_SEED("\x20"
              "enomem:what=qp,at=2;port-down:port=softhca0/2,at=1;port-up:port=softhca0/2,at=9"),
    FUZZ_SEED("\x08"
              "tear:order=random,us=3,op=write,chance=1/2"),
    FUZZ_SEED("\x01"
              "cut:process=0,peer=1;remove:device=softhca1;stop;;,:=/"),
};
const size_t fuzz_seed_count = sizeof fuzz_seeds / sizeof *fuzz_seeds, fuzz_longest = 300;

static void plausible(const struct shca_faults *f)
{
    fuzz_require(f->n <= SHCA_FAULT_RULES, "rules");
    for (uint32_t i = 0; i < f->n; i++) {
        const struct shca_fault_rule *r = &f->rule[i];
        struct shca_fault_count count = {0};
        uint64_t due = 0;
        fuzz_require(r->what < SHCA_FAULTS && r->kind < SHCA_KINDS && r->ops < 32, "words");
        fuzz_require(r->process.n <= SHCA_FAULT_SET && r->qp.n <= SHCA_FAULT_SET, "sets");
        fuzz_require(r->device < SHCA_DEVICES && r->port >= 1 && r->port <= SHCA_PORTS, "place");
        fuzz_require(r->retries >= 1 && r->chance <= r->of, "numbers");
        for (uint32_t n = 0; n < 50; n++) due += shca_fault_due(f, r, 0, 1, &count);
        fuzz_require(count.seen == 50 && count.due == due, "counts");
        fuzz_require(!r->at || due <= 1, "one time");
        fuzz_require(!r->times || due <= r->times, "times");
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 1) return 0;
    size_t room = 1 + data[0];
    char *text = fuzz_text(data + 1, size - 1), *why = malloc(room);
    struct shca_faults *f = malloc(sizeof *f);
    if (!why || !f) abort();
    memset(why, 'x', room);
    if (shca_faults_parse(text, f, why, room))
        plausible(f);
    else
        fuzz_require(memchr(why, 0, room) && (*why || room == 1), "a refusal says why");
    free(f);
    free(why);
    free(text);
    return 0;
}
