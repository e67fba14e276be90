/* firmware.h - conversion of verbs' text of a firmware version to VAPI's number; pure.  */
#ifndef VAPI_FIRMWARE_H
#define VAPI_FIRMWARE_H

#include <stdint.h>

/* major << 32 | minor << 16 | subminor, of up to three decimal numbers between dots at the start;
 * what follows them is passed over, and what is missing is 0.  Minors are binary: that some 1.x
 * firmware told "18" as 0x18 concerns no device that there is. */
static inline uint64_t vapi_firmware(const char *text)
{
    uint64_t part[3] = {0, 0, 0};
    for (int i = 0; i < 3; i++) {
        if (*text < '0' || *text > '9') break;
        while (*text >= '0' && *text <= '9' && part[i] < UINT32_MAX / 10 - 1)
            part[i] = part[i] * 10 + (uint64_t)(*text++ - '0');
        if (*text++ != '.') break;
    }
    return part[0] << 32 | (part[1] & 0xffff) << 16 | (part[2] & 0xffff);
}

#endif
