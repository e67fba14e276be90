/* wrap_common.h - the name that mtl_common.h had in older releases. */
#ifndef H_WRAP_COMMON_H
#define H_WRAP_COMMON_H

#include "mtl_common.h"

#endif
