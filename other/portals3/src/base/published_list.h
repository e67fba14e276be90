/*
 * published_list.h - a list of match entries as published to a peer, which searches it and reads
 * or writes the target's memory by RDMA.  Pure: the wire format, and the search.
 *
 * The target's engine builds a list (ptli_publish), the transports send and store it, the
 * initiator's engine searches it.  The search succeeds only if the target's own search would
 * accept the whole request and log no event; in every other case the request is sent as a message,
 * and the target matches it.
 */
#ifndef PTLI_PUBLISHED_LIST_H
#define PTLI_PUBLISHED_LIST_H

#include <stdbool.h>

#include "other/portals3/src/base/portals_wire.h"

enum { PTLI_PUBLISHED_MAX = 16, PTLI_PUBLISHED_ENTRY_SIZE = 48, PTLI_PUBLISHED_FRAME_SIZE = 16 };
enum {
    PTLI_PUBLISHED_BYTES =
        PTLI_PUBLISHED_FRAME_SIZE + PTLI_PUBLISHED_MAX * PTLI_PUBLISHED_ENTRY_SIZE
};

enum ptli_published_flags {
    PTLI_PUBLISHED_OPEN =
        1, /* otherwise opaque: a request that matches must be sent as a message */
    PTLI_PUBLISHED_PUT = 2,
    PTLI_PUBLISHED_GET = 4,
    PTLI_PUBLISHED_NO_ACK = 8
};

/* Entries whose filter does not admit the receiving peer are left out.  */
struct ptli_published_entry {
    ptl_match_bits_t match_bits, ignore_bits;
    uint64_t address, length; /* of the memory */
    uint32_t key;
    uint32_t flags;
    uint32_t access; /* bit i: access entry i admits this peer to this table entry */
    /* computed by parse: access entries that allow puts and gets; the bits that must match */
    uint32_t puts, gets;
    ptl_match_bits_t fixed_bits;
};

/* The first entries of the list; a request that matches none is sent as a message, for there may be
 * more.  */
struct ptli_published {
    struct ptli_published_entry entries[PTLI_PUBLISHED_MAX];
    ptl_pt_index_t pt_index;
    uint32_t epoch;
    uint32_t count;
};

size_t ptli_published_encode(const struct ptli_published *list,
                             unsigned char bytes[PTLI_PUBLISHED_BYTES]);
/* NULL, or the error.  */
const char *ptli_published_parse(const void *bytes, size_t size, struct ptli_published *list);

static inline bool ptli_published_fits(const struct ptli_published_entry *entry,
                                       ptl_match_bits_t match_bits)
{
    return ((match_bits ^ entry->match_bits) & entry->fixed_bits) == 0;
}

/* The entry that certainly accepts a put (PTLI_PUBLISHED_PUT) or get (PTLI_PUBLISHED_GET), or NULL.
 * For a list from parse, which in an empty list sets a first entry that admits nothing.  */
static inline const struct ptli_published_entry *
ptli_published_find(const struct ptli_published *list, uint32_t wanted, ptl_ac_index_t ac,
                    ptl_match_bits_t match_bits, ptl_size_t offset, ptl_size_t length)
{
    const struct ptli_published_entry *entry = list->entries;
    if (!ptli_published_fits(entry, match_bits)) {
        uint32_t left = list->count;
        do {
            if (left-- <= 1) return NULL;
            entry++;
        } while (!ptli_published_fits(entry, match_bits));
    }
    /* The first entry with matching bits decides; if it cannot be used, the target matches the
     * request.  */
    if (ac >= 32 || !((wanted == PTLI_PUBLISHED_PUT ? entry->puts : entry->gets) >> ac & 1))
        return NULL;
    if (offset + length < offset || offset + length > entry->length) return NULL;
    return entry;
}

#endif
