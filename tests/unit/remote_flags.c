/* remote_flags.c - the words that nodes write into one another (IB-W2), on the scripted network: in
 * a job where every node is this one, a word that is put is the word that is taken.
 *
 * The bytes of a put are also written one by one, in each of the 40320 orders of eight and with a
 * look between any two.
 */
#include "core/rdma/remote_flags.h"

#include <string.h>

#include "core/job/progress.h"
#include "core/rdma/buffers.h"
#include "tests/unit/check.h"
#include "tests/unit/stubs.h"

enum { WORDS = 6 };

static void begin(uint32_t inline_max)
{
    net_script_reset();
    net_script.caps.inline_max = inline_max;
    unit_job_begin(&(unit_job_t){3, 0, 8, 1, 65536, 40});
    gasnetc_remote_flags_init(WORDS);
}

static bool left_open; /* once */

static void end(void)
{
    unsigned open = net_script.regions;
    gasnetc_remote_flags_close();
    left_open |= net_script.regions != open - 1;
    unit_job_end();
}

static bool takes_nothing(uint32_t index)
{
    uint64_t word;
    return !gasnetc_remote_flag_take(index, &word);
}

static bool takes(uint32_t index, uint64_t expected)
{
    uint64_t word = ~expected;
    return gasnetc_remote_flag_take(index, &word) && word == expected;
}

static uint64_t random_word(void)
{
    static const uint64_t extremes[] = {0, ~GASNETC_FLAG_MARKS, 1, UINT64_C(0x7f00000000000000)};
    uint32_t i = check_below(8);
    return i < 4 ? extremes[i] : check_random() & ~GASNETC_FLAG_MARKS;
}

/* Puts words and takes them. The put must name the region that was registered for peers: otherwise
 * the script ends the program. */
static void put_and_take(const char *how)
{
    for (uint32_t i = 0; i < WORDS; i++) {
        for (int use = 0; use < 3; use++) {
            uint64_t word = random_word();
            check_each(takes_nothing(i), "word %u is there too early", i);
            gasnetc_remote_flag_put(1, i, word);
            gasnetc_poll_sends();
            check_each(takes(i, word), "word %u differs", i);
            check_each(takes_nothing(i), "word %u is there twice", i);
        }
    }
    check_all("IB-W2 a word put %s is taken once, and others are not touched", how);
}

static void inlined(void)
{
    begin(72);
    put_and_take("inline");
    check(net_script_count(NET_SCRIPT_AM) == 0 &&
              net_script_get_event(NET_SCRIPT_PUT, 0)->region == 0,
          "IB-W2 without any Active Message");
    end();
}

static void bounced(void)
{
    begin(0);
    put_and_take("through a buffer, where nothing is sent inline,");
    check(net_script_get_event(NET_SCRIPT_PUT, 0)->region == gasnetc_bbuf_region.id,
          "IB-P3 and a buffer it was");
    end();
}

static void busy(void)
{
    begin(72);
    net_script.busy = 3;
    gasnetc_remote_flag_put(2, 1, 77);
    gasnetc_poll_sends();
    check(net_script.busy_answers == 3 && takes(1, 77),
          "IB-R1 a network that is busy is asked again");
    end();
}

enum { BYTES = 8, ORDERS = 40320 };

/* The order that comes after this one; the last is followed by the first. */
static void next_order(uint8_t order[BYTES])
{
    int i = BYTES - 1, j = BYTES - 1;
    while (i > 0 && order[i - 1] >= order[i]) i--;
    if (i > 0) {
        while (order[j] <= order[i - 1]) j--;
        uint8_t moved = order[i - 1];
        order[i - 1] = order[j];
        order[j] = moved;
    }
    for (j = BYTES - 1; i < j; i++, j--) {
        uint8_t moved = order[i];
        order[i] = order[j];
        order[j] = moved;
    }
}

/* Writes one word byte by byte, looking before each; and now and then a byte twice, as a copy in
 * overlapping pieces does. */
static void write_torn(const uint8_t order[BYTES], uint64_t word)
{
    gasnetc_remote_flag_put(1, 0, word);
    const net_script_event_t *put = net_script_get_event(NET_SCRIPT_PUT, -1);
    volatile uint8_t *there = (uint8_t *)(uintptr_t)put->remote;
    check_each(put->length == BYTES, "a word is %zu bytes", put->length);
    for (int i = 0; i < BYTES; i++) {
        check_each(takes_nothing(0), "0x%016llx is taken after %d bytes", (unsigned long long)word,
                   i);
        there[order[i]] = put->bytes[order[i]];
    }
    check_each(takes(0, word), "0x%016llx is not taken whole", (unsigned long long)word);
    there[order[BYTES - 1]] = put->bytes[order[BYTES - 1]];
    check_each(takes_nothing(0), "0x%016llx is taken twice", (unsigned long long)word);
    net_script_complete(1);
    gasnetc_poll_sends();
    net_script_forget();
}

/* Each of the orders follows a word with the other marks, of random bytes, extremes among them. */
static void torn(void)
{
    begin(72);
    net_script.hold = true;
    uint8_t order[BYTES] = {0, 1, 2, 3, 4, 5, 6, 7};
    for (int i = 0; i < ORDERS; i++) {
        write_torn(order, random_word());
        next_order(order);
    }
    uint8_t first[BYTES] = {0, 1, 2, 3, 4, 5, 6, 7};
    check_each(!memcmp(order, first, BYTES), "not all orders were tried");
    check_all("IB-W2 a word is taken when its last byte is there, in whatever order they come");
    end();
}

int main(int argc, char **argv)
{
    check_begin(argc, argv);
    inlined();
    bounced();
    busy();
    torn();
    check(!left_open, "the registration of the words ends with them");
    return check_end();
}
