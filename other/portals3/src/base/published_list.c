/*
 * published_list.c - a published list on the wire; see published_list.h.
 */
#include "other/portals3/src/base/published_list.h"

#include "other/portals3/src/base/little_endian.h"

size_t ptli_published_encode(const struct ptli_published *list,
                             unsigned char bytes[PTLI_PUBLISHED_BYTES])
{
    unsigned char *at = bytes;
    at = ptli_put32(at, list->pt_index);
    at = ptli_put32(at, list->epoch);
    at = ptli_put32(at, list->count);
    at = ptli_put32(at, 0);
    for (uint32_t i = 0; i < list->count; i++) {
        const struct ptli_published_entry *entry = &list->entries[i];
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

const char *ptli_published_parse(const void *bytes, size_t size, struct ptli_published *list)
{
    const unsigned char *at = bytes;
    if (size < PTLI_PUBLISHED_FRAME_SIZE) return "a list shorter than its frame";
    list->entries[0] = (struct ptli_published_entry){0};
    list->pt_index = ptli_get32(&at);
    list->epoch = ptli_get32(&at);
    list->count = ptli_get32(&at);
    at += 4;
    if (list->count > PTLI_PUBLISHED_MAX) return "a list of too many entries";
    if (size != PTLI_PUBLISHED_FRAME_SIZE + list->count * (size_t)PTLI_PUBLISHED_ENTRY_SIZE)
        return "a list of another size than it says";
    for (uint32_t i = 0; i < list->count; i++) {
        struct ptli_published_entry *entry = &list->entries[i];
        entry->match_bits = ptli_get64(&at);
        entry->ignore_bits = ptli_get64(&at);
        entry->address = ptli_get64(&at);
        entry->length = ptli_get64(&at);
        entry->key = ptli_get32(&at);
        entry->flags = ptli_get32(&at);
        entry->access = ptli_get32(&at);
        at += 4;
        const uint32_t open = entry->flags & PTLI_PUBLISHED_OPEN ? entry->access : 0;
        entry->puts = entry->flags & PTLI_PUBLISHED_PUT ? open : 0;
        entry->gets = entry->flags & PTLI_PUBLISHED_GET ? open : 0;
        entry->fixed_bits = ~entry->ignore_bits;
        if (entry->address + entry->length < entry->address)
            return "an entry beyond the end of memory";
    }
    return NULL;
}
