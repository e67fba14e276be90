/* teststrangers.c - other users send to the sockets of a job: each rank starts a process that is
 * nobody's (if it is root's itself) and sends to every port that the rank has open: datagrams in
 * the form of handshake messages, and of any; connections that say nothing, and nonsense.  Nothing
 * comes of it: memory, descriptors and the job stay as they are.
 *
 * Only the standard output of rank 0 has TAP lines; what the library writes is the script's to
 * judge.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <malloc.h>
#include <netinet/in.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/programs/test.h"

extern char **environ;

enum { NOBODY = 65534, DATAGRAMS = 500, CONNECTIONS = 300, MOST = 64, SEGMENT = 65536 };

/* --- the attacker: teststrangers attack [udp|tcp ADDRESS PORT]... --- */

static struct sockaddr_in address_of(const char *address, const char *port)
{
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons((uint16_t)atoi(port))};
    if (inet_pton(AF_INET, address, &to.sin_addr) != 1) abort();
    if (!to.sin_addr.s_addr) to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return to;
}

/* The bytes of a request of libportals, of this version and the one before, but for the seal. */
static size_t request(uint8_t *bytes, const struct sockaddr_in *from, unsigned number)
{
    const uint8_t version = number % 2 ? 1 : 2;
    const uint16_t size = version == 1 ? 104 : 128;
    const uint32_t protocol = 0x33335450, nid = ntohl(from->sin_addr.s_addr),
                   pid = ntohs(from->sin_port);
    const uint64_t stamp = UINT64_C(1) << 61 | number;
    memset(bytes, 0, 200);
    memcpy(bytes, &protocol, 4);
    bytes[4] = version, bytes[5] = 1;
    memcpy(bytes + 6, &size, 2);
    memcpy(bytes + 8, &stamp, 8);
    uint8_t *payload = bytes + 24, *rest = payload + size - 88;
    memcpy(payload, &nid, 4);
    memcpy(payload + 4, &pid, 4);
    memcpy(payload + 16, &stamp, 8);
    memcpy(rest, &(uint32_t){number + 2}, 4);
    memcpy(rest + 8, &(uint32_t){number % 4 < 2 ? 16384 : 2048}, 4);
    memcpy(rest + 12, &(uint16_t){8}, 2);
    memcpy(rest + 14, &(uint16_t){1}, 2);
    rest[16] = 5, rest[17] = 16;
    return 24u + size + (version == 1 ? 0 : 16);
}

static void send_datagrams(const struct sockaddr_in *to)
{
    uint8_t bytes[2000];
    for (unsigned i = 0; i < DATAGRAMS; i++) {
        struct sockaddr_in own = {.sin_family = AF_INET, .sin_addr = to->sin_addr};
        socklen_t size = sizeof own;
        const int fd = socket(AF_INET, SOCK_DGRAM, 0);
        if (fd < 0 || bind(fd, (struct sockaddr *)&own, size) ||
            getsockname(fd, (struct sockaddr *)&own, &size))
            abort();
        size_t length = request(bytes, &own, i);
        if (i % 5 == 4)
            for (length = 0; length < (i * 7) % sizeof bytes; length++)
                bytes[length] = (uint8_t)rand();
        /* A datagram for which its receiver has no room is not sent. */
        (void)!sendto(fd, bytes, length, MSG_DONTWAIT, (const struct sockaddr *)to, sizeof *to);
        close(fd);
    }
}

static void connect_often(const struct sockaddr_in *to)
{
    static int fds[CONNECTIONS];
    uint8_t bytes[300];
    for (unsigned i = 0; i < CONNECTIONS; i++) {
        fds[i] = socket(AF_INET, SOCK_STREAM, 0);
        if (fds[i] < 0 || connect(fds[i], (const struct sockaddr *)to, sizeof *to)) continue;
        for (size_t b = 0; b < sizeof bytes; b++) bytes[b] = (uint8_t)rand();
        if (i % 2) (void)!send(fds[i], bytes, i, MSG_NOSIGNAL | MSG_DONTWAIT);
    }
}

static int attack(int count, char **word)
{
    if (!geteuid() && (setgid(NOBODY) || setuid(NOBODY))) return 1;
    for (int i = 0; i + 2 < count; i += 3) {
        const struct sockaddr_in to = address_of(word[i + 1], word[i + 2]);
        if (word[i][0] == 'u')
            send_datagrams(&to);
        else
            connect_often(&to);
    }
    puts("done"); /* the connections end when the rank has looked */
    fflush(stdout);
    return getchar() == EOF ? 0 : 1;
}

/* --- a rank --- */

static char words[MOST][64];
static int word_count;

