/* why_answers.c - reads the answers of why_answers.h: lines of core/stats/stats.c and waits.c,
 * ssh/ssh_ask.c and modules/module_answer.c. */
#include "other/launch/why_answers.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { RANKS_MAX = 65535 };

static bool ends_with(const char *text, const char *end)
{
    const size_t length = strlen(text), tail = strlen(end);
    return length >= tail && strcmp(text + length - tail, end) == 0;
}

static enum state state_of(const char *line)
{
    static const struct {
        const char *words;
        enum state state;
    } known[] = {
        {": no answer within ", SILENT},
        {"it has not polled for ", QUIET},
        {"on request, before gasnet_attach", BEFORE_ATTACH},
        {"on request, while it ends", ENDING},
        {"has no counters yet", STARTING},
        {"has not joined the job yet", NOT_JOINED},
        {"has ended", ENDED},
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strstr(line, known[i].words)) return known[i].state;
    return ends_with(line, "on request") ? POLLS : ABSENT;
}

/* The rank of a line, or NULL; the first line that names the size of the job decides it. */
static rank_t *rank_of(why_ranks_t *ranks, uint32_t rank, uint32_t size)
{
    if (!ranks->rank && size && size <= RANKS_MAX &&
        (ranks->rank = calloc(size, sizeof *ranks->rank))) {
        ranks->size = size;
        for (uint32_t r = 0; r < size; r++) ranks->rank[r].idle_ms = NONE;
    }
    if (size && size != ranks->size) return NULL;
    return rank < ranks->size ? &ranks->rank[rank] : NULL;
}

static void read_head(why_ranks_t *ranks, const char *line)
{
    uint32_t number, size;
    rank_t *rank;
    if (sscanf(line, "# rank %" SCNu32 " of %" SCNu32, &number, &size) != 2 ||
        !(rank = rank_of(ranks, number, size)))
        return;
    const char *process = strstr(line, ", process ");
    rank->state = state_of(line);
    if (sscanf(line, "# rank %*u of %*u on %63[^,: ]", rank->host) != 1) rank->host[0] = 0;
    rank->process = process ? strtol(process + strlen(", process "), NULL, 10) : 0;
}

/* --- teams --- */

bool why_is_member(const team_t *team, uint32_t rank)
{
    const char *at = team->members;
    if (!at) return true;
    while (*at >= '0' && *at <= '9') {
        char *end;
        const unsigned long first = strtoul(at, &end, 10);
        const unsigned long last = *end == '-' ? strtoul(end + 1, &end, 10) : first;
        if (rank >= first && rank <= last) return true;
        at = *end == ',' ? end + 1 : end;
    }
    return false;
}

/* The number of the team in the table, where it is entered if it is not there; NONE: no memory. */
static uint32_t enter_team(why_ranks_t *ranks, uint32_t id, const char *members)
{
    enum { TEAMS_MORE = 16 };
    for (uint32_t t = 0; t < ranks->teams; t++) {
        const team_t *team = &ranks->team[t];
        if (team->id == id && !team->members == !members &&
            (!members || strcmp(team->members, members) == 0))
            return t;
    }
    if (ranks->teams % TEAMS_MORE == 0) {
        team_t *more = realloc(ranks->team, (ranks->teams + TEAMS_MORE) * sizeof *more);
        if (!more) return NONE;
        ranks->team = more;
    }
    ranks->team[ranks->teams] = (team_t){id, members};
    return ranks->teams++;
}

/* The team of that id of which the rank is a member, which a line before has entered; otherwise the
 * one of all ranks. */
static uint32_t team_of(why_ranks_t *ranks, uint32_t id, uint32_t rank)
{
    for (uint32_t t = 0; t < ranks->teams; t++)
        if (ranks->team[t].id == id && ranks->team[t].members &&
            why_is_member(&ranks->team[t], rank))
            return t;
    return enter_team(ranks, id, NULL);
}

/* --- lines --- */

static void read_barrier(rank_t *rank, uint32_t team, const char *where, uint32_t parity)
{
    if (rank->barriers == BARRIERS || team == NONE) return;
    rank->barrier[rank->barriers].team = team;
    rank->barrier[rank->barriers].parity = parity;
    rank->barrier[rank->barriers++].inside = strcmp(where, "inside") == 0;
}

