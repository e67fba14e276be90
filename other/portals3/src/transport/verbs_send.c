/* verbs_send.c - messages and RDMA to a peer: queued in the engine's records, posted when there are
 * slots.
 *
 * Two queues per peer.  Requests wait for slots and for the window of those that want an answer.
 * Answers, and RDMA by the target, have slots of their own and never wait for requests: otherwise
 * two processes could wait for each other.  RDMA on the fast path waits until earlier requests to
 * the same table entry are reported as matched.
 *
 * Called with posting held, but for the functions of transport.h.  Small messages are sent inline,
 * others are copied into send buffers: for the engine a message ends when it is posted.
 */
#include <errno.h>
#include <portals3_ext.h>
#include <stdlib.h>
#include <string.h>

#include "other/portals3/src/transport/verbs.h"

enum {
    FOR_REQUESTS = PTLI_FOR_REQUESTS,
    FOR_ANSWERS = PTLI_SLOTS - 4,
    FOR_CONTROL = PTLI_SLOTS - 2, /* the last one is for draining */
    CHUNK = 16
};
static const uint64_t STARTED = UINT64_C(1) << 63; /* in a transfer's scratch[1] */

static inline bool send_is_request(const struct ptli_header *header)
{
    return header->type <= PTLI_GETPUT;
}

static inline bool wants_answer(const struct ptli_header *header)
{
    return send_is_request(header) && (header->type != PTLI_PUT || header->flags & PTLI_ANSWER);
}

static inline bool slots_left(const struct ptli_conn *conn, uint32_t limit)
{
    return ptli_verbs_in_flight(conn) < limit;
}

/* --- buffers --- */

struct ptli_chunk {
    struct ptli_chunk *next;
    struct ibv_mr *mr;
    struct ptli_buffer buffer[CHUNK];
    unsigned char *bytes;
};

static void more_buffers(struct ptli_verbs *v)
{
    size_t each = ptli_receive_size(v);
    struct ptli_chunk *chunk = calloc(1, sizeof *chunk);
    if (!chunk) return;
    chunk->bytes = aligned_alloc(64, CHUNK * each);
    chunk->mr = chunk->bytes ? ibv_reg_mr(v->pd, chunk->bytes, CHUNK * each, 0) : NULL;
    if (!chunk->mr) {
        free(chunk->bytes);
        free(chunk);
        return;
    }
    chunk->next = v->chunks;
    v->chunks = chunk;
    for (unsigned i = 0; i < CHUNK; i++) {
        chunk->buffer[i] = (struct ptli_buffer){
            .next = v->buffers, .lkey = chunk->mr->lkey, .bytes = chunk->bytes + i * each};
        v->buffers = &chunk->buffer[i];
    }
}

static struct ptli_buffer *take_buffer(struct ptli_verbs *v, struct ptli_conn *conn, uint32_t most)
{
    if (conn->buffers >= most) return NULL;
    if (!v->buffers) more_buffers(v);
    struct ptli_buffer *buffer = v->buffers;
    if (buffer) {
        v->buffers = buffer->next;
        conn->buffers++;
    } else if (!conn->buffers) {
        v->starved = true; /* no completion of this connection will free one */
        ptli_due(&v->face);
    }
    return buffer;
}

static void put_buffer(struct ptli_verbs *v, struct ptli_conn *conn, struct ptli_buffer *buffer)
{
    buffer->next = v->buffers;
    v->buffers = buffer;
    conn->buffers--;
}

/* The first buffers, for when nothing more can be registered. */
int ptli_verbs_buffers_open(struct ptli_verbs *v)
{
    more_buffers(v);
    if (v->buffers) return PTL_OK;
    ptli_verbs_unregistered(v, (size_t)CHUNK * ptli_receive_size(v), "send buffers", "PTL_EAGER");
    return PTL_NO_SPACE;
}

void ptli_verbs_buffers_free(struct ptli_verbs *v)
{
    for (struct ptli_chunk *chunk; (chunk = v->chunks);) {
        v->chunks = chunk->next;
        ibv_dereg_mr(chunk->mr);
        free(chunk->bytes);
        free(chunk);
    }
}

/* --- work requests --- */

/* A connection that cannot post is broken; the thread that makes progress finds it. */
void ptli_verbs_cannot_post(struct ptli_conn *conn)
{
    struct ptli_verbs *v = conn->node->verbs;
    ptli_verbs_break(conn);
    v->trouble = true;
    atomic_store(&v->attention, true);
    ptli_due(&v->face);
}

