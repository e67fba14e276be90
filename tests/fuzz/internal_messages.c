/* internal_messages.c - fuzzes the handlers of the Extended API's own messages: whatever a peer
 * sends, in whatever order, while operations of this rank are outstanding, nothing is written but
 * the segment and the memory that those operations gave, and no operation completes twice.
 *
 * Input: messages one after another, each a byte that chooses the handler, a byte of flags, the
 * arguments (a byte that chooses a word which means something, or four raw bytes), and the payload
 * with its length in a byte.  A message that ends the job ends the input.  The conduit is that of
 * tests/unit/reference.c.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>

#include "core/am/am_dispatch.h"
#include "core/am/am_wire.h"
#include "core/am/context.h"
#include "core/am/system_am.h"
#include "core/job/progress.h"
#include "core/job/rank.h"
#include "core/job/thread.h"
#include "core/rdma/rdma.h"
#include "core/report.h"
#include "extended-ref/coll/messages.h"
#include "extended-ref/coll/op.h"
#include "extended-ref/ex/atomics.h"
#include "extended-ref/ex/objects.h"
#include "extended-ref/internal_am.h"
#include "extended-ref/transfer_am.h"
#include "extended-ref/vis/vis.h"
#include "tests/fuzz/fuzz.h"

#define EIGHT                                                                                      \
    "\x08"                                                                                         \
    "abcdefgh"
const fuzz_seed_t fuzz_seeds[] = {
    FUZZ_SEED("\x01\0\x09\x0a"),               /* a put is done */
    FUZZ_SEED("\x01\0\x0b\x0c\x01\0\x0b\x0c"), /* twice */
    FUZZ_SEED("\x09\0\x0d\x0e" EIGHT),         /* the bytes of a get */
    FUZZ_SEED("\x04\0\x0f\x10" EIGHT),         /* of a packed get */
    FUZZ_SEED("\0\0\x01\x02\x05\0\x09\x0a"),   /* a memset */
    FUZZ_SEED("\x02\0\x05\x09\x0a\x0a"
              "abcdefgh\x10\x20"),             /* a packed put */
    FUZZ_SEED("\x05\0\x01\x02\x09\x0a" EIGHT), /* a put */
    FUZZ_SEED("\x07\0\x01\x02\x05\x09\x0a"),   /* a get */
    FUZZ_SEED("\x0b\0\x11\x12\x13\x20"
              "abcdefghijklmnopqrstuvwxyzabcdef"),                                /* a message, */
    FUZZ_SEED("\x0e\0\x11\x12\x14\0\x05" EIGHT "\x0e\0\x11\x12\x14\0\x05" EIGHT), /* in pieces, */
    FUZZ_SEED(
        "\x0c\0\x11\x12\x15\x01\x02\0\x17\x11\0\x11\x12\x15"), /* announced and acknowledged, */
    FUZZ_SEED("\x0d\0\x11\x12\x14\0\0" EIGHT),                 /* by Longs, */
    FUZZ_SEED("\x0f\0\x11\x12\x14\x01\x02\x10\0\x11\x12\x16"), /* offered */
    FUZZ_SEED("\x13\0\x01\x02\0\x05\0\0\x09\x0a\0\x1b"),       /* an atomic operation */
    FUZZ_SEED("\x14\0\x19\x1a\0\x05"),                         /* and what one has fetched */
};
const size_t fuzz_seed_count = sizeof fuzz_seeds / sizeof *fuzz_seeds, fuzz_longest = 300;

enum { SEGMENT = 8192, GUARD = 4096, LARGE = 1024 };

/* --- memory of this rank, 1; the peer is 0 --- */

static _Alignas(16) char memory[GUARD + SEGMENT + GUARD], before[sizeof memory];
static char *const segment = memory + GUARD;
static struct {
    char guard[64], got[8], more[64], vis[8], between[64], element[8], after[64], small[32],
        large[LARGE], end[64];
} mine, mine_before;

gasnet_node_t gasneti_mynode = 1, gasneti_nodes = 2;
struct bootstrap_job gasnetc_job = {.size = 2, .rank = 1};
uint32_t gasnetc_reach = 2;
gasneti_thread_t gasneti_the_thread;
int32_t gasneti_my_handlers;
void *gasneti_my_extended;
atomic_bool gasnete_progress_due;
static jmp_buf job_ended;
static uint64_t numbers[8]; /* of operations, by the Requests that were sent */
static unsigned sent;
static gasnetc_counter_t counter;

