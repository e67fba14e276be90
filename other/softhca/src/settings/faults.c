/* faults.c - parses SOFTHCA_FAULTS, and decides when a fault is due; see faults.h.
 *
 * Two tables: faults, with the keys that each takes and needs, and keys, with the field that each
 * sets and the values it takes.
 */
#include "other/softhca/src/settings/faults.h"

#include <stdarg.h>
#include <string.h>

#include "other/base/env_table.h"
#include "other/softhca/src/settings/inventory.h"

static const struct shca_word ops[] = {{"send", SHCA_OP_SEND}, {"write", SHCA_OP_WRITE},
                                       {"read", SHCA_OP_READ}, {"atomic", SHCA_OP_ATOMIC},
                                       {"recv", SHCA_OP_RECV}, {NULL, 0}};
static const struct shca_word kinds[] = {
    {"pd", SHCA_PD},         {"mr", SHCA_MR}, {"cq", SHCA_CQ},   {"qp", SHCA_QP},
    {"srq", SHCA_SRQ},       {"ah", SHCA_AH}, {"rtr", SHCA_RTR}, {"rts", SHCA_RTS},
    {"view", SHCA_PEER_MAP}, {NULL, 0}};

static const struct shca_word orders[] = {{"ascending", SHCA_ASCENDING},
                                          {"descending", SHCA_DESCENDING},
                                          {"random", SHCA_RANDOM},
                                          {NULL, 0}};

enum key_kind { NUMBER, SET, WORDS, WORD, FRACTION, COUNT, DEVICE, PORT };
struct key {
    const char *name;
    enum key_kind kind;
    size_t offset;
    uint64_t least, most;
    const struct shca_word *words;
    const char *help;
};
#define AT(field) offsetof(struct shca_fault_rule, field)
enum {
    PROCESS,
    PEER,
    QP,
    CQ,
    OP,
    WHAT,
    WHEN_AT,
    AFTER,
    EVERY,
    TIMES,
    CHANCE,
    RETRIES,
    POLLS,
    US,
    MESSAGES,
    GATHER,
    ORDER,
    ON_PORT,
    ON_DEVICE,
    KEYS
};
static const struct key keys[KEYS] = {
    [PROCESS] = {"process", SET, AT(process), 0, UINT32_MAX - 1, NULL,
                 "in these processes (numbers joined by +), as SOFTHCA_PROCESS or the launcher "
                 "counts them from 0"},
    [PEER] = {"peer", SET, AT(peer), 0, UINT32_MAX - 1, NULL, "towards these processes"},
    [QP] = {"qp", SET, AT(qp), 1, UINT32_MAX, NULL,
            "on these queue pairs, in the order in which the process made them, from 1"},
    [CQ] = {"cq", SET, AT(cq), 1, UINT32_MAX, NULL, "on these completion queues, counted likewise"},
    [OP] = {"op", WORDS, AT(ops), 0, 0, ops,
            "messages or completions of these kinds: send, write, read, atomic, recv, joined by +"},
    [WHAT] =
        {"what", WORD, AT(kind), 0, 0, kinds,
         "what cannot be made: pd, mr, cq, qp, srq or ah; rtr or rts: a connected queue pair does "
         "not reach that state; view: a peer's tables cannot be mapped"},
    [WHEN_AT] = {"at", NUMBER, AT(at), 1, UINT32_MAX, NULL, "the N-th alone"},
    [AFTER] = {"after", NUMBER, AT(after), 0, UINT32_MAX, NULL, "all that follow the N-th"},
    [EVERY] = {"every", NUMBER, AT(every), 1, UINT32_MAX, NULL, "each N-th"},
    [TIMES] = {"times", NUMBER, AT(times), 1, UINT32_MAX, NULL, "N times at most"},
    [CHANCE] = {"chance", FRACTION, AT(chance), 1, UINT32_MAX, NULL,
                "with this probability, such as 1/100, decided by the seed"},
    [RETRIES] = {"retries", COUNT, AT(retries), 1, 1000000, NULL,
                 "how many attempts fail; all: every one"},
    [POLLS] = {"polls", NUMBER, AT(polls), 1, 1000000000, NULL,
               "until so many polls have found nothing"},
    [US] = {"us", NUMBER, AT(us), 1, 1000000000, NULL, "for so many microseconds"},
    [MESSAGES] = {"messages", NUMBER, AT(messages), 1, 1000000000, NULL,
                  "until so many messages have been posted on other queue pairs"},
    [GATHER] = {"gather", NUMBER, AT(gather), 1, 1000000, NULL,
                "until so many completions of the queue are held"},
    [ORDER] = {"order", WORD, AT(order), 0, 0, orders,
               "in which order the bytes are written: ascending, descending or random"},
    [ON_PORT] = {"port", PORT, AT(device), 0, 0, NULL, "which port, such as softhca0/2"},
    [ON_DEVICE] = {"device", DEVICE, AT(device), 0, 0, NULL,
                   "which device, such as softhca1 (softhca0)"},
};

