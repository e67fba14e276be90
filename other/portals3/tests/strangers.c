/* strangers.c - datagrams to the sockets by which libportals connects processes: of other users,
 * with other keys, of every length, and of the program itself, recorded and sent again.  They
 * change nothing, cost no memory and one line.
 *
 *   strangers [WORD...]     which of the scenes; all without
 */
#include <arpa/inet.h>
#include <fcntl.h>
#include <malloc.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "other/connect/handshake/handshake.h"
#include "other/portals3/src/engine/engine.h"
#include "other/portals3/src/transport/verbs.h"
#include "other/portals3/tests/scene.h"

enum { NOBODY = 65534, DATAGRAM = 2000 };

/* --- the state of the transport --- */

static struct ptli_verbs *inside(void)
{
    int code;
    struct ptli_engine *engine = ptli_engine_of(family_ni, PTLI_NI, PTL_NI_INVALID, &code);
    if (!engine) family_fail("no interface");
    return ptli_verbs(engine->transport);
}

struct held {
    uint64_t strangers, connects, breaks;
    int peers, conns;
    size_t bytes;
};

static struct held held(void)
{
    struct ptli_verbs *v = inside();
    ptli_mutex_lock(&v->driving);
    struct held h = {.strangers = v->strangers,
                     .connects = v->connects,
                     .breaks = atomic_load(&v->breaks),
                     .bytes = mallinfo2().uordblks};
    for (const struct ptli_node *node = v->all; node; node = node->next) h.peers++;
    for (const struct ptli_conn *conn = v->conns; conn; conn = conn->next) h.conns++;
    ptli_mutex_unlock(&v->driving);
    return h;
}

static void must_be_unchanged(const struct held *before, const char *by)
{
    const struct held now = held();
    if (now.peers != before->peers || now.conns != before->conns ||
        now.connects != before->connects || now.breaks != before->breaks)
        family_fail("%s: %d records, %d queue pairs, %ju connections, %ju breaks; before %d, %d, "
                    "%ju, %ju",
                    by, now.peers, now.conns, (uintmax_t)now.connects, (uintmax_t)now.breaks,
                    before->peers, before->conns, (uintmax_t)before->connects,
                    (uintmax_t)before->breaks);
}

/* --- datagrams --- */

static struct sockaddr_in address_of(ptl_process_id_t id)
{
    return (struct sockaddr_in){.sin_family = AF_INET,
                                .sin_port = htons((uint16_t)id.pid),
                                .sin_addr.s_addr = htonl(id.nid)};
}

static int any_socket(ptl_process_id_t host, ptl_process_id_t *id)
{
    struct sockaddr_in address = address_of((ptl_process_id_t){.nid = host.nid});
    socklen_t size = sizeof address;
    const int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd < 0 || bind(fd, (struct sockaddr *)&address, size) ||
        getsockname(fd, (struct sockaddr *)&address, &size))
        family_fail("no socket");
    *id = (ptl_process_id_t){.nid = host.nid, .pid = ntohs(address.sin_port)};
    return fd;
}

/* Datagrams of the library, which are recorded (-Wl,--wrap=sendto). */
static struct {
    char bytes[HANDSHAKE_MOST];
    size_t size;
    struct sockaddr_in to;
} recorded[64];
static unsigned recorded_count;

ssize_t __real_sendto(int, const void *, size_t, int, const struct sockaddr *, socklen_t);
ssize_t __wrap_sendto(int fd, const void *bytes, size_t size, int flags, const struct sockaddr *to,
                      socklen_t to_size);
ssize_t __wrap_sendto(int fd, const void *bytes, size_t size, int flags, const struct sockaddr *to,
                      socklen_t to_size)
{
    if (recorded_count < 64 && size <= HANDSHAKE_MOST) {
        memcpy(recorded[recorded_count].bytes, bytes, size);
        memcpy(&recorded[recorded_count].to, to, sizeof recorded->to);
        recorded[recorded_count++].size = size;
    }
    return __real_sendto(fd, bytes, size, flags, to, to_size);
}

static void send_to(int fd, ptl_process_id_t id, const void *bytes, size_t size)
{
    const struct sockaddr_in to = address_of(id);
    if (__real_sendto(fd, bytes, size, 0, (const struct sockaddr *)&to, sizeof to) != (ssize_t)size)
        family_fail("a datagram of %zu bytes is not sent", size);
}

/* --- strangers --- */

