/* order.h - the order of the events of one endpoint: connection, transfers, disconnection.  Pure.
 *
 * Until the connection event is queued, completed receives are held. At the disconnection a
 * sentinel is posted on each work queue; the disconnection event is due when the last sentinel has
 * been seen, for then every earlier completion has been too. link.c carries this out.
 */
#ifndef DAPL_ORDER_H
#define DAPL_ORDER_H

#include <stdatomic.h>
#include <stdbool.h>

typedef enum order_phase {
    ORDER_UNCONNECTED,
    ORDER_OPEN,
    ORDER_FLUSHING,
    ORDER_DOWN
} order_phase_t;

typedef struct order {
    _Atomic int phase;     /* order_phase_t */
    _Atomic int sentinels; /* still to be seen */
} order_t;

/* Whether a receive that completed must wait: if it succeeded, the endpoint is connected, and the
 * connection event is on its way. A failed one may never see a connection; it waits only behind
 * others. */
static inline bool order_holds(const order_t *order, bool success, int held)
{
    int phase = atomic_load_explicit(&order->phase, memory_order_acquire);
    return held > 0 || (phase == ORDER_UNCONNECTED && success);
}

/* True if a receive may wait for its connection event, whatever its status. */
static inline bool order_may_hold(const order_t *order, int held)
{
    return order_holds(order, true, held);
}

/* The connection event is queued, or will not come. False: it was before. */
static inline bool order_open(order_t *order)
{
    int phase = ORDER_UNCONNECTED;
    return atomic_compare_exchange_strong(&order->phase, &phase, ORDER_OPEN);
}

/* The connection ends; false: it ended already. The endpoint is open before. The sentinels are
 * counted down from ORDER_MANY until order_expected says how many there are. */
enum { ORDER_MANY = 1 << 20 };
static inline bool order_flush(order_t *order)
{
    int phase = ORDER_OPEN;
    if (!atomic_compare_exchange_strong(&order->phase, &phase, ORDER_FLUSHING)) return false;
    atomic_store(&order->sentinels, ORDER_MANY);
    return true;
}

static inline bool order_count_down(order_t *order, int n)
{
    if (atomic_fetch_sub(&order->sentinels, n) != n) return false;
    atomic_store_explicit(&order->phase, ORDER_DOWN, memory_order_release);
    return true;
}

/* The flush is over, and posted `n` sentinels, of which some may have been seen; true: all, and the
 * disconnection event is due. */
static inline bool order_expected(order_t *order, int n)
{
    return order_count_down(order, ORDER_MANY - n);
}

/* Counts a sentinel that was seen; true: it was the last, and the disconnection event is due. */
static inline bool order_seen(order_t *order)
{
    return order_count_down(order, 1);
}

static inline bool order_is(const order_t *order, order_phase_t phase)
{
    return atomic_load_explicit(&order->phase, memory_order_acquire) == (int)phase;
}

static inline void order_reset(order_t *order)
{
    atomic_store_explicit(&order->phase, ORDER_UNCONNECTED, memory_order_release);
}

#endif
