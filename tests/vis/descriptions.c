/* descriptions.c - see descriptions.h. */
#include "tests/vis/descriptions.h"

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

static void *room_for(size_t count, size_t size)
{
    void *memory = calloc(count, size);
    if (memory == NULL) abort();
    return memory;
}

static void side_init(struct side *side)
{
    side->vector = room_for(MOST_ENTRIES, sizeof *side->vector);
    side->addresses = room_for(MOST_ENTRIES, sizeof *side->addresses);
    side->byte = room_for(MOST_BYTES, sizeof *side->byte);
}

void transfer_init(struct transfer *t)
{
    side_init(&t->dst);
    side_init(&t->src);
}

static void side_free(struct side *side)
{
    free(side->vector), free(side->addresses), free(side->byte);
}

void transfer_free(struct transfer *t)
{
    side_free(&t->dst);
    side_free(&t->src);
}

static void *junk(struct test_random *random)
{
    return (void *)(uintptr_t)test_random(random);
}

/* --- vectors --- */

/* Cuts `bytes` into the lengths of at most `most` entries, some of them empty; returns their
 * number.
 */
static size_t cut(gasnet_memvec_t *list, size_t bytes, size_t piece, size_t most,
                  struct test_random *random)
{
    size_t count = 0;
    bool empties = test_below(random, 2);
    for (size_t done = 0; done < bytes;) {
        size_t length = empties && test_below(random, 8) == 0 ? 0 : 1 + test_below(random, piece);
        if (count >= most - 2) length = bytes - done;
        list[count++].len = least(length, bytes - done);
        done += least(length, bytes - done);
    }
    while (empties && count < most && test_below(random, 2)) list[count++].len = 0;
    return count;
}

/* Gives each of the entries an address of its own: in order with gaps, of which many are 0 bytes,
 * then exchanged at random. */
static void place_apart(struct side *side, size_t bytes, size_t room, struct test_random *random)
{
    size_t *order = room_for(side->count + 1, sizeof *order);
    size_t spare = room - bytes, at = 0;
    bool shuffled = test_below(random, 2), dense = test_below(random, 4) == 0;
    for (size_t i = 0; i < side->count; i++) order[i] = i;
    for (size_t i = side->count; shuffled && i > 1; i--) {
        size_t j = test_below(random, i), kept = order[i - 1];
        order[i - 1] = order[j];
        order[j] = kept;
    }
    for (size_t i = 0; i < side->count; i++) {
        gasnet_memvec_t *entry = &side->vector[order[i]];
        size_t gap =
            !dense && test_below(random, 3) ? test_below(random, spare / side->count + 1) : 0;
        if (i == 0) gap = test_below(random, spare / 2 + 1);
        gap = least(gap, spare);
        at += gap;
        spare -= gap;
        entry->addr = entry->len ? side->base + at : junk(random);
        at += entry->len;
    }
    free(order);
}

static void place_anywhere(struct side *side, size_t room, struct test_random *random)
{
    for (size_t i = 0; i < side->count; i++) {
        gasnet_memvec_t *entry = &side->vector[i];
        entry->addr =
            entry->len ? side->base + test_below(random, room - entry->len + 1) : junk(random);
    }
}

static void place(struct side *side, bool destination, size_t bytes, size_t room,
                  struct test_random *random)
{
    if (destination || test_below(random, 3) == 0)
        place_apart(side, bytes, room, random);
    else
        place_anywhere(side, room, random);
}

static void list_bytes(struct side *side)
{
    size_t k = 0;
    for (size_t i = 0; i < side->count; i++)
        for (size_t j = 0; j < side->vector[i].len; j++)
            side->byte[k++] = (uint32_t)((char *)side->vector[i].addr - side->base + (ptrdiff_t)j);
}

