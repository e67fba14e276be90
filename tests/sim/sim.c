/* sim.c - the simulator's heap of events, its nodes and their scripts; see sim.h.
 *
 * Schedules, seeds and what is printed are in schedule.c.
 */
#include "tests/sim/sim.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <ucontext.h>

#include "tests/sim/schedule.h"

typedef struct event {
    uint64_t when;
    uint64_t order; /* of two at one time, the one that was made first */
    sim_action_t *act;
    sim_message_t message;
} event_t;

enum script_state { SCRIPT_NONE, SCRIPT_RUNNABLE, SCRIPT_WAITS, SCRIPT_ENDED };

typedef struct node {
    uint64_t stalled_until;
    bool dead;
    enum script_state script;
    uint32_t turn; /* of its sleeps: an old alarm wakes nobody */
    void (*run)(uint32_t);
    void (*enter)(uint32_t), (*leave)(uint32_t);
    ucontext_t context;
} node_t;

/* Far more events than any schedule has. */
enum { NOBODY = UINT32_MAX, STACK = 128 << 10, MOST_EVENTS = 50000000 };

static struct {
    event_t *heap;
    size_t count, space;
    uint64_t now, order;
    bool stopped;
    uint32_t nodes;
    uint32_t running; /* the node whose script is at it, or NOBODY */
    ucontext_t scheduler;
} world = {.running = NOBODY};
static node_t node[SIM_NODES];
static char *stack[SIM_NODES]; /* made once, used by every schedule */

/* --- the heap --- */

static bool before(const event_t *a, const event_t *b)
{
    return a->when != b->when ? a->when < b->when : a->order < b->order;
}

static void push(const event_t *event)
{
    if (world.count == world.space) {
        world.space = world.space ? 2 * world.space : 1024;
        world.heap = realloc(world.heap, world.space * sizeof *world.heap);
        if (!world.heap) abort();
    }
    size_t i = world.count++;
    for (; i > 0 && before(event, &world.heap[(i - 1) / 2]); i = (i - 1) / 2)
        world.heap[i] = world.heap[(i - 1) / 2];
    world.heap[i] = *event;
}

static event_t pop(void)
{
    event_t first = world.heap[0], last = world.heap[--world.count];
    size_t i = 0, child;
    while ((child = 2 * i + 1) < world.count) {
        if (child + 1 < world.count && before(&world.heap[child + 1], &world.heap[child])) child++;
        if (before(&last, &world.heap[child])) break;
        world.heap[i] = world.heap[child];
        i = child;
    }
    world.heap[i] = last;
    return first;
}

static void at(uint64_t when, sim_action_t *act, const sim_message_t *message)
{
    push(&(event_t){when, world.order++, act, *message});
}

/* --- memory --- */

typedef struct chunk {
    struct chunk *next;
    size_t size;
    _Alignas(16) char bytes[];
} chunk_t;

static struct {
    chunk_t *first, *current; /* kept from schedule to schedule */
    size_t used;              /* of the current one */
} memory;

static chunk_t *make_chunk(size_t least)
{
    size_t size = least > 1 << 20 ? least : 1 << 20;
    chunk_t *chunk = malloc(sizeof *chunk + size);
    if (!chunk) abort();
    *chunk = (chunk_t){.size = size};
    return chunk;
}

void *sim_alloc(size_t size)
{
    size = (size + 15) & ~(size_t)15;
    if (!memory.current) memory.current = memory.first = make_chunk(size);
    while (memory.used + size > memory.current->size) {
        if (!memory.current->next) memory.current->next = make_chunk(size);
        memory.current = memory.current->next;
        memory.used = 0;
    }
    void *bytes = memory.current->bytes + memory.used;
    memory.used += size;
    return bytes;
}

/* --- nodes and links --- */

uint32_t sim_nodes(uint32_t nodes)
{
    if (nodes > SIM_NODES) abort();
    for (uint32_t i = 0; i < nodes; i++) {
        node[i].stalled_until = 0;
        node[i].dead = false;
        node[i].script = SCRIPT_NONE;
        node[i].turn = 0;
    }
    memory.current = memory.first;
    memory.used = 0;
    world.count = 0;
    world.now = world.order = 0;
    world.stopped = false;
    world.running = NOBODY;
    return world.nodes = nodes;
}

uint64_t sim_now(void)
{
    return world.now;
}

uint32_t sim_delay(const sim_link_t *link)
{
    if (link->late && sim_chance(link->late)) return sim_between(link->most, link->most_late);
    return sim_between(link->least, link->most);
}

