/* stock.h - a pool of numbered objects: chunks, records.  Pure.
 *
 * The order is last in, first out: the object released last is in the processor's cache.  With
 * several threads the caller holds a lock.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

enum { STOCK_NONE = UINT32_MAX };

typedef struct stock {
    uint32_t *number; /* [count]: the free numbers */
    uint32_t count, total, fewest;
} stock_t;

/* Makes a stock of the numbers 0 .. total-1; false: out of memory. */
static inline bool stock_init(stock_t *stock, uint32_t total)
{
    *stock = (stock_t){.number = malloc((total ? total : 1) * sizeof *stock->number),
                       .count = total,
                       .total = total,
                       .fewest = total};
    if (!stock->number) return false;
    for (uint32_t i = 0; i < total; i++) stock->number[i] = total - 1 - i;
    return true;
}

static inline void stock_fini(stock_t *stock)
{
    free(stock->number);
    *stock = (stock_t){.number = NULL};
}

static inline uint32_t stock_take(stock_t *stock)
{
    if (stock->count == 0) return STOCK_NONE;
    uint32_t number = stock->number[--stock->count];
    if (stock->count < stock->fewest) stock->fewest = stock->count;
    return number;
}

static inline void stock_give(stock_t *stock, uint32_t number)
{
    stock->number[stock->count++] = number;
}
