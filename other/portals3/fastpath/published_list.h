/*
 * published_list.h - a list of match entries as published to a peer, so that it can walk it and
 * read or write the target's memory itself.  Pure: the form on the wire, and the walk.
 *
 * The target's engine builds one (ptli_publish), the transports carry and keep it, the initiator's
 * engine walks it.  The walk says "yes" only where the target's own walk would accept the whole
 * request and nobody would see an event; in every other case the request goes the ordinary way, and
 * is judged there.
 */
#ifndef PTLI_SHADOW_H
#define PTLI_SHADOW_H

#include <stdbool.h>
#include "other/portals3/transport/portals_wire.h"

enum { PTLI_SHADOW_MAX = 16, PTLI_SHADOW_ENTRY_SIZE = 48, PTLI_SHADOW_FRAME_SIZE = 16 };
enum { PTLI_SHADOW_BYTES = PTLI_SHADOW_FRAME_SIZE + PTLI_SHADOW_MAX * PTLI_SHADOW_ENTRY_SIZE };

enum ptli_published_flags {
    PTLI_SHADOW_OPEN = 1, /* else opaque: who comes here must ask */
    PTLI_SHADOW_PUT = 2,
    PTLI_SHADOW_GET = 4,
    PTLI_SHADOW_NO_ACK = 8
};

/* Entries whose filter does not admit the peer that this is for are left out. */
struct ptli_published_entry {
    ptl_match_bits_t match_bits, ignore_bits;
    uint64_t address, length; /* of the memory */
    uint32_t key;
    uint32_t flags;
    uint32_t access;     /* bit i: access entry i admits this peer to this table entry */
    uint32_t puts, gets; /* the same of what may be done, all in all; found by parse */
};

/* The first entries of the list; a walk that falls off the end asks, for there may be more. */
struct ptli_published {
    struct ptli_published_entry entries[PTLI_SHADOW_MAX];
    ptl_pt_index_t pt_index;
    uint32_t epoch;
    uint32_t count;
};

size_t ptli_published_encode(const struct ptli_published *shadow,
                             unsigned char bytes[PTLI_SHADOW_BYTES]);
/* NULL, or what is wrong. */
const char *ptli_published_parse(const void *bytes, size_t size, struct ptli_published *shadow);

static inline bool ptli_published_fits(const struct ptli_published_entry *entry,
                                       ptl_match_bits_t match_bits)
{
    return ((match_bits ^ entry->match_bits) & ~entry->ignore_bits) == 0;
}

/* The entry that a put (PTLI_SHADOW_PUT) or get (PTLI_SHADOW_GET) surely goes to, or NULL.  For a
 * list from parse; one of no entries has a first that admits nothing. */
static inline const struct ptli_published_entry *
ptli_published_find(const struct ptli_published *shadow, uint32_t wanted, ptl_ac_index_t ac,
                    ptl_match_bits_t match_bits, ptl_size_t offset, ptl_size_t length)
{
    const struct ptli_published_entry *entry = shadow->entries;
    if (__builtin_expect(!ptli_published_fits(entry, match_bits), 0))
        for (uint32_t i = 1; !ptli_published_fits(entry, match_bits); i++) {
            if (i >= shadow->count) return NULL;
            entry = &shadow->entries[i];
        }
    /* The first whose bits fit decides: whatever speaks against it is for the target to judge. */
    if (ac >= 32 || !((wanted == PTLI_SHADOW_PUT ? entry->puts : entry->gets) >> ac & 1))
        return NULL;
    if (offset + length < offset || offset + length > entry->length) return NULL;
    return entry;
}

#endif
