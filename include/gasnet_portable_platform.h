/* gasnet_portable_platform.h - the PLATFORM_* macros: compiler, processor, operating system.  Can
 * be included alone; this is the name by which programs outside the library include
 * gasnet_platform.h.
 */
#include "gasnet_platform.h"
