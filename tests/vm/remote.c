/* remote.c - the remote shell of jobs between guests, instead of ssh, whose login takes a guest
 * many seconds.
 *
 *   remote -s                        serves, until it is killed
 *   remote [-OPTION]... HOST WORD... runs the words there, by a shell, on this process's standard
 * streams
 *
 * Ends with status 0 when the streams are closed there, 255 if the host does not answer for a
 * minute. No user is checked: for guests that nothing else reaches.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { PORT = 5140, LONGEST = 65536, TRIES = 120 };

/* The command ends with a zero byte; what follows is its input. */
static void run(int connection)
{
    char command[LONGEST];
    size_t used = 0;
    while (used < sizeof command - 1 && read(connection, command + used, 1) == 1 && command[used])
        used++;
    command[used] = '\0';
    for (int fd = 0; fd < 3; fd++) dup2(connection, fd);
    setsid();
    execl("/bin/sh", "sh", "-c", command, NULL);
    _exit(127);
}

static int serve(void)
{
    struct sockaddr_in own = {.sin_family = AF_INET, .sin_port = htons(PORT)};
    int one = 1, s = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    setsockopt(s, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
    if (bind(s, (void *)&own, sizeof own) || listen(s, 64)) {
        perror("remote");
        return 1;
    }
    signal(SIGCHLD, SIG_IGN); /* no zombies */
    for (;;) {
        int connection = accept4(s, NULL, NULL, SOCK_CLOEXEC);
        if (connection < 0) continue;
        if (fork() == 0) {
            signal(SIGCHLD, SIG_DFL);
            run(connection);
        }
        close(connection);
    }
}

/* Connects to a guest, which may still be starting: tries until it answers. */
static int reach(const char *host)
{
    struct sockaddr_in peer = {.sin_family = AF_INET, .sin_port = htons(PORT)};
    if (inet_pton(AF_INET, host, &peer.sin_addr) != 1) return -1;
    for (int i = 0; i < TRIES; i++) {
        int s = socket(AF_INET, SOCK_STREAM, 0);
        if (connect(s, (void *)&peer, sizeof peer) == 0) return s;
        close(s);
        usleep(500000); /* between two tries */
    }
    return -1;
}

static void send_all(int fd, const char *data, ssize_t size)
{
    while (size > 0) {
        ssize_t n = write(fd, data, (size_t)size);
        if (n <= 0) return;
        data += n;
        size -= n;
    }
}

static int copy(int s)
{
    struct pollfd fds[2] = {{.fd = STDIN_FILENO, .events = POLLIN}, {.fd = s, .events = POLLIN}};
    char data[LONGEST];
    for (;;) {
        poll(fds, 2, -1);
        if (fds[1].revents) {
            ssize_t n = read(s, data, sizeof data);
            if (n <= 0) return 0;
            send_all(STDOUT_FILENO, data, n);
        }
        if (fds[0].revents) {
            ssize_t n = read(STDIN_FILENO, data, sizeof data);
            if (n > 0) {
                send_all(s, data, n);
            } else {
                shutdown(s, SHUT_WR);
                fds[0].fd = -1;
            }
        }
    }
}

int main(int argc, char **argv)
{
    char command[LONGEST];
    size_t used = 0;
    int i = 1;
    signal(SIGPIPE, SIG_IGN);
    if (argc > 1 && !strcmp(argv[1], "-s")) return serve();
    while (i < argc && argv[i][0] == '-') i++;
    int s = i < argc ? reach(argv[i]) : -1;
    if (s < 0) {
        fprintf(stderr, "remote: cannot connect to %s\n", i < argc ? argv[i] : "no host");
        return 255;
    }
    command[0] = '\0';
    for (i++; i < argc && used < sizeof command; i++)
        used += (size_t)snprintf(command + used, sizeof command - used, "%s ", argv[i]);
    send_all(s, command, (ssize_t)strlen(command) + 1);
    return copy(s);
}
