/* choose.h - how a vector, indexed or strided transfer is made, from counts alone; pure.
 *
 * The constants come from `make bench` (tests/bench/vis.sh), which measures all ways.  The constant
 * for lists comes from counts of instructions: above the verbs a piece of a list costs as much as a
 * copy of 200 bytes to the buffer of a put, or of 380 bytes from that of a get; with the software
 * device included 480 and 190.
 */
#pragma once

#include "extended-ref/vis/walk.h"

enum gasnete_vis_way {
    GASNETE_VIS_EACH, /* a put or get of each run */
    GASNETE_VIS_PACK, /* many runs in a Medium, which a handler packs or unpacks */
    GASNETE_VIS_COPY, /* the remote side, which is contiguous, is put from a buffer or got into one
                       */
    GASNETE_VIS_LIST, /* a contiguous remote side is put from, or got into, lists of local runs */
};

/* The ways that the user allows.  */
typedef struct gasnete_vis_limits {
    bool pack; /* GASNET_VIS_AMPIPE */
    bool copy; /* GASNET_VIS_REMOTECONTIG */
    bool list; /* GASNET_VIS_REMOTECONTIG, if the network has lists and the local side is in the
                  segment */
    size_t longest; /* GASNET_VIS_MAXCHUNK: longest mean run for pack and copy; 0: the constants
                       below */
} gasnete_vis_limits_t;

enum {
    GASNETE_VIS_PACK_RUNS = 16, /* fewer runs are not worth a message and its answer */
    GASNETE_VIS_PACK_PUT =
        128, /* bytes: the longest mean run; longer ones are faster by themselves */
    GASNETE_VIS_PACK_GET = 256,
    GASNETE_VIS_COPY_RUN = 1024,
    GASNETE_VIS_LIST_RUN = 256, /* bytes: runs that are longer, on average, are listed */
};

static inline bool gasnete_vis_short(size_t mean, size_t limit, gasnete_vis_limits_t limits)
{
    return mean <= (limits.longest ? limits.longest : limit);
}

/* Chooses the way of a transfer, whose shapes have the same number of bytes, at least 1.  A get
 * that does not block cannot copy: the data would have to be copied by the call that synchronises
 * the get.  */
static inline enum gasnete_vis_way gasnete_vis_choose(const gasnete_vis_shape_t *local,
                                                      const gasnete_vis_shape_t *remote, bool put,
                                                      bool blocking, gasnete_vis_limits_t limits)
{
    size_t runs = local->runs > remote->runs ? local->runs : remote->runs;
    size_t mean = local->bytes / runs;
    if (runs > 1 && remote->runs == 1 && limits.list &&
        !gasnete_vis_short(mean, GASNETE_VIS_LIST_RUN, limits))
        return GASNETE_VIS_LIST;
    if (runs > 1 && remote->runs == 1 && limits.copy && (put || blocking) &&
        gasnete_vis_short(mean, GASNETE_VIS_COPY_RUN, limits))
        return GASNETE_VIS_COPY;
    if (runs >= GASNETE_VIS_PACK_RUNS && limits.pack &&
        gasnete_vis_short(mean, put ? GASNETE_VIS_PACK_PUT : GASNETE_VIS_PACK_GET, limits))
        return GASNETE_VIS_PACK;
    return GASNETE_VIS_EACH;
}
