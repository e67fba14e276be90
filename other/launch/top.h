/* top.h - the view of gasnetrun --top: from what the ranks answer to the text of one screen.  Pure.
 */
#ifndef TOP_H
#define TOP_H

#include <stdbool.h>

#include "other/launch/why_answers.h"

enum top_sort { TOP_TRAFFIC, TOP_WAITING, TOP_MEMORY, TOP_RANK, TOP_SORTS };

/* What the ranks answered at a moment. */
typedef struct top_sample {
    double time; /* seconds */
    char *text;  /* which the records point into */
    why_ranks_t job;
} top_sample_t;

/* The last answers, and those before them, from which the rates are made; zeroed at first. */
typedef struct top {
    top_sample_t now, before;
} top_t;

/* Takes the answers to a question, of that time; false: out of memory. */
bool top_take(top_t *top, const char *answers, double time);
void top_free(top_t *top);

typedef struct top_screen {
    unsigned columns, rows; /* rows 0: as many as there are ranks, and no keys */
    enum top_sort sort;
    long job; /* its number */
} top_screen_t;

/* The lines of the screen, each ended by a newline; the caller frees them.  NULL: out of memory. */
char *top_text(const top_t *top, const top_screen_t *screen);

/* The order that a key selects, or TOP_SORTS. */
enum top_sort top_key(char key);

#endif
