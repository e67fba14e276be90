/* portals/portals3.h - the header name of Cray: portals3.h and Cray's additions.  */
#ifndef PORTALS_PORTALS3_H
#define PORTALS_PORTALS3_H
#include <portals3.h>
#include <portals3_ext.h>
#endif
