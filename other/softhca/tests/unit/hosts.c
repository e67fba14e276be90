/* hosts.c - the list of hosts: what is in it, and what is said of what cannot be. */
#include "other/softhca/src/settings/hosts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/unit/check.h"

static void good(bool file, const char *text, const char *wanted)
{
    struct shca_hosts h = {0};
    char why[200] = "", got[400] = "";
    bool ok = shca_hosts_parse(&h, file, text, why, sizeof why);
    for (unsigned i = 0; i < h.n; i++)
        snprintf(got + strlen(got), sizeof got - strlen(got), "%s%s", i ? "|" : "", h.name[i]);
    check(ok && !strcmp(got, wanted), "%s: %s", file ? "file" : "list", wanted);
    if (!ok) check_note("%s", why);
    for (unsigned i = 0; i < h.n; i++)
        check_each(shca_hosts_find(&h, h.name[i]) == (int)i, "%s is found", h.name[i]);
    check_each(shca_hosts_find(&h, "nowhere") < 0, "nowhere is not");
    shca_hosts_free(&h);
}

static void bad(bool file, const char *text, const char *wanted)
{
    struct shca_hosts h = {0};
    char why[200] = "";
    bool ok = shca_hosts_parse(&h, file, text, why, sizeof why);
    check(!ok && h.n == 0 && !strcmp(why, wanted), "it is said: %s", wanted);
    if (strcmp(why, wanted)) check_note("said: %s", why);
    shca_hosts_free(&h);
}

static uint64_t hash_of(const char *text)
{
    struct shca_hosts h = {0};
    char why[200];
    check_each(shca_hosts_parse(&h, false, text, why, sizeof why), "%s is a list", text);
    uint64_t hash = shca_hosts_hash(&h);
    shca_hosts_free(&h);
    return hash;
}

static char *many(int n)
{
    char *text = malloc(n * 8 + 1), *end = text;
    for (int i = 0; i < n; i++) end += sprintf(end, "h%d,", i);
    end[-1] = 0;
    return text;
}

int main(int argc, char **argv)
{
    check_begin(argc, argv);
    good(false, "a", "a");
    good(false, "10.0.0.1,10.0.0.2", "10.0.0.1|10.0.0.2");
    good(false, " node-1.cluster , [fe80::1%eth0],fe80::2 ", "node-1.cluster|fe80::1%eth0|fe80::2");
    good(true, "a\nb", "a|b");
    good(true, "# ours\n\n  a  # the first\r\n\tb\n#c\n", "a|b");
    bad(false, "", "host 1, '', is empty");
    bad(false, "a,,b", "host 2, '', is empty");
    bad(false, "a,b,", "host 3, '', is empty");
    bad(false, "a,b c", "host 2, 'b c', is no host name or address");
    bad(false, "a,b;c", "host 2, 'b;c', is no host name or address");
    bad(false, "a,b,A", "host 3, 'A', is host 1 already");
    bad(true, "", "there is no host in it");
    bad(true, "# nobody\n", "there is no host in it");
    bad(true, "a\n\nb c\n", "line 3, 'b c', is no host name or address");
    bad(true, "a\nb\n\n\na", "line 5, 'a', is host 1 already");
    char *most = many(SHCA_HOSTS_MAX), *more = many(SHCA_HOSTS_MAX + 1), why[200];
    check(shca_hosts_check(most, why, sizeof why), "%d hosts", SHCA_HOSTS_MAX);
    bad(false, more, "host 1025, 'h1024', is one more than there may be");
    free(most);
    free(more);
    check(hash_of("a,b") == hash_of(" A , b"), "one list has one hash");
    check(hash_of("a,b") != hash_of("b,a"), "the order counts");
    check(hash_of("ab,c") != hash_of("a,bc"), "so does where a name ends");
    check(shca_hosts_check("/no/such/file", why, sizeof why), "a path is looked at later");
    check(!shca_hosts_check("a,", why, sizeof why), "a list at once");
    check_all("names are found");
    return check_end();
}
