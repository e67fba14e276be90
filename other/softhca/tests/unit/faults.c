/* faults.c - the language of SOFTHCA_FAULTS: what it sets, every message of its parser, and
 * when a fault is due.
 */
#include "other/softhca/src/settings/faults.h"

#include <stdio.h>
#include <string.h>

#include "other/softhca/src/settings/inventory.h"
#include "tests/unit/check.h"

static struct shca_faults all;
static char why[400];

static bool parse(const char *text)
{
    memset(&all, 0x5a, sizeof all);
    strcpy(why, "");
    return shca_faults_parse(text, &all, why, sizeof why);
}

static void is(const char *text, bool condition)
{
    check(condition && !*why, "SOFTHCA_FAULTS=%s", text);
    if (*why) check_note("%s", why);
}
#define GOOD(text, condition) is(text, parse(text) && (condition))

static void bad(const char *text, const char *wanted)
{
    bool ok = parse(text);
    check(!ok && !strcmp(why, wanted), "SOFTHCA_FAULTS=%s: %s", text, wanted);
    if (strcmp(why, wanted)) check_note("it says: %s", why);
}

static bool set_is(const struct shca_fault_set *s, uint32_t n, uint32_t first, uint32_t last)
{
    return s->n == n && s->number[0] == first && s->number[n - 1] == last;
}

static void good_texts(void)
{
    const struct shca_fault_rule *r = all.rule;
    GOOD("", all.n == 0 && all.seed == 1 && !all.log);
    GOOD("seed=0x10; log", all.n == 0 && all.seed == 16 && all.log);
    GOOD("rnr", all.n == 1 && r->what == SHCA_RNR && r->retries == 1 && !r->process.n && !r->at);
    GOOD("lose", r->what == SHCA_LOSE && r->retries == SHCA_FAULT_ALWAYS);
    GOOD("rnr:retries=all;lose:retries=3", r[0].retries == SHCA_FAULT_ALWAYS && r[1].retries == 3);
    GOOD("stall:qp=2+3,polls=10,messages=4,us=5",
         set_is(&r->qp, 2, 2, 3) && r->polls == 10 && r->messages == 4 && r->us == 5);
    GOOD("hold : op = write+read , process=0+7, peer=1, cq=9, gather=3",
         r->what == SHCA_HOLD && r->ops == (SHCA_OP_WRITE | SHCA_OP_READ) &&
             set_is(&r->process, 2, 0, 7) && set_is(&r->peer, 1, 1, 1) && set_is(&r->cq, 1, 9, 9) &&
             r->gather == 3);
    GOOD("hold:op=recv,polls=1", r->ops == SHCA_OP_RECV);
    GOOD("tear:order=random,op=write,peer=2,us=5",
         r->what == SHCA_TEAR && r->order == SHCA_RANDOM && r->ops == SHCA_OP_WRITE && r->us == 5 &&
             shca_faults_reorder(&all));
    GOOD("tear:order=ascending;tear:order=descending", r[0].order == SHCA_ASCENDING &&
                                                           r[1].order == SHCA_DESCENDING &&
                                                           shca_faults_reorder(&all));
    GOOD("tear:order=ascending;hold:polls=1", !shca_faults_reorder(&all));
    GOOD("overflow:cq=2,at=5", r->what == SHCA_OVERFLOW && r->at == 5);
    GOOD("enomem:what=mr,after=3,every=4,times=5,chance=1/7",
         r->what == SHCA_ENOMEM && r->kind == SHCA_MR && r->after == 3 && r->every == 4 &&
             r->times == 5 && r->chance == 1 && r->of == 7);
    GOOD("port-down:port=softhca1/2;port-up:port=softhca0/1",
         r[0].what == SHCA_PORT_DOWN && r[0].device == 1 && r[0].port == 2 &&
             r[1].what == SHCA_PORT_UP && r[1].device == 0 && r[1].port == 1);
    GOOD("port-down:port=softhca0/1,us=7", r->what == SHCA_PORT_DOWN && r->us == 7);
    GOOD("enomem:what=view;enomem:what=rtr",
         r[0].kind == SHCA_PEER_MAP && r[1].what == SHCA_ENOMEM && r[1].kind == SHCA_RTR);
    GOOD("cut:peer=3", r->what == SHCA_CUT && set_is(&r->peer, 1, 3, 3));
    GOOD("remove", r->what == SHCA_REMOVE && r->device == 0 && r->port == 1);
    GOOD("remove:device=softhca2", r->device == 2 && r->port == 1);
    GOOD("stop:at=3;kill:op=atomic", r[0].what == SHCA_STOP && r[1].what == SHCA_KILL);
    char many[400] = "";
    for (int i = 0; i < SHCA_FAULT_RULES; i++) strcat(many, "lose;");
    GOOD(many, all.n == SHCA_FAULT_RULES);
    strcat(many, "stop");
    bad(many, "more than 32 faults");
}

