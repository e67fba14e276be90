/* open.c - opens and closes the network: interface, event queues, descriptors of the AM entry.
 *
 * Called by start-up and exit alone.  All descriptors that peers send to exist before the identity
 * of this process is published, so the exchange of identities is the only barrier needed.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/job/rank.h"
#include "core/job/secret.h"
#include "core/log.h"
#include "core/params/params.h"
#include "other/base/memory_limits.h"
#include "other/portals3/include/portals3_ext.h"
#include "portals.h"

struct net_portals net_portals;
struct net_portals_rest net_portals_rest;

static const ptl_process_id_t anybody = {PTL_NID_ANY, PTL_PID_ANY};

void net_portals_must(int error, const char *what, const char *remedy)
{
    if (error == PTL_OK) return;
    gasneti_fatal("Portals: %s failed: %s; %s", what, PtlErrorStr((unsigned)error), remedy);
}

/* --- sizes --- */

/* Default and least value of GASNET_PORTAL_SB_CHUNKS. */
enum { SB_CHUNKS_DEFAULT = 2048, SB_CHUNKS_LEAST = 64 };

enum { MAXVICTIM_R_DEFAULT = 1024 }; /* of GASNET_FIREHOSE_MAXVICTIM_R */

static void open_receive_space(uint32_t nodes, receive_space_t *space)
{
    const gasnetc_params_t *p = &gasnetc_params;
    char why[300] = "";
    const receive_space_input_t input = {.nodes = nodes,
                                         .spare = NET_SPARE,
                                         .each = p->cred_per_node,
                                         .bank = p->banked_credits,
                                         .space = p->amrecv_space,
                                         .tickets = (uint32_t)p->msg_limit,
                                         .send_chunks = (uint32_t)p->sb_chunks,
                                         .reply_chunks = (uint32_t)p->rpl_chunks};
    receive_space_compute(&input, space, why, sizeof why);
    gasneti_fatal_if_any(why);
}

static void open_credits(const receive_space_t *space, uint32_t peers)
{
    const gasnetc_params_t *p = &gasnetc_params;
    uint16_t ceiling = (uint16_t)p->max_cred_per_node;
    if (ceiling < space->each) ceiling = space->each;
    net_portals.flow = p->flow_control;
    if (!gasnetc_lending_init(&net_portals.lending, space->credits, peers, space->each,
                              RECEIVE_COST_MOST, ceiling, (uint32_t)p->epoch_duration,
                              p->dynamic_credits && p->flow_control))
        gasneti_fatal("Portals: %u credits cannot be divided among %u peers, %u each",
                      space->credits, peers, space->each);
    net_portals_rest.each = space->each;
}

/* The value of a limit whose 0 means `most`. */
static unsigned open_limit(int64_t limit, unsigned most)
{
    return limit && limit < most ? (unsigned)limit : most;
}

/* The number of temporary descriptors, with those that the registration cache keeps: one stock. */
static int64_t open_temporaries(void)
{
    const gasnetc_params_t *p = &gasnetc_params;
    return p->num_tmpmd + (p->use_firehose ? p->firehose_maxvictim_r : 0);
}

/* Sets the number of chunks: no more than tickets and credits allow to be in use; where little
 * memory may be locked, at most a quarter of it. */
static void open_chunks(uint32_t peers)
{
    gasnetc_params_t *p = &gasnetc_params;
    const uint64_t limit = net_portals_memlock() / 4 / RECEIVE_CHUNK;
    const int64_t credits = (int64_t)peers * net_portals.lending.ceiling;
    const int64_t used = p->msg_limit + NET_DELIVER_MAX + credits;
    if (p->flow_control && p->sb_chunks > used) p->sb_chunks = used;
    if (p->sb_chunks == SB_CHUNKS_DEFAULT && limit < SB_CHUNKS_DEFAULT)
        p->sb_chunks = limit < SB_CHUNKS_LEAST ? SB_CHUNKS_LEAST : (int64_t)limit;
}

