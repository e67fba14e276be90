/* ssh_remote.c - the launcher's part for other hosts.
 *
 * Called by ssh_master.c.  Starts one control process per slot through the remote shell, takes its
 * connection if it proves that it knows the job's secret, and forwards output.  The
 * secret goes through the remote shell's standard input, never on a command line nor over that
 * connection.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <ifaddrs.h>
#include <inttypes.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "other/base/clock.h"
#include "other/launch/launcher_log.h"
#include "other/launch/output.h"
#include "other/launch/ssh/ssh_master.h"

extern char **environ;

enum {
    LINE_PATIENCE = 200, /* ms that an unfinished line of output is kept */
    ECHO_EVERY = 5000,   /* ms for control processes to answer an ECHO */
    SLOW_AFTER = 4000,   /* ms until a host that has not connected is named */
};

static bool remote_is_up(const struct ssh_host_slot *slot)
{
    return slot->joined && !slot->lost;
}

/* --- the command --- */

static const char *remote_shell_name(void)
{
    const char *command = getenv("GASNET_SSH_CMD");
    return command && *command ? command : "ssh";
}

static bool remote_is_usable(const struct ifaddrs *i, int family, bool loopback)
{
    if (!i->ifa_addr || i->ifa_addr->sa_family != family || !(i->ifa_flags & IFF_UP) ||
        !!(i->ifa_flags & IFF_LOOPBACK) != loopback)
        return false;
    const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)(const void *)i->ifa_addr;
    return family == AF_INET || !IN6_IS_ADDR_LINKLOCAL(&v6->sin6_addr);
}

static void remote_append_address(const struct ifaddrs *i, char *to, size_t size)
{
    char text[INET6_ADDRSTRLEN];
    size_t len = strlen(to);
    const struct sockaddr_in *v4 = (const struct sockaddr_in *)(const void *)i->ifa_addr;
    const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)(const void *)i->ifa_addr;
    if (v4->sin_family == AF_INET)
        inet_ntop(AF_INET, &v4->sin_addr, text, sizeof text);
    else
        inet_ntop(AF_INET6, &v6->sin6_addr, text, sizeof text);
    if (len + strlen(text) + 2 <= size) sprintf(to + len, "%s%s", len ? "," : "", text);
}

/* Writes the addresses at which control processes reach this machine, separated by commas;
 * loopback addresses only if there are no others. */
static void remote_own_addresses(char *to, size_t size)
{
    static const int families[] = {AF_INET, AF_INET6};
    struct ifaddrs *all = NULL;
    to[0] = 0;
    if (getifaddrs(&all) != 0) all = NULL;
    for (int loopback = 0; loopback < 2 && !*to; loopback++)
        for (int f = 0; f < 2; f++)
            for (const struct ifaddrs *i = all; i; i = i->ifa_next)
                if (remote_is_usable(i, families[f], loopback)) remote_append_address(i, to, size);
    freeifaddrs(all);
}

/* Returns the command for the shell on the other host, quoted as one string. */
static char *remote_control_command(const struct ssh_master *m, uint32_t s)
{
    char self[4096], addresses[1024], port[8], slot[16];
    ssize_t len = readlink("/proc/self/exe", self, sizeof self - 1);
    if (len <= 0) return NULL;
    self[len] = 0;
    remote_own_addresses(addresses, sizeof addresses);
    snprintf(port, sizeof port, "%u", m->port);
    snprintf(slot, sizeof slot, "%" PRIu32, s);
    char *host = (char *)(uintptr_t)m->placement.slots[s].host; /* shell_join does not write */
    char *argv[] = {"exec", self, SSH_CONTROL_OPTION, addresses, port, slot, host, NULL};
    return shell_join(argv);
}

bool ssh_remote_command(const struct ssh_master *m, uint32_t s, struct shell_words *command)
{
    const char *shell = remote_shell_name();
    const char *base = strrchr(shell, '/') ? strrchr(shell, '/') + 1 : shell;
    shell_add(command, shell);
    /* ssh keeps the first value of an option: the user's come before ours. */
    for (size_t i = 0; i < m->placement.options.count; i++)
        shell_add(command, m->placement.options.word[i]);
    if (strcmp(base, "ssh") == 0) shell_add(command, "-oBatchMode=yes"); /* no prompts */
    char *rest = remote_control_command(m, s);
    shell_add(command, m->placement.slots[s].host);
    if (rest) shell_add(command, rest);
    bool good = rest && !command->failed;
    if (!good) launcher_log("out of memory, or /proc is not mounted");
    free(rest);
    return good;
}

