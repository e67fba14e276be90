/* settings.c - the table of settings.def as data: parsing one value, suggesting a name, the help.
 *
 * Pure: tests, the fuzzer and other programs use it without the device. The reading of the
 * environment is in settings_read.c.
 */
#include "other/softhca/device/inventory.h"
#include "other/softhca/device/settings.h"
#include "other/softhca/device/span.h"
#include "other/softhca/faults/faults.h"
#include "other/softhca/tcp/hosts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "other/tools/edit_distance.h"

const struct shca_setting shca_setting_rows[] = {
#define SETTING(field, kind, name, initial, values, check, help)                                   \
    {name, SHCA_##kind, initial, values, check, help, offsetof(struct shca_settings, field)},
#include "other/softhca/device/settings.def"
#undef SETTING
};
const size_t shca_setting_count = sizeof shca_setting_rows / sizeof *shca_setting_rows;

/* The place of TEXT in a list such as "auto|on|off", or -1. */
static int64_t word_place(const char *list, const char *text)
{
    size_t n = strlen(text);
    for (int64_t place = 0;; place++) {
        size_t len = strcspn(list, "|");
        if (len == n && !strncmp(list, text, n)) return place;
        if (!list[len]) return -1;
        list += len + 1;
    }
}

/* RANGE is "1..64". */
static bool number_within(const char *range, const char *text, int64_t *value)
{
    char *end;
    long long least = strtoll(range, &end, 10), most = strtoll(end + 2, NULL, 10);
    if (!*text || text[strspn(text, "+-0123456789")]) return false;
    errno = 0;
    long long v = strtoll(text, &end, 10);
    *value = v;
    return !errno && !*end && v >= least && v <= most;
}

bool shca_setting_parse(const struct shca_setting *row, const char *text, struct shca_settings *s,
                        char *why, size_t room)
{
    void *field = (char *)s + row->offset;
    int64_t value = -1;
    switch (row->kind) {
    case SHCA_WORD:
        value = word_place(row->values, text);
        if (value < 0) {
            snprintf(why, room, "'%.40s' is none of %s", text, row->values);
            return false;
        }
        break;
    case SHCA_NUMBER:
        if (!number_within(row->values, text, &value)) {
            snprintf(why, room, "'%.40s' is not a whole number in %s", text, row->values);
            return false;
        }
        break;
    case SHCA_TEXT:
        if (*text && row->check && !row->check(text, why, room)) return false;
        *(const char **)field = *text ? text : NULL;
        return true;
    }
    *(int64_t *)field = value;
    return true;
}

void shca_settings_default(struct shca_settings *s)
{
    char why[200];
    for (size_t i = 0; i < shca_setting_count; i++)
        shca_setting_parse(&shca_setting_rows[i], shca_setting_rows[i].initial, s, why, sizeof why);
}

bool shca_setting_known(const char *name)
{
    for (size_t i = 0; i < shca_setting_count; i++)
        if (!strcmp(name, shca_setting_rows[i].name)) return true;
    return false;
}

const char *shca_setting_suggest(const char *name)
{
    const char *best = NULL;
    unsigned nearest = strlen(name) / 4 + 1;
    for (size_t i = 0; i < shca_setting_count; i++) {
        unsigned d = gasneti_edit_distance(name, shca_setting_rows[i].name);
        if (d >= nearest) continue;
        best = shca_setting_rows[i].name;
        nearest = d;
    }
    return best;
}

void shca_settings_print(FILE *to)
{
    for (size_t i = 0; i < shca_setting_count; i++) {
        const struct shca_setting *row = &shca_setting_rows[i];
        fprintf(to, "%s=%s  (default: %s)\n", row->name, row->values,
                *row->initial ? row->initial : "not set");
        fprintf(to, "    ");
        shca_print_folded(to, 4, row->help);
    }
    fprintf(to, "\nNames in SOFTHCA_DEVICES, of what, values and (default):\n");
    shca_inventory_print(to);
    fprintf(to, "\nFaults in SOFTHCA_FAULTS:\n");
    shca_faults_print(to);
}