/* Composes the message that process `from` would send to `to` if it had the key. */
static size_t request(ptl_process_id_t from, ptl_process_id_t to, uint32_t protocol,
                      const handshake_key_t *key, char *bytes)
{
    const ptli_connect_payload_t payload = {.nid = from.nid,
                                            .pid = from.pid,
                                            .uid = NOBODY,
                                            .life = 1,
                                            .number = 1,
                                            .qp_number = 100,
                                            .eager = 16384,
                                            .window = 8,
                                            .lid = 1,
                                            .mtu = 5,
                                            .rd_atom = 16};
    const handshake_message_t message = {
        .mine = family_below(1000) + 1,
        .ask = true,
        .payload = &payload,
        .payload_size = protocol == PTLI_CHALLENGE ? sizeof(ptli_challenge_t) : sizeof payload};
    const size_t size = handshake_encode(&message, protocol, bytes);
    if (!key) return size;
    const handshake_way_t way = {.from = (uint64_t)from.nid << 32 | from.pid,
                                 .to = (uint64_t)to.nid << 32 | to.pid};
    return handshake_seal(key, way, bytes, size);
}

enum { SOCKETS = 3000, AT_ONCE = 20 };

/* Sends a datagram from each of many ports; process 0 reports how many it has seen. */
static void attack(void)
{
    static const handshake_key_t other_key = {.size = 32, .bytes = "the key of somebody else"};
    char bytes[DATAGRAM];
    if (!geteuid() && (setgid(NOBODY) || setuid(NOBODY))) family_fail("cannot become nobody");
    for (uint32_t i = 1; i <= SOCKETS; i++) {
        ptl_process_id_t own;
        const int fd = any_socket(family->id[0], &own);
        size_t size = sizeof bytes;
        for (size_t b = 0; b < size; b++) bytes[b] = (char)family_below(256);
        switch (i % 5) {
        case 0:
            size = request(own, family->id[0], PTLI_HANDSHAKE, NULL, bytes);
            break;
        case 1:
            size = request(own, family->id[0], PTLI_HANDSHAKE, &other_key, bytes);
            break;
        case 2:
            size = request(own, family->id[0], PTLI_CHALLENGE, &other_key, bytes);
            break;
        case 3: /* the right length without a seal */
            size = request(own, family->id[0], PTLI_HANDSHAKE, NULL, bytes) + HANDSHAKE_SEAL;
            break;
        case 4:
            size = family_below(DATAGRAM);
            break;
        }
        send_to(fd, family->id[0], bytes, size);
        close(fd);
        if (i % AT_ONCE == 0) family_await(1, i);
    }
}

/* Lines on stderr since it has been this file. */
static int lines(int file)
{
    char text[4096];
    int count = 0;
    const ssize_t n = pread(file, text, sizeof text, 0);
    for (ssize_t i = 0; i < n; i++) count += text[i] == '\n';
    return count;
}

static int stderr_to_file(void)
{
    char name[] = "/tmp/strangers.XXXXXX";
    const int file = mkostemp(name, O_CLOEXEC);
    if (file < 0 || dup2(file, 2) < 0) family_fail("no file for stderr");
    unlink(name);
    return file;
}

static void traffic(void)
{
    static unsigned char *memory;
    if (!memory) memory = family_memory(PAGE);
    if (family_rank == 0) {
        family_attach(PT, 0, describe(memory, PAGE, QUIET, PTL_EQ_NONE), PTL_RETAIN);
        family_barrier(NULL);
    } else {
        family_barrier(NULL);
        if (family_rank == 1) {
            ptl_handle_md_t md = bind_md(memory, PAGE);
            put(md, PAGE, 0, 0, 0, PTL_ACK_REQ);
            well(PTL_EVENT_SEND_END);
            well(PTL_EVENT_ACK);
        }
    }
    family_barrier(NULL);
}

/* Process 2 never opens an interface. */
static void strangers(void)
{
    if (family_rank < 2) begin();
    const int file = family_rank == 0 ? stderr_to_file() : -1;
    family_barrier(NULL);
    if (family_rank == 2) attack();
    if (family_rank == 0) {
        const struct held before = held();
        struct held now = before;
        while (now.strangers < SOCKETS) {
            now = held();
            must_be_unchanged(&before, "strangers");
            atomic_store(&family->flag[1], (uint32_t)now.strangers);
            family_nap();
        }
        must_be_unchanged(&before, "strangers");
        /* The C library keeps the buffer of stderr, and a little more. */
        if (now.bytes > before.bytes + 4096)
            family_fail("%zu bytes after %zu", now.bytes, before.bytes);
        if (lines(file) > 1) family_fail("%d lines on stderr", lines(file));
    }
    traffic();
    if (family_rank < 2) family_close();
}

