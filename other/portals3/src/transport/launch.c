/* launch.c - see launch.h. */
#include "other/portals3/src/transport/launch.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "other/base/environment.h"

static bool launch_element(const char *text, size_t length, uint32_t *value)
{
    char word[24], *end;
    if (length == 0 || length >= sizeof word) return false;
    memcpy(word, text, length);
    word[length] = 0;
    struct in_addr address;
    if (strchr(word, '.')) {
        if (inet_pton(AF_INET, word, &address) != 1) return false;
        *value = ntohl(address.s_addr);
        return true;
    }
    if (word[0] < '0' || word[0] > '9') return false;
    errno = 0;
    unsigned long number = strtoul(word, &end, 0);
    *value = (uint32_t)number;
    return !errno && !*end && number <= UINT32_MAX;
}

int ptli_launch_list(const char *text, uint32_t **values)
{
    size_t most = 1;
    for (const char *c = text; *c; c++) most += *c == ':';
    uint32_t *list = calloc(most, sizeof *list);
    *values = NULL;
    if (!list || most > INT32_MAX) {
        free(list);
        return -1;
    }
    int count = 0;
    for (const char *at = text;; at++) {
        size_t length = strcspn(at, ":");
        if (!launch_element(at, length, &list[count++])) {
            free(list);
            return -1;
        }
        at += length;
        if (!*at) break;
    }
    *values = list;
    return count;
}

/* Number of elements; -1: not set, or malformed.  */
static int list_of(const char *name, uint32_t **values)
{
    const char *text = gasneti_variable(name);
    *values = NULL;
    if (!text || !*text) return -1;
    int count = ptli_launch_list(text, values);
    if (count < 0)
        fprintf(stderr,
                "libportals: %s=%.60s: must be numbers or addresses between colons; it is "
                "ignored\n",
                name, text);
    return count;
}

static bool one_of(const char *name, uint32_t *value)
{
    uint32_t *list;
    int count = list_of(name, &list);
    if (count >= 1) *value = list[0];
    free(list);
    return count == 1;
}

void ptli_launch_environment(ptl_nid_t **nids, ptl_pid_t **pids, struct ptli_launch *launch)
{
    uint32_t rank, jid;
    int nodes = list_of("PTL_NIDMAP", nids), processes = list_of("PTL_PIDMAP", pids);
    int size = nodes > processes ? nodes : processes;
    if (one_of("PTL_MY_JID", &jid) && launch->jid == PTL_JID_NONE) launch->jid = jid;
    if ((nodes >= 0 && processes >= 0 && nodes != processes) || !one_of("PTL_MY_RID", &rank) ||
        (size >= 0 && rank >= (uint32_t)size) || rank > INT32_MAX) {
        if (size >= 0)
            fprintf(stderr, "libportals: PTL_MY_RID, PTL_NIDMAP and PTL_PIDMAP do not fit each "
                            "other; they are ignored\n");
        free(*nids);
        free(*pids);
        *nids = *pids = NULL;
        return;
    }
    launch->rank = (int)rank;
    launch->size = size;
}
