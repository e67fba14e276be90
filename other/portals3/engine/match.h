/*
 * match.h - the search of a match list, and the effect of acceptance on a memory descriptor.
 *
 * Pure: state in, decision out; no locks, no events, no allocation.  The engine embeds ptli_entry
 * in an ME and ptli_rules in an MD.
 */
#ifndef PTLI_MATCH_H
#define PTLI_MATCH_H

#include <stdbool.h>
#include <stdint.h>
#include <portals3.h>

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
bool ptli_id_fits(ptl_process_id_t wanted, ptl_process_id_t id);

/* Whether this descriptor would accept the request, and at which offset.  */
bool ptli_rules_accept(const struct ptli_rules *rules, const struct ptli_request *request,
                       ptl_size_t *offset, ptl_size_t *mlength);

/* The first entry of the list that accepts the request; changes nothing.  */
struct ptli_acceptance ptli_walk(struct ptli_entry *first, const struct ptli_request *request);

/* Updates offset and space after an acceptance; to be followed by ptli_rules_count.  */
void ptli_rules_advance(struct ptli_rules *rules, ptl_size_t mlength);
/* Counts an operation against the threshold.  */
void ptli_rules_count(struct ptli_rules *rules);

/* The rules of a new or updated descriptor of `length` bytes.  */
struct ptli_rules ptli_rules_of(const ptl_md_t *md, ptl_size_t length);

#endif
