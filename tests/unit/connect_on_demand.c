/* connect_on_demand.c - the cost of a request to connect, to the thread that makes it (IB-W4):
 * core/ib/connect_on_demand.c, whose thread sends handshake messages that no peer answers, on stubs
 * of queue pairs and datagrams.
 */

#include <semaphore.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/ib/connect.h"
#include "core/ib/connect_payload.h"
#include "core/ib/datagrams.h"
#include "core/ib/meeting.h"
#include "core/job/job.h"
#include "core/job/secret.h"
#include "core/params/params.h"
#include "core/report.h"
#include "other/connect/handshake/seal.h"
#include "tests/unit/check.h"

enum { SIZE = 1000, TURNS = 5 };

struct bootstrap_job gasnetc_job;
gasnetc_params_t gasnetc_params;
struct net_ib_rails net_ib_rails;
net_qp_t net_ib_closed;

static sem_t wake_fd;          /* for the thread */
static sem_t asked;            /* once for each peer */
static bool has_message[SIZE]; /* the thread's */
static atomic_uint naps, made, joined, rings;
static int refused_with, refused; /* address handles: the errno, and how often */

int nanosleep(const struct timespec *wanted, struct timespec *left)
{
    (void)wanted, (void)left;
    atomic_fetch_add(&naps, 1);
    return 0;
}

void net_ib_datagrams_arm(void) {}

void net_ib_datagrams_sleep(double seconds)
{
    (void)seconds; /* repetitions are tested for unreachable peers alone */
    if (!refused_with) sem_wait(&wake_fd);
}

void net_ib_datagrams_wake(void)
{
    atomic_fetch_add(&rings, 1);
    sem_post(&wake_fd);
}

/* The next datagram to arrive. */
static char arriving[HANDSHAKE_MOST];
static size_t arriving_size;

int net_ib_datagram_take(void *bytes, uint32_t room)
{
    if (!arriving_size || arriving_size > room) return -1;
    memcpy(bytes, arriving, arriving_size);
    const int size = (int)arriving_size;
    arriving_size = 0;
    return size;
}

static const uint8_t job_key[GASNETC_SECRET_BYTES] = "key of this job";

const uint8_t *gasnetc_secret(void)
{
    return job_key;
}

/* To send a first message takes an address handle. */
hca_ah_t net_ib_datagram_ah(const hca_route_t *route)
{
    if (refused_with) {
        refused++;
        errno = refused_with;
        return NULL;
    }
    if (!has_message[route->lid]) sem_post(&asked);
    has_message[route->lid] = true;
    return calloc(1, sizeof(struct ibv_ah));
}
int ibv_destroy_ah(struct ibv_ah *ah)
{
    free(ah);
    return 0;
}

static uint32_t addressed; /* rank whose contact is being written */
hca_ud_addr_t net_ib_datagrams_address(void)
{
    return (hca_ud_addr_t){.qp_number = addressed};
}

net_qp_t *net_ib_make_qps(net_peer_t *peer)
{
    static struct ibv_qp device;
    static net_qp_t qp = {.qp = &device, .next = &qp};
    (void)peer;
    atomic_fetch_add(&made, 1);
    return &qp;
}

void net_ib_destroy_qps(net_qp_t *first)
{
    (void)first;
    atomic_fetch_sub(&made, 1);
}

void net_ib_expect(net_peer_t *peer)
{
    peer->am = peer->next_qp = &net_ib_closed;
}

bool net_ib_datagrams_open(uint32_t peers, uint32_t length, char *why, size_t why_size)
{
    (void)peers, (void)length, (void)why, (void)why_size;
    return true;
}

/* Functions that these tests do not call. */
void net_ib_datagrams_close(void) {}
int net_ib_datagram_send(hca_ah_t ah, const hca_ud_addr_t *to, uint32_t rank, const void *bytes,
                         uint32_t length)
{
    (void)ah, (void)to, (void)rank, (void)bytes, (void)length;
    return 0;
}
bool net_ib_datagram_failure(uint32_t *rank, hca_failure_t *why)
{
    (void)rank, (void)why;
    return false;
}
void net_ib_join_qps(net_peer_t *peer, net_qp_t *first, const net_ib_end_t *ends, uint32_t count,
                     const net_ib_remote_rings_t *rings_there)
{
    (void)peer, (void)first, (void)ends, (void)count, (void)rings_there;
    joined++;
}
void net_ib_open_qps(net_peer_t *peer)
{
    (void)peer;
}
net_ib_end_t net_ib_end(const struct net_ib_rail *rail, uint32_t qp_number)
{
    (void)rail;
    return (net_ib_end_t){.remote = {.qp_number = qp_number, .lid = (uint16_t)addressed}};
}
net_ib_remote_rings_t net_ib_rings_address(void)
{
    return (net_ib_remote_rings_t){.base = 0};
}

bool gasneti_ending(void)
{
    return false;
}
void gasneti_fatal_once(const char *format, ...)
{
    fprintf(stderr, "%s\n", format);
    _Exit(1);
}
void net_ib_cannot_connect(uint32_t rank, const char *device, const char *what, int error)
{
    fprintf(stderr, "%s: rank %u: %s: %d\n", device, rank, what, error);
    _Exit(1);
}
void net_ib_cannot_reach(uint32_t rank, const struct net_ib_rail *rail, const hca_remote_t *remote,
                         const char *what, int error)
{
    (void)rail, (void)remote;
    fprintf(stderr, "FATAL ERROR: rank %u: %s: errno %d after %d attempts\n", rank, what, error,
            refused);
    _Exit(1);
}
void net_ib_no_route(uint32_t rank, const struct net_ib_rail *rail, const hca_remote_t *remote)
{
    net_ib_cannot_reach(rank, rail, remote, "no route", 0);
}
void net_ib_handshake_failed(uint32_t rank, const char *device, const hca_failure_t *why)
{
    (void)why;
    net_ib_cannot_connect(rank, device, "a handshake message", 0);
}
void gasneti_fatal(const char *format, ...)
{
    fprintf(stderr, "%s\n", format);
    _Exit(1);
}
const char *gasneti_rank_name(uint32_t rank)
{
    (void)rank;
    return "a peer";
}

