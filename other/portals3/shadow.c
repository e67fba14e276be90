/*
 * shadow.c - a published list on the wire, and the initiator's walk through it; see shadow.h.
 *
 * The walk follows the rules of match.c as far as they can be known from afar, and says nothing
 * where they cannot.
 */
#include "other/portals3/little_endian.h"
#include "other/portals3/shadow.h"

size_t ptli_shadow_encode(const struct ptli_shadow *shadow, unsigned char bytes[PTLI_SHADOW_BYTES])
{
    unsigned char *at = bytes;
    at = ptli_put32(at, shadow->pt_index);
    at = ptli_put32(at, shadow->epoch);
    at = ptli_put32(at, shadow->count);
    at = ptli_put32(at, 0);
    for (uint32_t i = 0; i < shadow->count; i++) {
        const struct ptli_shadow_entry *entry = &shadow->entries[i];
        at = ptli_put64(at, entry->match_bits);
        at = ptli_put64(at, entry->ignore_bits);
        at = ptli_put64(at, entry->address);
        at = ptli_put64(at, entry->length);
        at = ptli_put32(at, entry->key);
        at = ptli_put32(at, entry->flags);
        at = ptli_put32(at, entry->access);
        at = ptli_put32(at, 0);
    }
    return (size_t)(at - bytes);
}

const char *ptli_shadow_parse(const void *bytes, size_t size, struct ptli_shadow *shadow)
{
    const unsigned char *at = bytes;
    if (size < PTLI_SHADOW_FRAME_SIZE) return "a list shorter than its frame";
    shadow->pt_index = ptli_get32(&at);
    shadow->epoch = ptli_get32(&at);
    shadow->count = ptli_get32(&at);
    at += 4;
    if (shadow->count > PTLI_SHADOW_MAX) return "a list of too many entries";
    if (size != PTLI_SHADOW_FRAME_SIZE + shadow->count * (size_t)PTLI_SHADOW_ENTRY_SIZE)
        return "a list of another size than it says";
    for (uint32_t i = 0; i < shadow->count; i++) {
        struct ptli_shadow_entry *entry = &shadow->entries[i];
        entry->match_bits = ptli_get64(&at);
        entry->ignore_bits = ptli_get64(&at);
        entry->address = ptli_get64(&at);
        entry->length = ptli_get64(&at);
        entry->key = ptli_get32(&at);
        entry->flags = ptli_get32(&at);
        entry->access = ptli_get32(&at);
        at += 4;
        if (entry->address + entry->length < entry->address)
            return "an entry beyond the end of memory";
    }
    return NULL;
}

const struct ptli_shadow_entry *ptli_shadow_find(const struct ptli_shadow *shadow, uint32_t wanted,
                                                 ptl_ac_index_t ac, ptl_match_bits_t match_bits,
                                                 ptl_size_t offset, ptl_size_t length)
{
    for (uint32_t i = 0; i < shadow->count; i++) {
        const struct ptli_shadow_entry *entry = &shadow->entries[i];
        if (((match_bits ^ entry->match_bits) & ~entry->ignore_bits) != 0) continue;
        /* The first whose bits fit decides: whatever speaks against it is for the target to judge.
         */
        if (!(entry->flags & PTLI_SHADOW_OPEN) || !(entry->flags & wanted)) return NULL;
        if (ac >= 32 || !(entry->access >> ac & 1)) return NULL;
        if (offset > entry->length || length > entry->length - offset) return NULL;
        return entry;
    }
    return NULL;
}
