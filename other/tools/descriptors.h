/* descriptors.h - room for open files, by raising the soft limit (ulimit -n) as far as is needed.
 *
 * Called by the launcher and by the core at start-up, before the descriptors are opened.
 */
#ifndef OTHER_DESCRIPTORS_H
#define OTHER_DESCRIPTORS_H

#include <stdbool.h>

struct gasneti_descriptors {
    unsigned long needed; /* the limit under which all can be open */
    unsigned long hard;   /* the limit beyond which this process may not go */
};

/* Sees to it that `more` descriptors can be opened besides those that are open now.  False when the
 * hard limit does not allow it: nothing is changed then. */
bool gasneti_descriptors_reserve(unsigned more, struct gasneti_descriptors *found);

#endif
