/* quoting.c - fuzzes shell-style words: what is quoted is read back unchanged, what is split and
 * joined is split alike again.
 */
#include "other/launch/shell_quote.h"
#include "tests/fuzz/fuzz.h"

const fuzz_seed_t fuzz_seeds[] = {
    FUZZ_SEED("ssh -o 'Strict Host' \"a\\\"b\" c\\ d"),
    FUZZ_SEED("it's"),
    FUZZ_SEED("''"),
    FUZZ_SEED("\"$HOME `x` \\$ \\a\""),
    FUZZ_SEED("a\tb\nc  d"),
    FUZZ_SEED("%N %P %C \\\\"),
};
const size_t fuzz_seed_count = sizeof fuzz_seeds / sizeof *fuzz_seeds, fuzz_longest = 200;

static void quoted(const char *word)
{
    struct shell_words list = {0};
    char *text = shell_quote(word);
    fuzz_require(text && shell_split(&list, text), "what is quoted has all its quotes");
    fuzz_require(list.count == 1 && !strcmp(list.word[0], word), "and is read back unchanged");
    shell_free(&list);
    free(text);
}

static void joined(const struct shell_words *list)
{
    static char *const none[] = {NULL};
    struct shell_words again = {0};
    char *text = shell_join(list->count ? list->word : none);
    fuzz_require(text && shell_split(&again, text), "what is joined can be split");
    fuzz_require(again.count == list->count, "into as many words");
    for (size_t i = 0; i < list->count; i++)
        fuzz_require(!strcmp(again.word[i], list->word[i]), "the same ones");
    shell_free(&again);
    free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct shell_words list = {0};
    char *text = fuzz_text(data, size);
    quoted(text);
    shell_split(&list, text);
    fuzz_require(!list.count || !list.word[list.count], "the list is ended");
    joined(&list);
    shell_free(&list);
    free(text);
    return 0;
}
