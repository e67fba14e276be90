/* gasnet_vis.h - vector, indexed and strided puts and gets: many pieces of memory in one operation.
 *
 * gasnet.h includes this header; a client may include it by itself as well.  The rules of
 * gasnet_extended.h hold, and these:
 * - The pieces of the source, in the order of its description, are one stream of bytes, which fills
 *   the pieces of the destination in the order of theirs.  The two may be cut differently; their
 *   totals are equal.
 * - Pieces of the source may overlap; pieces of the destination must not, nor may they partly
 *   overlap the source.
 * - Addresses and lengths have any alignment.  Remote pieces lie in the segment of their node,
 * local ones anywhere.  The node may be the caller's own.
 * - An operation of no bytes does nothing, and ignores addresses.
 * - The library does not modify descriptions.  They, the source of a put and the destination of a
 *   get must stay unchanged until the operation is synchronised: by return of a _bulk form, by the
 *   handle of an _nb_bulk form, which may be GASNET_INVALID_HANDLE, or, for an _nbi_bulk form, as
 * an implicit put or get of the thread.
 * - Unequal totals, remote pieces outside the segment and invalid ranks are fatal errors that name
 *   the call.  Debug builds check each remote piece, the strides and the lengths.
 */
#include "gasnet.h"

#ifndef _INCLUDED_GASNET_VIS_H
#define _INCLUDED_GASNET_VIS_H

GASNETI_EXPORTS_BEGIN

/* One piece: len bytes at addr.  Where len is 0, addr may be anything.  */
typedef struct {
    void *addr;
    size_t len;
} gasnet_memvec_t;

/* --- Entry points of the library; not for clients --- */

/* The form of a call: how the caller synchronises.  */
enum gasnete_vis_form {
    GASNETE_VIS_BULK,
    GASNETE_VIS_NB,
    GASNETE_VIS_NBI,
    GASNETE_VIS_NBI_GROUPED /* a put that counts in GEX_EC_LC */
};

/* `tm` NULL: of GASNet-1, and `rank` is a node. */
extern gasnet_handle_t gasnete_vis_vector(int put, enum gasnete_vis_form form, gex_TM_t tm,
                                          gex_Rank_t rank, size_t dstcount, const void *dstlist,
                                          size_t srccount, const void *srclist);
extern gasnet_handle_t gasnete_vis_indexed(int put, enum gasnete_vis_form form, gex_TM_t tm,
                                           gex_Rank_t rank, size_t dstcount, void *const *dstlist,
                                           size_t dstlen, size_t srccount, void *const *srclist,
                                           size_t srclen);
extern gasnet_handle_t gasnete_vis_strided(int put, enum gasnete_vis_form form, gasnet_node_t node,
                                           void *dstaddr, const size_t *dststrides, void *srcaddr,
                                           const size_t *srcstrides, const size_t *count,
                                           size_t stridelevels);

/* --- Vector: lists of pieces of any length --- */

/* Entries of length 0 may be anywhere in a list.  A count may be 0, with any pointer as its list,
 * if the total of the other side is 0.  */

/* Writes the pieces of dstlist, on dstnode, from the pieces of srclist on this node, and waits for
 * the completion.  */
GASNETI_INLINE void gasnet_putv_bulk(gasnet_node_t dstnode, size_t dstcount,
                                     gasnet_memvec_t const *dstlist, size_t srccount,
                                     gasnet_memvec_t const *srclist)
{
    (void)gasnete_vis_vector(1, GASNETE_VIS_BULK, NULL, dstnode, dstcount, dstlist, srccount,
                             srclist);
}

/* gasnet_putv_bulk with an explicit handle: returns when the operation has been started.  */
GASNETI_INLINE gasnet_handle_t
gasnet_putv_nb_bulk(gasnet_node_t dstnode, size_t dstcount, gasnet_memvec_t const *dstlist,
                    size_t srccount, gasnet_memvec_t const *srclist) GASNETI_MUST_SYNC;
