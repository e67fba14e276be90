/* mpga.h - packet generator; VAPI programs include it and use nothing of it. */
#ifndef H_MPGA_H
#define H_MPGA_H

#include "mtl_common.h"

#endif
