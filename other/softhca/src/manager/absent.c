/* absent.c - no connection manager, where librdmacm's header was not there at configure. */
#include <stddef.h>

#include "other/softhca/include/softhca.h"
#include "other/softhca/src/settings/say.h"

SHCA_EXPORT void (*softhca_rdmacm(const char *name))(void)
{
    (void)name;
    return NULL;
}
