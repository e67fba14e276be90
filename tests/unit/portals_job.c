/* portals_job.c - the job of portals_job.h, and what its peers send. */
#include "tests/unit/portals_job.h"

struct saw saw;
uint8_t source[SEGMENT];
gasnetc_counter_t counter;
unsigned descriptors;
static unsigned entries;

/* Functions of a network under test that stubs.c calls. */
net_key_t net_script_expose(void *start, size_t size)
{
    (void)size;
    return (net_key_t){.base = (uintptr_t)start, .selector = BITS_RAR};
}
void net_script_forget(void) {}
void net_script_reset(void) {}

static void on_silent(gasnet_token_t token)
{
    (void)token;
    saw.runs++;
}

static void on_answer(gasnet_token_t token)
{
    saw.runs++;
    gasnet_AMReplyShort0(token, H_REPLIED);
}

static void on_payload(gasnet_token_t token, void *buffer, size_t nbytes)
{
    (void)token;
    saw.payloads++;
    saw.buffer = buffer;
    saw.nbytes = nbytes;
    saw.first = *(uint8_t *)buffer;
    saw.last = ((uint8_t *)buffer)[nbytes - 1];
}

static void on_replied(gasnet_token_t token)
{
    (void)token;
    saw.reply_runs++;
}

void job_begin(void)
{
    gasnetc_params.use_firehose = false;
    static const gasnet_handlerentry_t handlers[] = {{H_SILENT, (void (*)(void))on_silent},
                                                     {H_ANSWER, (void (*)(void))on_answer},
                                                     {H_PAYLOAD, (void (*)(void))on_payload},
                                                     {H_REPLIED, (void (*)(void))on_replied}};
    gasnet_handlerentry_t table[4];
    memcpy(table, handlers, sizeof table);
    unit_job_begin(&(unit_job_t){3, 0, 8, 0, SEGMENT, 62});
    for (uint32_t r = 1; r < 3; r++)
        net_set_contact(&gasnetc_peers[r].net, &(ptl_process_id_t){.nid = 7, .pid = 100 + r});
    gasnetc_poll_open();
    gasnetc_register_client(table, 4);
    memset(&saw, 0, sizeof saw);
    counter = (gasnetc_counter_t){0};
    descriptors = ptl_script_descriptors();
    entries = ptl_script_entries();
}

/* True if all that was taken is free again, except what is held for the next Request. */
static bool nothing_is_lost(void)
{
    gasnetc_retire_regions();
    unsigned hand = net_portals.in_hand != NULL;
    const gasnetc_loan_t *loan = &gasnetc_peers[1].net.loan;
    bool whole = net_portals.tickets.count + 2 * hand == net_portals.tickets.total &&
                 net_portals.chunks.count == net_portals.chunks.total &&
                 net_portals.answers.count + hand == net_portals.answers.total &&
                 net_portals.temporaries + hand == net_portals.temporaries_most &&
                 net_portals_rest.longs.waiting == 0 && loan->in_use == 0 &&
                 ptl_script_descriptors() == descriptors && ptl_script_entries() == entries;
    if (!whole)
        check_note(
            "tickets %u of %u, chunks %u of %u, answers %u of %u, temporaries %u of %u, "
            "halves %u, credits in use %u, descriptors %u of %u",
            net_portals.tickets.count + 2 * hand, net_portals.tickets.total,
            net_portals.chunks.count, net_portals.chunks.total, net_portals.answers.count + hand,
            net_portals.answers.total, net_portals.temporaries + hand, net_portals.temporaries_most,
            net_portals_rest.longs.waiting, loan->in_use, ptl_script_descriptors(), descriptors);
    return whole;
}

void job_end(const char *what)
{
    gasnetc_poll();
    check(nothing_is_lost(), "%s: all tickets, chunks, credits and descriptors are back", what);
    job_drop();
}

void job_drop(void)
{
    unit_job_end();
    net_close();
    ptl_script_reset();
}

/* --- sending and receiving --- */

bool counter_done(void)
{
    return gasnetc_counter_done(&counter);
}

bool from_role(const ptl_script_op_t *op, enum net_role role)
{
    return (enum net_role)(uintptr_t)op->from.user_ptr == role;
}

uint8_t cost_of(const ptl_script_op_t *op)
{
    return bits_credits(op->header) & 15;
}

bool request(uint32_t rank, uint32_t chunk, message_t m, enum bits_kind kind, uint8_t cost)
{
    uint8_t bytes[5000];
    m.request = 1;
    size_t length = compose(&m, bytes), sent = (length + 7) & ~(size_t)7;
    return ptl_script_arrive(
        &(ptl_script_message_t){.from = 100 + rank,
                                .entry = 39,
                                .bits = bits_pack(chunk * 2048, 3, kind, BITS_REQRB),
                                .header = bits_header(rank, cost, (unsigned)(sent - length)),
                                .bytes = bytes,
                                .length = sent});
}

void payload(uint32_t rank, uint32_t chunk, uint64_t offset, const void *bytes, size_t length,
             enum bits_selector selector)
{
    if (!ptl_script_arrive(&(ptl_script_message_t){.from = 100 + rank,
                                                   .entry = 38,
                                                   .bits = bits_pack(chunk, 4, BITS_DATA, selector),
                                                   .offset = offset,
                                                   .header = bits_header(rank, 0, 0),
                                                   .bytes = bytes,
                                                   .length = length}))
        check(false, "a payload is taken");
}

void reply_to(const ptl_script_op_t *op, message_t m, enum bits_kind kind, uint8_t more)
{
    uint8_t bytes[5000];
    size_t length = compose(&m, bytes);
    uint32_t rank = op->target.pid - 100;
    if (!ptl_script_arrive(&(ptl_script_message_t){
            .from = op->target.pid,
            .entry = 39,
            .bits = bits_pack(bits_place(op->bits), 5, kind, BITS_REQSB),
            .offset = bits_place(op->bits),
            .header = bits_header(rank, (uint8_t)(cost_of(op) | more << 4), 0),
            .bytes = bytes,
            .length = length}))
        check(false, "a Reply is taken");
}
