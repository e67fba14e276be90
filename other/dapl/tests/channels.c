/* channels.c - a thread that sleeps for several completion queues (other/base/completion-queues),
 * which are here under the test's control: no DAT headers, no verbs.
 *
 * A lost wake-up shows as a sleep that does not end: the alarm of check_begin ends the program.
 */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stddef.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "other/base/completion-queues/channel_set.h"
#include "other/base/completion-queues/os.h"
#include "tests/descriptors.h"
#include "tests/unit/check.h"

enum { QUEUES = 4, EACH = 3000 };

/* A completion queue, which counts its completions. */
typedef struct queue {
    pthread_mutex_t mutex;
    int completions;
    bool armed, level; /* level: arming with completions in the queue makes an event */
    int fd;            /* a counter of events, one at a time */
    unsigned taken, acknowledged, arms;
    _Atomic int had; /* completions that were polled */
} queue_t;

static queue_t queues[QUEUES];

static int queue_arm(void *arg, bool solicited_only)
{
    queue_t *queue = arg;
    (void)solicited_only;
    pthread_mutex_lock(&queue->mutex);
    queue->arms++;
    queue->armed = !(queue->level && queue->completions);
    if (!queue->armed) eventfd_write(queue->fd, 1);
    pthread_mutex_unlock(&queue->mutex);
    return 0;
}

static int queue_take(void *arg)
{
    queue_t *queue = arg;
    eventfd_t one;
    int took = eventfd_read(queue->fd, &one) == 0;
    queue->taken += (unsigned)took;
    return took;
}

static void queue_acknowledge(void *arg, unsigned events)
{
    ((queue_t *)arg)->acknowledged += events;
}

static int queue_fd(void *arg)
{
    return ((queue_t *)arg)->fd;
}

static const dapl_cq_ops_t ops = {
    .arm = queue_arm, .take_event = queue_take, .acknowledge = queue_acknowledge, .fd = queue_fd};

static void complete(queue_t *queue)
{
    pthread_mutex_lock(&queue->mutex);
    queue->completions++;
    if (queue->armed) eventfd_write(queue->fd, 1);
    queue->armed = false;
    pthread_mutex_unlock(&queue->mutex);
}

static int drain(queue_t *queue)
{
    pthread_mutex_lock(&queue->mutex);
    int n = queue->completions;
    queue->completions = 0;
    pthread_mutex_unlock(&queue->mutex);
    atomic_fetch_add(&queue->had, n);
    return n;
}

static void begin(dapl_channel_set_t *set, bool level)
{
    *set = (dapl_channel_set_t){.count = 0};
    for (int i = 0; i < QUEUES; i++) {
        queues[i] =
            (queue_t){.level = level, .fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC | EFD_SEMAPHORE)};
        pthread_mutex_init(&queues[i].mutex, NULL);
        check_each(dapl_set_add(set, &ops, &queues[i]) == 0, "queue %d", i);
    }
    check_all("a set of %d queues, %s", QUEUES, level ? "level" : "edge");
}

static void end(dapl_channel_set_t *set)
{
    dapl_set_close(set);
    for (int i = 0; i < QUEUES; i++) {
        check_each(queues[i].taken == queues[i].acknowledged, "queue %d: %u of %u", i,
                   queues[i].acknowledged, queues[i].taken);
        close(queues[i].fd);
        pthread_mutex_destroy(&queues[i].mutex);
    }
    check_all("every notification is acknowledged before the queues may be destroyed");
}

static bool arms_are(unsigned a, unsigned b, unsigned c, unsigned d)
{
    return queues[0].arms == a && queues[1].arms == b && queues[2].arms == c && queues[3].arms == d;
}

static void rules(void)
{
    dapl_channel_set_t set;
    int before = count_descriptors();
    begin(&set, false);
    dapl_set_arm(&set);
    dapl_set_arm(&set);
    check(arms_are(1, 1, 1, 1), "R27 R49 a queue that is armed is not armed again");
    complete(&queues[3]);
    dapl_set_sleep(&set, -1);
    check(queues[3].taken == 1, "R49 a completion of any queue ends the sleep");
    dapl_set_arm(&set);
    check(arms_are(1, 1, 1, 2), "R49 that queue alone is armed again");
    complete(&queues[0]);
    complete(&queues[2]);
    dapl_set_sleep(&set, -1);
    check(queues[0].taken == 1 && queues[2].taken == 1,
          "R49 one sleep takes the notifications of all queues that have one");
    dapl_set_arm(&set);
    complete(&queues[1]);
    dapl_set_wake(&set);
    dapl_set_sleep(&set, -1);
    check(queues[1].taken == 1, "R49 a wake hides no notification");
    dapl_set_arm(&set);
    dapl_set_sleep(&set, 1000);
    check(arms_are(2, 2, 2, 2) && queues[1].taken == 1,
          "R29 a sleep ends without a completion too");
    for (int i = 0; i < 1000; i++) {
        complete(&queues[0]);
        dapl_set_sleep(&set, -1);
        dapl_set_arm(&set);
    }
    check(queues[0].taken == 1001 && queues[0].acknowledged > 900,
          "notifications are acknowledged in batches");
    end(&set);
    check(count_descriptors() == before, "no descriptor is left");
}

