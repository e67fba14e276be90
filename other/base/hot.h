/* hot.h - attributes of functions on the hot paths: HOT is inlined at every call, UNGUARDED has no
 * stack protector.
 *
 * For functions of the hot paths that several callers share: a compiler keeps them out of line,
 * where the call costs more than the function does.
 */
#ifndef GASNETI_HOT_H
#define GASNETI_HOT_H

#define HOT static inline __attribute__((always_inline))

/* Without the stack protector, where its six instructions are more than 5 % of a row of `make
 * bench` and the lengths written to the stack are checked before. */
#if defined __has_attribute
#if __has_attribute(no_stack_protector)
#define UNGUARDED __attribute__((no_stack_protector))
#endif
#endif
#ifndef UNGUARDED
#define UNGUARDED
#endif

#endif
