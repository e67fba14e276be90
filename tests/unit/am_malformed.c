/* am_malformed.c - messages that no honest peer sends, and calls that no honest client makes: each
 * ends the job with one line that names the peer and the field, or the call (design 3, IB-A6).
 */
#include <stdio.h>

#include "core/am/am.h"
#include "core/job/progress.h"
#include "core/rdma/published.h"
#include "tests/unit/am_compose.h"
#include "tests/unit/check.h"
#include "tests/unit/stubs.h"

enum { SEGMENT = 64 << 10, H_PAYLOAD = 150, H_TWICE, H_REPLY_BACK, H_ANSWER };

static void on_payload(gasnet_token_t token, void *buffer, size_t nbytes)
{
    (void)token;
    (void)buffer;
    (void)nbytes;
}

static void on_twice(gasnet_token_t token)
{
    gasnet_AMReplyShort0(token, 128);
    gasnet_AMReplyShort0(token, 128);
}

static void on_answer(gasnet_token_t token)
{
    gasnet_AMReplyShort0(token, 128);
}

static void begin(void)
{
    gasnet_handlerentry_t table[] = {{H_PAYLOAD, (void (*)(void))on_payload},
                                     {H_TWICE, (void (*)(void))on_twice},
                                     {H_REPLY_BACK, (void (*)(void))on_answer},
                                     {H_ANSWER, (void (*)(void))on_answer}};
    net_script_reset();
    unit_job_begin(&(unit_job_t){4, 0, 4, 1, SEGMENT, 40});
    gasnetc_register_client(table, 4);
}

/* --- arrivals --- */

static void receive(const void *message)
{
    arrive(3, *(const message_t *)message);
    gasnet_AMPoll();
}

static void arrival(const char *name, message_t m, const char *field)
{
    char title[200];
    snprintf(title, sizeof title, "design 3: %s", name);
    check_fatal(title, receive, &m, "malformed", "rank 3", field);
}

static void receive_system(const void *length)
{
    static uint64_t words[4];
    net_script_arrive_system(3, words, *(const size_t *)length);
    gasnet_AMPoll();
}

static void arrivals(void)
{
    static const uint8_t payload[100];
    uint64_t base = (uintptr_t)unit_segment(0);
    message_t packed = {.category = LONG,
                        .request = 1,
                        .handler = H_PAYLOAD,
                        .flags = PACKED,
                        .payload = payload,
                        .nbytes = 100};
    message_t plain = {.category = LONG, .request = 1, .handler = H_PAYLOAD, .nbytes = 100};
    arrival("a message shorter than a header", (message_t){.longer = -3}, "bad length");
    arrival("an unknown category", (message_t){.category = 3}, "bad category");
    arrival("too many arguments", (message_t){.numargs = 20}, "bad argument count");
    arrival("an unknown flag", (message_t){.flags = 64}, "bad flags");
    arrival(
        "a payload length that is not the message's",
        (message_t){.category = MEDIUM, .request = 1, .payload = payload, .nbytes = 9, .lie = 3000},
        "bad payload length");
    packed.dst = base - 1;
    arrival("a packed Long that begins before the segment", packed, "bad destination");
    packed.dst = base + SEGMENT - 99;
    arrival("a packed Long that ends behind the segment", packed, "bad destination");
    packed.dst = base + SEGMENT + 1;
    arrival("a packed Long behind the segment", packed, "bad destination");
    packed.dst = UINT64_MAX - 49;
    arrival("a packed Long that wraps around", packed, "bad destination");
    plain.dst = base + SEGMENT - 99;
    arrival("an unpacked Long outside the segment", plain, "bad destination");
    plain.dst = base, plain.nbytes = UINT32_MAX;
    arrival("an unpacked Long larger than the segment", plain, "bad destination");
    arrival("a Reply to no Request", (message_t){.handler = H_PAYLOAD, .credits = 1},
            "bad credit count");
    arrival("a Reply without a credit", (message_t){.flags = HIDDEN}, "bad credit count");
    arrival("a Request that returns credits never given",
            (message_t){.request = 1, .handler = H_ANSWER, .credits = 1}, "bad credit count");
    message_t stranger = {.request = 1, .handler = 99};
    check_fatal("2.3 an arrival for an unregistered handler", receive, &stranger, "rank 3",
                "handler 99", "not registered");
    size_t lengths[] = {0, 8, 15, 24};
    for (int i = 0; i < 4; i++)
        check_fatal("design 3: a system message of a wrong length", receive_system, &lengths[i],
                    "malformed", "rank 3", "length");
}

/* --- calls --- */

static uint8_t bytes[5000];

