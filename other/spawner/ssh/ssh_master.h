/* ssh_master.h - what the launcher's event loop (ssh_master.c) shares with its half that deals
 * with other hosts (ssh_remote.c, ssh_unauthenticated.c).  Private to these. */
#ifndef SSH_MASTER_H
#define SSH_MASTER_H

#include "other/spawner/ssh/ssh_ask.h"
#include "other/spawner/ssh/ssh_children.h"
#include "other/spawner/ssh/ssh_job.h"
#include "other/spawner/ssh/ssh_place.h"
#include "other/spawner/ssh/ssh_shell.h"
#include "other/tools/patience.h"

#include <poll.h>

enum ssh_timer {
    SSH_TIMER_TERM,      /* ranks told to end get SIGTERM */
    SSH_TIMER_KILL,      /* and then SIGKILL */
    SSH_TIMER_GIVE_UP,   /* something does not die even so */
    SSH_TIMER_INTERRUPT, /* a signal was passed on, and the job should be over by now */
    SSH_TIMER_SILENCE,   /* a rank hung up but its process lives on */
    SSH_TIMER_CONNECT,   /* control processes should be there by now */
    SSH_TIMER_SLOW,      /* those that are not there yet are named */
    SSH_TIMER_HELD,      /* who wanted to complain alike has done so by now */
    SSH_TIMER_LEAVING,   /* ranks want to end: time to look whether the others had theirs */
    SSH_TIMER_ASK,       /* ranks should have answered a question by now */
    SSH_TIMER_ECHO,      /* some ranks have left: control processes should have answered by now */
    SSH_TIMER_MUTE,      /* the job ends: who is still mute is left */
    SSH_TIMER_UNAUTHENTICATED, /* who connected should have said who he is */
    SSH_TIMER_LINES,           /* output without an end of line has waited long enough */
    SSH_TIMERS
};

/* A block of ranks; the fields below `local_first` are for remote ones. */
struct ssh_host_slot {
    const struct ssh_host_slot_plan *plan;
    uint32_t local_first; /* index among the local children */
    uint32_t starter;     /* slot whose control process starts this one's, or SSH_LAUNCHER */
    uint32_t below;       /* slots that it starts itself */
    bool told;            /* its starter was told to start it */
    bool joined, lost;
    bool heard;             /* since it was asked */
    struct ssh_link link;   /* to the control process */
    struct ssh_shell shell; /* if we are the starter */
};

static const uint32_t SSH_LAUNCHER = UINT32_MAX;

enum {
    SSH_UNAUTHENTICATED_MAX = 64, /* connections that may be waiting to prove themselves */
    SSH_UNAUTHENTICATED_FDS = 1 + SSH_UNAUTHENTICATED_MAX, /* and the listener */
};
struct ssh_unauthenticated;

struct ssh_master {
    const struct ssh_request *request;
    struct ssh_plan plan;
    struct ssh_job job;
    struct ssh_children kids;
    struct ssh_host_slot *slots; /* [plan.count] */
    uint32_t *slot_of;           /* [ranks] */
    bool *silent;                /* [ranks] */
    struct ssh_parcel *welcome;
    struct ssh_program program;
    struct ssh_ask ask;
    int64_t due[SSH_TIMERS];          /* milliseconds of the monotonic clock; 0: off */
    struct gasneti_patience patience; /* with ranks that have not asked to end, while others have */
    uint32_t patient_since;           /* ranks that had asked when it began */
    struct gasneti_processors processors;
    bool end_started;
    bool gave_up;

    /* remote side */
    uint32_t remotes;
    int64_t asked; /* when all were asked for a sign of life */
    int listener;
    uint16_t port;
    char secret[SSH_WIRE_SECRET + 1];
    struct ssh_unauthenticated *unauthenticated[SSH_UNAUTHENTICATED_MAX];
    char input[4096]; /* stdin on its way to a remote rank 0 */
    size_t input_len, input_at;
    bool input_ended;
};

int64_t ssh_now_ms(void);
void ssh_timer_set(struct ssh_master *m, enum ssh_timer timer, int64_t milliseconds);
void ssh_master_frame(struct ssh_master *m, uint32_t rank, const struct ssh_wire_frame *frame);
void ssh_master_silent(struct ssh_master *m, uint32_t rank);

/* --- ssh_remote.c; all do nothing in a job without remote hosts --- */

/* The command that starts slot `s`; the caller frees it with shell_free. False: reported. */
bool ssh_remote_command(const struct ssh_master *m, uint32_t s, struct shell_words *command);
bool ssh_remote_start(struct ssh_master *m);
/* Descriptors to poll, at most ssh_remote_poll_max(m); ready ones are handled afterwards. */
size_t ssh_remote_poll_max(const struct ssh_master *m);
size_t ssh_remote_poll(struct ssh_master *m, struct pollfd *fds);
void ssh_remote_ready(struct ssh_master *m, const struct pollfd *fds, size_t count);
/* True if that was the pid of a remote shell of ours. */
bool ssh_remote_shell_ended(struct ssh_master *m, pid_t pid, int status);
void ssh_remote_send(struct ssh_host_slot *slot, struct ssh_parcel *parcel);
void ssh_remote_signal(struct ssh_host_slot *slot, uint32_t rank, int signo);
/* The job ends: nobody is waited for any more. */
void ssh_remote_end(struct ssh_master *m);
void ssh_remote_connect_late(struct ssh_master *m);
/* Says which hosts are still waited for, and until when. */
void ssh_remote_connect_slow(struct ssh_master *m);
/* How many control processes have not come yet; `first`: a slot of those, may be NULL. */
uint32_t ssh_remote_awaited(const struct ssh_master *m, const struct ssh_host_slot **first);
void ssh_remote_flush_lines(struct ssh_master *m);
/* A connection turned out to be this slot's control process. */
void ssh_remote_joined(struct ssh_master *m, struct ssh_host_slot *slot, int fd);
/* Asks all control processes for a sign of life; when the time is up the job ends if one gave
 * none, else all are asked again.  `leave_mute`: the job ends, nothing is expected of them any
 * more. */
void ssh_remote_ask_echo(struct ssh_master *m);
void ssh_remote_no_echo(struct ssh_master *m);
void ssh_remote_leave_mute(struct ssh_master *m);
/* The job is over: tells the control processes; true once all shells are gone and all is said. */
bool ssh_remote_finished(struct ssh_master *m);
void ssh_remote_close(struct ssh_master *m);

/* --- ssh_unauthenticated.c --- */

/* Makes the job's secret and listens for control processes; false: errno tells. */
bool ssh_unauthenticated_open(struct ssh_master *m);
size_t ssh_unauthenticated_poll(const struct ssh_master *m, struct pollfd *fds);
void ssh_unauthenticated_ready(struct ssh_master *m, const struct pollfd *fds, size_t count);
/* Those who have not said who they are in time go. */
void ssh_unauthenticated_late(struct ssh_master *m);
void ssh_unauthenticated_close(struct ssh_master *m);

/* --- both: lists of descriptors to poll --- */

static inline void ssh_poll_add(struct pollfd *fds, size_t *count, int fd, short events)
{
    if (fd >= 0) fds[(*count)++] = (struct pollfd){.fd = fd, .events = events};
}

static inline short ssh_poll_ready(const struct pollfd *fds, size_t count, int fd)
{
    for (size_t i = 0; fd >= 0 && i < count; i++)
        if (fds[i].fd == fd) return fds[i].revents;
    return 0;
}

#endif
