/* vis_messages.c - the messages of packed transfers: what arrives is what was sent, and a message
 * that a broken peer has changed ends the job or stays within the segment.
 *
 * Node 0 sends; node 1 is a segment in this process, with guards on both sides.  A message is
 * handled when it has been sent, as it is or with random changes.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/rdma/rdma.h"
#include "core/report.h"
#include "extended-ref/internal_am.h"
#include "extended-ref/vis/vis.h"
#include "tests/unit/check.h"

enum { SEGMENT = 64 * 1024, GUARD = 64 * 1024, ROUNDS = 400, PIECES = 2000 };

static char memory[GUARD + SEGMENT + GUARD], local[SEGMENT];
static char *const segment = memory + GUARD;

gasnet_node_t gasneti_mynode, gasneti_nodes = 2;
static bool changes;      /* messages are changed on their way */
static jmp_buf job_ended; /* by gasneti_fatal */
static unsigned messages, endings;

void gasneti_fatal(const char *format, ...)
{
    (void)format;
    endings++;
    longjmp(job_ended, 1);
}

const char *gasneti_rank_name(uint32_t rank)
{
    return rank ? "rank 1" : "rank 0";
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
    *source = gasneti_mynode ? 0 : 1;
    return GASNET_OK;
}

gex_Rank_t gasnetc_token_source(gex_Token_t token)
{
    (void)token;
    return gasneti_mynode ? 0 : 1;
}

/* A few bits, or the end, or the number of data bytes. */
static void change(unsigned char *bytes, size_t *nbytes, gasnet_handlerarg_t *data)
{
    for (uint32_t n = check_below(4); n > 0; n--)
        bytes[*nbytes - 1 - check_below(*nbytes < 40 ? (uint32_t)*nbytes : 40)] ^=
            (unsigned char)(1U << check_below(8));
    if (check_below(4) == 0) *nbytes -= check_below((uint32_t)*nbytes);
    if (check_below(4) == 0) *data += (gasnet_handlerarg_t)check_below(9) - 4;
    if (check_below(20) == 0) *data = (gasnet_handlerarg_t)check_random();
}

int gasnetc_AMRequestMedium(gasnet_node_t to, gasnet_handler_t handler, const void *source,
                            size_t nbytes, int n, const gasnet_handlerarg_t *args)
{
    unsigned char bytes[GASNETC_MAX_MEDIUM];
    gasnet_handlerarg_t data = args[0];
    check_each(to == 1 && n == 3 && nbytes <= sizeof bytes, "a Medium of %zu bytes", nbytes);
    memcpy(bytes, source, nbytes);
    if (changes) change(bytes, &nbytes, &data);
    messages++;
    gasneti_mynode = 1;
    (handler == GASNETE_H_VIS_PUT ? gasnete_vis_put_handler : gasnete_vis_get_handler)(
        NULL, bytes, nbytes, data, args[1], args[2]);
    gasneti_mynode = 0;
    return GASNET_OK;
}

int gasnetc_AMReplyShort(gasnet_token_t token, gasnet_handler_t handler, int n,
                         const gasnet_handlerarg_t *args)
{
    check_each(handler == GASNETE_H_DONE && n == 2, "a Reply to handler %d", handler);
    gasneti_mynode = 0;
    gasnete_done_handler(token, args[0], args[1]);
    gasneti_mynode = 1;
    return GASNET_OK;
}

int gasnetc_AMReplyMedium(gasnet_token_t token, gasnet_handler_t handler, const void *source,
                          size_t nbytes, int n, const gasnet_handlerarg_t *args)
{
    check_each(handler == GASNETE_H_VIS_GOT && n == 2, "a Reply to handler %d", handler);
    gasneti_mynode = 0;
    gasnete_vis_got_handler(token, (void *)(uintptr_t)source, nbytes, args[0], args[1]);
    gasneti_mynode = 1;
    return GASNET_OK;
}

/* --- transfers between random pieces of the segment and all of `local`, in order --- */

static gasnet_memvec_t pieces[PIECES];

