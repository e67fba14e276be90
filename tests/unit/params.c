/* params.c - the parameters' table and the parsing of values and names (IB-C, IB-P, IB-R; 7.1 of
 * the client interface).
 *
 * Rows of every type are made here as well, so that ranges and units are tested apart from the
 * ranges that the real rows happen to have.
 */
#include "core/params/params.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tests/unit/check.h"

#define ROW(name_, kind_, least_, most_, field)                                                    \
    {                                                                                              \
        .name = name_, .alias = "", .kind = GASNETI_ENV_##kind_, .initial = "0", .least = least_,  \
        .most = most_, .help = "", .offset = offsetof(gasnetc_params_t, field)                     \
    }
static const gasnetc_param_t number = ROW("GASNET_N", NUMBER, -10, 1000, num_qps),
                             large = ROW("GASNET_L", NUMBER, -1, 16777216, num_qps),
                             size = ROW("GASNET_S", SIZE, 0, (double)INT64_MAX, pin_maxsz),
                             megabytes =
                                 ROW("GASNET_M", MEGABYTES, 0, (double)INT64_MAX, pin_maxsz),
                             memory = ROW("GASNET_Y", MEMORY, 0, (double)INT64_MAX, physmem_max),
                             boolean = ROW("GASNET_B", BOOLEAN, 0, 1, quiet),
                             seconds = ROW("GASNET_T", SECONDS, 0, 86400, exit_timeout),
                             text = ROW("GASNET_X", TEXT, 0, 0, ports);

/* Rows as a table has them. */
static const gasnetc_param_t power = {GASNETI_ENV_ROW(NUMBER, "GASNET_P", "", 0, POWERS(0, 1 << 20),
                                                      false, ""),
                                      .offset = offsetof(gasnetc_params_t, amrdma_cycle)},
                             large_power = {GASNETI_ENV_ROW(SIZE, "GASNET_Q", "", 0,
                                                            POWERS(1, INT64_MAX), false, ""),
                                            .offset = offsetof(gasnetc_params_t, pin_maxsz)},
                             word = {GASNETI_ENV_ROW(WORD, "GASNET_W", "", auto,
                                                     WORDS("auto|on=yes=1|off"), false, ""),
                                     .offset = offsetof(gasnetc_params_t, barrier)},
                             counted = {GASNETI_ENV_ROW(WORD_NUMBER, "GASNET_C", "", none,
                                                        WORDS("none|flat|tree=bush"), false, ""),
                                        .offset = offsetof(gasnetc_params_t, coll_geometry)};

static double value_of(const gasnetc_param_t *row, const gasnetc_params_t *p)
{
    const char *field = (const char *)p + row->offset;
    if (row->kind == GASNETI_ENV_BOOLEAN) return *(const bool *)field;
    if (row->kind == GASNETI_ENV_SECONDS || row->kind == GASNETI_ENV_FRACTION)
        return *(const double *)(const void *)field;
    if (row->kind == GASNETI_ENV_MEMORY)
        return ((const struct gasneti_memory *)(const void *)field)->amount;
    return (double)*(const int64_t *)(const void *)field;
}

static void good(const gasnetc_param_t *row, const char *given, double wanted)
{
    gasnetc_params_t p;
    char why[200] = "";
    memset(&p, 0x5a, sizeof p);
    bool parsed = gasneti_env_parse(row, given, &p, why, sizeof why);
    check(parsed && value_of(row, &p) == wanted, "7.1 %s=%s is %.15g", row->name, given, wanted);
    if (!parsed)
        check_note("%s", why);
    else if (value_of(row, &p) != wanted)
        check_note("it is %.15g", value_of(row, &p));
}

/* Refused with one line that names the variable and the value; nothing is stored. */
static void bad(const gasnetc_param_t *row, const char *given, const char *word)
{
    gasnetc_params_t p, before;
    char why[200] = "";
    memset(&p, 0x5a, sizeof p);
    before = p;
    bool parsed = gasneti_env_parse(row, given, &p, why, sizeof why);
    bool told =
        strstr(why, row->name) && strstr(why, given) && strstr(why, word) && !strchr(why, '\n');
    check(!parsed && told && !memcmp(&p, &before, sizeof p), "7.1 %s=%s is refused: %s", row->name,
          given, *word ? word : "it does not fit");
    if (parsed)
        check_note("taken as %.15g", value_of(row, &p));
    else if (!told)
        check_note("%s", why);
}

