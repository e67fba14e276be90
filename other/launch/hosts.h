/* hosts.h - which hosts a job runs on, and which ranks run on which host.
 *
 * Pure: the caller reads files and the environment.
 */
#ifndef HOSTS_H
#define HOSTS_H

#include <stdint.h>

#include "other/launch/shell_quote.h"

/* In each format, a host may be written as
 *   name, user@name, name:4                  the number of slots is not used
 *   2001:db8::1, [2001:db8::1], [::1]:4      an address
 *   n[07-12,14]-ib, rack[0-1]_blade[0-1]     several hosts, the last range in turn first
 * and a byte order mark at the beginning is passed over. */
enum hosts_format {
    HOSTS_FILE,  /* a host in each line; only the first word counts; # comments, blank lines
                    ignored */
    HOSTS_WORDS, /* separated by commas or white space */
    HOSTS_PAIRS, /* words, each host followed by its number of slots */
};

/* Appends the hosts of `text`.  Returns false with the wrong name and the reason in `why`. */
bool hosts_parse(struct shell_words *hosts, enum hosts_format format, const char *text, char *why,
                 size_t why_size);

/* Merges adjacent equal names. */
void hosts_merge(struct shell_words *hosts);

/* Whether two names mean one host: they are equal, or equal up to the first dot where one has
 * none. */
bool hosts_same(const char *a, const char *b);

/* Ranks first, first + stride, ... */
struct hosts_block {
    uint32_t first, count, stride;
};

static inline uint32_t hosts_rank(const struct hosts_block *block, uint32_t index)
{
    return block->first + index * block->stride;
}

/* The inverse of hosts_rank; UINT32_MAX if the block does not hold the rank. */
static inline uint32_t hosts_index(const struct hosts_block *block, uint32_t rank)
{
    uint32_t index = rank < block->first ? UINT32_MAX : (rank - block->first) / block->stride;
    return index < block->count && hosts_rank(block, index) == rank ? index : UINT32_MAX;
}

/* Distributes ranks in contiguous blocks to `hosts` hosts, as evenly as possible, larger blocks
 * first; hosts must be 1..ranks. */
void hosts_place(uint32_t ranks, uint32_t hosts, struct hosts_block *blocks);
/* Distributes ranks cyclically to `hosts` hosts, which must be 1..ranks. */
void hosts_deal(uint32_t ranks, uint32_t hosts, struct hosts_block *blocks);

#endif
