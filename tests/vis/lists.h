/* lists.h - a rule of testvis: lists of local pieces, of lengths around the most that a network
 * takes.
 */
#ifndef TEST_VIS_LISTS_H
#define TEST_VIS_LISTS_H

/* In the first bytes of each segment, LISTS_BYTES of them. */
enum { LISTS_BYTES = 384 * 1024 };
void lists(void);

#endif
