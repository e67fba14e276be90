/* rules.c - every call and every code of libvapi, on the software device, within one process. */
#include "ends.h"

#include <stdlib.h>

int main(void)
{
    struct stage s;
    setenv("SOFTHCA", "on", 1);
    open_stage(&s);
    post_rules(&s);
    close_stage(&s);
    return finish();
}
