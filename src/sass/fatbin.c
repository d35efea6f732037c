/*
 * Fat binaries: a header and, behind it, entries, each a header of its own and an image. All is little-endian, and everything
 * begins at a multiple of 8. An image that is not packed ends with its padding.
 */
#include <core/error.h>
#include <sass/container_parts.h>
#include <string.h>

#define FATBIN_MAGIC 0xba55ed50u
#define FATBIN_VERSION 1
#define ENTRY_PTX 1
#define ENTRY_CUBIN 2
#define FLAG_LZ4 0x2000u
#define FLAG_ZSTD 0x8000u
#define ALIGNMENT 8

typedef struct fat_header {
    uint32_t magic;
    uint16_t version;
    uint16_t header_bytes;
    uint64_t entries_bytes; /* of all that follows */
} fat_header;

typedef struct fat_entry {
    uint16_t kind;
    uint16_t version;
    uint32_t header_bytes;  /* the image follows it */
    uint64_t image_bytes;   /* up to the next entry */
    uint32_t packed_bytes;  /* of these; 0: not packed */
    uint32_t options_begin; /* the assembler's options, behind the fields of the header */
    uint16_t minor;
    uint16_t major;
    uint32_t arch;
    uint32_t name_begin;
    uint32_t name_bytes;
    uint64_t flags;
    uint64_t key; /* not 0 only in entries of intermediate code */
    uint64_t unpacked_bytes;
} fat_entry;

_Static_assert(sizeof(fat_header) == 16 && sizeof(fat_entry) == 64, "as they lie in files");

static gpuchar_status bad(uint64_t at, const char *what) {
    return gc_fail(GPUCHAR_E_SASS_FORMAT, "malformed fat binary at 0x%llx: %s", (unsigned long long)at, what);
}

bool gc_fatbin_magic(const uint8_t *bytes, size_t size) {
    uint32_t magic = 0;
    if (size < sizeof magic) return false;
    memcpy(&magic, bytes, sizeof magic);
    return magic == FATBIN_MAGIC;
}

static uint32_t packing_of(const fat_entry *entry) {
    const bool lz4 = entry->flags & FLAG_LZ4, zstd = entry->flags & FLAG_ZSTD;
    if (lz4 && !zstd) return GC_PACKING_LZ4;
    if (zstd && !lz4) return GC_PACKING_ZSTD;
    return lz4 || entry->packed_bytes ? GC_PACKING_OTHER : GC_PACKING_NONE;
}

/*
 * The most that so many packed bytes can become. LZ4 lengthens a match by at most 255 for each byte; zstd makes at most a
 * block of 128 KiB of the four bytes that the shortest block takes.
 */
static uint64_t most_unpacked(uint32_t packing, uint64_t packed) {
    switch (packing) {
    case GC_PACKING_LZ4:
        return packed * 255 + 64;
    case GC_PACKING_ZSTD:
        return (packed / 4 + 1) << 17;
    default:
        return GC_IMAGE_BYTES_MAX;
    }
}

static gpuchar_status read_image(const fat_entry *entry, uint64_t at, gc_image *image) {
    image->kind = entry->kind == ENTRY_CUBIN ? GC_IMAGE_CUBIN
                  : entry->kind == ENTRY_PTX ? GC_IMAGE_PTX
                                             : GC_IMAGE_OTHER;
    image->packing = packing_of(entry);
    image->arch = entry->arch;
    image->offset = at + entry->header_bytes;
    if (image->packing == GC_PACKING_NONE) {
        image->stored_bytes = image->unpacked_bytes = entry->image_bytes;
        return entry->image_bytes <= GC_IMAGE_BYTES_MAX ? GPUCHAR_OK : bad(at, "an image is too large");
    }
    if (entry->packed_bytes == 0 || entry->packed_bytes > entry->image_bytes)
        return bad(at, "a packed image does not fit into its entry");
    image->stored_bytes = entry->packed_bytes;
    image->unpacked_bytes = entry->unpacked_bytes;
    if (entry->unpacked_bytes == 0 || entry->unpacked_bytes > GC_IMAGE_BYTES_MAX ||
        entry->unpacked_bytes > most_unpacked(image->packing, entry->packed_bytes))
        return bad(at, "no image unpacks to the size that it tells");
    return GPUCHAR_OK;
}

