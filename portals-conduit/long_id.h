/* long_id.h - header and payload of a Long Request find each other, in either order (PO-7).
 *
 * The two come as messages of their own.  They carry the same number, which no other Long of the
 * same source has until this one is answered.  The first half waits here; a header waits as a copy,
 * so that it holds neither receive buffer nor reply space meanwhile.  The engine holds its poll
 * lock.  Pure.
 */
#ifndef PORTALS_LONG_ID_H
#define PORTALS_LONG_ID_H

#include <stdbool.h>
#include <stdint.h>

enum { LONG_ID_HEADER_MOST = 96 }; /* bytes of a header */

/* The half that came first. */
typedef struct long_id_half {
    struct long_id_half *next;
    uint32_t source, number;
    bool is_header;
    uint8_t credits; /* of a header: */
    uint32_t length;
    _Alignas(8) char bytes[LONG_ID_HEADER_MOST];
} long_id_half_t;

typedef struct long_ids {
    long_id_half_t **bucket;
    uint32_t mask;
    uint32_t waiting, most; /* halves */
    long_id_half_t *spare;
} long_ids_t;

/* `expected` is how many may wait without being searched for slowly.  false: no memory. */
bool long_ids_init(long_ids_t *ids, uint32_t expected);
void long_ids_fini(long_ids_t *ids);

enum long_id_meeting {
    LONG_ID_FIRST,  /* *half is new: fill it, it waits */
    LONG_ID_SECOND, /* *half is the one that waited; give it to long_ids_done */
    LONG_ID_TWICE,  /* the same half came before: a broken peer */
    LONG_ID_MEMORY, /* is out */
};
enum long_id_meeting long_ids_meet(long_ids_t *ids, uint32_t source, uint32_t number,
                                   bool is_header, long_id_half_t **half);
void long_ids_done(long_ids_t *ids, long_id_half_t *half);

#endif
