/* rules.c - every call and every code of libvapi, on the software device, within one process. */
#include <stdlib.h>

#include "qp_pair.h"

int main(void)
{
    struct stage s;
    setenv("SOFTHCA", "on", 1);
    string_rules();
    word_rules();
    pure_rules();
    open_stage(&s);
    hca_rules(&s);
    handle_rules(&s);
    memory_rules(&s);
    qp_rules(&s);
    post_rules(&s);
    poll_rules(&s);
    wait_rules(&s);
    datagram_rules(&s);
    srq_rules(&s);
    event_rules(&s);
    life_rules(&s);
    close_stage(&s);
    return check_end();
}
