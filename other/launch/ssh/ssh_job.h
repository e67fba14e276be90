/* ssh_job.h - the state machine of one job in its launcher.
 *
 * Pure.  Input: messages, ends of processes, lost hosts.  Output: messages through one callback,
 * and the fields `ending` and `reason`.  I/O, time and processes are in ssh_master.c.
 */
#ifndef SSH_JOB_H
#define SSH_JOB_H

#include "other/launch/ssh/ssh_wire.h"

enum ssh_rank_phase {
    SSH_RANK_STARTED,   /* process exists, has not joined */
    SSH_RANK_JOINED,    /* has called bootstrap_init */
    SSH_RANK_ANNOUNCED, /* announced an orderly end (bootstrap_fini) */
    SSH_RANK_GONE,
};

struct ssh_job_rank {
    enum ssh_rank_phase phase;
    bool armed; /* has a death function (bootstrap_watch) */
    bool contributed;
    uint32_t code;   /* largest code that it announced, asked to end with or exited with */
    bool leaving;    /* asked to end */
    char *complaint; /* why it aborts: two strings, or NULL */
    bool silenced;   /* the complaint is left out: of those reported once, another came first */
    bool aborted;
    const char *host;
    struct ssh_wire_assembly in;
    struct ssh_wire_buf part;     /* the rank's contribution to the collective call in progress */
    struct ssh_wire_message call; /* the collective call that the rank made */
};

/* Sends a message to one rank, or to SSH_WIRE_ALL. */
typedef void (*ssh_job_send_fn)(void *ctx, uint32_t rank, enum ssh_wire_type type, const void *data,
                                size_t len);

struct ssh_job {
    uint32_t size;
    struct ssh_job_rank *ranks;
    ssh_job_send_fn send;
    void *ctx;
    const char *program; /* for messages; set by the caller */

    uint32_t contributed; /* ranks that contributed to the collective call in progress */
    uint32_t first_caller;
    uint32_t joined, gone;
    uint32_t left_unjoined; /* 1 + a rank that exited with 0 before it joined; 0: none */

    uint32_t leaving;     /* ranks that asked to end */
    double leave_seconds; /* time for the others, counted from the last request */
    bool called;          /* ssh_job_call has asked the other ranks to end */
    bool settled;         /* all ranks have asked to end */

    bool held;         /* a rank that complained aborts; others may do the same */
    char *once;        /* the first complaint of those reported once: two strings, or NULL */
    int interrupt;     /* signal forwarded to the job; 0: none */
    bool ending;       /* the job must end now; set once */
    int code;          /* exit status of an ended job */
    bool cut;          /* `code` was 0 before ranks were ended that had not asked to end */
    char reason[1024]; /* a line for the user, empty if there is nothing to say */
};

/* hosts[r] is the name of rank r's host; must outlive the job.  Returns false when out of memory.
 */
bool ssh_job_open(struct ssh_job *job, uint32_t size, const char *const *hosts,
                  ssh_job_send_fn send, void *ctx);
void ssh_job_close(struct ssh_job *job);

/* Takes a frame from the process of `rank`; the caller has checked the sender. */
void ssh_job_frame(struct ssh_job *job, uint32_t rank, const struct ssh_wire_frame *frame);
/* A rank's process ended with this wait status; all its frames have been delivered before. */
void ssh_job_ended(struct ssh_job *job, uint32_t rank, int wait_status);
/* A rank closed its connection some time ago, and its process or a wrapper still runs. */
void ssh_job_silent(struct ssh_job *job, uint32_t rank);
/* Whether a closed connection is a failure: the rank had joined and not announced its end. */
bool ssh_job_silence_matters(const struct ssh_job *job, uint32_t rank);
/* Ends the job without a message; the caller has printed one. */
void ssh_job_end(struct ssh_job *job, int code);
/* Ends the job with a message; marks ranks as unreachable. */
void ssh_job_fail(struct ssh_job *job, int code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
void ssh_job_unreachable(struct ssh_job *job, uint32_t first, uint32_t count);

/* Asks the ranks that have not asked to end to do so; called when half of the time is over. */
void ssh_job_call(struct ssh_job *job);
/* Ends the job without the ranks that have not asked to end; called when the whole time is over. */
void ssh_job_late(struct ssh_job *job);

/* Reports the complaints; called when the pause for further ones is over. */
void ssh_job_release(struct ssh_job *job);
/* Writes the next complaint, with all ranks that made it, to `line`; returns false when all have
 * been written. */
bool ssh_job_next_complaint(struct ssh_job *job, char *line, size_t size);

bool ssh_job_over(const struct ssh_job *job);
/* The launcher's exit status, once the job is over. */
int ssh_job_status(const struct ssh_job *job);

#endif
