/* tools.c - a client of the tools alone; see hello.c. */
#include "gasnet_tools.h"
#ifdef WORDS_AFTER
#include "words.h"
#endif

#ifdef SECOND_OBJECT
int second_object(void);
int second_object(void)
{
    return gasnett_ticks_now() == 0;
}
#else
int main(void)
{
    return printf("%s %d\n", GASNETT_CONFIG_STRING, gasnett_ticks_now() != 0) < 0;
}
#endif