/* --- starting --- */

static bool remote_start_shell(struct ssh_master *m, uint32_t s)
{
    struct ssh_host_slot *slot = &m->slots[s];
    struct shell_words command = {0};
    bool rank0 = s == m->slot_of[0]; /* standard input follows */
    bool good = ssh_remote_command(m, s, &command);
    if (good && !ssh_shell_start(&slot->shell, &m->children, command.word, m->secret, rank0)) {
        launcher_log("host %s: cannot start %s: %s; GASNET_SSH_CMD names the remote shell",
                     slot->placement->host, command.word[0], strerror(errno));
        good = false;
    }
    slot->ordered = true;
    shell_free(&command);
    return good;
}

static void remote_lose(struct ssh_master *m, struct ssh_host_slot *slot)
{
    const struct hosts_block *block = &slot->placement->block;
    slot->lost = true;
    ssh_stream_close(&slot->stream);
    for (uint32_t i = 0; i < block->count; i++)
        ssh_job_unreachable(&m->job, hosts_rank(block, i), 1);
}

static void remote_await(struct ssh_master *m)
{
    int64_t patience = m->placement.patience * INT64_C(1000);
    ssh_timer_set(m, SSH_TIMER_CONNECT, patience);
    if (patience > SLOW_AFTER) ssh_timer_set(m, SSH_TIMER_SLOW, SLOW_AFTER);
}

bool ssh_remote_start(struct ssh_master *m)
{
    if (!m->remotes) return true;
    signal(SIGPIPE, SIG_IGN); /* a remote shell may end while input is written */
    bool good = ssh_unauthenticated_open(m);
    if (!good) launcher_log("cannot listen for other hosts: %s", strerror(errno));
    for (uint32_t s = 0; s < m->placement.count; s++) {
        struct ssh_host_slot *slot = &m->slots[s];
        if (!slot->placement->remote || slot->starter != SSH_LAUNCHER) continue;
        good = good && remote_start_shell(m, s);
        if (good) continue;
        remote_lose(m, slot);
        ssh_job_end(&m->job, 1); /* reported before */
    }
    remote_await(m);
    return good;
}

/* --- losing a host --- */

static const char *remote_starter_name(const struct ssh_master *m, const struct ssh_host_slot *slot)
{
    return slot->starter == SSH_LAUNCHER ? "this host" : m->slots[slot->starter].placement->host;
}

uint32_t ssh_remote_awaited(const struct ssh_master *m, const struct ssh_host_slot **first)
{
    uint32_t count = 0;
    for (uint32_t s = 0; s < m->placement.count; s++) {
        const struct ssh_host_slot *slot = &m->slots[s];
        if (!slot->placement->remote || slot->joined || slot->lost) continue;
        if (!count++ && first) *first = slot;
    }
    return count;
}

void ssh_remote_connect_slow(struct ssh_master *m)
{
    const struct ssh_host_slot *slot = NULL;
    char more[48] = "";
    uint32_t count = ssh_remote_awaited(m, &slot);
    if (!count) return;
    if (count > 1) snprintf(more, sizeof more, " and %" PRIu32 " more", count - 1);
    launcher_log("waiting for host %s%s: no word from its control process yet; giving up in "
                 "%d s (GASNET_SSH_TIMEOUT=%" PRIu32 ")",
                 slot->placement->host, more,
                 (int)((m->due[SSH_TIMER_CONNECT] - (int64_t)gasneti_clock_ms() + 500) / 1000),
                 m->placement.patience);
}

void ssh_remote_connect_late(struct ssh_master *m)
{
    const struct ssh_host_slot *slot = NULL; /* the first: the later ones may depend on it */
    if (!ssh_remote_awaited(m, &slot)) return;
    ssh_job_fail(&m->job, 1,
                 "host %s: no word from its control process within %" PRIu32
                 " s (GASNET_SSH_TIMEOUT); check that %s reaches it from %s and that it can open "
                 "TCP connections to this machine",
                 slot->placement->host, m->placement.patience, remote_shell_name(),
                 remote_starter_name(m, slot));
}

