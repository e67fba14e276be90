/* hosts.h - which hosts a job runs on, and which ranks go where.
 *
 * Pure: text in, lists out; reading files and the environment is the caller's.
 */
#ifndef HOSTS_H
#define HOSTS_H

#include "other/spawner/shell_quote.h"

#include <stdint.h>

enum hosts_format {
    HOSTS_FILE,   /* one a line, first word counts, # comments, blank lines ignored */
    HOSTS_WORDS,  /* separated by commas or white space */
    HOSTS_RANGES, /* as SLURM writes them: rack1,node[07-12,14] */
};

/* Appends the hosts of `text`.  False: `why` says what is wrong with which name. */
bool hosts_parse(struct shell_words *hosts, enum hosts_format format, const char *text, char *why,
                 size_t why_size);

/* Hosts that follow each other under one name become one. */
void hosts_merge(struct shell_words *hosts);

/* Two spellings of one host: equal, or equal up to the first dot when one of them has no dot. */
bool hosts_same(const char *a, const char *b);

/* Ranks first, first + stride, ... */
struct hosts_block {
    uint32_t first, count, stride;
};

static inline uint32_t hosts_rank(const struct hosts_block *block, uint32_t index)
{
    return block->first + index * block->stride;
}

/* UINT32_MAX: not one of the block. */
static inline uint32_t hosts_index(const struct hosts_block *block, uint32_t rank)
{
    uint32_t index = rank < block->first ? UINT32_MAX : (rank - block->first) / block->stride;
    return index < block->count && hosts_rank(block, index) == rank ? index : UINT32_MAX;
}

/* Contiguous blocks for `hosts` hosts, as even as possible, the larger ones first; hosts must be
 * 1..ranks. */
void hosts_place(uint32_t ranks, uint32_t hosts, struct hosts_block *blocks);
/* The same, ranks dealt out one by one. */
void hosts_deal(uint32_t ranks, uint32_t hosts, struct hosts_block *blocks);

#endif