GASNETI_INLINE gasnet_handle_t gasnet_putv_nb_bulk(gasnet_node_t dstnode, size_t dstcount,
                                                   gasnet_memvec_t const *dstlist, size_t srccount,
                                                   gasnet_memvec_t const *srclist)
{
    return gasnete_vis_vector(1, GASNETE_VIS_NB, NULL, dstnode, dstcount, dstlist, srccount,
                              srclist);
}

/* gasnet_putv_bulk as an implicit put of the calling thread, or in its open access region.  */
GASNETI_INLINE void gasnet_putv_nbi_bulk(gasnet_node_t dstnode, size_t dstcount,
                                         gasnet_memvec_t const *dstlist, size_t srccount,
                                         gasnet_memvec_t const *srclist)
{
    (void)gasnete_vis_vector(1, GASNETE_VIS_NBI, NULL, dstnode, dstcount, dstlist, srccount,
                             srclist);
}

/* Reads the pieces of srclist, on srcnode, into the pieces of dstlist on this node, and waits for
 * the data.  */
GASNETI_INLINE void gasnet_getv_bulk(size_t dstcount, gasnet_memvec_t const *dstlist,
                                     gasnet_node_t srcnode, size_t srccount,
                                     gasnet_memvec_t const *srclist)
{
    (void)gasnete_vis_vector(0, GASNETE_VIS_BULK, NULL, srcnode, dstcount, dstlist, srccount,
                             srclist);
}

/* gasnet_getv_bulk with an explicit handle: returns when the operation has been started.  */
GASNETI_INLINE gasnet_handle_t
gasnet_getv_nb_bulk(size_t dstcount, gasnet_memvec_t const *dstlist, gasnet_node_t srcnode,
                    size_t srccount, gasnet_memvec_t const *srclist) GASNETI_MUST_SYNC;
GASNETI_INLINE gasnet_handle_t gasnet_getv_nb_bulk(size_t dstcount, gasnet_memvec_t const *dstlist,
                                                   gasnet_node_t srcnode, size_t srccount,
                                                   gasnet_memvec_t const *srclist)
{
    return gasnete_vis_vector(0, GASNETE_VIS_NB, NULL, srcnode, dstcount, dstlist, srccount,
                              srclist);
}

/* gasnet_getv_bulk as an implicit get of the calling thread, or in its open access region.  */
GASNETI_INLINE void gasnet_getv_nbi_bulk(size_t dstcount, gasnet_memvec_t const *dstlist,
                                         gasnet_node_t srcnode, size_t srccount,
                                         gasnet_memvec_t const *srclist)
{
    (void)gasnete_vis_vector(0, GASNETE_VIS_NBI, NULL, srcnode, dstcount, dstlist, srccount,
                             srclist);
}

/* --- Indexed: lists of addresses of pieces of one length --- */

/* Pieces of dstlen bytes on one side, of srclen bytes on the other: dstcount * dstlen == srccount *
 * srclen.  Neither length needs to be a multiple of the other.  With a count of 0 a list may be any
 * pointer; a length is 0 only if its count is.  */

/* Writes the pieces of dstlist, on dstnode, from the pieces of srclist on this node, and waits for
 * the completion.  */
GASNETI_INLINE void gasnet_puti_bulk(gasnet_node_t dstnode, size_t dstcount, void *const *dstlist,
                                     size_t dstlen, size_t srccount, void *const *srclist,
                                     size_t srclen)
{
    (void)gasnete_vis_indexed(1, GASNETE_VIS_BULK, NULL, dstnode, dstcount, dstlist, dstlen,
                              srccount, srclist, srclen);
}

/* gasnet_puti_bulk with an explicit handle: returns when the operation has been started.  */
GASNETI_INLINE gasnet_handle_t gasnet_puti_nb_bulk(gasnet_node_t dstnode, size_t dstcount,
                                                   void *const *dstlist, size_t dstlen,
                                                   size_t srccount, void *const *srclist,
                                                   size_t srclen) GASNETI_MUST_SYNC;
