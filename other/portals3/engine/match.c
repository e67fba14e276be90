/*
 * match.c - matching and acceptance of requests; see match.h.
 *
 * Called by the engine, with its lock held, for each request that arrives.  Offsets and lengths
 * may come from the network: they are never added, as the sum could overflow.
 */
#include <stddef.h>
#include "other/portals3/engine/match.h"

bool ptli_id_fits(ptl_process_id_t wanted, ptl_process_id_t id)
{
    return (wanted.nid == PTL_NID_ANY || wanted.nid == id.nid) &&
           (wanted.pid == PTL_PID_ANY || wanted.pid == id.pid);
}

bool ptli_rules_accept(const struct ptli_rules *rules, const struct ptli_request *request,
                       ptl_size_t *offset, ptl_size_t *mlength)
{
    ptl_size_t space;
    if (rules->inactive || (rules->options & request->operation) != request->operation)
        return false;
    *offset = rules->options & PTL_MD_MANAGE_REMOTE ? request->remote_offset : rules->local_offset;
    /* Beyond the end a truncating descriptor refuses, too; at the end it accepts 0 bytes.  */
    if (*offset > rules->length) return false;
    space = rules->length - *offset;
    *mlength = request->length;
    if (request->length <= space) return true;
    *mlength = space;
    return rules->options & PTL_MD_TRUNCATE;
}

struct ptli_acceptance ptli_walk(struct ptli_entry *first, const struct ptli_request *request)
{
    struct ptli_acceptance found = {NULL, 0, 0};
    for (struct ptli_entry *entry = first; entry; entry = entry->next) {
        if (((request->match_bits ^ entry->match_bits) & ~entry->ignore_bits) != 0) continue;
        if (!entry->rules || !ptli_id_fits(entry->match_id, request->initiator)) continue;
        if (!ptli_rules_accept(entry->rules, request, &found.offset, &found.mlength)) continue;
        found.entry = entry;
        return found;
    }
    return found;
}

void ptli_rules_advance(struct ptli_rules *rules, ptl_size_t mlength)
{
    if (rules->options & PTL_MD_MANAGE_REMOTE) return;
    rules->local_offset += mlength;
    /* max_size does not bound a single request, as in the reference library: no known program
     * depends on the other interpretation.  It does not apply to an offset that the requester
     * chooses.  */
    if ((rules->options & PTL_MD_MAX_SIZE) && rules->length - rules->local_offset < rules->max_size)
        rules->inactive = true;
}

void ptli_rules_count(struct ptli_rules *rules)
{
    if (rules->threshold == PTL_MD_THRESH_INF || rules->threshold == 0) return;
    if (--rules->threshold == 0) rules->inactive = true;
}

struct ptli_rules ptli_rules_of(const ptl_md_t *md, ptl_size_t length)
{
    return (struct ptli_rules){.options = md->options,
                               .threshold = md->threshold,
                               .length = length,
                               .max_size = md->max_size,
                               .inactive = md->threshold == 0};
}