static void make_vector(struct transfer *t, const struct wish *wish, struct test_random *random)
{
    struct side *sides[] = {&t->dst, &t->src};
    t->bytes = 1 + test_below(random, wish->bytes);
    for (int i = 0; i < 2; i++) {
        size_t piece = 1 + test_below(random, wish->piece);
        if (test_below(random, 6) == 0) piece = t->bytes; /* few */
        sides[i]->count = cut(sides[i]->vector, t->bytes, piece, MOST_ENTRIES, random);
        place(sides[i], i == 0, t->bytes, wish->room, random);
        list_bytes(sides[i]);
    }
}

/* --- indexed: the lengths have a common factor a, and neither is a multiple of the other --- */

static void make_indexed(struct transfer *t, const struct wish *wish, struct test_random *random)
{
    size_t longest = least(wish->piece, wish->bytes / 16 + 1);
    size_t a = 1 + test_below(random, longest), b = 1 + test_below(random, 4),
           c = 1 + test_below(random, 4), most = wish->bytes / (a * b * c);
    size_t d = 1 + test_below(random, most + 1);
    struct side *sides[] = {&t->dst, &t->src};
    while (d > 1 && (c * d > MOST_ENTRIES || b * d > MOST_ENTRIES || a * b * c * d > wish->bytes))
        d--;
    t->bytes = a * b * c * d;
    t->dst.length = a * b, t->dst.count = c * d;
    t->src.length = a * c, t->src.count = b * d;
    for (int i = 0; i < 2; i++) {
        for (size_t j = 0; j < sides[i]->count; j++) sides[i]->vector[j].len = sides[i]->length;
        place(sides[i], i == 0, t->bytes, wish->room, random);
        for (size_t j = 0; j < sides[i]->count; j++)
            sides[i]->addresses[j] = sides[i]->vector[j].addr;
        list_bytes(sides[i]);
    }
}

/* --- strided --- */

/* Chooses strides with slack; returns the bytes from the first to the last. */
static size_t make_strides(const struct transfer *t, size_t *strides, size_t room,
                           struct test_random *random)
{
    size_t span = t->counts[0], whole = t->counts[0]; /* without slack: what is to come */
    bool dense = test_below(random, 3) == 0;
    for (size_t i = 0; i < t->levels; i++) {
        size_t least_stride = i ? strides[i - 1] * t->counts[i] : t->counts[0];
        size_t rest = 1; /* repetitions above this level */
        for (size_t j = i + 1; j <= t->levels; j++) rest *= t->counts[j];
        size_t most_stride = room / rest;
        strides[i] = least_stride;
        if (!dense && test_below(random, 2) && most_stride > least_stride)
            strides[i] += test_below(random, least((most_stride - least_stride), 1000) + 1);
        span += (t->counts[i + 1] - 1) * strides[i];
        whole *= t->counts[i + 1];
    }
    (void)whole;
    return span;
}

static void section_bytes(const struct transfer *t, struct side *side)
{
    size_t index[MOST_LEVELS] = {0}, k = 0;
    for (;;) {
        size_t at = (size_t)(side->start - side->base), i = 0;
        for (size_t j = 0; j < t->levels; j++) at += index[j] * side->strides[j];
        for (size_t j = 0; j < t->counts[0]; j++) side->byte[k++] = (uint32_t)(at + j);
        while (i < t->levels && ++index[i] == t->counts[i + 1]) index[i++] = 0;
        if (i == t->levels) return;
    }
}

static void make_strided(struct transfer *t, const struct wish *wish, struct test_random *random)
{
    struct side *sides[] = {&t->dst, &t->src};
    t->levels = test_below(random, 3) ? test_below(random, 5) : test_below(random, MOST_LEVELS + 1);
    t->bytes = t->counts[0] = 1 + test_below(random, wish->piece);
    for (size_t i = 1; i <= t->levels; i++) {
        size_t most = wish->bytes / t->bytes, usual = t->levels > 5 ? 3 : 40;
        t->counts[i] = 1 + (test_below(random, 2) ? test_below(random, least(most, usual) + 1) : 0);
        if (t->counts[i] > most) t->counts[i] = 1;
        t->bytes *= t->counts[i];
    }
    for (int i = 0; i < 2; i++) {
        size_t span = make_strides(t, sides[i]->strides, wish->room, random);
        sides[i]->start = sides[i]->base + test_below(random, wish->room - span + 1);
        section_bytes(t, sides[i]);
    }
}

