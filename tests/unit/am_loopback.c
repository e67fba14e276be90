/* am_loopback.c - Active Messages of a node to itself: no network, but the rules of the client
 * interface all the same (sections 2.7.2 and 2.7.3).
 */
#include <string.h>

#include "core/am/am.h"
#include "core/job/thread.h"
#include "tests/unit/check.h"
#include "tests/unit/stubs.h"

enum { SEGMENT = 64 << 10, H_ECHO = 140, H_LAST, H_SHORT, H_SHORT_BACK, H_LONG, H_MANY };

static struct {
    unsigned runs;
    void *buffer, *reply_buffer;
    size_t nbytes;
    bool intact;
    uint8_t bytes[4096];
    int32_t args[16];
    gasnet_node_t from;
    unsigned depth;
} saw;

/* Replies from its own buffer, then overwrites it; its content must be its own until then. */
static void on_echo(gasnet_token_t token, void *buffer, size_t nbytes)
{
    saw.runs++;
    saw.buffer = buffer;
    saw.depth = gasneti_handler_depth();
    uint8_t before[4096];
    memcpy(before, buffer, nbytes);
    gasnet_AMReplyMedium0(token, H_LAST, buffer, nbytes);
    saw.intact = !memcmp(before, buffer, nbytes);
    memset(buffer, 0, nbytes);
}

static void on_last(gasnet_token_t token, void *buffer, size_t nbytes)
{
    gasnet_AMGetMsgSource(token, &saw.from);
    saw.runs++;
    saw.reply_buffer = buffer;
    saw.nbytes = nbytes;
    memcpy(saw.bytes, buffer, nbytes);
    memset(buffer, 0xff, nbytes);
}

static void on_short(gasnet_token_t token, int32_t a)
{
    saw.runs++;
    gasnet_AMReplyShort1(token, H_SHORT_BACK, a + 1);
}

static void on_short_back(gasnet_token_t token, int32_t a)
{
    (void)token;
    saw.runs++;
    saw.args[0] = a;
}

static void on_long(gasnet_token_t token, void *buffer, size_t nbytes)
{
    (void)token;
    saw.runs++;
    saw.buffer = buffer;
    saw.nbytes = nbytes;
}

static void on_many(gasnet_token_t token, int32_t a0, int32_t a1, int32_t a2, int32_t a3,
                    int32_t a4, int32_t a5, int32_t a6, int32_t a7, int32_t a8, int32_t a9,
                    int32_t a10, int32_t a11, int32_t a12, int32_t a13, int32_t a14, int32_t a15)
{
    int32_t args[] = {a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13, a14, a15};
    (void)token;
    saw.runs++;
    memcpy(saw.args, args, sizeof args);
}

static void begin(void)
{
    gasnet_handlerentry_t table[] = {
        {H_ECHO, (void (*)(void))on_echo},   {H_LAST, (void (*)(void))on_last},
        {H_SHORT, (void (*)(void))on_short}, {H_SHORT_BACK, (void (*)(void))on_short_back},
        {H_LONG, (void (*)(void))on_long},   {H_MANY, (void (*)(void))on_many}};
    unit_job_begin(&(unit_job_t){2, 1, 2, 1, SEGMENT, 40});
    gasnetc_register_client(table, 6);
}

static void medium(void)
{
    static uint8_t bytes[4096];
    check_fill(bytes, sizeof bytes);
    for (uint32_t n = 0; n <= 4024; n = n < 4024 && n + 201 > 4024 ? 4024 : n + 201) {
        memset(&saw, 0, sizeof saw);
        gasnet_AMRequestMedium0(1, H_ECHO, bytes, n);
        check_each(saw.runs == 2 && saw.nbytes == n && !memcmp(saw.bytes, bytes, n), "%u bytes", n);
        check_each(saw.intact, "%u bytes: the Reply overwrote the Request", n);
        check_each(saw.buffer != saw.reply_buffer && saw.buffer != bytes, "one buffer for all");
        check_each((uintptr_t)saw.buffer % 16 == 0 && (uintptr_t)saw.reply_buffer % 16 == 0,
                   "buffers at %p and %p", saw.buffer, saw.reply_buffer);
        check_each(saw.from == 1 && saw.depth == 1, "from %u, depth %u", saw.from, saw.depth);
    }
    check_all("2.7.3 a loopback Medium may be answered from its own buffer");
    check(gasneti_handler_depth() == 0, "2.7.3 no handler is left open");
}

static void others(void)
{
    memset(&saw, 0, sizeof saw);
    gasnet_AMRequestShort1(1, H_SHORT, 41);
    check(saw.runs == 2 && saw.args[0] == 42, "2.7.2 a loopback Short and its Reply");
    gasnet_AMRequestShort16(1, H_MANY, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14,
                            0x80000000);
    bool right = saw.runs == 3 && saw.args[15] == INT32_MIN;
    for (int i = 0; i < 15; i++) right &= saw.args[i] == i;
    check(right, "2.7.2 sixteen arguments arrive in order");
    char *mine = unit_segment(1);
    check_fill(mine, SEGMENT);
    gasnet_AMRequestLong0(1, H_LONG, mine, 30000, mine + 32000);
    check(saw.buffer == mine + 32000 && saw.nbytes == 30000 && !memcmp(mine, mine + 32000, 30000),
          "2.7.3 a loopback Long lies where it was sent");
    gasnet_AMRequestLong0(1, H_LONG, NULL, 0, (void *)1);
    gasnet_AMRequestMedium0(1, H_LONG, (void *)1, 0);
    check(saw.runs == 6 && saw.nbytes == 0, "2.7.2 empty ones may have any addresses");
    check(net_script_count(NET_SCRIPT_AM) == 0 && gasnetc_peers[0].credits.available == 2,
          "IB-A1 loopback costs neither messages nor credits");
}

static void outside(const void *unused)
{
    (void)unused;
    static char bytes[100];
    gasnet_AMRequestLong0(1, H_LONG, bytes, 100, unit_segment(1) + SEGMENT - 99);
}

static void unregistered(const void *unused)
{
    (void)unused;
    gasnet_AMRequestShort0(1, 199);
}

int main(int argc, char **argv)
{
    net_script_reset();
    check_begin(argc, argv);
    begin();
    medium();
    others();
    check_fatal("2.7.2 a loopback Long that leaves the segment is fatal", outside, NULL, "AMLong",
                "100 bytes", "outside the segment");
    check_fatal("2.3 a loopback AM to an unregistered handler is fatal", unregistered, NULL,
                "handler 199", "not registered", "rank 1");
    unit_job_end();
    return check_end();
}
