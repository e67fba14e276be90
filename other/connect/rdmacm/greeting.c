/* greeting.c - encodes and parses the private data of greeting.h.  Pure. */
#include "other/connect/rdmacm/greeting.h"

#include <string.h>

enum { MAGIC = 0x4d434e47, VERSION = 1 };

typedef struct layout {
    uint32_t magic;
    uint8_t version, word, zero[2];
    uint64_t key;
    uint32_t from, to;
} layout_t;

_Static_assert(sizeof(layout_t) == RDMACM_GREETING, "no padding");

void rdmacm_greeting_encode(const rdmacm_greeting_t *greeting, uint8_t bytes[RDMACM_GREETING])
{
    const layout_t layout = {.magic = MAGIC,
                             .version = VERSION,
                             .word = (uint8_t)greeting->word,
                             .key = greeting->key,
                             .from = greeting->from,
                             .to = greeting->to};
    memcpy(bytes, &layout, sizeof layout);
}

const char *rdmacm_greeting_parse(const void *bytes, size_t length, uint64_t key, uint32_t self,
                                  uint32_t ranks, rdmacm_greeting_t *greeting)
{
    layout_t layout;
    if (!bytes || length < sizeof layout) return "length";
    memcpy(&layout, bytes, sizeof layout);
    if (layout.magic != MAGIC) return "protocol number";
    if (layout.version != VERSION) return "version";
    if (layout.word < RDMACM_HELLO || layout.word > RDMACM_CROSSED) return "word";
    if (layout.key != key) return "key";
    if (layout.from >= ranks || layout.from == self) return "sender's rank";
    if (layout.to != self) return "receiver's rank";
    *greeting = (rdmacm_greeting_t){.key = layout.key,
                                    .from = layout.from,
                                    .to = layout.to,
                                    .word = (enum rdmacm_word)layout.word};
    return NULL;
}
