/* format.c - gasnett_format_*: descriptions of vector, indexed and strided transfers as text.  */
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "gasnet.h"

/* Limits of the text: a list longer than SHOWN is shown by its first and last SHOWN / 2 entries. An
 * entry takes at most ENTRY bytes, and the text around a list, or around the lists of a call, at
 * most FRAME.  */
enum { SHOWN = 16, ENTRY = 48, FRAME = 192 };

static size_t format_shown(size_t count)
{
    return count < SHOWN ? count : SHOWN;
}

static size_t format_list_bufsz(size_t count)
{
    return FRAME + ENTRY * format_shown(count);
}

/* Appends to the text at *at and moves *at to its end; every buffer is sized for all that is
 * appended.  */
static __attribute__((format(printf, 2, 3))) void format_add(char **at, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(*at, FRAME, format, arguments);
    va_end(arguments);
    if (length > 0) *at += length;
}

/* Appends the text before entry i; false if the entry is left out.  */
static bool format_entry(char **at, size_t i, size_t count)
{
    bool shown = count <= SHOWN || i < SHOWN / 2 || i >= count - SHOWN / 2;
    if (i > 0 && (shown || i == SHOWN / 2)) format_add(at, ", ");
    if (!shown && i == SHOWN / 2) format_add(at, "...");
    return shown;
}

static void format_count(gasnett_list_stats_t *stats, bool first, void *addr, size_t len)
{
    char *start = addr;
    if (first || len < stats->minsz) stats->minsz = len;
    if (len > stats->maxsz) stats->maxsz = len;
    if (len == 0) return;
    char *last = start + (len - 1);
    if (stats->totalsz == 0 || start < (char *)stats->minaddr) stats->minaddr = start;
    if (stats->totalsz == 0 || last > (char *)stats->maxaddr) stats->maxaddr = last;
    stats->totalsz += len;
}

size_t gasnett_format_memveclist_bufsz(size_t count)
{
    return format_list_bufsz(count);
}

gasnett_list_stats_t gasnett_format_memveclist(char *buf, size_t count, gasnet_memvec_t const *list)
{
    gasnett_list_stats_t stats = {0};
    format_add(&buf, "%zu entries: [", count);
    for (size_t i = 0; i < count; i++) {
        format_count(&stats, i == 0, list[i].addr, list[i].len);
        if (format_entry(&buf, i, count)) format_add(&buf, "{%p, %zu}", list[i].addr, list[i].len);
    }
    format_add(&buf, "], %zu bytes in [%p, %p]", stats.totalsz, stats.minaddr, stats.maxaddr);
    return stats;
}

size_t gasnett_format_addrlist_bufsz(size_t count)
{
    return format_list_bufsz(count);
}

gasnett_list_stats_t gasnett_format_addrlist(char *buf, size_t count, void *const *list, size_t len)
{
    gasnett_list_stats_t stats = {0};
    format_add(&buf, "%zu entries of %zu bytes: [", count, len);
    for (size_t i = 0; i < count; i++) {
        format_count(&stats, i == 0, list[i], len);
        if (format_entry(&buf, i, count)) format_add(&buf, "%p", list[i]);
    }
    format_add(&buf, "], %zu bytes in [%p, %p]", stats.totalsz, stats.minaddr, stats.maxaddr);
    return stats;
}

size_t gasnett_format_strides_bufsz(size_t count)
{
    return format_list_bufsz(count);
}

void gasnett_format_strides(char *buf, size_t count, const size_t *list)
{
    format_add(&buf, "[");
    for (size_t i = 0; i < count; i++)
        if (format_entry(&buf, i, count)) format_add(&buf, "%zu", list[i]);
    format_add(&buf, "]");
}

size_t gasnett_format_putvgetv_bufsz(size_t dstcount, size_t srccount)
{
    return FRAME + format_list_bufsz(dstcount) + format_list_bufsz(srccount);
}

size_t gasnett_format_putvgetv(char *buf, gasnet_node_t node, size_t dstcount,
                               gasnet_memvec_t const *dstlist, size_t srccount,
                               gasnet_memvec_t const *srclist)
{
    format_add(&buf, "node %u, destination ", (unsigned)node);
    size_t nbytes = gasnett_format_memveclist(buf, dstcount, dstlist).totalsz;
    buf += strlen(buf);
    format_add(&buf, ", source ");
    gasnett_format_memveclist(buf, srccount, srclist);
    return nbytes;
}

size_t gasnett_format_putigeti_bufsz(size_t dstcount, size_t srccount)
{
    return FRAME + format_list_bufsz(dstcount) + format_list_bufsz(srccount);
}

size_t gasnett_format_putigeti(char *buf, gasnet_node_t node, size_t dstcount, void *const *dstlist,
                               size_t dstlen, size_t srccount, void *const *srclist, size_t srclen)
{
    format_add(&buf, "node %u, destination ", (unsigned)node);
    size_t nbytes = gasnett_format_addrlist(buf, dstcount, dstlist, dstlen).totalsz;
    buf += strlen(buf);
    format_add(&buf, ", source ");
    gasnett_format_addrlist(buf, srccount, srclist, srclen);
    return nbytes;
}

size_t gasnett_format_putsgets_bufsz(size_t stridelevels)
{
    return FRAME + 3 * format_list_bufsz(stridelevels + 1);
}

size_t gasnett_format_putsgets(char *buf, void *stats, gasnet_node_t node, void *dstaddr,
                               const size_t *dststrides, void *srcaddr, const size_t *srcstrides,
                               const size_t *count, size_t stridelevels)
{
    size_t nbytes = 1;
    (void)stats;
    for (size_t i = 0; i <= stridelevels; i++) nbytes *= count[i];
    format_add(&buf, "node %u, %zu bytes, counts ", (unsigned)node, nbytes);
    gasnett_format_strides(buf, stridelevels + 1, count);
    buf += strlen(buf);
    format_add(&buf, ", destination %p, strides ", dstaddr);
    gasnett_format_strides(buf, stridelevels, dststrides);
    buf += strlen(buf);
    format_add(&buf, ", source %p, strides ", srcaddr);
    gasnett_format_strides(buf, stridelevels, srcstrides);
    return nbytes;
}
