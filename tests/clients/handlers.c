/* handlers.c - handlers written with gasnet_handler.h as programs do: the function that the macro
 * makes calls name_inner, and a `;` follows the macro.  C89 and C++98; exits with 0 on one node. */
#include "gasnet.h"
#include "gasnet_handler.h"

#include "gasnet_tools.h"

static volatile int done;
static int value;
enum { _hidx_set = 200, _hidx_fill = 201, _hidx_plain = 202 };

/* As a name of its own, which the macro must not call. */
void set(void);
void set(void)
{
    abort();
}

GASNETT_INLINE(set_inner)
void set_inner(gasnet_token_t token, gasnet_handlerarg_t to, void *where)
{
    (void)token;
    *(int *)where = to;
    done++;
}
SHORT_HANDLER(set, 2, 3, (token, a0, UNPACK(a1)), (token, a0, UNPACK2(a1, a2)));

GASNETT_INLINE(fill_inner)
void fill_inner(gasnet_token_t token, void *buf, size_t n, void *where)
{
    (void)token;
    memcpy(where, buf, n);
    done++;
}
MEDIUM_HANDLER(fill, 1, 2, (token, addr, nbytes, UNPACK(a0)),
               (token, addr, nbytes, UNPACK2(a0, a1)));
#ifdef WITHOUT_SEMICOLON
GASNETT_INLINE(same_inner)
void same_inner(gasnet_token_t token, void *buf, size_t n)
{
    (void)token, (void)buf, (void)n;
}
LONG_HANDLER(same, 0, 0, (token, addr, nbytes), (token, addr, nbytes))
#endif

SHORT_HANDLER_NOBITS_DECL(plain, 1);
void plain(gasnet_token_t token, gasnet_handlerarg_t a0)
{
    (void)token;
    done += a0;
}

int main(int argc, char **argv)
{
    static gasnet_handlerentry_t table[] = {gasneti_handler_tableentry_with_bits(set),
                                            gasneti_handler_tableentry_with_bits(fill),
                                            gasneti_handler_tableentry_no_bits(plain)};
    int filled = 0, four = 4;
    if (gasnet_init(&argc, &argv) != GASNET_OK) return 1;
    if (gasnet_attach(table, 3, GASNET_PAGESIZE, 0) != GASNET_OK) return 1;
    if (SHORT_REQ(2, 3, (0, gasneti_handleridx(set), 7, PACK(&value))) != GASNET_OK) return 1;
    if (MEDIUM_REQ(1, 2, (0, gasneti_handleridx(fill), &four, sizeof four, PACK(&filled))) !=
        GASNET_OK)
        return 1;
    if (SHORT_REQ(1, 1, (0, gasneti_handleridx(plain), 1)) != GASNET_OK) return 1;
    GASNET_BLOCKUNTIL(done == 3);
    gasnet_exit(!(value == 7 && filled == 4));
    return 0;
}