GASNETI_INLINE gasnet_handle_t gasnet_puti_nb_bulk(gasnet_node_t dstnode, size_t dstcount,
                                                   void *const *dstlist, size_t dstlen,
                                                   size_t srccount, void *const *srclist,
                                                   size_t srclen)
{
    return gasnete_vis_indexed(1, GASNETE_VIS_NB, NULL, dstnode, dstcount, dstlist, dstlen,
                               srccount, srclist, srclen);
}

/* gasnet_puti_bulk as an implicit put of the calling thread, or in its open access region.  */
GASNETI_INLINE void gasnet_puti_nbi_bulk(gasnet_node_t dstnode, size_t dstcount,
                                         void *const *dstlist, size_t dstlen, size_t srccount,
                                         void *const *srclist, size_t srclen)
{
    (void)gasnete_vis_indexed(1, GASNETE_VIS_NBI, NULL, dstnode, dstcount, dstlist, dstlen,
                              srccount, srclist, srclen);
}

/* Reads the pieces of srclist, on srcnode, into the pieces of dstlist on this node, and waits for
 * the data.  */
GASNETI_INLINE void gasnet_geti_bulk(size_t dstcount, void *const *dstlist, size_t dstlen,
                                     gasnet_node_t srcnode, size_t srccount, void *const *srclist,
                                     size_t srclen)
{
    (void)gasnete_vis_indexed(0, GASNETE_VIS_BULK, NULL, srcnode, dstcount, dstlist, dstlen,
                              srccount, srclist, srclen);
}

/* gasnet_geti_bulk with an explicit handle: returns when the operation has been started.  */
GASNETI_INLINE gasnet_handle_t gasnet_geti_nb_bulk(size_t dstcount, void *const *dstlist,
                                                   size_t dstlen, gasnet_node_t srcnode,
                                                   size_t srccount, void *const *srclist,
                                                   size_t srclen) GASNETI_MUST_SYNC;
GASNETI_INLINE gasnet_handle_t gasnet_geti_nb_bulk(size_t dstcount, void *const *dstlist,
                                                   size_t dstlen, gasnet_node_t srcnode,
                                                   size_t srccount, void *const *srclist,
                                                   size_t srclen)
{
    return gasnete_vis_indexed(0, GASNETE_VIS_NB, NULL, srcnode, dstcount, dstlist, dstlen,
                               srccount, srclist, srclen);
}

/* gasnet_geti_bulk as an implicit get of the calling thread, or in its open access region.  */
GASNETI_INLINE void gasnet_geti_nbi_bulk(size_t dstcount, void *const *dstlist, size_t dstlen,
                                         gasnet_node_t srcnode, size_t srccount,
                                         void *const *srclist, size_t srclen)
{
    (void)gasnete_vis_indexed(0, GASNETE_VIS_NBI, NULL, srcnode, dstcount, dstlist, dstlen,
                              srccount, srclist, srclen);
}

/* --- Strided: sections of arrays --- */

/* A section is count[0] contiguous bytes, repeated count[1] times at the distance of strides[0]
 * bytes, the whole of that repeated count[2] times at the distance of strides[1] bytes, and so on.
 * count has stridelevels + 1 entries, both lists of strides have stridelevels.  strides[0] >=
 * count[0], and strides[i] >= count[i] * strides[i - 1]; debug builds do not ask that of a level
 * whose count is 1, as its stride has no effect.  With 0 levels the transfer is contiguous and the
 * strides may be NULL.  */

/* Writes the pieces of dstaddr, on dstnode, from the pieces of srcaddr on this node, and waits for
 * the completion.  */
