/* system_messages.h - the form of a system message (net_sys): a send of two words whose immediate
 * data are NET_IB_SYSTEM, from slots and into receive buffers that are set aside for them.
 * system_messages.c posts and releases them.
 *
 * iWARP has no immediate data: there a word is in front of the two, which no Active Message begins
 * with.  The end that calls sends first, and greets the other by such a word alone; the other may
 * not send before.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* Work requests of each send queue, and receive buffers of each peer, beyond the ordinary depth: a
 * system message never waits. */
enum { NET_IB_SYS_SLOTS = 4, NET_IB_SYS_RECVS = 3 };

/* The immediate data of a system message; those of an Active Message (amrdma_rings.c) are less,
 * as unsigned numbers. */
enum { NET_IB_SYSTEM = INT32_MIN };

static inline bool net_ib_imm_is_system(uint32_t imm)
{
    return imm == (uint32_t)NET_IB_SYSTEM;
}

/* The first words of messages on iWARP.  The first byte of an Active Message is less
 * (core/am/am_wire.h). */
#define NET_IB_WORD_SYSTEM UINT64_MAX
#define NET_IB_WORD_FIRST  (UINT64_MAX - 256)
