/* portals_parts.c - the pure parts of portals-conduit: match bits, stocks, the meeting of halves,
 * receive buffers, and the space for credits (PO-5, PO-6, PO-7, PO-8, PO-9, PO-11, PO-17).
 */
#include <string.h>

#include "portals-conduit/bits.h"
#include "portals-conduit/long_id.h"
#include "portals-conduit/receive_space.h"
#include "portals-conduit/reqrb.h"
#include "portals-conduit/stock.h"
#include "tests/unit/check.h"

static void bits(void)
{
    for (int i = 0; i < 2000; i++) {
        uint32_t place = (uint32_t)check_random(), ticket = check_below(BITS_TICKETS);
        uint32_t source = (uint32_t)check_random(), word = (uint32_t)check_random();
        unsigned selector = check_below(16), pad = check_below(8);
        uint8_t credits = (uint8_t)check_random();
        static const enum bits_kind kinds[] = {BITS_PUT, BITS_GET, BITS_AM, BITS_HEADER, BITS_DATA};
        enum bits_kind kind = kinds[check_below(5)];
        uint64_t packed = bits_pack(place, ticket, kind, selector);
        check_each(bits_place(packed) == place && bits_ticket(packed) == ticket &&
                       bits_kind(packed) == kind && (packed & ~bits_ignored) == selector,
                   "place %u, ticket %u, kind %d, selector %u", place, ticket, kind, selector);
        uint64_t header = bits_header(source, credits, pad);
        check_each(bits_source(header) == source && bits_credits(header) == credits &&
                       bits_pad(header) == pad,
                   "source %u, credits %u, pad %u", source, credits, pad);
        uint64_t system = bits_system(BITS_RETURN, word);
        check_each((system & ~bits_ignored) == BITS_SYS && bits_message(system) == BITS_RETURN &&
                       system >> 32 == word,
                   "system message with %u", word);
    }
    check_all("PO-6 match bits and header data: what goes in comes out, and the selector selects");
}

static void stocks(void)
{
    enum { TOTAL = 50 };
    stock_t stock;
    bool out[TOTAL] = {false};
    uint32_t left = TOTAL;
    check(stock_init(&stock, TOTAL), "a stock of %d", TOTAL);
    for (int i = 0; i < 5000; i++) {
        if (check_below(2)) {
            uint32_t number = stock_take(&stock);
            check_each((number == STOCK_NONE) == (left == 0), "taken %u of %u", number, left);
            if (number == STOCK_NONE) continue;
            check_each(number < TOTAL && !out[number], "number %u is taken twice", number);
            out[number] = true;
            left--;
        } else if (left < TOTAL) {
            uint32_t number = check_below(TOTAL);
            while (!out[number]) number = (number + 1) % TOTAL;
            out[number] = false;
            stock_give(&stock, number);
            left++;
        }
    }
    check_all("PO-5 chunks and records: none is given out twice, none is lost");
    stock_fini(&stock);
}

/* Longs of several sources, whose halves come in any order. */
static void halves(void)
{
    enum { SOURCES = 5, NUMBERS = 40 };
    long_ids_t ids;
    int came[SOURCES][NUMBERS] = {{0}}; /* bit 0: the payload waits, bit 1: the header does */
    uint32_t waiting = 0;
    check(long_ids_init(&ids, 4), "a table of halves");
    for (int i = 0; i < 20000; i++) {
        uint32_t s = check_below(SOURCES), n = check_below(NUMBERS);
        bool is_header = check_below(2);
        long_id_half_t *half = NULL;
        enum long_id_meeting met = long_ids_meet(&ids, s, n * RECEIVE_CHUNK, is_header, &half);
        int bit = 1 << is_header;
        if (came[s][n] & bit) {
            check_each(met == LONG_ID_TWICE, "the same half twice is %d", met);
        } else if (came[s][n]) {
            check_each(met == LONG_ID_SECOND && half->is_header != is_header &&
                           half->length == s * 1000 + n,
                       "the other half is %d", met);
            long_ids_done(&ids, half);
            came[s][n] = 0;
            waiting--;
        } else {
            check_each(met == LONG_ID_FIRST, "the first half is %d", met);
            half->length = s * 1000 + n;
            came[s][n] = bit;
            waiting++;
        }
        check_each(ids.waiting == waiting, "%u wait, not %u", ids.waiting, waiting);
    }
    check_all("PO-7 header and payload of a Long meet, in either order, and no others do");
    long_ids_fini(&ids);
}

static void buffers(void)
{
    for (int round = 0; round < 500; round++) {
        reqrb_t buffer;
        uint32_t inside = 0, still = 3 + check_below(20);
        bool linked = true, again = false;
        reqrb_attached(&buffer);
        while (!again) {
            if (linked && still && check_below(2)) {
                reqrb_filled(&buffer);
                inside++;
                still--;
            } else if (linked && !still && check_below(3) == 0) {
                again = reqrb_given_up(&buffer);
                linked = false;
                check_each(again == (inside == 0), "unlinked with %u inside", inside);
            } else if (inside) {
                again = reqrb_given_up(&buffer);
                inside--;
                check_each(again == (!linked && inside == 0), "released with %u left", inside);
            }
        }
    }
    check_all("PO-8 a receive buffer is attached anew exactly when UNLINK and all its Requests are "
              "through");
}

/* Without parameters: the table, its rows and what lies between and beyond them.  What the last
 * receive buffer holds more goes to the bank. */