/* A queue with a hundred times the traffic does not hide the others. */
static void fairness(void)
{
    dapl_channel_set_t set;
    begin(&set, true);
    for (int round = 0; round < 1000; round++) {
        for (int i = 0; i < 100; i++) complete(&queues[0]);
        for (int i = 1; i < QUEUES; i++) complete(&queues[i]);
        dapl_set_arm(&set);
        dapl_set_sleep(&set, -1);
        for (int i = 0; i < QUEUES; i++)
            check_each(queues[i].taken == (unsigned)round + 1, "round %d, queue %d", round, i);
    }
    check_all("R49 each queue is served in each round, whatever the others get");
    end(&set);
}

/* Without descriptors a set is not made, and leaves none. */
static void poverty(void)
{
    struct rlimit limit, low;
    getrlimit(RLIMIT_NOFILE, &limit);
    queues[0] = (queue_t){.fd = eventfd(0, EFD_NONBLOCK)};
    int before = count_descriptors(), made = 0;
    for (int more = 0; more < 4 && !made; more++) {
        dapl_channel_set_t set = {.count = 0};
        low = limit;
        low.rlim_cur = (rlim_t)(queues[0].fd + 1 + more);
        setrlimit(RLIMIT_NOFILE, &low);
        int error = dapl_set_add(&set, &ops, &queues[0]);
        setrlimit(RLIMIT_NOFILE, &limit);
        made = !error;
        if (more < 2) check_each(error == -EMFILE, "%d descriptors: %d", more, error);
        dapl_set_close(&set);
        check_each(count_descriptors() == before, "%d are left", count_descriptors() - before);
    }
    check_each(made, "it is never made");
    check_all("a set without descriptors says so, and leaves none");
    close(queues[0].fd);
}

/* A counter that is at its maximum is readable already. */
static void full_counter(void)
{
    int fd = dapl_os_wake_open();
    eventfd_write(fd, UINT64_MAX - 1);
    dapl_os_wake(fd);
    check(dapl_os_sleep(fd, -1, 0) == 1, "R30 a wake that was asked for too often still is one");
    dapl_os_clear(fd);
    check(dapl_os_sleep(fd, -1, 0) == 0, "R30 ... once");
    dapl_os_close(fd);
}

/* ---- Races: producers against the arming and the sleep ---- */

typedef struct producer {
    pthread_t thread;
    queue_t *queue;
    uint64_t seed;
} producer_t;

/* At most 4 ahead of the sleeper, so that this sleeps often. */
static void *produce(void *arg)
{
    producer_t *producer = arg;
    for (int i = 0; i < EACH; i++) {
        while (i - atomic_load(&producer->queue->had) >= 4) sched_yield();
        producer->seed = producer->seed * UINT64_C(6364136223846793005) + 1442695040888963407;
        for (volatile uint32_t spin = (uint32_t)(producer->seed >> 33) % 300; spin; spin--) {
        }
        complete(producer->queue);
    }
    return NULL;
}

static void race(bool level)
{
    dapl_channel_set_t set;
    producer_t producers[QUEUES];
    int had = 0;
    begin(&set, level);
    for (int i = 0; i < QUEUES; i++) {
        producers[i] = (producer_t){.queue = &queues[i], .seed = check_random()};
        pthread_create(&producers[i].thread, NULL, produce, &producers[i]);
    }
    for (;;) {
        dapl_set_arm(&set);
        for (int i = 0; i < QUEUES; i++) had += drain(&queues[i]);
        if (had == QUEUES * EACH) break;
        dapl_set_sleep(&set, -1);
    }
    for (int i = 0; i < QUEUES; i++) pthread_join(producers[i].thread, NULL);
    check(had == QUEUES * EACH, "races 1-4 R24 R49 no completion of %d queues is slept through",
          QUEUES);
    end(&set);
}

/* From here on there is no epoll_pwait2, as before Linux 5.11. */
static void old_kernel(void)
{
    const struct sock_filter deny[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_epoll_pwait2, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    const struct sock_fprog program = {sizeof deny / sizeof deny[0], (struct sock_filter *)deny};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
        prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program)) {
        check(true, "R49 a sleep without epoll_pwait2 # SKIP no seccomp filter: errno %d", errno);
        return;
    }
    uint64_t keys[DAPL_OS_AT_ONCE] = {0};
    int set = dapl_os_set_open(), first = dapl_os_wake_open(), second = dapl_os_wake_open();
    dapl_os_set_add(set, first, 7, true);
    dapl_os_set_add(set, second, 8, true);
    check(dapl_os_set_sleep(set, dapl_os_deadline(1000), keys, DAPL_OS_AT_ONCE) == 0,
          "R29 R49 a sleep without epoll_pwait2 ends at its deadline");
    dapl_os_wake(second);
    check(dapl_os_set_sleep(set, OS_NEVER, keys, DAPL_OS_AT_ONCE) == 1 && keys[0] == 8,
          "R49 ... and names the descriptor that ends it");
    dapl_os_close(first);
    dapl_os_close(second);
    dapl_os_close(set);
}

int main(int argc, char **argv)
{
    check_begin(argc, argv);
    rules();
    fairness();
    poverty();
    full_counter();
    race(false);
    race(true);
    old_kernel();
    return check_end();
}
