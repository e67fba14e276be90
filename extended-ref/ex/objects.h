/* objects.h - what start and attach do for the objects of GASNet-EX.  */
#ifndef GASNETE_EX_OBJECTS_H
#define GASNETE_EX_OBJECTS_H

#include "gasnet.h"

#pragma GCC visibility push(hidden)
extern struct gex_Client_s gasnete_client;
extern struct gex_TM_s gasnete_all;
#pragma GCC visibility pop

/* Init: rank and size of the team of all ranks. */
void gasnete_objects_init(void);
/* Attach: the segment of the endpoint. */
void gasnete_objects_attach(void);

#endif