#define BIT(key) (1u << (key))
#define WHEN     (BIT(PROCESS) | BIT(WHEN_AT) | BIT(AFTER) | BIT(EVERY) | BIT(TIMES) | BIT(CHANCE))
#define MESSAGE  (WHEN | BIT(PEER) | BIT(QP) | BIT(OP))
static const struct fault {
    const char *name;
    uint32_t takes;
    uint32_t one_of; /* mask of keys of which one is required; 0: no key is required */
    const char *help;
} table[SHCA_FAULTS] = {
    [SHCA_RNR] = {"rnr", MESSAGE | BIT(RETRIES), 0,
                  "the receiver is not ready for a message; retries: 1"},
    [SHCA_LOSE] =
        {"lose", MESSAGE | BIT(RETRIES), 0,
         "a message is lost until its timeout; retries: all, which ends in RETRY_EXC_ERR"},
    [SHCA_STALL] = {"stall", MESSAGE | BIT(POLLS) | BIT(US) | BIT(MESSAGES),
                    BIT(POLLS) | BIT(US) | BIT(MESSAGES),
                    "a queue pair sends nothing while others proceed; 10 s at most"},
    [SHCA_TEAR] = {"tear", MESSAGE | BIT(ORDER) | BIT(US), BIT(ORDER),
                   "the bytes of a message are written one by one, with pauses"},
    [SHCA_HOLD] =
        {"hold", MESSAGE | BIT(CQ) | BIT(POLLS) | BIT(US) | BIT(GATHER),
         BIT(POLLS) | BIT(US) | BIT(GATHER),
         "a completion is held back, and with it what follows on its queue; 10 s at most"},
    [SHCA_OVERFLOW] = {"overflow", WHEN | BIT(CQ), 0, "a completion queue overflows"},
    [SHCA_ENOMEM] = {"enomem", WHEN | BIT(WHAT), BIT(WHAT), "something cannot be made"},
    [SHCA_PORT_DOWN] = {"port-down", MESSAGE | BIT(ON_PORT) | BIT(US), BIT(ON_PORT),
                        "a port goes down, and with us comes up again after that time"},
    [SHCA_PORT_UP] = {"port-up", MESSAGE | BIT(ON_PORT), BIT(ON_PORT), "a port becomes active"},
    [SHCA_CUT] = {"cut", MESSAGE, BIT(PEER),
                  "nothing passes any more between this process and the peers"},
    [SHCA_REMOVE] = {"remove", MESSAGE | BIT(ON_DEVICE), 0,
                     "a device is gone: IBV_EVENT_DEVICE_FATAL, and every verb fails with EIO"},
    [SHCA_STOP] = {"stop", MESSAGE, 0, "the process stops itself (SIGSTOP)"},
    [SHCA_KILL] = {"kill", MESSAGE, 0, "the process is killed (SIGKILL)"},
};

