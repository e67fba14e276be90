/* host_lists.c - the forms in which a list of hosts may be written, and the messages for wrong
 * ones. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "other/launch/hosts.h"
#include "tests/unit/check.h"

/* `hosts`: the names, with a blank between two; or, behind a "!", the reason of the refusal. */
static const struct row {
    enum hosts_format format;
    const char *text, *hosts;
} rows[] = {
    /* A host in each line. */
    {HOSTS_FILE, "", ""},
    {HOSTS_FILE, "a\n\n # x\n  b c d\r\nc#d\n\te", "a b c e"},
    {HOSTS_FILE, "a\r\nb\r\n", "a b"},
    {HOSTS_FILE, "\xef\xbb\xbf# list\na\nb", "a b"},
    {HOSTS_FILE,
     "\xef\xbb\xbf"
     "a\nb",
     "a b"},
    {HOSTS_FILE, "a slots=4\nb slots=4 max_slots=8\n", "a b"},
    {HOSTS_FILE, "a:4\nb:12 binding=user:4\nc:1 # x\n", "a b c"},
    {HOSTS_FILE, "a 2 all.q@a UNDEFINED\nb 2 all.q@b <NULL>\n", "a b"},
    {HOSTS_FILE, "al@a\nal@b:2\n", "al@a al@b"},
    {HOSTS_FILE, "10.0.0.1\n10.0.0.2:4\n", "10.0.0.1 10.0.0.2"},
    {HOSTS_FILE, "2001:db8::1\n::1\nfe80::2%eth0\n1:2:3:4:5:6:7:8",
     "2001:db8::1 ::1 fe80::2%eth0 1:2:3:4:5:6:7:8"},
    {HOSTS_FILE, "[2001:db8::1]\n[::1]:4\n[fe80::2%eth0] slots=2\nal@[::1]:3\n::ffff:10.0.0.1",
     "2001:db8::1 ::1 fe80::2%eth0 al@::1 ::ffff:10.0.0.1"},
    {HOSTS_FILE, "n[1-2]-ib:4 slots=4\nm[1,3]", "n1-ib n2-ib m1 m3"},
    {HOSTS_FILE, "a\n-oProxyCommand=x\n",
     "!line 2: host name \"-oProxyCommand=x\" begins with a dash"},
    {HOSTS_FILE, "a,b\n",
     "!line 1: host name \"a,b\" holds a comma: one host a line is needed here"},
    {HOSTS_FILE, "a\n:4\n", "!line 2: host name \":4\" is empty"},
    {HOSTS_FILE, "a:b\n",
     "!line 1: host name \"a:b\" has a colon, but is no IPv6 address, and no "
     "number of slots follows"},
    {HOSTS_FILE, "[a:4]\n",
     "!line 1: host name \"[a:4]\" has a colon, but is no IPv6 address, and "
     "no number of slots follows"},
    /* Separated by commas or blanks. */
    {HOSTS_WORDS, "", ""},
    {HOSTS_WORDS, " a,b  c,,d\n", "a b c d"},
    {HOSTS_WORDS, "a a b b ", "a a b b"},
    {HOSTS_WORDS, "a:2,b:2,[::1]:2", "a b ::1"},
    {HOSTS_WORDS, "a\001b", "!host name \"a\001b\" holds a blank or control character"},
    {HOSTS_WORDS, "a ,-b", "!host name \"-b\" begins with a dash"},
    /* Several by one word, as Slurm writes them. */
    {HOSTS_WORDS, "r1,n[08-11,3],q[1]", "r1 n08 n09 n10 n11 n3 q1"},
    {HOSTS_WORDS, "n[8-10] m[098-101]", "n8 n9 n10 m098 m099 m100 m101"},
    {HOSTS_WORDS, "foo003,foo0[10-11],bar-m11-16", "foo003 foo010 foo011 bar-m11-16"},
    {HOSTS_WORDS, "n[1-2]-ib", "n1-ib n2-ib"},
    {HOSTS_WORDS, "n[1-2].cluster,m7", "n1.cluster n2.cluster m7"},
    {HOSTS_WORDS, "rack[0-1]_blade[0-1]", "rack0_blade0 rack0_blade1 rack1_blade0 rack1_blade1"},
    {HOSTS_WORDS, "a[1,3]b[2][4-5]c", "a1b24c a1b25c a3b24c a3b25c"},
    {HOSTS_WORDS, "[1-2]", "1 2"},
    {HOSTS_WORDS, "n[3-1]", "!host name \"n[3-1]\" has brackets with what is no range of numbers"},
    {HOSTS_WORDS, "n[]", "!host name \"n[]\" has brackets with what is no range of numbers"},
    {HOSTS_WORDS, "n[1,]", "!host name \"n[1,]\" has brackets with what is no range of numbers"},
    {HOSTS_WORDS, "n[000x133]",
     "!host name \"n[000x133]\" has brackets with what is no range of numbers"},
    {HOSTS_WORDS, "n[1-2-3]",
     "!host name \"n[1-2-3]\" has brackets with what is no range of numbers"},
    {HOSTS_WORDS, "n[0-99999999999]",
     "!host name \"n[0-99999999999]\" has brackets with what is no range of numbers"},
    {HOSTS_WORDS, "a n[1-3,b", "!host name \"n[1-3,b\" has a [ without a ]"},
    {HOSTS_WORDS, "n1],b", "!host name \"n1]\" has a ] without a ["},
    {HOSTS_WORDS, "n[0-999]m[0-999]", "!host name \"n[0-999]m[0-999]\" stands for too many hosts"},
    /* Behind each the number of its slots. */
    {HOSTS_PAIRS, "", ""},
    {HOSTS_PAIRS, "a 2 b 2 ", "a b"},
    {HOSTS_PAIRS, "n[1-2] 16", "n1 n2"},
    {HOSTS_PAIRS, "a 2 b", "!host name \"b\" is not followed by the number of its slots"},
    {HOSTS_PAIRS, "a b 2", "!host name \"a\" is not followed by the number of its slots"},
    {HOSTS_PAIRS, "a 2x", "!host name \"a\" is not followed by the number of its slots"},
};