bool ptli_verbs_nudge(struct ptli_conn *conn, enum ibv_wr_opcode opcode)
{
    if (opcode != IBV_WR_SEND && !slots_left(conn, FOR_CONTROL)) return false;
    struct ibv_send_wr wr = {.opcode = opcode, .send_flags = IBV_SEND_SIGNALED};
    ptli_verbs_post(conn, &wr, 0, NULL);
    return !conn->broken;
}

void ptli_verbs_hurry(struct ptli_conn *conn)
{
    if (conn && !conn->broken && conn->posted != conn->signalled)
        ptli_verbs_nudge(conn, IBV_WR_RDMA_WRITE);
}

/* Posts a message, inline or from a send buffer.  False: no buffer is free. */
static bool post_message(struct ptli_conn *conn, struct ptli_message *message, uint32_t buffers)
{
    struct ptli_node *node = conn->node;
    struct ptli_verbs *v = node->verbs;
    uint32_t size = PTLI_WIRE_SIZE + message->header.data_length;
    unsigned char small[PTLI_INLINE], *bytes = small;
    struct ptli_buffer *buffer = NULL;
    if (size > conn->max_inline) {
        buffer = take_buffer(v, conn, buffers);
        if (!buffer) return false;
        bytes = buffer->bytes;
    }
    message->header.transport = atomic_load_explicit(&node->taken, memory_order_relaxed);
    ptli_wire_encode(&message->header, bytes);
    if (message->header.data_length) ptli_span_read(&message->data, bytes + PTLI_WIRE_SIZE);
    struct ibv_sge sge = {.addr = (uintptr_t)bytes, .length = size};
    struct ibv_send_wr wr = {.opcode = IBV_WR_SEND, .sg_list = &sge, .num_sge = 1};
    if (buffer)
        sge.lkey = buffer->lkey;
    else
        wr.send_flags = IBV_SEND_INLINE;
    /* The completion of GOODBYE covers all before it. */
    if (message->header.type == PTLI_GOODBYE) wr.send_flags |= IBV_SEND_SIGNALED;
    /* The peer may change its memory then, which gets before this may still read. */
    if (message->header.type == PTLI_REVOKED) wr.send_flags |= IBV_SEND_FENCE;
    ptli_verbs_count_message(conn);
    ptli_verbs_post(conn, &wr, 0, buffer);
    v->sends++;
    return true;
}

bool ptli_verbs_control(struct ptli_conn *conn, uint8_t type)
{
    struct ptli_node *node = conn->node;
    if (!slots_left(conn, FOR_CONTROL)) return false;
    struct ptli_message message = {
        .header = {.type = type, .source = node->verbs->face.id, .destination = node->face.id}};
    return post_message(conn, &message, PTLI_PEER_BUFFERS);
}

/* The next work request of a transfer. */
static void post_piece(struct ptli_conn *conn, struct ptli_transfer *transfer)
{
    struct ptli_verbs *v = conn->node->verbs;
    struct ibv_sge sge[PTLI_MOST_SGE];
    struct ptli_remote remote = ptli_remote_peek(&transfer->there);
    uint32_t most = remote.length < v->max_message ? remote.length : v->max_message;
    const uint32_t pieces = transfer->write ? v->max_sge : v->max_sge_rd;
    uint32_t count = 0, length = 0;
    bool small = transfer->write && transfer->local.length <= conn->max_inline;
    while (count < pieces && length < most) {
        struct ptli_stretch stretch = ptli_cursor_next(&transfer->here, most - length);
        if (!stretch.length) break;
        sge[count++] = (struct ibv_sge){.addr = (uintptr_t)stretch.base,
                                        .length = (uint32_t)stretch.length,
                                        .lkey = small ? 0 : stretch.region->local_key};
        length += (uint32_t)stretch.length;
    }
    ptli_remote_skip(&transfer->there, length);
    struct ibv_send_wr wr = {.opcode = transfer->write ? IBV_WR_RDMA_WRITE : IBV_WR_RDMA_READ,
                             .send_flags = small ? IBV_SEND_INLINE : 0,
                             .sg_list = sge,
                             .num_sge = (int)count,
                             .wr.rdma = {.remote_addr = remote.address, .rkey = remote.key}};
    if (!length) transfer->here.left = 0;
    bool last = transfer->here.left == 0;
    ptli_verbs_post(conn, &wr, last ? (ptli_item_t)transfer + 1 : 0, NULL);
}

