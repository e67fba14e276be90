/* system_messages.h - the form of a system message (net_sys): a send of two words whose immediate
 * data are NET_IB_SYSTEM, from slots and into receive buffers that are set aside for them.
 * system_messages.c posts and releases them.
 */
#ifndef NET_IB_SYSTEM_MESSAGES_H
#define NET_IB_SYSTEM_MESSAGES_H

#include <stdbool.h>
#include <stdint.h>

/* Set aside on top of the ordinary depth, so that a system message never waits: work requests
 * of each send queue, and receive buffers of each peer. */
enum { NET_IB_SYS_SLOTS = 4, NET_IB_SYS_RECVS = 3 };

/* The immediate data of an Active Message (amrdma_rings.c) are below. */
enum { NET_IB_SYSTEM = INT32_MIN };

static inline bool net_ib_imm_is_system(uint32_t imm)
{
    return imm == (uint32_t)NET_IB_SYSTEM;
}

#endif
