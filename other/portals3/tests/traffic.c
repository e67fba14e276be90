/* traffic.c - random traffic between processes, against a model of what must come of it.
 *
 *   traffic PROCESSES OPERATIONS [SEED]
 *
 * Every process has a slice of memory at every other one, which it alone writes: by puts, gets and
 * getputs of all sizes, of which some find a descriptor without an event queue (and so may go by
 * RDMA) and some one with events.  Besides, messages go into receive buffers that unlink themselves
 * and are put back.  Each initiator knows what its slices must hold, and what each get must bring.
 * In the end the targets compare, and the registers must be back at zero.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "other/portals3/tests/family.h"

enum {
    MOST = FAMILY_MOST,
    CELLS = 6,
    CELL = 96 * 1024,
    SLICE = CELLS * CELL,
    SEGMENT_PT = 38,
    MESSAGE_PT = 39,
    BUFFERS = 4,
    BUFFER = 8192,
    MESSAGE = 1024,
    CREDITS = 6, /* most messages under way to one process */
    /* All that can be under way fits into all buffers but the one that is being filled. */
    ROOM = (BUFFERS - 1) * (BUFFER / MESSAGE - 1)
};

static uint32_t operations = 1000;
static uint32_t credits; /* messages under way from here to one process */
static ptl_handle_eq_t local_eq, message_eq, credit_eq;

static void fill(unsigned char *bytes, size_t length)
{
    uint64_t word = family_below(UINT32_MAX);
    for (size_t i = 0; i < length; i++) bytes[i] = (unsigned char)((word += 0x9d) >> (i & 7));
}

static uint32_t sum_of(const unsigned char *bytes, size_t length)
{
    uint32_t sum = 0;
    for (size_t i = 0; i < length; i++) sum = sum * 31 + bytes[i];
    return sum;
}

/* --- the segment --- */

static unsigned char *segment;     /* [family_size] slices */
static unsigned char *model[MOST]; /* expected content of this process's slice at each peer */
static unsigned char *scratch;     /* [family_size][CELLS] cells: sources and destinations */
static unsigned char *words;       /* small cells like those of scratch: the other half of a
                                      getput */
static ptl_handle_md_t scratch_md, words_md;

struct cell {
    enum { IDLE, PUT, GET, GETPUT } busy;
    bool sent, acked;
    uint32_t offset, length;
    unsigned char before[64];
};
static struct cell cells[MOST][CELLS];
static int busy;

static uint32_t some_length(void)
{
    switch (family_below(8)) {
    case 0:
        return family_below(3);
    case 1:
    case 2:
    case 3:
        return family_below(300);
    case 4:
        return 4096 - 4 + family_below(8);
    case 5:
        return family_below(20000);
    case 6:
        return 16384 - 2 + family_below(4);
    default:
        return family_below(CELL) + 1;
    }
}

static ptl_match_bits_t bits_of(int target, int c)
{
    return (ptl_match_bits_t)target << 32 | (ptl_match_bits_t)c << 16 | (family_below(4) == 0);
}

static void start(int target, int c)
{
    struct cell *cell = &cells[target][c];
    uint32_t local = (uint32_t)(target * CELLS + c) * CELL;
    ptl_match_bits_t bits = bits_of(target, c);
    ptl_process_id_t id = family->id[target];
    memset(cell, 0, sizeof *cell);
    cell->length = some_length();
    if (cell->length > CELL) cell->length = CELL;
    cell->busy = family_below(10) == 0 ? GETPUT : family_below(2) ? PUT : GET;
    if (cell->busy == GETPUT && cell->length > 64) cell->length %= 65;
    cell->offset = (uint32_t)c * CELL + family_below(CELL - cell->length + 1);
    ptl_size_t remote = (ptl_size_t)family_rank * SLICE + cell->offset;
    unsigned char *at = model[target] + cell->offset;
    busy++;
    if (cell->busy == PUT) {
        fill(at, cell->length);
        memcpy(scratch + local, at, cell->length);
        must(PtlPutRegion(scratch_md, local, cell->length, PTL_ACK_REQ, id, SEGMENT_PT, 0, bits,
                          remote, bits));
    } else if (cell->busy == GET) {
        memset(scratch + local, 0xee, cell->length);
        cell->sent = true;
        must(PtlGetRegion(scratch_md, local, cell->length, id, SEGMENT_PT, 0, bits, remote));
    } else {
        uint32_t word = (uint32_t)(target * CELLS + c) * 64;
        memcpy(cell->before, at, cell->length);
        fill(at, cell->length);
        memcpy(words + word, at, cell->length);
        must(PtlGetPutRegion(scratch_md, local, words_md, word, cell->length, id, SEGMENT_PT, 0,
                             bits, remote, bits));
    }
}