static void numbers(void)
{
    good(&number, "0", 0);
    good(&number, "42", 42);
    good(&number, "-10", -10);
    good(&number, "0x1f", 31);
    good(&number, " 7 ", 7);
    good(&number, "1000", 1000);
    bad(&number, "1001", "-10 to 1000");
    bad(&number, "-11", "-10 to 1000");
    bad(&number, "abc", "not a whole number");
    bad(&number, "4x", "not a whole number");
    bad(&number, "4 5", "not a whole number");
    bad(&number, "1.5", "not a whole number");
    bad(&number, "4K", "not a whole number");
    bad(&number, "0x", "not a whole number");
    bad(&number, "-", "not a whole number");
    bad(&number, "", "not a whole number");
    bad(&number, " ", "not a whole number");
    bad(&number, "99999999999999999999", "too large; the range is -10 to 1000");
    bad(&number, "-99999999999999999999", "too small; the range is -10 to 1000");
    bad(&number, "99999999999999999999x", "not a whole number");
    bad(&number, "18446744073709551615", "too large");
    bad(&number, "18446744073709551626", "too large");
    bad(&number, "0xffffffffffffffff", "too large");
    bad(&large, "16777217", "-1 to 16777216");
    bad(&large, "many", "-1 to 16777216");
}

static void sizes(void)
{
    good(&size, "0", 0);
    good(&size, "4096", 4096);
    good(&size, "1K", 1024);
    good(&size, "1k", 1024);
    good(&size, "64KB", 65536);
    good(&size, "64KiB", 65536);
    good(&size, "64 KB", 65536);
    good(&size, "3M", 3 << 20);
    good(&size, "2G", 2147483648.0);
    good(&size, "1.5GB", 1610612736.0);
    good(&size, "0.5K", 512);
    good(&size, "2T", 2199023255552.0);
    good(&size, "17B", 17);
    good(&size, "0x10K", 16384);
    bad(&size, "-1", "too small; the range is 0 B to any size");
    bad(&size, "-1K", "too small");
    bad(&size, "64Q", "not a size");
    bad(&size, "64KK", "not a size");
    bad(&size, "64KBx", "not a size");
    bad(&size, "K", "not a size");
    bad(&size, "1.2.3", "not a size");
    bad(&size, "many", "not a size");
    bad(&size, "nan", "not a size");
    bad(&size, "inf", "not a size");
    /* Values that do not fit must not become small ones. */
    bad(&size, "16777216T", "too large; the range is 0 B to any size");
    bad(&size, "17179869184G", "");
    bad(&size, "16777217T", "");
    bad(&size, "18446744073709551616", "");
    bad(&size, "18446744073709551615K", "");
}

/* Without a suffix a number counts megabytes, in each notation. */
static void sizes_in_megabytes(void)
{
    good(&megabytes, "0", 0);
    good(&megabytes, "3", 3 << 20);
    good(&megabytes, " 3 ", 3 << 20);
    good(&megabytes, "1.5", 3 << 19);
    good(&megabytes, "0x10", 16 << 20);
    good(&megabytes, "0x1f", 31 << 20);
    good(&megabytes, "00000000000000000000000000000000000000000000000000000000000000000003",
         3 << 20);
    good(&megabytes, "17B", 17);
    good(&megabytes, "64K", 65536);
    good(&megabytes, "2 GB", 2147483648.0);
    bad(&megabytes, "-1", "too small");
    bad(&megabytes, "8796093022208", "too large");
    bad(&megabytes, "many", "a number of megabytes");
}

static void amount(const char *given, double wanted, bool is_part, char per)
{
    gasnetc_params_t p;
    char why[200] = "";
    const struct gasneti_memory *got = &p.physmem_max;
    memset(&p, 0x5a, sizeof p);
    const bool parsed = gasneti_env_parse(&memory, given, &p, why, sizeof why);
    const bool right =
        parsed && got->amount == wanted && got->is_part == is_part && got->per == per;
    check(right, "7.1 %s is %.15g %s%s%.1s", given, wanted, is_part ? "of the memory" : "bytes",
          per ? "/" : "", &per);
    if (!parsed)
        check_note("%s", why);
    else if (!right)
        check_note("%.15g %d %c", got->amount, got->is_part, got->per ? got->per : '-');
}

