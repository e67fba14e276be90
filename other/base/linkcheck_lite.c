/* linkcheck_lite.c - the symbol that GASNETT_LITE_MODE objects refer to, in every library.
 *
 * See linkcheck.c.
 */
#include "config.h"
#define GASNETI_NO_LINKCHECK 1
#define GASNETT_LITE_MODE    1
#include "gasnet_tools.h"

GASNETI_EXPORTS_BEGIN
const int GASNETT_LINKCHECK_NAME = 1;
GASNETI_EXPORTS_END