sim_link_t sim_any_link(void)
{
    enum { SECOND = 1000000 };
    sim_link_t l = {.least = 1 + sim_below(50)};
    l.most = l.least + sim_below(sim_chance(80) ? 3000 : 60000);
    l.late = (uint8_t)(sim_chance(50) ? 0 : sim_below(30));
    l.most_late = l.most + sim_below(2 * SECOND);
    l.lose = (uint8_t)(sim_chance(30) ? 0 : sim_below(10));
    l.repeat = (uint8_t)(sim_chance(50) ? 0 : sim_below(30));
    return l;
}

unsigned sim_send(const sim_link_t *link, sim_action_t *act, const sim_message_t *message)
{
    if (link->lose && sim_chance(link->lose)) return 0;
    unsigned copies = link->repeat && sim_chance(link->repeat) ? 2 : 1;
    for (unsigned i = 0; i < copies; i++) sim_after(sim_delay(link), act, message);
    return copies;
}

void sim_send_on(sim_lane_t *lane, const sim_link_t *link, sim_action_t *act,
                 const sim_message_t *message)
{
    uint64_t when = world.now + sim_delay(link);
    if (when < lane->last) when = lane->last;
    lane->last = when;
    at(when, act, message);
}

void sim_after(uint64_t delay, sim_action_t *act, const sim_message_t *message)
{
    at(world.now + delay, act, message);
}

void sim_stall(uint32_t n, uint64_t duration)
{
    uint64_t until = world.now + duration;
    if (until > node[n].stalled_until) node[n].stalled_until = until;
}

void sim_kill(uint32_t n)
{
    node[n].dead = true;
}

bool sim_alive(uint32_t n)
{
    return !node[n].dead;
}

void sim_stop(void)
{
    world.stopped = true;
}

bool sim_step(void)
{
    if (world.count == 0) return false;
    event_t event = pop();
    sim_check(event.order < MOST_EVENTS, event.message.to, "the schedule does not come to rest");
    world.now = event.when;
    if (!event.message.device) {
        const node_t *n = &node[event.message.to];
        if (n->dead) return true;
        if (n->stalled_until > world.now) {
            event.when = n->stalled_until; /* still before what comes later */
            push(&event);
            return true;
        }
    }
    event.act(&event.message);
    return true;
}

void sim_run(void)
{
    while (!world.stopped && sim_step()) continue;
}

/* --- scripts --- */

static void body(void)
{
    node_t *me = &node[world.running];
    me->run(world.running);
    me->script = SCRIPT_ENDED;
    if (me->leave) me->leave(world.running);
    swapcontext(&me->context, &world.scheduler);
}

/* Goes on with a node's script until it sleeps or ends. */
static void go_on(const sim_message_t *message)
{
    node_t *n = &node[message->to];
    if (n->turn != message->number || n->script == SCRIPT_ENDED) return;
    n->turn++;
    n->script = SCRIPT_RUNNABLE;
    world.running = message->to;
    if (n->enter) n->enter(message->to);
    swapcontext(&world.scheduler, &n->context);
    world.running = NOBODY;
    if (schedule_has_failed()) schedule_abandon();
}

void sim_script(uint32_t n, void (*run)(uint32_t), void (*enter)(uint32_t), void (*leave)(uint32_t))
{
    node_t *me = &node[n];
    if (!stack[n]) {
        stack[n] = mmap(NULL, STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (stack[n] == MAP_FAILED || mprotect(stack[n], 4096, PROT_NONE)) abort();
    }
    me->run = run;
    me->enter = enter;
    me->leave = leave;
    getcontext(&me->context);
    me->context.uc_stack.ss_sp = stack[n];
    me->context.uc_stack.ss_size = STACK;
    me->context.uc_link = NULL;
    makecontext(&me->context, body, 0);
    me->script = SCRIPT_RUNNABLE;
    sim_after(0, go_on, &(sim_message_t){.to = n, .number = me->turn});
}

void sim_in_script_give_up(void)
{
    if (world.running == NOBODY) schedule_abandon();
    ucontext_t nowhere;
    swapcontext(&nowhere, &world.scheduler);
    abort();
}

static void leave_script(enum script_state state)
{
    uint32_t n = world.running;
    node[n].script = state;
    if (node[n].leave) node[n].leave(n);
    swapcontext(&node[n].context, &world.scheduler);
}

void sim_sleep(uint64_t duration)
{
    uint32_t n = world.running;
    sim_after(duration, go_on, &(sim_message_t){.to = n, .number = node[n].turn});
    leave_script(SCRIPT_RUNNABLE);
}

void sim_wait(void)
{
    leave_script(SCRIPT_WAITS);
}

void sim_wake(uint32_t n)
{
    if (node[n].script != SCRIPT_WAITS) return;
    node[n].script = SCRIPT_RUNNABLE;
    sim_after(0, go_on, &(sim_message_t){.to = n, .number = node[n].turn});
}

bool sim_ended(uint32_t n)
{
    return node[n].script == SCRIPT_ENDED;
}