static void open_stocks(const receive_space_t *space, uint32_t nodes)
{
    const gasnetc_params_t *p = &gasnetc_params;
    uint32_t chunks = (uint32_t)p->sb_chunks, answers = (uint32_t)p->rpl_chunks;
    net_portals.temporaries = net_portals.temporaries_most = (uint32_t)open_temporaries();
    net_portals.chunk = calloc(chunks, sizeof *net_portals.chunk);
    net_portals.answer = calloc(answers, sizeof *net_portals.answer);
    net_portals.words_size = 3 * nodes + 4;
    net_portals.words = calloc(net_portals.words_size, sizeof *net_portals.words);
    net_portals_rest.reqrb = calloc(space->buffers, sizeof *net_portals_rest.reqrb);
    net_portals_rest.buffers = space->buffers;
    net_portals_rest.reqrb_size = (size_t)space->chunks * RECEIVE_CHUNK;
    if (!net_portals.chunk || !net_portals.answer || !net_portals.words ||
        !net_portals_rest.reqrb || !stock_init(&net_portals.chunks, chunks) ||
        !long_ids_init(&net_portals_rest.longs, space->credits / 8))
        gasneti_fatal("out of memory for %u chunks", chunks + answers);
    for (uint32_t i = 0; i < chunks; i++) net_portals.chunk[i].message.mark = NET_MARK_CHUNK;
    for (uint32_t i = answers; i > 0; i--) net_portals_push_answer(&net_portals.answer[i - 1]);
    net_portals.answers.total = answers;
    net_portals.last_reply = &net_portals.replies;
    net_portals.safe_limit = open_limit(p->safe_limit, UINT32_MAX);
    net_portals.am_limit = open_limit(p->am_limit, NET_DELIVER_MAX);
    net_portals.sys_limit = open_limit(p->sys_limit, UINT32_MAX);
}

static char *open_alloc(size_t size, const char *what, const char *variable)
{
    char *memory = net_alloc(size);
    if (!memory)
        gasneti_fatal("cannot allocate %zu KB of %s; lower %s", size / 1024, what, variable);
    return memory;
}

/* --- descriptors --- */

/* Makes a match entry before or after `base`; with base 0, at an end of the list of table entry
 * NET_PT_AM. */
static ptl_handle_me_t open_match_entry(ptl_handle_me_t base, enum bits_selector selector,
                                        ptl_ins_pos_t where)
{
    ptl_handle_me_t me;
    int error = base ? PtlMEInsert(base, anybody, selector, bits_ignored, PTL_UNLINK, where, &me)
                     : PtlMEAttach(net_portals.ni, NET_PT_AM, anybody, selector, bits_ignored,
                                   PTL_UNLINK, where, &me);
    net_portals_must(error, "a match entry", "see the limits of libportals");
    return me;
}

/* Attaches a descriptor without memory: SYS receives headers only, CB the messages that no receive
 * buffer could take. */
static void open_attach_empty(ptl_handle_me_t me, enum net_role role, ptl_handle_eq_t queue,
                              unsigned options)
{
    const ptl_md_t md =
        net_portals_md(NULL, 0, role, queue, PTL_MD_OP_PUT | PTL_MD_TRUNCATE | options);
    net_portals_must(PtlMDAttach(me, md, PTL_RETAIN, NULL), "a descriptor without memory",
                     "see the limits of libportals");
}

/* For start-up: fatal unless error is PTL_OK.  `variable` determines the size of the memory. */
static void open_memory(int error, const char *what, const char *variable)
{
    char remedy[100];
    snprintf(remedy, sizeof remedy, "raise the limit on locked memory (ulimit -l) or lower %s",
             variable);
    net_portals_must(error, what, remedy);
}

void net_portals_attach(net_reqrb_t *buffer)
{
    const ptl_md_t md = {.start = buffer->memory,
                         .length = net_portals_rest.reqrb_size,
                         .threshold = PTL_MD_THRESH_INF,
                         .max_size = RECEIVE_CHUNK,
                         .options = PTL_MD_OP_PUT | PTL_MD_MAX_SIZE | PTL_MD_EVENT_START_DISABLE |
                                    PTL_MD_EVENT_AUTO_UNLINK_ENABLE | PTL_MD_FLAG_AUTO_UNLINK,
                         .user_ptr = buffer,
                         .eq_handle = net_portals.am_eq};
    reqrb_attached(&buffer->use);
    ptl_handle_me_t me = open_match_entry(net_portals_rest.cb, BITS_REQRB, PTL_INS_BEFORE);
    open_memory(PtlMDAttach(me, md, PTL_UNLINK, NULL), "a receive buffer",
                "GASNET_PORTAL_AMRECV_SPACE");
}

static void open_attach_reqsb(ptl_handle_me_t me, size_t size)
{
    const ptl_md_t md = net_portals_md(net_portals.reqsb_memory, size, NET_ROLE_REQSB,
                                       net_portals.safe_eq, PTL_MD_OP_PUT | PTL_MD_MANAGE_REMOTE);
    open_memory(PtlMDAttach(me, md, PTL_RETAIN, &net_portals.reqsb),
                "the buffer that Requests are sent from", "GASNET_PORTAL_SB_CHUNKS");
}

