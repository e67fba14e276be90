/* combine.h - the functions of the tests' reductions.  */
#ifndef TEST_COLL_COMBINE_H
#define TEST_COLL_COMBINE_H

#include <gasnet_coll.h>

enum { COMBINE_FUNCTIONS = 6 };
extern gasnet_coll_fn_entry_t combine_table[COMBINE_FUNCTIONS];

/* A size of the elements of a function; `choice` is any number.  */
size_t combine_elem_size(int function, uint64_t choice);
/* The func_arg of calls: 0 or what the function expects.  */
int combine_arg(int function, size_t elem_size);
/* result = result op right, by the same arithmetic without checks.  */
void combine_into(int function, void *result, const void *right, size_t count, size_t elem_size);

#endif
