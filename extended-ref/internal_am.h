/* internal_am.h - the Active Messages of the Extended API's own: handler indices, handlers, the
 * operations that wait for a Reply, and the conversion of 64-bit words to 32-bit arguments.
 *
 * attach.c makes the handler table from this; the files that define the handlers send to the
 * indices.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "core/am/am_dispatch.h"
#include "core/am/system_am.h"
#include "core/lock.h"
#include "extended-ref/outstanding.h"
#include "gasnet.h"

/* A list of handlers: HANDLER(name, index, direction, category, number of arguments, function). The
 * indices, which are part of the wire protocol, and the declarations are made from it, and the rows
 * of the table that attach.c registers.  67 to 72 are of transfer_am.h, 76 and
 * 77 of messages of words, 80 to 87 of coll/messages.h.  */
#define GASNETE_HANDLERS(HANDLER)                                                                  \
    HANDLER(BARRIER, 64, REQUEST, SHORT, 3, gasnete_barrier_handler)                               \
    HANDLER(MEMSET, 65, REQUEST, SHORT, 6, gasnete_memset_handler)                                 \
    HANDLER(DONE, 66, REPLY, SHORT, 2, gasnete_done_handler) /* one operation of a counter */      \
    HANDLER(VIS_PUT, 73, REQUEST, MEDIUM, 3, gasnete_vis_put_handler)                              \
    HANDLER(VIS_GET, 74, REQUEST, MEDIUM, 3, gasnete_vis_get_handler)                              \
    HANDLER(VIS_GOT, 75, REPLY, MEDIUM, 2, gasnete_vis_got_handler)                                \
    HANDLER(VIS_THERE, 78, REQUEST, MEDIUM, 1, gasnete_vis_there_handler)

#define GASNETE_HANDLER_INDEX(name, index, ...) GASNETE_H_##name = index,
#define GASNETE_HANDLER_DECLARE(name, index, direction, category, numargs, function)               \
    void function(gasnet_token_t token GASNETE_PAYLOAD_##category GASNETC_TYPES_##numargs);
#define GASNETE_PAYLOAD_SHORT
#define GASNETE_PAYLOAD_MEDIUM , void *, size_t
#define GASNETE_PAYLOAD_LONG   GASNETE_PAYLOAD_MEDIUM
#define GASNETE_HANDLER_ROW(name, index, direction, category, numargs, function)                   \
    GASNETC_INTERNAL_##direction(index, category, numargs, function),

enum { GASNETE_HANDLERS(GASNETE_HANDLER_INDEX) };
GASNETE_HANDLERS(GASNETE_HANDLER_DECLARE)

/* ex/atomics.c: messages of words.  */
enum {
    GASNETE_H_ATOMIC = 76,
    GASNETE_H_ATOMIC_GOT = 77,
    GASNETE_ATOMIC_WORDS = 5,
    GASNETE_ATOMIC_GOT_WORDS = 2
};
gasnetc_words_handler_t gasnete_atomic_handler, gasnete_atomic_got_handler;
#define GASNETE_ATOMIC_HANDLERS                                                                    \
    GASNETC_INTERNAL_WORDS_REQUEST(GASNETE_H_ATOMIC, GASNETE_ATOMIC_WORDS,                         \
                                   gasnete_atomic_handler),                                        \
        GASNETC_INTERNAL_WORDS_REPLY(GASNETE_H_ATOMIC_GOT, GASNETE_ATOMIC_GOT_WORDS,               \
                                     gasnete_atomic_got_handler),

/* Init: makes the job's barrier; sends no messages.  */
void gasnete_barrier_begin(void);
/* Init, and attach again: asks the core for the segments of all ranks.  */
void gasnete_segments_read(void);

/* internal_am.c: true if [start, start+nbytes) lies in the segment that `node` has attached;
 * gasnete_check_attached is fatal otherwise.  The other checks accept what it has published too:
 * gasnete_check_segment for a transfer of this rank, gasnete_check_requested for one that the
 * sender of a message requests.  */
bool gasnete_in_segment(gasnet_node_t node, const void *start, size_t nbytes);
void gasnete_check_attached(gasnet_node_t node, const void *start, size_t nbytes, const char *what);
void gasnete_check_segment(gasnet_node_t node, const void *start, size_t nbytes, const char *what);
void gasnete_check_requested(gasnet_token_t token, const void *start, size_t nbytes,
                             const char *what);

/* internal_am.c: the operations that wait for a Reply. */
#pragma GCC visibility push(hidden)
extern struct gasnete_waiting {
    gasneti_lock_t lock;
    gasnete_outstanding_t table;
} gasnete_waiting;
#pragma GCC visibility pop
void gasnete_too_many_wait(void) __attribute__((noreturn, cold));

/* Enters an operation of the counter, which waits for a Reply of `node` with `nbytes` bytes;
 * returns the operation's number, for the Request.  */
static inline uint64_t gasnete_expect(enum gasnete_reply reply, gasnet_node_t node, void *memory,
                                      size_t nbytes, gasnetc_counter_t *counter)
{
    const gasnete_operation_t operation = {reply, node, memory, nbytes, counter};
    gasneti_lock(&gasnete_waiting.lock);
    const uint64_t number = gasnete_outstanding_add(&gasnete_waiting.table, &operation);
    gasneti_unlock(&gasnete_waiting.lock);
    if (number == 0) gasnete_too_many_wait();
    counter->issued++;
    return number;
}

void gasnete_wrong_reply(gasnet_token_t token, const char *field) __attribute__((noreturn, cold));

/* In the handler of a Reply of `nbytes` bytes: takes out the operation with the number.  Fatal if
 * no operation fits.  */
static inline gasnete_operation_t gasnete_answered(gasnet_token_t token, enum gasnete_reply reply,
                                                   uint64_t number, size_t nbytes)
{
    gasnete_operation_t operation;
    const gasnet_node_t from = gasnetc_token_source(token);
    gasneti_lock(&gasnete_waiting.lock);
    const char *wrong =
        gasnete_outstanding_take(&gasnete_waiting.table, number, reply, from, nbytes, &operation);
    gasneti_unlock(&gasnete_waiting.lock);
    if (wrong) gasnete_wrong_reply(token, wrong);
    return operation;
}
/* internal_am.c: gasnete_answered, with the number as it is in messages of arguments.  */
gasnete_operation_t gasnete_expected(gasnet_token_t token, enum gasnete_reply reply,
                                     gasnet_handlerarg_t number_high,
                                     gasnet_handlerarg_t number_low, size_t nbytes);

/* The count and the array of arguments, as gasnetc_AMRequestShort and so on take them: the calls of
 * the client interface refuse the indices above.  */
#define GASNETE_ARGS(...)                                                                          \
    (int)(sizeof(gasnet_handlerarg_t[]){__VA_ARGS__} / sizeof(gasnet_handlerarg_t)),               \
        (const gasnet_handlerarg_t[])                                                              \
    {                                                                                              \
        __VA_ARGS__                                                                                \
    }
/* 64 bits as two arguments.  */
#define GASNETE_WORD(word)                                                                         \
    (gasnet_handlerarg_t)((uint64_t)(word) >> 32), (gasnet_handlerarg_t)(uint32_t)(word)

static inline uint64_t gasnete_word(gasnet_handlerarg_t high, gasnet_handlerarg_t low)
{
    return (uint64_t)(uint32_t)high << 32 | (uint32_t)low;
}

static inline void *gasnete_pointer(gasnet_handlerarg_t high, gasnet_handlerarg_t low)
{
    return (void *)(uintptr_t)gasnete_word(high, low);
}
