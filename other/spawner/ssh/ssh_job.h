/* ssh_job.h - the life of one job as its launcher sees it: a state machine.
 *
 * Pure: events in (a message, a process's end, a lost host), orders out through one callback and
 * two fields (`ending`, `reason`).  No I/O, no clock, no processes: ssh_master.c has those.
 */
#ifndef SSH_JOB_H
#define SSH_JOB_H

#include "other/spawner/ssh/ssh_wire.h"

enum ssh_rank_phase {
    SSH_RANK_STARTED,   /* process exists, has not joined */
    SSH_RANK_JOINED,    /* came through bootstrap_init */
    SSH_RANK_ANNOUNCED, /* said that it leaves in good order */
    SSH_RANK_GONE,
};

struct ssh_job_rank {
    enum ssh_rank_phase phase;
    bool armed; /* ends itself in its own way when told to */
    bool contributed;
    uint32_t code;   /* largest it announced, or asked to end or exited with */
    bool leaving;    /* asked to end */
    char *complaint; /* why it aborts, two strings; NULL if it has not said */
    bool silenced;   /* it has, of what is told once and another has said before */
    bool aborted;
    const char *host;
    struct ssh_wire_assembly in;
    struct ssh_wire_buf part;     /* its share of the collective call under way */
    struct ssh_wire_message call; /* what it called */
};

/* Sends a message to one rank, or to SSH_WIRE_ALL. */
typedef void (*ssh_job_send_fn)(void *ctx, uint32_t rank, enum ssh_wire_type type, const void *data,
                                size_t len);

struct ssh_job {
    uint32_t size;
    struct ssh_job_rank *ranks;
    ssh_job_send_fn send;
    void *ctx;
    const char *program; /* for messages; the caller sets it */

    uint32_t contributed; /* ranks that made the collective call under way */
    uint32_t first_caller;
    uint32_t joined, gone;
    uint32_t left_unjoined; /* 1 + a rank that exited with 0 without ever joining; 0: none */

    uint32_t leaving;     /* ranks that asked to end */
    double leave_seconds; /* that the others have for it since the last of them did */
    bool called;          /* those that had not were told */
    bool settled;         /* all have */

    bool held;        /* ranks that complained want the end; others may want the same */
    char *once;       /* the first complaint of those that are told once, two strings, or NULL */
    int interrupt;    /* signal passed on to the job, 0 if none */
    bool ending;      /* the job must end now; set once */
    int code;         /* exit status of an ended job */
    bool cut;         /* it would be 0, had not some been ended before they asked to end */
    char reason[1024]; /* one line, empty if there is nothing to say */
};

/* hosts[r] names rank r's host in messages; must outlive the job.  False: out of memory. */
bool ssh_job_open(struct ssh_job *job, uint32_t size, const char *const *hosts,
                  ssh_job_send_fn send, void *ctx);
void ssh_job_close(struct ssh_job *job);

/* A frame came from `rank`'s process (the caller vouches for the sender). */
void ssh_job_frame(struct ssh_job *job, uint32_t rank, const struct ssh_wire_frame *frame);
/* A rank's process ended with this wait status; everything it sent has been delivered before. */
void ssh_job_ended(struct ssh_job *job, uint32_t rank, int wait_status);
/* A rank closed its connection some time ago, yet its process (a wrapper, then) lives on. */
void ssh_job_silent(struct ssh_job *job, uint32_t rank);
/* True if that would be news: the rank had joined and not announced its leave. */
bool ssh_job_silence_matters(const struct ssh_job *job, uint32_t rank);
/* Ends the job without a word: the caller has said why. */
void ssh_job_end(struct ssh_job *job, int code);
/* Ends the job for a reason of the caller's; ranks `first`.. for `count` are beyond reach. */
void ssh_job_fail(struct ssh_job *job, int code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
void ssh_job_unreachable(struct ssh_job *job, uint32_t first, uint32_t count);

/* Some ranks asked to end, and the others had time to do so by themselves: those are told. */
void ssh_job_call(struct ssh_job *job);
/* They had time to follow as well, and the job ends without them. */
void ssh_job_late(struct ssh_job *job);

/* The ranks had time to complain alike. */
void ssh_job_release(struct ssh_job *job);
/* The next complaint with all ranks that made the same: `line` is what to tell people.  False: all
 * have been told. */
bool ssh_job_next_complaint(struct ssh_job *job, char *line, size_t size);

bool ssh_job_over(const struct ssh_job *job);
/* The launcher's exit status, once over. */
int ssh_job_status(const struct ssh_job *job);

#endif