/* Posts the pieces of a transfer.  False: there are not enough slots for all of it; the rest is
 * posted by a later call. */
static bool post_transfer(struct ptli_conn *conn, struct ptli_transfer *transfer, uint32_t limit)
{
    if (!(transfer->scratch[1] & STARTED)) {
        if (!slots_left(conn, limit)) return false;
        transfer->scratch[1] |= STARTED;
        ptli_cursor_start(&transfer->here, &transfer->local);
        ptli_remote_start(&transfer->there, transfer->remote, transfer->remote_count);
        post_piece(conn, transfer);
    }
    while (transfer->here.left) {
        if (!slots_left(conn, limit) || conn->broken) return false;
        post_piece(conn, transfer);
    }
    return true;
}

/* --- queues --- */

/* Whether the peer has matched all requests up to this one; if not, sends FENCE. */
static bool matched(struct ptli_node *node, uint64_t number)
{
    if (number <= node->seen) return true;
    if (node->fenced != node->sent && ptli_verbs_control(node->conn, PTLI_FENCE))
        node->fenced = node->sent;
    return false;
}

static bool may_post(const struct ptli_conn *conn, const struct ptli_message *message,
                     bool requests)
{
    const struct ptli_node *node = conn->node;
    if (!slots_left(conn, requests ? FOR_REQUESTS : FOR_ANSWERS)) return false;
    return !wants_answer(&message->header) || node->unanswered < node->window;
}

/* Posts a message that may be posted.  False: there is no buffer. */
static bool send_post_one(struct ptli_conn *conn, struct ptli_message *message, bool requests)
{
    struct ptli_node *node = conn->node;
    if (!post_message(conn, message, requests ? PTLI_PEER_REQUEST_BUFFERS : PTLI_PEER_BUFFERS))
        return false;
    node->sent += send_is_request(&message->header);
    node->unanswered += wants_answer(&message->header);
    return true;
}

/* Messages of the transport itself may be queued again. */
static void own_posted(struct ptli_node *node, struct ptli_message *message)
{
    for (struct ptli_route *route = node->routes; route; route = route->next) {
        if (message == &route->ask) route->asking = false;
        if (message == &route->answer) route->answering = false;
        if (route->lent && message == &route->lent->list) route->sending_list = false;
    }
}

static void add_finished(struct ptli_verbs *v, struct ptli_message *message)
{
    ptli_queue_add(&v->finished, (ptli_item_t)message);
    ptli_due(&v->face);
}

/* Posts the head of a queue.  False: it must wait. */
static bool send_advance(struct ptli_conn *conn, struct ptli_queue *queue, bool requests)
{
    struct ptli_node *node = conn->node;
    struct ptli_transfer *transfer = ptli_item_transfer(queue->head);
    if (transfer) {
        if (requests && !matched(node, transfer->scratch[1] & ~STARTED)) return false;
        if (!post_transfer(conn, transfer, requests ? FOR_REQUESTS : FOR_ANSWERS)) return false;
        ptli_queue_take(queue);
        if (!transfer->then) return true;
        ptli_item_t then = (ptli_item_t)transfer->then;
        ptli_item_scratch(then)[0] = queue->head;
        if (!queue->head) queue->tail = then;
        queue->head = then;
        return true;
    }
    struct ptli_message *message = ptli_item_message(queue->head);
    if (!may_post(conn, message, requests) || !send_post_one(conn, message, requests)) return false;
    ptli_queue_take(queue);
    if (message->header.type < PTLI_TYPE_TRANSPORT)
        add_finished(node->verbs, message);
    else
        own_posted(node, message);
    return true;
}

/* Sends what the connection has room for. True: items are left. */
static bool pump_once(struct ptli_node *node)
{
    struct ptli_conn *conn = node->conn;
    if (node->seen_due && !conn->broken) node->seen_due = !ptli_verbs_control(conn, PTLI_SEEN);
    while (!conn->broken && node->answers.head && send_advance(conn, &node->answers, false)) {
    }
    while (!conn->broken && node->requests.head && send_advance(conn, &node->requests, true)) {
    }
    return node->seen_due || node->answers.head || node->requests.head;
}

