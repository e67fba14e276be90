/* ssh_master.h - the launcher's state, shared by its event loop (ssh_master.c) and its part for
 * other hosts (ssh_remote.c, ssh_input.c, ssh_unauthenticated.c).  Private to these. */
#ifndef SSH_MASTER_H
#define SSH_MASTER_H

#include <poll.h>

#include "other/base/patience.h"
#include "other/launch/ssh/ssh_ask.h"
#include "other/launch/ssh/ssh_children.h"
#include "other/launch/ssh/ssh_job.h"
#include "other/launch/ssh/ssh_placement.h"
#include "other/launch/ssh/ssh_shell.h"
#include "other/launch/ssh/ssh_watch.h"

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
    SSH_TIMER_ASK,             /* a client should have asked, or ranks answered it */
    SSH_TIMER_WATCH,           /* the watchdog looks at what the ranks have announced */
    SSH_TIMER_ECHO,            /* some ranks have ended: control processes should have answered */
    SSH_TIMER_MUTE,            /* the job ends: silent control processes are given up */
    SSH_TIMER_UNAUTHENTICATED, /* a client should have proved that it knows the secret */
    SSH_TIMER_LINES,           /* an unfinished line of output is forwarded */
    SSH_TIMER_INPUT,           /* the job is in the background: it may be in the foreground now */
    SSH_TIMER_OUTPUT,          /* the job ends, and its reader should have taken some output */
    SSH_TIMER_STARTING,        /* ranks that have joined are counted for the user */
    SSH_TIMER_READER,          /* the reader is gone, and the job should have ended by itself */
    SSH_TIMERS
};

/* A block of ranks; the fields from `starter` on are for remote hosts. */
struct ssh_host_slot {
    const struct ssh_placed_slot *placement;
    uint32_t local_first; /* index among the local children */
    uint32_t starter;     /* slot whose control process starts that of this one, or SSH_LAUNCHER */
    uint32_t below;       /* number of slots that it starts */
    bool ordered;         /* the starter was ordered to start the control process */
    bool joined, lost;
    bool dismissed;           /* the control process was told that the job is over */
    bool answered;            /* a frame came since the last ECHO */
    struct ssh_stream stream; /* to the control process */
    struct ssh_shell shell;   /* if the launcher is the starter */
};

static const uint32_t SSH_LAUNCHER = UINT32_MAX;

struct ssh_unauthenticated;

/* Standard input for a rank 0 that does not share it. */
struct ssh_input {
    char bytes[4096];
    size_t len, at;  /* bytes[at .. len) are not forwarded yet */
    bool told;       /* the control process of rank 0 has reported... */
    uint32_t unread; /* ...how much of what was forwarded rank 0 has not read */
};

struct ssh_master {
    const struct ssh_request *request;
    struct ssh_placement placement;
    struct ssh_job job;
    struct ssh_children children;
    struct ssh_host_slot *slots; /* [placement.count] */
    uint32_t *slot_of;           /* [ranks] */
    enum ssh_timer *silent;      /* [ranks]: SILENCE or ENDING; 0: the rank is connected */
    struct ssh_parcel *welcome;
    struct ssh_ask ask;
    struct ssh_watch watch;
    int64_t due[SSH_TIMERS];          /* milliseconds of the monotonic clock; 0: off */
    struct gasneti_patience patience; /* the time left to ranks that have not asked to end */
    uint32_t patient_since;           /* ranks that had asked when it was set */
    struct gasneti_processors processors;
    int64_t interrupted;  /* milliseconds of the monotonic clock when job.interrupt came */
    uint64_t output_done; /* bytes written when SSH_TIMER_OUTPUT was set */
    bool end_started;
    bool gave_up;
    bool output_given_up;
    bool output_lost; /* by a control process */