static gpuchar_status add_entry(gc_container *container, uint64_t *at, uint64_t end) {
    fat_entry entry;
    gc_image image = {0};
    if (end - *at < sizeof entry) return bad(*at, "an entry is cut off");
    memcpy(&entry, container->bytes + *at, sizeof entry);
    if (entry.header_bytes < sizeof entry || entry.header_bytes > end - *at)
        return bad(*at, "the size of an entry's header cannot be");
    if (entry.image_bytes == 0 || entry.image_bytes > end - *at - entry.header_bytes)
        return bad(*at, "an image is empty or leaves the fat binary");
    gpuchar_status status = read_image(&entry, *at, &image);
    if (!status) status = gc_container_add(container, &image);
    *at += entry.header_bytes + entry.image_bytes;
    return status;
}

/* One fat binary; *at becomes its end. */
static gpuchar_status walk(gc_container *container, uint64_t *at, uint64_t end) {
    fat_header header;
    if (end - *at < sizeof header) return bad(*at, "it is cut off");
    memcpy(&header, container->bytes + *at, sizeof header);
    if (header.version != FATBIN_VERSION)
        return gc_fail(GPUCHAR_E_SASS_UNKNOWN, "the fat binary at 0x%llx is of version %u, known is %d",
                       (unsigned long long)*at, header.version, FATBIN_VERSION);
    if (header.header_bytes < sizeof header || header.header_bytes > end - *at)
        return bad(*at, "the size of its header cannot be");
    if (header.entries_bytes > end - *at - header.header_bytes) return bad(*at, "it is cut off");
    uint64_t entry = *at + header.header_bytes;
    const uint64_t entries_end = entry + header.entries_bytes;
    gpuchar_status status = GPUCHAR_OK;
    while (!status && entry < entries_end) status = add_entry(container, &entry, entries_end);
    *at = entries_end;
    return status;
}

/* Programs that make fat binaries hold the beginning of one as a constant: what leaves the range may be that. */
static bool begins(const gc_container *container, uint64_t at, uint64_t end, gc_search search) {
    fat_header header;
    if (search == GC_SEARCH_ONLY) return true;
    if (end - at < sizeof header) return false;
    memcpy(&header, container->bytes + at, sizeof header);
    if (header.version != FATBIN_VERSION || header.header_bytes != sizeof header) return false;
    return search == GC_SEARCH_HEADER || header.entries_bytes <= end - at - sizeof header;
}

static bool zeros(const uint8_t *bytes, uint64_t size) {
    for (uint64_t i = 0; i < size; i++)
        if (bytes[i]) return false;
    return true;
}

gpuchar_status gc_fatbin_search(gc_container *container, gc_range range, uint64_t origin, gc_search search) {
    const uint64_t ahead = (range.begin - origin) % ALIGNMENT;
    uint64_t at = range.begin + (ahead ? ALIGNMENT - ahead : 0);
    while (at < range.end) {
        const uint64_t left = range.end - at;
        if (gc_fatbin_magic(container->bytes + at, (size_t)left) && begins(container, at, range.end, search)) {
            const gpuchar_status status = walk(container, &at, range.end);
            if (status) return status;
            const uint64_t over = (at - origin) % ALIGNMENT;
            at += over ? ALIGNMENT - over : 0;
            continue;
        }
        if (search == GC_SEARCH_ONLY && !zeros(container->bytes + at, left < ALIGNMENT ? left : ALIGNMENT))
            return bad(at, "none begins where one should");
        at += ALIGNMENT;
    }
    return GPUCHAR_OK;
}
