/* portals/p30.h - forwards to p30.h. */
#ifndef PORTALS_P30_H
#define PORTALS_P30_H
#include <p30.h>
#endif
