/* wild.c - rank 0 sends rank 1 an address that is wrong there, as the addresses of a program linked
 * as PIE are; what rank 1 does with it is said by the argument.
 */
#include "gasnet.h"
#include "gasnet_handler.h"

#include "gasnet_tools.h"

static void (*volatile function)(void);
static volatile int *volatile variable;
static const char *what;

static void use(void *wild)
{
    function = (void (*)(void))(uintptr_t)wild;
    variable = (volatile int *)wild;
    if (strcmp(what, "call") == 0) function();
    if (strcmp(what, "read") == 0) (void)*variable;
    if (strcmp(what, "null") == 0) (void)*(variable = NULL);
}
GASNETT_INLINE(take_inner)
void take_inner(gasnet_token_t token, void *wild)
{
    (void)token;
    use(wild);
}
SHORT_HANDLER(take, 1, 2, (token, UNPACK(a0)), (token, UNPACK2(a0, a1)));
enum { _hidx_take = 200 };

int main(int argc, char **argv)
{
    gasnet_handlerentry_t table[] = {gasneti_handler_tableentry_with_bits(take)};
    /* nothing is mapped there, wherever the program is */
    void *wild = (void *)((uintptr_t)&use ^ (uintptr_t)1 << 45);
    if (gasnet_init(&argc, &argv) != GASNET_OK || argc < 2) return 1;
    what = argv[1];
    if (gasnet_attach(table, 1, GASNET_PAGESIZE, 0) != GASNET_OK) return 1;
    if (gasnet_mynode() == 0) {
        if (strcmp(what, "index") == 0)
            gasnet_AMRequestShort0(1, 233);
        else
            SHORT_REQ(1, 2, (1, gasneti_handleridx(take), PACK(wild)));
    } else {
        GASNET_BLOCKUNTIL(function != NULL);
        if (strcmp(what, "later") == 0) function();
        if (strcmp(what, "crash") == 0) (void)*variable;
    }
    gasnet_barrier(0, GASNET_BARRIERFLAG_ANONYMOUS);
    return 0;
}
