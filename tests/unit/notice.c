/* notice.c - the words that nodes write into one another (IB-W2), on the scripted network: in a job
 * where every place is this node's, what is put is what is taken.
 */
#include "core/notice.h"

#include "core/buffers.h"
#include "core/poll.h"
#include "tests/unit/check.h"
#include "tests/unit/stubs.h"

enum { WORDS = 6 };

static void begin(uint32_t inline_max)
{
    net_script_reset();
    net_script.caps.inline_max = inline_max;
    unit_job_begin(&(unit_job_t){3, 0, 8, 1, 65536, 40});
    gasnetc_notice_init(WORDS);
}

static void end(void)
{
    gasnetc_notice_close();
    unit_job_end();
}

/* What the put names must be what was registered for peers: the script ends the program else. */
static void put_and_take(const char *how)
{
    for (uint32_t i = 0; i < WORDS; i++) {
        uint64_t word = UINT64_C(0x8000000100000000) + i;
        check_each(gasnetc_notice_take(i) == 0, "word %u is there too early", i);
        gasnetc_notice_put(1, i, word);
        gasnetc_poll_sends();
        check_each(gasnetc_notice_take(i) == word, "word %u differs", i);
        check_each(gasnetc_notice_take(i) == 0, "word %u is there twice", i);
    }
    check_all("IB-W2 a word put %s is taken once, and others are not touched", how);
}

static void captured(void)
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
    gasnetc_notice_put(2, 1, 77);
    gasnetc_poll_sends();
    check(net_script.busy_answers == 3 && gasnetc_notice_take(1) == 77,
          "IB-R1 a network that is busy is asked again");
    end();
}

int main(int argc, char **argv)
{
    check_begin(argc, argv);
    captured();
    bounced();
    busy();
    return check_end();
}
