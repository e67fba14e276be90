/*
 * rankmap.c - Sandia's map of ranks: set by PtlSetRank and related calls before an interface is
 * opened, then the one of the open interface's transport.
 *
 * A transport may get the map from a launcher instead.
 */
#include <stdlib.h>
#include <string.h>

#include "other/base/environment.h"
#include "other/portals3/include/portals3_ext.h"
#include "other/portals3/src/engine/engine.h"

static struct ptli_launch given = {.rank = -1, .size = -1};
static ptl_nid_t *nids;
static ptl_pid_t *pids;
static int nid_count, pid_count;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* A map whose size is not that of the job is ignored.  */
const struct ptli_launch *ptli_launch_given(void)
{
    given.nids = nids && nid_count == given.size ? nids : NULL;
    given.pids = pids && pid_count == given.size ? pids : NULL;
    return &given;
}

void ptli_launch_reset(void)
{
    free(nids);
    free(pids);
    nids = pids = NULL;
    nid_count = pid_count = 0;
    given = (struct ptli_launch){.rank = -1, .size = -1};
}

/* PTL_OK if the interface is not open yet: maps, ranks and job ids apply to interfaces that are
 * opened later. */
static int not_open_yet(ptl_handle_ni_t ni)
{
    int result;
    if (ni == PTL_INVALID_HANDLE) return PTL_OK;
    return ptli_engine_of(ni, PTLI_NI, PTL_NI_INVALID, &result) ? PTL_FAIL : result;
}

static int set_map(uint32_t **map, int *count, const uint32_t *values, int size)
{
    uint32_t *copy;
    if (!values) return PTL_SEGV;
    if (size < 1) return PTL_FAIL;
    copy = malloc((size_t)size * sizeof *copy);
    if (!copy) return PTL_NO_SPACE;
    memcpy(copy, values, (size_t)size * sizeof *copy);
    pthread_mutex_lock(&lock);
    free(*map);
    *map = copy;
    *count = size;
    pthread_mutex_unlock(&lock);
    return PTL_OK;
}

int PtlSetJID(ptl_jid_t jid)
{
    given.jid = jid;
    return PTL_OK;
}

int PtlSetKey(const void *key, ptl_size_t size)
{
    if (!key) return PTL_SEGV;
    if (size < HANDSHAKE_KEY_LEAST || size > HANDSHAKE_KEY_MOST) return PTL_FAIL;
    given.key.size = size;
    memcpy(given.key.bytes, key, size);
    return PTL_OK;
}

int PtlSetNIDMap(ptl_handle_ni_t ni, const ptl_nid_t *values, int size)
{
    int result = not_open_yet(ni);
    return result == PTL_OK ? set_map(&nids, &nid_count, values, size) : result;
}

int PtlSetPIDMap(ptl_handle_ni_t ni, const ptl_pid_t *values, int size)
{
    int result = not_open_yet(ni);
    return result == PTL_OK ? set_map(&pids, &pid_count, values, size) : result;
}

/* Parses a colon-separated list as a map.  Returns the number of elements; -1: malformed.  */
static int set_list(uint32_t **map, int *count, const char *text)
{
    uint32_t *values;
    int size = 1, result;
    char *end;
    if (!text) return -1;
    for (const char *at = text; *at; at++) size += *at == ':';
    values = malloc((size_t)size * sizeof *values);
    if (!values) return -1;
    for (int i = 0; i < size; i++) {
        values[i] = (uint32_t)strtoul(text, &end, 0);
        if (end == text || *end != (i + 1 < size ? ':' : '\0')) {
            free(values);
            return -1;
        }
        text = end + 1;
    }
    result = set_map(map, count, values, size);
    free(values);
    return result == PTL_OK ? size : -1;
}

static int set_from_environment(void)
{
    const char *rank = gasneti_variable("PTL_MY_RID"), *jid = gasneti_variable("PTL_MY_JID");
    int size = set_list(&nids, &nid_count, gasneti_variable("PTL_NIDMAP"));
    char *end;
    long number;
    if (!rank || size < 1 || set_list(&pids, &pid_count, gasneti_variable("PTL_PIDMAP")) != size)
        return PTL_FAIL;
    number = strtol(rank, &end, 0);
    if (end == rank || *end || number < 0 || number >= size) return PTL_FAIL;
    if (jid) given.jid = (ptl_jid_t)strtoul(jid, NULL, 0);
    given.rank = (int)number;
    given.size = size;
    return PTL_OK;
}

int PtlSetRank(ptl_handle_ni_t ni, int rank, int size)
{
    int result = not_open_yet(ni);
    if (result != PTL_OK) return result;
    if (rank == -1 && size == -1) return set_from_environment();
    if (size < 1 || rank < 0 || rank >= size) return PTL_FAIL;
    given.rank = rank;
    given.size = size;
    return PTL_OK;
}

/* The map of an open interface, or an error code.  */
static int launch_of(ptl_handle_ni_t ni, const struct ptli_launch **launch)
{
    int result;
    struct ptli_engine *engine = ptli_engine_of(ni, PTLI_NI, PTL_NI_INVALID, &result);
    if (!engine) return result;
    *launch = engine->transport->ops->launch(engine->transport);
    return *launch && (*launch)->rank >= 0 ? PTL_OK : PTL_FAIL;
}

int PtlGetRank(ptl_handle_ni_t ni, int *rank, int *size)
{
    const struct ptli_launch *launch;
    int result;
    if (!rank || !size) return PTL_SEGV;
    if ((result = launch_of(ni, &launch)) != PTL_OK) return result;
    *rank = launch->rank;
    *size = launch->size;
    return PTL_OK;
}

int PtlGetRankId(ptl_handle_ni_t ni, int rank, ptl_process_id_t *id)
{
    const struct ptli_launch *launch;
    int result;
    if (!id) return PTL_SEGV;
    if ((result = launch_of(ni, &launch)) != PTL_OK) return result;
    if (!launch->nids || !launch->pids) return PTL_FAIL;
    if (rank < 0 || rank >= launch->size) return PTL_PROCESS_INVALID;
    *id = (ptl_process_id_t){launch->nids[rank], launch->pids[rank]};
    return PTL_OK;
}

static int get_map(ptl_handle_ni_t ni, bool want_nids, uint32_t *values, int size, int *count)
{
    const struct ptli_launch *launch;
    const uint32_t *map;
    int result;
    if (!count || (size > 0 && !values)) return PTL_SEGV;
    if ((result = launch_of(ni, &launch)) != PTL_OK) return result;
    map = want_nids ? launch->nids : launch->pids;
    if (!map) return PTL_FAIL;
    *count = launch->size;
    for (int i = 0; i < size && i < launch->size; i++) values[i] = map[i];
    return PTL_OK;
}

int PtlGetNIDMap(ptl_handle_ni_t ni, ptl_nid_t *values, int size, int *count)
{
    return get_map(ni, true, values, size, count);
}

int PtlGetPIDMap(ptl_handle_ni_t ni, ptl_pid_t *values, int size, int *count)
{
    return get_map(ni, false, values, size, count);
}
