/* eager.c - two processes exchange messages as an MPI of the time did: small ones eagerly into
 * buffers that wait for them, with credits; large ones by rendezvous, written straight into memory
 * that fast regions (FMRs) give keys of.  Both queues complete in one CQ, most sends are
 * unsignalled, addresses are exchanged in files.
 *
 *   eager DIRECTORY RANK SEED
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "qp_pair.h"

enum {
    EAGER = 2048,         /* bytes that are sent eagerly */
    LARGEST = 200 * 1000, /* of a message */
    MESSAGES = 300,
    BUFFERS = 12, /* to receive into; RESERVED of them for what takes no credit */
    RESERVED = 4,
    FMRS = 4,
    PAGE = 4096,
    ID_WRITE = 1000, /* write: other sends have numbers below */
    ID_BYE
};

enum kind { DATA = 1, RTS, CTS, FIN, CREDIT, BYE };

struct header {
    u_int32_t kind, length, credits;
    VAPI_rkey_t r_key;
    VAPI_virt_addr_t address;
};
struct buffer {
    struct header head;
    unsigned char data[EAGER];
};

static struct stage s;
static int rank;
static struct buffer *in_buffers, *out_buffers; /* BUFFERS, and as many as the queue is deep */
static VAPI_mr_hndl_t buffers_mr;
static VAPI_mr_t buffers_keys;
static u_int32_t room, posted;                       /* of the send queue */
static u_int32_t credits = BUFFERS - RESERVED, owed; /* ours, and those to be returned to the
                                                        peer */

/* The messages under way, one at a time in each direction. */
static unsigned char *out_data, *in_data;
static int sent, received;
static bool awaits_cts, writing, says_bye, said_bye, heard_bye;
static int out_fmr = -1, in_fmr = -1;
static VAPI_lkey_t out_lkey;
static unsigned seeds[2];
static u_int32_t out_length, in_length;

static void fail(const char *what)
{
    fprintf(stderr, "eager, rank %d: %s\n", rank, what);
    exit(1);
}

/* --- fast regions: taken, left mapped, and unmapped several at a time when all are --- */

static struct {
    EVAPI_fmr_hndl_t handle;
    enum { FREE, BUSY, STALE } state;
} fmrs[FMRS];
static int batches;

static void unmap_stale(void)
{
    EVAPI_fmr_hndl_t stale[FMRS];
    MT_size_t n = 0;
    for (int i = 0; i < FMRS; i++) {
        if (fmrs[i].state != STALE) continue;
        stale[n++] = fmrs[i].handle;
        fmrs[i].state = FREE;
    }
    NEED(EVAPI_unmap_fmr(s.hca, n, stale));
    batches++;
}

static int map(void *start, u_int32_t length, VAPI_lkey_t *lkey, VAPI_rkey_t *rkey)
{
    EVAPI_fmr_map_t m = {.start = (MT_virt_addr_t)start, .size = length};
    for (;; unmap_stale())
        for (int i = 0; i < FMRS; i++) {
            if (fmrs[i].state != FREE) continue;
            NEED(EVAPI_map_fmr(s.hca, fmrs[i].handle, &m, lkey, rkey));
            fmrs[i].state = BUSY;
            return i;
        }
}

static void unmap(int *fmr)
{
    fmrs[*fmr].state = STALE;
    *fmr = -1;
}

/* --- messages: what they are, both sides know from the seed --- */

static u_int32_t next_length(unsigned *seed)
{
    unsigned r = (unsigned)rand_r(seed);
    if (r % 8 == 0) return 0;
    return r % 3 == 0 ? r % LARGEST : r % (2 * EAGER);
}

static unsigned char byte(int from, int message, u_int32_t place)
{
    return (unsigned char)(from * 101 + message * 31 + (int)(place * 7 + place / 251));
}

static void check_message(const unsigned char *data, u_int32_t length)
{
    if (length != in_length) fail("a message of another length");
    for (u_int32_t i = 0; i < length; i++)
        if (data[i] != byte(!rank, received, i)) fail("other data than were sent");
    received++;
    in_length = next_length(&seeds[!rank]);
}

/* --- sending --- */

static void progress(void);

static void await_room(u_int32_t wanted)
{
    while (room < wanted) progress();
}

