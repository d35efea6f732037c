/* What kind of file it is, and static libraries, whose members are files again. */
#include <core/error.h>
#include <ar.h>
#include <elf.h>
#include <sass/container_parts.h>
#include <sass/cubin.h>
#include <stdlib.h>
#include <string.h>

#define GC_EM_CUDA 190
#define THIN_MAGIC "!<thin>\n"
#define NESTING_MAX 4 /* archives in archives */

static gpuchar_status bad(const char *what) {
    return gc_fail(GPUCHAR_E_SASS_FORMAT, "malformed static library: %s", what);
}

gpuchar_status gc_container_add(gc_container *container, const gc_image *image) {
    if (container->count == container->capacity) {
        if (container->count == GC_IMAGES_MAX)
            return gc_fail(GPUCHAR_E_LIMIT, "the file holds more than %u images", GC_IMAGES_MAX);
        const size_t capacity = container->capacity ? container->capacity * 2 : 16;
        gc_image *grown = realloc(container->images, capacity * sizeof *grown);
        if (!grown) return gc_fail_memory(capacity * sizeof *grown);
        container->images = grown;
        container->capacity = capacity;
    }
    container->images[container->count++] = *image;
    return GPUCHAR_OK;
}

static gpuchar_status add_cubin(gc_container *container, gc_range range) {
    gc_cubin cubin;
    const gpuchar_status status =
        gc_cubin_open(container->bytes + range.begin, (size_t)(range.end - range.begin), &cubin);
    if (status) return status;
    const gc_image image = {.offset = range.begin,
                            .stored_bytes = range.end - range.begin,
                            .unpacked_bytes = range.end - range.begin,
                            .kind = GC_IMAGE_CUBIN,
                            .packing = GC_PACKING_NONE,
                            .arch = cubin.arch};
    return gc_container_add(container, &image);
}

/* A number as archives write it: decimal digits and, behind them, nothing but spaces. */
static bool read_decimal(const char *text, size_t length, uint64_t *number) {
    size_t at = 0;
    *number = 0;
    for (; at < length && text[at] >= '0' && text[at] <= '9'; at++) *number = *number * 10 + (uint64_t)(text[at] - '0');
    if (at == 0) return false;
    while (at < length && text[at] == ' ') at++;
    return at == length;
}

/* BSD's archives put a long name in front of the member's bytes and tell its length. */
static bool skip_long_name(const struct ar_hdr *header, gc_range *member) {
    uint64_t length = 0;
    if (memcmp(header->ar_name, "#1/", 3) != 0) return true;
    if (!read_decimal(header->ar_name + 3, sizeof header->ar_name - 3, &length)) return false;
    if (length > member->end - member->begin) return false;
    member->begin += length;
    return true;
}

static gpuchar_status next_member(const gc_container *container, uint64_t *at, uint64_t end, gc_range *member) {
    struct ar_hdr header;
    uint64_t size = 0;
    if (end - *at < sizeof header) return bad("the header of a member is cut off");
    memcpy(&header, container->bytes + *at, sizeof header);
    if (memcmp(header.ar_fmag, ARFMAG, sizeof header.ar_fmag) != 0) return bad("no member begins where one should");
    if (!read_decimal(header.ar_size, sizeof header.ar_size, &size)) return bad("the size of a member is no number");
    member->begin = *at + sizeof header;
    if (size > end - member->begin) return bad("a member is cut off");
    member->end = member->begin + size;
    /* Members begin at even places; behind the last one the filling byte may be missing. */
    *at = member->end + (size % 2 && member->end < end);
    return skip_long_name(&header, member) ? GPUCHAR_OK : bad("the name of a member cannot be");
}

typedef enum file_kind { FILE_OTHER, FILE_CUBIN, FILE_HOST_ELF, FILE_FATBIN, FILE_ARCHIVE, FILE_THIN } file_kind;

static file_kind kind_of(const uint8_t *bytes, size_t size) {
    Elf64_Ehdr header;
    if (gc_fatbin_magic(bytes, size)) return FILE_FATBIN;
    if (size >= SARMAG && memcmp(bytes, ARMAG, SARMAG) == 0) return FILE_ARCHIVE;
    if (size >= SARMAG && memcmp(bytes, THIN_MAGIC, SARMAG) == 0) return FILE_THIN;
    if (size < sizeof header) return FILE_OTHER;
    memcpy(&header, bytes, sizeof header);
    if (memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_ident[EI_CLASS] != ELFCLASS64 ||
        header.e_ident[EI_DATA] != ELFDATA2LSB)
        return FILE_OTHER;
    return header.e_machine == GC_EM_CUDA ? FILE_CUBIN : FILE_HOST_ELF;
}

/* `depth`: archives around it. What a member of an archive is need not be known. */
static gpuchar_status walk(gc_container *container, gc_range range, uint32_t depth) {
    switch (kind_of(container->bytes + range.begin, (size_t)(range.end - range.begin))) {
    case FILE_CUBIN:
        return add_cubin(container, range);
    case FILE_HOST_ELF:
        return gc_host_elf_walk(container, range);
    case FILE_FATBIN:
        return gc_fatbin_search(container, range, range.begin, GC_SEARCH_ONLY);
    case FILE_THIN:
        return gc_advise(bad("it is a thin one, which names its objects and does not hold them"),
                         "open the objects that it names");
    case FILE_ARCHIVE:
        break;
    default:
        return depth ? GPUCHAR_OK
                     : gc_fail(GPUCHAR_E_SASS_FORMAT, "neither a cubin nor a fat binary, nor a 64-bit little-endian "
                                                      "ELF file, nor a static library");
    }
    if (depth == NESTING_MAX) return bad("too many in each other");
    uint64_t at = range.begin + SARMAG;
    while (at < range.end) {
        gc_range member = {0};
        gpuchar_status status = next_member(container, &at, range.end, &member);
        if (!status) status = walk(container, member, depth + 1);
        if (status) return status;
    }
    return GPUCHAR_OK;
}

gpuchar_status gc_container_open(const void *bytes, size_t size, gc_container *container) {
    memset(container, 0, sizeof *container);
    if (!bytes) return gc_fail(GPUCHAR_E_INVALID_ARGUMENT, "no bytes");
    container->bytes = bytes;
    container->size = size;
    const gpuchar_status status = walk(container, (gc_range){0, size}, 0);
    if (status) gc_container_close(container);
    return status;
}

void gc_container_close(gc_container *container) {
    free(container->images);
    memset(container, 0, sizeof *container);
}
