/* outstanding.c - unit test of extended-ref/outstanding.h: numbers of operations, what a Reply must
 * fit, growth, reuse, the wrap of a generation, and a random mixture against a model.
 */
#include "extended-ref/outstanding.h"

#include <stdlib.h>
#include <string.h>

#include "tests/unit/check.h"

static gasnete_outstanding_t table;
static gasnetc_counter_t counters[4];
static char memory[64];

static uint64_t add(enum gasnete_reply reply, uint32_t node, size_t nbytes)
{
    const gasnete_operation_t operation = {reply, node, memory + nbytes, nbytes, &counters[node]};
    return gasnete_outstanding_add(&table, &operation);
}

static const char *take(uint64_t number, enum gasnete_reply reply, uint32_t node, size_t nbytes)
{
    gasnete_operation_t operation = {0};
    const char *wrong = gasnete_outstanding_take(&table, number, reply, node, nbytes, &operation);
    const bool copied = operation.reply == reply && operation.node == node &&
                        operation.nbytes == nbytes && operation.memory == memory + nbytes &&
                        operation.counter == &counters[node];
    check_each(wrong ? operation.reply == 0 : copied, "the operation of number %#llx",
               (unsigned long long)number);
    return wrong;
}

static bool refused(const char *wrong, const char *field)
{
    return wrong && strncmp(wrong, field, strlen(field)) == 0;
}

static void fields(void)
{
    check(refused(take(0, GASNETE_REPLY_DONE, 0, 0), "number"), "an empty table has no operation");
    const uint64_t number = add(GASNETE_REPLY_GOT, 2, 8);
    check(number != 0, "a number is not 0");
    check(refused(take(number ^ 1, GASNETE_REPLY_GOT, 2, 8), "number"), "a free slot is refused");
    check(refused(take(number | 0xffffffff, GASNETE_REPLY_GOT, 2, 8), "number"),
          "so is a slot that does not exist");
    check(refused(take(number + (UINT64_C(1) << 32), GASNETE_REPLY_GOT, 2, 8), "number"),
          "and a generation to come");
    check(refused(take(number, GASNETE_REPLY_GOT, 1, 8), "sender"), "and another sender");
    check(refused(take(number, GASNETE_REPLY_VIS_GOT, 2, 8), "kind"), "and another kind");
    check(refused(take(number, GASNETE_REPLY_GOT, 2, 9), "length"), "and another length");
    check(take(number, GASNETE_REPLY_GOT, 2, 8) == NULL, "the right one is taken");
    check(refused(take(number, GASNETE_REPLY_GOT, 2, 8), "number"), "a second one is refused");
    const uint64_t again = add(GASNETE_REPLY_GOT, 2, 8);
    check((uint32_t)again == (uint32_t)number && again != number,
          "the next in the slot has another number");
    check(refused(take(number, GASNETE_REPLY_GOT, 2, 8), "number"),
          "a late Reply to the one before is refused");
    check(take(again, GASNETE_REPLY_GOT, 2, 8) == NULL, "and its own is taken");
    gasnete_operation_t any;
    const uint64_t last = add(GASNETE_REPLY_ATOMIC_GOT, 1, 4);
    check(!gasnete_outstanding_take(&table, last, GASNETE_REPLY_ATOMIC_GOT, 1, GASNETE_ANY_LENGTH,
                                    &any) &&
              any.nbytes == 4,
          "one of any length has that of its operation");
}

static void wrap(void)
{
    const uint64_t first = add(GASNETE_REPLY_DONE, 0, 0);
    gasnete_slot_t *slot = &table.slots[(uint32_t)first];
    take(first, GASNETE_REPLY_DONE, 0, 0);
    slot->number |= UINT64_C(0xffffffff) << 32;
    const uint64_t last = add(GASNETE_REPLY_DONE, 0, 0);
    check(last >> 32 == UINT32_MAX && !take(last, GASNETE_REPLY_DONE, 0, 0),
          "the last generation of a slot is used");
    const uint64_t next = add(GASNETE_REPLY_DONE, 0, 0);
    check((uint32_t)next == (uint32_t)last && next >> 32 == 1, "and the first follows it, not 0");
    check(refused(take(last, GASNETE_REPLY_DONE, 0, 0), "number") &&
              !take(next, GASNETE_REPLY_DONE, 0, 0),
          "which refuses a Reply to the last");
}

enum { MOST = 5000, STEPS = 200000 };

/* Each operation is in the table until it is taken; at any time some wrong Reply is tried. */
static void many(void)
{
    static struct {
        uint64_t number;
        uint32_t node;
        size_t nbytes;
    } model[MOST];
    uint32_t count = 0;
    for (int step = 0; step < STEPS; step++) {
        const uint32_t i = count ? check_below(count) : 0;
        if (count < MOST && (count == 0 || check_below(100) < 55)) {
            const uint32_t node = check_below(4), nbytes = check_below(sizeof memory);
            model[count].number = add(GASNETE_REPLY_GOT, node, nbytes);
            model[count].node = node;
            model[count++].nbytes = nbytes;
        } else {
            check_each(!take(model[i].number, GASNETE_REPLY_GOT, model[i].node, model[i].nbytes),
                       "step %d: operation %u of %u", step, i, count);
            check_each(take(model[i].number, GASNETE_REPLY_GOT, model[i].node, model[i].nbytes),
                       "step %d: twice", step);
            model[i] = model[--count];
        }
        check_each(take(check_random(), GASNETE_REPLY_GOT, 0, 0), "step %d: a random number", step);
    }
    bool alike = false;
    for (uint32_t i = 1; i < count; i++) alike = alike || model[i].number == model[i - 1].number;
    check_each(!alike, "two operations with one number");
    check_each(table.made >= MOST && table.made < 4 * MOST, "%u slots", table.made);
    while (count--)
        check_each(
            !take(model[count].number, GASNETE_REPLY_GOT, model[count].node, model[count].nbytes),
            "operation %u at the end", count);
    check_all("%d steps with up to %d operations", STEPS, MOST);
}

int main(int argc, char **argv)
{
    check_begin(argc, argv);
    fields();
    wrap();
    many();
    free(table.slots);
    return check_end();
}