static void post_header(enum kind kind, const unsigned char *data, u_int32_t length,
                        VAPI_rkey_t r_key, const void *address)
{
    u_int32_t depth = s.a.prop.cap.max_oust_wr_sq;
    struct buffer *b = &out_buffers[posted % depth];
    b->head = (struct header){kind, length, owed, r_key, (MT_virt_addr_t)address};
    if (data && length) memcpy(b->data, data, length);
    owed = 0;
    VAPI_sg_lst_entry_t sg = {(MT_virt_addr_t)b, (u_int32_t)sizeof b->head + (data ? length : 0),
                              buffers_keys.l_key};
    VAPI_sr_desc_t d;
    memset(&d, 0xee, sizeof d); /* members that are not set may be anything */
    d.id = kind == BYE ? ID_BYE : posted % depth;
    d.opcode = VAPI_SEND;
    d.comp_type = kind == BYE || posted % 4 == 3 ? VAPI_SIGNALED : VAPI_UNSIGNALED;
    d.sg_lst_p = &sg;
    d.sg_lst_len = 1;
    d.fence = d.set_se = FALSE;
    posted++;
    room--;
    if (sg.len <= s.a.prop.cap.max_inline_data_sq)
        NEED(EVAPI_post_inline_sr(s.hca, s.a.qp, &d));
    else
        NEED(VAPI_post_sr(s.hca, s.a.qp, &d));
}

static void post_write(const struct header *cts)
{
    VAPI_sg_lst_entry_t sg = {(MT_virt_addr_t)out_data, out_length, out_lkey};
    VAPI_sr_desc_t d;
    memset(&d, 0xee, sizeof d);
    d.id = ID_WRITE;
    d.opcode = VAPI_RDMA_WRITE;
    d.comp_type = VAPI_SIGNALED;
    d.sg_lst_p = &sg;
    d.sg_lst_len = 1;
    d.fence = d.set_se = FALSE;
    d.remote_addr = cts->address;
    d.r_key = cts->r_key;
    room--;
    NEED(VAPI_post_sr(s.hca, s.a.qp, &d));
}

static void start_message(void)
{
    VAPI_rkey_t unused;
    for (u_int32_t i = 0; i < out_length; i++) out_data[i] = byte(rank, sent, i);
    credits--;
    if (out_length > EAGER) {
        out_fmr = map(out_data, out_length, &out_lkey, &unused);
        awaits_cts = true;
        post_header(RTS, NULL, out_length, 0, NULL);
        return;
    }
    post_header(DATA, out_data, out_length, 0, NULL);
    sent++;
    out_length = next_length(&seeds[rank]);
}

/* Posts the messages that the state allows. Two entries of the queue are left for a write and its
 * FIN. */
static void advance(void)
{
    if (sent < MESSAGES && credits > 0 && room > 4 && !awaits_cts && !writing) start_message();
    if (owed >= (BUFFERS - RESERVED) / 2 && room > 4) post_header(CREDIT, NULL, 0, 0, NULL);
    if (sent == MESSAGES && received == MESSAGES && !says_bye && !writing && room > 4) {
        says_bye = true;
        post_header(BYE, NULL, 0, 0, NULL);
    }
}

/* --- what comes --- */

static void post_buffer(uint64_t i)
{
    VAPI_sg_lst_entry_t sg = {(MT_virt_addr_t)&in_buffers[i], sizeof *in_buffers,
                              buffers_keys.l_key};
    VAPI_rr_desc_t d = {.id = i,
                        .opcode = VAPI_RECEIVE,
                        .comp_type = VAPI_SIGNALED,
                        .sg_lst_p = &sg,
                        .sg_lst_len = 1};
    NEED(VAPI_post_rr(s.hca, s.a.qp, &d));
}

static void take(struct buffer *b)
{
    VAPI_lkey_t unused;
    VAPI_rkey_t r_key;
    credits += b->head.credits;
    switch ((enum kind)b->head.kind) {
    case DATA:
        owed++;
        check_message(b->data, b->head.length);
        break;
    case RTS:
        owed++;
        memset(in_data, 0, b->head.length);
        in_fmr = map(in_data, b->head.length, &unused, &r_key);
        await_room(1);
        post_header(CTS, NULL, b->head.length, r_key, in_data);
        break;
    case CTS:
        awaits_cts = false;
        writing = true;
        await_room(2);
        post_write(&b->head);
        post_header(FIN, NULL, out_length, 0, NULL);
        break;
    case FIN:
        unmap(&in_fmr);
        check_message(in_data, b->head.length);
        break;
    case CREDIT:
        break;
    case BYE:
        heard_bye = true;
        break;
    default:
        fail("a message of no kind");
    }
}

