/* descriptors.h - raises the soft limit of open files (ulimit -n) as far as is needed.
 *
 * Called by the launcher and by the core at start-up, before the descriptors are opened.
 */
#ifndef OTHER_DESCRIPTORS_H
#define OTHER_DESCRIPTORS_H

#include <stdbool.h>

struct gasneti_descriptors {
    unsigned long needed; /* the limit with which all can be open */
    unsigned long hard;   /* the hard limit of this process */
};

/* Makes sure that `more` descriptors can be opened in addition to those open now.  False, and
 * nothing is changed, if the hard limit does not allow it. */
bool gasneti_descriptors_reserve(unsigned more, struct gasneti_descriptors *found);

#endif
