/* no_shm.c - the calls of core/shm for ranks that share no memory.  Weak: a test may have its own.
 */
#include <stdlib.h>
#include <time.h>

#include "core/shm/messages.h"
#include "core/shm/shm.h"
#include "core/shm/wake.h"

#pragma weak gasnetc_shm_door
#pragma weak gasnetc_shm_form
#pragma weak gasnetc_shm_admit
#pragma weak gasnetc_shm_may_request
#pragma weak gasnetc_shm_no_reply_slot
#pragma weak gasnetc_shm_wake_sleeper
#pragma weak gasnetc_shm_has_sleeper
#pragma weak gasnetc_shm_arm
#pragma weak gasnetc_shm_block
#pragma weak gasnetc_shm_alloc
#pragma weak gasnetc_shm_enter
#pragma weak gasnetc_shm_barrier
#pragma weak gasnetc_shm_supernode
#pragma weak gasnetc_wakeup
#pragma weak gasnetc_wakeup_always
#pragma weak gasnetc_wakeup_asleep
#pragma weak gasnetc_wakeup_arm
#pragma weak gasnetc_wakeup_sleep
#pragma weak gasnetc_wakeup_watch
#pragma weak gasnetc_wakeup_rank
#pragma weak gasnetc_wakeup_all

gasnetc_ring_t gasnetc_shm_door;
gasnetc_ring_form_t gasnetc_shm_form;

void gasnetc_shm_admit(void) {}

bool gasnetc_shm_may_request(gasnetc_peer_t *peer)
{
    (void)peer;
    abort();
}

void gasnetc_shm_no_reply_slot(const gasnetc_peer_t *peer, size_t length)
{
    (void)peer, (void)length;
    abort();
}

void gasnetc_shm_wake_sleeper(_Atomic uint32_t *asleep)
{
    (void)asleep;
    abort();
}

bool gasnetc_shm_has_sleeper(void)
{
    return false;
}

void gasnetc_shm_arm(void) {}
void gasnetc_shm_block(void) {}

void *gasnetc_shm_alloc(size_t size)
{
    return size ? net_alloc(size) : NULL;
}

void gasnetc_shm_enter(void) {}

_Atomic uint64_t *gasnetc_shm_barrier(void)
{
    return NULL;
}

uint32_t gasnetc_shm_supernode(uint32_t rank)
{
    return rank;
}

static _Atomic uint32_t awake; /* 0 */
gasnetc_wakeup_t *gasnetc_wakeup;
bool gasnetc_wakeup_always;
_Atomic uint32_t *gasnetc_wakeup_asleep = &awake;

uint32_t gasnetc_wakeup_arm(bool brief)
{
    (void)brief;
    return 0;
}

void gasnetc_wakeup_sleep(uint32_t wakes, uint32_t us)
{
    const struct timespec time = {.tv_nsec = us * 1000L};
    (void)wakes;
    clock_nanosleep(CLOCK_MONOTONIC, 0, &time, NULL);
}

void gasnetc_wakeup_watch(void) {}

void gasnetc_wakeup_rank(uint32_t rank)
{
    (void)rank;
}

void gasnetc_wakeup_all(void) {}