/* A number below 1 without a unit is no number of bytes. */
static void amounts_of_memory(void)
{
    amount("0", 0, false, 0);
    amount("1", 1, false, 0);
    amount("64 GB", 68719476736.0, false, 0);
    amount("83G", 89120571392.0, false, 0);
    amount("1.8G", 1932735283.0, false, 0);
    amount("8000000000", 8e9, false, 0);
    amount("2048000KB", 2097152000.0, false, 0);
    amount("0.5K", 512, false, 0);
    amount("0x10K", 16384, false, 0);
    amount("0.90", 0.9, true, 0);
    amount(".5", 0.5, true, 0);
    amount("1.0", 1, true, 0);
    amount("0.0", 0, true, 0);
    amount("9/10", 0.9, true, 0);
    amount("1/2", 0.5, true, 0);
    amount(" 1 / 2 ", 0.5, true, 0);
    amount("2/2", 1, true, 0);
    amount("0.45/H", 0.45, true, 'H');
    amount("0.85/p", 0.85, true, 'P');
    amount("1/4/P", 0.25, true, 'P');
    amount("512MB/P", 536870912, false, 'P');
    amount("512 MB / h ", 536870912, false, 'H');
    amount("4096/P", 4096, false, 'P');
    bad(&memory, "3/2", "a part of the host's memory");
    bad(&memory, "1/0", "not a size");
    bad(&memory, "1/2/3", "not a size");
    bad(&memory, "1/2/Q", "not a size");
    bad(&memory, "/P", "not a size");
    bad(&memory, "P", "not a size");
    bad(&memory, "512MB/P/H", "not a size");
    bad(&memory, "512MB/", "not a size");
    bad(&memory, "-1", "too small");
    bad(&memory, "-0.5G", "too small");
    bad(&memory, "-1/2", "not a size");
    bad(&memory, "17179869184G/P", "too large");
    bad(&memory, "nan", "not a size");
    bad(&memory, "inf", "not a size");
}

static void powers_of_two(void)
{
    good(&power, "0", 0);
    good(&power, "1", 1);
    good(&power, "64", 64);
    good(&power, "0x100000", 1 << 20);
    bad(&power, "24", "not a power of two; the range is 0 to 1048576");
    bad(&power, "3", "not a power of two");
    bad(&power, "2097152", "too large");
    bad(&power, "-2", "too small");
    bad(&power, "many", "not a whole number");
    good(&large_power, "4M", 4 << 20);
    good(&large_power, "0x4000000000000000", 0x1p62);
    bad(&large_power, "3M", "not a power of two; the range is 1 B to any size");
    bad(&large_power, "0", "too small");
    bad(&large_power, "9223372036854775807", "not a power of two");
}

static void numbered(const char *given, int64_t wanted, int64_t number)
{
    gasnetc_params_t p;
    char why[200] = "";
    const struct gasneti_word_number *got = &p.coll_geometry;
    memset(&p, 0x5a, sizeof p);
    const bool parsed = gasneti_env_parse(&counted, given, &p, why, sizeof why);
    check(parsed && got->word == wanted && got->number == number, "7.1 %s is word %d and %d", given,
          (int)wanted, (int)number);
    if (!parsed) check_note("%s", why);
}

static void words(void)
{
    good(&word, "auto", 0);
    good(&word, "on", 1);
    good(&word, "yes", 1);
    good(&word, "1", 1);
    good(&word, "off", 2);
    good(&word, "OFF", 2);
    good(&word, "Yes", 1);
    bad(&word, "of", "not one of auto|on=yes=1|off");
    bad(&word, "offf", "not one of");
    bad(&word, "on=yes", "not one of");
    bad(&word, "auto|on", "not one of");
    bad(&word, "=", "not one of");
    bad(&word, "|", "not one of");
    bad(&word, "on,1", "not one of");
    bad(&word, "", "not one of");
    numbered("none", 0, 0);
    numbered("tree", 2, 0);
    numbered("TREE,3", 2, 3);
    numbered("bush,17", 2, 17);
    numbered("flat,", 1, 0);
    numbered("tree,2,flat,4", 2, 2);
    numbered("tree,many", 2, 0);
    bad(&counted, "3", "not one of none|flat|tree=bush");
    bad(&counted, ",3", "not one of");
    bad(&counted, "tre,3", "not one of");
    bad(&counted, "tree 3", "not one of");
    char list[60];
    check(!strcmp(gasneti_env_values(&word, list, sizeof list), "auto|on=yes=1|off"),
          "env_table.h: help has the words of a row");
    check(!strcmp(gasneti_env_values(&power, list, sizeof list), "0..1048576, a power of two"),
          "env_table.h: and which numbers are powers of two");
}