void gasneti_fatal(const char *format, ...)
{
    char text[512];
    va_list list;
    va_start(list, format);
    fuzz_require(vsnprintf(text, sizeof text, format, list) > 0, "an end has words");
    va_end(list);
    longjmp(job_ended, 1);
}

const char *gasneti_rank_name(uint32_t rank)
{
    return rank ? "rank 1" : "rank 0";
}

/* Called only by calls of clients, of which this target has none. */
void gasnetc_no_such_rank(const char *call, uint32_t rank)
{
    gasneti_fatal("%s names rank %u", call, rank);
}

void (*gasnetc_poll_in_wait)(void) = gasnetc_poll;

void gasnetc_poll(void)
{
    abort();
}

void gasnetc_check_may_communicate(const char *call)
{
    (void)call;
}

/* The checks of debug builds in calls of clients. */
void gasnetc_check_client_code(const char *call)
{
    (void)call;
}

gex_TM_t gasnete_all;
bool gasnete_is_team(gex_TM_t tm)
{
    return tm;
}

#if GASNET_DEBUG
void gasneti_check_member(gex_TM_t tm, gex_Rank_t rank)
{
    (void)tm, (void)rank;
}
#endif

void gasnete_check_atomic(const char *call, gex_AD_t ad, gex_DT_t dt, const void *result,
                          gex_Rank_t rank, const void *addr, gex_OP_t op, gex_Flags_t flags)
{
    (void)call, (void)ad, (void)dt, (void)result, (void)rank, (void)addr, (void)op, (void)flags;
}

bool gasnetc_is_published(uint32_t rank, uintptr_t start, size_t nbytes)
{
    (void)rank, (void)start, (void)nbytes;
    return false;
}

int gasnetc_segment_info(gasnet_seginfo_t *table, int n)
{
    for (int i = 0; i < n; i++) table[i] = (gasnet_seginfo_t){segment, SEGMENT};
    return GASNET_OK;
}

int gasnetc_AMGetMsgSource(gasnet_token_t token, gasnet_node_t *source)
{
    (void)token;
    *source = 0;
    return GASNET_OK;
}

gex_Rank_t gasnetc_token_source(gex_Token_t token)
{
    (void)token;
    return 0;
}

/* --- sent messages --- */

/* Keeps the number of an operation, which is argument `at` of its Request. */
static int keep(const gasnet_handlerarg_t *args, int at)
{
    if (sent < 8) numbers[sent++] = gasnete_word(args[at], args[at + 1]);
    return GASNET_OK;
}

int gasnetc_AMRequestShort(gasnet_node_t to, gasnet_handler_t handler, int n,
                           const gasnet_handlerarg_t *args)
{
    (void)to, (void)n;
    return keep(args, handler == GASNETE_H_MEMSET ? 4 : 3);
}

int gasnetc_AMRequestMedium(gasnet_node_t to, gasnet_handler_t handler, const void *source,
                            size_t nbytes, int n, const gasnet_handlerarg_t *args)
{
    (void)to, (void)n;
    fuzz_touch(source, nbytes);
    return keep(args, handler == GASNETE_H_PUT ? 2 : 1);
}

int gasnetc_AMRequestLong(gasnet_node_t to, gasnet_handler_t handler, const void *source,
                          size_t nbytes, void *dst, int n, const gasnet_handlerarg_t *args)
{
    (void)to, (void)handler, (void)source, (void)nbytes, (void)dst, (void)n;
    return keep(args, 0);
}

int gasnetc_AMRequestLongAsync(gasnet_node_t to, gasnet_handler_t handler, const void *source,
                               size_t nbytes, void *dst, int n, const gasnet_handlerarg_t *args)
{
    return gasnetc_AMRequestLong(to, handler, source, nbytes, dst, n, args);
}

int gasnetc_AMReplyShort(gasnet_token_t token, gasnet_handler_t handler, int n,
                         const gasnet_handlerarg_t *args)
{
    (void)token, (void)handler, (void)args;
    fuzz_require(n <= 5, "a Reply has a number and an element, or a key");
    return GASNET_OK;
}

void gasnetc_request_words(gasnet_node_t to, gasnet_handler_t handler, gasnetc_words_t *message,
                           unsigned count)
{
    (void)to, (void)handler, (void)message, (void)count;
    abort(); /* handlers only reply */
}