static void finish(int target, int c)
{
    struct cell *cell = &cells[target][c];
    const unsigned char *got = scratch + (size_t)(target * CELLS + c) * CELL;
    const unsigned char *wanted = cell->busy == GET ? model[target] + cell->offset : cell->before;
    if (cell->busy != PUT && memcmp(got, wanted, cell->length))
        family_fail("a get of %u bytes at %u of process %d brought something else", cell->length,
                    cell->offset, target);
    cell->busy = IDLE;
    busy--;
}

static void local_event(const ptl_event_t *event)
{
    int target = (int)(event->match_bits >> 32), c = (int)(event->match_bits >> 16 & 0xffff);
    if (target >= family_size || c >= CELLS)
        family_fail("an event of nothing: %#jx", (uintmax_t)event->match_bits);
    struct cell *cell = &cells[target][c];
    if (event->ni_fail_type != PTL_NI_OK)
        family_fail("an operation with process %d failed", target);
    if (event->mlength != cell->length || event->rlength != cell->length)
        family_fail("%s reports %ju of %u bytes", PtlEventKindStr(event->type),
                    (uintmax_t)event->mlength, cell->length);
    switch (event->type) {
    case PTL_EVENT_SEND_END:
        if (cell->sent || cell->busy == IDLE) family_fail("a second SEND_END");
        cell->sent = true;
        break;
    case PTL_EVENT_ACK:
        if (!cell->sent || cell->busy != PUT) family_fail("an ACK before SEND_END, or of no put");
        cell->acked = true;
        break;
    case PTL_EVENT_REPLY_END:
        if (cell->busy != GET && cell->busy != GETPUT) family_fail("a reply to no get");
        cell->acked = true;
        break;
    default:
        family_fail("unexpected %s", PtlEventKindStr(event->type));
    }
    if (cell->sent && cell->acked) finish(target, c);
}

/* --- messages --- */

static unsigned char *receive[BUFFERS];
static unsigned char *source;
static _Atomic uint32_t
    *credit; /* [family_size], in the segment's tail: the credits that each has returned */
static uint32_t sent[MOST], received[MOST], told[MOST];
static ptl_handle_md_t source_md, credit_md, buffer_md[BUFFERS];
static uint32_t *credit_out;
static bool telling[MOST]; /* credit_out is being read */

static void put_back(int b)
{
    ptl_md_t md = {.start = receive[b],
                   .length = BUFFER,
                   .threshold = PTL_MD_THRESH_INF,
                   .max_size = MESSAGE,
                   .options = PTL_MD_OP_PUT | PTL_MD_MAX_SIZE | PTL_MD_EVENT_START_DISABLE,
                   .user_ptr = (void *)(intptr_t)b,
                   .eq_handle = message_eq};
    buffer_md[b] = family_attach(MESSAGE_PT, 3, md, PTL_UNLINK);
}

static size_t credit_at(int from)
{
    return (size_t)family_size * SLICE + (size_t)from * sizeof(uint32_t);
}

