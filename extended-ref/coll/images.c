/* images.c - the buffers of a node's operation: an image's own memory, or the packed data of
 * several images, and scratch.
 *
 * Plans know nodes only.  With one image a node they work on the memory of the caller; with several
 * images, data that plan.h defines as contiguous is packed before and unpacked afterwards.
 */
#include <stdlib.h>
#include <string.h>

#include "core/report.h"
#include "extended-ref/coll/op.h"

static void images_copy(void *to, const void *from, size_t nbytes)
{
    if (to != from) memcpy(to, from, nbytes);
}

/* The sizes of packed memory, and the image of this node that is the root.  */
typedef struct images_layout {
    size_t src, dst; /* bytes to pack; 0: the image's own memory */
    uint32_t root;   /* the local image that is the root; 0 on other nodes */
} images_layout_t;

static bool images_here(const gasnete_coll_op_t *op)
{
    return op->schedule->key.root == op->call.team->rank;
}

/* True if the root's destination of a reduction is its source, which plans do not allow for.  */
static bool images_reduces_in_place(const gasnete_coll_op_t *op, uint32_t root)
{
    const gasnete_coll_image_t *image = &op->images[root];
    return images_here(op) && (char *)image->src < (char *)image->dst + op->call.nbytes &&
           (char *)image->dst < (char *)image->src + op->call.nbytes;
}

static images_layout_t images_layout(const gasnete_coll_op_t *op)
{
    const gasnete_coll_call_t *call = &op->call;
    const gasnete_team_t *team = call->team;
    size_t blocks = team->local > 1 ? team->local * call->nbytes : 0;
    images_layout_t layout = {0, 0, 0};
    if (images_here(op)) layout.root = call->root - gasnete_coll_first_image(team, team->rank);
    switch (call->kind) {
    case GASNETE_COLL_SCATTER:
        layout.dst = blocks;
        break;
    case GASNETE_COLL_GATHER:
    case GASNETE_COLL_GATHER_ALL:
        layout.src = blocks;
        break;
    case GASNETE_COLL_EXCHANGE:
        layout.src = layout.dst = blocks * team->images;
        break;
    case GASNETE_COLL_REDUCE:
        if (blocks || images_reduces_in_place(op, layout.root)) layout.src = call->nbytes;
        break;
    case GASNETE_COLL_BARRIER:
    case GASNETE_COLL_BROADCAST:
    case GASNETE_COLL_REDUCE_ALL:
        break;
    }
    return layout;
}

static char *images_alloc(gasnete_coll_op_t *op, size_t nbytes)
{
    op->memory = NULL;
    if (nbytes <= sizeof op->few) return op->few;
    op->memory = aligned_alloc(16, nbytes);
    if (op->memory == NULL)
        gasneti_fatal("out of memory: %zu bytes for packed images and scratch of %s; raise the "
                      "limit (ulimit -v)",
                      nbytes, op->call.name);
    return op->memory;
}

/* Packs the source of an EXCHANGE: a contiguous run of blocks for each pair of a rank and a local
 * image.  */
static void images_pack_exchange(const gasnete_coll_op_t *op, char *to)
{
    const gasnete_team_t *team = op->call.team;
    for (uint32_t b = 0; b < team->size; b++) {
        size_t first = gasnete_coll_first_image(team, b);
        size_t nbytes = (gasnete_coll_first_image(team, b + 1) - first) * op->call.nbytes;
        for (uint32_t i = 0; i < team->local; i++, to += nbytes)
            memcpy(to, (char *)op->images[i].src + first * op->call.nbytes, nbytes);
    }
}

static void images_unpack_exchange(const gasnete_coll_op_t *op)
{
    const gasnete_team_t *team = op->call.team;
    const char *from = op->buffer[GASNETE_COLL_DST];
    size_t nbytes = op->call.nbytes;
    for (uint32_t i = 0; i < team->images; i++)
        for (uint32_t j = 0; j < team->local; j++, from += nbytes)
            memcpy((char *)op->images[j].dst + i * nbytes, from, nbytes);
}

static void images_pack_reduce(const gasnete_coll_op_t *op, char *to)
{
    const gasnete_coll_image_t *images = op->images;
    size_t nbytes = op->call.nbytes;
    if (op->call.team->local == 1)
        memcpy(to, images[0].src, nbytes);
    else
        gasnete_coll_combine(&op->call, to, images[0].src, images[1].src, nbytes);
    for (uint32_t i = 2; i < op->call.team->local; i++)
        gasnete_coll_combine(&op->call, to, to, images[i].src, nbytes);
}

static void images_pack_src(const gasnete_coll_op_t *op, char *to)
{
    size_t nbytes = op->call.nbytes;
    switch (op->call.kind) {
    case GASNETE_COLL_EXCHANGE:
        images_pack_exchange(op, to);
        break;
    case GASNETE_COLL_REDUCE:
        images_pack_reduce(op, to);
        break;
    default:
        for (uint32_t i = 0; i < op->call.team->local; i++)
            memcpy(to + i * nbytes, op->images[i].src, nbytes);
    }
}

void gasnete_coll_pack(gasnete_coll_op_t *op)
{
    const images_layout_t layout = images_layout(op);
    const size_t src = plan_aligned(layout.src), dst = plan_aligned(layout.dst);
    const size_t all = src + dst + plan_aligned(op->schedule->scratch);
    const gasnete_coll_image_t *root = &op->images[layout.root];
    op->buffer[GASNETE_COLL_SRC] = root->src;
    op->buffer[GASNETE_COLL_DST] = root->dst;
    op->buffer[GASNETE_COLL_TMP] = NULL;
    op->memory = NULL;
    if (all == 0) return;
    char *memory = images_alloc(op, all);
    if (src) op->buffer[GASNETE_COLL_SRC] = memory;
    if (dst) op->buffer[GASNETE_COLL_DST] = memory + src;
    op->buffer[GASNETE_COLL_TMP] = memory + src + dst;
    if (src) images_pack_src(op, memory);
}

/* Copies the data that one image has received to the other images.  */
static void images_share(const gasnete_coll_op_t *op, size_t nbytes)
{
    for (uint32_t i = 0; i < op->call.team->local; i++)
        images_copy(op->images[i].dst, op->buffer[GASNETE_COLL_DST], nbytes);
}

static void images_unpack_several(const gasnete_coll_op_t *op)
{
    size_t nbytes = op->call.nbytes;
    switch (op->call.kind) {
    case GASNETE_COLL_BROADCAST:
        images_share(op, nbytes);
        break;
    case GASNETE_COLL_GATHER_ALL:
        images_share(op, nbytes * op->call.team->images);
        break;
    case GASNETE_COLL_SCATTER:
        for (uint32_t i = 0; i < op->call.team->local; i++)
            images_copy(op->images[i].dst, op->buffer[GASNETE_COLL_DST] + i * nbytes, nbytes);
        break;
    case GASNETE_COLL_EXCHANGE:
        images_unpack_exchange(op);
        break;
    case GASNETE_COLL_BARRIER:
    case GASNETE_COLL_GATHER:
    case GASNETE_COLL_REDUCE:
    case GASNETE_COLL_REDUCE_ALL:
        break;
    }
}

void gasnete_coll_unpack(gasnete_coll_op_t *op)
{
    if (op->call.team->local > 1) images_unpack_several(op);
    if (op->memory) free(op->memory);
}
