/* packed.c - transfers of many small pieces by Mediums: the data, and behind it the addresses of
 * the pieces (pieces.h).
 *
 * Put: each Medium has data and the addresses of its destinations; the handler copies the data to
 * the destinations, and its Reply completes one operation of the counter.  Get: each Medium has the
 * addresses of sources; the handler answers with their data in one Reply, for which the initiator
 * keeps the addresses of the destinations in a record.  Handlers check every address that a peer
 * sends; a Reply has the number of its operation (outstanding.h).  Requests wait for credits as
 * those of clients do, which bounds the messages in flight.
 */
#include <stdlib.h>
#include <string.h>

#include "core/report.h"
#include "extended-ref/internal_am.h"
#include "extended-ref/vis/pieces.h"
#include "extended-ref/vis/vis.h"

void *gasnete_vis_buffer(size_t nbytes)
{
    void *buffer = malloc(nbytes);
    if (buffer == NULL)
        gasneti_fatal("out of memory: %zu bytes for a message of a vector, indexed or strided "
                      "transfer; raise the limit (ulimit -v)",
                      nbytes);
    return buffer;
}

static __attribute__((noreturn, cold)) void packed_broken(gasnet_token_t token, size_t nbytes)
{
    gasnet_node_t from = 0;
    gasnet_AMGetMsgSource(token, &from);
    gasneti_fatal("a message of rank %u for a vector, indexed or strided transfer of %zu bytes "
                  "does not describe pieces of as many bytes",
                  (unsigned)from, nbytes);
}

/* Takes the next group of a message of a peer; false after the last group.  With `what`, the
 * group's pieces are checked to lie in this rank's segment.  */
static bool packed_group(gasnet_token_t token, gasnete_vis_reader_t *reader,
                         gasnete_vis_group_t *group, const char *what)
{
    enum gasnete_vis_read got = gasnete_vis_read(reader, group);
    if (got == GASNETE_VIS_BROKEN) packed_broken(token, reader->data);
    if (got == GASNETE_VIS_END) return false;
    if (what) {
        gasnete_check_requested(token, group->first, group->length, what);
        if (group->times > 1) gasnete_check_requested(token, group->last, group->length, what);
    }
    return true;
}

/* Copies `nbytes` of data to the pieces that `described` bytes at `pieces` describe.  */
static void packed_unpack(gasnet_token_t token, const char *data, size_t nbytes, const void *pieces,
                          size_t described, const char *what)
{
    gasnete_vis_reader_t reader = {.in = pieces, .data = nbytes};
    gasnete_vis_group_t group;
    reader.end = reader.in + described;
    while (packed_group(token, &reader, &group, what)) {
        gasnete_vis_scatter(group.first, group.length, group.stride, group.times, data);
        data += group.length * group.times;
    }
}

/* --- puts --- */

/* Fills `message`, of `room` bytes, with data and the addresses of its destinations.  Returns its
 * length and sets *nbytes to that of the data, 0 at the end of the transfer.  `pieces` has as much
 * room for addresses.  */
static size_t packed_fill(gasnete_vis_pair_t *pair, char *message, void *pieces, size_t room,
                          size_t *nbytes)
{
    gasnete_vis_writer_t writer;
    gasnete_vis_match_t match;
    size_t filled = 0, taken;
    gasnete_vis_write(&writer, pieces);
    while (filled + gasnete_vis_written(&writer) < room &&
           (taken = gasnete_vis_next(pair, room - filled - gasnete_vis_written(&writer), &match))) {
        gasnete_vis_gather(message + filled, match.src, match.length, match.src_stride,
                           match.times);
        gasnete_vis_add(&writer, match.dst, match.length, match.dst_stride, match.times);
        filled += taken;
    }
    size_t described = gasnete_vis_finish(&writer);
    memcpy(message + filled, pieces, described);
    *nbytes = filled;
    return filled + described;
}

void gasnete_vis_put_packed(gasnet_node_t node, gasnete_vis_pair_t *pair,
                            gasnetc_counter_t *counter)
{
    size_t room = gasnet_AMMaxMedium(), nbytes;
    char *message = gasnete_vis_buffer(2 * room);
    for (;;) {
        size_t length = packed_fill(pair, message, message + room, room, &nbytes);
        if (nbytes == 0) break;
        uint64_t number = gasnete_expect(GASNETE_REPLY_DONE, node, NULL, 0, counter);
        gasnetc_AMRequestMedium(node, GASNETE_H_VIS_PUT, message, length,
                                GASNETE_ARGS((gasnet_handlerarg_t)nbytes, GASNETE_WORD(number)));
    }
    free(message);
}

