/* symbols.c - the names of functions; see symbols.h. */
#define _GNU_SOURCE
#include "other/base/symbols.h"

#include <fcntl.h>
#include <link.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* The file that the address was loaded from. */
typedef struct place {
    uintptr_t address;
    uintptr_t offset; /* of the address, as the file counts */
    const char *file;
    bool found;
} place_t;

static int look(struct dl_phdr_info *info, size_t size, void *wanted)
{
    place_t *place = wanted;
    (void)size;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *part = &info->dlpi_phdr[i];
        if (part->p_type != PT_LOAD ||
            place->address - info->dlpi_addr - part->p_vaddr >= part->p_memsz)
            continue;
        place->offset = place->address - info->dlpi_addr;
        place->file = info->dlpi_name && *info->dlpi_name ? info->dlpi_name : "/proc/self/exe";
        return place->found = true;
    }
    return 0;
}

/* A mapped file; every offset that it names is checked. */
typedef struct image {
    const char *bytes;
    size_t size;
} image_t;

static const void *part_of(const image_t *image, uint64_t offset, uint64_t size)
{
    const bool inside = offset <= image->size && size <= image->size - offset;
    return inside && offset % sizeof(uint64_t) == 0 ? image->bytes + offset : NULL;
}

/* Copies the name of the function at the offset, if the table has it, without what the compiler
 * appends to that of a part or a copy of a function ("send.constprop.0"). */
static bool search_table(const image_t *image, const ElfW(Shdr) * table, const ElfW(Shdr) * strings,
                         uintptr_t offset, char *name, size_t size)
{
    const ElfW(Sym) *symbol = part_of(image, table->sh_offset, table->sh_size);
    const bool named =
        strings->sh_offset <= image->size && strings->sh_size <= image->size - strings->sh_offset;
    if (!symbol || !named) return false;
    for (size_t n = table->sh_size / sizeof *symbol; n--; symbol++) {
        if ((symbol->st_info & 0xf) != STT_FUNC || symbol->st_name >= strings->sh_size ||
            offset - symbol->st_value >= (symbol->st_size ? symbol->st_size : 1))
            continue;
        const size_t room = strings->sh_size - symbol->st_name;
        snprintf(name, size, "%.*s", room < 200 ? (int)room : 200,
                 image->bytes + strings->sh_offset + symbol->st_name);
        if (*name) name[1 + strcspn(name + 1, ".")] = 0;
        return *name;
    }
    return false;
}

static bool search(const image_t *image, uintptr_t offset, char *name, size_t size)
{
    const ElfW(Ehdr) *head = part_of(image, 0, sizeof *head);
    if (!head || memcmp(head->e_ident, ELFMAG, SELFMAG) != 0 ||
        head->e_shentsize != sizeof(ElfW(Shdr)))
        return false;
    const ElfW(Shdr) *sections =
        part_of(image, head->e_shoff, (uint64_t)head->e_shnum * sizeof *sections);
    for (unsigned i = 0; sections && i < head->e_shnum; i++) {
        const ElfW(Shdr) *one = &sections[i];
        if ((one->sh_type == SHT_SYMTAB || one->sh_type == SHT_DYNSYM) &&
            one->sh_link < head->e_shnum &&
            search_table(image, one, &sections[one->sh_link], offset, name, size))
            return true;
    }
    return false;
}

static bool search_file(const place_t *place, char *name, size_t size)
{
    struct stat st;
    image_t image = {MAP_FAILED, 0};
    const int fd = open(place->file, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return false;
    if (fstat(fd, &st) == 0 && st.st_size > 0) {
        image.size = (size_t)st.st_size;
        image.bytes = mmap(NULL, image.size, PROT_READ, MAP_PRIVATE, fd, 0);
    }
    close(fd);
    if (image.bytes == MAP_FAILED) return false;
    const bool found = search(&image, place->offset, name, size);
    munmap((void *)(uintptr_t)image.bytes, image.size);
    return found;
}

static void name_offset(const place_t *place, char *name, size_t size)
{
    char file[4096];
    const char *path = place->file;
    ssize_t n = readlink(path, file, sizeof file - 1);
    if (strcmp(path, "/proc/self/exe") == 0 && n > 0) {
        file[n] = 0;
        path = file;
    }
    const char *slash = strrchr(path, '/');
    snprintf(name, size, "%s+0x%llx", slash ? slash + 1 : path, (unsigned long long)place->offset);
}

void gasneti_symbol_name(uintptr_t address, char *name, size_t size)
{
    place_t place = {.address = address};
    dl_iterate_phdr(look, &place);
    if (!place.found)
        snprintf(name, size, "0x%llx", (unsigned long long)address);
    else if (!search_file(&place, name, size))
        name_offset(&place, name, size);
}
