/* testenv.c - gasnet_getenv: the same answer on every rank, before and after attach, for values
 * with every awkward character.
 *
 * env.sh sets TEST_VALUE_0 .. and compares what rank 0 prints; the agreement of ranks is checked
 * here.  Each rank also prints its values when called with the word `all`.
 */
#include "test.h"

enum { VALUES = 20, H_SUM = 128 };

static char *before[VALUES];
static bool was_null[VALUES];
static int sums;
static uint32_t first_sum, differing;

static void on_sum(gasnet_token_t t, gasnet_handlerarg_t sum)
{
    (void)t;
    if (sums == 0) first_sum = (uint32_t)sum;
    differing += (uint32_t)sum != first_sum;
    test_add(&sums, 1);
}

static gasnet_handlerentry_t table[] = {{H_SUM, on_sum}};

static const char *value_of(int i)
{
    char name[32];
    snprintf(name, sizeof name, "TEST_VALUE_%d", i);
    return gasnet_getenv(name);
}

static void before_and_after_attach(void)
{
    for (int i = 0; i < VALUES; i++) {
        const char *now = value_of(i);
        if (!test_check(was_null[i] == (now == NULL), "TEST_VALUE_%d set or unset by attach", i) ||
            !now)
            continue;
        test_check(strcmp(now, before[i]) == 0, "TEST_VALUE_%d was <%s>, is <%s>", i, before[i],
                   now);
    }
}

static void same_everywhere(void)
{
    uint32_t sum = 2166136261u;
    for (int i = 0; i < VALUES; i++) {
        const char *value = value_of(i);
        sum = (sum ^ (value ? 1 : 2)) * 16777619u;
        for (; value && *value; value++) sum = (sum ^ (uint8_t)*value) * 16777619u;
    }
    test_sync();
    sums = 0;
    differing = 0;
    test_sync();
    for (int r = 0; r < test_size; r++)
        gasnet_AMRequestShort1((gasnet_node_t)r, H_SUM, (gasnet_handlerarg_t)sum);
    GASNET_BLOCKUNTIL(test_get(&sums) == test_size);
    test_check(differing == 0, "%u ranks see other values", differing);
}

static void print_values(void)
{
    for (int i = 0; test_rank == 0 && i < VALUES; i++)
        if (value_of(i)) printf("ENV[TEST_VALUE_%d=%s]\n", i, value_of(i));
}

/* A value set in one process does not travel; an unset name is unset everywhere. */
static void unset_names(void)
{
    test_check(gasnet_getenv("TEST_SURELY_UNSET_VARIABLE") == NULL, "unset name has a value");
    setenv("TEST_SET_BY_RANK_0", "x", test_rank == 0);
    test_sync();
    if (test_rank != 0) {
        unsetenv("TEST_SET_BY_RANK_0");
        test_check(gasnet_getenv("TEST_SET_BY_RANK_0") == NULL, "setenv of rank 0 travelled");
    }
}

int main(int argc, char **argv)
{
    static const struct test_rule rules[] = {
        {"B2 values are the same before and after attach", before_and_after_attach},
        {"B2 IB-S6 values are the same on all ranks", same_everywhere},
        {"B3 unset names", unset_names},
        {"B2 rank 0 prints what it sees", print_values},
    };
    test_init(&argc, &argv);
    for (int i = 0; i < VALUES; i++) {
        was_null[i] = value_of(i) == NULL;
        if (!was_null[i]) before[i] = strdup(value_of(i));
    }
    test_attach(table, TEST_COUNT(table), GASNET_PAGESIZE);
    test_run(rules, TEST_COUNT(rules));
    test_finish();
}
