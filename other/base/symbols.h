/* symbols.h - the names of functions by the symbol tables of the files that a process is made of,
 * those of static functions too.
 *
 * Needs no debugger, and works in statically linked programs.  Reads files: not for signal
 * handlers.
 */
#ifndef GASNETI_SYMBOLS_H
#define GASNETI_SYMBOLS_H

#include <stddef.h>
#include <stdint.h>

/* Writes the name of the function that `address` is in; where no table has one, the file and the
 * offset in it, "libc.so.6+0x1234". */
void gasneti_symbol_name(uintptr_t address, char *name, size_t size);

#endif
