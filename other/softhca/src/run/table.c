/* table.c - aligned columns; see run.h. Numbers are aligned to the right, words to the left. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "other/softhca/src/run/run.h"

void table_add(struct table *t, const char *format, ...)
{
    char line[1024];
    va_list args;
    va_start(args, format);
    vsnprintf(line, sizeof line, format, args);
    va_end(args);
    if (t->count == t->room) {
        int room = t->room ? 2 * t->room : 16;
        void *more = realloc(t->rows, room * sizeof *t->rows);
        if (!more) return;
        t->rows = more;
        t->room = room;
    }
    memset(t->rows[t->count], 0, sizeof *t->rows);
    char *rest = line;
    for (int i = 0; i < TABLE_COLUMNS && rest; i++)
        snprintf(t->rows[t->count][i], sizeof t->rows[0][0], "%s", strsep(&rest, "\t"));
    t->count++;
}

static void table_print_row(char (*row)[64], const int *width, const bool *words, int columns,
                            int indent)
{
    char line[TABLE_COLUMNS * 66];
    int n = 0;
    for (int i = 0; i < columns; i++)
        n += snprintf(line + n, sizeof line - n, words[i] ? "%-*s  " : "%*s  ", width[i], row[i]);
    while (n > 0 && line[n - 1] == ' ') n--;
    printf("%*s%.*s\n", indent, "", n, line);
}

void table_print(struct table *t, int indent, int most)
{
    char head[TABLE_COLUMNS][64] = {{0}}, names[512], *rest = names;
    int columns = 0, width[TABLE_COLUMNS] = {0};
    bool words[TABLE_COLUMNS] = {false};
    snprintf(names, sizeof names, "%s", t->head);
    for (char *name; columns < TABLE_COLUMNS && (name = strsep(&rest, " ")); columns++) {
        words[columns] = *name == '<';
        snprintf(head[columns], sizeof head[0], "%s", name + words[columns]);
        width[columns] = (int)strlen(head[columns]);
    }
    int shown = most && t->count > most ? most : t->count;
    for (int r = 0; r < shown; r++)
        for (int i = 0; i < columns; i++) {
            int n = (int)strlen(t->rows[r][i]);
            if (n > width[i]) width[i] = n;
        }
    if (shown) table_print_row(head, width, words, columns, indent);
    for (int r = 0; r < shown; r++) table_print_row(t->rows[r], width, words, columns, indent);
    if (shown < t->count)
        printf("%*s... and %d more (--status=PID shows all)\n", indent, "", t->count - shown);
    free(t->rows);
    *t = (struct table){.head = t->head};
}
