/*
 * match.h - the walk through a match list and what acceptance does to a memory descriptor.
 *
 * Pure: state in, decision out; no locks, no events, no memory.  The engine embeds ptli_entry in an
 * ME and ptli_rules in an MD.
 */
#ifndef PTLI_MATCH_H
#define PTLI_MATCH_H

#include <stdbool.h>
#include <stdint.h>
#include <portals3.h>

/* What an MD allows, as it stands. */
struct ptli_rules {
    unsigned int options;
    int threshold;
    ptl_size_t length; /* bytes, all pieces together */
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
    struct ptli_entry *entry; /* NULL: nobody took it */
    ptl_size_t offset, mlength;
};

/* Does the process pass an id that may be wild? */
bool ptli_id_fits(ptl_process_id_t wanted, ptl_process_id_t id);

/* Would this descriptor take the request, and where? */
bool ptli_rules_accept(const struct ptli_rules *rules, const struct ptli_request *request,
                       ptl_size_t *offset, ptl_size_t *mlength);

/* The first entry of the list that takes the request; changes nothing. */
struct ptli_acceptance ptli_walk(struct ptli_entry *first, const struct ptli_request *request);

/* What acceptance does: offset and space.  Then ptli_rules_count. */
void ptli_rules_advance(struct ptli_rules *rules, ptl_size_t mlength);
/* One operation that counts against the threshold. */
void ptli_rules_count(struct ptli_rules *rules);

/* The rules of a new or updated descriptor of so many bytes. */
struct ptli_rules ptli_rules_of(const ptl_md_t *md, ptl_size_t length);

#endif