void gasnetc_reply_words(gasnet_token_t token, gasnet_handler_t handler, gasnetc_words_t *message,
                         unsigned count)
{
    (void)token, (void)handler;
    fuzz_require(count <= GASNETC_WORDS, "a Reply fits in its structure");
    fuzz_touch(message->word, count * sizeof message->word[0]);
}

int gasnetc_AMReplyMedium(gasnet_token_t token, gasnet_handler_t handler, const void *source,
                          size_t nbytes, int n, const gasnet_handlerarg_t *args)
{
    (void)token, (void)handler, (void)n, (void)args;
    fuzz_require(nbytes <= GASNETC_MAX_MEDIUM, "a Medium has its length");
    fuzz_touch(source, nbytes);
    return GASNET_OK;
}

int gasnetc_AMReplyLong(gasnet_token_t token, gasnet_handler_t handler, const void *source,
                        size_t nbytes, void *dst, int n, const gasnet_handlerarg_t *args)
{
    (void)token, (void)handler, (void)n, (void)args, (void)dst;
    fuzz_require(nbytes <= GASNETC_MAX_LONG_REPLY, "a Long has its length");
    fuzz_touch(source, nbytes);
    return GASNET_OK;
}

/* --- collectives: one operation with a message of each state --- */

gasneti_lock_t gasnete_coll_lock;
gasnete_coll_match_t gasnete_coll_match;
static gasnete_coll_op_t op;
static gasnete_coll_item_t *made[64];
static unsigned items_made, freed, received, acknowledged;

gasnete_coll_item_t *gasnete_coll_item_new(void)
{
    gasnete_coll_item_t *item = aligned_alloc(16, (sizeof *item + 15) & ~(size_t)15);
    if (!item) abort();
    memset(item, 0, sizeof *item);
    made[items_made++ % 64] = item;
    return item;
}

void gasnete_coll_item_free(gasnete_coll_item_t *item)
{
    if (item->state == GASNETE_COLL_EARLY && item->memory != item->copy) free(item->memory);
    item->state = GASNETE_COLL_CHECK;
    item->memory = NULL;
    freed++;
}

const char *gasnete_coll_team_wrong(uint32_t id, gasnet_node_t from)
{
    return id == 1 && from == 0 ? NULL : "team";
}

void gasnete_coll_received(gasnete_coll_op_t *of, uint32_t slot)
{
    fuzz_require(of == &op && slot == 3, "a message is that of its operation");
    received++;
}

void gasnete_coll_sent(gasnete_coll_op_t *of)
{
    fuzz_require(of == &op, "an acknowledgement is that of its operation");
    acknowledged++;
}

void gasnete_coll_make_ready(gasnete_coll_op_t *of)
{
    fuzz_require(of == &op, "an operation is one that exists");
}

static void post(uint32_t tag, uint32_t peer, enum gasnete_coll_item_state state, char *at,
                 size_t nbytes)
{
    gasnete_coll_item_t *item = gasnete_coll_item_new();
    item->key = (gasnete_coll_key_t){1, 7, tag, peer};
    item->state = state;
    item->op = &op;
    item->slot = 3;
    item->memory = at;
    item->nbytes = nbytes;
    gasnete_coll_match_insert(&gasnete_coll_match, item);
}

/* --- the messages --- */

static const gasnetc_internal_t handlers[] = {
    GASNETC_INTERNAL_REQUEST(GASNETE_H_MEMSET, SHORT, 6, gasnete_memset_handler),
    GASNETC_INTERNAL_REPLY(GASNETE_H_DONE, SHORT, 2, gasnete_done_handler),
    GASNETC_INTERNAL_REQUEST(GASNETE_H_VIS_PUT, MEDIUM, 3, gasnete_vis_put_handler),
    GASNETC_INTERNAL_REQUEST(GASNETE_H_VIS_GET, MEDIUM, 3, gasnete_vis_get_handler),
    GASNETC_INTERNAL_REPLY(GASNETE_H_VIS_GOT, MEDIUM, 2, gasnete_vis_got_handler),
    GASNETE_TRANSFER_HANDLERS(GASNETE_HANDLER_ROW) GASNETE_COLL_HANDLERS(GASNETE_HANDLER_ROW)
        GASNETE_ATOMIC_HANDLERS{0},
};