static void others(void)
{
    static const char *const yes[] = {"1", "y", "Y", "yes", "YES", "Yes"}, *const no[] = {"0", "n",
                                                                                          "N", "no",
                                                                                          "NO"};
    for (int i = 0; i < 6; i++) good(&boolean, yes[i], 1);
    for (int i = 0; i < 5; i++) good(&boolean, no[i], 0);
    good(&boolean, "01", 1);
    bad(&boolean, "2", "yes or no");
    good(&boolean, "True", 1);
    good(&boolean, "FALSE", 0);
    bad(&boolean, "t", "yes or no");
    bad(&boolean, "yess", "yes or no");
    good(&seconds, "3", 3);
    good(&seconds, "0.25", 0.25);
    good(&seconds, "1/4", 0.25);
    good(&seconds, "1e2", 100);
    bad(&seconds, "-1", "too small");
    bad(&seconds, "86401", "0 to 86400");
    bad(&seconds, "soon", "seconds");
    bad(&seconds, "1/0", "seconds");
    bad(&seconds, "1/", "seconds");
    bad(&seconds, "2s", "seconds");
    bad(&seconds, "inf", "");
    bad(&seconds, "nan", "");
    bad(&seconds, "1/nan", "");
    gasnetc_params_t p = {0};
    char why[10];
    check(gasneti_env_parse(&text, "a b", &p, why, sizeof why) && !strcmp(p.ports, "a b"),
          "7.1 a text is taken as it is");
    check(gasneti_env_parse(&text, "", &p, why, sizeof why) && !p.ports,
          "7.1 an empty text is none");
}

/* --- the table --- */

static const gasnetc_param_t *row_of(const char *name)
{
    for (size_t i = 0; i < gasnetc_param_count; i++)
        if (!strcmp(gasnetc_param_table[i].name, name)) return &gasnetc_param_table[i];
    check(false, "the table has %s", name);
    exit(1);
}

static void table(void)
{
    char why[200];
    for (size_t i = 0; i < gasnetc_param_count; i++) {
        const gasnetc_param_t *row = &gasnetc_param_table[i];
        gasnetc_params_t p = gasnetc_params;
        check_each(!strncmp(row->name, "GASNET_", 7) && *row->help, "%s", row->name);
        check_each(row->kind == GASNETI_ENV_TEXT ||
                       gasneti_env_parse(row, row->initial, &p, why, sizeof why),
                   "%s: the default %s is bad", row->name, row->initial);
        check_each(row->kind == GASNETI_ENV_TEXT ||
                       value_of(row, &gasnetc_params) == value_of(row, &p),
                   "%s: a row's field is not its own", row->name);
        check_each(gasnetc_param_known(row->name), "%s is not known", row->name);
        check_each(!*row->alias || gasnetc_param_known(row->alias), "%s is not known", row->alias);
        check_each(row->kind == GASNETI_ENV_TEXT ||
                       !gasneti_env_parse(row, "rubbish", &p, why, sizeof why),
                   "%s=rubbish is taken", row->name);
        for (size_t j = 0; j < i; j++) {
            const gasnetc_param_t *other = &gasnetc_param_table[j];
            check_each(strcmp(row->name, other->name) && strcmp(row->name, other->alias),
                       "%s is there twice", row->name);
            check_each(!*row->alias || strcmp(row->alias, other->alias), "alias %s is there twice",
                       row->alias);
        }
    }
    check_all("params.def: names are unique, defaults in range, fields right");
}

static void word_of(const char *name, const char *given, int64_t wanted)
{
    const gasnetc_param_t *row = row_of(name);
    gasnetc_params_t p;
    char why[200] = "";
    check(gasneti_env_parse(row, given, &p, why, sizeof why) && value_of(row, &p) == wanted,
          "7.1 %s=%s is %d %s", name, given, (int)wanted, why);
}

