/* gasnet_core.h - empty: build systems test for this file to detect the conduit; gasnet.h declares
 * the Core API.  */
