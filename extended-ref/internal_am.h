/* internal_am.h - the Active Messages of the Extended API's own: handler indices, handlers, the
 * operations that wait for a Reply, and the conversion of 64-bit words to 32-bit arguments.
 *
 * attach.c makes the handler table from this; the files that define the handlers send to the
 * indices.
 */
#ifndef GASNETE_INTERNAL_AM_H
#define GASNETE_INTERNAL_AM_H

#include <stdbool.h>
#include <stdint.h>

#include "core/am/system_am.h"
#include "core/lock.h"
#include "extended-ref/outstanding.h"
#include "gasnet.h"

/* Part of the wire protocol: append only.  */
enum {
    GASNETE_H_BARRIER = 64,
    GASNETE_H_MEMSET = 65,
    GASNETE_H_DONE = 66,
    /* of transfer_am.c */
    GASNETE_H_PUT = 67,
    GASNETE_H_PUT_LONG = 68,
    GASNETE_H_GET = 69,
    GASNETE_H_GET_LONG = 70,
    GASNETE_H_GOT = 71,
    GASNETE_H_GOT_LONG = 72,
    /* of vis/packed.c */
    GASNETE_H_VIS_PUT = 73,
    GASNETE_H_VIS_GET = 74,
    GASNETE_H_VIS_GOT = 75,
    /* of ex/atomics.c */
    GASNETE_H_ATOMIC = 76,
    GASNETE_H_ATOMIC_GOT = 77,
};

/* barrier/teams.c */
void gasnete_barrier_handler(gasnet_token_t token, gasnet_handlerarg_t team,
                             gasnet_handlerarg_t word0, gasnet_handlerarg_t word1);

/* memset.c */
void gasnete_memset_handler(gasnet_token_t token, gasnet_handlerarg_t dst_high,
                            gasnet_handlerarg_t dst_low, gasnet_handlerarg_t nbytes,
                            gasnet_handlerarg_t value, gasnet_handlerarg_t number_high,
                            gasnet_handlerarg_t number_low);

/* internal_am.c: completes one operation of a counter.  */
void gasnete_done_handler(gasnet_token_t token, gasnet_handlerarg_t number_high,
                          gasnet_handlerarg_t number_low);

/* vis/packed.c */
void gasnete_vis_put_handler(gasnet_token_t token, void *message, size_t length,
                             gasnet_handlerarg_t nbytes, gasnet_handlerarg_t number_high,
                             gasnet_handlerarg_t number_low);
void gasnete_vis_get_handler(gasnet_token_t token, void *request, size_t length,
                             gasnet_handlerarg_t nbytes, gasnet_handlerarg_t number_high,
                             gasnet_handlerarg_t number_low);
void gasnete_vis_got_handler(gasnet_token_t token, void *data, size_t nbytes,
                             gasnet_handlerarg_t number_high, gasnet_handlerarg_t number_low);

/* ex/atomics.c */
gasnetc_words_handler_t gasnete_atomic_handler, gasnete_atomic_got_handler;
enum { GASNETE_ATOMIC_WORDS = 5, GASNETE_ATOMIC_GOT_WORDS = 2 };
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

#endif