static net_peer_t peers[SIZE];

static void turn(void)
{
    for (uint32_t rank = 1; rank < SIZE; rank++) net_ib_request_connect(&peers[rank]);
}

/* False: peers cannot be connected at first use. */
static bool open_contacts(uint32_t processes)
{
    char why[100];
    net_ib_on_demand_open(processes, why, sizeof why);
    if (why[0]) return false;
    void *contact = malloc(net_contact_size());
    for (addressed = 1; addressed < processes; addressed++) {
        peers[addressed].rank = addressed;
        net_contact(contact);
        net_set_contact(&peers[addressed], contact);
    }
    free(contact);
    return true;
}

/* Ends the process. */
static void connect_in_vain(const void *error)
{
    refused_with = *(const int *)error;
    if (!open_contacts(2)) exit(2);
    net_start();
    net_ib_request_connect(&peers[1]);
    for (;;) pause();
}

static void unreachable_peers(void)
{
    const int hosts = EHOSTUNREACH, nets = ENETUNREACH, time = ETIMEDOUT;
    char words[3][60];
    snprintf(words[0], 60, "no address handle for LID 1: errno %d after 1 attempts", hosts);
    snprintf(words[1], 60, "no address handle for LID 1: errno %d after 1 attempts", nets);
    snprintf(words[2], 60, "no address handle for LID 1: errno %d after 3 attempts", time);
    check_fatal("a peer without a route is an error at once", connect_in_vain, &hosts, words[0]);
    check_fatal("so is a network without one", connect_in_vain, &nets, words[1]);
    check_fatal("one that does not answer in time is asked three times", connect_in_vain, &time,
                words[2]);
}

/* A request of rank 1, sealed by `from` for `to` with `key`; whether it makes queue pairs. */
static bool is_obeyed(const uint8_t *bytes, uint64_t from, uint64_t to)
{
    uint8_t payload[HANDSHAKE_MOST_PAYLOAD];
    handshake_key_t key = {.size = GASNETC_SECRET_BYTES};
    memcpy(key.bytes, bytes, key.size);
    const net_ib_payload_t numbers = {.rank = 1, .qps = 1, .qp_number = {77}};
    net_ib_payload_encode(&numbers, payload);
    const handshake_message_t message = {
        .mine = 1, .ask = true, .payload = payload, .payload_size = net_ib_payload_size(1)};
    arriving_size = handshake_encode(&message, NET_IB_HANDSHAKE, arriving);
    if (from != to)
        arriving_size = handshake_seal(&key, (handshake_way_t){from, to}, arriving, arriving_size);
    const unsigned before = atomic_load(&made);
    net_ib_greetings.receive();
    return atomic_load(&made) != before;
}

static void strangers(void)
{
    static const uint8_t other_key[GASNETC_SECRET_BYTES] = "key of another";
    enum { UNSEALED = 0 };
    check(!is_obeyed(job_key, UNSEALED, UNSEALED), "a request without a seal makes no queue pair");
    check(!is_obeyed(other_key, 1, 0), "nor does one of another job");
    check(!is_obeyed(job_key, 2, 0), "nor one of another rank");
    check(!is_obeyed(job_key, 1, 2), "nor one that was sent to another");
    check(is_obeyed(job_key, 1, 0), "one of the job does");
}

int main(int argc, char **argv)
{
    check_begin(argc, argv);
    char why[100];
    sem_init(&wake_fd, 0, 0);
    sem_init(&asked, 0, 0);
    gasnetc_job = (struct bootstrap_job){.rank = 0, .size = SIZE};
    gasnetc_params.connect_dynamic = true;
    net_ib_rails.qps = NET_IB_PAYLOAD_QPS + 1;
    net_ib_on_demand_open(SIZE, why, sizeof why);
    check(strstr(why, "queue pairs per peer are more than"),
          "IB-W4 more queue pairs than a message names are connected at start-up");
    net_ib_rails.qps = net_ib_rails.rails = 1;
    unreachable_peers();
    check(open_contacts(SIZE), "IB-W4 others at first use");
    strangers();
    has_message[1] = false;
    net_start();
    for (int i = 0; i < TURNS; i++) turn();
    unsigned had = atomic_load(&naps);
    check(had == 0, "IB-W4 requests to connect %d peers, %d times each, never sleep", SIZE - 1,
          TURNS);
    if (had) check_note("it took %u naps", had);
    for (uint32_t rank = 1; rank < SIZE; rank++) sem_wait(&asked);
    check(atomic_load(&made) == SIZE - 1, "IB-W4 each of them is sent a message meanwhile");
    check(atomic_load(&rings) == SIZE - 1,
          "IB-W4 for a peer that was sent one the thread is not woken again");
    net_ib_on_demand_close();
    check(atomic_load(&made) == joined, "IB-W4 nothing is left of handshakes without an answer");
    return check_end();
}