static void give(const struct row *row)
{
    static const char *const names[] = {"file", "words", "pairs"};
    struct shell_words list = {0};
    char got[1000] = "!", shown[200];
    if (hosts_parse(&list, row->format, row->text, got + 1, sizeof got - 1)) {
        got[0] = 0;
        for (size_t i = 0; i < list.count; i++)
            snprintf(got + strlen(got), sizeof got - strlen(got), "%s%s", i ? " " : "",
                     list.word[i]);
    }
    snprintf(shown, sizeof shown, "%s", row->text);
    for (char *p = shown; *p; p++)
        if ((unsigned char)*p < ' ' || *p == '#') *p = '/';
    if (!check(!strcmp(got, row->hosts), "%s: %s", names[row->format], shown))
        check_note("gave %s", got);
    shell_free(&list);
}

static void long_names(void)
{
    char text[300], why[200];
    struct shell_words list = {0};
    memset(text, 'x', sizeof text);
    text[255] = 0;
    check(hosts_parse(&list, HOSTS_WORDS, text, why, sizeof why) && list.count == 1,
          "a name of 255 characters");
    text[255] = 'x';
    text[256] = 0;
    check(!hosts_parse(&list, HOSTS_WORDS, text, why, sizeof why) && strstr(why, " is too long"),
          "one of 256 is too long");
    strcpy(text + 254, "[8-10]");
    check(!hosts_parse(&list, HOSTS_WORDS, text, why, sizeof why) && strstr(why, " is too long"),
          "so is one that a range makes so long");
    shell_free(&list);
}

int main(int argc, char **argv)
{
    check_begin(argc, argv);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) give(&rows[i]);
    long_names();
    return check_end();
}
