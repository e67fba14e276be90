/* manager_absent.c - compiled instead of manager.c, where librdmacm's header is missing. */
#include "rules.h"

void manager_rules(void)
{
    check(true, "a connection manager # SKIP it is not in this build");
}
