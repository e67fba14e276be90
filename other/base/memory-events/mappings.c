/* mappings.c - reads /proc/self/maps; see mappings.h. */
#define _GNU_SOURCE
#include "other/base/memory-events/mappings.h"

#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

bool me_mappings_open(me_mappings_t *list)
{
    list->at = list->filled = 0;
    list->fd = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
    return list->fd >= 0;
}

void me_mappings_close(me_mappings_t *list)
{
    close(list->fd);
}

static int next_byte(me_mappings_t *list)
{
    if (list->at == list->filled) {
        const ssize_t got = read(list->fd, list->bytes, sizeof list->bytes);
        if (got <= 0) return -1;
        list->at = 0;
        list->filled = (size_t)got;
    }
    return (unsigned char)list->bytes[list->at++];
}

static uintptr_t next_hex(me_mappings_t *list, int *end)
{
    uintptr_t value = 0;
    for (;;) {
        const int c = next_byte(list);
        const int digit = c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
        *end = c;
        if (digit < 0) return value;
        value = value << 4 | (uintptr_t)digit;
    }
}

static void skip_field(me_mappings_t *list)
{
    int c;
    do c = next_byte(list);
    while (c != ' ' && c != '\n' && c >= 0);
}

/* START-END PERM OFFSET DEVICE INODE     NAME */
bool me_mappings_next(me_mappings_t *list, me_mapping_t *mapping)
{
    int c;
    mapping->start = next_hex(list, &c);
    if (c != '-') return false;
    mapping->end = next_hex(list, &c);
    mapping->protection = PROT_NONE;
    mapping->shared = false;
    while ((c = next_byte(list)) != ' ' && c >= 0) {
        mapping->shared |= c == 's';
        mapping->protection |= c == 'r'   ? PROT_READ
                               : c == 'w' ? PROT_WRITE
                               : c == 'x' ? PROT_EXEC
                                          : PROT_NONE;
    }
    skip_field(list);
    skip_field(list);
    mapping->file = next_hex(list, &c) != 0; /* the first digits of the inode are enough */
    while (c >= 0 && c != '\n' && c != ' ') c = next_byte(list);
    while (c == ' ') c = next_byte(list);
    size_t length = 0;
    for (; c >= 0 && c != '\n'; c = next_byte(list))
        if (length < sizeof mapping->name - 1) mapping->name[length++] = (char)c;
    mapping->name[length] = '\0';
    mapping->stack = strcmp(mapping->name, "[stack]") == 0;
    return c >= 0;
}