void transfer_make(struct transfer *t, const struct wish *wish, char *dst, char *src,
                   struct test_random *random)
{
    static void (*const make[])(struct transfer *, const struct wish *,
                                struct test_random *) = {make_vector, make_indexed, make_strided};
    t->kind = wish->kind;
    t->dst.base = dst;
    t->src.base = src;
    make[t->kind](t, wish, random);
}

/* --- calls --- */

static gasnet_handle_t call_put(const struct transfer *t, enum form form, gasnet_node_t node)
{
    const struct side *d = &t->dst, *s = &t->src;
#define FORMS_OF(name, ...)                                                                        \
    switch (form) {                                                                                \
    case BULK:                                                                                     \
        name##_bulk(__VA_ARGS__);                                                                  \
        return GASNET_INVALID_HANDLE;                                                              \
    case NB:                                                                                       \
        return name##_nb_bulk(__VA_ARGS__);                                                        \
    default:                                                                                       \
        name##_nbi_bulk(__VA_ARGS__);                                                              \
        return GASNET_INVALID_HANDLE;                                                              \
    }
    if (t->kind == VECTOR) FORMS_OF(gasnet_putv, node, d->count, d->vector, s->count, s->vector)
    if (t->kind == INDEXED)
        FORMS_OF(gasnet_puti, node, d->count, d->addresses, d->length, s->count, s->addresses,
                 s->length)
    FORMS_OF(gasnet_puts, node, d->start, d->strides, s->start, s->strides, t->counts, t->levels)
}

static gasnet_handle_t call_get(const struct transfer *t, enum form form, gasnet_node_t node)
{
    const struct side *d = &t->dst, *s = &t->src;
    if (t->kind == VECTOR) FORMS_OF(gasnet_getv, d->count, d->vector, node, s->count, s->vector)
    if (t->kind == INDEXED)
        FORMS_OF(gasnet_geti, d->count, d->addresses, d->length, node, s->count, s->addresses,
                 s->length)
    FORMS_OF(gasnet_gets, d->start, d->strides, node, s->start, s->strides, t->counts, t->levels)
}

gasnet_handle_t transfer_call(const struct transfer *t, enum direction direction, enum form form,
                              gasnet_node_t node)
{
    return direction == PUT ? call_put(t, form, node) : call_get(t, form, node);
}

static uint64_t digest_of(uint64_t digest, const void *memory, size_t bytes)
{
    const unsigned char *byte = memory;
    for (size_t i = 0; i < bytes; i++) digest = (digest ^ byte[i]) * 0x100000001b3u;
    return digest;
}

uint64_t transfer_digest(const struct transfer *t)
{
    const struct side *sides[] = {&t->dst, &t->src};
    uint64_t digest = digest_of(0xcbf29ce484222325u, t->counts, sizeof t->counts);
    for (int i = 0; i < 2; i++) {
        size_t entries = t->kind == STRIDED ? 0 : sides[i]->count;
        digest = digest_of(digest, sides[i]->vector, entries * sizeof *sides[i]->vector);
        digest = digest_of(digest, sides[i]->addresses, entries * sizeof *sides[i]->addresses);
        digest = digest_of(digest, sides[i]->strides, sizeof sides[i]->strides);
    }
    return digest;
}

const char *transfer_text(const struct transfer *t, enum direction direction, enum form form)
{
    static const char *const kinds = "vis", *const forms[] = {"", "_nb", "_nbi"};
    static __thread char text[160];
    snprintf(text, sizeof text, "%s%c%s_bulk, %zu bytes, entries %zu and %zu, %zu levels",
             direction == PUT ? "put" : "get", kinds[t->kind], forms[form], t->bytes, t->dst.count,
             t->src.count, t->kind == STRIDED ? t->levels : 0);
    return text;
}
