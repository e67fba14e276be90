/* setting.c - rules about the environment: the effect of a variable, and the message for an invalid
 * one.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "pair.h"
#include "rules.h"

/* NAME=VALUE is refused with exactly this line, once, and the device cannot be opened. */
static void refused(const char *name, const char *value, const char *line)
{
    char wanted[600];
    snprintf(wanted, sizeof wanted, "softhca: %s (no software device can be opened)\n", line);
    setenv(name, value, 1);
    listen_to_stderr();
    for (int i = 0; i < 2; i++) {
        CHECK(open_named("softhca0") == NULL);
        CHECK_EQ(errno, EINVAL);
    }
    const char *text = said();
    if (!strcmp(text, wanted)) return;
    printf("# said: %s# not: %s", text, wanted);
    fflush(stdout);
    _exit(1);
}

static void bad_word(void)
{
    refused("SOFTHCA", "maybe", "SOFTHCA=maybe: not one of auto|on|off");
}

static void bad_devices(void)
{
    refused("SOFTHCA_DEVICES", "2x2;softhca2:max_qp=8",
            "SOFTHCA_DEVICES: 'softhca2' is none of the devices softhca0 to softhca1");
}

static void bad_faults(void)
{
    refused("SOFTHCA_FAULTS", "seed=3;hold:poll=9",
            "SOFTHCA_FAULTS: hold: 'poll' is none of its keys, which are process, peer, qp, cq, "
            "op, at, after, every, times, chance, polls, us, gather");
}

static void faults_without_a_port(void)
{
    refused("SOFTHCA_FAULTS", "port-down:port=softhca0/2",
            "SOFTHCA_FAULTS: port-down: SOFTHCA_DEVICES has no softhca0/2");
}

static void unknown_name(void)
{
    setenv("SOFTHCA_", "1", 1);
    setenv("SOFTHCA_XYZZY_XYZZY", "1", 1);
    setenv("SOFTHCARE", "1", 1); /* not a variable of the device */
    listen_to_stderr();
    for (int i = 0; i < 2; i++) CHECK(open_named("softhca0") != NULL);
    const char *text = said();
    CHECK(strstr(text,
                 "softhca: SOFTHCA_ is not a variable of this library; did you mean SOFTHCA?\n"));
    CHECK(strstr(text, "softhca: SOFTHCA_XYZZY_XYZZY is not a variable of this library\n"));
    CHECK(!strstr(text, "SOFTHCARE"));
    int lines = 0;
    for (; *text; text++) lines += *text == '\n';
    CHECK_EQ(lines, 2);
}

static void empty_is_not_set(void)
{
    setenv("SOFTHCA_DEVICES", "", 1);
    listen_to_stderr();
    CHECK(open_named("softhca0") != NULL);
    CHECK(open_named("softhca1") == NULL);
    CHECK(!*said());
}

static void off(void)
{
    setenv("SOFTHCA", "off", 1);
    CHECK(open_named("softhca0") == NULL);
    CHECK_EQ(errno, ENODEV);
}

void setting_rules(void)
{
    check(run_alone(bad_word), "a bad SOFTHCA is reported once and the device does not open");
    check(run_alone(bad_devices), "a bad SOFTHCA_DEVICES likewise");
    check(run_alone(bad_faults), "a bad SOFTHCA_FAULTS likewise");
    check(run_alone(faults_without_a_port), "a fault of a port that there is not likewise");
    check(run_alone(unknown_name), "an unknown variable is reported once, with the nearest name");
    check(run_alone(empty_is_not_set), "an empty variable counts as not set");
    check(run_alone(off), "SOFTHCA=off: no device");
}
