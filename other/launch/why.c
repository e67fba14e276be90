/* why.c - composes the report of gasnetrun --why; see why.h.
 *
 * Each rank has one state: it waits for certain ranks, or it is what others may wait for.  Ranks
 * with the same state form a group.  The groups are the nodes of a graph, whose arrows lead to the
 * groups that are waited for.  The report follows the arrows: the longest chain first, each group
 * once.
 */
#include "other/launch/why.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "other/base/ranges.h"
#include "other/launch/why_answers.h"

enum { CHAIN_MOST = 2000 };   /* groups; no chain is followed further */
enum { IDLE_LEAST_MS = 100 }; /* shorter times are not printed */

enum kind { IS, STALLS, IN_EXIT, IN_COLLECTIVE, IN_BARRIER, TRANSFERS };

/* For whom a group in a barrier, a collective or an exit waits: for ranks that are behind; if there
 * is none, for members that do not poll or answer. */
enum tier { BEHIND, NOT_POLLING, UNKNOWN };

typedef struct group {
    enum kind kind;
    uint32_t team, number; /* parity of the barrier; number of the collective; state */
    char stall[20];
    peers_t peers;
    long lock; /* the rank alone is in the group */
    uint32_t first, size;
    uint32_t ms;      /* the longest stall */
    uint32_t idle_ms; /* for so long no member's polls have found anything; NONE: not known */
    enum tier tier;
    uint32_t depth; /* groups in the longest chain from here */
    uint8_t visit;  /* 0: not yet, 1: on the way, 2: done */
    bool awaited, in_cycle, printed;
    uint32_t below; /* group in whose list it was printed */
} group_t;

typedef struct report {
    why_ranks_t job;
    group_t *group;
    uint32_t groups;
    uint32_t *way; /* groups from the start of the search to the present one */
    uint32_t way_length;
    FILE *out;
    uint32_t lines;
    enum why_extent extent;
} report_t;

/* --- groups --- */

static bool has_counters(const rank_t *rank)
{
    return rank->state == POLLS || rank->state == QUIET;
}

/* What the rank does, as the group that it would found. */
static group_t group_for(const rank_t *rank, uint32_t number)
{
    group_t is = {.kind = IS,
                  .below = NONE,
                  .number = rank->state,
                  .idle_ms = rank->idle_ms,
                  .first = number,
                  .size = 1};
    if (has_counters(rank) && rank->lock_waiter) is.lock = (long)number + 1;
    if (has_counters(rank) && rank->stall[0]) {
        is.kind = STALLS;
        memcpy(is.stall, rank->stall, sizeof is.stall);
        is.ms = rank->stall_ms;
        if (rank->stall_peer != NONE) why_add_peer(&is.peers, rank->stall_peer);
        return is;
    }
    if (rank->state == ENDING) is.kind = IN_EXIT;
    if (rank->state == QUIET && rank->handlers) is.team = 1;
    if (rank->state != POLLS) return is;
    for (uint32_t i = 0; i < rank->collectives; i++)
        if (rank->collective[i].open) {
            is.kind = IN_COLLECTIVE;
            is.team = rank->collective[i].team;
            is.number = rank->collective[i].begun;
            return is;
        }
    /* The barrier of a team, if the rank is in one, which it has entered after that of all. */
    for (uint32_t i = rank->barriers; i-- > 0;)
        if (rank->barrier[i].inside) {
            is.kind = IN_BARRIER;
            is.team = rank->barrier[i].team;
            is.number = rank->barrier[i].parity;
            return is;
        }
    if (rank->in_flight.count) {
        is.kind = TRANSFERS;
        is.peers = rank->in_flight;
    } else {
        is.peers = rank->owing;
    }
    return is;
}

static bool same_group(const group_t *a, const group_t *b)
{
    return a->kind == b->kind && a->team == b->team && a->number == b->number &&
           a->lock == b->lock && strcmp(a->stall, b->stall) == 0 &&
           memcmp(&a->peers, &b->peers, sizeof a->peers) == 0;
}

