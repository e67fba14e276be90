/* chart.h - an HTML page with line charts, to look at a simulation.
 *
 * One file without scripts or anything from elsewhere.  Knows nothing of what it draws.
 */
#ifndef SIM_CHART_H
#define SIM_CHART_H

#include <stddef.h>

typedef struct chart_line {
    const char *name; /* shown when pointed at, and in the legend; HTML */
    const double *y;
} chart_line_t;

/* Opens the page; exits with a message if the file cannot be written. */
void chart_begin(const char *file, const char *title);
void chart_text(const char *tag, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Begins and ends an element. */
void chart_open(const char *tag);
void chart_close(const char *tag);
/* `points` >= 2 values of each line, at equal distances, the last at 100 % of whatever the x axis
 * is; the y axis begins at 0. */
void chart_draw(const char *caption, const chart_line_t *lines, size_t count, size_t points);
/* Closes the page; exits with a message if it could not be written whole. */
void chart_end(void);

#endif
