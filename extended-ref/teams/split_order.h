/* split_order.h - which ranks form a team in gasnet_coll_team_split and gex_TM_Split, and in which
 * order.  Pure.
 */
#pragma once

#include <stdint.h>

/* The arguments of one image.  All images of a node pass the same color and relrank.  */
typedef struct gasnete_coll_split {
    uint32_t color, relrank;
    uint32_t id;     /* the least id that the new team may have on this node */
    uint32_t digest; /* of arguments that are equal on all members of a new team; 0: none are */
} gasnete_coll_split_t;

/* A member of a new team.  */
typedef struct gasnete_coll_seat {
    uint32_t relrank;
    uint32_t rank; /* in the parent */
} gasnete_coll_seat_t;

/* The members of the team of `color`, in order.  Rank r of the `size` of the parent passes
 * entries[r], or with several images a node entries[first[r]] to entries[first[r + 1] - 1]. Returns
 * the number of members; `seats` has room for `size`.  */
uint32_t gasnete_coll_split_seats(const gasnete_coll_split_t *entries, const uint32_t *first,
                                  uint32_t size, uint32_t color, gasnete_coll_seat_t *seats);

/* The first of `count` ranks of the parent whose digest is not `digest`, or whose color is another;
 * the index, or `count`.  One image a node.  */
uint32_t gasnete_coll_split_differs(const gasnete_coll_split_t *entries, const uint32_t *ranks,
                                    uint32_t count, uint32_t color, uint32_t digest);

/* The id of the new teams.  One id for all colors is enough: no node is in two of the teams. */
uint32_t gasnete_coll_split_id(const gasnete_coll_split_t *entries, uint32_t images);

/* The first rank whose images pass different arguments; `size` if all agree.  */
uint32_t gasnete_coll_split_discord(const gasnete_coll_split_t *entries, const uint32_t *first,
                                    uint32_t size);