static void read_collectives(rank_t *rank, uint32_t team, uint32_t begun, uint32_t open)
{
    /* Of more teams, those in which operations are open count. */
    if (team == NONE || (rank->collectives == COLLECTIVES && !open)) return;
    if (rank->collectives == COLLECTIVES) rank->collectives--;
    rank->collective[rank->collectives].team = team;
    rank->collective[rank->collectives].begun = begun;
    rank->collective[rank->collectives++].open = open;
}

static void read_stall(rank_t *rank, const char *resource, const char *peer, uint32_t ms)
{
    char *end;
    const unsigned long number = strtoul(peer, &end, 10);
    snprintf(rank->stall, sizeof rank->stall, "%s", resource);
    rank->stall_peer = end == peer || *end || number >= NONE ? NONE : (uint32_t)number;
    rank->stall_ms = ms;
}

static void read_stack(rank_t *rank, long thread, const char *functions)
{
    if (rank->stacks == STACKS) return;
    rank->stack[rank->stacks].thread = thread;
    rank->stack[rank->stacks++].functions = functions;
}

static void read_why(why_ranks_t *ranks, const char *line)
{
    uint32_t number, a, b, c;
    char word[20], peer[20];
    int used = 0;
    if (sscanf(line, "# why %" SCNu32 " %n", &number, &used) != 1 || !used) return;
    rank_t *rank = rank_of(ranks, number, 0);
    line += used;
    if (!rank) return;
    if (sscanf(line, "handlers %" SCNu32, &a) == 1)
        rank->handlers = a;
    else if (sscanf(line, "idle %" SCNu32, &a) == 1)
        rank->idle_ms = a;
    else if (sscanf(line, "stack %" SCNu32 " %n", &a, &used) == 1 && line[used])
        read_stack(rank, a, line + used);
    else if (sscanf(line, "team %" SCNu32 " %n", &a, &used) == 1 && line[used])
        enter_team(ranks, a, line + used);
    else if (sscanf(line, "lock %" SCNu32 " %" SCNu32, &a, &b) == 2)
        rank->lock_waiter = a, rank->lock_owner = b;
    else if (sscanf(line, "stall %19s %19s %" SCNu32, word, peer, &a) == 3)
        read_stall(rank, word, peer, a);
    else if (sscanf(line, "barrier %" SCNu32 " %19s %" SCNu32, &a, word, &b) == 3)
        read_barrier(rank, team_of(ranks, a, number), word, b);
    else if (sscanf(line, "collectives %" SCNu32 " %" SCNu32 " %" SCNu32, &a, &b, &c) == 3)
        read_collectives(rank, team_of(ranks, a, number), b, c);
}

static void read_top(why_ranks_t *ranks, const char *line)
{
    uint32_t number;
    usage_t used = {.known = true};
    rank_t *rank;
    if (sscanf(line,
               "# top %" SCNu32 " out %" SCNu64 " in %" SCNu64 " operations %" SCNu64
               " stalls %" SCNu64 " cpu %" SCNu64 " memory %" SCNu64,
               &number, &used.out, &used.in, &used.operations, &used.stalls, &used.cpu_ms,
               &used.memory) == 7 &&
        (rank = rank_of(ranks, number, 0)))
        rank->used = used;
}

/* A row of --stats about a peer.  A peer's row of its credits precedes that of those it has now. */
static void read_row(why_ranks_t *ranks, const char *line, uint64_t *credits)
{
    uint32_t number, peer;
    uint64_t value;
    char name[32];
    rank_t *rank;
    if (sscanf(line, "%" SCNu32 " %" SCNu32 " %31s %" SCNu64, &number, &peer, name, &value) != 4 ||
        !(rank = rank_of(ranks, number, 0)))
        return;
    if (strcmp(name, "in_flight_now") == 0 && value) why_add_peer(&rank->in_flight, peer);
    if (strcmp(name, "credits") == 0) *credits = value;
    if (strcmp(name, "credits_now") == 0 && value < *credits) why_add_peer(&rank->owing, peer);
}

void why_read_answers(why_ranks_t *ranks, char *text)
{
    uint64_t credits = 0;
    enter_team(ranks, 0, NULL);
    for (char *line = text, *end; line; line = end) {
        end = strchr(line, '\n');
        if (end) *end++ = 0;
        if (strncmp(line, "# rank ", 7) == 0)
            read_head(ranks, line);
        else if (strncmp(line, "# why ", 6) == 0)
            read_why(ranks, line);
        else if (strncmp(line, "# top ", 6) == 0)
            read_top(ranks, line);
        else
            read_row(ranks, line, &credits);
    }
}

void why_free_answers(why_ranks_t *ranks)
{
    free(ranks->rank);
    free(ranks->team);
}