/* The enums of params.h and the words of the rows. */
static void words_of_rows(void)
{
    word_of("GASNET_BARRIER", "DISSEM", GASNETC_BARRIER_PUTS);
    word_of("GASNET_BARRIER", "RDMADISSEM", GASNETC_BARRIER_PUTS);
    word_of("GASNET_BARRIER", "ibdissem", GASNETC_BARRIER_PUTS);
    word_of("GASNET_BARRIER", "AMDISSEM", GASNETC_BARRIER_AM);
    word_of("GASNET_BARRIER", "AMCENTRAL", GASNETC_BARRIER_AM);
    word_of("GASNET_FIREHOSE_KEEP", "watch", GASNETC_KEEP_WATCH);
    word_of("GASNET_FIREHOSE_KEEP", "WATCHED", GASNETC_KEEP_WATCH);
    word_of("GASNET_FIREHOSE_KEEP", "interpose", GASNETC_KEEP_INTERPOSE);
    word_of("GASNET_FIREHOSE_KEEP", "each", GASNETC_KEEP_EACH);
    word_of("GASNET_FIREHOSE_KEEP", "NEVER", GASNETC_KEEP_EACH);
    word_of("GASNET_FIREHOSE_KEEP", "trust", GASNETC_KEEP_TRUST);
    word_of("GASNET_FIREHOSE_KEEP", "ALWAYS", GASNETC_KEEP_TRUST);
    word_of("GASNET_COLL_ROOTED_GEOM", "auto", GASNETC_TREE_AUTO);
    word_of("GASNET_COLL_ROOTED_GEOM", "FLAT_TREE", GASNETC_TREE_FLAT);
    word_of("GASNET_COLL_ROOTED_GEOM", "KNOMIAL_TREE,2", GASNETC_TREE_KNOMIAL);
    word_of("GASNET_COLL_ROOTED_GEOM", "NARY_TREE,3", GASNETC_TREE_KNOMIAL);
    word_of("GASNET_COLL_ROOTED_GEOM", "RECURSIVE_TREE,2", GASNETC_TREE_KNOMIAL);
    word_of("GASNET_COLL_ROOTED_GEOM", "FORK_TREE,2,2", GASNETC_TREE_KNOMIAL);
    word_of("GASNET_COLL_ROOTED_GEOM", "HIERARCHICAL_TREE,2,FLAT_TREE", GASNETC_TREE_KNOMIAL);
}

static void default_of(const char *id, const char *name, double wanted, bool same)
{
    const gasnetc_param_t *row = row_of(name);
    check(value_of(row, &gasnetc_params) == wanted && row->same == same, "%s %s: default %g, %s",
          id, name, wanted, same ? "equal everywhere" : "may differ");
}

static void defaults(void)
{
    default_of("IB-C2", "GASNET_NUM_QPS", 0, false);
    default_of("IB-C5", "GASNET_QP_TIMEOUT", 18, false);
    default_of("IB-C6", "GASNET_QP_RETRY_COUNT", 7, false);
    default_of("IB-C7", "GASNET_QP_RD_ATOM", 0, false);
    default_of("IB-P1", "GASNET_PHYSMEM_MAX", 0, true);
    default_of("IB-P2", "GASNET_PHYSMEM_NOPROBE", 0, true);
    default_of("IB-P3", "GASNET_INLINESEND_LIMIT", -1, true);
    default_of("IB-P5", "GASNET_NONBULKPUT_BOUNCE_LIMIT", 65536, true);
    default_of("IB-R1", "GASNET_NETWORKDEPTH_PP", 64, true);
    default_of("IB-R2", "GASNET_NETWORKDEPTH_TOTAL", 0, true);
    default_of("IB-R3", "GASNET_AM_CREDITS_PP", 32, true);
    default_of("IB-R5", "GASNET_AM_CREDITS_SLACK", 1, true);
    default_of("IB-R6", "GASNET_BBUF_COUNT", 1024, true);
    default_of("IB-R7", "GASNET_AM_SPARES", 2, true);
    default_of("IB-R8", "GASNET_PIN_MAXSZ", 0, true);
    static const char *const aliases[][2] = {{"GASNET_NETWORKDEPTH_PP", "GASNET_OP_OUST_PP"},
                                             {"GASNET_NETWORKDEPTH_TOTAL", "GASNET_OP_OUST_LIMIT"},
                                             {"GASNET_AM_CREDITS_PP", "GASNET_AM_OUST_PP"},
                                             {"GASNET_AM_CREDITS_TOTAL", "GASNET_AM_OUST_LIMIT"},
                                             {"GASNET_BBUF_COUNT", "GASNET_BBUF_LIMIT"}};
    for (int i = 0; i < 5; i++)
        check(!strcmp(row_of(aliases[i][0])->alias, aliases[i][1]),
              "IB-R %s is %s, by its older name", aliases[i][1], aliases[i][0]);
}