GASNETI_INLINE void gasnet_puts_bulk(gasnet_node_t dstnode, void *dstaddr, const size_t *dststrides,
                                     void *srcaddr, const size_t *srcstrides, const size_t *count,
                                     size_t stridelevels)
{
    (void)gasnete_vis_strided(1, GASNETE_VIS_BULK, dstnode, dstaddr, dststrides, srcaddr,
                              srcstrides, count, stridelevels);
}

/* gasnet_puts_bulk with an explicit handle: returns when the operation has been started.  */
GASNETI_INLINE gasnet_handle_t gasnet_puts_nb_bulk(gasnet_node_t dstnode, void *dstaddr,
                                                   const size_t *dststrides, void *srcaddr,
                                                   const size_t *srcstrides, const size_t *count,
                                                   size_t stridelevels) GASNETI_MUST_SYNC;
GASNETI_INLINE gasnet_handle_t gasnet_puts_nb_bulk(gasnet_node_t dstnode, void *dstaddr,
                                                   const size_t *dststrides, void *srcaddr,
                                                   const size_t *srcstrides, const size_t *count,
                                                   size_t stridelevels)
{
    return gasnete_vis_strided(1, GASNETE_VIS_NB, dstnode, dstaddr, dststrides, srcaddr, srcstrides,
                               count, stridelevels);
}

/* gasnet_puts_bulk as an implicit put of the calling thread, or in its open access region.  */
GASNETI_INLINE void gasnet_puts_nbi_bulk(gasnet_node_t dstnode, void *dstaddr,
                                         const size_t *dststrides, void *srcaddr,
                                         const size_t *srcstrides, const size_t *count,
                                         size_t stridelevels)
{
    (void)gasnete_vis_strided(1, GASNETE_VIS_NBI, dstnode, dstaddr, dststrides, srcaddr, srcstrides,
                              count, stridelevels);
}

/* Reads the pieces of srcaddr, on srcnode, into the pieces of dstaddr on this node, and waits for
 * the data.  */
GASNETI_INLINE void gasnet_gets_bulk(void *dstaddr, const size_t *dststrides, gasnet_node_t srcnode,
                                     void *srcaddr, const size_t *srcstrides, const size_t *count,
                                     size_t stridelevels)
{
    (void)gasnete_vis_strided(0, GASNETE_VIS_BULK, srcnode, dstaddr, dststrides, srcaddr,
                              srcstrides, count, stridelevels);
}

/* gasnet_gets_bulk with an explicit handle: returns when the operation has been started.  */
GASNETI_INLINE gasnet_handle_t gasnet_gets_nb_bulk(void *dstaddr, const size_t *dststrides,
                                                   gasnet_node_t srcnode, void *srcaddr,
                                                   const size_t *srcstrides, const size_t *count,
                                                   size_t stridelevels) GASNETI_MUST_SYNC;
GASNETI_INLINE gasnet_handle_t gasnet_gets_nb_bulk(void *dstaddr, const size_t *dststrides,
                                                   gasnet_node_t srcnode, void *srcaddr,
                                                   const size_t *srcstrides, const size_t *count,
                                                   size_t stridelevels)
{
    return gasnete_vis_strided(0, GASNETE_VIS_NB, srcnode, dstaddr, dststrides, srcaddr, srcstrides,
                               count, stridelevels);
}

/* gasnet_gets_bulk as an implicit get of the calling thread, or in its open access region.  */
GASNETI_INLINE void gasnet_gets_nbi_bulk(void *dstaddr, const size_t *dststrides,
                                         gasnet_node_t srcnode, void *srcaddr,
                                         const size_t *srcstrides, const size_t *count,
                                         size_t stridelevels)
{
    (void)gasnete_vis_strided(0, GASNETE_VIS_NBI, srcnode, dstaddr, dststrides, srcaddr, srcstrides,
                              count, stridelevels);
}

/* --- Descriptions as text, for diagnostics --- */

/* Each gasnett_format_X writes a text with a final NUL to buf, which has room for the number of
 * bytes that gasnett_format_X_bufsz returns for the same counts.  A long list is written as its
 * first and last entries.  */

