/* firehose_script.h - a scripted network of a few nodes under other/firehose: what each node has
 * registered, and messages that the test delivers.
 *
 * For firehose.c and firehose_remote.c, one program.  Node 0 is the process under test.
 */
#ifndef UNIT_FIREHOSE_SCRIPT_H
#define UNIT_FIREHOSE_SCRIPT_H

#include <stdbool.h>

#include "other/firehose/include/firehose.h"

enum { PAGE = 4096, REGION = 4 * PAGE, MOST = 64, NODES = 3 };

struct node {
    firehose_t *fh;
    struct {
        uintptr_t addr;
        size_t len;
    } pins[MOST];
    size_t bytes, limit; /* registered; what the system allows */
    uintptr_t border;    /* of two kinds of memory, which are not registered as one */
    unsigned made, dropped, progress;
    bool locked, busy;
    firehose_request_t held; /* a region that the callback `progress` releases */
    bool holds;
    char data[64];
};
extern struct node node[NODES];
extern unsigned sent; /* messages on their way */

/* Opens the nodes, with pools of so many regions; the share of each of two peers is half of `held`.
 */
firehose_info_t script_begin(unsigned nodes, unsigned held, unsigned used);
firehose_info_t script_begin_with(unsigned nodes, unsigned held, unsigned used, size_t max_data);
/* Closes them: one check, of all that the script watched. */
void script_end(const char *what);

/* Delivers message i of those on their way. */
void deliver(unsigned i);
/* Until nothing happens any more. */
void settle(void);

/* The address of a page; page(1000) and the 99 after it are the caller's, registered by it. */
uintptr_t page(unsigned n);

/* Registers memory of node 0; `len` is 0 if that fails.  Registers it and releases it. */
firehose_request_t local(unsigned first, unsigned pages);
void use(unsigned first, unsigned pages);
bool is_cached(unsigned first, unsigned pages);

/* firehose_remote.c: the tests of memory of peers, and of messages that no library sends. */
void remote_memory(void);

#endif