/* --- names --- */

static void meant(const char *given, const char *wanted)
{
    const char *got = gasneti_env_suggest(given, gasnetc_param_name);
    check(wanted ? got && !strcmp(got, wanted) : !got, "params.h: %s suggests %s", given,
          wanted ? wanted : "nothing");
    if (got && (!wanted || strcmp(got, wanted))) check_note("%s", got);
}

static void names(void)
{
    meant("GASNET_NETWORKDEPT_PP", "GASNET_NETWORKDEPTH_PP");
    meant("GASNET_NETWORKDEPTHPP", "GASNET_NETWORKDEPTH_PP");
    meant("GASNET_AM_CREDITS_PPP", "GASNET_AM_CREDITS_PP");
    meant("GASNET_AM_CREDIT_SLACK", "GASNET_AM_CREDITS_SLACK");
    meant("GASNET_BBUF_CUONT", "GASNET_BBUF_COUNT");
    meant("GASNET_QUITE", "GASNET_QUIET");
    meant("GASNET_EXITTIMEOUT_MAXX", "GASNET_EXITTIMEOUT_MAX");
    meant("GASNET_SSH_SERVER", "GASNET_SSH_SERVERS");
    meant("GASNET_AM_OUST_P", "GASNET_AM_OUST_PP");
    meant("GASNET_SOMETHING_ELSE_ALTOGETHER", NULL);
    meant("GASNET_A", NULL);
    /* Near is a quarter of the letters, and at most three. */
    meant("GASNET_NETWORKDEPTH_FOUR", NULL);
    meant("GASNET_QUIXYZ", "GASNET_QUIET");
    meant("GASNET_QUXYZA", NULL);
    check(gasnetc_param_known("GASNET_SPAWN_ANYTHING") && gasnetc_param_known("GASNET_SSH_CMD"),
          "params.h: variables of other parts are known");
    check(gasnetc_param_of_original("GASNET_PHYSMEM_PROBE") &&
              gasnetc_param_of_original("GASNET_MALLOC_INIT") &&
              !gasnetc_param_of_original("GASNET_QUIET") &&
              !gasnetc_param_of_original("GASNET_RCV_THREAD") &&
              !gasnetc_param_of_original("GASNET_QUITE"),
          "params.h: variables of other releases, and no others");
    check(!gasnetc_param_known("GASNET_NETWORKDEPTH_P") && !gasnetc_param_known("GASNET_"),
          "params.h: others are not");
    char longest[400];
    memset(longest, 'X', sizeof longest - 1);
    longest[sizeof longest - 1] = 0;
    memcpy(longest, "GASNET_", 7);
    check(!gasneti_env_suggest(longest, gasnetc_param_name),
          "params.h: a name of 399 letters suggests nothing");
}

/* No text makes the message longer than its room. */
static void long_values(void)
{
    char value[1000], why[64];
    gasnetc_params_t p;
    memset(value, '9', sizeof value);
    for (size_t n = 1; n < sizeof value; n += 37) {
        value[n] = 0;
        memset(why, 1, sizeof why);
        if (!gasneti_env_parse(&number, value, &p, why, sizeof why))
            check_each(memchr(why, 0, sizeof why) != NULL, "%zu digits", n);
        else
            check_each(n <= 3, "%zu nines are taken", n);
        value[n] = '9';
    }
    check_all("7.1 values of any length are answered within the message's room");
}

int main(int argc, char **argv)
{
    check_begin(argc, argv);
    numbers();
    sizes();
    sizes_in_megabytes();
    amounts_of_memory();
    powers_of_two();
    words();
    others();
    table();
    words_of_rows();
    defaults();
    names();
    long_values();
    return check_end();
}