/* --- another key --- */

static void other_key(void)
{
    static const char keys[2][32] = {"key of the one", "key of the other"};
    must(PtlSetKey(keys[family_rank], sizeof keys[0]));
    begin();
    stderr_to_file();
    family_barrier(NULL);
    if (family_rank == 1) {
        ptl_handle_md_t md = bind_md(family_memory(PAGE), PAGE);
        put(md, 8, 0, 0, 0, PTL_NOACK_REQ);
        family_await(0, 1);
        _exit(0); /* without waiting until the put fails */
    }
    while (held().strangers < 3) family_nap();
    const struct held now = held();
    if (now.peers || now.conns) family_fail("%d records, %d queue pairs", now.peers, now.conns);
    atomic_store(&family->flag[0], 1);
    family_close();
}

/* --- recorded messages --- */

/* Sends again all that was recorded to process 0, and then a datagram of a stranger, which
 * process 0 sees when it has seen the others. */
static void send_recorded(int fd)
{
    const struct sockaddr_in to = address_of(family->id[0]);
    const uint64_t seen = atomic_load(&family->flag[1]);
    for (unsigned i = 0; i < recorded_count; i++)
        if (recorded[i].to.sin_port == to.sin_port)
            send_to(fd, family->id[0], recorded[i].bytes, recorded[i].size);
    send_to(fd, family->id[0], "x", 1);
    family_await(1, (uint32_t)seen + 1);
}

static void await_stranger(void)
{
    const uint64_t before = atomic_load(&family->flag[1]);
    uint64_t now;
    while ((now = held().strangers) <= before) family_nap();
    atomic_store(&family->flag[1], (uint32_t)now);
}

/* A socket with the name of process 1, whose interface is closed. */
static int take_name(void)
{
    struct sockaddr_in own = address_of(family->id[1]);
    const int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd < 0 || bind(fd, (struct sockaddr *)&own, sizeof own)) family_fail("the name is taken");
    return fd;
}

/* Process 1's are sent again while they are connected, when it has gone, and when process 0 is
 * another of the same name. */
static void recordings(void)
{
    must(PtlSetKey("the key of this scene", 21));
    begin();
    stderr_to_file();
    traffic();
    struct held before = held();
    if (before.connects != 1) family_fail("%ju connections", (uintmax_t)before.connects);
    family_barrier(NULL);
    if (family_rank == 0) {
        for (int i = 0; i < 3; i++) await_stranger();
        must_be_unchanged(&before, "recorded messages of a connected peer");
    } else {
        for (int i = 0; i < 3; i++) send_recorded(inside()->socket);
        must_be_unchanged(&before, "answers to recorded messages");
        if (recorded_count < 2) family_fail("%u messages were recorded", recorded_count);
    }
    family_barrier(NULL);
    if (family_rank == 1) family_close();
    family_barrier(NULL);
    if (family_rank == 0) {
        while (held().conns) family_nap();
        before = held();
        family_barrier(NULL);
        await_stranger();
        must_be_unchanged(&before, "recorded messages of a process that has ended");
        family_barrier(NULL);
        const ptl_pid_t pid = family->id[0].pid;
        family_close();
        must(PtlSetKey("the key of this scene", 21));
        family_open(pid);
        atomic_store(&family->flag[1], 0);
        before = held();
        family_barrier(NULL);
        await_stranger();
        must_be_unchanged(&before, "recorded messages to an earlier process");
    } else {
        const int fd = take_name();
        family_barrier(NULL);
        send_recorded(fd);
        family_barrier(NULL);
        family_barrier(NULL);
        send_recorded(fd);
        close(fd);
    }
    family_barrier(NULL);
    if (family_rank == 0) family_close();
}

int main(int argc, char **argv)
{
    family_settle_seed(NULL);
    scene(argc, argv, "strangers", 3, strangers, false,
          "datagrams of other users make no record, no line but one, and no difference");
    scene(argc, argv, "key", 2, other_key, false, "nor do processes with another key");
    scene(argc, argv, "recorded", 2, recordings, false,
          "nor messages that were recorded: of a peer, of one that has ended, to one that has");
    return scenes_over();
}