static void to_nobody(const void *unused)
{
    (void)unused;
    gasnet_AMRequestShort0(4, 128);
}

static void many_arguments(const void *unused)
{
    (void)unused;
    gasnetc_AMRequestShort(1, 128, 17, (int32_t *)(void *)bytes);
}

static void negative_arguments(const void *unused)
{
    (void)unused;
    gasnet_AMRequestShort(1, 128, -1);
}

static void large_medium(const void *unused)
{
    (void)unused;
    gasnet_AMRequestMedium0(1, 128, bytes, 4025);
}

static void large_long(const void *unused)
{
    (void)unused;
    gasnet_AMRequestLong0(1, 128, bytes, (size_t)1 << 31, unit_segment(1));
}

static void long_outside(const void *nbytes)
{
    size_t n = *(const size_t *)nbytes;
    gasnet_AMRequestLong0(1, 128, bytes, n, unit_segment(1) + SEGMENT - n + 1);
}

static void reply_back(const void *unused)
{
    (void)unused;
    gasnet_AMRequestShort0(1, 128);
    arrive(1, (message_t){.handler = H_REPLY_BACK, .credits = 1});
    gasnet_AMPoll();
}

static void calls(void)
{
    size_t packed = 100, unpacked = 4900;
    message_t twice = {.request = 1, .handler = H_TWICE};
    check_fatal("2.7.2 an AM to a rank that is not in the job", to_nobody, NULL, "rank 4",
                "the ranks of this job are 0 to 3");
    check_fatal("2.7.1 17 arguments", many_arguments, NULL, "17 arguments", "0..16");
    check_fatal("2.7.1 -1 arguments", negative_arguments, NULL, "-1 arguments", "0..16");
    check_fatal("2.7.1 a Medium above the limit", large_medium, NULL, "AMMedium", "4025", "4024");
    check_fatal("2.7.1 a Long above the limit", large_long, NULL, "AMLong", "2147483648",
                "2147483647");
    check_fatal("2.7.2 a packed Long outside the peer's segment", long_outside, &packed, "AMLong",
                "100 bytes", "outside the segment of rank 1");
    check_fatal("2.7.2 an unpacked Long outside the peer's segment", long_outside, &unpacked,
                "AMLong", "4900 bytes", "outside the segment of rank 1");
    check_fatal("2.7.2 a second Reply", receive, &twice, "reply once", "second Reply");
    check_fatal("2.7.2 a Reply to a Reply", reply_back, NULL, "only to a Request");
    check(gasnet_AMGetMsgSource(NULL, NULL) == GASNET_ERR_BAD_ARG,
          "2.7.3 AMGetMsgSource of no token is GASNET_ERR_BAD_ARG");
}

/* --- announcements of segments --- */

typedef struct announcement {
    uint64_t words[64];
    size_t most; /* bytes that came */
} announcement_t;

static void announced(const void *of)
{
    const announcement_t *announcement = of;
    gasnetc_announced(3, announcement->words, announcement->most);
}

/* One of a segment of 100 pages without keys, in which a word is replaced and some bytes have got
 * lost. */
static void announcement(const char *name, int word, uint64_t value, size_t lost)
{
    const gasnetc_created_t created = {.base = 0x10000, .size = 100 << 12, .pin_shift = 12};
    announcement_t a = {.most = 0};
    a.most = gasnetc_announce(5, &created, a.words) - lost;
    a.words[word] = value;
    char title[200];
    snprintf(title, sizeof title, "an announcement of a segment %s", name);
    check_fatal(title, announced, &a, "malformed", "rank 3", "announcement of a segment");
}

static void announcements(void)
{
    enum { BASE, SIZE, KEYS, ENDPOINT };
    const uint64_t shift = UINT64_C(12) << 32;
    announcement("that is too short", SIZE, 4096, 1);
    announcement("that is empty", SIZE, 0, 0);
    announcement("that wraps around", BASE, UINT64_MAX - 4096, 0);
    announcement("of the primordial endpoint", ENDPOINT, shift | 0, 0);
    announcement("of endpoint 33", ENDPOINT, shift | 33, 0);
    announcement("whose registrations have 2^64 bytes", ENDPOINT, UINT64_C(64) << 32 | 5, 0);
    announcement("with fewer keys than it says", KEYS, 100, 0);
    announcement("with keys for other memory", KEYS, 1, 0);
    announcement("with 2^61 keys", KEYS, UINT64_C(1) << 61, 0);
}

int main(int argc, char **argv)
{
    check_begin(argc, argv);
    begin();
    arrivals();
    calls();
    announcements();
    unit_job_end();
    return check_end();
}