static void open_bind(void *start, size_t size, enum net_role role, ptl_handle_eq_t queue,
                      unsigned options, ptl_handle_md_t *handle, const char *what,
                      const char *variable)
{
    const ptl_md_t md = net_portals_md(start, size, role, queue, options);
    open_memory(PtlMDBind(net_portals.ni, md, PTL_RETAIN, handle), what, variable);
}

static size_t open_tickets_size(void)
{
    return (size_t)gasnetc_params.msg_limit * sizeof *net_portals.slot;
}

static void open_tickets(void)
{
    uint32_t left = (uint32_t)gasnetc_params.msg_limit;
    net_portals.slot =
        (net_slot_t *)(void *)open_alloc(open_tickets_size(), "tickets", "GASNET_PORTAL_MSG_LIMIT");
    net_portals.tickets.total = left;
    while (left) net_portals_push_ticket(&net_portals.slot[--left]);
    open_bind(net_portals.slot, open_tickets_size(), NET_ROLE_TICKETS, net_portals.safe_eq, 0,
              &net_portals.slots_md, "the tickets", "GASNET_PORTAL_MSG_LIMIT");
}

/* Makes the match list of NET_PT_AM, in order: all receive buffers, CB, ReqSB, SYS. */
static void open_descriptors(void)
{
    size_t sb = (size_t)gasnetc_params.sb_chunks * RECEIVE_CHUNK,
           rpl = (size_t)gasnetc_params.rpl_chunks * RECEIVE_CHUNK,
           rb = net_portals_rest.reqrb_size * net_portals_rest.buffers;
    ptl_handle_md_t all;
    net_portals.reqsb_memory = open_alloc(sb, "send buffers", "GASNET_PORTAL_SB_CHUNKS");
    net_portals.rplsb_memory = open_alloc(rpl, "reply buffers", "GASNET_PORTAL_RPL_CHUNKS");
    net_portals_rest.reqrb_memory = open_alloc(rb, "receive buffers", "GASNET_PORTAL_AMRECV_SPACE");
    net_portals_rest.cb = open_match_entry(0, BITS_REQRB, PTL_INS_AFTER);
    open_attach_empty(net_portals_rest.cb, NET_ROLE_CB, net_portals.safe_eq, PTL_MD_ACK_DISABLE);
    open_attach_reqsb(open_match_entry(0, BITS_REQSB, PTL_INS_AFTER), sb);
    open_attach_empty(open_match_entry(0, BITS_SYS, PTL_INS_AFTER), NET_ROLE_SYS,
                      net_portals.sys_eq, 0);
    open_bind(net_portals.reqsb_memory, sb, NET_ROLE_REQSB, net_portals.safe_eq,
              PTL_MD_EVENT_END_DISABLE, &net_portals.putsb,
              "the buffer that small puts are sent from", "GASNET_PORTAL_SB_CHUNKS");
    open_bind(net_portals.rplsb_memory, rpl, NET_ROLE_RPLSB, net_portals.safe_eq, 0,
              &net_portals.rplsb, "the buffer that Replies are sent from",
              "GASNET_PORTAL_RPL_CHUNKS");
    open_tickets();
    /* This descriptor sends nothing: it keeps the memory registered while buffers are detached. */
    open_bind(net_portals_rest.reqrb_memory, rb, NET_ROLE_REQRB, PTL_EQ_NONE, 0, &all,
              "the receive buffers", "GASNET_PORTAL_AMRECV_SPACE");
    for (uint32_t i = 0; i < net_portals_rest.buffers; i++) {
        net_portals_rest.reqrb[i].memory =
            net_portals_rest.reqrb_memory + i * net_portals_rest.reqrb_size;
        net_portals_attach(&net_portals_rest.reqrb[i]);
    }
    open_bind(NULL, 0, NET_ROLE_SYS, net_portals.sys_eq, PTL_MD_EVENT_END_DISABLE,
              &net_portals.sys_md, "the source of system messages", "GASNET_PORTAL_NUM_TMPMD");
}

static void open_queue(uint64_t events, const char *what, ptl_handle_eq_t *queue)
{
    ptl_eq_handler_t handler = gasnetc_params.rcv_thread ? net_portals_wake : PTL_EQ_HANDLER_NONE;
    net_portals_must(PtlEQAlloc(net_portals.ni, events, handler, queue), what,
                     "see the limits of libportals, and how much memory there is");
}

/* --- opening --- */

