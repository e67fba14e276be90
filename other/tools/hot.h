/* hot.h - the one spelling of "inlined at every call".
 *
 * For functions of the hot paths that several callers share: a compiler keeps them out of line,
 * where the call costs more than the function does.
 */
#ifndef GASNETI_HOT_H
#define GASNETI_HOT_H

#define HOT static inline __attribute__((always_inline))

#endif