    /* remote side */
    uint32_t remotes;
    int64_t asked; /* time of the last ECHO */
    int listener;
    uint16_t port;
    char secret[SSH_WIRE_SECRET + 1];
    struct ssh_unauthenticated **unauthenticated; /* table of `places` connections, NULL: free
                                                     entry */
    size_t places; /* number of connections that may not yet have proved to be of the job */
    struct ssh_input input;
};

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
/* Gives up hosts that are not connected yet, as the job ends. */
void ssh_remote_end(struct ssh_master *m);
void ssh_remote_connect_late(struct ssh_master *m);
/* Names a host that is waited for, and the time left. */
void ssh_remote_connect_slow(struct ssh_master *m);
/* Returns how many control processes have not connected; `first`, which may be NULL: a slot of
 * these. */
uint32_t ssh_remote_awaited(const struct ssh_master *m, const struct ssh_host_slot **first);
void ssh_remote_flush_lines(struct ssh_master *m);
/* The slot's control process has connected, and proved it: takes over `fd`. */
void ssh_remote_joined(struct ssh_master *m, struct ssh_host_slot *slot, int fd,
                       const struct ssh_seals *seals);
/* ssh_remote_ask_echo sends ECHO to all control processes. ssh_remote_no_echo, when the time is up,
 * ends the job if a control process has not answered; if all have, it sends ECHO again.
 * ssh_remote_leave_mute: the job ends, and silent control processes are given up. */
void ssh_remote_ask_echo(struct ssh_master *m);
void ssh_remote_no_echo(struct ssh_master *m);
void ssh_remote_leave_mute(struct ssh_master *m);
/* Announces the end of the job to the control processes; returns true when these and all remote
 * shells have ended and their output is forwarded. */
bool ssh_remote_finished(struct ssh_master *m);
/* Bytes of output that have arrived and have not been read. */
size_t ssh_remote_unread(const struct ssh_master *m);
void ssh_remote_close(struct ssh_master *m);

/* --- ssh_input.c --- */

enum { SSH_INPUT_FDS = 1 };
/* The launcher forwards input to rank 0, which is on this machine, by the pipe of ssh_input_open.
 */
void ssh_input_forward(struct ssh_master *m, int forward);
size_t ssh_input_poll(struct ssh_master *m, struct pollfd *fds);
void ssh_input_ready(struct ssh_master *m, const struct pollfd *fds, size_t count);
/* Returns input that rank 0 has not read to the file, for the next reader, when the job is over. */
void ssh_input_return(const struct ssh_master *m);

/* --- ssh_unauthenticated.c --- */

/* Makes the job's secret and listens for control processes; returns false with errno. */
bool ssh_unauthenticated_open(struct ssh_master *m);
size_t ssh_unauthenticated_poll_max(const struct ssh_master *m);
size_t ssh_unauthenticated_poll(const struct ssh_master *m, struct pollfd *fds);
void ssh_unauthenticated_ready(struct ssh_master *m, const struct pollfd *fds, size_t count);
/* Drops clients that have not proved in time that they know the secret. */
void ssh_unauthenticated_late(struct ssh_master *m);
void ssh_unauthenticated_close(struct ssh_master *m);

/* --- lists of descriptors to poll, for all files of the launcher --- */

static inline void ssh_poll_add(struct pollfd *fds, size_t *count, int fd, short events)
{
    if (fd >= 0) fds[(*count)++] = (struct pollfd){.fd = fd, .events = events};
}

/* Returns the events of `fd`, or 0. The search begins at *at, which becomes the index that was
 * found: short for a caller that asks in the order of the list. */
static inline short ssh_poll_ready_from(const struct pollfd *fds, size_t count, int fd, size_t *at)
{
    for (size_t i = 0; fd >= 0 && i < count; i++) {
        const size_t k = *at + i < count ? *at + i : *at + i - count;
        if (fds[k].fd == fd) return *at = k, fds[k].revents;
    }
    return 0;
}

static inline short ssh_poll_ready(const struct pollfd *fds, size_t count, int fd)
{
    size_t at = 0;
    return ssh_poll_ready_from(fds, count, fd, &at);
}

#endif
