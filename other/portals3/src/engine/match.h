/*
 * match.h - the search of a match list, and the effect of acceptance on a memory descriptor.
 *
 * Pure: state in, decision out; no locks, no events, no allocation.  The engine embeds ptli_entry
 * in an ME and ptli_rules in an MD, and searches, with its lock held, for each request that
 * arrives.  Offsets and lengths may come from the network: they are never added, as the sum could
 * overflow.
 */
#ifndef PTLI_MATCH_H
#define PTLI_MATCH_H

#include <portals3.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The current state of an MD that determines which requests it accepts.  */
struct ptli_rules {
    unsigned int options;
    int threshold;
    ptl_size_t length; /* bytes, sum of all pieces */
    ptl_size_t max_size;
    ptl_size_t local_offset;
    bool inactive;
};

struct ptli_entry {
    ptl_process_id_t match_id;
    ptl_match_bits_t match_bits, ignore_bits;
    struct ptli_rules *rules; /* NULL: no MD */
    struct ptli_entry *next, *previous;
};

struct ptli_request {
    ptl_process_id_t initiator;
    unsigned int operation; /* the PTL_MD_OP_ bits that it needs */
    ptl_match_bits_t match_bits;
    ptl_size_t remote_offset, length;
};

struct ptli_acceptance {
    struct ptli_entry *entry; /* NULL: no entry accepts the request */
    ptl_size_t offset, mlength;
};

/* Whether the process matches an id, which may be a wildcard.  */
static inline bool ptli_id_fits(ptl_process_id_t wanted, ptl_process_id_t id)
{
    return (wanted.nid == PTL_NID_ANY || wanted.nid == id.nid) &&
           (wanted.pid == PTL_PID_ANY || wanted.pid == id.pid);
}

/* ptli_id_fits(), which tests for an id that every process matches first. */
static inline bool ptli_id_fits_soon(ptl_process_id_t wanted, ptl_process_id_t id)
{
    _Static_assert(PTL_NID_ANY == PTL_PID_ANY && !~PTL_NID_ANY, "both are all ones");
    return (wanted.nid & wanted.pid) == PTL_NID_ANY || ptli_id_fits(wanted, id);
}

/* Computes where a request for `length` bytes goes in the memory of a descriptor, whose options
 * allow the request; false: the memory has no room for it. */
static inline bool ptli_rules_fit(const struct ptli_rules *rules, ptl_size_t remote_offset,
                                  ptl_size_t length, ptl_size_t *offset, ptl_size_t *mlength)
{
    ptl_size_t space;
    *offset = rules->options & PTL_MD_MANAGE_REMOTE ? remote_offset : rules->local_offset;
    /* Beyond the end a truncating descriptor refuses, too; at the end it accepts 0 bytes.  */
    if (*offset > rules->length) return false;
    space = rules->length - *offset;
    *mlength = length;
    if (length <= space) return true;
    *mlength = space;
    return rules->options & PTL_MD_TRUNCATE;
}

/* Whether this descriptor would accept the request, and at which offset.  */
static inline bool ptli_rules_accept(const struct ptli_rules *rules,
                                     const struct ptli_request *request, ptl_size_t *offset,
                                     ptl_size_t *mlength)
{
    if (rules->inactive || (rules->options & request->operation) != request->operation)
        return false;
    return ptli_rules_fit(rules, request->remote_offset, request->length, offset, mlength);
}

/* The first entry from `entry` on whose bits match, or NULL.  */
static inline struct ptli_entry *ptli_matching(struct ptli_entry *entry,
                                               ptl_match_bits_t match_bits)
{
    while (entry && ((match_bits ^ entry->match_bits) & ~entry->ignore_bits) != 0)
        entry = entry->next;
    return entry;
}

/* The first entry of the list that accepts the request; changes nothing.  */
static inline struct ptli_acceptance ptli_walk(struct ptli_entry *first,
                                               const struct ptli_request *request)
{
    struct ptli_acceptance found = {NULL, 0, 0};
    struct ptli_entry *entry = first;
    for (; (entry = ptli_matching(entry, request->match_bits)); entry = entry->next) {
        if (!entry->rules || !ptli_id_fits(entry->match_id, request->initiator)) continue;
        if (!ptli_rules_accept(entry->rules, request, &found.offset, &found.mlength)) continue;
        found.entry = entry;
        return found;
    }
    return found;
}

/* Whether a descriptor is inactive that has this local offset.  max_size does not bound a single
 * request, as in the reference library: no known program depends on the other interpretation.  It
 * does not apply to an offset that the requester chooses.  */
static inline bool ptli_rules_exhausted(const struct ptli_rules *rules, ptl_size_t local_offset)
{
    return (rules->options & PTL_MD_MAX_SIZE) && rules->length - local_offset < rules->max_size;
}

/* Updates offset and space after an acceptance; to be followed by ptli_rules_count.  */
static inline void ptli_rules_advance(struct ptli_rules *rules, ptl_size_t mlength)
{
    if (rules->options & PTL_MD_MANAGE_REMOTE) return;
    rules->local_offset += mlength;
    if (ptli_rules_exhausted(rules, rules->local_offset)) rules->inactive = true;
}

/* Counts an operation against the threshold.  */
static inline void ptli_rules_count(struct ptli_rules *rules)
{
    if (rules->threshold == PTL_MD_THRESH_INF || rules->threshold == 0) return;
    if (--rules->threshold == 0) rules->inactive = true;
}

/* The rules of a new or updated descriptor of `length` bytes.  */
static inline struct ptli_rules ptli_rules_of(const ptl_md_t *md, ptl_size_t length)
{
    return (struct ptli_rules){.options = md->options,
                               .threshold = md->threshold,
                               .length = length,
                               .max_size = md->max_size,
                               .inactive = md->threshold == 0};
}

#endif