/* The statistics of a list.  Empty entries count in minsz only; in an empty list all is 0.  */
typedef struct {
    size_t minsz, maxsz;     /* bytes of the shortest and of the longest entry */
    void *minaddr, *maxaddr; /* the first and the last byte */
    size_t totalsz;          /* bytes of all entries */
} gasnett_list_stats_t;

/* A list of (address, length) pairs.  */
extern size_t gasnett_format_memveclist_bufsz(size_t count);
extern gasnett_list_stats_t gasnett_format_memveclist(char *buf, size_t count,
                                                      gasnet_memvec_t const *list);

/* A list of addresses of pieces of len bytes.  */
extern size_t gasnett_format_addrlist_bufsz(size_t count);
extern gasnett_list_stats_t gasnett_format_addrlist(char *buf, size_t count, void *const *list,
                                                    size_t len);

/* A list of count strides or counts.  */
extern size_t gasnett_format_strides_bufsz(size_t count);
extern void gasnett_format_strides(char *buf, size_t count, const size_t *list);

/* The arguments of a vector, indexed or strided transfer with `node`.  Return the total of bytes.
 */
extern size_t gasnett_format_putvgetv_bufsz(size_t dstcount, size_t srccount);
extern size_t gasnett_format_putvgetv(char *buf, gasnet_node_t node, size_t dstcount,
                                      gasnet_memvec_t const *dstlist, size_t srccount,
                                      gasnet_memvec_t const *srclist);
extern size_t gasnett_format_putigeti_bufsz(size_t dstcount, size_t srccount);
extern size_t gasnett_format_putigeti(char *buf, gasnet_node_t node, size_t dstcount,
                                      void *const *dstlist, size_t dstlen, size_t srccount,
                                      void *const *srclist, size_t srclen);
/* The second argument is ignored and may be NULL.  */
extern size_t gasnett_format_putsgets_bufsz(size_t stridelevels);
extern size_t gasnett_format_putsgets(char *buf, void *unused, gasnet_node_t node, void *dstaddr,
                                      const size_t *dststrides, void *srcaddr,
                                      const size_t *srcstrides, const size_t *count,
                                      size_t stridelevels);

/* --- GASNet-EX --- */

/* The same transfers: Blocking, NB with an event, NBI as implicit operations.  Results of type int
 * are 0.  flags: GEX_FLAG_IMMEDIATE changes nothing; with GEX_FLAG_ENABLE_LEAF_LC the source of a
 * put is free when the leaf GEX_EC_LC of its event is complete (NB), or when GEX_EC_LC is
 * synchronised (NBI).  Lists, and the memory of both sides, must stay unchanged until the operation
 * is complete.
 *
 * Strided: pieces of elemsz bytes, of which level i has count[i], dststrides[i] and srcstrides[i]
 * bytes from each other.  Strides may be negative and in any order; these arrays may change on
 * return.  An elemsz or count of 0: nothing is transferred. */

extern gasnet_handle_t gasnete_ex_strided(int put, enum gasnete_vis_form form, gex_TM_t tm,
                                          gex_Rank_t rank, void *dst, const ptrdiff_t *dststrides,
                                          void *src, const ptrdiff_t *srcstrides, size_t elemsz,
                                          const size_t *count, size_t stridelevels);

#define GASNETI_VIS_FORMS(name, parameters, call)                                                  \
    GASNETI_INLINE int gex_VIS_##name##Blocking parameters                                         \
    {                                                                                              \
        const enum gasnete_vis_form form = GASNETE_VIS_BULK;                                       \
        (void)flags;                                                                               \
        (void)call;                                                                                \
        return 0;                                                                                  \
    }                                                                                              \
    GASNETI_INLINE gex_Event_t gex_VIS_##name##NB parameters GASNETI_MUST_SYNC;                    \
    GASNETI_INLINE gex_Event_t gex_VIS_##name##NB parameters                                       \
    {                                                                                              \
        const enum gasnete_vis_form form = GASNETE_VIS_NB;                                         \
        (void)flags;                                                                               \
        return call;                                                                               \
    }                                                                                              \
    GASNETI_INLINE int gex_VIS_##name##NBI parameters                                              \
    {                                                                                              \
        const enum gasnete_vis_form form =                                                         \
            flags & GEX_FLAG_ENABLE_LEAF_LC ? GASNETE_VIS_NBI_GROUPED : GASNETE_VIS_NBI;           \
        (void)call;                                                                                \
        return 0;                                                                                  \
    }