struct parse {
    char *why;
    size_t room;
    const struct fault *fault;
};

static bool faults_refuse(struct parse *p, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
static bool faults_refuse(struct parse *p, const char *format, ...)
{
    int n = p->fault ? snprintf(p->why, p->room, "%s: ", p->fault->name) : 0;
    va_list args;
    va_start(args, format);
    if ((size_t)n < p->room) vsnprintf(p->why + n, p->room - n, format, args);
    va_end(args);
    return false;
}

static bool faults_parse_word(struct parse *p, const struct key *k, struct shca_span text,
                              uint64_t *value)
{
    char all[80] = "";
    if (shca_span_word(text, k->words, value)) return true;
    shca_list_words(all, sizeof all, k->words);
    return faults_refuse(p, "%s=%.*s is none of %s", k->name, SHCA_SPAN(text), all);
}

static bool faults_parse_set(struct parse *p, const struct key *k, struct shca_span text,
                             struct shca_fault_set *set)
{
    struct shca_span rest = text, item;
    set->n = 0;
    while (shca_span_next(&rest, '+', &item)) {
        uint64_t v;
        if (set->n == SHCA_FAULT_SET || !shca_span_number(item, k->least, k->most, &v))
            return faults_refuse(p, "%s=%.*s is not 1 to %d whole numbers from %llu joined by +",
                                 k->name, SHCA_SPAN(text), SHCA_FAULT_SET,
                                 (unsigned long long)k->least);
        set->number[set->n++] = v;
    }
    return true;
}

static bool faults_parse_words(struct parse *p, const struct key *k, struct shca_span rest,
                               uint64_t *all)
{
    struct shca_span item;
    *all = 0;
    while (shca_span_next(&rest, '+', &item)) {
        uint64_t one;
        if (!faults_parse_word(p, k, item, &one)) return false;
        *all |= one;
    }
    return true;
}

static bool faults_parse_fraction(struct parse *p, const struct key *k, struct shca_span text,
                                  uint64_t *parts)
{
    struct shca_span of = text, chance = shca_span_cut(&of, '/');
    if (shca_span_number(of, k->least, k->most, &parts[1]) &&
        shca_span_number(chance, k->least, parts[1], &parts[0]))
        return true;
    return faults_refuse(p, "%s=%.*s is not a fraction such as 1/100", k->name, SHCA_SPAN(text));
}

/* Parses softhcaN or softhcaN/PORT into the device and the number of the port. */
static bool faults_parse_port(struct parse *p, const struct key *k, struct shca_span text,
                              uint64_t *numbers)
{
    struct shca_span port = text, device = shca_span_cut(&port, '/');
    uint64_t d = 0, n = 1;
    bool good = shca_span_device(device, SHCA_DEVICES - 1, &d);
    if (k->kind == PORT)
        good = good && shca_span_number(port, 1, SHCA_PORTS, &n);
    else
        good = good && !shca_span_has(text, '/');
    if (!good)
        return faults_refuse(p, "%s=%.*s is not a %s such as softhca0%s", k->name, SHCA_SPAN(text),
                             k->name, k->kind == PORT ? "/2" : "");
    numbers[0] = d;
    numbers[1] = n;
    return true;
}

static bool faults_set_key(struct parse *p, const struct key *k, struct shca_span value,
                           struct shca_fault_rule *rule)
{
    void *field = (char *)rule + k->offset;
    switch (k->kind) {
    case SET:
        return faults_parse_set(p, k, value, field);
    case WORDS:
        return faults_parse_words(p, k, value, field);
    case WORD:
        return faults_parse_word(p, k, value, field);
    case FRACTION:
        return faults_parse_fraction(p, k, value, field);
    case DEVICE:
    case PORT:
        return faults_parse_port(p, k, value, field);
    case COUNT:
        *(uint64_t *)field = SHCA_FAULT_ALWAYS;
        if (shca_span_is(value, "all")) return true;
        break;
    case NUMBER:
        break;
    }
    if (shca_span_number(value, k->least, k->most, field)) return true;
    return faults_refuse(p, "%s=%.*s is not a whole number in %llu..%llu%s", k->name,
                         SHCA_SPAN(value), (unsigned long long)k->least,
                         (unsigned long long)k->most, k->kind == COUNT ? ", or all" : "");
}

static bool faults_no_such_key(struct parse *p, struct shca_span name)
{
    char all[200] = "";
    for (int i = 0; i < KEYS; i++)
        if (p->fault->takes & BIT(i)) shca_list_add(all, sizeof all, keys[i].name);
    return faults_refuse(p, "'%.*s' is none of its keys, which are %s", SHCA_SPAN(name), all);
}

static bool faults_parse_key(struct parse *p, struct shca_span text, struct shca_fault_rule *rule,
                             uint32_t *given)
{
    struct shca_span value = text, name = shca_span_cut(&value, '=');
    if (!shca_span_has(text, '='))
        return faults_refuse(p, "'%.*s' is not KEY=VALUE", SHCA_SPAN(text));
    for (int i = 0; i < KEYS; i++) {
        if (!shca_span_is(name, keys[i].name) || !(p->fault->takes & BIT(i))) continue;
        *given |= BIT(i);
        return faults_set_key(p, &keys[i], value, rule);
    }
    return faults_no_such_key(p, name);
}

static bool faults_no_such_fault(struct parse *p, struct shca_span name)
{
    struct shca_near near = {0};
    for (int i = 0; i < SHCA_FAULTS; i++) shca_span_near(name, table[i].name, &near);
    return faults_refuse(p, "'%.*s' is no fault%s%s%s", SHCA_SPAN(name),
                         near.name ? " (is it " : "", near.name ? near.name : "",
                         near.name ? "?)" : "");
}

static bool faults_parse_rule(struct parse *p, struct shca_span clause,
                              struct shca_fault_rule *rule)
{
    struct shca_span rest = clause, name = shca_span_cut(&rest, ':'), item;
    uint32_t what = 0, given = 0;
    while (what < SHCA_FAULTS && !shca_span_is(name, table[what].name)) what++;
    if (what == SHCA_FAULTS) return faults_no_such_fault(p, name);
    p->fault = &table[what];
    *rule = (struct shca_fault_rule){
        .what = what, .port = 1, .retries = what == SHCA_RNR ? 1 : SHCA_FAULT_ALWAYS};
    if (!shca_span_has(clause, ':')) rest.at = NULL;
    while (shca_span_next(&rest, ',', &item))
        if (!faults_parse_key(p, item, rule, &given)) return false;
    if (p->fault->one_of && !(given & p->fault->one_of)) {
        char all[60] = "";
        for (int i = 0; i < KEYS; i++)
            if (p->fault->one_of & BIT(i)) shca_list_add(all, sizeof all, keys[i].name);
        return faults_refuse(p, "it needs %s%s", strchr(all, ',') ? "one of " : "", all);
    }
    if (rule->ops & SHCA_OP_RECV && what != SHCA_HOLD)
        return faults_refuse(p, "op=recv is for hold alone: it counts messages that are sent");
    if (what == SHCA_TEAR && rule->ops & (SHCA_OP_READ | SHCA_OP_ATOMIC))
        return faults_refuse(p,
                             "it is for op=send and op=write, which write into the peer's memory");
    p->fault = NULL;
    return true;
}

bool shca_faults_parse(const char *text, struct shca_faults *faults, char *why, size_t room)
{
    struct parse p = {why, room, NULL};
    struct shca_span rest = shca_span(text ? text : "");
    *faults = (struct shca_faults){.seed = 1};
    while (rest.n > 0) {
        struct shca_span clause = shca_span_cut(&rest, ';'), value = clause;
        if (clause.n == 0) continue;
        if (shca_span_is(shca_span_cut(&value, '='), "seed")) {
            if (!shca_span_number(value, 0, UINT64_MAX, &faults->seed))
                return faults_refuse(&p, "'%.*s' is not seed=WHOLE NUMBER", SHCA_SPAN(clause));
        } else if (shca_span_is(clause, "log"))
            faults->log = true;
        else if (faults->n == SHCA_FAULT_RULES)
            return faults_refuse(&p, "more than %d faults", SHCA_FAULT_RULES);
        else if (!faults_parse_rule(&p, clause, &faults->rule[faults->n]))
            return false;
        else
            faults->n++;
    }
    return true;
}

bool shca_faults_check(const char *text, char *why, size_t room)
{
    struct shca_faults scratch;
    return shca_faults_parse(text, &scratch, why, room);
}

static void faults_print_one(FILE *to, const char *name, const char *help)
{
    enum { COLUMN = 15 };
    fprintf(to, "    %-10s ", name);
    gasneti_print_folded(to, COLUMN, help);
}

void shca_faults_print(FILE *to)
{
    uint32_t all = BIT(SHCA_FAULTS) - 1;
    for (int i = 0; i < SHCA_FAULTS; i++) faults_print_one(to, table[i].name, table[i].help);
    fprintf(to, "  with keys:\n");
    for (int i = 0; i < KEYS; i++) {
        char names[200] = "", text[500];
        uint32_t takers = 0;
        for (int f = 0; f < SHCA_FAULTS; f++)
            if (table[f].takes & BIT(i)) {
                takers |= BIT(f);
                shca_list_add(names, sizeof names, table[f].name);
            }
        snprintf(text, sizeof text, "%s (%s)", keys[i].help, takers == all ? "all" : names);
        faults_print_one(to, keys[i].name, text);
    }
}

/* --- when --- */

const char *shca_fault_name(enum shca_fault what)
{
    return table[what].name;
}

bool shca_fault_names(const struct shca_fault_set *set, uint32_t number)
{
    for (uint32_t i = 0; i < set->n; i++)
        if (set->number[i] == number) return true;
    return set->n == 0;
}

static uint64_t faults_mix(uint64_t x)
{
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

static uint64_t faults_seed_of(const struct shca_faults *faults, const struct shca_fault_rule *rule,
                               uint32_t process, uint32_t object, uint64_t n)
{
    uint64_t clause = (uint64_t)(rule - faults->rule);
    uint64_t h = faults_mix(faults->seed + 0x9e3779b97f4a7c15u);
    h = faults_mix(h ^ ((uint64_t)process << 32 | object));
    return faults_mix(h ^ (clause << 40 ^ n));
}

bool shca_fault_due(const struct shca_faults *faults, const struct shca_fault_rule *rule,
                    uint32_t process, uint32_t object, struct shca_fault_count *count)
{
    uint64_t n = ++count->seen;
    if (rule->at && n != rule->at) return false;
    if (n <= rule->after) return false;
    if (rule->every && (n - rule->after) % rule->every) return false;
    if (rule->times && count->due >= rule->times) return false;
    if (rule->of && faults_seed_of(faults, rule, process, object, n) % rule->of >= rule->chance)
        return false;
    count->due++;
    return true;
}

uint64_t shca_fault_seed(const struct shca_faults *faults, const struct shca_fault_rule *rule,
                         uint32_t process, uint32_t object, const struct shca_fault_count *count)
{
    return faults_mix(faults_seed_of(faults, rule, process, object, count->seen));
}

uint64_t shca_fault_random(uint64_t seed, uint64_t n)
{
    return faults_mix(seed + n * 0x9e3779b97f4a7c15u);
}

bool shca_faults_reorder(const struct shca_faults *faults)
{
    for (uint32_t i = 0; i < faults->n; i++)
        if (faults->rule[i].what == SHCA_TEAR && faults->rule[i].order != SHCA_ASCENDING)
            return true;
    return false;
}
