/* am_compose.h - Active Messages as bytes, written from the description in core/am/am_wire.h and
 * not by its code, so that a change on either side shows.
 */
#ifndef UNIT_AM_COMPOSE_H
#define UNIT_AM_COMPOSE_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "tests/unit/net_script.h"

enum { SHORT = 0, MEDIUM = 1, LONG = 2, PACKED = 1, HIDDEN = 2 };

typedef struct message {
    unsigned category, request, numargs, handler, credits, flags;
    uint64_t dst;        /* Long */
    const int32_t *args; /* NULL: 100, 101, ... */
    const void *payload; /* of a Medium or packed Long */
    uint32_t nbytes;     /* of the payload */
    int lie;             /* added to the nbytes in the header */
    int longer;          /* bytes added to the message, or cut off */
} message_t;

/* Writes it into `bytes` (5000 will do) and returns its length. */
static inline size_t compose(const message_t *m, uint8_t *bytes)
{
    uint32_t told = m->nbytes + (uint32_t)m->lie;
    size_t length = 8;
    memset(bytes, 0, 5000);
    bytes[0] = (uint8_t)(m->category | m->request << 2 | m->numargs << 3);
    bytes[1] = (uint8_t)m->handler;
    bytes[2] = (uint8_t)m->credits;
    bytes[3] = (uint8_t)m->flags;
    memcpy(bytes + 4, &told, 4);
    if (m->category == LONG) {
        memcpy(bytes + length, &m->dst, 8);
        length += 8;
    }
    for (unsigned i = 0; i < m->numargs; i++) {
        int32_t arg = m->args ? m->args[i] : 100 + (int32_t)i;
        memcpy(bytes + length + 4 * i, &arg, 4);
    }
    length += (m->numargs * 4 + 7) / 8 * 8;
    if (m->payload) {
        memcpy(bytes + length, m->payload, m->nbytes);
        length += m->nbytes;
    }
    return (size_t)((long)length + m->longer);
}

static inline void arrive(uint32_t rank, message_t m)
{
    uint8_t bytes[5000];
    size_t length = compose(&m, bytes);
    net_script_arrive(rank, bytes, length);
}

#endif
