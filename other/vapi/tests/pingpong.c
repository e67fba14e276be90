/* pingpong.c - a message goes to and fro between two processes that sleep until it comes, as
 * programs of the time had it: addresses over a socket, completions by a handler or by
 * EVAPI_poll_cq_block.
 *
 *   pingpong handler|block FILE server      listens, and writes its port into FILE
 *   pingpong handler|block FILE client
 */
#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "qp_pair.h"

enum { ROUNDS = 500, SLOT = 4096, SLOTS = 8 };

static struct stage s;
static bool by_handler;

/* The message that has arrived: one at a time is under way. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t arrived = PTHREAD_COND_INITIALIZER;
static VAPI_wc_desc_t message;
static bool there;

static void fail(const char *what)
{
    fprintf(stderr, "pingpong: %s\n", what);
    exit(1);
}

/* --- the socket --- */

static int await_peer(const char *file)
{
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof a;
    char fresh[4096];
    int listener = socket(AF_INET, SOCK_STREAM, 0);
    if (bind(listener, (struct sockaddr *)&a, sizeof a) || listen(listener, 1) ||
        getsockname(listener, (struct sockaddr *)&a, &length))
        fail("cannot listen");
    snprintf(fresh, sizeof fresh, "%s.new", file);
    FILE *f = fopen(fresh, "w");
    if (!f || fprintf(f, "%d\n", ntohs(a.sin_port)) < 0 || fclose(f) || rename(fresh, file))
        fail("cannot tell the port");
    int peer = accept(listener, NULL, NULL);
    close(listener);
    return peer;
}

static int reach_peer(const char *file)
{
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int port, peer = socket(AF_INET, SOCK_STREAM, 0);
    FILE *f;
    while (!(f = fopen(file, "r"))) usleep(1000);
    if (fscanf(f, "%d", &port) != 1) fail("no port");
    fclose(f);
    a.sin_port = htons((uint16_t)port);
    if (connect(peer, (struct sockaddr *)&a, sizeof a)) fail("cannot connect");
    return peer;
}

/* Sends our address and returns the other's; both processes wait for each other here. */
static void exchange(int peer, IB_lid_t *lid, VAPI_qp_num_t *qp)
{
    char text[] = "0000:000000";
    unsigned remote_lid, far_qp;
    snprintf(text, sizeof text, "%04x:%06x", s.port.lid, s.a.prop.qp_num);
    if (write(peer, text, sizeof text) != sizeof text) fail("cannot tell the address");
    for (size_t got = 0; got < sizeof text;) {
        ssize_t n = read(peer, text + got, sizeof text - got);
        if (n <= 0) fail("the other end is gone");
        got += (size_t)n;
    }
    if (sscanf(text, "%x:%x", &remote_lid, &far_qp) != 2) fail("no address");
    *lid = (IB_lid_t)remote_lid;
    *qp = far_qp;
}

/* --- messages --- */

static void keep(const VAPI_wc_desc_t *wc)
{
    pthread_mutex_lock(&lock);
    if (there) fail("two messages at once");
    message = *wc;
    there = true;
    pthread_cond_signal(&arrived);
    pthread_mutex_unlock(&lock);
}

static void on_message(VAPI_hca_hndl_t hca, VAPI_cq_hndl_t cq, void *priv)
{
    VAPI_wc_desc_t wc;
    while (VAPI_poll_cq(hca, cq, &wc) == VAPI_OK) keep(&wc);
    NEED(VAPI_req_comp_notif(hca, cq, VAPI_NEXT_COMP));
    while (VAPI_poll_cq(hca, cq, &wc) == VAPI_OK) keep(&wc);
}

static void on_trouble(VAPI_hca_hndl_t hca, VAPI_event_record_t *record, void *priv)
{
    if (record->type == VAPI_QP_COMM_ESTABLISHED) return;
    fprintf(stderr, "pingpong: %s (%s)\n", VAPI_event_record_sym(record->type),
            VAPI_event_syndrome_sym(record->syndrome));
    exit(1);
}

