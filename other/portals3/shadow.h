/*
 * shadow.h - a list of match entries as published to a peer, so that it can walk it and read or
 * write the target's memory itself.  Pure: the form on the wire, and the walk.
 *
 * The target's engine builds one (ptli_publish), the transports carry and keep it, the initiator's
 * engine walks it.  The walk says "yes" only where the target's own walk would accept the whole
 * request and nobody would see an event; in every other case the request goes the ordinary way, and
 * is judged there.
 */
#ifndef PTLI_SHADOW_H
#define PTLI_SHADOW_H

#include "other/portals3/portals_wire.h"

enum { PTLI_SHADOW_MAX = 16, PTLI_SHADOW_ENTRY_SIZE = 48, PTLI_SHADOW_FRAME_SIZE = 16 };
enum { PTLI_SHADOW_BYTES = PTLI_SHADOW_FRAME_SIZE + PTLI_SHADOW_MAX * PTLI_SHADOW_ENTRY_SIZE };

enum ptli_shadow_flags {
    PTLI_SHADOW_OPEN = 1, /* else opaque: who comes here must ask */
    PTLI_SHADOW_PUT = 2,
    PTLI_SHADOW_GET = 4,
    PTLI_SHADOW_NO_ACK = 8
};

/* Entries whose filter does not admit the peer that this is for are left out. */
struct ptli_shadow_entry {
    ptl_match_bits_t match_bits, ignore_bits;
    uint64_t address, length; /* of the memory */
    uint32_t key;
    uint32_t flags;
    uint32_t access; /* bit i: access entry i admits this peer to this table entry */
};

/* The first entries of the list; a walk that falls off the end asks, for there may be more. */
struct ptli_shadow {
    ptl_pt_index_t pt_index;
    uint32_t epoch;
    uint32_t count;
    struct ptli_shadow_entry entries[PTLI_SHADOW_MAX];
};

size_t ptli_shadow_encode(const struct ptli_shadow *shadow, unsigned char bytes[PTLI_SHADOW_BYTES]);
/* NULL, or what is wrong. */
const char *ptli_shadow_parse(const void *bytes, size_t size, struct ptli_shadow *shadow);

/* The entry that a put (flag PTLI_SHADOW_PUT) or get surely goes to, or NULL. */
static inline const struct ptli_shadow_entry *ptli_shadow_find(const struct ptli_shadow *shadow,
                                                               uint32_t wanted, ptl_ac_index_t ac,
                                                               ptl_match_bits_t match_bits,
                                                               ptl_size_t offset, ptl_size_t length)
{
    for (uint32_t i = 0; i < shadow->count; i++) {
        const struct ptli_shadow_entry *entry = &shadow->entries[i];
        if (((match_bits ^ entry->match_bits) & ~entry->ignore_bits) != 0) continue;
        /* The first whose bits fit decides: whatever speaks against it is for the target to judge.
         */
        wanted |= PTLI_SHADOW_OPEN;
        if ((entry->flags & wanted) != wanted || ac >= 32 || !(entry->access >> ac & 1))
            return NULL;
        if (offset > entry->length || length > entry->length - offset) return NULL;
        return entry;
    }
    return NULL;
}

#endif
