/* list_lease.h - the right to use a published list of match entries, and its revocation.  Pure.
 *
 * A lease is the initiator's state: it asks for a peer's list after a number of requests to the
 * same table entry, counts the users of the list, and answers a revocation when the last user has
 * ended. Operations that are posted at once are not counted: the answer follows them, behind a
 * fence. A grant is the target's state. Messages between the two arrive in the order sent:
 *
 *     lease                            grant
 *     ASK            ------------>     granted
 *     held           <------------     LIST (empty: not granted; asks again much later)
 *     leaving        <------------     REVOKE
 *     none, REVOKED  ------------>     none: the match entries may change now
 *
 * Initiator and target may vanish at any time: the peer then calls ptli_lease_lost() and
 * ptli_grant_lost(). other/portals3/tests/model.c runs lease and grant with random messages.
 */
#ifndef PTLI_LEASE_H
#define PTLI_LEASE_H

#include <stdbool.h>
#include <stdint.h>

enum { PTLI_LEASE_FIRST = 4, PTLI_LEASE_PATIENCE = 16, PTLI_LEASE_MOST = 1 << 20 };

struct ptli_lease {
    enum { PTLI_LEASE_NONE, PTLI_LEASE_ASKED, PTLI_LEASE_HELD, PTLI_LEASE_LEAVING } state;
    uint32_t users;
    uint32_t requests, enough; /* since the last refusal; the number after which to ask */
    uint32_t epoch;            /* of the list */
};

/* A request was sent as a message.  True: ask for the list, after it.  */
static inline bool ptli_lease_request(struct ptli_lease *lease)
{
    if (lease->state != PTLI_LEASE_NONE) return false;
    if (!lease->enough) lease->enough = PTLI_LEASE_FIRST;
    if (++lease->requests < lease->enough) return false;
    lease->requests = 0;
    lease->state = PTLI_LEASE_ASKED;
    return true;
}

/* Counts a request that is sent as a message.  False, and it is not counted: the list is held, or
 * it is to be asked for.  */
static inline bool ptli_lease_passes(struct ptli_lease *lease)
{
    if (lease->state == PTLI_LEASE_HELD) return false;
    if (lease->state != PTLI_LEASE_NONE) return true;
    if (lease->requests + 1 >= lease->enough) return false;
    lease->requests++;
    return true;
}

/* The answer.  False: no answer was expected.  */
static inline bool ptli_lease_answered(struct ptli_lease *lease, bool granted, uint32_t epoch)
{
    if (lease->state != PTLI_LEASE_ASKED) return false;
    lease->state = granted ? PTLI_LEASE_HELD : PTLI_LEASE_NONE;
    lease->epoch = epoch;
    if (!granted && lease->enough < PTLI_LEASE_MOST) lease->enough *= PTLI_LEASE_PATIENCE;
    return true;
}

/* True: the list may be used, until release. */
static inline bool ptli_lease_hold(struct ptli_lease *lease)
{
    if (lease->state != PTLI_LEASE_HELD) return false;
    lease->users++;
    return true;
}

static inline bool ptli_lease_over(struct ptli_lease *lease)
{
    if (lease->state != PTLI_LEASE_LEAVING || lease->users) return false;
    lease->state = PTLI_LEASE_NONE;
    return true;
}

/* True: answer REVOKED now. */
static inline bool ptli_lease_release(struct ptli_lease *lease)
{
    lease->users--;
    return ptli_lease_over(lease);
}

static inline bool ptli_lease_revoke(struct ptli_lease *lease, uint32_t epoch)
{
    if (lease->state != PTLI_LEASE_HELD || lease->epoch != epoch) return false;
    lease->state = PTLI_LEASE_LEAVING;
    return ptli_lease_over(lease);
}

/* The peer is lost; the users of the list still release it.  */
static inline void ptli_lease_lost(struct ptli_lease *lease)
{
    lease->state = PTLI_LEASE_NONE;
    lease->requests = 0;
    lease->enough = PTLI_LEASE_FIRST;
}

struct ptli_grant {
    enum { PTLI_GRANT_NONE, PTLI_GRANT_GIVEN, PTLI_GRANT_REVOKED } state;
    uint32_t epoch;
};

/* True: the list is granted, unless ptli_grant_refuse follows.  */
static inline bool ptli_grant_asked(struct ptli_grant *grant)
{
    if (grant->state != PTLI_GRANT_NONE) return false;
    grant->state = PTLI_GRANT_GIVEN;
    grant->epoch++;
    return true;
}

/* Nothing is published: the peer holds no list.  */
static inline void ptli_grant_refuse(struct ptli_grant *grant)
{
    grant->state = PTLI_GRANT_NONE;
}

/* True: send REVOKE. */
static inline bool ptli_grant_revoke(struct ptli_grant *grant)
{
    if (grant->state != PTLI_GRANT_GIVEN) return false;
    grant->state = PTLI_GRANT_REVOKED;
    return true;
}

/* The peer returned the list, revoked or not.  False: it had none.  */
static inline bool ptli_grant_returned(struct ptli_grant *grant, uint32_t epoch)
{
    if (grant->state == PTLI_GRANT_NONE || grant->epoch != epoch) return false;
    grant->state = PTLI_GRANT_NONE;
    return true;
}

static inline void ptli_grant_lost(struct ptli_grant *grant)
{
    grant->state = PTLI_GRANT_NONE;
}

#endif
