/* tuning_text.c - see tuning_text.h.
 */
#include "extended-ref/teams/tuning_text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char head[] = "gasnet-coll-settings 1";

/* The index of `name` among the first `count` names; count if it is not among them.  */
static unsigned find(const char *const *names, unsigned count, const char *name)
{
    unsigned i = 0;
    while (i < count && strcmp(names[i], name) != 0) i++;
    return i;
}

size_t gasnete_coll_tuning_write(const gasnete_coll_settings_t *settings,
                                 char text[GASNETE_COLL_TUNING_BYTES])
{
    size_t length = 0;
    const size_t room = GASNETE_COLL_TUNING_BYTES;
#define ADD(...) (length += (size_t)snprintf(text + length, room - length, __VA_ARGS__))
    ADD("%s\n", head);
    if (settings->radix) ADD("radix %u\n", (unsigned)settings->radix);
    if (settings->segment) ADD("segment %zu\n", settings->segment);
    for (int i = 0; i < 2; i++)
        if (settings->dissemination_limit[i])
            ADD("dissemination %s %zu\n",
                gasnete_coll_kind_name[i ? GASNETE_COLL_EXCHANGE : GASNETE_COLL_GATHER_ALL],
                settings->dissemination_limit[i]);
    for (int kind = 0; kind < GASNETE_COLL_KINDS; kind++)
        if (settings->tree[kind])
            ADD("algorithm %s %s\n", gasnete_coll_kind_name[kind],
                gasnete_coll_algorithm_name[settings->tree[kind] - 1]);
#undef ADD
    return length;
}

/* Reads a number of at least `least` and at most `most`. */
static const char *number(const char *word, size_t least, size_t most, size_t *value)
{
    char *end;
    if (word[0] < '0' || word[0] > '9') return "a number is missing";
    unsigned long long read = strtoull(word, &end, 10);
    if (*end) return "a number is not decimal";
    if (strlen(word) > 19 || read < least || read > most) return "a number is out of range";
    *value = (size_t)read;
    return NULL;
}

static const char *algorithm(const char *operation, const char *name,
                             gasnete_coll_settings_t *settings)
{
    unsigned kind = find(gasnete_coll_kind_name, GASNETE_COLL_KINDS, operation);
    unsigned which = find(gasnete_coll_algorithm_name, GASNETE_COLL_ALGORITHMS, name);
    if (kind == GASNETE_COLL_KINDS) return "no such operation";
    if (which == GASNETE_COLL_ALGORITHMS) return "no such algorithm";
    const gasnete_coll_plan_t plan = {.kind = (enum gasnete_coll_kind)kind, .size = 2};
    if (!gasnete_coll_plan_possible(&plan, (enum gasnete_coll_algorithm)which))
        return "the operation has no such algorithm";
    settings->tree[kind] = (uint8_t)(1 + which);
    return NULL;
}

/* Reads a line of up to three words; returns what is wrong, or NULL.  */
static const char *setting(char words[3][32], int count, gasnete_coll_settings_t *settings)
{
    size_t value = 0;
    const char *why;
    if (strcmp(words[0], "radix") == 0 && count == 2) {
        if ((why = number(words[1], 2, UINT32_MAX, &value)) == NULL)
            settings->radix = (uint32_t)value;
        return why;
    }
    if (strcmp(words[0], "segment") == 0 && count == 2)
        return number(words[1], 1, SIZE_MAX, &settings->segment);
    if (strcmp(words[0], "dissemination") == 0 && count == 3) {
        unsigned kind = find(gasnete_coll_kind_name, GASNETE_COLL_KINDS, words[1]);
        if (kind != GASNETE_COLL_GATHER_ALL && kind != GASNETE_COLL_EXCHANGE)
            return "only gather_all and exchange have dissemination";
        return number(words[2], 1, SIZE_MAX,
                      &settings->dissemination_limit[kind == GASNETE_COLL_EXCHANGE]);
    }
    if (strcmp(words[0], "algorithm") == 0 && count == 3)
        return algorithm(words[1], words[2], settings);
    return "neither radix N, segment N, dissemination OPERATION N nor algorithm OPERATION NAME";
}

unsigned gasnete_coll_tuning_read(const char *text, gasnete_coll_settings_t *settings,
                                  const char **why)
{
    memset(settings, 0, sizeof *settings);
    *why = "the file is empty";
    if (*text == 0) return 1;
    for (unsigned line = 1; *text; line++) {
        const size_t length = strcspn(text, "\n");
        char words[3][32] = {"", "", ""}, more[2] = "", buffer[128];
        *why = "the line is too long";
        if (length >= sizeof buffer) return line;
        memcpy(buffer, text, length);
        buffer[length] = 0;
        text += length + (text[length] == '\n');
        *why = "the file does not begin with gasnet-coll-settings 1";
        if (line == 1 && strcmp(buffer, head) != 0) return line;
        const int count = sscanf(buffer, "%31s %31s %31s %1s", words[0], words[1], words[2], more);
        if (line == 1 || count < 1 || words[0][0] == '#') continue;
        if ((*why = setting(words, count, settings)) != NULL) return line;
    }
    return 0;
}