static void space_defaults(void)
{
    static const struct {
        uint32_t nodes, each, bank;
    } rows[] = {{2, 192, 192},      {5, 160, 352},     {8, 128, 512},    {20, 96, 768},
                {32, 64, 1024},     {128, 32, 2048},   {512, 20, 4096},  {2048, 14, 8192},
                {10000, 10, 20000}, {65536, 8, 65536}, {70000, 8, 65536}};
    for (unsigned i = 0; i < sizeof rows / sizeof *rows; i++) {
        const receive_space_input_t input = {rows[i].nodes, 2, -1, -1, 0, 250, 2048, 256};
        char why[300];
        receive_space_t space;
        receive_space_compute(&input, &space, why, sizeof why);
        uint64_t bank = space.credits - (uint64_t)space.each * (rows[i].nodes - 1);
        check_each(space.each == rows[i].each && bank >= rows[i].bank &&
                       bank < rows[i].bank + (uint64_t)(space.chunks - 1) * RECEIVE_COST_MOST,
                   "%u nodes: %u credits each, not %u; %llu in the bank, not %u", rows[i].nodes,
                   space.each, rows[i].each, (unsigned long long)bank, rows[i].bank);
    }
    check_all("PO-11 credits of each peer and of the bank, by the number of nodes");
}

static void spaces(void)
{
    char why[300];
    receive_space_t space;
    uint32_t before = UINT32_MAX;
    for (uint32_t nodes = 2; nodes < 70000; nodes += 1 + nodes / 7) {
        const receive_space_input_t input = {nodes, 2, -1, -1, 0, 250, 2048, 256};
        bool made = receive_space_compute(&input, &space, why, sizeof why);
        check_each(made, "%u nodes: %s", nodes, why);
        check_each(space.each >= RECEIVE_COST_MOST && space.each <= before,
                   "%u nodes: %u credits each", nodes, space.each);
        check_each((uint64_t)space.each * (nodes - 1) <= space.credits, "%u nodes: %u credits",
                   nodes, space.credits);
        /* Requests within the credits, of any cost, fit in the buffers that are not spare. */
        uint64_t bytes = (uint64_t)(space.buffers - 2) * (space.chunks - 1) * RECEIVE_CHUNK;
        check_each((uint64_t)space.credits * RECEIVE_CREDIT <= bytes, "%u nodes: %llu bytes", nodes,
                   (unsigned long long)bytes);
        check_each(space.am_events >= space.credits + space.buffers, "%u nodes: AM queue", nodes);
        before = space.each;
    }
    check_all(
        "PO-11 the table of credits: fewer for each peer in larger jobs, never too few, and the "
        "receive space holds them all");
    const receive_space_input_t large = {10000, 1, -1, -1, 0, 250, 2048, 256};
    receive_space_compute(&large, &space, why, sizeof why);
    check((uint64_t)space.buffers * space.chunks * RECEIVE_CHUNK < 40u << 20,
          "PO-17 10,000 nodes: %llu KB of receive space at each",
          (unsigned long long)space.buffers * space.chunks * RECEIVE_CHUNK / 1024);
    const receive_space_input_t own = {4, 1, 10, 33, 0, 250, 2048, 256};
    check(receive_space_compute(&own, &space, why, sizeof why) && space.each == 10 &&
              space.credits >= 63,
          "PO-11 GASNET_PORTAL_CRED_PER_NODE and _BANKED_CREDITS are taken");
    for (int each = 0; each < RECEIVE_COST_MOST; each++) {
        const receive_space_input_t few = {20, 1, each, 0, 0, 250, 2048, 256};
        check_each(receive_space_compute(&few, &space, why, sizeof why) &&
                       space.each == RECEIVE_COST_MOST && space.credits >= 19 * RECEIVE_COST_MOST,
                   "GASNET_PORTAL_CRED_PER_NODE=%d: %u each of %u", each, space.each,
                   space.credits);
    }
    check_all("PO-9 no rank begins with fewer credits than the largest Request costs");
    const receive_space_input_t bounded = {4, 1, -1, -1, 1 << 20, 250, 2048, 256};
    check(receive_space_compute(&bounded, &space, why, sizeof why) &&
              (uint64_t)space.buffers * space.chunks * RECEIVE_CHUNK <= 1 << 20 && space.each >= 8,
          "PO-11 GASNET_PORTAL_AMRECV_SPACE is not exceeded");
    const receive_space_input_t small = {100, 1, -1, -1, 65536, 250, 2048, 256};
    check(!receive_space_compute(&small, &space, why, sizeof why) &&
              strstr(why, "GASNET_PORTAL_AMRECV_SPACE"),
          "PO-11 too little space is refused: %s", why);
    const receive_space_input_t greedy = {4, 1, 5000, -1, 1 << 20, 250, 2048, 256};
    check(!receive_space_compute(&greedy, &space, why, sizeof why) &&
              strstr(why, "GASNET_PORTAL_CRED_PER_NODE"),
          "PO-11 so are credits that it does not hold: %s", why);
    check(receive_cost(0) == 1 && receive_cost(256) == 1 && receive_cost(257) == 2 &&
              receive_cost(2048) == 8,
          "PO-9 a credit is 256 bytes: 1 for a Short, up to 8 for a chunk");
}

int main(int argc, char **argv)
{
    check_begin(argc, argv);
    bits();
    stocks();
    halves();
    buffers();
    space_defaults();
    spaces();
    return check_end();
}