static void bad_texts(void)
{
    bad("hodl:polls=1", "'hodl' is no fault (is it hold?)");
    bad("rnrr", "'rnrr' is no fault (is it rnr?)");
    bad("explode", "'explode' is no fault");
    bad(":at=1", "'' is no fault");
    bad("at=1", "'at=1' is no fault");
    bad("seed=x", "'seed=x' is not seed=WHOLE NUMBER");
    bad("seed=", "'seed=' is not seed=WHOLE NUMBER");
    bad("seed", "'seed' is not seed=WHOLE NUMBER");
    bad("log=1", "'log=1' is no fault");
    bad("rnr:", "rnr: '' is not KEY=VALUE");
    bad("rnr:at", "rnr: 'at' is not KEY=VALUE");
    bad("rnr:at=1,,every=2", "rnr: '' is not KEY=VALUE");
    bad("rnr:polls=1", "rnr: 'polls' is none of its keys, which are process, peer, qp, op, at, "
                       "after, every, times, chance, retries");
    bad("overflow:qp=1", "overflow: 'qp' is none of its keys, which are process, cq, at, after, "
                         "every, times, chance");
    bad("enomem:at=1", "enomem: it needs what");
    bad("enomem:what=memory", "enomem: what=memory is none of pd, mr, cq, qp, srq, ah, rtr, "
                              "rts, view");
    bad("hold", "hold: it needs one of polls, us, gather");
    bad("tear:us=1", "tear: it needs order");
    bad("tear:order=up", "tear: order=up is none of ascending, descending, random");
    bad("tear:order=random,op=send+read",
        "tear: it is for op=send and op=write, which write into the peer's memory");
    bad("stall:at=1", "stall: it needs one of polls, us, messages");
    bad("cut:process=0", "cut: it needs peer");
    bad("port-down:at=1", "port-down: it needs port");
    bad("kill:at=0", "kill: at=0 is not a whole number in 1..4294967295");
    bad("kill:at=", "kill: at= is not a whole number in 1..4294967295");
    bad("kill:at=-1", "kill: at=-1 is not a whole number in 1..4294967295");
    bad("rnr:retries=some", "rnr: retries=some is not a whole number in 1..1000000, or all");
    bad("hold:polls=0", "hold: polls=0 is not a whole number in 1..1000000000");
    bad("kill:qp=0", "kill: qp=0 is not 1 to 8 whole numbers from 1 joined by +");
    bad("kill:process=a", "kill: process=a is not 1 to 8 whole numbers from 0 joined by +");
    bad("kill:process=1+", "kill: process=1+ is not 1 to 8 whole numbers from 0 joined by +");
    bad("kill:process=1+2+3+4+5+6+7+8+9",
        "kill: process=1+2+3+4+5+6+7+8+9 is not 1 to 8 whole numbers from 0 joined by +");
    bad("kill:op=put", "kill: op=put is none of send, write, read, atomic, recv");
    bad("kill:op=", "kill: op= is none of send, write, read, atomic, recv");
    bad("kill:op=recv", "kill: op=recv is for hold alone: it counts messages that are sent");
    bad("lose:chance=1", "lose: chance=1 is not a fraction such as 1/100");
    bad("lose:chance=2/1", "lose: chance=2/1 is not a fraction such as 1/100");
    bad("lose:chance=0/5", "lose: chance=0/5 is not a fraction such as 1/100");
    bad("port-up:port=softhca0", "port-up: port=softhca0 is not a port such as softhca0/2");
    bad("port-up:port=1", "port-up: port=1 is not a port such as softhca0/2");
    bad("port-up:port=softhca0/9", "port-up: port=softhca0/9 is not a port such as softhca0/2");
    bad("port-up:port=softhca16/1", "port-up: port=softhca16/1 is not a port such as softhca0/2");
    bad("remove:device=softhca0/1", "remove: device=softhca0/1 is not a device such as softhca0");
    bad("remove:device=mlx5_0", "remove: device=mlx5_0 is not a device such as softhca0");
}

