/* coll_teams.c - the pure parts of teams: images of several nodes in one barrier, in random order,
 * against the rules applied to all of them at once; the members and the order of split teams; the
 * text of settings.
 */
#include "extended-ref/teams/image_barrier.h"
#include "extended-ref/teams/split_order.h"
#include "extended-ref/teams/tuning_text.h"
#include "tests/unit/check.h"

#include <stdlib.h>
#include <string.h>

/* --- images in a barrier --- */

enum { MOST_NODES = 4, MOST_IMAGES = 5, PHASES = 60 };

struct image {
    uint32_t phase; /* of its next notify, or of the one it is in */
    bool inside;
};
struct node {
    gasnete_image_barrier_t barrier;
    uint32_t phases[MOST_IMAGES];
    bool insides[MOST_IMAGES];
    struct image images[MOST_IMAGES];
    uint32_t notified; /* phases, by the node */
    bool opening;      /* the node has notified, and gasnete_image_opened is to be called */
};
static struct node nodes[MOST_NODES];
static uint32_t count;                         /* of nodes */
static gasnete_barrier_value_t joined[PHASES]; /* of the nodes that notified */
static gasnete_barrier_value_t notifies[PHASES][MOST_NODES][MOST_IMAGES];
static uint32_t entered[PHASES], all_images;

static gasnete_barrier_value_t any_value(void)
{
    const enum gasnete_barrier_kind kind = check_below(12) == 0  ? GASNETE_BARRIER_MISMATCH
                                           : check_below(2) == 0 ? GASNETE_BARRIER_NONE
                                                                 : GASNETE_BARRIER_NAMED;
    return (gasnete_barrier_value_t){kind,
                                     kind == GASNETE_BARRIER_NAMED ? (check_below(8) == 0) : 0};
}

static gasnete_barrier_value_t rule(uint32_t phase)
{
    gasnete_barrier_value_t all = {GASNETE_BARRIER_NONE, 0};
    for (uint32_t n = 0; n < count; n++)
        for (uint32_t i = 0; i < nodes[n].barrier.images; i++)
            all = gasnete_barrier_join(all, notifies[phase][n][i]);
    return all;
}

static void notify(struct node *node, uint32_t n, uint32_t i)
{
    struct image *image = &node->images[i];
    const gasnete_barrier_value_t mine = any_value();
    notifies[image->phase][n][i] = mine;
    const enum gasnete_image_step step = gasnete_image_notify(&node->barrier, i, mine);
    image->inside = true;
    entered[image->phase]++;
    bool last = true;
    for (uint32_t j = 0; j < node->barrier.images; j++)
        last = last && node->images[j].inside && node->images[j].phase == image->phase;
    check_each(step == (last ? GASNETE_IMAGE_NODE : GASNETE_IMAGE_WAIT),
               "node %u image %u phase %u: notify is step %d", n, i, image->phase, (int)step);
    if (step != GASNETE_IMAGE_NODE) return;
    joined[image->phase] = gasnete_barrier_join(joined[image->phase], node->barrier.gathered);
    node->notified++;
    node->opening = true;
}

static void leave(struct node *node, uint32_t n, uint32_t i)
{
    struct image *image = &node->images[i];
    const gasnete_barrier_value_t expected = any_value();
    bool match = false;
    const enum gasnete_image_step step = gasnete_image_leave(&node->barrier, i, expected, &match);
    if (step == GASNETE_IMAGE_NODE) {
        bool complete = true;
        for (uint32_t m = 0; m < count; m++)
            complete = complete && nodes[m].notified > image->phase;
        gasnete_image_over(&node->barrier, complete ? &joined[image->phase] : NULL);
        return;
    }
    check_each(step != GASNETE_IMAGE_WRONG, "node %u image %u: leave is refused", n, i);
    if (step != GASNETE_IMAGE_DONE) return;
    check_each(entered[image->phase] == all_images, "node %u image %u leaves phase %u early", n, i,
               image->phase);
    const bool right =
        gasnete_barrier_join(rule(image->phase), expected).kind != GASNETE_BARRIER_MISMATCH;
    check_each(match == right, "node %u image %u phase %u: match %d", n, i, image->phase, match);
    image->inside = false;
    image->phase++;
}

