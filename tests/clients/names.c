/* names.c - names outside the documented interface that programs use, each in its use.  C89 and
 * C++98; exits with 0 on one node. */
#include "gasnet.h"
/* Of gasnet.h alone. */
#if GASNETI_MAX_THREADS < 1
#error "GASNETI_MAX_THREADS is for #if"
#endif
#if GASNET_CONDUIT_MPI || GASNET_CONDUIT_UDP || GASNET_CONDUIT_ARIES || GASNET_CONDUIT_GEMINI ||   \
    GASNET_CONDUIT_MXM || GASNET_CONDUIT_OFI || GASNET_CONDUIT_PSM || GASNET_CONDUIT_PAMI ||       \
    GASNET_CONDUIT_DCMF || GASNET_CONDUIT_ELAN || GASNET_CONDUIT_GM || GASNET_CONDUIT_LAPI ||      \
    GASNET_CONDUIT_SHMEM || GASNET_CONDUIT_PORTALS4
#error "no such conduit"
#endif
#if GASNET_CONDUIT_IBV + GASNET_CONDUIT_VAPI + GASNET_CONDUIT_PORTALS + GASNET_CONDUIT_SMP != 1
#error "one conduit"
#endif
#if GASNET_SEGMENT_LARGE || GASNET_SEGMENT_EVERYTHING || defined(GASNET_SEGMENT_LARGE) ||          \
    defined(GASNET_SEGMENT_EVERYTHING)
#error "the segment mode is FAST"
#endif
#if defined(GASNET_NEEDS_MAX_SEGSIZE) && !defined(CLIENT_NEEDS_MAX_SEGSIZE)
#error "GASNET_NEEDS_MAX_SEGSIZE is the client's"
#endif
static const char *hostname(void)
{
    return gasneti_gethostname();
}
#include "gasnet_tools.h"

#if GASNETI_MAX_THREADS != GASNETT_MAX_THREADS
#error "two names of one number"
#endif

static gasnet_threadinfo_t posted(void)
{
    GASNET_POST_THREADINFO(GASNET_GET_THREADINFO());
    gasnet_threadinfo_t outer = gasnete_threadinfo_cache;
    {
        GASNET_POST_THREADINFO(gasnete_threadinfo_cache);
        if (gasnete_threadinfo_cache != outer) return NULL;
    }
    return outer;
}
static void begins(void)
{
    GASNET_BEGIN_FUNCTION();
    (void)gasnete_threadinfo_cache;
}

static int sign(int x)
{
    if (x < 0) return -1;
    if (x >= 0) return 1;
    gasnett_unreachable();
}

static int allocates(void)
{
    gasnett_heapstats_t counted;
    char *p = (char *)gasnett_debug_malloc(3), *q = (char *)gasnett_debug_calloc(2, 4), *r;
    int zero = !q[0] && !q[7];
    memcpy(p, "ab", 3);
    p = (char *)gasnett_debug_realloc(p, 4096);
    gasnett_debug_memcheck(p);
    gasnett_debug_memcheck_one();
    gasnett_debug_memcheck_all();
    r = gasnett_debug_strndup("abcd", 2);
    zero = zero && strcmp(p, "ab") == 0 && strcmp(r, p) == 0;
    gasnett_debug_free(p);
    gasnett_debug_free(q);
    gasnett_debug_free(r);
    gasnett_debug_free(r = gasnett_debug_strdup("x"));
    gasnett_debug_free(NULL);
    memset(&counted, 1, sizeof counted);
    (void)gasnett_getheapstats(&counted);
    return zero && counted.allocated_bytes == 0 && counted.live_objects_max == 0 &&
           counted.overhead_bytes == 0;
}

#define CHECK(e)                                                                                   \
    if (!(e)) printf("%s\n", #e), bad = 1

int main(int argc, char **argv)
{
    int bad = 0;
    (void)&_gasneti_threadkey_init;
    (void)&_gasnett_trace_printf_noop;
    if (gasnet_init(&argc, &argv) != GASNET_OK) return 1;
    if (gasnet_attach(NULL, 0, GASNET_PAGESIZE, 0) != GASNET_OK) return 1;
    CHECK(strcmp(hostname(), gasnett_gethostname()) == 0);
    CHECK(posted() == GASNET_GET_THREADINFO());
    CHECK(gasnete_threadinfo_cache == NULL);
    CHECK(sign(3) == 1 && sign(-3) == -1);
    CHECK(allocates());
    begins();
    gasnet_exit(bad);
    return bad;
}