/* On which of the first operations the only rule of TEXT is due, as a text of 0 and 1. */
static const char *due_of(const char *text, uint32_t process, uint32_t object)
{
    static char due[65];
    struct shca_fault_count count = {0};
    memset(due, 0, sizeof due);
    if (!parse(text)) return why;
    for (int i = 0; i < 20; i++)
        due[i] = shca_fault_due(&all, &all.rule[all.n - 1], process, object, &count) ? '1' : '0';
    return due;
}

static void due(const char *text, const char *wanted)
{
    const char *got = due_of(text, 0, 1);
    check(!strcmp(got, wanted), "%s is due at %s", text, wanted);
    if (strcmp(got, wanted)) check_note("it is: %s", got);
}

static void when(void)
{
    due("kill", "11111111111111111111");
    due("kill:at=3", "00100000000000000000");
    due("kill:after=17", "00000000000000000111");
    due("kill:every=5", "00001000010000100001");
    due("kill:every=5,after=2", "00000010000100001000");
    due("kill:every=5,times=2", "00001000010000000000");
    due("kill:times=3", "11100000000000000000");
    due("kill:after=4,times=2", "00001100000000000000");
    due("kill:chance=5/5", "11111111111111111111");
}

/* The share of 1 in many, and that two decisions of one text agree, of others differ. */
static void chances(void)
{
    char first[65];
    strcpy(first, due_of("seed=3;kill:chance=1/2", 4, 5));
    check(!strcmp(first, due_of("seed=3;kill:chance=1/2", 4, 5)), "one seed decides one way");
    check(strcmp(first, due_of("seed=4;kill:chance=1/2", 4, 5)), "another seed another");
    check(strcmp(first, due_of("seed=3;kill:chance=1/2", 5, 5)), "another process another");
    check(strcmp(first, due_of("seed=3;kill:chance=1/2", 4, 6)), "another queue another");
    check(strcmp(first, due_of("seed=3;stop;kill:chance=1/2", 4, 5)), "another clause another");
    char text[60];
    unsigned long long seed = check_random();
    snprintf(text, sizeof text, "seed=%llu;kill:chance=1/10", seed);
    struct shca_fault_count count = {0};
    check_each(parse(text), "%s", why);
    for (int i = 0; i < 100000; i++) shca_fault_due(&all, all.rule, 1, 1, &count);
    check(count.seen == 100000 && count.due > 9000 && count.due < 11000,
          "a chance of 1/10 is due every tenth time");
    if (count.due <= 9000 || count.due >= 11000)
        check_note("seed %llu: %llu", seed, (unsigned long long)count.due);
}

static void names(void)
{
    struct shca_fault_set none = {0}, two = {2, {3, 5}};
    check(shca_fault_names(&none, 7) && shca_fault_names(&two, 3) && shca_fault_names(&two, 5) &&
              !shca_fault_names(&two, 4),
          "a set names its numbers, an empty one all");
}

/* The help says for each key which faults take it; read without its line breaks. */
static void help(void)
{
    static char text[20000], flat[20000];
    FILE *to = fmemopen(text, sizeof text, "w");
    shca_faults_print(to);
    fclose(to);
    size_t n = 0;
    for (const char *c = text; *c; c++) {
        bool space = *c == ' ' || *c == '\n';
        if (!space || (n && flat[n - 1] != ' ')) flat[n++] = space ? ' ' : *c;
    }
    check(strstr(flat, " counts them from 0 (all) ") && strstr(flat, "every one (rnr, lose) ") &&
              strstr(flat, "descending or random (tear) ") &&
              strstr(flat, "so many microseconds (stall, tear, hold, port-down) "),
          "the help names the faults that take a key");
}

int main(int argc, char **argv)
{
    check_begin(argc, argv);
    good_texts();
    bad_texts();
    when();
    chances();
    names();
    help();
    return check_end();
}