/* The names of the limits by which memory may have been refused, of those that this process has. */
static const char *open_limits(void)
{
    static char text[480];
    char locked[240] = "", space[160];
    if (net_portals_memlock() != UINT64_MAX) gasneti_memlock_explain(locked, sizeof locked);
    gasneti_address_space_explain(space, sizeof space);
    snprintf(text, sizeof text, "%s%s%s", space, *space && *locked ? "; and " : "", locked);
    return text;
}

static const char *open_remedy(int error)
{
    const char *limits = error == PTL_NO_SPACE ? open_limits() : "";
    if (*limits) return limits;
    return softhca_active()
               ? "check ibv_devinfo and the SOFTHCA_ variables: the software device is on"
               : "check ibv_devinfo; SOFTHCA=on runs the job on the software device";
}

enum { OPEN_OTHER_MDS = 64 }; /* memory descriptors besides temporary ones and those of the cache */

/* PO-16: a cache of more memory has more regions, if the user has not set their number. */
static void open_size_cache(void)
{
    gasnetc_params_t *p = &gasnetc_params;
    if (p->firehose_maxvictim_m > 0 && p->firehose_maxvictim_r == MAXVICTIM_R_DEFAULT)
        p->firehose_maxvictim_r = (p->firehose_maxvictim_m - 1) / p->firehose_max_region + 1;
}

/* PO-16: reduces the registration cache to the memory descriptors that libportals has left. */
static void open_truncate_cache(int max_mds)
{
    const int64_t left = max_mds - OPEN_OTHER_MDS - gasnetc_params.num_tmpmd;
    if (left > 0 && gasnetc_params.firehose_maxvictim_r > left)
        gasnetc_params.firehose_maxvictim_r = left;
}

static void open_interface(void)
{
    ptl_ni_limits_t limits;
    int interfaces;
    net_portals_must(PtlInit(&interfaces), "PtlInit", "see its messages");
    net_portals_must(PtlSetKey(gasnetc_secret(), GASNETC_SECRET_BYTES), "PtlSetKey",
                     "see its messages");
    int error = PtlNIInit(PTL_IFACE_DEFAULT, PTL_PID_ANY, NULL, &limits, &net_portals.ni);
    if (error != PTL_IFACE_DUP)
        net_portals_must(error, "opening the interface", open_remedy(error));
    net_portals_must(PtlGetId(net_portals.ni, &net_portals_rest.id), "PtlGetId",
                     "see its messages");
    net_portals_rest.open = true;
    open_size_cache();
    open_truncate_cache(limits.max_mds);
    if (limits.max_pt_index < NET_PT_AM || limits.max_mds < open_temporaries() + OPEN_OTHER_MDS)
        gasneti_fatal("this libportals offers %d memory descriptors and %d table entries; %lld and "
                      "%d are needed (GASNET_PORTAL_NUM_TMPMD and GASNET_FIREHOSE_MAXVICTIM_R)",
                      limits.max_mds, limits.max_pt_index + 1,
                      (long long)open_temporaries() + OPEN_OTHER_MDS, NET_PT_AM + 1);
}

/* Sets caps->pinnable.  An eighth of the limit is for temporary descriptors and for the queues of
 * the device. */
static void open_set_pinnable(struct net_caps *caps)
{
    const uint64_t limit = net_portals_memlock();
    const uint64_t chunks = (uint64_t)(gasnetc_params.sb_chunks + gasnetc_params.rpl_chunks),
                   requests = net_portals_rest.reqrb_size * net_portals_rest.buffers;
    if (limit == UINT64_MAX || net_portals_rest.peers == 0) return;
    const uint64_t own = net_portals_library_bytes() + chunks * RECEIVE_CHUNK + requests +
                         open_tickets_size(),
                   rest = limit - limit / 8;
    caps->pinnable = rest > own ? rest - own : 1;
    gasneti_memlock_explain(caps->pinnable_by, sizeof caps->pinnable_by);
}

static void open_set_caps(struct net_caps *caps)
{
    size_t put = (size_t)gasnetc_params.put_bounce_limit,
           get = (size_t)gasnetc_params.get_bounce_limit;
    if (put > NET_BUFFER_PUT) put = NET_BUFFER_PUT;
    if (get > NET_BUFFER_GET) get = NET_BUFFER_GET;
    if (get < NET_TICKET_DATA && !net_portals_rest.get_limited) get = NET_TICKET_DATA;
    *caps = (struct net_caps){.inline_max = net_portals_rest.put_limited ? put : NET_BUFFER_PUT,
                              .get_inline_max = net_portals_rest.get_limited ? get : NET_BUFFER_GET,
                              .transfer_max = (size_t)1 << 31,
                              .copy_put_max = put,
                              .copy_get_max = get,
                              .am_max = RECEIVE_CHUNK,
                              .region_max = SIZE_MAX,
                              .credits = net_portals_rest.each};
    open_set_pinnable(caps);
    char port[120] = "";
    PtlDeviceText(net_portals.ni, port, sizeof port);
    snprintf(caps->device, sizeof caps->device, "Portals 3.3, %u credits of %d bytes; %s; %s",
             net_portals.lending.bank + net_portals_rest.peers * net_portals_rest.each,
             RECEIVE_CREDIT, port, softhca_describe());
}

