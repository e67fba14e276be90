/* memory.c - memory and texts of the traces; see trace.h. */
#include <stdlib.h>
#include <string.h>

#include "other/launch/launcher_log.h"
#include "other/launch/report/trace.h"

enum { TEXTS_MAX = 65535, TEXT_MAX = 1000 };

void *trace_resize(void *array, size_t count, size_t size)
{
    void *larger = reallocarray(array, count, size);
    if (!larger) {
        launcher_log("--trace-report: no memory for %zu times %zu bytes: give fewer files", count,
                     size);
        exit(2);
    }
    return larger;
}

char *trace_copy(const char *text, size_t length)
{
    char *copy = trace_resize(NULL, length + 1, 1);
    memcpy(copy, text, length);
    copy[length] = 0;
    return copy;
}

static uint32_t texts_hash(struct line_text text)
{
    uint32_t hash = 2166136261u;
    for (size_t i = 0; i < text.length; i++) hash = (hash ^ (unsigned char)text.at[i]) * 16777619u;
    return hash;
}

static uint32_t *texts_slot(const struct texts *texts, struct line_text text)
{
    uint32_t at = texts_hash(text) & (texts->size - 1);
    for (; texts->slots[at]; at = (at + 1) & (texts->size - 1)) {
        const char *known = texts->text[texts->slots[at]];
        if (strlen(known) == text.length && memcmp(known, text.at, text.length) == 0) break;
    }
    return &texts->slots[at];
}

static void texts_grow(struct texts *texts)
{
    texts->size = texts->size ? texts->size * 2 : 64;
    texts->text = trace_resize(texts->text, texts->size / 2 + 1, sizeof *texts->text);
    texts->slots = trace_resize(texts->slots, texts->size, sizeof *texts->slots);
    memset(texts->slots, 0, texts->size * sizeof *texts->slots);
    if (!texts->count) texts->text[texts->count++] = trace_copy("", 0); /* number 0 */
    for (uint32_t i = 1; i < texts->count; i++) {
        struct line_text text = {texts->text[i], strlen(texts->text[i])};
        *texts_slot(texts, text) = i;
    }
}

uint32_t texts_number(struct texts *texts, struct line_text text)
{
    static const struct line_text others = {"(further texts)", 15};
    if (!text.at || !text.length) return 0;
    if (text.length > TEXT_MAX) { /* whole characters */
        for (text.length = TEXT_MAX; (text.at[text.length] & 0xc0) == 0x80;) text.length--;
    }
    if (texts->count * 2 >= texts->size) texts_grow(texts);
    uint32_t *slot = texts_slot(texts, text);
    if (!*slot && texts->count > TEXTS_MAX) slot = texts_slot(texts, text = others);
    if (!*slot) {
        texts->text[texts->count] = trace_copy(text.at, text.length);
        *slot = texts->count++;
    }
    return *slot;
}

void texts_free(struct texts *texts)
{
    for (uint32_t i = 0; i < texts->count; i++) free(texts->text[i]);
    free(texts->text);
    free(texts->slots);
}