static VAPI_wc_desc_t await_message(void)
{
    VAPI_wc_desc_t wc;
    if (by_handler) {
        pthread_mutex_lock(&lock);
        while (!there) pthread_cond_wait(&arrived, &lock);
        there = false;
        wc = message;
        pthread_mutex_unlock(&lock);
        return wc;
    }
    VAPI_ret_t code;
    do code = EVAPI_poll_cq_block(s.hca, s.a.rcq, 0, &wc);
    while (code == VAPI_CQ_EMPTY || code == VAPI_EINTR);
    need(code, "EVAPI_poll_cq_block");
    return wc;
}

static uint32_t length_of(int round)
{
    return (uint32_t)(round * 37) % SLOT;
}

static void send_round(int round)
{
    uint32_t length = length_of(round);
    unsigned char *out = s.memory + BLOCK / 2;
    for (uint32_t i = 0; i < length; i++) out[i] = (unsigned char)(round + (int)i);
    VAPI_sr_desc_t *d = request(&s, VAPI_SEND_WITH_IMM, (uint64_t)round, BLOCK / 2, length);
    d->imm_data = (VAPI_imm_data_t)round;
    if (length <= s.a.prop.cap.max_inline_data_sq)
        NEED(EVAPI_post_inline_sr(s.hca, s.a.qp, d));
    else
        NEED(VAPI_post_sr(s.hca, s.a.qp, d));
    if (await_wc(&s, s.a.scq).status != VAPI_SUCCESS) fail("a send failed");
}

static void receive_round(int round)
{
    VAPI_wc_desc_t wc = await_message();
    if (wc.status != VAPI_SUCCESS) fail(VAPI_wc_status_sym(wc.status));
    if (!wc.imm_data_valid || wc.imm_data != (VAPI_imm_data_t)round ||
        wc.byte_len != length_of(round))
        fail("another message than was sent");
    const unsigned char *in = s.memory + wc.id * SLOT;
    for (uint32_t i = 0; i < wc.byte_len; i++)
        if (in[i] != (unsigned char)(round + (int)i)) fail("other data than were sent");
    NEED(VAPI_post_rr(s.hca, s.a.qp, receive(&s, wc.id, wc.id * SLOT, SLOT)));
}

int main(int argc, char **argv)
{
    struct wants w = {.signals = VAPI_SIGNAL_REQ_WR, .raw = true};
    EVAPI_compl_handler_hndl_t handler;
    EVAPI_async_handler_hndl_t trouble;
    IB_lid_t lid;
    VAPI_qp_num_t qp;
    if (argc != 4) return 2;
    by_handler = !strcmp(argv[1], "handler");
    bool server = !strcmp(argv[3], "server");
    open_stage(&s);
    make_ends(&s, &w);
    NEED(EVAPI_set_async_event_handler(s.hca, on_trouble, NULL, &trouble));
    NEED(EVAPI_set_comp_eventh(
        s.hca, s.a.rcq, by_handler ? on_message : EVAPI_POLL_CQ_UNBLOCK_HANDLER, NULL, &handler));
    if (by_handler) NEED(VAPI_req_comp_notif(s.hca, s.a.rcq, VAPI_NEXT_COMP));
    int peer = server ? await_peer(argv[2]) : reach_peer(argv[2]);
    exchange(peer, &lid, &qp);
    connect_to(&s, s.a.qp, VAPI_TS_RC, qp, lid);
    for (uint64_t i = 0; i < SLOTS; i++)
        NEED(VAPI_post_rr(s.hca, s.a.qp, receive(&s, i, i * SLOT, SLOT)));
    exchange(peer, &lid, &qp);
    for (int round = 0; round < ROUNDS; round++) {
        if (!server) send_round(round);
        receive_round(round);
        if (server) send_round(round);
    }
    exchange(peer, &lid, &qp);
    NEED(EVAPI_clear_comp_eventh(s.hca, handler));
    NEED(EVAPI_clear_async_event_handler(s.hca, trouble));
    drop_ends(&s);
    close_stage(&s);
    close(peer);
    printf("%d messages to and fro\n", ROUNDS);
    return 0;
}
