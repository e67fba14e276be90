/* ssh_meeting.h - a control process and the launcher find each other, over a network that anyone
 * may use.
 *
 * The control process connects and sends JOIN; the launcher answers with CHALLENGE, which proves
 * that it knows the job's secret; then the control process sends PROOF that it does.  All that
 * follows is sealed (ssh_seal.h), beginning with the launcher's SETUP.  Neither sends anything else
 * before, nor obeys.  Until then the launcher may close the connection in favour of another one,
 * and the control process connects again.  No call blocks but ssh_meeting_find, and none reads
 * behind the message that is due.
 */
#ifndef SSH_MEETING_H
#define SSH_MEETING_H

#include "other/launch/ssh/ssh_seal.h"

enum { SSH_MEETING_LONGEST = SSH_WIRE_HEADER + SSH_WIRE_NONCE + SSH_WIRE_PROOF_LEN };

/* An end of a connection that is not yet trusted. */
struct ssh_meeting {
    int fd;                           /* -1: none */
    uint32_t slot;                    /* slot that the control process claims */
    uint8_t join[4 + SSH_WIRE_NONCE]; /* the control process's first message */
    uint8_t nonce[SSH_WIRE_NONCE];    /* the launcher's random bytes */
    uint8_t in[SSH_MEETING_LONGEST];  /* the message that is due */
    size_t got;
};

/* ENDED: the peer has closed the connection; WRONG: the peer has sent another message than the one
 * that is due. */
enum ssh_meeting_news { SSH_MEETING_NONE, SSH_MEETING_DONE, SSH_MEETING_ENDED, SSH_MEETING_WRONG };

/* --- the launcher's end; the caller decides about the slot --- */

/* DONE: JOIN has come, and m->slot is set. */
enum ssh_meeting_news ssh_meeting_on_join(struct ssh_meeting *m);
bool ssh_meeting_challenge(struct ssh_meeting *m, const char *secret);
/* DONE: the other end knows the secret; `seals` are the connection's. */
enum ssh_meeting_news ssh_meeting_on_proof(struct ssh_meeting *m, const char *secret,
                                           struct ssh_seals *seals);

/* --- the control process --- */

/* Connects to the launcher of the job: at that of the addresses, separated by commas, where one
 * that knows the secret answers.  They are tried in turn, each a moment after the one before it,
 * and the first that proves it is taken.  Returns the connection, or -1 with the reason in `why`.
 */
int ssh_meeting_find(char *addresses, uint16_t port, uint32_t slot, const char *secret,
                     struct ssh_seals *seals, char *why, size_t size);

#endif