static void make_groups(report_t *report)
{
    for (uint32_t r = 0; r < report->job.size; r++) {
        rank_t *rank = &report->job.rank[r];
        const group_t mine = group_for(rank, r);
        uint32_t g = report->groups;
        while (g > 0 && !same_group(&report->group[g - 1], &mine)) g--;
        if (g == 0) {
            report->group[report->groups++] = mine;
            rank->group = report->groups - 1;
        } else {
            group_t *group = &report->group[g - 1];
            group->size++;
            if (mine.ms > group->ms) group->ms = mine.ms;
            if (mine.idle_ms < group->idle_ms) group->idle_ms = mine.idle_ms;
            rank->group = g - 1;
        }
    }
}

/* --- arrows --- */

/* A rank that is not here may have done all that is expected of it. */
static bool may_be_behind(const rank_t *rank)
{
    return rank->state != ABSENT;
}

/* A rank that has no line of the team: it is a member, and does not answer or has not made it. */
static bool awaited_unheard(const report_t *report, const group_t *group, const rank_t *rank)
{
    const team_t *team = &report->job.team[group->team];
    return group->tier == BEHIND && may_be_behind(rank) &&
           why_is_member(team, (uint32_t)(rank - report->job.rank));
}

static bool awaited_in_barrier(const report_t *report, const group_t *group, const rank_t *rank)
{
    for (uint32_t i = 0; i < rank->barriers; i++)
        if (rank->barrier[i].team == group->team)
            return rank->barrier[i].parity != group->number ||
                   (group->tier == NOT_POLLING && rank->barrier[i].inside && rank->state == QUIET);
    return awaited_unheard(report, group, rank);
}

static bool awaited_in_collective(const report_t *report, const group_t *group, const rank_t *rank)
{
    for (uint32_t i = 0; i < rank->collectives; i++)
        if (rank->collective[i].team == group->team)
            return rank->collective[i].begun < group->number ||
                   (group->tier == NOT_POLLING && rank->collective[i].open && rank->state == QUIET);
    return awaited_unheard(report, group, rank);
}

static bool awaits(const report_t *report, const group_t *group, const rank_t *rank)
{
    switch (group->kind) {
    case IN_BARRIER:
        return awaited_in_barrier(report, group, rank);
    case IN_COLLECTIVE:
        return awaited_in_collective(report, group, rank);
    case IN_EXIT:
        return rank->state != ENDING && rank->state != ENDED && may_be_behind(rank);
    default:
        return false;
    }
}

static bool is_by_peers(const group_t *group)
{
    return group->kind == STALLS || group->kind == TRANSFERS;
}

/* The next rank from `from` on that the group waits for; NONE: there is none. */
static uint32_t next_awaited(const report_t *report, const group_t *group, uint32_t from)
{
    const peers_t *peers = &group->peers;
    for (uint32_t i = 0; is_by_peers(group) && i < PEERS && i < peers->count; i++)
        if (peers->rank[i] >= from && peers->rank[i] < report->job.size) return peers->rank[i];
    if (is_by_peers(group)) return NONE;
    for (uint32_t r = from; r < report->job.size; r++)
        if (awaits(report, group, &report->job.rank[r])) return r;
    return NONE;
}

static void settle_tiers(report_t *report)
{
    for (uint32_t g = 0; g < report->groups; g++) {
        group_t *group = &report->group[g];
        while (group->tier < UNKNOWN && next_awaited(report, group, 0) == NONE) group->tier++;
    }
}

static void mark_cycle(report_t *report, uint32_t from)
{
    uint32_t i = report->way_length;
    do report->group[report->way[--i]].in_cycle = true;
    while (report->way[i] != from);
}

/* Finds the depth of a group, and the cycles on the way. */
static void visit(report_t *report, uint32_t g)
{
    group_t *group = &report->group[g];
    uint32_t last = NONE;
    group->visit = 1;
    group->depth = 1;
    report->way[report->way_length++] = g;
    for (uint32_t r = 0; (r = next_awaited(report, group, r)) != NONE; r++) {
        const uint32_t to = report->job.rank[r].group;
        group_t *next = &report->group[to];
        if (to == last) continue;
        last = to;
        next->awaited = true;
        if (next->visit == 1) mark_cycle(report, to);
        if (next->visit == 0 && report->way_length < CHAIN_MOST) visit(report, to);
        if (next->visit == 2 && next->depth >= group->depth) group->depth = next->depth + 1;
    }
    report->way_length--;
    group->visit = 2;
}

