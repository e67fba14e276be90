/* network.c - the calls of core/network.h that are no inline functions, without a network. */
#include "core/network.h"

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "core/report.h"

/* --- start-up and end --- */

void net_open(uint32_t peers, struct net_caps *caps)
{
    *caps = (struct net_caps){
        .device = "shared memory",
        .unreachable = "smp-conduit has no network",
        .transfer_max = SIZE_MAX,
        .am_max = 4096,
        .region_max = SIZE_MAX,
        .credits = 1,
        .ordered = true,
    };
}

size_t net_address_size(void)
{
    return 0;
}

void net_address(net_peer_t *peer, void *address) {}

void net_connect(net_peer_t *peer, const void *address) {}

size_t net_contact_size(void)
{
    return 0;
}

void net_contact(void *contact) {}

void net_set_contact(net_peer_t *peer, const void *contact) {}

void net_start(void) {}

void net_close(void) {}

void net_report_at_exit(void) {}

/* --- memory: nothing is registered --- */

void *net_alloc(size_t size)
{
    void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return memory == MAP_FAILED ? NULL : memory;
}

/* The process is about to end. */
void net_free(void *memory) {}

void net_explain_register(int error, size_t size, char *text, size_t text_size)
{
    snprintf(text, text_size, "%s", strerror(error));
}

bool net_register(void *start, size_t size, enum net_access access, net_region_t *region)
{
    region->used = true;
    return true;
}

void net_deregister(net_region_t *region)
{
    region->used = false;
}

net_key_t net_key(const net_region_t *region)
{
    return (net_key_t){0};
}

/* --- what takes a peer --- */

void net_smp_reached(const net_peer_t *peer)
{
    gasneti_fatal("rank %u is to be reached by a network, and smp-conduit has none: this is an "
                  "error of the library",
                  peer->rank);
}

/* The launcher coordinates an exit.  Ranks that it does not answer send such messages; without them
 * each ends when the exit time is over. */
enum net_result net_sys(net_peer_t *peer, uint64_t word0, uint64_t word1)
{
    return NET_POSTED;
}

bool net_quiet(void)
{
    return true;
}

void net_release_system(net_message_t *message) {}

/* --- counters --- */

void net_peer_counts(const net_peer_t *peer, struct net_peer_counts *counts)
{
    *counts = (struct net_peer_counts){0};
}

void net_counts(struct net_counts *counts)
{
    *counts = (struct net_counts){0};
}

/* --- sleeping: core/shm wakes --- */

unsigned net_rx_channels(void)
{
    return 0;
}

void net_arm(unsigned channel) {}

void net_block(unsigned channel) {}

_Atomic uint32_t *net_sleeper(void (*wake)(uint32_t rank))
{
    return NULL;
}

void net_spare_own(net_spare_t *spare)
{
    *spare = (net_spare_t){0};
}