/* Ends the job: a remote shell ended before its control process connected. */
static void remote_refused(struct ssh_master *m, const struct ssh_host_slot *slot, const char *how,
                           enum ssh_shell_key key)
{
    char try[512];
    const char *options = getenv("GASNET_SSH_OPTIONS"), *shell = remote_shell_name();
    const char *host = slot->placement->host, *starter = remote_starter_name(m, slot);
    snprintf(try, sizeof try, "%s%s%s %s true", shell, options ? " " : "", options ? options : "",
             host);
    if (key == SSH_KEY_UNKNOWN)
        ssh_job_fail(&m->job, 1,
                     "host %s cannot be reached: its host key is unknown to %s on %s; compare its "
                     "fingerprint, then accept it there, once, by  ssh-keyscan %s "
                     ">>~/.ssh/known_hosts  or  %s ; or accept all new keys by "
                     "GASNET_SSH_OPTIONS=-oStrictHostKeyChecking=accept-new",
                     host, shell, starter, host, try);
    else if (key == SSH_KEY_CHANGED)
        ssh_job_fail(&m->job, 1,
                     "host %s cannot be reached: its host key is not the one that %s on %s knows; "
                     "ask its administrator whether it was changed, and only then remove the old "
                     "one there by  ssh-keygen -R %s ",
                     host, shell, starter, host);
    else
        ssh_job_fail(&m->job, 1,
                     "host %s cannot be reached: %s %s before the control process connected; check "
                     "that  %s  works without a password on %s",
                     host, shell, how, try, starter);
}

/* A remote shell ended, on this host or on its starter's.  Output of that host came through it, and
 * a rank that writes there now is killed by SIGPIPE. */
