/* gasnet_core.h - build systems look for this file to learn whether the conduit is installed.
 *
 * It says nothing: the Core API is declared by gasnet.h.
 */
