/* ask_socket.h - the address of the socket on which a running job answers gasnetrun --stats,
 * --why and --top, and the check of credentials on both ends.
 *
 * The ssh launcher answers for its whole job.  With mpi and pmix each rank answers for itself, on
 * its own host.  Addresses are in the abstract namespace: no file is created.
 */
#ifndef ASK_SOCKET_H
#define ASK_SOCKET_H

#include <inttypes.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

/* What a client sends first: one byte, the character of its enum bootstrap_question. */
#define ASK_QUESTIONS "swt"

enum { ASK_ANSWER_MS = 3000 }; /* within which a rank answers, unless it is stopped */

#define ASK_NAME "gasnetrun/%d"          /* the job's number */
#define ASK_RANK "/%" PRIu32 "/%" PRIu32 /* then the rank, and how many there are */

/* With `size` 0 the address of the launcher of job `job`, otherwise that of one of its ranks. */
static inline socklen_t ask_address(int job, uint32_t rank, uint32_t size,
                                    struct sockaddr_un *address)
{
    *address = (struct sockaddr_un){.sun_family = AF_UNIX};
    size_t room = sizeof address->sun_path - 1;
    int n = size ? snprintf(address->sun_path + 1, room, ASK_NAME ASK_RANK, job, rank, size)
                 : snprintf(address->sun_path + 1, room, ASK_NAME, job);
    return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)n);
}

/* Whether the process at the other end belongs to this user or to root. */
static inline bool ask_trusted(int fd, uid_t *other)
{
    struct ucred peer = {.uid = (uid_t)-1};
    socklen_t len = sizeof peer;
    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len)) return false;
    *other = peer.uid;
    return peer.uid == geteuid() || peer.uid == 0;
}

#endif