/* gasnete_coll_check_handler is that of debug builds, for which checks.c is needed. */
void gasnete_coll_check_handler(gasnet_token_t token, gasnet_handlerarg_t team,
                                gasnet_handlerarg_t number, gasnet_handlerarg_t digest,
                                gasnet_handlerarg_t kind, gasnet_handlerarg_t root,
                                gasnet_handlerarg_t nbytes_high, gasnet_handlerarg_t nbytes_low)
{
    (void)token, (void)team, (void)number, (void)digest, (void)kind, (void)root;
    (void)nbytes_high, (void)nbytes_low;
}

typedef struct reader {
    const uint8_t *at, *end;
} reader_t;

static uint8_t next_byte(reader_t *in)
{
    return in->at < in->end ? *in->at++ : 0;
}

static gasnet_handlerarg_t argument(reader_t *in)
{
    const uintptr_t places[] = {(uintptr_t)segment, (uintptr_t)(segment + SEGMENT - 4),
                                (uintptr_t)mine.got};
    const uint8_t which = next_byte(in);
    const gasnet_handlerarg_t words[] = {
        0,
        (gasnet_handlerarg_t)(places[0] >> 32),
        (gasnet_handlerarg_t)(uint32_t)places[0],
        0,
        0,
        8,
        (gasnet_handlerarg_t)(places[1] >> 32),
        (gasnet_handlerarg_t)(uint32_t)places[1],
        (gasnet_handlerarg_t)(uint32_t)places[2],
        GASNETE_WORD(numbers[0]),
        GASNETE_WORD(numbers[1]),
        GASNETE_WORD(numbers[2]),
        GASNETE_WORD(numbers[3]),
        1, /* 0x11: a team, a number, and the tags */
        7,
        1,
        2,
        3,
        4,
        LARGE,
        -1,
        GASNETE_WORD(numbers[4]), /* 0x19 */
        82,                       /* FADD of I64, CAS of I32 */
        11,
    };
    uint32_t raw = 0;
    if (which < sizeof words / sizeof *words) return words[which];
    for (int i = 0; i < 4; i++) raw = raw << 8 | next_byte(in);
    return (gasnet_handlerarg_t)raw;
}

/* Each word is two arguments, the upper half first, and nothing lies behind the last one. */
static void deliver_words(gasnetc_words_handler_t *handler, const gasnet_handlerarg_t *args,
                          unsigned count)
{
    static uint64_t *words;
    free(words); /* of the last message: the handler may have ended the job */
    words = malloc(count * sizeof *words);
    if (!words) abort();
    for (unsigned i = 0; i < count; i++) words[i] = gasnete_word(args[2 * i], args[2 * i + 1]);
    handler(NULL, words);
}

/* Runs the handler as the core does, for a message of the form that it is for. */
static void deliver(reader_t *in)
{
    const size_t count = sizeof handlers / sizeof *handlers - 1;
    const gasnetc_internal_t *handler = &handlers[next_byte(in) % count];
    const enum gasnetc_am_category category = (enum gasnetc_am_category)(handler->head & 3);
    const unsigned numargs = handler->head >> 3;
    gasnet_handlerarg_t args[16] = {0};
    const uint8_t flags = next_byte(in);
    for (unsigned i = 0; i < numargs; i++) args[i] = argument(in);
    if (handler->words) {
        deliver_words((gasnetc_words_handler_t *)handler->function, args, numargs / 2);
        return;
    }
    if (category == GASNETC_AM_SHORT) {
        gasnetc_run_short(handler->function, NULL, numargs, args);
        return;
    }
    size_t nbytes = next_byte(in);
    if (nbytes > (size_t)(in->end - in->at)) nbytes = (size_t)(in->end - in->at);
    uint8_t *payload = fuzz_copy(in->at, nbytes);
    in->at += nbytes;
    if (category == GASNETC_AM_LONG) {
        char *to = segment + (flags & 63) * 8;
        memcpy(to, payload, nbytes);
        free(payload);
        gasnetc_run_payload(handler->function, NULL, to, nbytes, numargs, args);
        return;
    }
    _Alignas(16) static char buffer[GASNETC_MAX_MEDIUM];
    memcpy(buffer, payload, nbytes);
    free(payload);
    gasnetc_run_payload(handler->function, NULL, buffer, nbytes, numargs, args);
}

/* --- operations of this rank --- */