/* --- printing --- */

static void say(report_t *report, uint32_t indent, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
static void say(report_t *report, uint32_t indent, const char *format, ...)
{
    enum { INDENT_MOST = 20 };
    va_list args;
    if (report->lines++ >= WHY_LINES && report->extent == WHY_SHORT) return;
    va_start(args, format);
    fprintf(report->out, "%*s", (int)(2 * (indent < INDENT_MOST ? indent : INDENT_MOST)), "");
    vfprintf(report->out, format, args);
    va_end(args);
}

typedef struct listing {
    const report_t *report;
    const group_t *group;
} listing_t;

static bool is_member(const void *of, uint32_t number)
{
    const listing_t *listing = of;
    return &listing->report->group[listing->report->job.rank[number].group] == listing->group;
}

static bool is_peer(const void *of, uint32_t number)
{
    const listing_t *listing = of;
    const peers_t *peers = &listing->group->peers;
    for (uint32_t i = 0; i < PEERS && i < peers->count; i++)
        if (peers->rank[i] == number) return true;
    return false;
}

static bool is_awaited(const void *of, uint32_t number)
{
    const listing_t *listing = of;
    const report_t *report = listing->report;
    return is_by_peers(listing->group) ? is_peer(of, number)
                                       : awaits(report, listing->group, &report->job.rank[number]);
}

/* "rank 3", "ranks 1, 4-7 and 9" */
typedef struct ranks_text {
    char text[200];
} ranks_text_t;

static ranks_text_t ranks(const report_t *report, const group_t *group,
                          bool (*listed)(const void *, uint32_t))
{
    const listing_t of = {report, group};
    ranks_text_t ranks;
    char numbers[180];
    const uint32_t count = gasneti_ranges(numbers, sizeof numbers, report->job.size, listed, &of);
    snprintf(ranks.text, sizeof ranks.text, "%s %s", count == 1 ? "rank" : "ranks", numbers);
    return ranks;
}

/* " (process 4711 on node1)", of a rank that is alone in its group, and of each of a few that wait
 * for none; else "". */
typedef struct place_text {
    char text[400];
} place_text_t;

static place_text_t place(const report_t *report, const group_t *group)
{
    const uint32_t few = group->kind == IS ? 4 : 1;
    place_text_t place = {""};
    const char *last_host = "";
    size_t used = 0;
    for (uint32_t r = group->first; group->size <= few && r < report->job.size; r++) {
        const rank_t *rank = &report->job.rank[r];
        if (&report->group[rank->group] != group || !rank->host[0]) continue;
        if (!rank->process && strcmp(rank->host, last_host) == 0) continue;
        last_host = rank->host;
        used +=
            (size_t)snprintf(place.text + used, sizeof place.text - used, "%s", used ? "; " : " (");
        if (rank->process)
            used += (size_t)snprintf(place.text + used, sizeof place.text - used, "process %ld ",
                                     rank->process);
        used += (size_t)snprintf(place.text + used, sizeof place.text - used, "on %s", rank->host);
    }
    if (used) snprintf(place.text + used, sizeof place.text - used, ")");
    return place;
}

static const char *team_name(const report_t *report, uint32_t number)
{
    static char text[120];
    const team_t *team = &report->job.team[number];
    enum { ALL = 1, ALL_PLAIN, PRIMORDIAL }; /* ids of extended-ref/coll/team.h */
    if (team->id == ALL || team->id == ALL_PLAIN) return "GASNET_TEAM_ALL";
    if (team->id == PRIMORDIAL) return "the team of all ranks";
    if (team->members && strlen(team->members) > 60)
        snprintf(text, sizeof text, "team %" PRIu32 " (ranks %.60s...)", team->id, team->members);
    else
        snprintf(text, sizeof text, "team %" PRIu32 " (%s%s)", team->id,
                 team->members ? "ranks " : "all ranks", team->members ? team->members : "");
    return text;
}

typedef struct operation_text {
    char text[200];
} operation_text_t;

static operation_text_t operation_name(const report_t *report, const group_t *group)
{
    operation_text_t name = {"gasnet_coll_init"};
    if (group->number)
        snprintf(name.text, sizeof name.text, "collective operation %" PRIu32 " of %s",
                 group->number, team_name(report, group->team));
    return name;
}

static const char *state_text(const group_t *group, bool one)
{
    switch ((enum state)group->number) {
    case ENDED:
        return one ? "has ended, or is about to" : "have ended, or are about to";
    case NOT_JOINED:
        return one ? "has not called gasnet_init" : "have not called gasnet_init";
    case STARTING:
        return one ? "is in gasnet_init, or in the last part of its exit"
                   : "are in gasnet_init, or in the last part of their exits";
    case BEFORE_ATTACH:
        return one ? "has not left gasnet_attach, or not called it"
                   : "have not left gasnet_attach, or not called it";
    case SILENT:
        return one ? "does not answer: is it stopped, or its host out of reach?"
                   : "do not answer: are they stopped, or their hosts out of reach?";
    case QUIET:
        if (group->team)
            return one ? "has not polled for 1 s: a handler has not returned"
                       : "have not polled for 1 s: a handler has not returned";
        if (group->lock) return "has not polled for 1 s";
        return one ? "has not polled for 1 s: it computes, sleeps or is stuck"
                   : "have not polled for 1 s: they compute, sleep or are stuck";
    case POLLS:
        return one ? "polls, and waits for a message or a condition of the program"
                   : "poll, and wait for messages or conditions of the program";
    default:
        return one ? "is not on this machine, or has ended: ask on its host"
                   : "are not on this machine, or have ended: ask on their hosts";
    }
}

static const char *stall_text(const char *resource)
{
    static const struct {
        const char *resource, *text;
    } known[] = {
        {"credit", "a credit for Requests to"},
        {"slot", "a send slot to"},
        {"reply-buffer", "a receive buffer for a Reply of"},
        {"connection", "the connection to"},
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strcmp(resource, known[i].resource) == 0) return known[i].text;
    return "a resource of";
}

static void describe_wait(const report_t *report, const group_t *group, char *text, size_t size)
{
    const bool one = group->size == 1;
    const char *wait = one ? "waits" : "wait";
    const bool any = next_awaited(report, group, 0) != NONE;
    const ranks_text_t peers = ranks(report, group, is_awaited);
    if (group->kind == STALLS && any)
        snprintf(text, size, "%s %.1f s for %s %s", wait, group->ms / 1e3, stall_text(group->stall),
                 peers.text);
    else if (group->kind == STALLS)
        snprintf(text, size,
                 "%s %.1f s for a bounce buffer, which operations that are not "
                 "complete hold",
                 wait, group->ms / 1e3);
    else if (group->kind == TRANSFERS)
        snprintf(text, size, "%s, with puts, gets or messages in flight to %s",
                 one ? "polls" : "poll", peers.text);
    else if (group->kind == IN_EXIT)
        snprintf(text, size, "%s in an exit%s%s",
                 any   ? wait
                 : one ? "is"
                       : "are",
                 any ? " for " : "", any ? peers.text : "");
    else if (group->kind == IN_COLLECTIVE)
        snprintf(text, size, "%s in %s%s%s%s", wait, operation_name(report, group).text,
                 any                              ? " for "
                 : report->extent == WHY_ONE_RANK ? ""
                                                  : ", which all that answer have begun",
                 any ? peers.text : "",
                 !any                         ? ""
                 : group->tier == NOT_POLLING ? ", where it has begun and no thread polls"
                                              : ", where fewer have begun");
    else
        snprintf(text, size, "%s in the barrier of %s%s%s", wait,
                 group->team ? team_name(report, group->team) : "all ranks",
                 any                              ? " for "
                 : report->extent == WHY_ONE_RANK ? ""
                                                  : ", which all that answer have notified",
                 any ? peers.text : "");
}

static void describe(const report_t *report, const group_t *group, char *text, size_t size)
{
    const rank_t *rank = &report->job.rank[group->first];
    if (group->kind == IS)
        snprintf(text, size, "%s", state_text(group, group->size == 1));
    else
        describe_wait(report, group, text, size);
    size_t used = strlen(text);
    if (group->kind != STALLS && group->idle_ms != NONE && group->idle_ms >= IDLE_LEAST_MS)
        used += (size_t)snprintf(text + used, size - used, "; nothing has arrived for %.1f s",
                                 group->idle_ms / 1e3);
    if (group->lock)
        snprintf(text + used, size - used,
                 ": its thread %ld waits for a lock that its thread %ld holds", rank->lock_waiter,
                 rank->lock_owner);
    else if (group->kind == IS && group->number == POLLS && group->peers.count)
        snprintf(text + used, size - used, "; Requests to %s have not returned their credits",
                 ranks(report, group, is_peer).text);
}

/* "poll<wait<main" becomes "poll < wait < main"; of many functions only the first are in a short
 * report. */
static void print_stack(report_t *report, uint32_t indent, uint32_t number, uint32_t stack)
{
    enum { MOST = 12 };
    const rank_t *rank = &report->job.rank[number];
    char text[2000];
    size_t used = 0;
    unsigned count = 0;
    for (const char *at = rank->stack[stack].functions; *at && used + 8 < sizeof text; at++) {
        const bool last = *at == '<' && ++count == MOST && report->extent == WHY_SHORT;
        const char *separator = last ? " < ..." : " < ";
        if (*at == '<')
            used += (size_t)snprintf(text + used, sizeof text - used, "%s", separator);
        else
            text[used++] = *at;
        if (last) break;
    }
    say(report, indent, "rank %" PRIu32 ", thread %ld: in %.*s\n", number,
        rank->stack[stack].thread, (int)used, text);
}

/* Where the threads are of the first rank of the group of which it is known; in a whole report, of
 * each. */
static void print_stacks(report_t *report, const group_t *group, uint32_t indent)
{
    bool done = false;
    for (uint32_t r = group->first; r < report->job.size && !done; r++) {
        const rank_t *rank = &report->job.rank[r];
        if (&report->group[rank->group] != group) continue;
        for (uint32_t s = 0; s < rank->stacks; s++) print_stack(report, indent, r, s);
        done = rank->stacks && report->extent == WHY_SHORT;
    }
}

/* What of the rank's is not complete, and whom it concerns, unless the line of its group tells. */
static void print_outstanding(report_t *report, const group_t *group, uint32_t indent,
                              uint32_t number)
{
    const rank_t *rank = &report->job.rank[number];
    const group_t in_flight = {.peers = rank->in_flight}, owing = {.peers = rank->owing};
    if (!has_counters(rank)) return;
    if (rank->in_flight.count && group->kind != TRANSFERS)
        say(report, indent, "rank %" PRIu32 ": puts, gets or messages to %s are not complete\n",
            number, ranks(report, &in_flight, is_peer).text);
    if (rank->owing.count && report->extent != WHY_SHORT)
        say(report, indent, "rank %" PRIu32 ": credits for Requests to %s are out\n", number,
            ranks(report, &owing, is_peer).text);
}

/* Of the first rank of the group that has some; in a whole report, of each. */
static void print_all_outstanding(report_t *report, const group_t *group, uint32_t indent)
{
    const uint32_t before = report->lines;
    for (uint32_t r = group->first; r < report->job.size; r++) {
        if (&report->group[report->job.rank[r].group] != group) continue;
        print_outstanding(report, group, indent, r);
        if (report->lines > before && report->extent == WHY_SHORT) return;
    }
}

/* Apart from print_group, whose calls are nested deeply. */
static __attribute__((noinline)) void print_state(report_t *report, const group_t *group,
                                                  uint32_t indent)
{
    char text[600];
    describe(report, group, text, sizeof text);
    say(report, indent, "%s%s %s\n", ranks(report, group, is_member).text,
        place(report, group).text, text);
    print_all_outstanding(report, group, indent + 2);
    print_stacks(report, group, indent + 2);
}

/* Of the groups that are waited for, those of the longest chain are printed first. */
static void print_group(report_t *report, group_t *group, uint32_t indent)
{
    group->printed = true;
    print_state(report, group, indent);
    for (int pass = 0; pass < 2; pass++) {
        uint32_t last = NONE;
        for (uint32_t r = 0; (r = next_awaited(report, group, r)) != NONE; r++) {
            const uint32_t to = report->job.rank[r].group;
            group_t *next = &report->group[to];
            const bool longest = next->depth + 1 == group->depth;
            const uint32_t own = (uint32_t)(group - report->group);
            if (to == last || (pass == 0 && (!longest || next->printed))) continue;
            last = to;
            if (next->printed && next->below == own) continue;
            if (!next->printed && indent < CHAIN_MOST) {
                next->below = own;
                print_group(report, next, indent + 1);
            } else if (next->printed && next->in_cycle && group->in_cycle) {
                say(report, indent + 1, "%s, named above: a cycle\n",
                    ranks(report, next, is_member).text);
            }
        }
    }
}

/* The group to print next: of those that no other waits for, or else of those in a cycle, the one
 * with the longest chain. */
static group_t *next_to_print(report_t *report)
{
    group_t *best = NULL;
    for (uint32_t g = 0; g < report->groups; g++) {
        group_t *one = &report->group[g];
        if (one->printed) continue;
        if (!best || (one->awaited == best->awaited ? one->depth > best->depth : !one->awaited))
            best = one;
    }
    return best;
}

static uint32_t count_ranks(const report_t *report, enum state state)
{
    uint32_t count = 0;
    for (uint32_t r = 0; r < report->job.size; r++) count += report->job.rank[r].state == state;
    return count;
}

static void print_head(report_t *report)
{
    uint32_t waiting = 0;
    for (uint32_t g = 0; g < report->groups; g++)
        if (report->group[g].kind != IS) waiting += report->group[g].size;
    say(report, 0,
        "%" PRIu32 " ranks: %" PRIu32 " wait for others, %" PRIu32 " do not poll, %" PRIu32
        " do not answer\n",
        report->job.size, waiting, count_ranks(report, QUIET), count_ranks(report, SILENT));
}

static void print_report(report_t *report)
{
    group_t *group;
    if (report->extent != WHY_ONE_RANK) print_head(report);
    while ((group = next_to_print(report))) {
        if (report->extent == WHY_ONE_RANK && group->kind == IS && group->number == ABSENT) {
            group->printed = true;
            continue;
        }
        if (group->in_cycle && group->awaited) say(report, 0, "a cycle of waits:\n");
        print_group(report, group, 0);
    }
    if (report->extent == WHY_SHORT && report->lines > WHY_LINES)
        fprintf(report->out, "and %" PRIu32 " more lines, which -v before --why prints\n",
                report->lines - WHY_LINES);
}

static bool compose(report_t *report)
{
    report->group = calloc(report->job.size + 1, sizeof *report->group);
    report->way = calloc(report->job.size + 1, sizeof *report->way);
    if (!report->group || !report->way || !report->job.teams) return false;
    make_groups(report);
    settle_tiers(report);
    for (uint32_t g = 0; g < report->groups; g++)
        if (!report->group[g].visit) visit(report, g);
    print_report(report);
    return true;
}

char *why_report(const char *answers, enum why_extent extent)
{
    report_t report = {.extent = extent};
    char *text = NULL, *copy = strdup(answers);
    size_t length;
    bool composed = copy && (report.out = open_memstream(&text, &length));
    if (composed) {
        why_read_answers(&report.job, copy);
        composed = compose(&report);
    }
    if (report.out && fclose(report.out)) composed = false;
    free(report.group);
    free(report.way);
    why_free_answers(&report.job);
    free(copy);
    if (composed) return text;
    free(text);
    return NULL;
}