static size_t describe(void)
{
    size_t total = 0, count = 1 + check_below(PIECES - 1), longest = 1 + check_below(30);
    size_t slot = SEGMENT / count;
    for (size_t i = 0; i < count; i++) {
        size_t length = check_below((uint32_t)(slot < longest ? slot : longest) + 1);
        pieces[i] = (gasnet_memvec_t){
            segment + i * slot + check_below((uint32_t)(slot - length) + 1), length};
        total += length;
    }
    for (size_t i = count; i > 1; i--) {
        size_t j = check_below((uint32_t)i);
        gasnet_memvec_t kept = pieces[i - 1];
        pieces[i - 1] = pieces[j];
        pieces[j] = kept;
    }
    memset(pieces + count, 0, (PIECES - count) * sizeof *pieces);
    return total;
}

static void transfer(bool put, size_t total, gasnetc_counter_t *counter)
{
    gasnet_memvec_t whole = {local, total};
    gasnete_vis_side_t here = {.kind = GASNETE_VIS_VECTOR, .count = 1, .list = &whole},
                       there = {.kind = GASNETE_VIS_VECTOR, .count = PIECES, .list = pieces};
    gasnete_vis_pair_t pair;
    gasnete_vis_begin(&pair.dst, put ? &there : &here);
    gasnete_vis_begin(&pair.src, put ? &here : &there);
    (put ? gasnete_vis_put_packed : gasnete_vis_get_packed)(1, &pair, counter);
}

/* Copies between the pieces of `image`, which is a copy of `memory`, and `bytes`. */
static void model(char *image, char *bytes, bool put)
{
    for (size_t i = 0; i < PIECES; bytes += pieces[i++].len) {
        char *piece = pieces[i].len ? image + ((char *)pieces[i].addr - memory) : image;
        memcpy(put ? piece : bytes, put ? bytes : piece, pieces[i].len);
    }
}

static void whole_messages(void)
{
    static char image[sizeof memory], expected[SEGMENT];
    for (int round = 0; round < ROUNDS; round++) {
        gasnetc_counter_t counter = {0};
        bool put = check_below(2);
        size_t total = describe();
        check_fill(memory, sizeof memory);
        check_fill(local, sizeof local);
        memcpy(image, memory, sizeof image);
        memcpy(expected, local, sizeof expected);
        messages = 0;
        transfer(put, total, &counter);
        model(image, expected, put);
        check_each(gasnetc_counter_done(&counter) && counter.issued == messages,
                   "round %d: %u operations, %u messages", round, counter.issued, messages);
        check_each(memcmp(memory, image, sizeof image) == 0, "round %d: the segment", round);
        check_each(memcmp(local, expected, sizeof local) == 0, "round %d: local memory", round);
    }
    check_all("%d transfers in messages", ROUNDS);
}

/* In a process of its own, as what the end of a job would free is not freed. */
static void changed_messages(const void *unused)
{
    static char image[sizeof memory];
    (void)unused;
    changes = true;
    check_fill(memory, sizeof memory);
    memcpy(image, memory, sizeof image);
    for (int round = 0; round < 20 * ROUNDS; round++) {
        static gasnetc_counter_t counter;
        size_t total = describe();
        if (setjmp(job_ended) == 0) transfer(check_below(2), total, &counter);
        gasneti_mynode = 0;
        if (memcmp(memory, image, GUARD) != 0 ||
            memcmp(segment + SEGMENT, image + GUARD + SEGMENT, GUARD) != 0) {
            fprintf(stderr, "round %d: memory outside the segment is written\n", round);
            _exit(1);
        }
    }
    fprintf(stderr, "%u messages, %s\n", messages,
            endings > ROUNDS ? "many end the job" : "few do");
    _exit(0);
}

int main(int argc, char **argv)
{
    int status;
    check_begin(argc, argv);
    gasnete_segments_read();
    whole_messages();
    const char *said = check_stderr(changed_messages, NULL, &status);
    if (!check(status == 0 && strstr(said, "many end the job"),
               "changed messages write nothing outside the segment"))
        check_note("status %d: %s", status, said);
    return check_end();
}
