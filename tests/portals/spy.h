/* spy.h - the calls of portals-conduit to libportals: entries, descriptors, queues, every put and
 * get, every event.
 *
 * spy.c stands before the library by symbol interposition, and uses nothing that the conduit
 * reports itself. It can hold the events of a queue back, and reports when the conduit waits in
 * vain. Its counts are right for one thread at a time.
 */
#ifndef TEST_PORTALS_SPY_H
#define TEST_PORTALS_SPY_H

#include <portals3.h>
#include <stdbool.h>

/* In the order in which the conduit makes them. */
enum { SPY_SAFE, SPY_AM, SPY_SYS, SPY_QUEUES };
enum { SPY_BOUND = 16, SPY_OPS = 65536, SPY_STORE = 65536 }; /* below SPY_BOUND: selectors */

struct spy_op {
    bool get;
    unsigned
        from; /* SPY_BOUND, or the selector of the descriptor that it leaves from or comes to */
    unsigned entry, selector;
    ptl_size_t length;
    const char *start; /* memory of that descriptor */
    ptl_size_t size;
};

struct spy_queue {
    ptl_handle_eq_t handle;
    ptl_size_t size;
    bool hold;       /* events that come are stored, and the queue seems empty */
    unsigned stored; /* events */
    unsigned served; /* events that the conduit got since spy_reset */
};

struct spy {
    ptl_size_t attached[SPY_BOUND], count[SPY_BOUND]; /* by selector: bytes ever, and descriptors
                                                         that were not unlinked by a call */
    ptl_size_t bound_first;                           /* bytes of the first that was bound */
    struct spy_queue queue[SPY_QUEUES];
    /* since spy_reset */
    unsigned ops;
    struct spy_op op[SPY_OPS];
    unsigned bound, bound_most; /* descriptors now, and most */
    unsigned unsent;            /* Active Messages whose source is not free */
    /* Called when the conduit has looked for events for long, got none and sent nothing: it waits
     * for what does not come.  Again and again, until it is taken away. */
    void (*on_stall)(void);
    unsigned idle;
};
extern struct spy spy;

void spy_reset(void);

#endif
