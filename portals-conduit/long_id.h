/* long_id.h - matches the header and the payload of a Long Request, which arrive in either order
 * (PO-7).
 *
 * The two are separate messages with the same number, which no other Long of the same source has
 * until the Long is answered.  The half that arrives first is stored; a header is stored as a copy,
 * so that it occupies neither a receive buffer nor reply space meanwhile.  The engine holds its
 * poll lock.  Pure.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum { LONG_ID_HEADER_MOST = 96 }; /* bytes of the longest header */

/* The half that arrived first. */
typedef struct long_id_half {
    struct long_id_half *next;
    uint32_t source, number;
    bool is_header;
    uint8_t credits; /* this field and those below: set for a header only */
    uint32_t length;
    _Alignas(8) char bytes[LONG_ID_HEADER_MOST];
} long_id_half_t;

typedef struct long_ids {
    long_id_half_t **bucket;
    uint32_t mask;
    uint32_t waiting, most; /* halves stored now; the most at once */
    long_id_half_t *spare;
} long_ids_t;

/* `expected`: number of halves for which a look-up takes constant time.  false: out of memory. */
bool long_ids_init(long_ids_t *ids, uint32_t expected);
void long_ids_fini(long_ids_t *ids);

enum long_id_meeting {
    LONG_ID_FIRST,  /* *half is new: the caller fills it in */
    LONG_ID_SECOND, /* *half is the stored half; the caller releases it by long_ids_done */
    LONG_ID_TWICE,  /* this half is stored already: a protocol error of the peer */
    LONG_ID_MEMORY, /* out of memory */
};
enum long_id_meeting long_ids_meet(long_ids_t *ids, uint32_t source, uint32_t number,
                                   bool is_header, long_id_half_t **half);
void long_ids_done(long_ids_t *ids, long_id_half_t *half);