static void begin(void)
{
    gasnet_memvec_t whole = {mine.vis, 8}, pieces[2] = {{segment, 4}, {segment + 16, 4}};
    gasnete_vis_side_t here = {.kind = GASNETE_VIS_VECTOR, .count = 1, .list = &whole},
                       there = {.kind = GASNETE_VIS_VECTOR, .count = 2, .list = pieces};
    gasnete_vis_pair_t pair;
    sent = received = acknowledged = freed = items_made = 0;
    counter = (gasnetc_counter_t){0};
    memset(&gasnete_coll_match, 0, sizeof gasnete_coll_match);
    op = (gasnete_coll_op_t){.number = 7};
    gasnete_transfer_put(0, segment, mine.more, 8, &counter);
    gasnete_transfer_put(0, segment, mine.more, 600, &counter);
    gasnete_transfer_get(0, mine.got, segment, 8, &counter);
    gasnete_vis_begin(&pair.dst, &here);
    gasnete_vis_begin(&pair.src, &there);
    gasnete_vis_get_packed(0, &pair, &counter);
    fuzz_require(sent == 4, "four operations wait");
    numbers[sent++] = gasnete_expect(GASNETE_REPLY_ATOMIC_GOT, 0, mine.element, 8, &counter);
    post(1, 0, GASNETE_COLL_POSTED, mine.small, sizeof mine.small);
    post(2, 0, GASNETE_COLL_POSTED, mine.large, LARGE);
    post(3, 0 | GASNETE_COLL_TO_SENDER, GASNETE_COLL_WAITING, mine.large, LARGE);
    post(4, 0 | GASNETE_COLL_TO_SENDER, GASNETE_COLL_COPYING, mine.large, LARGE);
    memcpy(before, memory, sizeof memory);
    mine_before = mine;
}

/* The Replies that the operations wait for; one that had its own ends the job. */
static void answer(unsigned i)
{
    static char bytes[8];
    const gasnet_handlerarg_t number[2] = {GASNETE_WORD(numbers[i])};
    if (setjmp(job_ended) != 0) return;
    if (i < 2)
        gasnete_done_handler(NULL, number[0], number[1]);
    else if (i == 2)
        gasnete_got_handler(NULL, bytes, sizeof bytes, number[0], number[1]);
    else if (i == 4)
        gasnete_atomic_got_handler(NULL, (const uint64_t[]){numbers[4], 0});
    else
        gasnete_vis_got_handler(NULL, bytes, sizeof bytes, number[0], number[1]);
}

static void finish(void)
{
    fuzz_require(!memcmp(memory, before, GUARD) &&
                     !memcmp(segment + SEGMENT, before + GUARD + SEGMENT, GUARD),
                 "nothing is written around the segment");
    fuzz_require(!memcmp(mine.guard, mine_before.guard, sizeof mine.guard) &&
                     !memcmp(mine.more, mine_before.more, sizeof mine.more) &&
                     !memcmp(mine.between, mine_before.between, sizeof mine.between) &&
                     !memcmp(mine.after, mine_before.after, sizeof mine.after) &&
                     !memcmp(mine.end, mine_before.end, sizeof mine.end),
                 "nothing is written around the memory of operations");
    for (unsigned i = 0; i < sent; i++) answer(i);
    fuzz_require(atomic_load(&counter.acked) == counter.issued, "each operation completes once");
    fuzz_require(received <= 2 && acknowledged <= 1 && freed <= items_made,
                 "no message of a collective arrives twice");
    for (unsigned i = 0; i < items_made && i < 64; i++) {
        if (made[i]->state == GASNETE_COLL_EARLY && made[i]->memory != made[i]->copy)
            free(made[i]->memory);
        free(made[i]);
    }
    free(gasnete_coll_match.lists);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static bool attached;
    static reader_t in; /* an automatic one would be of no value after longjmp */
    if (!attached) gasnete_segments_read();
    attached = true;
    begin();
    in = (reader_t){data, data + size};
    if (setjmp(job_ended) == 0)
        while (in.at < in.end && items_made < 64) deliver(&in);
    finish();
    return 0;
}

/* A handler that ends the job frees nothing: no look-out for leaks, whatever ASAN_OPTIONS says. */
__attribute__((visibility("default"))) int __lsan_is_turned_off(void);
int __lsan_is_turned_off(void)
{
    return 1;
}
