/* choose.h - how a vector, indexed or strided transfer is made, from counts alone; pure.
 *
 * `make bench` (tests/bench/vis.sh) shows each way for each shape; the constants here and the
 * default of GASNET_VIS_MAXCHUNK (core/params/params.def) come from it.
 */
#ifndef GASNETE_VIS_CHOOSE_H
#define GASNETE_VIS_CHOOSE_H

#include "extended-ref/vis/walk.h"

enum gasnete_vis_way {
    GASNETE_VIS_EACH,   /* a put or get of each run */
    GASNETE_VIS_PACK,   /* many runs in a Medium, unpacked by a handler */
    GASNETE_VIS_GATHER, /* runs of the local side collected in a buffer, which is put */
};

/* The parameters of the user.  */
typedef struct gasnete_vis_limits {
    bool pack;      /* GASNET_VIS_AMPIPE */
    bool gather;    /* GASNET_VIS_REMOTECONTIG */
    size_t longest; /* GASNET_VIS_MAXCHUNK: the longest mean piece that is copied to be sent */
} gasnete_vis_limits_t;

/* Fewer pieces are not worth a message with a handler.  */
enum { GASNETE_VIS_FEW = 3 };

/* Both shapes have the same number of bytes, at least 1.  */
static inline enum gasnete_vis_way gasnete_vis_choose(const gasnete_vis_shape_t *local,
                                                      const gasnete_vis_shape_t *remote, bool put,
                                                      gasnete_vis_limits_t limits)
{
    size_t pieces = local->runs > remote->runs ? local->runs : remote->runs;
    if (pieces < GASNETE_VIS_FEW || local->bytes / pieces > limits.longest) return GASNETE_VIS_EACH;
    if (put && remote->runs == 1 && limits.gather) return GASNETE_VIS_GATHER;
    return limits.pack ? GASNETE_VIS_PACK : GASNETE_VIS_EACH;
}

#endif
