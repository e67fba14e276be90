/* hex.h - bytes as text. */
#ifndef GASNETI_HEX_H
#define GASNETI_HEX_H

#include <stddef.h>
#include <stdint.h>

/* Writes two hexadecimal digits for each byte, and a null. */
static inline void gasneti_hex(char *text, const uint8_t *bytes, size_t n)
{
    static const char digits[] = "0123456789abcdef";
    for (size_t i = 0; i < n; i++) {
        *text++ = digits[bytes[i] >> 4];
        *text++ = digits[bytes[i] & 15];
    }
    *text = 0;
}

#endif