static void act(void)
{
    const uint32_t n = check_below(count);
    struct node *node = &nodes[n];
    if (node->opening && check_below(2)) {
        node->opening = false;
        gasnete_image_opened(&node->barrier);
        return;
    }
    const uint32_t i = check_below(node->barrier.images);
    bool match;
    if (node->images[i].inside) {
        if (check_below(16) == 0)
            check_each(gasnete_image_notify(&node->barrier, i, any_value()) == GASNETE_IMAGE_WRONG,
                       "a second notify is accepted");
        leave(node, n, i);
    } else {
        check_each(gasnete_image_leave(&node->barrier, i, any_value(), &match) ==
                       GASNETE_IMAGE_WRONG,
                   "a leave without notify is accepted");
        if (node->images[i].phase < PHASES) notify(node, n, i);
    }
}

static bool finished(void)
{
    for (uint32_t n = 0; n < count; n++)
        for (uint32_t i = 0; i < nodes[n].barrier.images; i++)
            if (nodes[n].images[i].phase < PHASES) return false;
    return true;
}

static void images_once(void)
{
    memset(nodes, 0, sizeof nodes);
    memset(joined, 0, sizeof joined);
    memset(entered, 0, sizeof entered);
    count = 1 + check_below(MOST_NODES);
    all_images = 0;
    for (uint32_t n = 0; n < count; n++) {
        gasnete_image_barrier_t *barrier = &nodes[n].barrier;
        barrier->images = 1 + check_below(MOST_IMAGES);
        barrier->phase = nodes[n].phases;
        barrier->inside = nodes[n].insides;
        /* The counts of phases wrap. */
        barrier->open = barrier->over = UINT32_MAX - PHASES / 2;
        for (uint32_t i = 0; i < barrier->images; i++) nodes[n].phases[i] = barrier->over;
        all_images += barrier->images;
    }
    uint32_t steps = 0;
    while (!finished() && ++steps < 10000000) act();
    check_each(finished(), "%u nodes, %u images: not over after %u steps", count, all_images,
               steps);
}

/* --- split --- */

static void split_once(void)
{
    enum { MOST = 40 };
    gasnete_coll_split_t entries[MOST * 3];
    gasnete_coll_seat_t seats[MOST];
    uint32_t first[MOST + 1] = {0}, size = 1 + check_below(MOST), largest = 0, images = 0, seen = 0;
    const bool several = check_below(2);
    for (uint32_t r = 0; r < size; r++) {
        const gasnete_coll_split_t one = {check_below(4), check_below(10), 0};
        const uint32_t mine = several ? 1 + check_below(3) : 1;
        for (uint32_t i = 0; i < mine; i++) {
            entries[images] = one;
            entries[images].id = check_below(1000);
            if (largest < entries[images].id) largest = entries[images].id;
            images++;
        }
        first[r + 1] = images;
    }
    const uint32_t *table = several ? first : NULL;
    check_each(gasnete_coll_split_id(entries, images) == largest, "the id is not the largest");
    check_each(gasnete_coll_split_discord(entries, table, size) == size, "a discord is seen");
    for (uint32_t color = 0; color < 4; color++) {
        const uint32_t members = gasnete_coll_split_seats(entries, table, size, color, seats);
        seen += members;
        for (uint32_t i = 0; i < members; i++) {
            const gasnete_coll_split_t *entry = &entries[first[seats[i].rank]];
            check_each(entry->color == color && entry->relrank == seats[i].relrank,
                       "rank %u is in color %u", seats[i].rank, color);
            check_each(
                i == 0 || seats[i - 1].relrank < seats[i].relrank ||
                    (seats[i - 1].relrank == seats[i].relrank && seats[i - 1].rank < seats[i].rank),
                "seats %u and %u are not in order", i - 1, i);
        }
    }
    check_each(seen == size, "%u of %u nodes have a team", seen, size);
    if (!several) return;
    uint32_t wrong = check_below(size);
    if (first[wrong + 1] - first[wrong] == 1) return;
    entries[first[wrong + 1] - 1].relrank++;
    check_each(gasnete_coll_split_discord(entries, table, size) == wrong, "no discord is seen");
}

