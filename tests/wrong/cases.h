/* cases.h - a program of wrong calls: its cases, each a function that is found by its name. */
#ifndef TEST_WRONG_CASES_H
#define TEST_WRONG_CASES_H

#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "gasnet.h"

typedef struct wrong_case {
    const char *name;
    void (*run)(void);
} wrong_case_t;

#define CASE(name, statement)                                                                      \
    static void name(void)                                                                         \
    {                                                                                              \
        statement;                                                                                 \
    }

/* A row of the table of cases. */
#define ROW(name)                                                                                  \
    {                                                                                              \
#name, name                                                                                \
    }

/* NULL: no case has the name. */
static inline const wrong_case_t *wrong_find(const wrong_case_t *cases, size_t count,
                                             const char *name)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(cases[i].name, name) == 0) return &cases[i];
    return NULL;
}
#define WRONG_FIND(cases, name) wrong_find(cases, sizeof(cases) / sizeof *(cases), name)

/* Rank 0 ends a job in which no call was found to be wrong with status 0; the others wait for it.
 */
static inline void wrong_unnoticed(const char *name, gasnet_node_t rank)
{
    if (rank == 0) {
        printf("nothing was wrong about %s\n", name);
        fflush(stdout);
        gasnet_exit(0);
    }
    for (;;) gasnet_AMPoll();
}

#endif
