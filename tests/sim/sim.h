/* sim.h - a discrete-event simulator: a heap of events in virtual time, nodes that may stall or
 * die, links that delay, reorder, lose and repeat, and scripts that read like blocking programs.
 *
 * Whole jobs run in one thread, so that a seed replays every step.  A schedule is one run of a
 * scene; each has a seed of its own.  One that fails is run again with notes kept, and prints its
 * seed and the last steps of the nodes concerned.  Knows nothing of the library.
 *
 * To add a simulation: a program tests/sim/NAME.c, its three lines in tests/sim/local.mk, and
 *
 *     static machine_t machines[MOST];                  // the real state machine, one per node
 *     static const sim_link_t link = {.least = 10, .most = 500, .lose = 5};
 *
 *     static void hear(const sim_message_t *m)          // a message arrived at node m->to
 *     {
 *         sim_note(m->to, "hears %u from %u", m->kind, m->from);
 *         machine_receive(&machines[m->to], m->kind);   // and sim_send what it answers
 *         sim_check(machine_sound(&machines[m->to]), m->to, "state %d", machines[m->to].state);
 *     }
 *
 *     static void many(void)                            // one schedule
 *     {
 *         uint32_t n = sim_nodes(2 + sim_below(30));    // begin anew, with that many
 *         for (uint32_t i = 0; i < n; i++) machine_init(&machines[i]);
 *         sim_send(&link, hear, &(sim_message_t){.from = 0, .to = 1, .kind = HELLO});
 *         sim_after(100, hear, &(sim_message_t){.to = 1, .kind = TIME_IS_UP});   // a timer
 *         sim_stall(1, 5000);                           // node 1 does nothing until then
 *         sim_run();                                    // until nothing is left to happen
 *         for (uint32_t i = 0; i < n; i++) sim_check(machines[i].done, i, "never ends");
 *     }
 *
 *     int main(int argc, char **argv)
 *     {
 *         return sim_main(argc, argv, (sim_scene_t[]){{"many nodes say hello", many, 1000}}, 1);
 *     }
 */
#ifndef SIM_H
#define SIM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* --- schedules --- */

typedef struct sim_scene {
    const char *name;  /* of the TAP line: what holds in every schedule */
    void (*run)(void); /* one schedule */
    unsigned rounds;   /* schedules when TEST_ROUNDS says nothing */
} sim_scene_t;

/* Runs every scene and prints TAP; the program's exit status.  The first argument, or TEST_SEED, is
 * the first schedule's seed; TEST_ROUNDS how many schedules in all (shared out in proportion;
 * "/10": a tenth of each scene's own), TEST_SCENES which scenes ("2 3"). */
int sim_main(int argc, char **argv, const sim_scene_t *scenes, size_t count);

/* Checks a condition. Unless `ok`, the schedule has failed and ends here, without a return; the
 * last steps of `node` and of the nodes that sim_concerns names are printed. */
#define sim_check(ok, node, ...)                                                                   \
    do {                                                                                           \
        if (__builtin_expect(!(ok), 0)) sim_fail(node, __VA_ARGS__);                               \
    } while (0)
void sim_fail(uint32_t node, const char *format, ...)
    __attribute__((noreturn, cold, format(printf, 2, 3)));
void sim_concerns(uint32_t other_node);

/* Notes a step of a node; kept only while a failed schedule is run again. */
#define sim_note(node, ...)                                                                        \
    do {                                                                                           \
        if (__builtin_expect(sim_noting, 0)) sim_keep_note(node, __VA_ARGS__);                     \
    } while (0)
extern bool sim_noting;
void sim_keep_note(uint32_t node, const char *format, ...)
    __attribute__((cold, format(printf, 2, 3)));

/* For what a scene wants to know in the end; summed over its schedules and printed as a comment. */
void sim_count(const char *what, uint64_t n);

/* Randomness of this schedule. */
uint32_t sim_below(uint32_t bound); /* bound >= 1 */
uint32_t sim_between(uint32_t least, uint32_t most);
bool sim_chance(unsigned percent);

/* --- time, nodes and links --- */

enum { SIM_NODES = 10240 };

/* Begins the schedule's world anew, at time 0, with `nodes` (at most SIM_NODES); returns nodes. */
uint32_t sim_nodes(uint32_t nodes);

/* Memory that lives until the next sim_nodes; 16-byte aligned, not cleared. */
void *sim_alloc(size_t size);

typedef struct sim_message {
    uint32_t from, to; /* `to` acts: a stalled node later, a dead one never */
    uint32_t kind, number;
    uint64_t word[3];
    void *data;
    uint8_t device; /* done by a device of `to`, which a stall does not hold up, nor death */
} sim_message_t;

typedef void sim_action_t(const sim_message_t *message);

typedef struct sim_link {
    uint32_t least, most; /* delay */
    uint8_t late;         /* percent of messages that take up to most_late instead */
    uint8_t lose, repeat; /* percent */
    uint32_t most_late;
} sim_link_t;

/* Messages on a lane arrive in the order sent, whatever their delays. */
typedef struct sim_lane {
    uint64_t last;
} sim_lane_t;

/* How many copies of the message will arrive.  On a lane nothing may be lost or repeated. */
unsigned sim_send(const sim_link_t *link, sim_action_t *act, const sim_message_t *message);
void sim_send_on(sim_lane_t *lane, const sim_link_t *link, sim_action_t *act,
                 const sim_message_t *message);
void sim_after(uint64_t delay, sim_action_t *act, const sim_message_t *message);
uint32_t sim_delay(const sim_link_t *link); /* a random delay of the link */
/* A random link of datagrams, in microseconds: lossy, but a sender that repeats them succeeds. */
sim_link_t sim_any_link(void);

uint64_t sim_now(void);
bool sim_step(void); /* false: nothing is left to happen */
void sim_run(void);  /* until nothing is left to happen, or sim_stop */
void sim_stop(void);

void sim_stall(uint32_t node, uint64_t duration);
void sim_kill(uint32_t node);
bool sim_alive(uint32_t node);

/* --- scripts --- */

/* `script` is what the node does from now on, on a stack of its own: straight code that sleeps.
 * `enter` is called each time the node goes on, `leave` each time it sleeps or ends; either may be
 * NULL. */
void sim_script(uint32_t node, void (*script)(uint32_t node), void (*enter)(uint32_t node),
                void (*leave)(uint32_t node));

/* Within a script: for so long; until sim_wake. */
void sim_sleep(uint64_t duration);
void sim_wait(void);
/* May be called for any node: it goes on, now or when its stall is over, if it waits. */
void sim_wake(uint32_t node);
/* Whether the node's script has returned. */
bool sim_ended(uint32_t node);

#endif
