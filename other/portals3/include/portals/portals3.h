/* portals/portals3.h - where Cray's programs look: forwards to portals3.h and what Cray had beyond
 * it. */
#ifndef PORTALS_PORTALS3_H
#define PORTALS_PORTALS3_H
#include <portals3.h>
#include <portals3_ext.h>
#endif