static void progress(void)
{
    VAPI_wc_desc_t wc;
    VAPI_ret_t code = VAPI_poll_cq(s.hca, s.a.scq, &wc);
    if (code == VAPI_CQ_EMPTY) return;
    need(code, "VAPI_poll_cq");
    if (wc.status != VAPI_SUCCESS) fail(VAPI_wc_status_sym(wc.status));
    if (wc.opcode == VAPI_CQE_RQ_SEND_DATA) {
        struct buffer copy = in_buffers[wc.id];
        post_buffer(wc.id);
        take(&copy);
        return;
    }
    room += wc.free_res_count;
    if (wc.id == ID_BYE) said_bye = true;
    if (wc.id != ID_WRITE) return;
    unmap(&out_fmr);
    writing = false;
    sent++;
    out_length = next_length(&seeds[rank]);
}

/* --- life --- */

static void write_address(const char *directory)
{
    char name[4096], fresh[4200];
    snprintf(name, sizeof name, "%s/address.%d", directory, rank);
    snprintf(fresh, sizeof fresh, "%s.new", name);
    FILE *f = fopen(fresh, "w");
    if (!f || fprintf(f, "%u %u\n", s.port.lid, s.a.prop.qp_num) < 0 || fclose(f) ||
        rename(fresh, name))
        fail("cannot write the address");
}

static void read_address(const char *directory, unsigned *lid, unsigned *qp)
{
    char name[4096];
    FILE *f;
    snprintf(name, sizeof name, "%s/address.%d", directory, !rank);
    while (!(f = fopen(name, "r"))) usleep(1000);
    if (fscanf(f, "%u %u", lid, qp) != 2) fail("no address");
    fclose(f);
}

static void prepare_memory(void)
{
    u_int32_t depth = s.a.prop.cap.max_oust_wr_sq;
    room = depth;
    in_buffers = calloc(BUFFERS + depth, sizeof *in_buffers);
    out_buffers = in_buffers + BUFFERS;
    out_data = malloc(LARGEST);
    in_data = malloc(LARGEST);
    VAPI_mr_t want = {.type = VAPI_MR,
                      .start = (MT_virt_addr_t)in_buffers,
                      .size = (BUFFERS + depth) * sizeof *in_buffers,
                      .pd_hndl = s.pd,
                      .acl = VAPI_EN_LOCAL_WRITE};
    NEED(VAPI_register_mr(s.hca, &want, &buffers_mr, &buffers_keys));
    EVAPI_fmr_t properties = {.pd_hndl = s.pd,
                              .acl = VAPI_EN_LOCAL_WRITE | VAPI_EN_REMOTE_WRITE,
                              .max_pages = LARGEST / PAGE + 2,
                              .log2_page_sz = 12,
                              .max_outstanding_maps = 1};
    for (int i = 0; i < FMRS; i++) NEED(EVAPI_alloc_fmr(s.hca, &properties, &fmrs[i].handle));
}

int main(int argc, char **argv)
{
    struct wants w = {.signals = VAPI_SIGNAL_REQ_WR, .one_cq = true, .raw = true};
    unsigned lid, qp;
    if (argc != 4) return 2;
    rank = atoi(argv[2]);
    for (int i = 0; i < 2; i++) seeds[i] = (unsigned)atoi(argv[3]) * 2 + (unsigned)i;
    open_stage(&s);
    make_ends(&s, &w);
    prepare_memory();
    out_length = next_length(&seeds[rank]);
    in_length = next_length(&seeds[!rank]);
    write_address(argv[1]);
    read_address(argv[1], &lid, &qp);
    connect_to(&s, s.a.qp, VAPI_TS_RC, qp, (IB_lid_t)lid);
    for (uint64_t i = 0; i < BUFFERS; i++) post_buffer(i);
    while (!said_bye || !heard_bye) {
        advance();
        progress();
    }
    for (int i = 0; i < FMRS; i++) NEED(EVAPI_free_fmr(s.hca, fmrs[i].handle));
    drop_ends(&s);
    NEED(VAPI_deregister_mr(s.hca, buffers_mr));
    close_stage(&s);
    free(in_buffers);
    free(out_data);
    free(in_data);
    printf("%d messages each way, %d batches of regions unmapped\n", MESSAGES, batches);
    return 0;
}
