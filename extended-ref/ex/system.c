/* system.c - what GASNet-EX tells of the job, the hosts and the threads.  */
#include <stdlib.h>

#include "core/job/job.h"
#include "core/lock.h"
#include "core/params/params.h"
#include "core/report.h"
#include "core/shm/shm.h"
#include "gasnet.h"

/* Ranks with the same number, in ascending order. */
typedef struct group {
    gex_RankInfo_t *ranks;
    gex_Rank_t count, index; /* members; index of this rank among them */
    gex_Rank_t groups;       /* numbers of the whole job */
    gex_Rank_t number;       /* of this rank */
} group_t;

static group_t neighbourhood, host; /* made by the first query: few programs ask */

static uint32_t system_host_of(uint32_t rank)
{
    return gasnetc_job.host_of[rank];
}

static group_t system_make_group(uint32_t (*number_of)(uint32_t rank))
{
    const uint32_t mine = number_of(gasnetc_job.rank);
    group_t group = {.number = mine};
    for (uint32_t r = 0; r < gasnetc_job.size; r++) {
        const uint32_t number = number_of(r);
        if (number >= group.groups) group.groups = number + 1;
        group.count += number == mine;
    }
    struct { /* a gex_RankInfo_t that can be written */
        gex_Rank_t gex_jobrank;
    } *ranks = malloc(group.count * sizeof *ranks);
    if (!ranks) gasneti_fatal("out of memory for a list of %u ranks", group.count);
    for (uint32_t r = 0, i = 0; r < gasnetc_job.size; r++) {
        if (number_of(r) != mine) continue;
        if (r == gasnetc_job.rank) group.index = i;
        ranks[i++].gex_jobrank = r;
    }
    group.ranks = (gex_RankInfo_t *)(void *)ranks;
    return group;
}

static const group_t *system_group(group_t *group, uint32_t (*number_of)(uint32_t rank))
{
    static gasneti_lock_t lock;
    gasneti_lock(&lock);
    if (!group->ranks) *group = system_make_group(number_of);
    gasneti_unlock(&lock);
    return group;
}

static const group_t *system_neighbourhood(void)
{
    return system_group(&neighbourhood, gasnetc_shm_supernode);
}

static const group_t *system_host(void)
{
    return system_group(&host, system_host_of);
}

static void system_tell(const group_t *group, gex_RankInfo_t **info_p, gex_Rank_t *count_p,
                        gex_Rank_t *index_p)
{
    if (info_p) *info_p = group->ranks;
    if (count_p) *count_p = group->count;
    if (index_p) *index_p = group->index;
}

void gex_System_QueryNbrhdInfo(gex_RankInfo_t **info_p, gex_Rank_t *count_p, gex_Rank_t *index_p)
{
    system_tell(system_neighbourhood(), info_p, count_p, index_p);
}

void gex_System_QueryHostInfo(gex_RankInfo_t **info_p, gex_Rank_t *count_p, gex_Rank_t *index_p)
{
    system_tell(system_host(), info_p, count_p, index_p);
}

void gex_System_QueryMyPosition(gex_Rank_t *nbrhds_p, gex_Rank_t *nbrhd_p, gex_Rank_t *hosts_p,
                                gex_Rank_t *host_p)
{
    const group_t *sharing = system_neighbourhood(), *same = system_host();
    if (nbrhds_p) *nbrhds_p = sharing->groups;
    if (nbrhd_p) *nbrhd_p = sharing->number;
    if (hosts_p) *hosts_p = same->groups;
    if (host_p) *host_p = same->number;
}

int gex_System_GetVerboseErrors(void)
{
    return gasneti_verbose_errors;
}

void gex_System_SetVerboseErrors(int enable)
{
    gasneti_verbose_errors = enable != 0;
}

/* --- threads --- */

uint64_t gex_System_QueryMaxThreads(void)
{
    return GASNETI_MAX_THREADS == 1 ? 1 : (uint64_t)gasnetc_params.max_threads;
}