static bool is_own(unsigned long inode)
{
    char path[300], link[64], socket_name[64];
    bool own = false;
    snprintf(socket_name, sizeof socket_name, "socket:[%lu]", inode);
    DIR *fds = opendir("/proc/self/fd");
    for (struct dirent *e; fds && !own && (e = readdir(fds));) {
        snprintf(path, sizeof path, "/proc/self/fd/%s", e->d_name);
        const ssize_t n = readlink(path, link, sizeof link - 1);
        if (n > 0) link[n] = 0;
        own = n > 0 && !strcmp(link, socket_name);
    }
    if (fds) closedir(fds);
    return own;
}

/* Adds the ports of this process: UDP, or TCP that listens. */
static int find_ports(const char *kind)
{
    enum { LISTENING = 10 };
    char path[40], line[300], text[INET_ADDRSTRLEN];
    int found = 0;
    snprintf(path, sizeof path, "/proc/net/%s", kind);
    FILE *f = fopen(path, "r");
    while (f && fgets(line, sizeof line, f)) {
        unsigned address, port, state;
        unsigned long inode;
        if (sscanf(line, " %*d: %8x:%x %*x:%*x %x %*s %*s %*s %*s %*s %lu", &address, &port, &state,
                   &inode) != 4 ||
            (kind[0] == 't' && state != LISTENING) || !is_own(inode) || word_count + 3 > MOST)
            continue;
        inet_ntop(AF_INET, &address, text, sizeof text);
        snprintf(words[word_count++], sizeof *words, "%s", kind);
        snprintf(words[word_count++], sizeof *words, "%s", text);
        snprintf(words[word_count++], sizeof *words, "%u", port);
        found++;
    }
    if (f) fclose(f);
    return found;
}

static unsigned descriptors(void)
{
    unsigned count = 0;
    DIR *fds = opendir("/proc/self/fd");
    while (fds && readdir(fds)) count++;
    if (fds) closedir(fds);
    return count;
}

static pid_t attacker;
static int to_attacker, from_attacker;

static void start_attacker(void)
{
    static char self[] = "/proc/self/exe", attack_word[] = "attack";
    char *argv[MOST + 3] = {self, attack_word};
    int in[2], out[2];
    posix_spawn_file_actions_t files;
    for (int i = 0; i < word_count; i++) argv[2 + i] = words[i];
    if (pipe2(in, O_CLOEXEC) || pipe2(out, O_CLOEXEC)) abort();
    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_adddup2(&files, in[0], 0);
    posix_spawn_file_actions_adddup2(&files, out[1], 1);
    const int error = posix_spawn(&attacker, self, &files, NULL, argv, environ);
    posix_spawn_file_actions_destroy(&files);
    test_check(!error, "the attacker starts: %s", strerror(error));
    close(in[0]);
    close(out[1]);
    to_attacker = in[1];
    from_attacker = out[0];
}

static void put_everywhere(uint64_t number)
{
    for (int i = 0; i < test_size; i++) {
        uint64_t *to = (uint64_t *)test_seg[(test_rank + i) % test_size].addr + test_rank;
        gasnet_put_val((gasnet_node_t)((test_rank + i) % test_size), to, number, sizeof number);
    }
    test_sync();
    const uint64_t *own = test_seg[test_rank].addr;
    for (int i = 0; i < test_size; i++)
        test_check(own[i] == number, "rank %d's number has come", i);
    test_sync();
}

/* A connection begun in good faith may be being closed; held ones stay under the library's bound.
 */
enum { MOST_DESCRIPTORS = 100, MOST_MEMORY = 4 << 20 };

static void attacked(void)
{
    const int datagrams = find_ports("udp"), streams = find_ports("tcp");
    const unsigned open = descriptors();
    const size_t memory = mallinfo2().uordblks;
    char text[8];
    start_attacker();
    const bool done = read(from_attacker, text, sizeof text) > 0;
    test_check(done, "the attacker has sent to %d UDP and %d TCP ports", datagrams, streams);
    put_everywhere(1);
    test_check(descriptors() < open + MOST_DESCRIPTORS, "%u descriptors after %u", descriptors(),
               open);
    test_check(mallinfo2().uordblks < memory + MOST_MEMORY, "%zu bytes after %zu",
               mallinfo2().uordblks, memory);
    close(to_attacker);
    close(from_attacker);
    int status = -1;
    waitpid(attacker, &status, 0);
    test_check(!status, "the attacker ended with wait status %#x", status);
    put_everywhere(2);
    const uint32_t all = test_sync_sum((uint32_t)(datagrams + 1000 * streams));
    if (test_rank == 0) printf("# attacked %u UDP and %u TCP ports\n", all % 1000, all / 1000);
}

int main(int argc, char **argv)
{
    if (argc > 1 && !strcmp(argv[1], "attack")) return attack(argc - 2, argv + 2);
    static const struct test_rule rules[] = {
        {"what other users send to the sockets of a job changes nothing", attacked}};
    test_start(&argc, &argv, NULL, 0, SEGMENT);
    test_run(rules, 1);
    test_finish();
}
