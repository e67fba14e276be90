/* late.h - rules about a node that enters a collective late: what must not have happened before. */
#ifndef TEST_COLL_LATE_H
#define TEST_COLL_LATE_H

#include "tests/coll/operations.h"

enum { LATE_HANDLERS = 3 };
extern gasnet_handlerentry_t late_table[LATE_HANDLERS];

void late_in_allsync(void);
void late_in_mysync(void);
void late_out_allsync(void);

#endif
