/* ssh_master.h - the launcher's state, shared by its event loop (ssh_master.c) and its part for
 * other hosts (ssh_remote.c, ssh_unauthenticated.c).  Private to these. */
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
    SSH_TIMER_TERM,            /* ranks ordered to end get SIGTERM */
    SSH_TIMER_KILL,            /* ranks get SIGKILL */
    SSH_TIMER_GIVE_UP,         /* a process survives SIGKILL */
    SSH_TIMER_INTERRUPT,       /* a signal was forwarded, and the job should have ended */
    SSH_TIMER_SILENCE,         /* a rank closed its connection, and its process still runs */
    SSH_TIMER_ENDING,          /* a rank closed its connection, and the kernel is ending it */
    SSH_TIMER_CONNECT,         /* control processes should have connected */
    SSH_TIMER_SLOW,            /* hosts not connected yet are named */
    SSH_TIMER_HELD,            /* the pause for further complaints is over */
    SSH_TIMER_LEAVING,         /* ranks wait for others to end: the load is read */
    SSH_TIMER_ASK,             /* ranks should have answered --stats */
    SSH_TIMER_ECHO,            /* some ranks have ended: control processes should have answered */
    SSH_TIMER_MUTE,            /* the job ends: silent control processes are given up */
    SSH_TIMER_UNAUTHENTICATED, /* a client should have sent the secret */
    SSH_TIMER_LINES,           /* an unfinished line of output is forwarded */
    SSH_TIMERS
};

/* A block of ranks; the fields from `starter` on are for remote hosts. */
struct ssh_host_slot {
    const struct ssh_host_slot_plan *plan;
    uint32_t local_first; /* index among the local children */
    uint32_t starter;     /* slot whose control process starts that of this one, or SSH_LAUNCHER */
    uint32_t below;       /* number of slots that it starts */
    bool ordered;         /* its starter was ordered to start it */
    bool joined, lost;
    bool answered;          /* a frame came since the last ECHO */
    struct ssh_link link;   /* to the control process */
    struct ssh_shell shell; /* if the launcher is the starter */
};

static const uint32_t SSH_LAUNCHER = UINT32_MAX;

enum {
    SSH_UNAUTHENTICATED_MAX = 64, /* connections that have not sent the secret yet */
    SSH_UNAUTHENTICATED_FDS = 1 + SSH_UNAUTHENTICATED_MAX, /* with the listener */
};
struct ssh_unauthenticated;

struct ssh_master {
    const struct ssh_request *request;
    struct ssh_plan plan;
    struct ssh_job job;
    struct ssh_children kids;
    struct ssh_host_slot *slots; /* [plan.count] */
    uint32_t *slot_of;           /* [ranks] */
    enum ssh_timer *silent;      /* [ranks]: SILENCE or ENDING; 0: the rank is connected */
    struct ssh_parcel *welcome;
    struct ssh_ask ask;
    int64_t due[SSH_TIMERS];          /* milliseconds of the monotonic clock; 0: off */
    struct gasneti_patience patience; /* the time left to ranks that have not asked to end */
    uint32_t patient_since;           /* ranks that had asked when it was set */
    struct gasneti_processors processors;
    bool end_started;
    bool gave_up;

    /* remote side */
    uint32_t remotes;
    int64_t asked; /* time of the last ECHO */
    int listener;
    uint16_t port;
    char secret[SSH_WIRE_SECRET + 1];
    struct ssh_unauthenticated *unauthenticated[SSH_UNAUTHENTICATED_MAX];
    char input[4096]; /* standard input for a remote rank 0 */
    size_t input_len, input_at;
    bool input_ended;
};

int64_t ssh_now_ms(void);
void ssh_timer_set(struct ssh_master *m, enum ssh_timer timer, int64_t milliseconds);
void ssh_master_frame(struct ssh_master *m, uint32_t rank, const struct ssh_wire_frame *frame);
/* `rank` closed its connection; `ending`: the kernel is ending its process. */
void ssh_master_silent(struct ssh_master *m, uint32_t rank, bool ending);

/* --- ssh_remote.c; all do nothing in a job without remote hosts --- */

/* The command that starts slot `s`; the caller frees it with shell_free.  Returns false with a
 * message. */
bool ssh_remote_command(const struct ssh_master *m, uint32_t s, struct shell_words *command);
bool ssh_remote_start(struct ssh_master *m);
/* Fills at most ssh_remote_poll_max(m) entries to poll; ssh_remote_ready handles those that are
 * ready. */
size_t ssh_remote_poll_max(const struct ssh_master *m);
size_t ssh_remote_poll(struct ssh_master *m, struct pollfd *fds);
void ssh_remote_ready(struct ssh_master *m, const struct pollfd *fds, size_t count);
/* Whether `pid` was a remote shell of the launcher. */
bool ssh_remote_shell_ended(struct ssh_master *m, pid_t pid, int status);
void ssh_remote_send(struct ssh_host_slot *slot, struct ssh_parcel *parcel);
void ssh_remote_signal(struct ssh_host_slot *slot, uint32_t rank, int signo);
/* The job ends: hosts not connected yet are given up. */
void ssh_remote_end(struct ssh_master *m);
void ssh_remote_connect_late(struct ssh_master *m);
/* Names a host that is waited for, and the time left. */
void ssh_remote_connect_slow(struct ssh_master *m);
/* Returns how many control processes have not connected; `first`, which may be NULL: a slot of
 * these. */
uint32_t ssh_remote_awaited(const struct ssh_master *m, const struct ssh_host_slot **first);
void ssh_remote_flush_lines(struct ssh_master *m);
/* A connection has sent the secret and the number of this slot. */
void ssh_remote_joined(struct ssh_master *m, struct ssh_host_slot *slot, int fd);
/* ssh_remote_ask_echo sends ECHO to all control processes.  ssh_remote_no_echo, when the time is
 * up, ends the job if one has not answered, else asks all again.  ssh_remote_leave_mute: the job
 * ends, and silent ones are given up. */
void ssh_remote_ask_echo(struct ssh_master *m);
void ssh_remote_no_echo(struct ssh_master *m);
void ssh_remote_leave_mute(struct ssh_master *m);
/* The job is over: closes the connections; returns true when all remote shells have ended and
 * their output is forwarded. */
bool ssh_remote_finished(struct ssh_master *m);
void ssh_remote_close(struct ssh_master *m);

/* --- ssh_unauthenticated.c --- */

/* Makes the job's secret and listens for control processes; returns false with errno. */
bool ssh_unauthenticated_open(struct ssh_master *m);
size_t ssh_unauthenticated_poll(const struct ssh_master *m, struct pollfd *fds);
void ssh_unauthenticated_ready(struct ssh_master *m, const struct pollfd *fds, size_t count);
/* Drops clients that have not sent the secret in time. */
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
