/* table.h - rows of words, printed in aligned columns. */
#ifndef SOFTHCA_TABLE_H
#define SOFTHCA_TABLE_H

#include <stdbool.h>

enum { TABLE_COLUMNS = 16 };

struct table {
    const char *head; /* names of the columns; < before a name: words */
    char (*rows)[TABLE_COLUMNS][64];
    int count, room;
};

/* Adds a row: FORMAT makes its cells, separated by tabs. */
void table_add(struct table *t, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Prints at most MOST rows (0: all), each after INDENT blanks, and empties the table. */
void table_print(struct table *t, int indent, int most);

#endif
