/* linkcheck.c - the symbols that objects compiled with gasnet_tools.h refer to, in libgasnet_tools.
 *
 * Compiled once for libgasnet_tools-seq and once for -par: an object built for the other one fails
 * to link.  A conduit's library defines its own symbols.  The lite symbol is in both.
 */
#include "config.h"
#define GASNETI_NO_LINKCHECK 1
#include "gasnet_tools.h"

GASNETI_EXPORTS_BEGIN
const int GASNETT_LINKCHECK_NAME = 1;
GASNETI_EXPORTS_END

GASNETT_IDENT(gasneti_ident_tools_threads,
              "$GASNetToolsThreadModel: GASNETT_" GASNETI_TOOLS_THREAD_TEXT " $");
GASNETT_IDENT(gasneti_ident_tools_config,
              "$GASNetToolsConfig: (libgasnet_tools.a) " GASNETT_CONFIG_STRING " $");