/* --- settings --- */

static void text_once(void)
{
    char text[GASNETE_COLL_TUNING_BYTES];
    gasnete_coll_settings_t settings, read;
    const char *why = "";
    memset(&settings, 0, sizeof settings);
    const bool least = check_below(4) == 0; /* of each number */
    if (check_below(2)) settings.radix = 2 + (least ? 0 : check_below(UINT32_MAX - 2));
    if (check_below(2)) settings.segment = 1 + (least ? 0 : (size_t)(check_random() >> 2));
    for (int i = 0; i < 2; i++)
        if (check_below(2))
            settings.dissemination_limit[i] = 1 + (least ? 0 : (size_t)(check_random() >> 2));
    for (int kind = 0; kind <= GASNETE_COLL_REDUCE; kind++) {
        const gasnete_coll_plan_t plan = {.kind = (enum gasnete_coll_kind)kind, .size = 2};
        const uint32_t algorithm = check_below(GASNETE_COLL_ALGORITHMS);
        if (gasnete_coll_plan_possible(&plan, (enum gasnete_coll_algorithm)algorithm))
            settings.tree[kind] = (uint8_t)(1 + algorithm);
    }
    const size_t length = gasnete_coll_tuning_write(&settings, text);
    const unsigned line = gasnete_coll_tuning_read(text, &read, &why);
    check_each(length == strlen(text) && line == 0, "line %u: %s", line, why);
    check_each(memcmp(&settings, &read, sizeof settings) == 0, "what is read differs:\n%s", text);
}

static void bad_texts(void)
{
    static const struct {
        const char *text;
        unsigned line;
    } rows[] = {
        {"", 1},
        {"radix 4\n", 1},
        {"gasnet-coll-settings 2\n", 1},
        {"gasnet-coll-settings 1\nradix\n", 2},
        {"gasnet-coll-settings 1\n\n# fine\nradix 4x\n", 4},
        {"gasnet-coll-settings 1\nradix 1\n", 2},
        {"gasnet-coll-settings 1\nradix -2\n", 2},
        {"gasnet-coll-settings 1\nradix 4 5\n", 2},
        {"gasnet-coll-settings 1\nsegment 0", 2},
        {"gasnet-coll-settings 1\nsegment 99999999999999999999999\n", 2},
        {"gasnet-coll-settings 1\nradix 99999999999\n", 2},
        {"gasnet-coll-settings 1\ndissemination broadcast 7\n", 2},
        {"gasnet-coll-settings 1\nalgorithm scan tree\n", 2},
        {"gasnet-coll-settings 1\nalgorithm gather fast\n", 2},
        {"gasnet-coll-settings 1\nalgorithm exchange tree\n", 2},
        {"gasnet-coll-settings 1\nalgorithm gather tree today\n", 2},
        {"gasnet-coll-settings 1\nhello\n", 2},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        gasnete_coll_settings_t settings;
        const char *why = NULL;
        const unsigned line = gasnete_coll_tuning_read(rows[i].text, &settings, &why);
        check(line == rows[i].line && why, "settings, bad text %zu: line %u: %s", i, line,
              why ? why : "");
    }
    char text[400] = "gasnet-coll-settings 1\n#";
    memset(text + strlen(text), 'x', 300);
    gasnete_coll_settings_t settings;
    const char *why = NULL;
    const unsigned line = gasnete_coll_tuning_read(text, &settings, &why);
    check(line == 2 && why, "settings: a long line");
}

int main(int argc, char **argv)
{
    check_begin(argc, argv);
    for (int i = 0; i < 200; i++) images_once();
    check_all("images of 1 to %d nodes leave when all have entered, with the right result",
              MOST_NODES);
    for (int i = 0; i < 2000; i++) split_once();
    check_all("split: members, order, id");
    for (int i = 0; i < 2000; i++) text_once();
    check_all("settings are read as they were written");
    bad_texts();
    return check_end();
}
