/* patient.c - a connect() that waits until the port is listened on. Preloaded into clients by
 * udapl.sh.
 *
 * dtestx sends its client the address just before it listens there, and libdaploscm mistakes the
 * length of its private data when it retries a refused connection. For no other use.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <netinet/in.h>
#include <stdio.h>
#include <sys/socket.h>
#include <time.h>

static int listened_to(unsigned port)
{
    char line[256];
    unsigned at, state, found = 0;
    FILE *table = fopen("/proc/net/tcp", "re");
    while (table && !found && fgets(line, sizeof line, table))
        found = sscanf(line, " %*u: %*8x:%4x %*8x:%*4x %2x", &at, &state) == 2 && at == port &&
                state == 10;
    if (table) fclose(table);
    return found;
}

int connect(int fd, const struct sockaddr *to, socklen_t n)
{
    int type = 0;
    socklen_t size = sizeof type;
    int (*next)(int, const struct sockaddr *, socklen_t) = dlsym(RTLD_NEXT, "connect");
    getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &size);
    if (to->sa_family == AF_INET && type == SOCK_STREAM)
        while (!listened_to(ntohs(((const struct sockaddr_in *)to)->sin_port)))
            nanosleep(&(struct timespec){.tv_nsec = 5000000}, NULL);
    return next(fd, to, n);
}