void ptli_verbs_pump(struct ptli_node *node)
{
    struct ptli_conn *conn = node->conn;
    if (!conn) return;
    bool left = pump_once(node);
    if (left) {
        /* Slots that became free before `queued` was stored are found now; the thread that frees
         * slots later sees `queued` and reports them. */
        atomic_store(&conn->queued, true);
        left = pump_once(node);
    }
    atomic_store_explicit(&conn->queued, left, memory_order_relaxed);
    conn->most = left || conn->broken ? 0 : PTLI_FOR_REQUESTS;
}

/* Asks the thread that makes progress to begin the handshake. */
void ptli_verbs_request_connect(struct ptli_node *node)
{
    struct ptli_verbs *v = node->verbs;
    if (node->connect_requested || node->conn || node->failing) return;
    node->connect_requested = true;
    node->next_request = v->connect_requests;
    v->connect_requests = node;
    ptli_verbs_wake(&v->face);
}

static void enqueue(struct ptli_node *node, struct ptli_queue *queue, ptli_item_t item)
{
    ptli_queue_add(queue, item);
    if (node->conn)
        ptli_verbs_pump(node);
    else
        ptli_verbs_request_connect(node);
}

void ptli_verbs_answer(struct ptli_node *node, struct ptli_message *message)
{
    enqueue(node, &node->answers, (ptli_item_t)message);
}

/* Numbers a request that is sent as a message.  Returns an ASK to send after it, or NULL. */
static struct ptli_message *count_request(struct ptli_node *node, const struct ptli_header *header)
{
    struct ptli_verbs *v = node->verbs;
    node->queued++;
    struct ptli_route *route =
        v->settings.fast ? ptli_verbs_list_lease(node, header->pt_index) : NULL;
    if (!route) return NULL;
    route->last = node->queued;
    if (header->type == PTLI_GETPUT || route->asking || route->answering) return NULL;
    if (!ptli_lease_request(&route->lease)) return NULL;
    route->asking = true;
    route->ask = (struct ptli_message){.header = {.type = PTLI_ASK,
                                                  .source = v->face.id,
                                                  .destination = node->face.id,
                                                  .pt_index = route->pt}};
    return &route->ask;
}

/* --- calls down --- */

static enum ptli_sent send(struct ptli_node *node, struct ptli_message *message)
{
    bool requests = send_is_request(&message->header);
    struct ptli_queue *queue = requests ? &node->requests : &node->answers;
    struct ptli_conn *conn = node->conn;
    if (node->failing) return PTLI_REFUSED;
    struct ptli_message *ask = requests ? count_request(node, &message->header) : NULL;
    bool now = conn && !conn->broken && !queue->head && may_post(conn, message, requests) &&
               send_post_one(conn, message, requests);
    if (!now) enqueue(node, queue, (ptli_item_t)message);
    if (ask != NULL) enqueue(node, queue, (ptli_item_t)ask);
    return now ? PTLI_SENT : PTLI_QUEUED;
}

enum ptli_sent ptli_verbs_send(struct ptli_transport *transport, struct ptli_peer *peer,
                               struct ptli_message *message)
{
    struct ptli_verbs *v = ptli_verbs(transport);
    ptli_mutex_lock(&v->posting.lock);
    enum ptli_sent sent = send(ptli_node(peer), message);
    ptli_mutex_unlock(&v->posting.lock);
    return sent;
}

static enum ptli_sent transfer(struct ptli_node *node, struct ptli_transfer *transfer)
{
    struct ptli_published_held *held = (struct ptli_published_held *)transfer->hold;
    struct ptli_queue *queue = held ? &node->requests : &node->answers;
    struct ptli_conn *conn = node->conn;
    if (node->failing || (held && held->life != node->life)) {
        if (held) ptli_verbs_release(held->route);
        return PTLI_REFUSED;
    }
    transfer->scratch[1] = held ? held->route->last : 0;
    if (held && transfer->then) node->queued += send_is_request(&transfer->then->header);
    bool now = conn && !conn->broken && !queue->head && !transfer->then &&
               (!held || matched(node, transfer->scratch[1]));
    if (now && post_transfer(conn, transfer, held ? FOR_REQUESTS : FOR_ANSWERS)) return PTLI_QUEUED;
    enqueue(node, queue, (ptli_item_t)transfer + 1);
    return PTLI_QUEUED;
}