static bool send_message(void)
{
    int target = (int)family_below((uint32_t)family_size);
    if (sent[target] - credit[target] >= credits) return false;
    uint32_t number = sent[target]++, length = family_below(MESSAGE + 1);
    uint32_t local = (uint32_t)(target * CREDITS + (int)(number % CREDITS)) * MESSAGE;
    for (uint32_t i = 0; i < length; i++)
        source[local + i] = (unsigned char)(number + i + (uint32_t)family_rank);
    must(PtlPutRegion(source_md, local, length, PTL_NOACK_REQ, family->id[target], MESSAGE_PT, 0,
                      (ptl_match_bits_t)family_rank << 32 | 3, 0, number));
    return true;
}

static void tell_credit(void)
{
    ptl_event_t event;
    while (PtlEQGet(credit_eq, &event) == PTL_OK) telling[event.match_bits >> 4] = false;
    for (int to = 0; to < family_size; to++) {
        if (received[to] == told[to] || telling[to]) continue;
        telling[to] = true;
        told[to] = received[to];
        credit_out[to] = received[to];
        must(PtlPutRegion(credit_md, (ptl_size_t)to * 4, 4, PTL_NOACK_REQ, family->id[to],
                          SEGMENT_PT, 0, (ptl_match_bits_t)to << 4, credit_at(family_rank), 0));
    }
}

static void message_event(const ptl_event_t *event)
{
    int b = (int)(intptr_t)event->md.user_ptr;
    if (event->type == PTL_EVENT_UNLINK) {
        put_back(b);
        return;
    }
    int from = (int)(event->match_bits >> 32);
    const unsigned char *bytes = (unsigned char *)event->md.start + event->offset;
    if (event->type != PTL_EVENT_PUT_END || from >= family_size)
        family_fail("a strange event in a buffer");
    if (event->hdr_data != received[from])
        family_fail("message %u of process %d is the %u.", (unsigned)event->hdr_data, from,
                    received[from]);
    for (uint32_t i = 0; i < event->mlength; i++)
        if (bytes[i] != (unsigned char)(received[from] + i + (uint32_t)from))
            family_fail("message %u of process %d is torn", received[from], from);
    received[from]++;
}

static bool poll_once(void)
{
    ptl_event_t event;
    ptl_handle_eq_t queues[] = {local_eq, message_eq};
    int which, code = PtlEQPoll(queues, 2, 0, &event, &which);
    if (code == PTL_EQ_EMPTY) return false;
    if (code != PTL_OK) family_fail("PtlEQPoll: %s", PtlErrorStr((unsigned)code));
    if (which == 0)
        local_event(&event);
    else
        message_event(&event);
    return true;
}

static void meanwhile(void)
{
    while (poll_once()) {
    }
    tell_credit();
}

/* --- a process --- */

