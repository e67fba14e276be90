/* reap_multi.c - reaping several operations at once; and with several devices, each with its own
 * completion queues, or with a shared receive queue, or on iWARP.
 *
 * With one device, and receive buffers of each peer's own, net_reap and net_arrivals call
 * net_ib_reap_batch alone.
 */
#include <pthread.h>
#include <time.h>

#include "core/ib/srq.h"
#include "other/base/uncancelled.h"

enum { LONGEST_NAP = 1 /* ms */ };

/* A ring's `oldest` and a counter are stored once for all their operations: if each operation
 * loaded what the previous one has stored, it would wait for that store. */
void net_ib_reap_batch(const hca_wc_t *wc, unsigned count)
{
    const hca_wc_t *const end = wc + count;
    gasnetc_counter_t *counter = NULL;
    uint32_t reaped = 0; /* operations of `counter` */
    while (wc < end) {
        const uint64_t id = hca_done(wc).id;
        net_send_ring_t *send_ring = (net_send_ring_t *)(uintptr_t)id;
        net_slot_t *slot = atomic_load_explicit(&send_ring->oldest, memory_order_relaxed);
        do {
            if (hca_done(wc).ok) {
                gasnetc_sent_end(&slot->sent);
                if (slot->sent.counter == counter) {
                    reaped++;
                } else if (slot->sent.counter) {
                    gasnetc_counter_reap(counter, reaped);
                    counter = slot->sent.counter;
                    reaped = 1;
                }
            } else {
                net_ib_send_failed(send_ring->peer, slot, wc);
            }
            slot = slot->next;
        } while (++wc < end && hca_done(wc).id == id);
        /* Release: from now on posters may use the slots again. */
        atomic_store_explicit(&send_ring->oldest, slot, memory_order_release);
    }
    gasnetc_counter_reap(counter, reaped);
}

int net_ib_poll_alone(hca_cq_t cq, int budget, hca_wc_t *wc)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    pthread_mutex_lock(&lock);
    int n = hca_poll(cq, budget, wc);
    pthread_mutex_unlock(&lock);
    return n;
}

unsigned net_ib_reap_others(void)
{
    unsigned n = 0;
    for (uint32_t i = 1; i < net_ib.hcas; i++) n += net_ib_reap(net_ib.send_cq[i]);
    return n;
}

/* Each call starts with another device, so that a busy one does not starve the others. */
static unsigned arrivals_of_all(net_message_t **messages, unsigned budget, unsigned *systems)
{
    static uint32_t calls;
    unsigned n = 0;
    uint32_t first = calls++;
    if (net_ib.shared) return net_ib_shared_arrivals(first, messages, budget, systems);
    for (uint32_t i = 0; i < net_ib.hcas && n < budget; i++)
        n += net_ib_arrivals(net_ib.recv_cq[(first + i) % net_ib.hcas], messages + n, budget - n,
                             systems);
    return n;
}

unsigned net_ib_arrivals_any(net_message_t **messages, unsigned budget, unsigned *systems)
{
    const unsigned n = arrivals_of_all(messages, budget, systems);
    return net_ib.wordy ? net_ib_decode_words(messages, n, systems) : n;
}

/* Where hca_sleep would poll without the lock of net_ib_poll_alone, the thread sleeps for a fixed
 * time instead. */
void net_ib_sleep(hca_sleeper_t *sleeper, int ms)
{
    GASNETI_UNCANCELLED;
    const long most = LONGEST_NAP;
    const struct timespec nap = {.tv_nsec = (ms < 0 || ms > most ? most : ms) * 1000000};
    if (NET_IB_POLL_LOCK && HCA_SLEEP_POLLS)
        nanosleep(&nap, NULL);
    else
        hca_sleep(sleeper, ms);
}
