/* hooks.c - the hooks of tools.h, NULL until the core sets them.
 *
 * In a file of their own, so that an object that sets one links nothing else.
 */
#include "config.h"

#include "tools.h"

char *(*gasneti_getenv_hook)(const char *name);
const char *(*gasneti_fatal_prefix_hook)(void);
int (*gasneti_rank_hook)(void);
int (*gasneti_verboseenv_hook)(void);