static void open_all(void)
{
    size_t whole = (size_t)family_size * SLICE + MOST * sizeof(uint32_t);
    family_open(PTL_PID_ANY);
    must(PtlEQAlloc(family_ni, 4096, PTL_EQ_HANDLER_NONE, &local_eq));
    must(PtlEQAlloc(family_ni, 4096, PTL_EQ_HANDLER_NONE, &message_eq));
    must(PtlEQAlloc(family_ni, 2 * MOST, PTL_EQ_HANDLER_NONE, &credit_eq));
    segment = family_memory(whole);
    credit = (_Atomic uint32_t *)(void *)(segment + (size_t)family_size * SLICE);
    scratch = family_memory((size_t)family_size * CELLS * CELL);
    words = family_memory((size_t)family_size * CELLS * 64);
    source = family_memory((size_t)family_size * CREDITS * MESSAGE);
    credit_out = family_memory(MOST * sizeof *credit_out);
    for (int i = 0; i < family_size; i++) model[i] = family_memory(SLICE);
    ptl_md_t md = {.start = segment,
                   .length = whole,
                   .threshold = PTL_MD_THRESH_INF,
                   .options = PTL_MD_OP_PUT | PTL_MD_OP_GET | PTL_MD_MANAGE_REMOTE |
                              PTL_MD_EVENT_START_DISABLE | PTL_MD_EVENT_END_DISABLE,
                   .eq_handle = PTL_EQ_NONE};
    family_attach(SEGMENT_PT, 0, md, PTL_RETAIN);
    /* A second entry for the segment, with an event queue; the events are too many to keep. */
    ptl_handle_eq_t watched;
    must(PtlEQAlloc(family_ni, 16, PTL_EQ_HANDLER_NONE, &watched));
    md.eq_handle = watched;
    md.options &= ~(unsigned)PTL_MD_EVENT_END_DISABLE;
    family_attach(SEGMENT_PT, 1, md, PTL_RETAIN);
    for (int b = 0; b < BUFFERS; b++) put_back((receive[b] = family_memory(BUFFER), b));
    md = (ptl_md_t){.start = scratch,
                    .length = (ptl_size_t)family_size * CELLS * CELL,
                    .threshold = PTL_MD_THRESH_INF,
                    .options = PTL_MD_EVENT_START_DISABLE,
                    .eq_handle = local_eq};
    must(PtlMDBind(family_ni, md, PTL_RETAIN, &scratch_md));
    md.start = words;
    md.length = (ptl_size_t)family_size * CELLS * 64;
    must(PtlMDBind(family_ni, md, PTL_RETAIN, &words_md));
    md.eq_handle = PTL_EQ_NONE;
    md.start = source;
    md.length = (ptl_size_t)family_size * CREDITS * MESSAGE;
    must(PtlMDBind(family_ni, md, PTL_RETAIN, &source_md));
    md.start = credit_out;
    md.eq_handle = credit_eq;
    md.length = MOST * sizeof *credit_out;
    must(PtlMDBind(family_ni, md, PTL_RETAIN, &credit_md));
}

static void wait_for_all(void)
{
    while (busy) meanwhile();
}

static void traffic(void)
{
    for (uint32_t i = 0; i < operations; i++) {
        int target = (int)family_below((uint32_t)family_size), c = (int)family_below(CELLS);
        if (cells[target][c].busy == IDLE) start(target, c);
        if (family_below(3) == 0) send_message();
        if (family_below(50) == 0) wait_for_all();
        for (int n = 0; n < 4 && poll_once(); n++) {
        }
        tell_credit();
    }
    wait_for_all();
}

static void compare(void)
{
    for (int i = 0; i < family_size; i++) family->sum[i][family_rank] = sum_of(model[i], SLICE);
    family_barrier(meanwhile);
    for (int i = 0; i < family_size; i++)
        if (sum_of(segment + (size_t)i * SLICE, SLICE) != family->sum[family_rank][i])
            family_fail("the slice of process %d is not what it put there", i);
}

static void registers(void)
{
    ptl_sr_value_t fast_puts, fast_gets, drops;
    must(PtlNIStatus(family_ni, PTL_SR_FAST_PUTS, &fast_puts));
    must(PtlNIStatus(family_ni, PTL_SR_FAST_GETS, &fast_gets));
    must(PtlNIStatus(family_ni, PTL_SR_DROP_COUNT, &drops));
    if (drops) family_fail("%ju requests were dropped", (uintmax_t)drops);
    if (family_rank == 0)
        printf("# process 0: %ju puts and %ju gets by RDMA\n", (uintmax_t)fast_puts,
               (uintmax_t)fast_gets);
    fflush(stdout);
}

static void process(void)
{
    credits = ROOM / family_size < CREDITS ? (uint32_t)(ROOM / family_size) : CREDITS;
    open_all();
    family_barrier(NULL);
    traffic();
    family_barrier(meanwhile);
    compare();
    registers();
    family_barrier(meanwhile);
    family_close();
}

int main(int argc, char **argv)
{
    int size = argc > 1 ? atoi(argv[1]) : 2;
    if (argc > 2) operations = (uint32_t)atoi(argv[2]);
    if (size < 1 || size > MOST) return 2;
    family_settle_seed(argc > 3 ? argv[3] : NULL);
    int bad = family_run(size, process, NULL);
    printf("%sok 1 - %d processes, %u operations each: all is as in the model\n1..1\n",
           bad ? "not " : "", size, operations);
    return bad != 0;
}
