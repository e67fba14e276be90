/* ssh_watch.c - the launcher's part of GASNET_WATCHDOG; see ssh_watch.h.
 *
 * A rank that is stopped announces nothing: one that has been silent for some of its periods does
 * not get on either.
 */
#include "other/launch/ssh/ssh_watch.h"

#include <inttypes.h>
#include <stdlib.h>

#include "other/base/clock.h"
#include "other/launch/launcher_log.h"
#include "other/launch/ssh/ssh_master.h"

enum { PERIOD_MOST_MS = 1000 };

static int64_t period(const struct ssh_watch *watch)
{
    const int64_t ms = (int64_t)(watch->seconds * 1000) + 1;
    return ms < PERIOD_MOST_MS ? ms : PERIOD_MOST_MS;
}

/* Whether the rank may get on, for all that is known. */
static bool may_move(const struct ssh_master *m, uint32_t rank, int64_t now)
{
    const struct ssh_watch *watch = &m->watch;
    const int64_t silent = now - watch->heard[rank];
    if (m->job.ranks[rank].phase != SSH_RANK_JOINED) return false;
    if (!watch->heard[rank]) return true; /* it has not come so far */
    return watch->moves[rank] && silent < (int64_t)(watch->seconds * 1000) + 2 * PERIOD_MOST_MS;
}

void ssh_watch_stopped(struct ssh_master *m)
{
    const int64_t now = (int64_t)gasneti_clock_ms();
    for (uint32_t r = 0; m->watch.heard && r < m->job.size; r++)
        if (m->watch.heard[r]) m->watch.heard[r] = now;
}

void ssh_watch_frame(struct ssh_master *m, uint32_t rank, const struct ssh_wire_frame *frame)
{
    struct ssh_watch *watch = &m->watch;
    struct ssh_wire_message message;
    const char *why;
    if (frame->more ||
        !ssh_wire_decode(frame->type, rank, frame->data, frame->len, &message, &why)) {
        ssh_job_fail(&m->job, 1,
                     "rank %" PRIu32 " on host %s sent a broken announcement; "
                     "ending the job",
                     rank, m->job.ranks[rank].host);
        return;
    }
    if (!watch->heard) watch->heard = calloc(m->job.size, sizeof *watch->heard);
    if (!watch->moves) watch->moves = calloc(m->job.size, sizeof *watch->moves);
    if (!watch->heard || !watch->moves) return;
    watch->seconds = ssh_wire_moves_seconds(message.value);
    watch->heard[rank] = (int64_t)gasneti_clock_ms();
    watch->moves[rank] = message.value & 1;
    if (watch->moves[rank]) watch->is_printed = false;
    if (!m->due[SSH_TIMER_WATCH]) ssh_timer_set(m, SSH_TIMER_WATCH, period(watch));
}

void ssh_watch_due(struct ssh_master *m)
{
    struct ssh_watch *watch = &m->watch;
    const int64_t now = (int64_t)gasneti_clock_ms();
    uint32_t joined = 0;
    bool any = false;
    for (uint32_t r = 0; r < m->job.size; r++) {
        joined += m->job.ranks[r].phase == SSH_RANK_JOINED;
        any = any || may_move(m, r, now);
    }
    if (!joined || m->job.ending || m->job.interrupt) return;
    ssh_timer_set(m, SSH_TIMER_WATCH, period(watch));
    if (any || watch->is_printed || !ssh_ask_why(m)) return;
    watch->is_printed = true;
    launcher_log("no rank has got on for %g s (GASNET_WATCHDOG); who waits for whom:",
                 watch->seconds);
}

void ssh_watch_close(struct ssh_master *m)
{
    free(m->watch.heard);
    free(m->watch.moves);
}
