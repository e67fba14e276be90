/* little_endian.h - numbers in little-endian bytes, one after the other, at any alignment. */
#ifndef PTLI_LITTLE_ENDIAN_H
#define PTLI_LITTLE_ENDIAN_H

#include <endian.h>
#include <stdint.h>
#include <string.h>

static inline unsigned char *ptli_put32(unsigned char *at, uint32_t value)
{
    value = htole32(value);
    memcpy(at, &value, sizeof value);
    return at + sizeof value;
}

static inline unsigned char *ptli_put64(unsigned char *at, uint64_t value)
{
    value = htole64(value);
    memcpy(at, &value, sizeof value);
    return at + sizeof value;
}

static inline uint32_t ptli_get32(const unsigned char **at)
{
    uint32_t value;
    memcpy(&value, *at, sizeof value);
    *at += sizeof value;
    return le32toh(value);
}

static inline uint64_t ptli_get64(const unsigned char **at)
{
    uint64_t value;
    memcpy(&value, *at, sizeof value);
    *at += sizeof value;
    return le64toh(value);
}

#endif