void gasnete_vis_put_handler(gasnet_token_t token, void *message, size_t length,
                             gasnet_handlerarg_t nbytes, gasnet_handlerarg_t number_high,
                             gasnet_handlerarg_t number_low)
{
    size_t data = (uint32_t)nbytes;
    if (data > length) packed_broken(token, data);
    packed_unpack(token, message, data, (char *)message + data, length - data,
                  "a piece of a vector, indexed or strided put");
    gasnetc_AMReplyShort(token, GASNETE_H_DONE, GASNETE_ARGS(number_high, number_low));
}

/* --- gets --- */

/* The record that the initiator keeps until the Reply.  */
typedef struct packed_get {
    size_t nbytes;
    size_t described; /* bytes of `pieces`, the addresses of the destinations */
    unsigned char pieces[];
} packed_get_t;

/* Fills `request` with the addresses of sources, and `get` with the addresses of destinations, for
 * as many bytes as one Reply has.  Returns the length of the request; get->nbytes is 0 at the end.
 * Both have room for a Medium.  */
static size_t packed_ask(gasnete_vis_pair_t *pair, void *request, packed_get_t *get, size_t room)
{
    gasnete_vis_writer_t sources, destinations;
    gasnete_vis_match_t match;
    size_t asked = 0, taken;
    gasnete_vis_write(&sources, request);
    gasnete_vis_write(&destinations, get->pieces);
    while (asked < room && gasnete_vis_written(&sources) <= room &&
           gasnete_vis_written(&destinations) <= room &&
           (taken = gasnete_vis_next(pair, room - asked, &match)) != 0) {
        gasnete_vis_add(&sources, match.src, match.length, match.src_stride, match.times);
        gasnete_vis_add(&destinations, match.dst, match.length, match.dst_stride, match.times);
        asked += taken;
    }
    get->nbytes = asked;
    get->described = gasnete_vis_finish(&destinations);
    return gasnete_vis_finish(&sources);
}

void gasnete_vis_get_packed(gasnet_node_t node, gasnete_vis_pair_t *pair,
                            gasnetc_counter_t *counter)
{
    size_t room = gasnet_AMMaxMedium();
    char *request = gasnete_vis_buffer(room);
    packed_get_t *whole = gasnete_vis_buffer(sizeof *whole + room);
    for (;;) {
        size_t length = packed_ask(pair, request, whole, room);
        if (whole->nbytes == 0) break;
        size_t size = sizeof *whole + whole->described;
        packed_get_t *get = gasnete_vis_buffer(size);
        memcpy(get, whole, size);
        uint64_t number = gasnete_expect(GASNETE_REPLY_VIS_GOT, node, get, get->nbytes, counter);
        gasnetc_AMRequestMedium(
            node, GASNETE_H_VIS_GET, request, length,
            GASNETE_ARGS((gasnet_handlerarg_t)whole->nbytes, GASNETE_WORD(number)));
    }
    free(whole);
    free(request);
}

void gasnete_vis_get_handler(gasnet_token_t token, void *request, size_t length,
                             gasnet_handlerarg_t nbytes, gasnet_handlerarg_t number_high,
                             gasnet_handlerarg_t number_low)
{
    size_t asked = (uint32_t)nbytes, filled = 0;
    if (asked > gasnet_AMMaxMedium()) packed_broken(token, asked);
    gasnete_vis_reader_t reader = {.in = request, .data = asked};
    gasnete_vis_group_t group;
    reader.end = reader.in + length;
    char *data = gasnete_vis_buffer(asked);
    while (packed_group(token, &reader, &group, "a piece of a vector, indexed or strided get")) {
        gasnete_vis_gather(data + filled, group.first, group.length, group.stride, group.times);
        filled += group.length * group.times;
    }
    gasnetc_AMReplyMedium(token, GASNETE_H_VIS_GOT, data, asked,
                          GASNETE_ARGS(number_high, number_low));
    free(data);
}

/* The destinations are not checked: this rank has recorded them itself, and they may be anywhere in
 * its memory.  */
void gasnete_vis_got_handler(gasnet_token_t token, void *data, size_t nbytes,
                             gasnet_handlerarg_t number_high, gasnet_handlerarg_t number_low)
{
    const gasnete_operation_t operation =
        gasnete_expected(token, GASNETE_REPLY_VIS_GOT, number_high, number_low, nbytes);
    packed_get_t *get = operation.memory;
    packed_unpack(token, data, nbytes, get->pieces, get->described, NULL);
    free(get);
    gasnetc_counter_ack(operation.counter);
}