/* The most bytes of its payload. */
#define GEX_VIS_MAX_PEERCOMPLETION 128

/* Deprecated.  Binds a handler to the calling thread's next vector, indexed or strided put: when
 * the data is there, the target runs its Medium Reply handler `handler`, which has no arguments,
 * with a copy of the nbytes (at most GEX_VIS_MAX_PEERCOMPLETION) at src, which is read before this
 * call returns.  Such a put is complete when its call returns.  handler 0: no longer.  flags: 0. */
extern void gex_VIS_SetPeerCompletionHandler(gex_AM_Index_t handler, const void *src, size_t nbytes,
                                             gex_Flags_t flags);

/* Vector transfers: lists of pieces of any length. */
GASNETI_VIS_FORMS(VectorPut,
                  (gex_TM_t tm, gex_Rank_t rank, size_t dstcount, const gex_Memvec_t dstlist[],
                   size_t srccount, const gex_Memvec_t srclist[], gex_Flags_t flags),
                  gasnete_vis_vector(1, form, tm, rank, dstcount, dstlist, srccount, srclist))
GASNETI_VIS_FORMS(VectorGet,
                  (gex_TM_t tm, size_t dstcount, const gex_Memvec_t dstlist[], gex_Rank_t rank,
                   size_t srccount, const gex_Memvec_t srclist[], gex_Flags_t flags),
                  gasnete_vis_vector(0, form, tm, rank, dstcount, dstlist, srccount, srclist))
/* Indexed transfers: lists of pieces of one length. */
GASNETI_VIS_FORMS(IndexedPut,
                  (gex_TM_t tm, gex_Rank_t rank, size_t dstcount, void *const dstlist[],
                   size_t dstlen, size_t srccount, void *const srclist[], size_t srclen,
                   gex_Flags_t flags),
                  gasnete_vis_indexed(1, form, tm, rank, dstcount, dstlist, dstlen, srccount,
                                      srclist, srclen))
GASNETI_VIS_FORMS(IndexedGet,
                  (gex_TM_t tm, size_t dstcount, void *const dstlist[], size_t dstlen,
                   gex_Rank_t rank, size_t srccount, void *const srclist[], size_t srclen,
                   gex_Flags_t flags),
                  gasnete_vis_indexed(0, form, tm, rank, dstcount, dstlist, dstlen, srccount,
                                      srclist, srclen))
/* Strided transfers: sections of arrays. */
GASNETI_VIS_FORMS(StridedPut,
                  (gex_TM_t tm, gex_Rank_t rank, void *dst, const ptrdiff_t dststrides[], void *src,
                   const ptrdiff_t srcstrides[], size_t elemsz, const size_t count[],
                   size_t stridelevels, gex_Flags_t flags),
                  gasnete_ex_strided(1, form, tm, rank, dst, dststrides, src, srcstrides, elemsz,
                                     count, stridelevels))
GASNETI_VIS_FORMS(StridedGet,
                  (gex_TM_t tm, void *dst, const ptrdiff_t dststrides[], gex_Rank_t rank, void *src,
                   const ptrdiff_t srcstrides[], size_t elemsz, const size_t count[],
                   size_t stridelevels, gex_Flags_t flags),
                  gasnete_ex_strided(0, form, tm, rank, dst, dststrides, src, srcstrides, elemsz,
                                     count, stridelevels))

GASNETI_EXPORTS_END
#endif