enum ptli_sent ptli_verbs_transfer(struct ptli_transport *transport, struct ptli_peer *peer,
                                   struct ptli_transfer *what)
{
    struct ptli_verbs *v = ptli_verbs(transport);
    ptli_mutex_lock(&v->posting.lock);
    enum ptli_sent sent = transfer(ptli_node(peer), what);
    ptli_mutex_unlock(&v->posting.lock);
    return sent;
}

/* --- calls up; driving --- */

void ptli_verbs_completed(struct ptli_verbs *v, const struct ibv_wc *wc)
{
    struct ptli_wr *slot = (struct ptli_wr *)(uintptr_t)wc->wr_id;
    struct ptli_transfer *done = NULL;
    bool well = wc->status == IBV_WC_SUCCESS;
    ptli_mutex_lock(&v->posting.lock);
    struct ptli_conn *conn = slot->conn;
    struct ptli_node *node = conn->node;
    struct ptli_wr *passed;
    uint32_t number = atomic_load(&conn->done);
    do {
        passed = &conn->slot[number++ % PTLI_SLOTS];
        if (passed->buffer) put_buffer(v, conn, passed->buffer);
        passed->buffer = NULL;
        if (passed->item & PTLI_ITEM_QUICK)
            ptli_fast_ended(v, passed, well);
        else if (passed->item) /* each is signalled */
            done = ptli_item_transfer(passed->item);
    } while (passed != slot);
    ptli_verbs_passed(conn, number);
    if (!well) ptli_verbs_break(conn);
    if (done && done->hold) ptli_verbs_release(((struct ptli_published_held *)done->hold)->route);
    ptli_verbs_advanced(conn);
    bool drained = conn->draining && !ptli_verbs_in_flight(conn);
    ptli_mutex_unlock(&v->posting.lock);
    if (done) ptli_transferred(v->face.engine, done, well ? PTLI_OK : PTLI_FAILED);
    if (!well) {
        if (wc->status == IBV_WC_RETRY_EXC_ERR) ptli_verbs_gave_up(v);
        if (wc->status == IBV_WC_LOC_QP_OP_ERR && !conn->draining)
            ptli_verbs_trouble(v, node,
                               "a message failed: %s; raise ulimit -v and ulimit -n, or look at "
                               "the system log and at ibv_devinfo",
                               ibv_wc_status_str(wc->status));
        if (ptli_debug & PTL_DEBUG_PEER && !conn->draining)
            ptli_verbs_say(v, "process %u:%u: %s", node->face.id.nid, node->face.id.pid,
                           ibv_wc_status_str(wc->status));
        ptli_verbs_leave(conn);
    }
    if (drained) ptli_verbs_conn_drained(conn);
}

bool ptli_verbs_deliver(struct ptli_verbs *v)
{
    if (!v->finished.head) return false;
    ptli_mutex_lock(&v->posting.lock);
    struct ptli_queue finished = v->finished;
    v->finished = (struct ptli_queue){0};
    ptli_mutex_unlock(&v->posting.lock);
    for (ptli_item_t item; (item = ptli_queue_take(&finished));)
        ptli_message_sent(v->face.engine, ptli_item_message(item), PTLI_OK);
    return true;
}

static ptli_item_t take_any(struct ptli_node *node)
{
    ptli_mutex_lock(&node->verbs->posting.lock);
    ptli_item_t item = ptli_queue_take(&node->answers);
    if (!item) item = ptli_queue_take(&node->requests);
    struct ptli_transfer *transfer = item ? ptli_item_transfer(item) : NULL;
    if (transfer && transfer->hold)
        ptli_verbs_release(((struct ptli_published_held *)transfer->hold)->route);
    if (item && !transfer && ptli_item_message(item)->header.type >= PTLI_TYPE_TRANSPORT)
        own_posted(node, ptli_item_message(item));
    ptli_mutex_unlock(&node->verbs->posting.lock);
    return item;
}

void ptli_verbs_give_back(struct ptli_node *node)
{
    struct ptli_engine *engine = node->verbs->face.engine;
    for (ptli_item_t item; (item = take_any(node));) {
        struct ptli_transfer *transfer = ptli_item_transfer(item);
        struct ptli_message *message = transfer ? transfer->then : ptli_item_message(item);
        if (transfer) ptli_transferred(engine, transfer, PTLI_FAILED);
        if (message && message->header.type < PTLI_TYPE_TRANSPORT)
            ptli_message_sent(engine, message, PTLI_FAILED);
    }
}