static void remote_shell_ended(struct ssh_master *m, struct ssh_host_slot *slot, int status,
                               enum ssh_shell_key key)
{
    char how[64];
    if (slot->lost || (slot->joined && (status == 0 || ssh_job_over(&m->job)))) return;
    snprintf(how, sizeof how,
             WIFSIGNALED(status) ? "was killed by signal %d" : "exited with status %d",
             WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
    if (slot->joined)
        ssh_job_fail(&m->job, 1, "host %s: its remote shell (%s on %s) %s; ending the job",
                     slot->placement->host, remote_shell_name(), remote_starter_name(m, slot), how);
    else
        remote_refused(m, slot, how, key);
    remote_lose(m, slot);
}

bool ssh_remote_shell_ended(struct ssh_master *m, pid_t pid, int status)
{
    for (uint32_t s = 0; s < m->placement.count; s++) {
        struct ssh_host_slot *slot = &m->slots[s];
        if (slot->shell.pid != pid) continue;
        slot->shell.pid = 0;
        if (!slot->joined) ssh_shell_drain(&slot->shell); /* the last output may give the reason */
        remote_shell_ended(m, slot, status, slot->shell.key);
        return true;
    }
    return false;
}

/* A host that has not connected has no ranks yet. */
void ssh_remote_end(struct ssh_master *m)
{
    for (uint32_t s = 0; s < m->placement.count; s++)
        if (m->slots[s].placement->remote && !m->slots[s].joined && !m->slots[s].lost)
            remote_lose(m, &m->slots[s]);
}

/* --- control processes --- */

/* Sends the set-up and the welcome for the ranks. */
static void remote_set_up(struct ssh_master *m, struct ssh_host_slot *slot)
{
    struct ssh_wire_buf buf = {0};
    const char *remote = getenv("GASNET_SSH_REMOTE_PATH");
    char *cwd = remote && *remote ? strdup(remote) : getcwd(NULL, 0);
    uint32_t argc = 0, envc = 0;
    while (m->request->argv[argc]) argc++;
    while (environ[envc]) envc++;
    ssh_wire_put_u32(&buf, slot->placement->block.first);
    ssh_wire_put_u32(&buf, slot->placement->block.count);
    ssh_wire_put_u32(&buf, slot->placement->block.stride);
    ssh_wire_put_u32(&buf, m->job.size);
    ssh_wire_put_u32(&buf, slot->below);
    ssh_wire_put_u32(&buf, argc);
    ssh_wire_put_u32(&buf, envc);
    ssh_wire_put_string(&buf, cwd ? cwd : "/");
    ssh_wire_put_string(&buf, m->request->path);
    for (uint32_t i = 0; i < argc; i++) ssh_wire_put_string(&buf, m->request->argv[i]);
    for (uint32_t i = 0; i < envc; i++) ssh_wire_put_string(&buf, environ[i]);
    struct ssh_parcel *parcel =
        buf.failed ? NULL : ssh_parcel_new(SSH_WIRE_SETUP, SSH_WIRE_ALL, buf.data, buf.len);
    ssh_stream_post(&slot->stream, parcel);
    ssh_stream_post(&slot->stream, m->welcome);
    ssh_parcel_drop(parcel);
    ssh_wire_free(&buf);
    free(cwd);
}

/* Orders a control process that has connected to start those below it in the tree. */
static void remote_start_below(struct ssh_master *m, const struct ssh_host_slot *slot)
{
    for (uint32_t s = 0; slot->below && s < m->placement.count; s++) {
        struct shell_words command = {0};
        struct ssh_wire_buf buf = {0};
        if (m->slots[s].starter == SSH_LAUNCHER || &m->slots[m->slots[s].starter] != slot) continue;
        ssh_wire_put_u32(&buf, s);
        bool good = ssh_remote_command(m, s, &command);
        for (size_t i = 0; i < command.count; i++) ssh_wire_put_string(&buf, command.word[i]);
        struct ssh_parcel *parcel =
            good && !buf.failed ? ssh_parcel_new(SSH_WIRE_START, SSH_WIRE_ALL, buf.data, buf.len)
                                : NULL;
        if (!good) ssh_job_end(&m->job, 1); /* reported before */
        if (!parcel) ssh_job_fail(&m->job, 1, "out of memory");
        ssh_stream_post(&m->slots[m->slots[s].starter].stream, parcel);
        ssh_parcel_drop(parcel);
        ssh_wire_free(&buf);
        shell_free(&command);
        m->slots[s].ordered = true;
        remote_await(m);
    }
}

void ssh_remote_joined(struct ssh_master *m, struct ssh_host_slot *slot, int fd,
                       const struct ssh_seals *seals)
{
    slot->joined = true;
    ssh_stream_open(&slot->stream, fd, false);
    if (!ssh_stream_seal(&slot->stream, seals)) {
        ssh_job_fail(&m->job, 1, "out of memory for host %s; ending the job",
                     slot->placement->host);
        remote_lose(m, slot);
        return;
    }
    remote_set_up(m, slot);
    remote_start_below(m, slot);
}

struct remote_frame {
    struct ssh_master *m;
    struct ssh_host_slot *slot;
    bool wrong;
};

static void remote_note_loss(struct ssh_master *m, const struct ssh_host_slot *slot,
                             const struct ssh_wire_message *loss)
{
    m->output_lost = true;
    launcher_log("host %s: %" PRIu64 " bytes of output are lost: its control process cannot write "
                 "to %s: %s",
                 slot->placement->host, loss->lost.bytes,
                 output_name((enum output_stream)loss->lost.stream),
                 strerror((int)loss->lost.error));
}

static void remote_take_frame(void *ctx, const struct ssh_wire_frame *frame)
{
    struct remote_frame *from = ctx;
    struct ssh_master *m = from->m;
    struct ssh_wire_message message;
    const char *why;
    if (frame->type == SSH_WIRE_ECHO) {
        return; /* remote_read_slot has noted it */
    } else if (frame->type == SSH_WIRE_LOST &&
               ssh_wire_decode(frame->type, frame->rank, frame->data, frame->len, &message, &why)) {
        remote_note_loss(m, from->slot, &message);
    } else if (frame->type == SSH_WIRE_UNREAD && frame->len == 4 && frame->rank == 0 &&
               from->slot == &m->slots[m->slot_of[0]]) {
        m->input.told = true;
        m->input.unread = ssh_wire_u32(frame->data);
    } else if (frame->type == SSH_WIRE_SHELL && frame->len == 8) {
        uint32_t s = ssh_wire_u32(frame->data);
        from->wrong = s >= m->placement.count || m->slots[s].starter == SSH_LAUNCHER ||
                      &m->slots[m->slots[s].starter] != from->slot;
        if (!from->wrong) {
            uint32_t ended = ssh_wire_u32(frame->data + 4);
            remote_shell_ended(m, &m->slots[s], (int)(ended & 0xffff),
                               (enum ssh_shell_key)(ended >> 16));
        }
    } else if (hosts_index(&from->slot->placement->block, frame->rank) == UINT32_MAX) {
        from->wrong = true;
    } else if (frame->type == SSH_WIRE_ENDED && frame->len == 4) {
        ssh_job_ended(&m->job, frame->rank, (int)ssh_wire_u32(frame->data));
    } else if (frame->type == SSH_WIRE_SILENT) {
        ssh_master_silent(m, frame->rank, frame->len == 4 && ssh_wire_u32(frame->data) == 1);
    } else {
        ssh_master_frame(m, frame->rank, frame);
    }
}

static void remote_read_slot(struct ssh_master *m, struct ssh_host_slot *slot)
{
    struct remote_frame from = {m, slot, false};
    const char *why;
    slot->answered = true;
    ssh_stream_flush(&slot->stream);
    enum ssh_stream_state state = ssh_stream_read(&slot->stream, remote_take_frame, &from, &why);
    if (state == SSH_STREAM_OPEN && !from.wrong) return;
    remote_lose(m, slot);
    if (!ssh_job_over(&m->job) || from.wrong)
        ssh_job_fail(&m->job, 1, "host %s: lost its control process (%s); ending the job",
                     slot->placement->host,
                     from.wrong ? "it sent a message of a rank of another host" : why);
}

/* --- control processes that do not answer --- */

static bool remote_has_ranks(const struct ssh_master *m, const struct ssh_host_slot *slot)
{
    const struct hosts_block *block = &slot->placement->block;
    for (uint32_t i = 0; i < block->count; i++)
        if (m->job.ranks[hosts_rank(block, i)].phase != SSH_RANK_GONE) return true;
    return false;
}

/* Returns the next control process that has ranks and has sent no frame since the last ECHO. */
static struct ssh_host_slot *remote_next_unresponsive(struct ssh_master *m, uint32_t *s)
{
    for (; *s < m->placement.count; ++*s) {
        struct ssh_host_slot *slot = &m->slots[*s];
        if (slot->placement->remote && remote_is_up(slot) && !slot->answered &&
            remote_has_ranks(m, slot))
            return ++*s, slot;
    }
    return NULL;
}

void ssh_remote_ask_echo(struct ssh_master *m)
{
    static const uint8_t nothing[4];
    struct ssh_parcel *parcel =
        ssh_parcel_new(SSH_WIRE_ECHO, SSH_WIRE_ALL, nothing, sizeof nothing);
    for (uint32_t s = 0; s < m->placement.count; s++) {
        m->slots[s].answered = false;
        if (m->slots[s].placement->remote) ssh_remote_send(&m->slots[s], parcel);
    }
    ssh_parcel_drop(parcel);
    m->asked = (int64_t)gasneti_clock_ms();
    ssh_timer_set(m, SSH_TIMER_ECHO, ECHO_EVERY);
}

void ssh_remote_no_echo(struct ssh_master *m)
{
    uint32_t s = 0;
    const struct ssh_host_slot *slot = remote_next_unresponsive(m, &s);
    bool late = (int64_t)gasneti_clock_ms() >
                m->asked + ECHO_EVERY + 1000; /* the launcher itself did not run */
    if (slot && !late)
        ssh_job_fail(&m->job, 1,
                     "host %s: its control process has not answered for %d s while the job was "
                     "ending (is it stopped?); ending the job",
                     slot->placement->host, ECHO_EVERY / 1000);
    else
        ssh_remote_ask_echo(m);
}

void ssh_remote_leave_mute(struct ssh_master *m)
{
    uint32_t s = 0;
    for (struct ssh_host_slot *slot; (slot = remote_next_unresponsive(m, &s));) {
        launcher_log("host %s: its control process does not answer (is it stopped?); leaving it "
                     "to its guard, which ends it and its ranks",
                     slot->placement->host);
        remote_lose(m, slot);
        ssh_children_kill_helper(slot->shell.pid, SIGTERM);
    }
}

void ssh_remote_send(struct ssh_host_slot *slot, struct ssh_parcel *parcel)
{
    if (remote_is_up(slot)) ssh_stream_post(&slot->stream, parcel);
}

void ssh_remote_signal(struct ssh_host_slot *slot, uint32_t rank, int signo)
{
    uint8_t number[4] = {(uint8_t)signo};
    struct ssh_parcel *parcel = ssh_parcel_new(SSH_WIRE_SIGNAL, rank, number, sizeof number);
    ssh_remote_send(slot, parcel);
    ssh_parcel_drop(parcel);
}

/* --- output --- */

void ssh_remote_flush_lines(struct ssh_master *m)
{
    for (uint32_t s = 0; s < m->placement.count; s++) ssh_shell_flush(&m->slots[s].shell);
}

/* --- polling --- */

size_t ssh_remote_poll_max(const struct ssh_master *m)
{
    return m->remotes ? ssh_unauthenticated_poll_max(m) + 3 * (size_t)m->placement.count : 0;
}

size_t ssh_remote_poll(struct ssh_master *m, struct pollfd *fds)
{
    if (!m->remotes) return 0;
    size_t n = ssh_unauthenticated_poll(m, fds);
    for (uint32_t s = 0; s < m->placement.count; s++) {
        struct ssh_host_slot *slot = &m->slots[s];
        if (remote_is_up(slot))
            ssh_poll_add(fds, &n, slot->stream.fd, ssh_stream_events(&slot->stream));
        for (int which = 0; which < 2; which++)
            ssh_poll_add(fds, &n, ssh_shell_wants(&slot->shell, which), POLLIN);
    }
    return n;
}

void ssh_remote_ready(struct ssh_master *m, const struct pollfd *fds, size_t count)
{
    size_t at = 0;
    if (!m->remotes) return;
    for (uint32_t s = 0; s < m->placement.count; s++) {
        struct ssh_host_slot *slot = &m->slots[s];
        const short stream =
            remote_is_up(slot) ? ssh_poll_ready_from(fds, count, slot->stream.fd, &at) : 0;
        for (int which = 0; which < 2; which++)
            if (ssh_poll_ready_from(fds, count, ssh_shell_wants(&slot->shell, which), &at) &&
                ssh_shell_read(&slot->shell, which))
                ssh_timer_set(m, SSH_TIMER_LINES, LINE_PATIENCE);
        if (stream && remote_is_up(slot)) remote_read_slot(m, slot);
    }
    /* After the slots: a new connection may reuse a descriptor number that was polled. */
    ssh_unauthenticated_ready(m, fds, count);
}

/* --- the end --- */

bool ssh_remote_finished(struct ssh_master *m)
{
    bool all = true;
    for (uint32_t s = 0; s < m->placement.count; s++) {
        struct ssh_host_slot *slot = &m->slots[s];
        if (!slot->placement->remote) continue;
        if (remote_is_up(slot) && !slot->dismissed) shutdown(slot->stream.fd, SHUT_WR);
        slot->dismissed = true; /* then the control process ends, and reports what it lost before */
        ssh_shell_close_input(&slot->shell);
        if (slot->shell.pid && !slot->joined) ssh_children_kill_helper(slot->shell.pid, SIGTERM);
        all = all && !remote_is_up(slot) && ssh_shell_done(&slot->shell);
    }
    if (output_pending()) /* remote shells may wait for the reader of the output */
        m->due[SSH_TIMER_GIVE_UP] = 0;
    else if (!all && !m->due[SSH_TIMER_GIVE_UP] && !m->due[SSH_TIMER_TERM] &&
             !m->due[SSH_TIMER_KILL])
        ssh_timer_set(m, SSH_TIMER_GIVE_UP, 2000);
    return all;
}

size_t ssh_remote_unread(const struct ssh_master *m)
{
    size_t all = 0;
    for (uint32_t s = 0; s < m->placement.count; s++) all += ssh_shell_unread(&m->slots[s].shell);
    return all;
}

void ssh_remote_close(struct ssh_master *m)
{
    ssh_unauthenticated_close(m);
    for (uint32_t s = 0; m->slots && s < m->placement.count; s++) {
        ssh_stream_close(&m->slots[s].stream);
        ssh_shell_close(&m->slots[s].shell);
    }
}
