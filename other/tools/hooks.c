/* hooks.c - the hooks of tools.h, unset.
 *
 * Set by a library that knows of a job; read all over these tools.  In a file of their own, so that
 * whoever sets one links nothing else.
 */
#include "config.h"
#include "tools.h"

char *(*gasneti_getenv_hook)(const char *name);
const char *(*gasneti_fatal_prefix_hook)(void);
int (*gasneti_rank_hook)(void);
int (*gasneti_verboseenv_hook)(void);