/* GASNET_PORTAL_PUTGET_BOUNCE_LIMIT is the default of both limits (PO-13). */
static void open_bounce_limits(void)
{
    gasnetc_params_t *p = &gasnetc_params;
    const bool both = p->putget_bounce_limit >= 0;
    net_portals_rest.put_limited = both || p->put_bounce_limit >= 0;
    net_portals_rest.get_limited = both || p->get_bounce_limit >= 0;
    if (!both) p->putget_bounce_limit = p->use_firehose ? 0 : 2048;
    if (p->put_bounce_limit < 0) p->put_bounce_limit = p->putget_bounce_limit;
    if (p->get_bounce_limit < 0) p->get_bounce_limit = p->putget_bounce_limit;
    /* In addition to the payload a packed Long has up to 80 bytes of header and address. */
    p->packedlong_limit = p->packed_long ? RECEIVE_CHUNK - 80 : 0;
}

void net_open(uint32_t peers, struct net_caps *caps)
{
    receive_space_t space;
    net_portals_rest.peers = peers;
    open_bounce_limits();
    softhca_number(gasnetc_job.rank);
    net_portals_trouble_init();
    net_portals_environment();
    open_interface();
    gasneti_info(network, "uses %s", caps->device);
    open_receive_space(peers + 1, &space);
    if (peers) {
        open_credits(&space, peers);
        open_chunks(peers);
        open_stocks(&space, peers + 1);
        net_portals_rest.peer = calloc(peers + 1, sizeof(net_peer_t *));
        if (!net_portals_rest.peer) gasneti_fatal("out of memory for %u peers", peers);
        net_portals.rank = gasnetc_job.rank;
        net_portals_wake_init();
        open_queue(space.safe_events, "the SAFE event queue", &net_portals.safe_eq);
        open_queue(space.am_events, "the AM event queue", &net_portals.am_eq);
        open_queue(space.system_events, "the SYS event queue", &net_portals.sys_eq);
        open_descriptors();
    } else {
        net_portals.safe_eq = PTL_EQ_NONE;
    }
    open_set_caps(caps);
}

size_t net_contact_size(void)
{
    return sizeof(ptl_process_id_t);
}

void net_contact(void *contact)
{
    memcpy(contact, &net_portals_rest.id, sizeof net_portals_rest.id);
}

void net_set_contact(net_peer_t *peer, const void *contact)
{
    memcpy(&peer->id, contact, sizeof peer->id);
    gasnetc_loan_init(&peer->loan, net_portals_rest.each);
    net_portals_rest.peer[peer->rank] = peer;
}

void net_start(void) {}

/* Portals has no connections: the address is one byte of 0. */
size_t net_address_size(void)
{
    return 1;
}

void net_address(net_peer_t *peer, void *address)
{
    (void)peer;
    memset(address, 0, 1);
}

void net_connect(net_peer_t *peer, const void *address)
{
    (void)peer, (void)address;
}

/* --- closing --- */

static void open_free_memory(void)
{
    net_free(net_portals.reqsb_memory);
    net_free(net_portals.rplsb_memory);
    net_free(net_portals.slot);
    net_free(net_portals_rest.reqrb_memory);
    stock_fini(&net_portals.chunks);
    net_portals.answers = (net_answers_t){.free = NULL};
    long_ids_fini(&net_portals_rest.longs);
    free(net_portals.chunk);
    free(net_portals.answer);
    free(net_portals.words);
    free(net_portals_rest.reqrb);
    free(net_portals_rest.peer);
}

/* Does nothing while the job ends: the interface and its memory end with the process, which peers
 * handle in any case.  PtlNIFini would wait for all peers. */
void net_close(void)
{
    if (!net_portals_rest.open || gasneti_ending()) return;
    PtlNIFini(net_portals.ni); /* nothing is written to the memory after this */
    PtlFini();
    open_free_memory();
    net_portals = (struct net_portals){.ni = 0};
    net_portals_rest = (struct net_portals_rest){.open = false};
}
